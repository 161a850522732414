package reliable

import (
	"runtime"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/lend"
)

// sink is a receiver that shares buffers with others.
func sink(b *Pool, c ReceiveConfig) *Receiver {
	r := NewReceiver(start, 0, &c, b)
	return &r
}

// hoard sends a receiver packets behind a gap until it takes no more, and returns how many it took.
func hoard(r *Receiver, rule Rule, size, most int) int {
	data := make([]byte, size)
	taken := 0
	for n := range uint64(most) {
		p := Packet{Number: 1 + n, Reliable: true, Lane: 1, Data: data}
		if rule == Linked {
			p.Back = 1
		}
		if r.Receive(start, p) == Held {
			taken++
		}
		var acks [8]uint64
		for r.Acks(start, acks[:]) > 0 {
		}
	}
	return taken
}

// A thousand peers that leave a gap open hold what the budget says, in memory and not only on the books. Another
// peer still has a share of its own, and when all gaps are filled everything is given back.
func TestHeldPacketsShareABudget(t *testing.T) {
	for _, tt := range []struct {
		name string
		rule Rule
		size int
	}{
		{"tiny, linked", Linked, 1}, {"full, linked", Linked, 1100},
		{"tiny, contiguous", Contiguous, 1}, {"full, contiguous", Contiguous, 1100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b Pool
			cfg := ReceiveConfig{Rules: [lanes]Rule{tt.rule}, MaxHoles: 4096}
			before := heapInUse()
			hoarders, budget := make([]*Receiver, 1000), heldOfAll
			if kit.Race { // a minute else
				hoarders, budget = hoarders[:100], heldOfAll/10
				b.MaxHeld = budget
			}
			for i := range hoarders {
				hoarders[i] = sink(&b, cfg)
				hoard(hoarders[i], tt.rule, tt.size, 4000)
			}
			bound := budget + len(hoarders)*2*ownHeldBytes
			if b.Held() > bound || b.Held() < budget*3/4 {
				t.Errorf("%d KiB are on the books, the bound is %d KiB", b.Held()>>10, bound>>10)
			}
			grown := heapInUse() - before
			t.Logf("%d peers hold %d KiB on the books, and the heap grew by %d KiB", len(hoarders), b.Held()>>10, grown>>10)
			if !kit.Race && grown > bound+bound/5 {
				t.Errorf("the heap grew by %d KiB", grown>>10)
			}
			late := sink(&b, cfg)
			if n, want := hoard(late, tt.rule, tt.size, 4000), min(ownHeldSpan, ownHeldBytes/(lend.Room(tt.size)+2*parcelBytes)); n < want-1 {
				t.Errorf("a further peer may hold %d packets, want %d", n, want)
			}
			if late.Stats().Crowded == 0 || late.Stats().Crowded != late.Stats().Refused {
				t.Errorf("what was refused: %+v", late.Stats())
			}
			for i, r := range append(hoarders, late) {
				if i%2 == 0 {
					r.Receive(start, Packet{Number: 0, Reliable: true, Lane: 1, Data: []byte{1}})
					for _, ok := r.Next(start); ok; _, ok = r.Next(start) {
					}
				} else {
					r.Close()
				}
				if err := r.Check(); err != nil {
					t.Fatal(err)
				}
			}
			if b.Held() != 0 {
				t.Errorf("%d bytes are left on the books", b.Held())
			}
		})
	}
}

func heapInUse() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// One small packet that is held costs about its size, however far ahead it is and however much its peer
// held before.
func TestASmallHeldPacketCostsAboutItsSize(t *testing.T) {
	var b Pool
	r := sink(&b, ReceiveConfig{Rules: [lanes]Rule{Contiguous}})
	if hoard(r, Contiguous, 1, 1000) != 1000 {
		t.Fatal("it does not hold a thousand")
	}
	r.Receive(start, Packet{Number: 0, Reliable: true, Lane: 1})
	for _, ok := r.Next(start); ok; _, ok = r.Next(start) {
	}
	others := sink(&b, ReceiveConfig{Rules: [lanes]Rule{Contiguous}})
	b.MaxHeld = 18 << 10
	hoard(others, Contiguous, 100, 100)
	was := b.Held()
	if was < b.MaxHeld/2 {
		t.Fatalf("others hold %d bytes", was)
	}
	for i := range uint64(2) {
		r.Receive(start, Packet{Number: 2000 + i, Reliable: true, Lane: 1, Data: []byte{1}})
	}
	if n := b.Held() - was; n > 1024 {
		t.Errorf("two packets of a byte cost %d bytes", n)
	}
	if n := len(r.holes.missing); n != 1 {
		t.Errorf("one gap is remembered in %d places", n)
	}
}

// With the budget used up by others a flow over a path that loses packets goes on: what is refused is not
// acknowledged and comes again, and its sender does not give up.
func TestAFlowGoesOnWithoutTheSharedBudget(t *testing.T) {
	kit.Seeds(t, tier(5, 20, 200), func(t *testing.T, seed uint64) {
		rng := newRand(seed)
		var b Pool
		b.MaxHeld = 1
		s := NewSender(start, 0, nil, &b, rng)
		r := sink(&b, ReceiveConfig{Rules: [lanes]Rule{Contiguous}})
		type flying struct {
			at   time.Time
			n    uint64
			data []byte
		}
		var there, back []flying
		now, sent, got := start, 0, 0
		const total, delay = 400, 25 * time.Millisecond
		for got < total {
			for sent < total && s.Send(now, make([]byte, 1000), Options{Lane: 1}) == nil {
				sent++
			}
			for x, ok := s.Poll(now); ok; x, ok = s.Poll(now) {
				if rng.IntN(20) > 0 {
					there = append(there, flying{now.Add(delay), x.Number, append([]byte(nil), x.Packet...)})
				}
			}
			for len(there) > 0 && !there[0].at.After(now) {
				r.Receive(now, Packet{Number: there[0].n, Reliable: true, Lane: 1, Data: there[0].data})
				there = there[1:]
			}
			for _, ok := r.Next(now); ok; _, ok = r.Next(now) {
				got++
			}
			var acks [64]uint64
			for _, n := range acks[:r.Acks(now, acks[:])] {
				back = append(back, flying{at: now.Add(delay), n: n})
			}
			for len(back) > 0 && !back[0].at.After(now) {
				s.Ack(now, back[0].n)
				back = back[1:]
			}
			s.HandleTimeout(now)
			if s.Failed() != 0 || now.Sub(start) > 5*time.Minute {
				t.Fatalf("seed=%d: after %v %d of %d came: %v, %+v", seed, now.Sub(start), got, total, s.Failed(), r.Stats())
			}
			if b.Held() > 2*ownHeldBytes {
				t.Fatalf("seed=%d: %d bytes are held", seed, b.Held())
			}
			now = now.Add(time.Millisecond)
		}
		if r.Stats().Crowded == 0 {
			t.Errorf("seed=%d: nothing was refused", seed)
		}
		t.Logf("seed=%d: %d packets in %v, %d refused", seed, total, now.Sub(start), r.Stats().Crowded)
	})
}
