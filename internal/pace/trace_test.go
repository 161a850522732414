package pace

import (
	"testing"
	"time"
)

func TestTrace(t *testing.T) {
	m := newModel(1, link{rate: 50000, queue: 200 * time.Millisecond, delay: 20 * time.Millisecond})
	p := m.addPlayer(time.Millisecond, 4096)
	m.runUntil(m.now + 10*time.Second)
	for range 60 {
		m.runUntil(m.now + tick)
		x := &p.path
		t.Logf("%v credit %d budget %d rate %d known %d noise %v queue %v paid %v deaf %v link queue %v", m.now.Round(time.Millisecond), x.credit, x.budget, x.rate, x.known, x.noise.Round(time.Millisecond), x.queue.Round(time.Millisecond), x.paid.Round(time.Millisecond), (x.deaf - m.now).Round(time.Millisecond), (m.link.free - m.now).Round(time.Millisecond))
	}
}
