package core

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"parley/internal/kit"
)

// probed is a peer that a game tells a lot, 20 times a second, and its raw client on a path that takes all of it.
type probed struct {
	h     *hall
	a     netip.AddrPort
	peer  *Peer
	reply func(id uint32, again bool) []time.Duration // when it confirms a package: none is never
	owed  []owed
	known map[uint32]bool // ids that it has confirmed

	full    int // ticks that could send all
	ticks   int
	repeats int // probes with an id that was confirmed before
	anew    int // empty packages with a new id
	bytes   int // sent to it, with headers
}

type owed struct {
	at time.Time
	id uint32
}

// alike confirms everything after the same time.
func alike(d time.Duration) func(uint32, bool) []time.Duration {
	return func(uint32, bool) []time.Duration { return []time.Duration{d} }
}

func newProbed(h *hall, a netip.AddrPort, reply func(id uint32, again bool) []time.Duration) *probed {
	h.in(a, pack(Unordered, true, 0, ""))
	delete(h.out, a)
	h.wait(40 * time.Millisecond)
	h.in(a, confirmOf(0)) // of the challenge
	return &probed{h: h, a: a, peer: h.mux.First().Peer(a), reply: reply, known: map[uint32]bool{}}
}

// tick sends what the budget allows of the bytes that there are to tell, headers not counted, and takes what comes back.
func (p *probed) tick(bytes int) {
	p.h.mux.Advance(p.h.now)
	budget := p.peer.Budget()
	if p.ticks++; budget >= bytes+bytes/8 {
		p.full++
	}
	for bytes = min(bytes, budget); bytes > 0; bytes -= MaxPayload {
		if err := p.peer.Send(Unreliable, make([]byte, min(bytes, MaxPayload))); err != nil {
			break // it has been removed
		}
	}
	p.h.transmit()
}

// pass lets the time of a tick pass for all who are there.
func pass(all ...*probed) {
	for range 10 {
		for _, p := range all {
			p.take()
		}
		all[0].h.wait(5 * time.Millisecond)
	}
	for _, p := range all {
		p.take()
	}
}

// play is so many ticks.
func (p *probed) play(ticks, bytes int) {
	for range ticks {
		p.tick(bytes)
		pass(p)
	}
}

// take has the client confirm what it got, and what it owes.
func (p *probed) take() {
	h := p.h
	for _, b := range h.out[p.a] {
		p.bytes += len(b) + ipBytes
		var d Datagram
		if !d.Parse(b) || d.Kind != KindPackage || !d.Mode.Reliable() {
			continue
		}
		again := p.known[d.ID]
		if len(d.Payload) == 0 && again {
			p.repeats++
		} else if len(d.Payload) == 0 {
			p.anew++
		}
		for _, after := range p.reply(d.ID, again) {
			p.owed = append(p.owed, owed{h.now.Add(after), d.ID})
		}
	}
	delete(h.out, p.a)
	kept := p.owed[:0]
	for _, o := range p.owed {
		if o.at.After(h.now) {
			kept = append(kept, o)
			continue
		}
		p.known[o.id] = true
		h.in(p.a, confirmOf(o.id))
	}
	p.owed = kept
}

// "Every reliable package is confirmed on receipt, held or not, repeats too": on a calm path a probe is a repeat of what the peer has confirmed,
// a few a second, and none when nothing was sent. So the ids of packages do not move on, and nothing ever waits for a probe.
func TestAProbeIsARepeat(t *testing.T) {
	h := newHall(t, Config{})
	p := newProbed(h, near(1), alike(40*time.Millisecond))
	p.play(8*20, 2000)
	if p.anew > probeIDs || p.repeats == 0 {
		t.Fatalf("%d probes with new ids, want %d at most, and %d repeats", p.anew, probeIDs, p.repeats)
	}
	next, sent, full := p.peer.end.sender.Next(), p.peer.Stats().Probes, p.full
	p.anew, p.repeats, p.bytes = 0, 0, 0
	p.play(10*20, 2000)
	if p.anew != 0 || p.peer.end.sender.Next() != next {
		t.Errorf("%d new ids, and the next is %d, was %d", p.anew, p.peer.end.sender.Next(), next)
	}
	if p.repeats < 30 || p.repeats > 60 {
		t.Errorf("%d probes in 10 s", p.repeats)
	}
	if got := p.peer.Stats().Probes - sent; got != uint64(p.repeats) {
		t.Errorf("%d probes are counted, %d were sent", got, p.repeats)
	}
	if p.full-full != 200 || p.peer.Path().Rate != 0 {
		t.Errorf("%d of 200 ticks had all they could use; the path: %+v", p.full-full, p.peer.Path())
	}
	p.repeats = 0
	p.play(20, 0)
	p.repeats, p.anew = 0, 0 // what was sent before may be probed yet
	p.play(5*20, 0)
	if p.repeats+p.anew > 5 { // an empty package after 2 s of silence is no probe
		t.Errorf("%d probes while nothing was sent", p.repeats+p.anew)
	}
}

// A probe that is lost by bad luck looks like nothing else: the path stays wide.
func TestALostProbeIsNoQueue(t *testing.T) {
	for _, loss := range []float64{.01, .05, .2} {
		for seed := range uint64(kit.Tier(3, 10, 50)) {
			r := rand.New(rand.NewPCG(seed, 1))
			h := newHall(t, Config{})
			p := newProbed(h, near(1), func(_ uint32, again bool) []time.Duration {
				if again && r.Float64() < loss {
					return nil
				}
				return []time.Duration{35*time.Millisecond + time.Duration(r.IntN(10_000_000))}
			})
			p.play(30*20, 2000)
			if got := float64(p.full) / float64(p.ticks); got < 1-2*loss-.02 {
				t.Errorf("seed=%d: with a loss of %v all could be sent in %.3f of the ticks; the path: %+v", seed, loss, got, p.peer.Path())
			}
		}
	}
}

// A client that confirms no repeats, as the document does not ask for it, is sent probes with new ids, and is not taken for slow.
func TestWhoConfirmsNoRepeatsIsProbedAnew(t *testing.T) {
	h := newHall(t, Config{})
	p := newProbed(h, near(1), func(_ uint32, again bool) []time.Duration {
		if again {
			return nil
		}
		return []time.Duration{40 * time.Millisecond}
	})
	p.play(20*20, 2000)
	full := p.full
	p.repeats, p.anew = 0, 0
	p.play(10*20, 2000)
	if p.repeats > 0 || p.anew < 20 {
		t.Errorf("%d repeats and %d new probes in 10 s", p.repeats, p.anew)
	}
	if p.full-full < 195 || p.peer.Path().Rate != 0 {
		t.Errorf("%d of 200 ticks had all they could use; the path: %+v", p.full-full, p.peer.Path())
	}
}

// A client that lies about probes changes what it is sent itself: never more than a tick's bytes and a few probes a second. Whoever is
// beside it notices nothing.
func TestWhoLiesAboutProbesHarmsItself(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reply func(id uint32, again bool) []time.Duration
	}{
		{"nothing is confirmed", func(uint32, bool) []time.Duration { return nil }},
		{"at once", alike(0)},
		{"late", alike(700 * time.Millisecond)},
		{"later and later", func() func(uint32, bool) []time.Duration {
			d := 20 * time.Millisecond
			return func(uint32, bool) []time.Duration { d += 5 * time.Millisecond; return []time.Duration{d} }
		}()},
		{"three times", alike3(20*time.Millisecond, 90*time.Millisecond, 300*time.Millisecond)},
		{"ids that are to come", func(id uint32, _ bool) []time.Duration { return []time.Duration{0} }},
		{"only each tenth", func() func(uint32, bool) []time.Duration {
			n := 0
			return func(uint32, bool) []time.Duration {
				if n++; n%10 != 0 {
					return nil
				}
				return []time.Duration{40 * time.Millisecond}
			}
		}()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHall(t, Config{})
			honest := newProbed(h, near(1), alike(40*time.Millisecond))
			liar := newProbed(h, near(2), tt.reply)
			const bytes = 4000
			for range 20 * 20 {
				if tt.name == "ids that are to come" {
					h.in(liar.a, confirmOf(uint32(liar.peer.end.sender.Next())&MaxID, 5, 6, 7))
				}
				honest.tick(bytes / 2)
				liar.tick(bytes)
				pass(honest, liar)
			}
			if most := liar.ticks * (bytes + 8*(HeaderBytes+ipBytes) + 200); liar.bytes > most {
				t.Errorf("the liar was sent %d bytes, want %d at most", liar.bytes, most)
			}
			// With new ids, those are resent too.
			if most := liar.ticks / 20 * 46; liar.repeats+liar.anew > most {
				t.Errorf("the liar was sent %d probes, want %d at most", liar.repeats+liar.anew, most)
			}
			if honest.full < honest.ticks-6 || honest.peer.Path().Rate != 0 {
				t.Errorf("whoever is beside it was told all in %d of %d ticks; the path: %+v", honest.full, honest.ticks, honest.peer.Path())
			}
		})
	}
}

func alike3(d ...time.Duration) func(uint32, bool) []time.Duration {
	return func(uint32, bool) []time.Duration { return d }
}

// While little is sent to find out what a path takes, and it is known to be narrow, it is not sent more than it takes.
func TestWhileItIsHeldBackAPathGetsNoMoreThanItTakes(t *testing.T) {
	h := newHall(t, Config{})
	p := newProbed(h, near(1), alike(40*time.Millisecond))
	p.play(60, 3000)
	e := p.peer.end
	e.sender.Found(h.now, 4000, time.Second)
	e.probes.held = e.probeTime()
	h.mux.Advance(h.now)
	if got, most := p.peer.Budget(), p.peer.Path().Budget; got > most {
		t.Errorf("a tick may send %d bytes, and the path takes %d", got, most)
	}
}

// A lobby that never asks for a budget sends no probe: the connector's clients expect quiet.
func TestWithoutABudgetNothingIsProbed(t *testing.T) {
	h := newHall(t, Config{})
	h.join(near(1))
	p := h.mux.First().Peer(near(1))
	for range 100 {
		if err := p.Send(Unreliable, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		h.transmit()
		h.wait(10 * time.Millisecond)
	}
	if p.end.probes != nil || p.Stats().Probes != 0 {
		t.Error("a probe was sent")
	}
}

// A tick with its probes allocates nothing.
func TestProbingAllocatesNothing(t *testing.T) {
	if kit.Race {
		t.Skip("the race detector allocates")
	}
	h := newHall(t, Config{})
	p := newProbed(h, near(1), alike(40*time.Millisecond))
	p.play(10*20, 2000)
	h.deaf = true
	data, probes, at := make([]byte, 500), p.peer.Stats().Probes, h.now
	var ack [7]byte
	allocs := testing.AllocsPerRun(2000, func() {
		at = at.Add(50 * time.Millisecond)
		h.mux.HandleTimeout(at)
		p.peer.Budget()
		for range 4 {
			_ = p.peer.Send(Unreliable, data)
		}
		for {
			n, _, ok := h.mux.PollTransmit(h.buf[:])
			if !ok {
				break
			}
			if n == HeaderBytes && h.buf[0]&flagControl == 0 {
				ack = [7]byte{flagControl, 0, 0, 0, h.buf[1], h.buf[2], h.buf[3]}
			}
		}
		if ack[0] != 0 {
			h.mux.HandleDatagram(at.Add(30*time.Millisecond), p.a, ack[:])
			ack[0] = 0
		}
		for _, _, ok := h.mux.PollEvent(); ok; _, _, ok = h.mux.PollEvent() {
		}
		for _, ok := h.mux.PollPort(); ok; _, ok = h.mux.PollPort() {
		}
	})
	if got := p.peer.Stats().Probes - probes; allocs > 0 || got < 100 {
		t.Errorf("%v allocations a tick, %d probes", allocs, got)
	}
}
