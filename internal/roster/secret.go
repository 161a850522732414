package roster

import "hash/maphash"

// newSecrets returns numbers that no one can foresee, as a map has: who knew them could
// choose addresses that all fall on one place of a table. They are the one thing here that
// differs from run to run, and nothing can be seen of it: a table is asked, and never walked.
func newSecrets() (s [4]uint64) {
	seed := maphash.MakeSeed()
	for i := range s {
		s[i] = maphash.Bytes(seed, []byte{byte(i)}) | 1
	}
	return s
}
