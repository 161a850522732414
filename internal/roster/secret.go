package roster

import "hash/maphash"

// newSecrets returns unpredictable numbers, like the seed of a Go map. An attacker who knew
// them could choose addresses that all hash to the same place of a table. Only these numbers
// differ from run to run. That cannot be seen from outside, as a table is only looked up in,
// never iterated over.
func newSecrets() (s [4]uint64) {
	seed := maphash.MakeSeed()
	for i := range s {
		s[i] = maphash.Bytes(seed, []byte{byte(i)}) | 1
	}
	return s
}
