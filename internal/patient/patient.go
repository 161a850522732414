// Package patient gives each wait of a test a time limit. A test that waits for ever would block all others until go test
// itself gives up, without saying which wait it was.
package patient

import (
	"os"
	"os/exec"
	"runtime/debug"
	"testing"
	"time"
)

// limit is far more than any wait takes on a slow, busy machine. With the counts of the gate or of the nightly soak, a
// wait may be for two minutes of work.
var limit = func() time.Duration {
	switch {
	case os.Getenv("PARLEY_SOAK") != "":
		return time.Hour
	case os.Getenv("PARLEY_PR") != "":
		return 20 * time.Minute
	}
	return 5 * time.Minute
}()

// Value receives from c.
func Value[T any](c <-chan T) T {
	defer End().Stop()
	return <-c
}

// Done calls f, which may block, such as the Wait of a sync.WaitGroup.
func Done(f func()) {
	defer End().Stop()
	f()
}

// Until waits until something holds that other goroutines bring about, and fails the test if it does not.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: it has not come within %v", what, limit)
		}
	}
}

// Test gives a whole test a time limit. Benchmarks have none.
func Test(t testing.TB) {
	if _, ok := t.(*testing.B); ok {
		return
	}
	end := End()
	t.Cleanup(func() { end.Stop() })
}

// Exit waits for a started command, and kills it if it does not end by itself.
func Exit(c *exec.Cmd) error {
	defer time.AfterFunc(limit, func() { c.Process.Kill() }).Stop()
	return c.Wait()
}

// End returns a timer that ends the program after the limit, unless it is stopped, and prints what each goroutine waits
// for. A function that waits for several things, or for bytes, defers End().Stop(). The test is not failed instead, as
// its cleanup may wait for the same thing.
func End() *time.Timer {
	return time.AfterFunc(limit, func() {
		debug.SetTraceback("all")
		panic("patient: what a test waits for has not come")
	})
}
