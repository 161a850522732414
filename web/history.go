package web

import (
	"sync"
	"time"
)

// Point is what a server was like for two seconds.
type Point struct {
	Time    time.Time `json:"time" doc:"when it was read"`
	Players int       `json:"players" doc:"players of all rooms"`
	P50     float64   `json:"tick_p50_ms" doc:"how many milliseconds a tick took, half of them"`
	P99     float64   `json:"tick_p99_ms" doc:"how many milliseconds a tick took, of 99 in a hundred"`
	Late    float64   `json:"late" doc:"ticks a second that began more than half a period late"`
	Rates
}

// History is the newest points.
type History struct {
	Every  float64 `json:"every" doc:"seconds from point to point"`
	Points []Point `json:"points" doc:"ten minutes at most, oldest first"`
}

// Pulse is how many players there are, and how ticks went so far.
type Pulse struct {
	Players int
	Late    uint64
	Times   TickTimes
}

// TickTimes is how long all ticks took so far.
type TickTimes interface {
	// Since returns how long those ticks took, in milliseconds, that were not counted in an earlier TickTimes of the same server.
	Since(before TickTimes) (p50, p99 float64)
}

// history is a ring of points. It is all that the page costs while nobody watches.
type history struct {
	op    Operator
	stats func() any

	mu     sync.Mutex
	points []Point // at most historyPoints
	first  int     // where the oldest is
	at     time.Time
	rates  Rates // counters, as of at
	pulse  Pulse
}

// look adds a point if it is time for one. The first call is where counting begins.
func (h *history) look(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	took := now.Sub(h.at)
	if took < historyEvery*9/10 {
		return
	}
	rates, pulse := countersOf(h.stats()), h.op.Pulse()
	if !h.at.IsZero() && pulse.Times != nil && h.pulse.Times != nil {
		p := Point{Time: now.UTC().Truncate(time.Millisecond), Players: pulse.Players, Rates: rates.since(h.rates, took)}
		p.P50, p.P99 = pulse.Times.Since(h.pulse.Times)
		if pulse.Late >= h.pulse.Late {
			p.Late = roughly(float64(pulse.Late-h.pulse.Late) / took.Seconds())
		}
		h.add(p)
	}
	h.at, h.rates, h.pulse = now, rates, pulse
}

func (h *history) add(p Point) {
	if len(h.points) < historyPoints {
		h.points = append(h.points, p)
		return
	}
	h.points[h.first] = p
	h.first = (h.first + 1) % historyPoints
}

// newest returns the newest point, a zero one if there is none.
func (h *history) newest() Point {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.points); n > 0 {
		return h.points[(h.first+n-1)%n]
	}
	return Point{}
}

// all returns all points, oldest first.
func (h *history) all() History {
	h.mu.Lock()
	defer h.mu.Unlock()
	return History{historyEvery.Seconds(), append(append([]Point{}, h.points[h.first:]...), h.points[:h.first]...)}
}

// run adds points until stop is closed.
func (h *history) run(stop <-chan struct{}) {
	ticker := time.NewTicker(historyEvery)
	defer ticker.Stop()
	for {
		h.look(time.Now())
		select {
		case <-ticker.C:
		case <-stop:
			return
		}
	}
}
