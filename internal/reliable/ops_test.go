package reliable

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/serial"

	"pgregory.net/rapid"
)

// script runs two peers by a list of operations, one byte and one argument
// each, with every datagram in the hands of the script.
type script struct {
	now  time.Time
	a, b *app
	air  [2][][]byte // on the way to a, to b
	buf  [2048]byte
}

func newScript(rule Rule, tiny bool, seed uint64) *script {
	s := &script{now: start}
	first := uint64(serial.Bits16.Mask()) - seed%64
	recv := &ReceiveConfig{Rules: [lanes]Rule{rule}, AckDelay: time.Duration(seed%3) * 10 * time.Millisecond}
	send := &SendConfig{GiveUpAfter: time.Hour}
	if tiny {
		recv.MaxHeld, recv.MaxReady, recv.MaxHoles = 200, 200, 4
		send.MaxBytes, send.Span = 600, 16
	}
	s.a = newApp(newPeer(start, peerConfig{first: first, rule: rule, recv: recv, send: send, seed: seed}, addrB), rule, first)
	s.b = newApp(newPeer(start, peerConfig{first: first, rule: rule, recv: recv, send: send, seed: seed + 1}, addrA), rule, first)
	return s
}

// step does one operation.
func (s *script) step(op, arg byte) {
	me, to := s.a, 1
	if op&0x80 != 0 {
		me, to = s.b, 0
	}
	air := &s.air[to]
	pick := func() int { return int(arg) % len(*air) }
	switch op & 0x0f {
	case 0, 1, 2:
		me.todo = append(me.todo, job{size: 20 + int(arg)%100, reliable: true, ordered: op&0x0f > 0 && me.rule != Unordered})
	case 3:
		if me.rule != Contiguous {
			me.todo = append(me.todo, job{size: 20})
		}
	case 4, 5, 6: // deliver one, by preference in order
		if len(*air) > 0 {
			i := 0
			if op&0x40 != 0 {
				i = pick()
			}
			s.deliver(to, i)
		}
	case 7: // drop
		if len(*air) > 0 {
			i := pick()
			*air = append((*air)[:i], (*air)[i+1:]...)
		}
	case 8: // duplicate
		if len(*air) > 0 && len(*air) < 4096 {
			*air = append(*air, (*air)[pick()])
		}
	case 9, 10:
		s.advance(time.Duration(arg) * time.Millisecond / 4)
	case 11:
		s.advance(time.Duration(arg) * 10 * time.Millisecond)
	case 12:
		me.peer.stalled = !me.peer.stalled
	case 13: // an acknowledgement of what was never sent
		if fate, _ := me.peer.sender.Ack(s.now, me.peer.sender.Next()+uint64(arg)); fate != AckUnsent {
			me.fail("acknowledging the unsent was %v", fate)
		}
	case 14: // one of long ago
		me.peer.sender.Ack(s.now, me.peer.sender.Next()-5000-uint64(arg))
	}
	s.turn()
}

func (s *script) advance(d time.Duration) {
	s.now = s.now.Add(d)
	for _, x := range []*app{s.a, s.b} {
		if at, ok := x.peer.NextTimeout(); ok && !at.After(s.now) {
			x.peer.HandleTimeout(s.now)
		}
	}
}

func (s *script) deliver(to, i int) {
	b := s.air[to][i]
	s.air[to] = append(s.air[to][:i], s.air[to][i+1:]...)
	if to == 1 {
		s.b.peer.HandleDatagram(s.now, addrA, b)
	} else {
		s.a.peer.HandleDatagram(s.now, addrB, b)
	}
}

// turn lets both applications work and takes what they send.
func (s *script) turn() {
	for i, x := range []*app{s.a, s.b} {
		x.turn(s.now)
		x.peer.now = s.now
		for range 10000 {
			n, _, ok := x.peer.PollTransmit(s.buf[:])
			if !ok {
				break
			}
			s.air[1-i] = append(s.air[1-i], append([]byte(nil), s.buf[:n]...))
		}
	}
}

// settle ends all faults and sees that everything arrives.
func (s *script) settle() error {
	s.a.peer.stalled, s.b.peer.stalled = false, false
	for range 20000 {
		for to := range s.air {
			for len(s.air[to]) > 0 {
				s.deliver(to, 0)
				s.turn()
			}
		}
		if err := s.law(); err != nil {
			return err
		}
		if s.a.complete(s.b) && s.b.complete(s.a) {
			return nil
		}
		s.advance(10 * time.Millisecond)
		s.turn()
	}
	return fmt.Errorf("not delivered: a lacks %s; b lacks %s", s.a.lacks(s.b), s.b.lacks(s.a))
}

func (s *script) law() error {
	for _, x := range []*app{s.a, s.b} {
		p := x.peer
		if err := firstError(x.err, p.check(p.sender.cfg, p.receiver.cfg)); err != nil {
			return err
		}
		if n := p.sender.flights.count; uint64(n) > p.sender.cfg.Span {
			return fmt.Errorf("%d flights, more than the span", n)
		}
	}
	return nil
}

func runScript(rule Rule, tiny bool, seed uint64, ops []byte) error {
	s := newScript(rule, tiny, seed)
	for i := 0; i+1 < len(ops); i += 2 {
		s.step(ops[i], ops[i+1])
	}
	return firstError(s.law(), s.settle())
}

// T10: any sequence of sends, drops, duplicates, reorderings, stalls and lies.
// The volume comes from seeds; rapid adds what it knows of corners and shrinks
// what fails.
func TestAnySequenceOfOperationsKeepsTheLaw(t *testing.T) {
	manyScripts(t, false, promise.Keeps(t, "T10", "engine", tier(100, 10_000, 200_000)))
	for name, value := range map[string]any{"rapid.checks": tier(10, 100, 1000), "rapid.seed": kit.Seed(t)} { // as the others: another only if asked for
		if err := flag.Set(name, fmt.Sprint(value)); err != nil {
			t.Fatal(err)
		}
	}
	for _, rule := range allRules {
		t.Run(rule.String(), rapid.MakeCheck(func(r *rapid.T) {
			ops := rapid.SliceOfN(rapid.Byte(), 0, 400).Draw(r, "ops")
			seed := uint64(rapid.Byte().Draw(r, "seed"))
			if err := runScript(rule, false, seed, ops); err != nil {
				r.Fatal(err)
			}
		}))
	}
}

// T19: what a limit refuses is not acknowledged, so nothing is lost by it.
func TestTinyLimitsLoseNothing(t *testing.T) {
	manyScripts(t, true, promise.Keeps(t, "T19", "engine", tier(50, 10_000, 20_000)))
}

func manyScripts(t *testing.T, tiny bool, count int) {
	for _, rule := range allRules {
		kit.Seeds(t, count, func(t *testing.T, seed uint64) {
			rng := newRand(seed)
			ops := make([]byte, 400)
			for i := range ops {
				ops[i] = byte(rng.Uint32())
			}
			if err := runScript(rule, tiny, seed, ops); err != nil {
				t.Errorf("seed=%d %v: %v", seed, rule, err)
			}
		})
	}
}

func FuzzOps(f *testing.F) {
	f.Add(byte(0), []byte{0, 1, 4, 0, 0x84, 0})
	f.Add(byte(1), []byte{1, 1, 1, 2, 7, 0, 4, 0, 11, 50, 4, 0, 4, 0})
	f.Add(byte(2), []byte{0x80, 9, 0x81, 9, 12, 0, 0x84, 0, 0x48, 1, 11, 200})
	f.Fuzz(func(t *testing.T, kind byte, ops []byte) {
		if len(ops) > 1000 {
			return
		}
		rule := allRules[int(kind)%len(allRules)]
		if err := runScript(rule, kind&0x80 != 0, uint64(kind), ops); err != nil {
			t.Fatalf("%v: %v", rule, err)
		}
	})
}
