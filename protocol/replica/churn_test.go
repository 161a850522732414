package replica

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"testing/synctest"

	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
	"parley/internal/udp"
)

// T58: after thousands of connections have come and gone, everything is as it
// was: goroutines, descriptors, memory and the server's tables. In memory, where
// the second that a server doubts a goodbye takes no time; and with real sockets,
// fewer, as they share some 28,000 ports, and one that is used again within that
// second has to wait.
func TestChurnLeavesNothingBehind(t *testing.T) {
	n, rounds := tier(400, 1000, 1000), 4
	switch {
	case os.Getenv("PARLEY_SOAK") != "":
		rounds = 10
	case testing.Short():
		n = 200
	}
	promise.Keeps(t, "T58", "replica", n*rounds)
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			birth, before, after := churned(t, memory(), n, rounds)
			// That is 64 bytes for each connection that came and went. Pools, ours
			// and the runtime's, come and go by some 80 KiB.
			if grown := after.Heap - before.Heap; grown > 256<<10 {
				t.Errorf("the heap has grown by %d bytes", grown)
			}
			// Pools and tables may keep the size that they had, but not the
			// connections, which are some 3,500 bytes each.
			if grown := after.Heap - birth.Heap; grown > 512<<10+int64(n)*600 {
				t.Errorf("the heap is %d bytes larger than before the first of %d connections", grown, n)
			}
		})
	})
	t.Run("real sockets", func(t *testing.T) { churned(t, kernel(udp.Config{}), n/5, rounds/4) })
}

// churned has n clients come and go, and as many again some rounds, and counts
// before, after the first time and after the last.
func churned(t *testing.T, at *place, n, rounds int) (birth, before, after counts) {
	gone := make(chan struct{}, n)
	s := at.serve(t, Config{}, func(c *Conn, ev Event) {
		switch ev.Kind {
		case EventMessage:
			if err := c.Send(Ordered, "echo", ev.Data); err != nil {
				t.Error(err)
			}
		case EventClosed:
			gone <- struct{}{}
		}
	})
	birth = census(t, s, 0)
	comeAndGo(t, at, s, n, gone) // so that pools and tables have their size
	before = census(t, s, birth.Goroutines)
	for range rounds {
		comeAndGo(t, at, s, n, gone)
	}
	after = census(t, s, before.Goroutines)
	t.Logf("birth  %+v", birth)
	t.Logf("before %+v", before)
	t.Logf("after  %+v", after)
	if err := after.Grown(before.Counts); err != nil || !before.idle || !after.idle {
		t.Errorf("%v; idle before %t, after %t", err, before.idle, after.idle)
	}
	return birth, before, after
}

// comeAndGo has n clients come, say something, and go, some of them without a word.
func comeAndGo(t *testing.T, at *place, s *Server, n int, gone <-chan struct{}) {
	t.Helper()
	const hands = 200
	var wg sync.WaitGroup
	for h := range hands {
		wg.Go(func() {
			for i := h; i < n; i += hands {
				x, err := at.tryDial(t.Context(), t, s.Addr(), Config{})
				if err != nil {
					t.Error(err)
					return
				}
				if err := x.Send(Ordered, "say", []byte("hello")); err != nil {
					t.Error(err)
				}
				if ev := nextMessageOf(t, x); string(ev.Data) != "hello" {
					t.Errorf("got %q", ev.Data)
				}
				ctx := t.Context()
				if i%4 == 0 {
					ctx = shelltest.Ended() // the goodbye goes out once
				}
				if err := x.Close(ctx); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
	}
	patient.Done(wg.Wait)
	for range n {
		patient.Value(gone) // a second after its goodbye
	}
}

// counts is what must not grow.
type counts struct {
	shelltest.Counts
	idle bool // the server's tables
}

func census(t *testing.T, s *Server, most int) (c counts) {
	t.Helper()
	if err := s.Do(func() { c.idle = s.mux.Idle() }); err != nil {
		t.Fatal(err)
	}
	c.Counts = shelltest.Census(most)
	return c
}
