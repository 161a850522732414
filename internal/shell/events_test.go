package shell_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell"
	"parley/internal/shell/shelltest"
)

// numbered returns n pieces of news, each of size bytes.
func numbered(n, size int) (all []string) {
	for i := range n {
		text := fmt.Sprintf("%d ", i)
		all = append(all, text+strings.Repeat("x", max(size-len(text), 0)))
	}
	return all
}

// T11: while no one reads, only so much is moved out of the endpoint; when someone does,
// everything comes, though nothing but the reader wakes the loop.
func TestWhatWaitsForAReaderIsBounded(t *testing.T) {
	promise.Keeps(t, "T11", "shell", 1)
	for _, tt := range []struct {
		name        string
		count, size int
		events      int // that wait
	}{
		{"small events, by their number", 1000, 8, shell.MaxQueuedEvents},
		{"just so many", shell.MaxQueuedEvents, 8, shell.MaxQueuedEvents},
		{"large events, by their bytes", 100, 10_000, shell.MaxQueuedEventBytes/10_000 + 1},
		{"events of the largest datagram", 20, 60_000, shell.MaxQueuedEventBytes/60_000 + 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := shelltest.Memory()
				h := serve(t, at)
				x := connect(t, at, h)
				synctest.Wait()
				want := numbered(tt.count, tt.size)
				h.send(t, want...)
				synctest.Wait()
				if n, b := x.Queued(); n != tt.events || b != int64(n*tt.size) {
					t.Errorf("%d events of %d bytes wait, want %d", n, b, tt.events)
				}
				var got []string
				for ev := range x.Events() {
					if got = append(got, ev.news); len(got) == tt.count {
						break
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("what was read is not what was sent")
				}
				if n, b := x.Queued(); n != 0 || b != 0 {
					t.Errorf("%d events of %d bytes wait in an empty queue", n, b)
				}
			})
		})
	}
}

// An event larger than all the room there is passes, alone.
func TestAnEventLargerThanTheQueuePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := shelltest.Memory()
		h := serve(t, at)
		x, err := dial(t.Context(), t, at, h.Addr(), func(_ *guest, c *shell.ClientConfig[event]) {
			c.Size = func(event) int { return 2 * shell.MaxQueuedEventBytes }
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		h.send(t, numbered(10, 8)...)
		for i := range 10 {
			synctest.Wait()
			if n, _ := x.Queued(); n != 1 {
				t.Errorf("%d events wait, want one", n)
			}
			for ev := range x.Events() {
				if want := fmt.Sprintf("%d ", i); !strings.HasPrefix(ev.news, want) {
					t.Errorf("got %q, want %q", ev.news, want)
				}
				break
			}
		}
	})
}

// A reader who is slower than the server's goodbye still gets all that came before it, and
// then the loop ends by itself.
func TestEventsBeforeTheEndAreRead(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		x := connect(t, at, h)
		want := numbered(3*shell.MaxQueuedEvents, 8)
		h.wants(t, "came")
		h.sendAll(t, x, append(slices.Clone(want), "closing")...)
		patient.Value(x.Over())
		if x.Err() != errSent {
			t.Errorf("Err is %v before all is read", x.Err())
		}
		if got, why := x.rest(); !slices.Equal(got, want) || why != errSent {
			t.Errorf("%d of %d were read, and the end was %v", len(got), len(want), why)
		}
		patient.Value(x.Loop().Done())
		if got, why := x.rest(); len(got) != 0 || why != errSent {
			t.Errorf("a second reading gets %q and %v", got, why)
		}
	})
}

// Several readers share what comes: each event has one reader, and each reader the end.
func TestSeveralReaders(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		x := connect(t, at, h)
		h.wants(t, "came")
		var wg sync.WaitGroup
		var mu sync.Mutex
		var got []string
		for range 4 {
			wg.Go(func() {
				news, why := x.rest()
				if why != errSent {
					t.Errorf("a reader's end is %v", why)
				}
				mu.Lock()
				defer mu.Unlock()
				got = append(got, news...)
			})
		}
		want := numbered(1000, 8)
		h.sendAll(t, x, append(slices.Clone(want), "closing")...)
		patient.Done(wg.Wait)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%d of %d were read", len(got), len(want))
		}
	})
}

// Close may be called by who reads: it gets what was in the queue, and then the end.
func TestCloseInsideEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := shelltest.Memory()
		h := serve(t, at)
		x := connect(t, at, h)
		synctest.Wait()
		want := numbered(1000, 8)
		h.send(t, want...)
		synctest.Wait()
		var got []string
		var why error
		for ev := range x.Events() {
			if len(got) == 0 {
				if err := x.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if why = ev.why; why == nil {
				got = append(got, ev.news)
			}
		}
		if n := len(got); why != errLeft || n < shell.MaxQueuedEvents || n > shell.MaxQueuedEvents+1 || !slices.Equal(got, want[:n]) {
			t.Errorf("%d events were read, and the end was %v", n, why)
		}
	})
}
