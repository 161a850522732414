package shell_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/patient"
	"parley/internal/shell"
	"parley/internal/shell/shelltest"
)

// talk connects a guest whose endpoint takes the program's messages while there is room.
func talk(t testing.TB, at shelltest.Place, h *house, linger time.Duration, room func() bool) *visit {
	t.Helper()
	x, err := dial(t.Context(), t, at, h.Addr(), func(g *guest, c *shell.ClientConfig[event]) {
		g.linger = linger
		c.Send = func(_ time.Time, m shell.Message) bool {
			if !room() {
				return false
			}
			g.put(g.server, m.Name+string(m.Data))
			return true
		}
		c.Left = func(now time.Time, left bool) {
			if g.more = left; !left && !g.until.IsZero() {
				g.HandleTimeout(now)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	h.wants(t, "came")
	return x
}

func always() bool { return true }

// What is put in comes in its order, and what is done after it is done after it.
func TestPutIsSentInOrder(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		x := talk(t, at, h, time.Second, always)
		for _, text := range numbered(500, 8) {
			if err := x.Put(1, "n", []byte(text)); err != nil {
				t.Fatal(err)
			}
			h.wants(t, "n"+text)
		}
		for i, text := range numbered(50, 8) {
			if i%10 == 0 {
				_ = x.Do(func(time.Time) { x.guest.put(x.guest.server, "done") })
			}
			if err := x.PutWait(t.Context(), 1, "n", []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		for i, text := range numbered(50, 8) {
			if i%10 == 0 {
				h.wants(t, "done")
			}
			h.wants(t, "n"+text)
		}
	})
}

// Close sends what was put in before it, also where there is no room for a while.
func TestCloseSendsWhatWasPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := shelltest.Memory()
		h := serve(t, at)
		opens := time.Now().Add(time.Second)
		x := talk(t, at, h, time.Hour, func() bool { return time.Now().After(opens) })
		var want []string
		for _, text := range numbered(1000, 20) {
			if err := x.Put(0, "", []byte(text)); err != nil {
				t.Fatal(err)
			}
			want = append(want, text)
		}
		start := time.Now()
		if err := x.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took < time.Second || took > 2*time.Second {
			t.Errorf("close took %v", took)
		}
		h.wants(t, append(want, "left")...)
	})
}

// Nothing is taken once Close was called, or the connection has ended: whoever has seen that
// is not told otherwise.
func TestPutIntoWhatHasEnded(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(t *testing.T, h *house, x *visit)
	}{
		{"closed by us", func(t *testing.T, _ *house, x *visit) { x.Close(t.Context()) }},
		{"closed by the server", func(_ *testing.T, h *house, _ *visit) { h.Close() }},
		{"a socket that failed", func(_ *testing.T, _ *house, x *visit) { x.Loop().Carrier().Close() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
				h := serve(t, at)
				x := talk(t, at, h, 0, func() bool { return false })
				for x.Put(0, "", make([]byte, 10_000)) == nil {
				}
				waits := make(chan error)
				go func() { waits <- x.PutWait(t.Context(), 0, "", nil) }()
				tt.end(t, h, x)
				patient.Value(x.Over())
				for _, err := range []error{patient.Value(waits), x.Put(0, "", nil), x.PutWait(t.Context(), 0, "", nil)} {
					if err != nil && err != errClosed {
						t.Errorf("put: %v", err)
					}
				}
				if err := x.Put(0, "", nil); err != errClosed {
					t.Errorf("put: %v", err)
				}
			})
		})
	}
}

// Many who send while another closes: what was taken comes, in the order of each.
func TestCloseWhileManyPut(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		x := talk(t, at, h, time.Hour, always) // it repeats its goodbye until the server has heard it
		var wg sync.WaitGroup
		taken := make([]int, 4)
		begun := make(chan struct{}, len(taken))
		for i := range taken {
			wg.Go(func() {
				for x.PutWait(t.Context(), 0, string(rune('a'+i)), []byte{'x'}) == nil {
					if taken[i]++; taken[i] == 20 {
						begun <- struct{}{}
					}
					if taken[i] == 1000 {
						return
					}
				}
			})
		}
		for range taken {
			patient.Value(begun)
		}
		if err := x.Close(t.Context()); err != nil {
			t.Error(err)
		}
		patient.Done(wg.Wait)
		var got []string
		for ev := patient.Value(h.heard); ev != "left"; ev = patient.Value(h.heard) {
			got = append(got, ev)
		}
		for i, n := range taken {
			name := string(rune('a'+i)) + "x"
			if have := len(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s != name })); at.Network != nil && have != n || have > n {
				t.Errorf("%d of %d messages came", have, n)
			}
		}
	})
}
