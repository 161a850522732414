package pace

import (
	"testing"
	"time"
)

func TestTrace(t *testing.T) {
	m := newModel(1, link{rate: 50000, queue: 200 * time.Millisecond, delay: 20 * time.Millisecond})
	p := m.serve().add(time.Millisecond, 4096)
	m.runUntil(m.now + 10*time.Second)
	for range 60 {
		m.runUntil(m.now + tick)
		x := &p.path
		t.Logf("%v credit %d budget %d rate %d known %d noise %v queue %v paid %v deaf %v link queue %v", m.now.Round(time.Millisecond), x.credit, x.budget, x.rate, x.known, x.noise.Round(time.Millisecond), x.queue.Round(time.Millisecond), x.paid.Round(time.Millisecond), (x.deaf - m.now).Round(time.Millisecond), (m.link.free - m.now).Round(time.Millisecond))
	}
}
func TestTraceHundred(t *testing.T) {
	m := newModel(1, link{rate: 1250000, queue: 200 * time.Millisecond, delay: 20 * time.Millisecond})
	var all []*player
	sv := m.serve()
	for i := range 100 {
		all = append(all, sv.add(time.Millisecond*time.Duration(1+i*7), 4096))
	}
	for range 15 {
		from := m.mark()
		m.runUntil(m.now + time.Second)
		now := m.mark()
		modes := [3]int{}
		sum := int64(0)
		for _, p := range all {
			modes[p.path.mode]++
			sum += p.path.rate
		}
		t.Logf("%v drops %.2f modes %v sum %d", m.now, float64(now.dropped-from.dropped)/float64(now.given-from.given), modes, sum)
		for _, i := range []int{0, 30, 60, 90} {
			x := &all[i].path
			t.Logf("   %d mode %d rate %d known %d queue %v noise %v base %v loss %+v", i, x.mode, x.rate, x.known, x.queue, x.noise, x.base().rtt, x.loss)
		}
	}
}
