package duplex

import (
	"testing"
	"unsafe"
)

// A server holds an Endpoint for each client, and Go's allocator gives out memory in steps: of 896 bytes it needs 8 itself.
func TestAnEndpointFitsIntoItsPlace(t *testing.T) {
	const place = 896 - 8
	if size := unsafe.Sizeof(Endpoint{}); size > place {
		t.Errorf("an Endpoint has %d bytes; past %d each costs 128 more", size, place)
	}
}
