package pace

import (
	"math/rand/v2"
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/internal/shell/shelltest"
)

// outcome is what became of a player between a mark and now.
type outcome struct {
	use, drops float64
	wait       time.Duration
	p50, p99   time.Duration // of its own entity, as a round trip
}

func (m *model) since(from mark, p *player) (o outcome) {
	now := m.mark()
	given, dropped := now.given-from.given, now.dropped-from.dropped
	o.drops = float64(dropped) / float64(given)
	o.wait = (now.waits - from.waits) / time.Duration(max(given-dropped, 1))
	o.use = float64(now.carried-from.carried) / now.room(from)
	o.p50, o.p99 = percentile(p.latencies, .5), percentile(p.latencies, .99)
	return o
}

// 150 entities that walk need about as much as a tick may have at most.
const walkers = 4096

func narrow(bitsASecond int64, loss float64) link {
	return link{rate: bitsASecond / 8, queue: 200 * time.Millisecond, delay: 20 * time.Millisecond, loss: loss}
}

// The bars of W6, on the model: 20 ms each way, a queue of 200 ms.
func TestASlowLinkIsServedAtItsOwnSpeed(t *testing.T) {
	rows := []struct {
		name string
		link link
	}{
		{"100 kbit/s", narrow(100e3, 0)}, {"100 kbit/s, 2%", narrow(100e3, .02)},
		{"400 kbit/s", narrow(400e3, 0)}, {"400 kbit/s, 2%", narrow(400e3, .02)},
		{"600 kbit/s", narrow(600e3, 0)}, {"600 kbit/s, 2%", narrow(600e3, .02)},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for _, seed := range chance.Seeds(shelltest.Tier(50, 200, 200)) {
				m := newModel(seed, row.link)
				p := m.serve().add(time.Duration(m.rand.Int64N(int64(time.Second)))+1, walkers)
				m.runUntil(4 * time.Second)
				from := m.mark()
				p.latencies = nil
				m.runUntil(34 * time.Second)
				o := m.since(from, p)
				// "p99 ≤ that without a limit + 100 ms (+ the time of one full packet)"
				limit := 140*time.Millisecond + time.Duration(1228*int64(time.Second)/row.link.rate)
				if o.use < .8 || o.drops > .01 || o.wait > 30*time.Millisecond || o.p99 > limit {
					t.Errorf("seed %d: used %.2f, dropped %.3f, waited %v, own entity p50 %v p99 %v (at most %v)", seed, o.use, o.drops, o.wait, o.p50, o.p99, limit)
				}
			}
		})
	}
}

func TestTheRateFollowsTheLink(t *testing.T) {
	for _, seed := range chance.Seeds(shelltest.Tier(50, 200, 200)) {
		m := newModel(seed, narrow(2e6, 0))
		p := m.serve().add(time.Duration(m.rand.Int64N(int64(time.Second)))+1, walkers)
		m.runUntil(10 * time.Second)
		if p.path.Narrow() {
			t.Errorf("seed %d: a link of 2 Mbit/s is narrow for 650 kbit/s", seed)
		}
		from := m.mark()
		m.link.rate = 200e3 / 8
		m.runUntil(m.now + 500*time.Millisecond)
		// Two round trips of 240 ms later it sends no more than the link takes.
		after := p.sent
		m.runUntil(m.now + 10*time.Second)
		if sent := float64(p.sent-after) / 10; sent > 1.05*25e3 || sent < .75*25e3 {
			t.Errorf("seed %d: sends %.0f bytes a second on a link of 25,000", seed, sent)
		}
		m.link.rate = 2e6 / 8
		m.runUntil(m.now + 4*time.Second)
		before := p.sent
		m.runUntil(m.now + 6*time.Second)
		if sent := float64(p.sent-before) / 6; sent < .95*walkers*20 {
			t.Errorf("seed %d: sends %.0f bytes a second 4 s after the link has recovered", seed, sent)
		}
		if o := m.since(from, p); o.drops > .02 {
			t.Errorf("seed %d: %.3f dropped", seed, o.drops)
		}
	}
}

// Where nothing is narrow, packets that are late for another reason do not slow a player down.
func TestJitterIsNotAQueue(t *testing.T) {
	for _, jitter := range []time.Duration{5, 20, 50, 100} {
		for _, loss := range []float64{0, .02, .1} {
			for _, needs := range []int{300, walkers} {
				for _, seed := range chance.Seeds(shelltest.Tier(5, 20, 20)) {
					m := newModel(seed, link{delay: 20 * time.Millisecond, jitter: jitter * time.Millisecond, loss: loss, queue: time.Hour})
					p := m.serve().add(1, needs)
					m.runUntil(60 * time.Second)
					short := 0
					for _, b := range p.budgets {
						if b < needs {
							short++
						}
					}
					if share := float64(short) / float64(len(p.budgets)); share > .1 {
						t.Errorf("jitter %v, loss %v, needs %d, seed %d: %.3f of the ticks were short", jitter*time.Millisecond, loss, needs, seed, share)
					}
				}
			}
		}
	}
}

// A server that stands still now and then, as on a busy machine, does not take its own lateness for that of paths.
func TestWhoIsLateItselfBlamesNobody(t *testing.T) {
	for _, seed := range chance.Seeds(shelltest.Tier(25, 100, 100)) {
		m := newModel(seed, link{delay: 20 * time.Millisecond, queue: time.Hour})
		s := m.serve()
		p := s.add(1, walkers)
		for m.now < time.Minute {
			m.runUntil(m.now + 300*time.Millisecond + time.Duration(m.rand.Int64N(int64(2*time.Second))))
			s.halted = m.now + time.Duration(m.rand.Int64N(int64(400*time.Millisecond)))
			m.runUntil(s.halted)
		}
		short := 0
		for _, b := range p.budgets {
			if b < walkers {
				short++
			}
		}
		if share := float64(short) / float64(len(p.budgets)); share > .02 {
			t.Errorf("seed %d: %.3f of the ticks were short", seed, share)
		}
	}
}

// "two players behind one link share it (35–65%)"
func TestTwoPlayersShareALink(t *testing.T) {
	for _, rate := range []int64{200e3, 400e3, 800e3} {
		for _, seed := range chance.Seeds(shelltest.Tier(12, 50, 50)) {
			m := newModel(seed, narrow(rate, 0))
			s := m.serve()
			a, b := s.add(1, walkers), s.add(time.Duration(m.rand.Int64N(int64(10*time.Second)))+1, walkers)
			m.runUntil(20 * time.Second)
			was := [2]int64{a.sent, b.sent}
			m.runUntil(80 * time.Second)
			share := float64(a.sent-was[0]) / float64(a.sent-was[0]+b.sent-was[1])
			if share < .35 || share > .65 {
				t.Errorf("%d kbit/s, seed %d: the first has %.2f of it", rate/1000, seed, share)
			}
		}
	}
}

// "a hundred players behind one 10 Mbit/s link all play": those who come to a full queue have never seen the link without it.
func TestAHundredPlayersShareALink(t *testing.T) {
	for _, come := range []time.Duration{time.Second, 5 * time.Second} {
		for _, seed := range chance.Seeds(shelltest.Tier(2, 5, 5)) {
			hundredShare(t, seed, come)
		}
	}
}

func hundredShare(t *testing.T, seed uint64, come time.Duration) {
	m := newModel(seed, narrow(10e6, 0))
	s := m.serve()
	for range 100 {
		s.add(time.Duration(m.rand.Int64N(int64(come)))+1, walkers)
	}
	m.runUntil(come + 9*time.Second)
	from := m.mark()
	was := make([]int64, len(s.players))
	for i, p := range s.players {
		p.latencies, was[i] = nil, p.arrived
	}
	m.runUntil(come + 39*time.Second)
	for i, p := range s.players {
		o := m.since(from, p)
		// An even share is 12,500 bytes a second.
		if got := (p.arrived - was[i]) / 30; got < 2500 || o.p99 > 300*time.Millisecond {
			t.Errorf("come within %v, seed %d: player %d gets %d bytes a second, its own entity p99 %v", come, seed, i, got, o.p99)
		}
	}
	if o := m.since(from, s.players[0]); o.drops > .01 || o.use < .8 {
		t.Errorf("come within %v, seed %d: %.3f dropped, %.2f used", come, seed, o.drops, o.use)
	}
}

// "Loss is not always bad luck": a link without a queue drops what is above its rate, and nothing waits. And sometimes it is.
func TestLossThatFollowsOurRate(t *testing.T) {
	for _, seed := range chance.Seeds(shelltest.Tier(12, 50, 50)) {
		m := newModel(seed, link{rate: 50e3, bucket: 8000, delay: 20 * time.Millisecond})
		p := m.serve().add(1, walkers)
		m.runUntil(10 * time.Second)
		from := m.mark()
		m.runUntil(70 * time.Second)
		if o := m.since(from, p); o.drops > .2 || o.use < .7 {
			t.Errorf("seed %d: %.3f dropped on a link without a queue, %.2f used", seed, o.drops, o.use)
		}
	}
	for _, seed := range chance.Seeds(shelltest.Tier(12, 50, 50)) {
		m := newModel(seed, link{delay: 20 * time.Millisecond, queue: time.Hour, loss: .2})
		p := m.serve().add(1, walkers)
		m.runUntil(30 * time.Second)
		was := p.sent
		m.runUntil(60 * time.Second)
		if sent := float64(p.sent-was) / 30; sent < .5*walkers*20 {
			t.Errorf("seed %d: %.0f bytes a second on a path that loses a fifth by itself", seed, sent)
		}
	}
}

// A peer that confirms late, early, at once or never gets the least or less than it could have, and nothing that is out of bounds.
func TestAPeerThatLies(t *testing.T) {
	for _, seed := range chance.Seeds(shelltest.Tier(50, 200, 200)) {
		r := rand.New(rand.NewPCG(seed, 2))
		var p Path
		at := time.Duration(1)
		for range 2000 {
			if b := p.Budget(at); b < 0 || p.Narrow() && (p.rate < leastRate || p.rate > 1<<40) {
				t.Fatalf("seed %d: budget %d, rate %d", seed, b, p.rate)
			}
			if p.Estimate().Queue < 0 {
				t.Fatalf("seed %d: a queue of %v", seed, p.Estimate().Queue)
			}
			for range r.IntN(4) {
				p.Sent(r.IntN(1228))
			}
			for range r.IntN(4) {
				switch r.IntN(8) {
				case 0:
					p.Acked(at, 1, 1228)
				case 1:
					p.Acked(at, time.Hour, 1228)
				case 2:
					p.Acked(at, -time.Second, 1228)
				case 3:
					p.Acked(at, time.Duration(r.Int64N(int64(time.Second))), r.IntN(1<<20))
				case 4:
					p.Lost(at, r.IntN(1228))
				case 5:
					p.Acked(at, 0, 1228)
				default:
					p.Acked(at, 40*time.Millisecond, 1228)
				}
			}
			at += time.Duration(r.Int64N(int64(100 * time.Millisecond)))
		}
	}
}

// What a path costs a player who has none of it: a tick with four packets.
func BenchmarkWide(b *testing.B) {
	var p Path
	at := time.Duration(1)
	b.ReportAllocs()
	for b.Loop() {
		at += tick
		p.Budget(at)
		for range 4 {
			p.Sent(1228)
			p.Acked(at, 40*time.Millisecond, 1228)
		}
	}
}

// What was sent while a path was wide was not limited, and is not to be paid back when a dialect has found it narrow.
func TestWhatWasNotLimitedIsNotPaidBack(t *testing.T) {
	var p Path
	at := time.Duration(1)
	for range 100 {
		p.Budget(at)
		p.Sent(walkers)
		p.Acked(at, 40*time.Millisecond, walkers)
		at += tick
	}
	p.Found(at, 25_000, 0)
	if got, want := p.Budget(at), 25_000*int(tick)/int(time.Second); got < want*9/10 {
		t.Errorf("the first tick of a narrow path has %d bytes, want about %d", got, want)
	}
}

// While nothing comes back, the queue that was seen last says nothing of now: a path on which all is dropped is not sent more and more.
func TestWhoHearsNothingSendsNoMore(t *testing.T) {
	var p Path
	p.Found(1, 25_000, 0)
	at, last := time.Duration(1), 20
	heard := int64(0)
	for i := range 200 {
		n := p.Budget(at)
		p.Sent(n)
		switch rate := p.Estimate().Rate; {
		case i <= last:
			p.Acked(at, 40*time.Millisecond, n)
		case i <= last+judgedTicks:
			heard = rate
		case rate > heard:
			t.Fatalf("tick %d of silence: %d bytes a second, before it %d", i-last, rate, heard)
		}
		at += tick
	}
}
