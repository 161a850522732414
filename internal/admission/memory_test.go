package admission

import (
	"testing"
	"time"
)

func TestEndedNumbersConnections(t *testing.T) {
	e := NewEnded(testKey)
	next := func(now time.Duration, n int, want uint32) {
		t.Helper()
		if got := e.Next(at(now), peer(n)); got != want {
			t.Errorf("peer %d at %v: connection %d, want %d", n, now, got, want)
		}
	}
	next(0, 1, 0)
	e.End(at(time.Second), peer(1), 0)
	next(2*time.Second, 1, 1)
	next(2*time.Second, 2, 0)
	// Its second connection lasts a minute. The third still must not have its number.
	e.End(at(62*time.Second), peer(1), 1)
	next(63*time.Second, 1, 2)
	next(92*time.Second-1, 1, 2)
	next(92*time.Second, 1, 0)
	// 4,096 others push the oldest out.
	e.End(at(100*time.Second), peer(1), 7)
	for i := range 4095 {
		e.End(at(100*time.Second), peer(10+i), 0)
	}
	next(100*time.Second, 1, 8)
	e.End(at(100*time.Second), peer(5000), 0)
	next(100*time.Second, 1, 0)
	want := MemoryStats{Added: 4099, Evicted: 1, Expired: 2, Found: 4}
	if got := e.Stats(); got != want {
		t.Errorf("stats: got %+v, want %+v", got, want)
	}
}

func TestIgnoredForTenSeconds(t *testing.T) {
	g := NewIgnored(testKey)
	has := func(now time.Duration, n int, want bool) {
		t.Helper()
		if got := g.Has(at(now), peer(n)); got != want {
			t.Errorf("peer %d at %v is ignored: %v, want %v", n, now, got, want)
		}
	}
	has(0, 1, false)
	g.Add(at(0), peer(1))
	has(0, 1, true)
	has(0, 2, false)
	g.Add(at(5*time.Second), peer(1)) // again: 10 s from here
	has(15*time.Second-1, 1, true)
	has(15*time.Second, 1, false)
	for i := range 4097 {
		g.Add(at(20*time.Second), peer(i))
	}
	has(20*time.Second, 0, false)
	has(20*time.Second, 1, true)
	has(20*time.Second, 4096, true)
	if g.Has(at(20*time.Second), addrPort("10.0.0.1:1001")) {
		t.Error("another port is ignored too")
	}
	want := MemoryStats{Added: 4099, Evicted: 1, Expired: 1, Found: 4}
	if got := g.Stats(); got != want {
		t.Errorf("stats: got %+v, want %+v", got, want)
	}
}
