package admission

import (
	"container/heap"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"parley/internal/promise"
)

// flood is a server's admission in virtual time: honest clients connect, as replica's do, in
// the middle of questions from forged sources.
type flood struct {
	rng     *rand.Rand
	half    *HalfOpen[[256]byte]
	buckets *Buckets
	events  eventHeap
	peak    int // handshakes open at once
	// done is how long each honest client took.
	done []time.Duration
}

func newFlood(rng *rand.Rand) *flood {
	return &flood{
		rng:  rng,
		half: NewHalfOpen[[256]byte](HalfOpenConfig{}, testKey),
		buckets: NewBuckets(BucketsConfig{
			Source: Limit{Rate: 20, Burst: 20}, Prefix: Limit{Rate: 200, Burst: 200}, Total: NoLimit,
		}, testKey),
	}
}

// init is a question that reaches the server; it reports whether it is answered.
func (f *flood) init(now time.Duration, from netip.AddrPort) bool {
	if !f.buckets.Allow(at(now), from.Addr(), 1) {
		return false
	}
	_, verdict := f.half.Open(at(now), from)
	f.peak = max(f.peak, f.half.Len())
	return verdict != Deferred
}

// honest is a client that connects over a link with delay and loss.
type honest struct {
	f         *flood
	from      netip.AddrPort
	began     time.Duration
	delay     time.Duration // one way
	loss      float64
	stage     int // 0 asks, 1 has the accept, 2 has the first sync.init, 3 proven
	connected bool
}

// try sends what the client's stage asks for, and again later until it moves on.
func (c *honest) try(now time.Duration, stage int, wait time.Duration) {
	if c.stage != stage {
		return
	}
	c.f.after(now+wait, func(now time.Duration) { c.try(now, stage, min(2*wait, time.Second)) })
	c.send(now, func(now time.Duration) { c.atServer(now, stage) })
}

func (c *honest) atServer(now time.Duration, stage int) {
	answered := false
	switch stage {
	case 0:
		answered = c.f.init(now, c.from)
	case 1: // the ack of the accept is answered with a sync.init
		answered = c.f.half.Get(at(now), c.from) != nil
	case 2: // the sync.ack has a time that proves the address
		_, answered = c.f.half.Prove(at(now), c.from)
		if answered && !c.connected {
			c.connected = true
			c.f.done = append(c.f.done, now-c.began)
			c.stage = 3
		}
		return
	}
	if !answered && stage == 1 && !c.connected { // a stranger is told so, and begins again
		c.send(now, func(now time.Duration) {
			if c.stage == 1 || c.stage == 2 {
				c.stage = 0
				c.try(now, 0, 250*time.Millisecond)
			}
		})
	}
	if answered {
		c.send(now, func(now time.Duration) {
			if c.stage == stage {
				c.stage++
				c.try(now, c.stage, 250*time.Millisecond)
			}
		})
	}
}

func (c *honest) send(now time.Duration, arrive func(now time.Duration)) {
	if c.f.rng.Float64() >= c.loss {
		c.f.after(now+c.delay, arrive)
	}
}

// event is something that happens at a virtual time.
type event struct {
	at time.Duration
	do func(now time.Duration)
}

type eventHeap []event

func (h eventHeap) Len() int           { return len(h) }
func (h eventHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h eventHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)        { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (f *flood) after(at time.Duration, do func(now time.Duration)) {
	heap.Push(&f.events, event{at, do})
}

// run lets forged sources ask times times each, 250 ms apart, perSecond of them in a
// second, while 20 honest clients a second begin to connect. It returns the share of clients
// that did within 3 s.
func (f *flood) run(seconds, perSecond, times int, maxDelay time.Duration) float64 {
	clients := 20 * seconds
	for i := range clients {
		c := &honest{f: f, from: randomPeer(f.rng), loss: 0.01}
		c.began = time.Duration(i) * time.Second / 20
		c.delay = 5*time.Millisecond + time.Duration(f.rng.Int64N(int64(maxDelay)))
		f.after(c.began, func(now time.Duration) { c.try(now, 0, 250*time.Millisecond) })
	}
	for i := range (seconds + 3) * perSecond { // 3 s more, so that the last client is flooded too
		now := time.Duration(i) * time.Second / time.Duration(perSecond)
		for len(f.events) > 0 && f.events[0].at <= now {
			e := heap.Pop(&f.events).(event)
			e.do(e.at)
		}
		from := randomPeer(f.rng)
		f.init(now, from)
		for k := 1; k < times; k++ {
			f.after(now+time.Duration(k)*250*time.Millisecond, func(now time.Duration) { f.init(now, from) })
		}
	}
	quick := 0
	for _, took := range f.done {
		if took <= 3*time.Second {
			quick++
		}
	}
	return float64(quick) / float64(clients)
}

// T30: 10^6 forged sources in 60 s.
func TestHonestClientsConnectThroughAFlood(t *testing.T) {
	seconds := promise.Keeps(t, "T30", "admission", tenth(t, 60))
	for _, tt := range []struct {
		name      string
		perSecond int
		times     int
		maxDelay  time.Duration
	}{
		{"each forged source asks once", 16_700, 1, 150 * time.Millisecond},
		{"each asks twice, clients near by", 8_350, 2, 50 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			forEachSeed(t, 1, func(t *testing.T, rng *rand.Rand) {
				before := heapBytes()
				f := newFlood(rng)
				got := f.run(seconds, tt.perSecond, tt.times, tt.maxDelay)
				f.events = nil
				grown := heapBytes() - before
				t.Logf("%.2f%% of honest clients connected within 3 s; at most %d open, %d KiB; %+v; %+v",
					100*got, f.peak, grown>>10, f.half.Stats(), f.buckets.Stats())
				if got < 0.99 {
					t.Errorf("%.2f%% of honest clients connected within 3 s, want 99%%", 100*got)
				}
				if f.peak > 4096 {
					t.Errorf("%d handshakes were open", f.peak)
				}
				if grown > 16<<20 {
					t.Errorf("the heap grew by %d bytes", grown)
				}
				s := f.half.Stats()
				if s.Opened != s.Proven+s.Dropped+s.Expired+s.Evicted+uint64(f.half.Len()) {
					t.Errorf("counters do not sum up: %+v, %d open", s, f.half.Len())
				}
				runtime.KeepAlive(f)
			})
		})
	}
}

func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
