package patient

import "flag"

// Abreast has so many tests of a package run beside each other as are given, where Go runs as many as there are processors: it is for tests that mostly
// wait, for elections and timers of servers. Call it first in TestMain. Who gives -parallel decides.
func Abreast(n string) {
	if err := flag.Set("test.parallel", n); err != nil {
		panic(err)
	}
}
