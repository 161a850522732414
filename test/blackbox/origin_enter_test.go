package blackbox

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"parley/internal/promise"
	"parley/protocol/relay/connector"
	"parley/simnet"
)

// enter has clients open games, twenty a second, and returns how long each waited for GameOpened, in steps of 10 ms. Those that never got it
// are left out.
func enter(t *testing.T, seed uint64, clients int, p simnet.Profile, c connector.Config) (took []time.Duration) {
	w := newOriginWorld(t, seed, p, c)
	began := map[*originClient]time.Duration{}
	for i := 0; i < 5*clients+2000; i++ {
		if i%5 == 0 && i < 5*clients {
			c := w.client()
			began[c] = w.net.Elapsed()
			w.do(func(now time.Time) { c.openGame(now, 2) })
		}
		w.run(10 * time.Millisecond)
		for c, at := range began {
			if c.opened {
				took = append(took, w.net.Elapsed()-at)
				delete(began, c)
			}
		}
	}
	slices.Sort(took)
	return took
}

// Clients that nobody knows prove themselves by what their library confirms, and open games, also on a path that loses some of it. The page has
// the figures of 200.
func TestOriginClientsAreProvenSoon(t *testing.T) {
	clients := 60
	if promise.Full() {
		clients = 200
	}
	for _, tt := range []struct {
		rtt      time.Duration
		loss     float64
		p50, p99 time.Duration
	}{
		{20 * time.Millisecond, 0, 350 * time.Millisecond, 400 * time.Millisecond},
		{150 * time.Millisecond, 0, 600 * time.Millisecond, 1200 * time.Millisecond},
		{60 * time.Millisecond, 0.02, 400 * time.Millisecond, 3 * time.Second},
		{60 * time.Millisecond, 0.05, 500 * time.Millisecond, 6 * time.Second},
		{60 * time.Millisecond, 0.1, time.Second, 12 * time.Second},
	} {
		t.Run(fmt.Sprintf("%v, %v lost", tt.rtt, tt.loss), func(t *testing.T) {
			p := simnet.Profile{Delay: tt.rtt / 2, Loss: tt.loss}
			c := connector.Config{MaxGames: 1000, MaxStrangers: 4000}
			took := enter(t, 21, clients, p, c)
			c.Unproven = true
			once := enter(t, 21, clients, p, c)
			p50, p99 := took[len(took)/2], took[len(took)*99/100]
			t.Logf("p50 %v, p99 %v, never %d; answered at once: p50 %v, p99 %v, never %d", p50, p99, clients-len(took), once[len(once)/2], once[len(once)*99/100], clients-len(once))
			if clients-len(took) > clients/100 || p50 > tt.p50 || p99 > tt.p99 {
				t.Error("that is late")
			}
		})
	}
}
