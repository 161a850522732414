package core

import (
	"testing"
	"unsafe"
)

// A server holds a Peer for each client, and Go's allocator gives out memory in steps: of 2,048 bytes it needs 8 itself.
func TestAPeerFitsIntoItsPlace(t *testing.T) {
	const place = 2048 - 8
	if size := unsafe.Sizeof(Peer{}); size > place {
		t.Errorf("a Peer has %d bytes; past %d each costs 256 more", size, place)
	}
}
