package reliable

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/serial"
	"parley/simnet"
)

// T9: the wire number wraps in the middle of a lossy run.
func TestNumbersWrapUnderLoss(t *testing.T) {
	run := func(t *testing.T, seed uint64, bits serial.Bits, first uint64, count int, rule Rule) {
		n := simnet.New(seed)
		n.SetLimits(simnet.Limits{Steps: 100_000_000})
		n.Default(simnet.Profile{Delay: 5 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: .1})
		recv := &ReceiveConfig{Rules: [lanes]Rule{rule}}
		send := &SendConfig{GiveUpAfter: time.Hour, NoCongestion: true}
		a := newApp(newPeer(n.Now(), peerConfig{bits: bits, first: first, rule: rule, recv: recv, send: send, seed: seed}, addrB), rule, first)
		b := newApp(newPeer(n.Now(), peerConfig{bits: bits, first: first, rule: rule, recv: recv, send: send, seed: seed + 1}, addrA), rule, first)
		hostA, hostB := n.Add(addrA, a.peer), n.Add(addrB, b.peer)
		left := count
		hostA.AfterTurn(func(now time.Time) {
			for a.peer.sender.Ready(24) == nil && left > 0 {
				// Mostly unordered, so that not the links but the window bounds the speed.
				j := job{size: 24, reliable: true, ordered: left%4 == 0 && rule != Unordered}
				a.todo = append(a.todo, j)
				a.flush(now)
				if len(a.todo) > 0 {
					a.todo = nil
					break
				}
				left--
			}
			a.peer.drain(now)
		})
		hostB.AfterTurn(b.turn)
		hostA.Poke()
		if err := n.RunUntil(func() bool { return left == 0 && b.complete(a) || b.err != nil }, time.Hour); err != nil {
			t.Fatalf("seed=%d from %d: %v; b lacks %s", seed, first, err, b.lacks(a))
		}
		if err := firstError(b.err, a.peer.check(send, recv), b.peer.check(send, recv)); err != nil {
			t.Fatalf("seed=%d from %d: %v", seed, first, err)
		}
	}
	for _, rule := range []Rule{Linked, Contiguous} {
		t.Run("16 bits, "+rule.String()+", a whole cycle and more", func(t *testing.T) {
			run(t, 1, serial.Bits16, uint64(serial.Bits16.Mask())-100, promise.Keeps(t, "T9", "engine", tier(10_000, 100_000, 1_000_000)), rule)
		})
		t.Run("from 64 places, "+rule.String(), func(t *testing.T) {
			kit.Seeds(t, tier(12, 64, 64), func(t *testing.T, seed uint64) {
				bits := []serial.Bits{serial.Bits16, serial.Bits24, serial.Bits32}[seed%3]
				run(t, seed, bits, newRand(seed).Uint64N(uint64(bits.Mask())), tier(200, 1000, 100_000), rule)
			})
		})
	}
	if soak() {
		t.Run("24 bits, a whole cycle", func(t *testing.T) {
			run(t, 1, serial.Bits24, uint64(serial.Bits24.Mask())-100, 1<<24+1000, Contiguous)
		})
	}
}

// T16: every datagram comes one to five times, in any order.
func TestShuffledAndRepeatedDatagramsAreDeliveredOnce(t *testing.T) {
	for _, rule := range allRules {
		seeds, each := tier(1, 4, 40), tier(200, 5000, 25_000)
		promise.Keeps(t, "T16", "engine", seeds*each)
		kit.Seeds(t, seeds, func(t *testing.T, seed uint64) {
			rng := newRand(seed)
			s := newScript(rule, false, seed)
			for range each {
				s.a.todo = append(s.a.todo, job{size: 24, reliable: true, ordered: rng.IntN(2) == 0 && rule != Unordered})
			}
			for turns := 0; !s.b.complete(s.a); turns++ {
				if turns > 1_000_000 {
					t.Fatalf("seed=%d %v: no end: b lacks %s", seed, rule, s.b.lacks(s.a))
				}
				s.turn()
				for to := range s.air {
					for i := range s.air[to] {
						for range rng.IntN(5) {
							s.air[to] = append(s.air[to], s.air[to][i])
						}
					}
					rng.Shuffle(len(s.air[to]), func(i, j int) { s.air[to][i], s.air[to][j] = s.air[to][j], s.air[to][i] })
					for len(s.air[to]) > 0 {
						s.deliver(to, len(s.air[to])-1)
					}
					s.turn()
				}
				s.advance(5 * time.Millisecond)
			}
			if err := s.law(); err != nil {
				t.Errorf("seed=%d %v: %v", seed, rule, err)
			}
		})
	}
}

// T11: a reader that stalls for a minute, with a sender that never stops.
func TestAStalledReaderRecovers(t *testing.T) {
	promise.Keeps(t, "T11", "engine", 1)
	n := simnet.New(1)
	n.Default(simnet.Profile{Delay: 25 * time.Millisecond})
	send := &SendConfig{GiveUpAfter: time.Hour}
	recv := &ReceiveConfig{Rules: [lanes]Rule{Contiguous}}
	src := newPeer(n.Now(), peerConfig{send: send, recv: recv, rule: Contiguous, seed: 1}, addrB)
	dst := newPeer(n.Now(), peerConfig{send: send, recv: recv, rule: Contiguous, seed: 2}, addrA)
	a, b := n.Add(addrA, src), n.Add(addrB, dst)
	full := false
	index := uint32(0)
	a.AfterTurn(func(now time.Time) {
		for {
			err := src.send(now, 1000, true, true, index)
			if errors.Is(err, ErrWindowFull) {
				full = true
				return
			} else if err != nil {
				t.Fatal(err)
			}
			index++
		}
	})
	got := uint32(0)
	dst.handle = func(_ time.Time, m message) {
		if m.index != got {
			t.Fatalf("message %d came where %d was due", m.index, got)
		}
		got++
	}
	b.AfterTurn(dst.drain)
	a.Poke()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(n.Run(2 * time.Second))
	if got == 0 {
		t.Fatal("nothing was delivered before the stall")
	}
	dst.stalled, full = true, false
	must(n.Run(time.Minute))
	held := 0
	for i := range dst.receiver.lanes {
		held += dst.receiver.heldIn(i).bytes
	}
	if total := dst.receiver.ready.bytes + held + src.sender.bytes; total > 1<<20 {
		t.Errorf("stalled, the two sides hold %d bytes", total)
	}
	if !full {
		t.Error("the sender was not told that the window is full")
	}
	dst.stalled = false
	b.Poke()
	dst.drain(b.Now())
	b.Poke()
	was := got
	must(n.Run(100 * time.Millisecond)) // two round trips
	if got <= was {
		t.Errorf("two round trips after the stall nothing new was delivered (%d)", got)
	}
	was = got
	must(n.Run(2 * time.Second))
	if got < was+500 {
		t.Errorf("two seconds after the stall only %d were delivered", got-was)
	}
}

// T11: a peer that asks for replies and never acknowledges one costs a window.
func TestAPeerThatNeverAcknowledgesIsBounded(t *testing.T) {
	promise.Keeps(t, "T11", "engine", 1)
	s := newSolo(t, SendConfig{GiveUpAfter: time.Hour})
	r := newInbox(t, 0, ReceiveConfig{})
	refused := 0
	for n := range uint64(100_000) {
		r.Receive(r.now, Packet{Number: n * 2, Reliable: true, Data: make([]byte, 10)})
		r.Next(r.now)
		if err := s.Send(s.now, make([]byte, 1000), Options{}); err != nil {
			refused++
		}
	}
	if s.bytes > 256<<10 || refused == 0 {
		t.Errorf("%d bytes queued, %d refused", s.bytes, refused)
	}
	if n := len(r.acks.ranges) - r.acks.taken; n > maxAckRanges {
		t.Errorf("%d acknowledgements owed", n)
	}
}

// A small flow beside bulk on the same connection is not slowed by it.
func TestSmallPacketsPassBulk(t *testing.T) {
	n := simnet.New(1)
	n.SetLimits(simnet.Limits{Steps: 10_000_000})
	data, back := bottleneck(n, 25*time.Millisecond, 0, 100*time.Millisecond, tenMbit)
	b := addBulk(n, 1, addrA, addrB, data, back)
	b.begin()
	sent := map[uint32]time.Time{}
	var worst time.Duration
	got := 0
	b.dst.receiver.cfg = ReceiveConfig{Rules: [lanes]Rule{Contiguous}}.Filled()
	b.dst.handle = func(now time.Time, m message) {
		if m.ordered {
			b.goodput += m.size
			return
		}
		got++
		worst = max(worst, now.Sub(sent[m.index]))
	}
	for i := range 600 {
		n.After(3*time.Second+time.Duration(i)*time.Second/60, "small", func() {
			sent[uint32(i)] = n.Now()
			if err := b.src.send(n.Now(), 64, true, false, uint32(i)); err != nil {
				t.Errorf("small packet %d: %v", i, err)
			}
			b.host.Poke()
		})
	}
	if err := n.Run(15 * time.Second); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d small packets, the slowest took %v one way; bulk got %.0f%% of the link", got, worst, float64(b.goodput)*8/15/tenMbit*100)
	if got != 600 || worst > 60*time.Millisecond {
		t.Errorf("%d of 600 arrived, the slowest after %v, want all within 60 ms", got, worst)
	}
}

// The state of an idle peer: at most 2 KiB, both directions.
func TestAnIdlePeerIsSmall(t *testing.T) {
	type pair struct {
		s Sender
		r Receiver
	}
	const count = 10_000
	send, recv := SendConfig{}.Filled(), ReceiveConfig{Rules: [lanes]Rule{Linked, Linked}}.Filled()
	buffers, rng := new(Pool), newRand(1)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	packet := make([]byte, 64)
	ack := make([]uint64, 8)
	before := heap()
	peers := make([]*pair, count)
	for i := range peers {
		p := &pair{NewSender(start, 1, send, buffers, rng), NewReceiver(start, 1, recv, buffers)}
		for range 5 { // one that has worked, and rests
			n := p.s.Next()
			if err := p.s.Send(start, packet, Options{Lane: 1}); err != nil {
				t.Fatal(err)
			}
			p.s.Poll(start)
			p.r.Receive(start, Packet{Number: n, Reliable: true, Lane: 1, Back: min(n-1, 1), Data: packet})
			for _, ok := p.r.Next(start); ok; _, ok = p.r.Next(start) {
			}
			p.r.Acks(start, ack)
			p.s.Ack(start.Add(time.Millisecond), n)
		}
		peers[i] = p
	}
	each := (heap() - before) / count
	runtime.KeepAlive(peers)
	t.Logf("%d bytes an idle peer", each)
	if each > 2048 {
		t.Errorf("an idle peer takes %d bytes, want at most 2,048", each)
	}
}

// exchange sends one packet from one engine to another and its acknowledgement
// back: the work of one reliable datagram.
type exchange struct {
	now  time.Time
	s    Sender
	r    Receiver
	data []byte
	acks [8]uint64
}

func newExchange(rule Rule) *exchange {
	return &exchange{
		now: time.Now(), data: make([]byte, 64), // as a loop gives it: with a monotonic reading
		s: NewSender(time.Now(), 1, nil, nil, newRand(1)),
		r: NewReceiver(time.Now(), 1, &ReceiveConfig{Rules: [lanes]Rule{rule}}, nil),
	}
}

func (x *exchange) once() error {
	x.now = x.now.Add(100 * time.Microsecond)
	n := x.s.Next()
	back := min(x.s.Link(1), 31)
	if err := x.s.Send(x.now, x.data, Options{Lane: 1}); err != nil {
		return err
	}
	out, ok := x.s.Poll(x.now)
	if !ok {
		return errors.New("nothing to send")
	}
	if fate := x.r.Receive(x.now, Packet{Number: n, Reliable: true, Lane: 1, Back: back, Data: out.Packet}); fate != Ready {
		return fmt.Errorf("received as %v", fate)
	}
	if _, ok := x.r.Next(x.now); !ok {
		return errors.New("nothing delivered")
	}
	x.r.Next(x.now)
	for _, a := range x.acks[:x.r.Acks(x.now, x.acks[:])] {
		x.s.Ack(x.now.Add(50*time.Microsecond), a)
	}
	x.s.HandleTimeout(x.now)
	x.s.NextTimeout()
	x.r.NextTimeout()
	return nil
}

func TestAnExchangeAllocatesNothing(t *testing.T) {
	for _, rule := range allRules {
		x := newExchange(rule)
		for range 100 {
			if err := x.once(); err != nil {
				t.Fatalf("%v: %v", rule, err)
			}
		}
		if n := testing.AllocsPerRun(1000, func() {
			if err := x.once(); err != nil {
				t.Fatalf("%v: %v", rule, err)
			}
		}); n != 0 {
			t.Errorf("%v: %.1f allocations an exchange", rule, n)
		}
	}
}

// BenchmarkExchange is the engine's share of one reliable datagram: number,
// keep, transmit, receive, order, deliver, acknowledge, let go.
func BenchmarkExchange(b *testing.B) {
	for _, rule := range allRules {
		b.Run(rule.String(), func(b *testing.B) {
			x := newExchange(rule)
			b.ReportAllocs()
			for b.Loop() {
				if err := x.once(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
