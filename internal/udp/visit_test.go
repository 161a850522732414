package udp

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"parley/internal/datagram"
	"parley/internal/patient"
)

// Visitors from many goroutines, with Close in the middle: each is alone with the core, and what
// each had it send goes out, in the last turn if not before.
func TestWhatVisitorsHaveACoreSendGoesOut(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		for i := range 10 {
			visitAndClose(t, p, func() bool { return i%2 == 0 })
		}
	})
}

func visitAndClose(t *testing.T, p *place, calm func() bool) {
	peer := p.open(t, Config{})
	core := &scriptCore{keepNoLog: true}
	waiting, put, sent, inside := 0, 0, 0, 0 // the core's
	core.transmit = func(buf []byte) (int, netip.AddrPort, bool) {
		if waiting == 0 {
			return 0, netip.AddrPort{}, false
		}
		waiting--
		sent++
		return copy(buf, "x"), p.addr(peer), true
	}
	enough := make(chan struct{})
	l := datagram.StartLoop(p.open(t, Config{Batch: 4}), core, datagram.LoopConfig{Calm: calm, AfterTurn: func(time.Time) {
		if inside++; inside != 1 {
			t.Error("the loop is not alone with its core")
		}
		inside--
	}})
	var wg sync.WaitGroup
	var mu sync.Mutex
	visited := 0
	for range 4 {
		wg.Go(func() {
			for {
				ran := false
				err := l.Visit(func() {
					if inside++; inside != 1 {
						t.Error("a visitor is not alone with the core")
					}
					if waiting > 0 {
						t.Error("a visitor came before what the last had said was sent")
					}
					ran, waiting, put = true, waiting+1, put+1
					inside--
				})
				if ran != (err == nil) || err != nil && err != datagram.ErrClosed {
					t.Errorf("ran %v, error %v", ran, err)
				}
				if err != nil {
					return
				}
				mu.Lock()
				if visited++; visited == 50 {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	patient.Value(enough)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	patient.Done(wg.Wait)
	if waiting != 0 || sent != put {
		t.Errorf("of %d, %d were sent and %d wait for ever", put, sent, waiting)
	}
}

// A game's tick visits each loop: that costs it no memory.
func TestAVisitDoesNotAllocate(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		l := startLoop(t, p.open(t, Config{}), &scriptCore{keepNoLog: true}, datagram.LoopConfig{})
		n := 0
		if got := testing.AllocsPerRun(200, func() {
			if l.Visit(func() { n++ }) != nil {
				t.Error("closed")
			}
		}); got != 0 {
			t.Errorf("%v allocations a visit, want 0", got)
		}
	})
}

// What a visitor has a calm core send, it sends itself, up to a bound; the loop sleeps on unless
// there is more, or its next time has moved to earlier.
func TestAVisitorSendsWhatIsLittle(t *testing.T) {
	eachPlace(t, func(t *testing.T, p *place) {
		peer := p.open(t, Config{})
		core := newTimerCore(t)
		waiting := 0
		core.transmit = func(buf []byte) (int, netip.AddrPort, bool) {
			if waiting == 0 {
				return 0, netip.AddrPort{}, false
			}
			waiting--
			return copy(buf, "x"), p.addr(peer), true
		}
		calm := true
		told := make(chan struct{}, 1)
		l := startLoop(t, p.open(t, Config{}), core, datagram.LoopConfig{Calm: func() bool { return calm }, AfterTurn: func(time.Time) {
			if !calm {
				calm = true
				told <- struct{}{}
			}
		}})
		if err := l.Do(func() { core.add(time.Now().Add(time.Hour)) }); err != nil {
			t.Fatal(err)
		}
		visit := func(fn func()) {
			if err := l.Visit(fn); err != nil {
				t.Fatal(err)
			}
		}
		visit(func() {}) // so that the turn of Do is over, and the loop knows its hour
		turns := l.Stats().Turns
		for range 10 {
			visit(func() { waiting = datagram.MaxVisitTransmits - 1 })
			if waiting != 0 {
				t.Fatalf("%d were left to the loop", waiting)
			}
		}
		if got := l.Stats().Turns; got > turns+2 { // a late wake of Do's costs an empty one
			t.Errorf("the loop took %d turns for ten visits", got-turns)
		}
		const much = 10 * datagram.MaxVisitTransmits
		visit(func() { waiting = much })
		visit(func() { // comes when the loop has sent the rest
			if waiting != 0 {
				t.Errorf("%d wait", waiting)
			}
			calm = false
		})
		patient.Value(told) // of what was not calm, in a turn
		fired := make(chan struct{})
		visit(func() {
			core.add(time.Now())
			once := core.timeout
			core.timeout = func(now time.Time) {
				once(now)
				close(fired)
			}
		})
		patient.Value(fired) // long before the hour
		if got, want := l.Carrier().Stats().OutDatagrams, uint64(10*(datagram.MaxVisitTransmits-1)+much); got != want {
			t.Errorf("%d were sent, want %d", got, want)
		}
	})
}
