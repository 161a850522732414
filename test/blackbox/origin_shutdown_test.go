package blackbox

import (
	"testing"
	"time"

	"parley/protocol/relay/connector"
	"parley/simnet"
)

// The library of the game ends when all that it sent is confirmed: its users wait for that when they leave. The last to leave a game are
// not to wait for resends to a port that is closed, if the confirmation of their Leave was lost.
func TestOriginClientsShutDownSoon(t *testing.T) {
	w := newOriginWorld(t, 20, simnet.Profile{Delay: 25 * time.Millisecond, Loss: 0.05}, connector.Config{})
	_, all := originLobbies(w, 40, 4)
	w.run(5 * time.Second)
	start := w.net.Elapsed()
	w.do(func(now time.Time) {
		for _, c := range all {
			c.leave(now)
		}
	})
	took := map[*originClient]time.Duration{}
	for len(took) < len(all) && w.net.Elapsed()-start < 30*time.Second {
		w.run(10 * time.Millisecond)
		for _, c := range all {
			if _, done := took[c]; !done && (c.pending() == 0 || c.gaveUp != "") {
				took[c] = w.net.Elapsed() - start
			}
		}
	}
	var sum, most time.Duration
	for _, c := range all {
		if c.gaveUp != "" {
			t.Errorf("%s gave up: %s", c.name, c.gaveUp)
		}
		sum += took[c]
		most = max(most, took[c])
	}
	mean := sum / time.Duration(len(all))
	t.Logf("they take %v on average and %v at most", mean, most)
	if mean > 300*time.Millisecond || most > 5*time.Second {
		t.Errorf("they take %v on average and %v at most", mean, most)
	}
}
