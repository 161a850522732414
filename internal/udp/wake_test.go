package udp

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/datagram"
	"parley/internal/patient"
	"parley/internal/promise"
)

// No wake is lost: each goroutine hands the loop a value, wakes it, and waits
// until the loop has seen the value before it hands over the next. A single
// lost wake would stop the test for ever. Datagrams and timers come in between,
// so that the loop is met in every state: parked, about to park, in a turn, and
// woken by something else.
func TestNoWakeIsLost(t *testing.T) {
	rounds := 1500
	switch {
	case os.Getenv("PARLEY_SOAK") == "1":
		rounds *= 50
	case testing.Short() || !promise.Full():
		rounds = 300
	}
	eachPlace(t, func(t *testing.T, p *place) {
		noWakeIsLost(t, p, 1, rounds) // finds the loop parked almost always
		noWakeIsLost(t, p, 4, rounds) // hardly ever
	})
}

func noWakeIsLost(t *testing.T, p *place, wakers, rounds int) {
	handed, seen := make([]atomic.Uint64, wakers), make([]atomic.Uint64, wakers)
	told := make([]chan struct{}, wakers)
	for i := range told {
		told[i] = make(chan struct{}, 1)
	}
	core := newTimerCore(t)
	r := seeded(t)
	check := core.timeout
	core.timeout = func(now time.Time) {
		check(now)
		core.add(now.Add(time.Duration(1+r.IntN(3000)) * time.Microsecond))
	}
	core.add(time.Now())
	server, client := p.open(t, Config{}), p.open(t, Config{})
	l := startLoop(t, server, core, datagram.LoopConfig{AfterTurn: func(time.Time) {
		for i := range handed {
			if h := handed[i].Load(); h != seen[i].Load() {
				seen[i].Store(h)
				told[i] <- struct{}{}
			}
		}
	}})
	var wg sync.WaitGroup
	for i := range wakers {
		wg.Go(func() {
			for range rounds {
				handed[i].Add(1)
				l.Wake()
				patient.Value(told[i])
			}
		})
	}
	wg.Go(func() {
		out := client.NewSendBatch()
		for range rounds / 4 {
			out.Append([]byte("x"), p.addr(server))
			if err := client.Write(out); err != nil {
				t.Error(err)
			}
		}
	})
	patient.Done(wg.Wait)
	for i := range seen {
		if got := seen[i].Load(); got != uint64(rounds) {
			t.Errorf("waker %d: %d values seen, want %d", i, got, rounds)
		}
	}
}

// Commands from many goroutines, with Close in the middle: each that was
// accepted is run exactly once, none that was refused.
func TestAcceptedCommandsRunExactlyOnceAcrossClose(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		eachSeed(t, 6, func(t *testing.T, r *rand.Rand) {
			l := datagram.StartLoop(p.open(t, Config{Batch: 4}), &scriptCore{keepNoLog: true}, datagram.LoopConfig{Commands: 1 + r.IntN(8)})
			var ran atomic.Int64
			var accepted atomic.Int64
			closeAfter := int64(r.IntN(200))
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					for {
						add := l.Post
						if i%2 == 0 {
							add = l.Do
						}
						switch err := add(func() { ran.Add(1) }); err {
						case nil:
							accepted.Add(1)
						case datagram.ErrClosed:
							return
						}
						if accepted.Load() >= closeAfter {
							l.Stop()
						}
					}
				})
			}
			patient.Done(wg.Wait)
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if ran.Load() != accepted.Load() {
				t.Errorf("%d commands were accepted and %d ran", accepted.Load(), ran.Load())
			}
			if got := l.Stats().Commands; got != uint64(accepted.Load()) {
				t.Errorf("datagram.Stats.Commands %d, want %d", got, accepted.Load())
			}
		})
	})
}

// Loops close cleanly in the middle of traffic, from several goroutines.
func TestCloseUnderTraffic(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		for range 5 {
			a, b := p.open(t, Config{Batch: 8}), p.open(t, Config{Batch: 8})
			pingPong := func(to netip.AddrPort) *scriptCore {
				c := &scriptCore{keepNoLog: true}
				owed := 4
				c.datagram = func(time.Time, netip.AddrPort, []byte) { owed++ }
				c.transmit = func(buf []byte) (int, netip.AddrPort, bool) {
					if owed == 0 {
						return 0, to, false
					}
					owed--
					return 64, to, true
				}
				return c
			}
			la := datagram.StartLoop(a, pingPong(p.addr(b)), datagram.LoopConfig{})
			lb := datagram.StartLoop(b, pingPong(p.addr(a)), datagram.LoopConfig{})
			for a.Stats().InDatagrams < 20 {
				if err := la.Do(func() {}); err != nil {
					t.Fatal(err)
				}
			}
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() { _ = la.Close() })
				wg.Go(func() { _ = lb.Close() })
			}
			patient.Done(wg.Wait)
		}
	})
}
