package pace

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"
)

// The model: one link with a queue, that several flows share. A flow is a player whose ticks obey a Path, or a TCP.

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
	m     *model
	start time.Duration
	path  Path
	needs int // bytes a tick
	own   int // bytes of a tick that are sent in any case

	sent      int64
	arrived   int64
	latencies []time.Duration // of its own entity, one way
	budgets   []int
}

const tick = 50 * time.Millisecond

// a server has its players' ticks at the same time, and begins with another one in each.
type server struct {
	m       *model
	ticks   int
	players []*player
}

func (m *model) serve() *server {
	s := &server{m: m}
	m.at(time.Millisecond, s.tick)
	return s
}

func (s *server) add(start time.Duration, needs int) *player {
	p := &player{m: s.m, start: start, needs: needs, own: 90}
	s.players = append(s.players, p)
	return p
}

func (s *server) tick(at time.Duration) {
	s.ticks++
	for i := range s.players {
		if p := s.players[(i+s.ticks*61803)%len(s.players)]; at >= p.start {
			p.tick(at)
		}
	}
	s.m.at(at+tick, s.tick)
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
		p.path.Acked(at, at-sentAt, n)
		p.arrived += int64(n)
		if own {
			p.latencies = append(p.latencies, at-sentAt)
		}
	}, func(at time.Duration) { p.path.Lost(at, n) })
}

// tcp is a bulk sender: Reno, or CUBIC.
type tcp struct {
	m        *model
	cubic    bool
	window   float64 // packets
	ssthresh float64
	flying   int
	srtt     time.Duration
	reduced  time.Duration // when it last gave way
	most     float64       // window then
	sent     int64
}

func (m *model) addTCP(start time.Duration, cubic bool) *tcp {
	t := &tcp{m: m, cubic: cubic, window: 10, ssthresh: 1e9}
	m.at(start, t.pump)
	return t
}

func (t *tcp) pump(time.Duration) {
	for t.flying < int(t.window) {
		t.flying++
		sentAt := t.m.now
		t.m.put(1500, func(at time.Duration) {
			t.flying--
			t.sent += 1500
			if t.srtt == 0 {
				t.srtt = at - sentAt
			}
			t.srtt += (at - sentAt - t.srtt) / 8
			t.grow(at)
			t.pump(at)
		}, func(at time.Duration) {
			t.flying--
			if at-t.reduced > t.srtt {
				t.reduced, t.most = at, t.window
				t.window /= 2
				if t.cubic {
					t.window = t.most * 0.7
				}
				t.window = max(t.window, 2)
				t.ssthresh = t.window
			}
			t.pump(at)
		})
	}
}

func (t *tcp) grow(at time.Duration) {
	switch {
	case t.window < t.ssthresh:
		t.window++
	case t.cubic:
		k := cbrt(t.most * 0.3 / 0.4)
		since := (at - t.reduced).Seconds()
		want := 0.4*(since-k)*(since-k)*(since-k) + t.most
		friendly := t.most*0.7 + 3*0.3/1.7*since/t.srtt.Seconds()
		if want = max(want, friendly); want > t.window {
			t.window += min((want-t.window)/t.window, 0.5)
		}
	default:
		t.window += 1 / t.window
	}
}

func cbrt(x float64) float64 {
	y := x
	for range 60 {
		y -= (y*y*y - x) / (3 * y * y)
	}
	return y
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
