package simnet

import (
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
