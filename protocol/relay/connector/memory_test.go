package connector

import (
	"net/netip"
	"runtime"
	"testing"

	"parley/internal/kit"
	"parley/internal/pagetest"
	"parley/internal/shell/shelltest"
)

// What a forged stranger holds: its place, and packages that wait behind one that never comes.
func TestMemoryOfTheUnproven(t *testing.T) {
	if kit.Race {
		t.Skip("the race detector allocates")
	}
	r := newRig(t, Config{})
	const count = 64
	before := shelltest.LiveHeap()
	for i := range count + 10 {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{100, byte(i >> 8), byte(i), 7}), 1000)
		for id := range 40 {
			r.in(mainPort, from, append([]byte{0x50, 0, 0, byte(1 + id)}, make([]byte, 2)...)) // a ping
		}
		r.in(mainPort, from, []byte{0x80, 0, 0, 0, 0, 0, 0, 0, 0, 1})
		r.sent = nil
	}
	if r.lobby.strangers.unproven != count || r.lobby.Stats().Unproven == 0 {
		t.Errorf("%d strangers, %+v", r.lobby.strangers.unproven, r.lobby.Stats())
	}
	each := (shelltest.LiveHeap() - before) / count
	runtime.KeepAlive(r)
	t.Logf("a stranger that proved nothing holds %d bytes", each)
	pagetest.Reaches(t, "relay, connector", "unproven", int(each))
}
