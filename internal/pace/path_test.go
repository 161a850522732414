package pace

import (
	"fmt"
	"testing"
	"time"
)

func TestExplore(t *testing.T) {
	for _, needs := range []int{4096, 16000} {
		for _, rate := range []int64{12500, 50000, 250000, 0} {
			for _, loss := range []float64{0, 0.02} {
				for _, jitter := range []time.Duration{0, 20 * time.Millisecond} {
					for seed := range uint64(2) {
						m := newModel(seed, link{rate: rate, queue: 200 * time.Millisecond, delay: 20 * time.Millisecond, jitter: jitter, loss: loss})
						p := m.serve().add(time.Millisecond, needs)
						m.runUntil(3 * time.Second)
						from := m.mark()
						p.latencies = nil
						m.runUntil(63 * time.Second)
						report(t, fmt.Sprintf("rate %d loss %v jitter %v seed %d", rate*8, loss, jitter, seed), m, p, from)
					}
				}
			}
		}
	}
	m := newModel(1, link{rate: 250000, queue: 200 * time.Millisecond, delay: 20 * time.Millisecond})
	p := m.serve().add(time.Millisecond, 16000)
	for _, rate := range []int64{250000, 25000, 250000, 25000, 250000} {
		m.link.rate = rate
		from := m.mark()
		p.latencies = nil
		for range 4 {
			from := m.mark()
			m.runUntil(m.now + time.Second)
			report(t, fmt.Sprintf("  step %d", rate*8), m, p, from)
		}
		m.runUntil(m.now + 10*time.Second)
		report(t, fmt.Sprintf("step %d", rate*8), m, p, from)
	}
}

func report(t *testing.T, name string, m *model, p *player, from mark) {
	now := m.mark()
	n := now.given - from.given
	use := 0.0
	if m.link.rate > 0 {
		use = float64(now.carried-from.carried) / (now.at - from.at).Seconds() / float64(m.link.rate)
	}
	t.Logf("%-46s mode %d rate %d use %.2f drops %.3f wait %v own p50 %v p99 %v max %v", name, p.path.mode, p.path.rate*8, use, float64(now.dropped-from.dropped)/float64(n),
		((now.waits - from.waits) / time.Duration(max(n-(now.dropped-from.dropped), 1))).Round(time.Millisecond), percentile(p.latencies, .5).Round(time.Millisecond), percentile(p.latencies, .99).Round(time.Millisecond), percentile(p.latencies, 1).Round(time.Millisecond))
}

func TestExploreFair(t *testing.T) {
	for _, rate := range []int64{25000, 50000, 100000} {
		for seed := range uint64(3) {
			m := newModel(seed, link{rate: rate, queue: 200 * time.Millisecond, delay: 20 * time.Millisecond})
			sv := m.serve()
			a, b := sv.add(time.Millisecond, 4096), sv.add(5*time.Second+time.Duration(m.rand.Int64N(int64(tick))), 4096)
			m.runUntil(15 * time.Second)
			from := m.mark()
			a0, b0 := a.sent, b.sent
			m.runUntil(75 * time.Second)
			share := float64(a.sent-a0) / float64(a.sent-a0+b.sent-b0)
			report(t, fmt.Sprintf("two at %d: share %.2f", rate*8, share), m, a, from)
			for _, cubic := range []bool{false, true} {
				m := newModel(seed, link{rate: rate, queue: 200 * time.Millisecond, delay: 20 * time.Millisecond})
				a := m.serve().add(time.Millisecond, 4096)
				b := m.addTCP(5*time.Second+time.Duration(m.rand.Int64N(int64(tick))), cubic)
				m.runUntil(15 * time.Second)
				from := m.mark()
				a0, b0 := a.sent, b.sent
				m.runUntil(75 * time.Second)
				share := float64(a.sent-a0) / float64(a.sent-a0+b.sent-b0)
				report(t, fmt.Sprintf("tcp cubic %v at %d: share %.2f", cubic, rate*8, share), m, a, from)
			}
		}
	}
	m := newModel(1, link{rate: 1250000, queue: 200 * time.Millisecond, delay: 20 * time.Millisecond})
	var all []*player
	sv := m.serve()
	for i := range 100 {
		all = append(all, sv.add(time.Millisecond*time.Duration(1+i*7), 4096))
	}
	m.runUntil(5 * time.Second)
	from := m.mark()
	m.runUntil(65 * time.Second)
	for i, p := range all {
		if i%10 == 0 {
			report(t, fmt.Sprintf("hundred %d sent %d", i, p.sent/65), m, p, from)
		}
	}
}
