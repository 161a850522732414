package simnet

import (
	"net/netip"
	"testing"
	"time"
)

func TestADatagramAllocatesNothingInSteadyState(t *testing.T) {
	p := Bad()
	p.Rate = 0
	n := New(1)
	s := &stream{to: addr(2), size: 1200, every: time.Millisecond, next: n.Now(), left: 1 << 30}
	n.Add(addr(1), s)
	sink := n.Add(addr(2), new(stream))
	n.Default(p)
	n.Default(p) // a profile that is set again costs nothing later
	sink.Skew(100)
	if err := n.Run(30 * time.Second); err != nil { // until the free lists are as long as they need to be
		t.Fatal(err)
	}
	before := n.Stats().Sent
	allocs := testing.AllocsPerRun(100, func() {
		if err := n.Run(50 * time.Millisecond); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations for %d datagrams", allocs, (n.Stats().Sent-before)/101)
	}
}

func TestAConnAllocatesNothingInSteadyState(t *testing.T) {
	l := NewLive(1)
	a, b := listen(t, l, 1), listen(t, l, 2)
	buf := make([]byte, 1200)
	var to netip.AddrPort = addr(2)
	allocs := testing.AllocsPerRun(1000, func() {
		a.WriteToUDPAddrPort(buf, to)
		b.ReadFromUDPAddrPort(buf)
	})
	if allocs != 0 {
		t.Errorf("%v allocations a datagram", allocs)
	}
}
