package pace

import "math/bits"

// InTurn returns the place of the player who is the i-th of n to be told in a tick. Each tick begins with another one. Packets
// go out in that order, and where players share a link the later wait for the earlier: each is to see the queue without the
// others' packets now and then, as it would else take them for the path's.
func InTurn(tick uint64, i, n int) int {
	// Steps of the golden ratio come near to each place soon, however many there are.
	first, _ := bits.Mul64(tick*0x9e3779b97f4a7c15, uint64(n))
	if i += int(first); i >= n {
		i -= n
	}
	return i
}
