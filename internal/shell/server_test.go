package shell_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/patient"
	"parley/internal/shell/shelltest"
	"parley/internal/udp"
)

func TestDoRunsOnTheLoopWithThePresentTime(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		if at.Network != nil {
			time.Sleep(time.Hour) // virtual: the loop has slept through it
		}
		before := time.Now()
		var during time.Time
		if err := h.Do(func() { during = h.host.now }); err != nil {
			t.Fatal(err)
		}
		if during.Before(before) || during.After(time.Now()) {
			t.Errorf("the core's time was %v, called at %v", during, before)
		}
	})
}

// Commands of many goroutines run one at a time, each before its Do returns.
func TestDoFromManyGoroutines(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		var wg sync.WaitGroup
		sum := 0 // owned by the loop
		for range 20 {
			wg.Go(func() {
				for range 100 {
					ran := false
					if err := h.Do(func() { sum++; ran = true }); err != nil || !ran {
						t.Errorf("Do: %v, ran %v", err, ran)
					}
				}
			})
		}
		patient.Done(wg.Wait)
		if h.Close(); sum != 2000 {
			t.Errorf("%d of 2,000 ran", sum)
		}
	})
}

// What a command has the core send goes out, and what happened is told, without any
// datagram that would wake the loop.
func TestWhatDoCausesIsSentAndTold(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		x := connect(t, at, h)
		h.wants(t, "came")
		h.send(t, "first", "second")
		var got []string
		for ev := range x.Events() {
			if got = append(got, ev.news); len(got) == 2 {
				break
			}
		}
		if got[0] != "first" || got[1] != "second" {
			t.Errorf("the client heard %q", got)
		}
		if err := h.Do(func() { h.host.lose(h.host.guests[0]) }); err != nil {
			t.Fatal(err)
		}
		h.wants(t, "left")
	})
}

func TestAClosedServerRunsNothing(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		for range 2 {
			if err := h.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		if err := h.Do(func() { t.Error("it ran") }); err != errClosed {
			t.Errorf("Do: %v", err)
		}
		if err := h.Shutdown(t.Context()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		patient.Value(h.Done())
		looked := false
		if h.Look(func() { looked = true }); !looked { // it is still there, as are the counters
			t.Error("nobody may look at it")
		}
		if h.LoopStats().Turns == 0 || h.Carrier().LocalAddr() != h.Addr() {
			t.Errorf("%+v at %v", h.LoopStats(), h.Addr())
		}
	})
}

func TestShutdownWaitsForTheLastConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := shelltest.Memory()
		h := serve(t, at)
		var guests []*udp.Socket // that do not answer by themselves
		for range 3 {
			s := at.Dial(t, h.Addr())
			defer s.Close()
			write(t, s, "hello")
			guests = append(guests, s)
		}
		h.wants(t, "came", "came", "came")
		down := make(chan error, 1)
		go func() { down <- h.Shutdown(t.Context()) }()
		for _, s := range guests {
			synctest.Wait()
			time.Sleep(time.Hour)
			if len(down) != 0 {
				t.Fatal("the shutdown did not wait")
			}
			write(t, s, "bye")
		}
		if err := <-down; err != nil {
			t.Errorf("shutdown: %v", err)
		}
		h.wants(t, "left", "left", "left")
		if err := h.Do(func() {}); err != errClosed {
			t.Errorf("Do after the shutdown: %v", err)
		}
	})
}

func write(t testing.TB, s *udp.Socket, text string) {
	t.Helper()
	out := s.NewSendBatch()
	out.Append([]byte(text), s.RemoteAddr())
	if err := s.Write(out); err != nil {
		t.Fatal(err)
	}
}

func TestShutdownTellsAllAndClosesWhenTheyHaveLeft(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		var all []*visit
		for range 20 {
			all = append(all, connect(t, at, h))
		}
		if err := h.Shutdown(t.Context()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		for _, x := range all {
			if _, why := x.rest(); why != errSent {
				t.Errorf("a client ended with %v", why)
			}
		}
	})
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := shelltest.Memory()
		h := serve(t, at)
		mute := at.Dial(t, h.Addr())
		defer mute.Close()
		write(t, mute, "hello")
		h.wants(t, "came")
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		err := h.Shutdown(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "tiny: shutdown: ") {
			t.Errorf("shutdown: %v", err)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("it took %v", took)
		}
		h.wants(t, "left") // the core was told to abort
	})
}

// A server without connections has nobody to wait for, whatever its context.
func TestShutdownOfAnEmptyServerIsNeverLate(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		for range 20 {
			h := serve(t, at)
			if err := h.Shutdown(shelltest.Ended()); err != nil {
				t.Fatalf("shutdown: %v", err)
			}
		}
	})
}

// A regression: the second of two Shutdowns that came before the first had closed the
// loop told of its end once more, and panicked.
func TestShutdownAndCloseByMany(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		rounds := 50
		if testing.Short() {
			rounds = 10
		}
		for range rounds {
			h := serve(t, at)
			connect(t, at, h)
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					err := error(nil)
					if i < 7 {
						err = h.Shutdown(t.Context())
					} else {
						err = h.Close()
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			patient.Done(wg.Wait)
			h.wants(t, "came", "left")
		}
	})
}

// Close has the core abort, sends its last words, tells the program, and does not wait.
func TestCloseTellsAllAtOnce(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		x := connect(t, at, h)
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if len(h.heard) != 2 {
			t.Errorf("the program heard %d things before Close returned, want 2", len(h.heard))
		}
		h.wants(t, "came", "left")
		if _, why := x.rest(); why != errSent {
			t.Errorf("the client ended with %v", why)
		}
	})
}

func TestASocketThatFailsEndsTheServer(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		connect(t, at, h)
		h.Carrier().Close()
		patient.Value(h.Done())
		h.wants(t, "came", "left") // its program is told all the same
		h.Look(func() {
			if n := h.host.Len(); n != 0 {
				t.Errorf("a look shows %d guests", n)
			}
		})
		if err := h.Do(func() {}); err != errClosed {
			t.Errorf("Do: %v", err)
		}
		for _, err := range []error{h.Close(), h.Shutdown(t.Context())} {
			if !errors.Is(err, udp.ErrClosed) || !strings.HasPrefix(err.Error(), "tiny: udp: ") {
				t.Errorf("closed with %v", err)
			}
		}
	})
}

// Look sees the core as it is, while no turn is under way, and when the server has been closed meanwhile.
func TestALookSeesTheCoreBetweenTurns(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		x := connect(t, at, h)
		h.Look(func() {
			if h.host.Len() != 1 {
				t.Errorf("a look shows %d guests", h.host.Len())
			}
		})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				last := 0
				for range 200 {
					h.Look(func() {
						if n := len(h.heard); n < last || len(h.host.events) > 0 {
							t.Errorf("a look shows %d heard, an earlier one %d, and %d events", n, last, len(h.host.events))
						}
						last = len(h.heard)
					})
				}
			})
		}
		for range 200 {
			if err := x.Do(func(time.Time) { x.guest.put(h.Addr(), "news") }); err != nil {
				t.Error(err)
			}
		}
		h.Close()
		patient.Done(wg.Wait)
	})
}
