package pace

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"
)

// The model: one link with a queue, that several flows share. A flow is a player whose ticks obey a Path.
// Downloads beside it are in package kit (Slow.Shares), with the cores of the dialects.

type link struct {
	rate   int64 // bytes a second
	queue  time.Duration
	delay  time.Duration // each way
	jitter time.Duration
	loss   float64
	free   time.Duration // when it has sent what was given to it

	// Instead of a queue it may have a bucket of so many bytes: what is above the rate is dropped, and nothing waits.
	bucket, fill float64
	filled       time.Duration

	given, dropped int
	carried        int64
	waits          time.Duration
}

type happening struct {
	at time.Duration
	n  int
	do func(at time.Duration)
}

type agenda []happening

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].n < a[j].n
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(happening)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

type model struct {
	now    time.Duration
	agenda agenda
	serial int
	rand   *rand.Rand
	link   link
}

func newModel(seed uint64, l link) *model {
	return &model{now: 1, rand: rand.New(rand.NewPCG(seed, 1)), link: l}
}

func (m *model) at(t time.Duration, do func(at time.Duration)) {
	m.serial++
	heap.Push(&m.agenda, happening{t, m.serial, do})
}

func (m *model) runUntil(t time.Duration) {
	for len(m.agenda) > 0 && m.agenda[0].at <= t {
		h := heap.Pop(&m.agenda).(happening)
		m.now = h.at
		h.do(h.at)
	}
	m.now = t
}

// put gives a packet to the link, and calls arrived when its confirmation is back, and dropped when it is clear
// that there will be none.
func (m *model) put(n int, arrived, dropped func(at time.Duration)) {
	l := &m.link
	l.given++
	wait := max(l.free-m.now, 0)
	back := l.delay
	if l.jitter > 0 {
		back += time.Duration(m.rand.Int64N(int64(l.jitter))) + time.Duration(m.rand.Int64N(int64(l.jitter)))
	}
	if l.bucket > 0 {
		wait, l.free = 0, m.now
		l.fill = min(l.fill+float64(l.rate)*(m.now-l.filled).Seconds(), l.bucket)
		l.filled = m.now
		if l.fill -= float64(n); l.fill < 0 {
			l.fill += float64(n)
			wait = l.queue + 1
		}
	}
	if wait > l.queue {
		l.dropped++
		m.at(m.now+wait+l.delay+back, dropped)
		return
	}
	l.waits += wait
	if l.rate > 0 && l.bucket == 0 {
		l.free = m.now + wait + time.Duration(int64(n)*int64(time.Second)/l.rate)
	} else {
		l.free = m.now
	}
	l.carried += int64(n)
	there := l.free + l.delay + back
	if m.rand.Float64() < l.loss {
		m.at(there, dropped)
		return
	}
	m.at(there, arrived)
}

// a player is sent what its world needs, as far as its path takes it.
type player struct {
	m      *model
	server *server
	start  time.Duration
	path   Path
	needs  int // bytes a tick
	own    int // bytes of a tick that are sent in any case

	sent      int64
	arrived   int64
	latencies []time.Duration // of its own entity, one way
	budgets   []int
}

const tick = 50 * time.Millisecond

// a server has its players' ticks at the same time, and begins with another one in each.
type server struct {
	m       *model
	halted  time.Duration // until then it stands still: ticks and confirmations wait, and are made up for at once
	ticks   uint64
	players []*player
}

func (m *model) serve() *server {
	s := &server{m: m}
	m.at(time.Millisecond, s.tick)
	return s
}

func (s *server) add(start time.Duration, needs int) *player {
	p := &player{m: s.m, server: s, start: start, needs: needs, own: 90}
	s.players = append(s.players, p)
	return p
}

func (s *server) tick(at time.Duration) {
	if at < s.halted {
		for next := at; next <= s.halted; next += tick {
			s.m.at(s.halted, s.doTick)
			at = next
		}
	} else {
		s.doTick(at)
	}
	s.m.at(at+tick, s.tick)
}

func (s *server) doTick(at time.Duration) {
	s.ticks++
	for i := range s.players {
		p := s.players[InTurn(s.ticks, i, len(s.players))]
		if at >= p.start {
			p.tick(at)
		}
	}
}

func (p *player) tick(at time.Duration) {
	budget := p.path.Budget(at)
	p.budgets = append(p.budgets, budget)
	left := max(min(budget, p.needs), p.own)
	first := true
	for left > 0 {
		n := min(left, 1228)
		if left -= n; left < 60 {
			left = 0
		}
		p.put(n, first)
		first = false
	}
}

func (p *player) put(n int, own bool) {
	sentAt := p.m.now
	p.path.Sent(n)
	p.sent += int64(n)
	p.m.put(n, func(at time.Duration) {
		p.server.hear(at, func(at time.Duration) {
			p.path.Acked(at, at-sentAt, n)
			p.arrived += int64(n)
			if own {
				p.latencies = append(p.latencies, at-sentAt)
			}
		})
	}, func(at time.Duration) { p.server.hear(at, func(at time.Duration) { p.path.Lost(at, n) }) })
}

// hear does something now, or when the server goes on.
func (s *server) hear(at time.Duration, do func(at time.Duration)) {
	if at < s.halted {
		s.m.at(s.halted, do)
		return
	}
	do(at)
}

// mark is the state of a link at one time, to measure from.
type mark struct {
	at             time.Duration
	given, dropped int
	carried        int64
	waits          time.Duration
	rate           int64
}

// room is how many bytes a link of this rate can have carried since.
func (k mark) room(from mark) float64 { return float64(k.rate) * (k.at - from.at).Seconds() }

func (m *model) mark() mark {
	l := &m.link
	return mark{m.now, l.given, l.dropped, l.carried, l.waits, l.rate}
}

func percentile(list []time.Duration, q float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return list[min(int(float64(len(list))*q), len(list)-1)]
}
