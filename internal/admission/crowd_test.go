package admission

import (
	"net/netip"
	"testing"
)

func TestACrowdCountsHosts(t *testing.T) {
	c := NewCrowd(2)
	four, mapped := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("::ffff:192.0.2.1")
	six, sister := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::ffff:0:0:1%eth0")
	for _, addr := range []netip.Addr{four, mapped, six, sister} {
		if !c.Enter(addr) {
			t.Fatalf("%v is refused below the limit", addr)
		}
	}
	for _, addr := range []netip.Addr{four, mapped, six, sister} {
		if c.Enter(addr) {
			t.Fatalf("%v is let in beyond the limit", addr)
		}
		if c.Of(addr) != 2 {
			t.Fatalf("%v holds %d, want 2", addr, c.Of(addr))
		}
	}
	if !c.Enter(netip.MustParseAddr("2001:db8:0:1::1")) {
		t.Fatal("another network is refused")
	}
	c.Leave(mapped)
	c.Leave(four)
	if c.Len() != 3 || len(c.held) != 2 {
		t.Fatalf("%d held by %d hosts, want 3 by 2", c.Len(), len(c.held))
	}
	free := NewCrowd(-1)
	for range 10_000 {
		if !free.Enter(four) {
			t.Fatal("refused without a limit")
		}
	}
}

func TestLeavingACrowdWithoutEnteringPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("no panic")
		}
	}()
	NewCrowd(1).Leave(netip.MustParseAddr("192.0.2.1"))
}
