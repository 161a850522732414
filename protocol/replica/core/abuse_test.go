package core

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"

	"parley/internal/admission"
	"parley/internal/kit"
	"parley/internal/promise"
	"parley/simnet"
)

// exchange is a client and a server that count up to each other in ordered
// messages: a wrong, lost, repeated or early one is seen at once.
type exchange struct {
	w    *world
	x    *client
	sent [2]uint32 // by the server, by the client
	got  [2]uint32
	bad  error
}

func newExchange(t testing.TB, seed uint64, path simnet.Profile) *exchange {
	c := byTurns(seed)
	w := newWorld(t, seed, c, path)
	e := &exchange{w: w, x: w.dial(0, c)}
	e.listen()
	w.Until("connected", 10*time.Second, func() bool { return e.x.State() == StateOpen && w.conn(e.x) != nil })
	return e
}

func (e *exchange) listen() {
	take := func(side int, ev Event) {
		if ev.Kind != EventMessage {
			return
		}
		if n := binary.LittleEndian.Uint32(ev.Data); n != e.got[side] && e.bad == nil {
			e.bad = fmt.Errorf("side %d got message %d where %d was due", side, n, e.got[side])
		}
		e.got[side]++
	}
	e.w.onEvent = func(_ time.Time, _ *Conn, ev Event) { take(0, ev) }
	e.x.onEvent = func(_ time.Time, ev Event) { take(1, ev) }
}

// say sends a message each way.
func (e *exchange) say(t testing.TB) {
	t.Helper()
	c := e.w.conn(e.x)
	if c == nil {
		t.Fatalf("the server has no connection; it saw %v", e.w.Log)
	}
	e.w.mux.Advance(e.w.Now())
	if err := c.Send(Ordered, "n", u32(e.sent[1])); err != nil {
		t.Fatalf("the server's send: %v", err)
	}
	if err := e.x.Send(e.x.host.Now(), Ordered, "n", u32(e.sent[0])); err != nil {
		t.Fatalf("the client's send: %v", err)
	}
	e.sent[0]++
	e.sent[1]++
	e.w.server.Poke()
	e.x.host.Poke()
}

// unharmed checks that all was delivered, once and in order.
func (e *exchange) unharmed(t testing.TB) {
	t.Helper()
	e.w.Pass(5 * time.Second)
	if e.bad != nil || e.got != e.sent || e.x.State() != StateOpen || e.w.conn(e.x) == nil {
		t.Errorf("sent %v, got %v, %v; the client is %v; the server saw %v, the client %v",
			e.sent, e.got, e.bad, e.x.State(), e.w.Log[max(0, len(e.w.Log)-3):], e.x.events[max(0, len(e.x.events)-3):])
	}
}

// spoil returns a copy of b as an attacker in the middle would have it.
func spoil(r *rand.Rand, b []byte) []byte {
	b = slices.Clone(b)
	switch r.IntN(4) {
	case 0: // once more
	case 1:
		for range 1 + r.IntN(4) {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
	case 2:
		b = b[:r.IntN(len(b))]
	default:
		b = make([]byte, r.IntN(64))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		if len(b) > 0 && r.IntN(2) == 0 {
			b[0] %= 9
		}
	}
	return b
}

// T25: 10,000 random, repeated, bit-flipped and cut datagrams come into live
// sessions. In every third seed only those that are packets, so that sessions are
// not ended for malformed ones. Each lives or ends with a reason, a new one takes
// its place, and the last is fine.
func TestSpoiledDatagramsNeverPanic(t *testing.T) {
	reasons := map[string]int{}
	kit.Seeds(t, promise.Keeps(t, "T25", "replica", kit.Tier(20, 1000, 1000)), func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 25))
		w, gentle := newWorld(t, seed, Config{}, kit.Lan()), seed%3 == 0
		link, _ := w.mux.Store().AddVariable("v", DataInt)
		injected := 0
		w.Filter(func(p simnet.Packet) simnet.Verdict {
			for range 4 {
				var q Packet
				b := spoil(r, p.Bytes)
				if p.To == nil || gentle && !q.Parse(sideOfHost(w, p.From), b) {
					continue
				}
				w.Inject(p.From.Addr(), p.To.Addr(), b)
				injected++
			}
			return simnet.Verdict{}
		})
		var x *client
		for i := 0; injected < 10_000; i++ {
			if x == nil || x.closed != nil {
				x = w.dial(len(w.clients), Config{})
				x.onEvent = func(now time.Time, ev Event) {
					if ev.Kind == EventConnected {
						x.Link(now)
					}
				}
			}
			x.Send(x.host.Now(), Mode(r.IntN(3)), "m", []byte("four"))
			if c := w.conn(x); c != nil {
				w.mux.Store().Set(link, u32(uint32(i)))
				c.Send(Mode(r.IntN(3)), "m", []byte("four"))
				c.Replicate(500)
			}
			x.host.Poke()
			w.server.Poke()
			w.Pass(5 * time.Millisecond)
		}
		w.Filter(nil)
		w.Pass(15 * time.Second)
		for _, x := range w.clients {
			switch {
			case x.closed == nil && x.State() == StateOpen:
				reasons["lives"]++
			case x.closed == nil || x.closed.Reason == 0:
				t.Errorf("seed=%d: the client is %v and ended with %v", seed, x.State(), x.closed)
			default:
				reasons[x.closed.Reason.String()]++
			}
		}
		y := w.dial(len(w.clients), Config{})
		w.Until("the next client", 5*time.Second, func() bool { return y.State() == StateOpen })
	})
	t.Logf("sessions: %v", reasons)
}

func sideOfHost(w *world, h *simnet.Host) Side {
	if h == w.server {
		return FromServer
	}
	return FromClient
}

// T25: copies at any later time and cut copies, the latter no more than the 64 in
// 10 s that the page lets pass, do nothing to an honest exchange.
func TestRepeatedAndCutDatagramsDoNothing(t *testing.T) {
	kit.Seeds(t, promise.Keeps(t, "T25", "replica", kit.Tier(20, 100, 1000)), func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 26))
		e := newExchange(t, seed, simnet.Profile{Delay: 5 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: .05})
		type copied struct {
			from, to netip.AddrPort
			b        []byte
		}
		var old []copied
		cut, sides := 0, map[netip.AddrPort]int{}
		e.w.Filter(func(p simnet.Packet) simnet.Verdict {
			old = append(old, copied{p.From.Addr(), p.To.Addr(), slices.Clone(p.Bytes)})
			for range 3 {
				c := old[r.IntN(len(old))]
				e.w.Inject(c.from, c.to, c.b)
			}
			if c := old[r.IntN(len(old))]; sides[c.to] < 60 {
				sides[c.to]++
				cut++
				e.w.Inject(c.from, c.to, c.b[:r.IntN(len(c.b))])
			}
			return simnet.Verdict{}
		})
		for i := range 400 {
			if i%200 == 0 {
				clear(sides) // 10 s have passed
			}
			e.say(t)
			e.w.Pass(50 * time.Millisecond)
		}
		e.unharmed(t)
		if cut < 120 {
			t.Errorf("seed=%d: only %d were cut", seed, cut)
		}
	})
}

// account is what one source sent and got.
type account struct{ in, out, inits, welcomes int }

// ledger drives a Mux and holds what each source gets against what it sent.
type ledger struct {
	t   testing.TB
	m   *Mux
	now time.Time
	all map[netip.AddrPort]*account
	buf [2048]byte
}

func newLedger(t testing.TB, c Config) *ledger {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	return &ledger{t: t, now: start, m: NewMux(start, c, newShared(1), admission.Key{2}), all: map[netip.AddrPort]*account{}}
}

func (l *ledger) give(from netip.AddrPort, b []byte) {
	a := l.all[from]
	if a == nil {
		a = &account{}
		l.all[from] = a
	}
	a.in += len(b)
	var p Packet
	if p.Parse(FromClient, b) && p.Kind == KindInit {
		a.inits++
	}
	l.m.HandleDatagram(l.now, from, b)
	l.settle()
}

// settle takes what goes out: three times what came at most, and an accept or a
// reject for each init, which are counted by themselves.
func (l *ledger) settle() {
	for n, to, ok := l.m.PollTransmit(l.buf[:]); ok; n, to, ok = l.m.PollTransmit(l.buf[:]) {
		a := l.all[to]
		if a == nil {
			l.t.Fatalf("%v gets % x and never sent anything", to, l.buf[:n])
		}
		var p Packet
		p.Parse(FromServer, l.buf[:n])
		if p.Kind == KindAccept || p.Kind == KindReject {
			if a.welcomes++; n > acceptBytes {
				l.t.Fatalf("a %v has %d bytes", p.Kind, n)
			}
		} else {
			a.out += n
		}
		if a.out > 3*a.in || a.welcomes > a.inits {
			l.t.Fatalf("%v sent %d bytes and %d inits, and got %d bytes and %d answers to inits; the last is %v", to, a.in, a.inits, a.out, a.welcomes, p.Kind)
		}
	}
	if _, ev, ok := l.m.PollEvent(); ok {
		l.t.Fatalf("the server tells %v", eventText(ev))
	}
}

func (l *ledger) pass(d time.Duration) {
	for until := l.now.Add(d); ; l.settle() {
		at, ok := l.m.NextTimeout()
		if !ok || at.After(until) {
			l.now = until
			return
		}
		l.now = at
		l.m.HandleTimeout(at)
	}
}

// T29: each packet of someone unproven, alone or after an init, and again and
// again, whatever the sync interval is.
func TestNoPacketIsAmplified(t *testing.T) {
	promise.Keeps(t, "T29", "replica", 1)
	for _, every := range []time.Duration{10 * time.Millisecond, time.Second, 3 * time.Second} {
		noPacketIsAmplified(t, Config{SyncInterval: every})
	}
}

func noPacketIsAmplified(t *testing.T, c Config) {
	l := newLedger(t, c)
	port := uint16(1)
	for _, first := range [][]byte{nil, (&Packet{Kind: KindInit}).AppendTo(nil), (&Packet{Kind: KindInit, Extended: true}).AppendTo(nil)} {
		for _, row := range stateRows(FromServer) {
			from := netip.AddrPortFrom(netip.MustParseAddr("192.0.2.7"), port)
			port++
			if first != nil {
				l.give(from, first)
			}
			d := drive{}
			l.give(from, d.build(row, 12345))
			l.pass(20 * time.Second)
			if first != nil {
				l.give(from, first)
			}
			for range 50 {
				l.give(from, d.build(row, 12345))
				l.pass(300 * time.Millisecond)
			}
			l.pass(20 * time.Second)
		}
	}
	if st := l.m.Stats(); st.Notices == 0 || st.Accepts == 0 || st.Unproven == 0 {
		t.Errorf("the test did not reach all of it: %+v", st)
	}
}

// T29: random datagrams from many sources, half of them spoiled packets.
func TestRandomDatagramsAreNotAmplified(t *testing.T) {
	r := kit.Rand(t)
	l := newLedger(t, Config{})
	var d draw
	d.r = r
	valid := validPackets(t, &d)
	total := promise.Keeps(t, "T29", "replica", kit.Rounds(1_000_000, 10_000_000))
	for i := range total {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(r.Uint32()), byte(r.Uint32())}), uint16(1000+r.IntN(2)))
		b := valid[r.IntN(len(valid))]
		switch r.IntN(8) {
		case 0, 1, 2:
			b = spoil(r, b)
		case 3:
			b = (&Packet{Kind: KindInit, Extended: true}).AppendTo(nil)
		case 4:
			b = (&Packet{Kind: KindAck, Acked: 1}).AppendTo(nil)
		}
		l.give(from, b)
		if i%16 == 0 {
			l.pass(time.Millisecond)
		}
	}
	l.pass(20 * time.Second)
	t.Logf("%d datagrams from %d sources: %+v", total, len(l.all), l.m.Stats())
}

// T30: a flood of inits with forged sources, half of them repeated and with acks,
// at the rate of a million sources in 60 s: for 15 simulated seconds, and with PARLEY_PR for the
// whole minute.
func TestAFloodOfForgedInits(t *testing.T) {
	const aMillisecond = 17 // sources
	seconds := max(promise.Keeps(t, "T30", "replica", kit.Tier(15, 60, 60)), 3)
	e := newExchange(t, 30, kit.Lan())
	e.w.SetLimits(simnet.Limits{Steps: 1 << 30})
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := rand.New(rand.NewPCG(30, 30))
	init := (&Packet{Kind: KindInit}).AppendTo(nil)
	ack := (&Packet{Kind: KindAck, Acked: 1}).AppendTo(nil)
	type newcomer struct {
		x     *client
		since time.Time
		took  time.Duration
	}
	var newcomers []*newcomer
	most, heap := 0, uint64(0)
	for ms := range seconds * 1000 {
		for range aMillisecond {
			var ip [4]byte
			binary.LittleEndian.PutUint32(ip[:], r.Uint32())
			from := netip.AddrPortFrom(netip.AddrFrom4(ip), uint16(1024+r.IntN(60000)))
			e.w.Inject(from, serverAddr, init)
			if r.IntN(2) == 0 {
				e.w.Inject(from, serverAddr, init)
				e.w.Inject(from, serverAddr, ack)
			}
		}
		if ms%50 == 0 {
			e.say(t)
		}
		if ms%50 == 25 && ms < seconds*1000-1000 {
			newcomers = append(newcomers, &newcomer{x: e.w.dial(1+len(newcomers), Config{}), since: e.w.Now()})
		}
		e.w.Pass(time.Millisecond)
		most = max(most, e.w.mux.half.Len())
		for _, n := range newcomers[max(0, len(newcomers)-200):] {
			if n.took == 0 && n.x.State() == StateOpen && e.w.conn(n.x) != nil {
				n.took = e.w.Now().Sub(n.since)
			}
		}
		if ms%5000 == 4999 {
			runtime.GC()
			runtime.ReadMemStats(&after)
			heap = max(heap, after.HeapAlloc)
		}
	}
	in, slowest := 0, time.Duration(0)
	for i, n := range newcomers {
		if n.took > 0 && n.took <= 3*time.Second {
			in++
		} else {
			t.Logf("newcomer %d is %v after %v; %v", i, n.x.State(), n.took, n.x.events)
		}
		slowest = max(slowest, n.took)
	}
	grown := int64(heap) - int64(before.HeapAlloc) - int64(len(newcomers))*16<<10 // a client in the same process
	t.Logf("%d forged sources in %d s: at most %d half-open, %d of %d newcomers in, the slowest in %v, heap +%d KiB, %+v",
		seconds*1000*aMillisecond, seconds, most, in, len(newcomers), slowest, grown>>10, e.w.mux.Stats())
	if most > 4096 {
		t.Errorf("%d half-open connections", most)
	}
	if in*100 < len(newcomers)*99 {
		t.Errorf("%d of %d honest clients connected in 3 s", in, len(newcomers))
	}
	if grown > 16<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	e.unharmed(t)
}

// forged makes a well-formed packet as one who knows a client's address, and sees
// none of its packets, would make it. Link packets have tests of their own.
func forged(r *rand.Rand) []byte {
	n, at := uint16(r.Uint32()), r.Uint64()
	p := [...]Packet{
		{Kind: KindInit, Extended: true},
		{Kind: KindDisconnect, Reliable: true, Sequence: n},
		{Kind: KindDisconnect, Sequence: n},
		{Kind: KindSyncAck, Sequence: n, Acked: n, Sent: at, Received: at},
		{Kind: KindMessage, Sequence: n, Time: at, Name: []byte("forged"), Data: []byte("data")},
		{Kind: KindMessage, Reliable: true, Sequence: n, Time: at, Name: []byte("forged"), Data: []byte("data")},
		{Kind: KindMessage, Reliable: true, Ordered: true, Sequence: n, Time: at, Name: []byte("forged"), Data: []byte("data")},
	}[r.IntN(7)]
	return p.AppendTo(nil)
}

// T32: 100,000 forged packets from a client's own address, from other ports of it
// and from elsewhere: its session and newcomers are unharmed.
func TestForgedPacketsFromAVictimsAddress(t *testing.T) {
	r := kit.Rand(t)
	e := newExchange(t, 32, kit.Lan())
	total := promise.Keeps(t, "T32", "replica", kit.Rounds(100_000, 1_000_000))
	victim := e.x.host.Addr()
	for i := 0; i < total; i += 10 {
		for j := range 10 {
			from := victim
			if j%4 == 1 {
				from = netip.AddrPortFrom(victim.Addr(), uint16(r.Uint32()|1))
				if from == victim {
					continue
				}
			}
			e.w.Inject(from, serverAddr, forged(r))
			if j%4 == 1 { // from here garbage is nobody's
				e.w.Inject(from, serverAddr, []byte{9, 9})
			}
		}
		if i%100 == 0 {
			e.say(t)
		}
		e.w.Pass(5 * time.Millisecond)
	}
	y := e.w.dial(50, Config{})
	e.w.Until("a newcomer", 3*time.Second, func() bool { return y.State() == StateOpen })
	e.unharmed(t)
	st := e.w.conn(e.x).Stats()
	t.Logf("%d forged: %d out of time, the victim lives", total, st.OutOfTime)
	if st.OutOfTime < uint64(total/4) {
		t.Errorf("%d were found out of time", st.OutOfTime)
	}
}

// The bounded harm of the dialect, which has no signatures. Garbage from a
// client's address counts as the client's: 64 in 10 s pass, the 65th ends the
// connection.
func TestGarbageFromAVictimsAddressEndsItsSessionAtThe65th(t *testing.T) {
	const most = 64
	e := newExchange(t, 33, kit.Lan())
	for range 60 {
		for range most / 10 {
			e.w.Inject(e.x.host.Addr(), serverAddr, []byte{9})
		}
		e.say(t)
		e.w.Pass(time.Second)
	}
	e.unharmed(t)
	e.w.Pass(10 * time.Second)
	for range most {
		e.w.Inject(e.x.host.Addr(), serverAddr, []byte{9})
	}
	e.say(t)
	e.unharmed(t)
	e.w.Inject(e.x.host.Addr(), serverAddr, []byte{9})
	e.w.Pass(time.Second)
	if e.x.closed == nil || e.x.closed.Reason != ReasonPeer || e.x.closed.Text != "protocol error" || e.w.mux.Len() != 0 {
		t.Errorf("after the 65th the client knows %v, the server has %d connections", e.x.closed, e.w.mux.Len())
	}
	y := e.w.dial(1, Config{})
	e.w.Until("a newcomer", 3*time.Second, func() bool { return y.State() == StateOpen })
}

// Link packets have no time, so a forged one is taken if its number is one that
// may come: it can use up a number, or break the order and so end the connection.
// It never opens one, and brings no table to anyone but the client itself.
func TestForgedLinkPacketsHarmOnlyTheirVictim(t *testing.T) {
	ended, sent := 0, 0
	const seeds = 50
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 34))
		e := newExchange(t, seed, kit.Lan())
		y := e.w.dial(1, Config{})
		e.w.Until("another", time.Second, func() bool { return y.State() == StateOpen && e.w.conn(y) != nil })
		for e.w.conn(e.x) != nil && sent < 100*int(seed+1) {
			p := Packet{Kind: KindLinkAccept, Reliable: true, Ordered: true, OrderLink: uint8(r.IntN(32)), Sequence: uint16(r.Uint32())}
			e.w.Inject(e.x.host.Addr(), serverAddr, p.AppendTo(nil))
			sent++
			e.w.Pass(10 * time.Millisecond)
		}
		e.w.Pass(15 * time.Second)
		if e.x.closed != nil {
			ended++
			if e.x.closed.Reason == 0 {
				t.Errorf("seed=%d: it ended without a reason", seed)
			}
		}
		if y.State() != StateOpen || e.w.conn(y) == nil {
			t.Fatalf("seed=%d: another client is %v", seed, y.State())
		}
	}
	t.Logf("%d of %d sessions were ended by at most 100 forged link packets each", ended, seeds)
}

// T35: a live client's own packets, sent again from another address at once and
// later, and from its own address in its next connection, do nothing.
func TestRightPacketsFromElsewhereDoNothing(t *testing.T) {
	r := kit.Rand(t)
	e := newExchange(t, 35, kit.Lan())
	var own [][]byte
	e.w.Filter(func(p simnet.Packet) simnet.Verdict {
		if p.From == e.x.host {
			own = append(own, slices.Clone(p.Bytes))
		}
		return simnet.Verdict{}
	})
	total := promise.Keeps(t, "T35", "replica", kit.Rounds(10_000, 100_000))
	thief := netip.AddrPortFrom(e.x.host.Addr().Addr(), 6666)
	far := netip.MustParseAddrPort("203.0.113.5:5000")
	for i := 0; i < total; i += 20 {
		e.say(t)
		e.w.Pass(10 * time.Millisecond)
		for range 10 {
			for _, from := range []netip.AddrPort{thief, far} {
				e.w.Inject(from, serverAddr, own[r.IntN(len(own))])
			}
		}
	}
	if e.w.mux.Len() != 1 || e.w.mux.Stats().Opened != 1 {
		t.Errorf("replayed packets opened a connection: %+v", e.w.mux.Stats())
	}
	e.unharmed(t)
	st := e.w.conn(e.x).Stats()
	if st.Reliable.Repeat != e.x.Stats().Reliable.Copies || st.OutOfTime != 0 {
		t.Errorf("the victim's connection saw the copies of others: %+v", st)
	}
	// The next connection from the same address has another clock.
	replay := own
	e.x.Close(e.x.host.Now(), "")
	e.x.host.Poke()
	e.w.Pass(3 * time.Second)
	addr := e.x.host.Addr()
	e.x.host.Crash()
	e.x.Endpoint = NewClient(e.w.Now(), serverAddr, Config{}, newShared(200))
	e.x.host.Restart(e.x.Endpoint)
	e.sent, e.got = [2]uint32{}, [2]uint32{}
	e.w.Until("again", 5*time.Second, func() bool { return e.x.State() == StateOpen && e.w.conn(e.x) != nil })
	messages := 0
	for _, b := range replay {
		var p Packet
		if p.Parse(FromClient, b) && (p.Kind == KindMessage || p.Kind == KindSyncAck) {
			messages++
			e.w.Inject(addr, serverAddr, b)
			e.w.Pass(100 * time.Microsecond)
		}
	}
	e.say(t)
	e.unharmed(t)
	if st := e.w.conn(e.x).Stats(); st.OutOfTime != uint64(messages) || messages < total/30 {
		t.Errorf("of %d packets of the last connection %d were found out of time", messages, st.OutOfTime)
	}
}

func TestEmptyAndTinyDatagramsCostNothing(t *testing.T) { kit.Tiny(t, dialect, false) }

// T9, T16: 100,000 messages, so that the sequence wraps, as fast as the window
// lets them, over 10% loss, with each datagram delivered up to 5 times and out of
// order: each arrives once, ordered ones in order.
func TestTheSequenceWrapsAtFullSpeed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		mode   Mode
		path   simnet.Profile
		copies int
	}{
		{"ordered, 10% loss", Ordered, simnet.Profile{Delay: time.Millisecond, Loss: .1}, 0},
		{"reliable, 10% loss", Reliable, simnet.Profile{Delay: time.Millisecond, Loss: .1}, 0},
		{"ordered, up to 5 copies shuffled", Ordered, simnet.Profile{Delay: time.Millisecond, Jitter: 3 * time.Millisecond}, 4},
		{"reliable, up to 5 copies shuffled", Reliable, simnet.Profile{Delay: time.Millisecond, Jitter: 3 * time.Millisecond}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			total := uint32(promise.Keeps(t, "T9 T16", "replica", kit.Rounds(100_000, 1_000_000)))
			cfg := Config{NoBundles: (tt.mode == Ordered) == (tt.copies > 0)} // each mode and each path with and without
			w := newWorld(t, 9, cfg, tt.path)
			// Without jitter all that is sent at once arrives at once.
			w.SetLimits(simnet.Limits{Steps: 1 << 30, StepsAtOnce: 20_000})
			x := w.dial(0, cfg)
			w.Until("connected", 10*time.Second, func() bool { return x.State() == StateOpen && w.conn(x) != nil })
			r := rand.New(rand.NewPCG(9, 16))
			w.Filter(func(simnet.Packet) simnet.Verdict { return simnet.Verdict{Copies: r.IntN(tt.copies + 1)} })
			c := w.conn(x)
			seen, got := make([]bool, total), uint32(0)
			take := func(ev Event) {
				if ev.Kind != EventMessage {
					t.Fatalf("the server tells %v", eventText(ev))
				}
				n := binary.LittleEndian.Uint32(ev.Data)
				if seen[n] || tt.mode == Ordered && n != got {
					t.Fatalf("message %d came as number %d, or again", n, got)
				}
				seen[n] = true
				got++
			}
			w.server.AfterTurn(func(time.Time) {
				for _, ev, ok := w.mux.PollEvent(); ok; _, ev, ok = w.mux.PollEvent() {
					take(ev)
				}
			})
			sent := uint32(0)
			feed := func(now time.Time) {
				for sent < total && x.outgoing.Len() < 64 && x.Send(now, tt.mode, "n", u32(sent)) == nil {
					sent++
				}
			}
			x.host.AfterTurn(func(now time.Time) {
				for ev, ok := x.PollEvent(); ok; ev, ok = x.PollEvent() {
					t.Fatalf("the client tells %v", eventText(ev))
				}
				feed(now)
			})
			feed(x.host.Now())
			x.host.Poke()
			start := w.Now()
			w.Until("all", time.Hour, func() bool { return got == total })
			st := c.Stats()
			rs := st.Reliable.ReceiveStats
			t.Logf("%d messages in %v of virtual time; %+v", total, w.Now().Sub(start), rs)
			if sum := rs.Delivered + rs.Repeat + rs.Stale + rs.TooFar + rs.Refused + rs.Violation + rs.Skipped + rs.Outdated; rs.In != sum || st.Malformed+st.OutOfTime != 0 {
				t.Errorf("the counters do not sum up: %+v", st)
			}
			if tt.copies > 0 && rs.Repeat < uint64(total) {
				t.Errorf("only %d copies came", rs.Repeat)
			}
		})
	}
}
