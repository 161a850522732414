package gateway

import (
	"testing"
	"time"
)

// The counters of a path have 32 bits and wrap around; those of a player do not.
func TestTrafficOutlivesAWrap(t *testing.T) {
	s := &Seat{}
	s.estimate.Arrived, s.estimate.Lost = 1<<32-10, 5
	s.moved(1, 2)
	s.estimate.Arrived, s.estimate.Lost = 20, 6
	s.moved(3, 4)
	if got, want := s.traffic, (Traffic{3, 4, 1<<32 + 20, 6}); got != want {
		t.Errorf("the traffic is %v, want %v", got, want)
	}
	for carrier, known := range map[string]bool{"udp": true, "wt": true, "tcp": false, "tls": false, "ws": false, "wss": false} {
		if got := (&Player{seat: s, Carrier: carrier}).Traffic(); (got.Arrived > 0) != known || got.Out != 4 {
			t.Errorf("over %s: %v", carrier, got)
		}
	}
	if got := new(Player).Traffic(); got != (Traffic{}) {
		t.Errorf("of a player who is away: %v", got)
	}
}

func TestLatelyIsOfTheNewestTicks(t *testing.T) {
	r := &Room{lately: &lately{}}
	for i := range 1000 {
		r.lately.add(time.Duration(i) * time.Millisecond)
	}
	l := r.Lately()
	if p50, p99 := l.Quantile(.5), l.Quantile(.99); p50 != 872*time.Millisecond || p99 != 997*time.Millisecond {
		t.Errorf("p50 %v, p99 %v of 744 to 999 ms", p50, p99)
	}
	if l := new(Room).Lately(); l.Quantile(.99) != 0 {
		t.Error("a room without ticks has times")
	}
}
