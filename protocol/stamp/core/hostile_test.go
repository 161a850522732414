package core

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/simnet"
)

// forge returns a datagram of somebody who cannot see the packets: random bytes, or a
// well-formed packet with a time and a number out of thin air.
func forge(r *rand.Rand, from Side, b []byte) []byte {
	b = b[:0]
	if r.IntN(4) == 0 {
		return append(b, randomBytes(r, 64)...)
	}
	for {
		if s := shapes[r.IntN(len(shapes))]; s.from == from {
			var p Packet
			s.random(r, &p)
			if r.IntN(4) == 0 {
				p.Time = r.Uint64N(1 << 40) // as clocks that start at 0 have it
			}
			return p.AppendTo(from, b)
		}
	}
}

// T25: datagrams of somebody who cannot see the packets, and copies of true ones however old,
// harm nothing: the session lives and everything is delivered once and in order.
func TestBlindInjectionHarmsNothing(t *testing.T) {
	t.Parallel()
	shared := newShared(1)
	for seed := range uint64(promise.Keeps(t, "T25", "stamp", kit.Tier(50, 1000, 10_000))) {
		rng := rand.New(rand.NewPCG(seed, 25))
		d := newDuoOf(t, shared, Config{})
		var old [][2][]byte // to the client, to the server
		var buf [MaxPacket]byte
		sent, next := 0, 0
		for range 100 {
			for range 3 {
				if d.s.Send(d.now, Ordered, []byte{byte(sent)}) == nil {
					sent++
				}
			}
			d.poll()
			if len(d.toC) > 0 && len(d.toS) > 0 && len(old) < 100 {
				old = append(old, [2][]byte{d.toC[0], d.toS[0]})
			}
			for i := range 100 {
				if i%10 == 0 && len(old) > 0 {
					o := old[rng.IntN(len(old))]
					cut := len(o[1])
					if rng.IntN(2) == 0 {
						cut = rng.IntN(HeaderBytes) // a truncated one loses its time
					}
					d.c.HandleDatagram(d.now, serverAddr, o[0])
					d.s.HandleDatagram(d.now, clientAddr, o[1][:cut])
					continue
				}
				d.c.HandleDatagram(d.now, serverAddr, forge(rng, FromServer, buf[:]))
				d.s.HandleDatagram(d.now, clientAddr, forge(rng, FromClient, buf[:]))
			}
			d.turn(10 * time.Millisecond)
			for _, ev := range d.events {
				if ev.Kind != EventEntity || ev.Data[0] != byte(next) {
					t.Fatalf("seed=%d: %v %x came where %d was due", seed, ev.Kind, ev.Data, next)
				}
				next++
			}
			d.events = d.events[:0]
		}
		if d.c.State() != StateOpen || d.s.State() != StateOpen || next < 40 || len(d.seen) != 0 {
			t.Fatalf("seed=%d: %v and %v with %d of %d delivered, and the server saw %v", seed, d.c.State(), d.s.State(), next, sent, d.seen)
		}
		d.check()
	}
}

// T25: somebody who sees the packets can forge them. The harm is that session's: nothing
// panics, no counter is off, and if it ends it ends with a reason.
func TestInjectionByAnEavesdropperIsBounded(t *testing.T) {
	t.Parallel()
	shared := newShared(1)
	ends := map[Reason]int{}
	for seed := range uint64(promise.Keeps(t, "T25", "stamp", kit.Tier(50, 1000, 10_000))) {
		rng := rand.New(rand.NewPCG(seed, 26))
		d := newDuoOf(t, shared, Config{})
		var flipped [MaxPacket]byte
		flip := func(b []byte) []byte {
			n := copy(flipped[:], b)
			for range 1 + rng.IntN(3) {
				flipped[rng.IntN(n)] ^= 1 << rng.IntN(8)
			}
			return flipped[:1+rng.IntN(n)]
		}
		injected := 0
		for turns := 0; injected < 10_000 && turns < 1000 && !d.closed; turns++ {
			d.s.Send(d.now, Mode(rng.IntN(3)), randomBytes(rng, 100))
			d.poll()
			for _, b := range d.toC {
				for range 1 + rng.IntN(20) {
					injected++
					d.c.HandleDatagram(d.now, serverAddr, flip(b))
				}
			}
			for _, b := range d.toS {
				for range 1 + rng.IntN(20) {
					injected++
					d.s.HandleDatagram(d.now, clientAddr, flip(b))
				}
			}
			d.turn(10 * time.Millisecond)
			d.events = d.events[:0]
		}
		d.check()
		ends[d.c.closing.close.Reason]++
	}
	t.Logf("how the clients' connections ended: %v", ends)
	if ends[ReasonProtocol] == 0 {
		t.Error("no flood of malformed packets with the right time ended a connection")
	}
}

// "more than 64 in 10 s disconnect it with `protocol error`": a peer's own, not what anybody
// may have sent.
func TestMalformedPackets(t *testing.T) {
	for _, tt := range []struct {
		name  string
		bytes func(d *duo) []byte
		every time.Duration
		lives bool
	}{
		{"with the connection's time", func(d *duo) []byte { return malformedAt(d.time()) }, 10 * time.Millisecond, false},
		{"with the connection's time, seldom", func(d *duo) []byte { return malformedAt(d.time()) }, 160 * time.Millisecond, true},
		{"with another time", func(d *duo) []byte { return malformedAt(d.time() + 1<<30) }, 10 * time.Millisecond, true},
		{"without any", func(d *duo) []byte { return malformedAt(d.time())[:HeaderBytes-1] }, 10 * time.Millisecond, true},
		{"empty", func(*duo) []byte { return nil }, 10 * time.Millisecond, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, side := range []Side{FromServer, FromClient} {
				d := newDuo(t, 1, Config{})
				e := map[Side]*Endpoint{FromServer: d.s, FromClient: d.c}[side]
				for i := range 200 {
					b := tt.bytes(d)
					e.HandleDatagram(d.now, e.peer, b)
					if want := tt.lives || i < maxMalformed; (e.state == StateOpen) != want {
						t.Fatalf("%v: %v after %d", side, e.state, i+1)
					}
					d.turn(tt.every)
				}
				if !tt.lives {
					d.turn(time.Second)
					d.turn(time.Second)
					events := map[Side][]Event{FromServer: d.seen, FromClient: d.events}[side]
					if ev := events[len(events)-1]; ev.Kind != EventClosed || ev.Close != (Close{Reason: ReasonProtocol, Text: "protocol error"}) {
						t.Errorf("%v: %+v", side, ev)
					}
				}
				d.check()
			}
		})
	}
}

func malformedAt(t uint64) []byte {
	return append(binary.LittleEndian.AppendUint64([]byte{9, 9, 9, 9}, t), "garbage"...)
}

// T12, T13: acks of all numbers there are, again and again, change nothing that was not sent,
// and are counted.
func TestAckBombs(t *testing.T) {
	d := newDuo(t, 1, Config{})
	d.turn(0) // the ack of the first, empty one comes
	if err := d.s.Send(d.now, Reliable, []byte("x")); err != nil {
		t.Fatal(err)
	}
	d.poll()
	next := d.s.sender.Next()
	for i := range promise.Keeps(t, "T12 T13", "stamp", kit.Rounds(200_000, 1_000_000)) {
		n := uint16(i)
		if uint64(n) == next-1 {
			continue // the one that is in flight
		}
		d.toServer(Packet{Kind: KindAck, Sequence: n, Time: d.time()})
		if d.s.sender.InFlight(0) != 1 || d.s.sender.Next() != next {
			t.Fatalf("the ack of %d changed what is in flight", n)
		}
	}
	s := d.s.Stats().Reliable
	if s.AcksUnsent == 0 || s.AcksNew != 1 || d.s.State() != StateOpen {
		t.Errorf("%+v, %v", s.SendStats, d.s.State())
	}
	d.toServer(Packet{Kind: KindAck, Sequence: uint16(next - 1), Time: d.time()})
	if d.s.sender.InFlight(0) != 0 {
		t.Error("the true ack does not count any more")
	}
	d.check()
}

// T13: an ack of a number that was never sent is no sign of life.
func TestALieDoesNotKeepAConnectionAlive(t *testing.T) {
	promise.Keeps(t, "T13", "stamp", 1)
	d := newDuo(t, 1, Config{})
	for range 11 {
		d.toServer(Packet{Kind: KindAck, Sequence: uint16(d.s.sender.Next() + 10), Time: d.time()})
		d.toC, d.toS = nil, nil // nothing true gets through
		d.turn(time.Second)
	}
	if d.s.State() != StateClosed {
		t.Errorf("the server is %v", d.s.State())
	}
}

// T15: whatever times and acks come, the round trip stays within [1 ms, 10 s], and a client's
// clock is not moved by more than its slew limit of a twentieth.
func TestPoisonedTimes(t *testing.T) {
	d := newDuo(t, 1, Config{})
	rng := kit.Rand(t)
	last, at := d.c.ServerTime(d.now), d.now
	for i := range promise.Keeps(t, "T15", "stamp", kit.Rounds(100_000, 1_000_000)) {
		d.now = d.now.Add(time.Duration(rng.IntN(2000)) * time.Microsecond)
		wrong := uint64(rng.Int64N(int64(20*time.Second/time.Microsecond))) - uint64(10*time.Second/time.Microsecond)
		if rng.IntN(4) == 0 {
			wrong = rng.Uint64()
		}
		d.toClient(Packet{Kind: KindEntity, Reliable: rng.IntN(2) == 0, Sequence: uint16(d.c.near + 1), Time: d.time() + wrong})
		if i%50 == 0 {
			d.s.Send(d.now, Reliable, []byte("x"))
		}
		d.toServer(Packet{Kind: KindAck, Sequence: uint16(d.s.sender.Next()) - uint16(rng.IntN(20)), Time: d.time() + wrong})
		d.toC, d.toS = nil, nil
		d.poll()
		read := d.c.ServerTime(d.now)
		passed := d.now.Sub(at).Microseconds()
		if moved := int64(read - last); moved < passed*19/20-2 || moved > passed*21/20+2 {
			t.Fatalf("in %d µs the clock moved by %d", passed, moved)
		}
		last, at = read, d.now
		if rtt := d.s.RTT(); rtt != 0 && (rtt < time.Millisecond || rtt > 10*time.Second) {
			t.Fatalf("a round trip of %v", rtt)
		}
	}
}

// T29: nobody gets more than three times what came from it, whatever it is, before its address
// is proven.
func TestNoAmplification(t *testing.T) {
	t.Parallel()
	muxes := map[string]*Mux{
		"open":   NewMux(duoStart, Config{}, newShared(1), kit.Key(1)),
		"full":   NewMux(duoStart, Config{MaxConns: 1, Admit: func(netip.AddrPort) string { return string(make([]byte, 300)) }}, newShared(1), kit.Key(1)),
		"closed": NewMux(duoStart, Config{}, newShared(1), kit.Key(1)),
	}
	muxes["closed"].Shutdown(duoStart, string(make([]byte, 300)))
	rng := kit.Rand(t)
	var buf, in [MaxPacket]byte
	turns := promise.Keeps(t, "T29", "stamp", kit.Tier(100_000, 1_000_000, 4_000_000))
	for name, m := range muxes {
		now, answered := duoStart, 0
		for i := range turns {
			now = now.Add(time.Duration(rng.IntN(200)) * time.Microsecond)
			from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)}), uint16(1+rng.IntN(65535)))
			b := forge(rng, FromClient, in[:])
			m.HandleDatagram(now, from, b)
			out := 0
			for n, to, ok := m.PollTransmit(buf[:]); ok; n, to, ok = m.PollTransmit(buf[:]) {
				if out += n; to != from {
					t.Fatalf("%s: an answer to %v goes to %v", name, from, to)
				}
			}
			if out > 3*len(b) {
				t.Fatalf("%s: %d bytes for %d: %x", name, out, len(b), b)
			}
			if out > 0 {
				answered++
			}
		}
		if m.Len() != 0 || answered == 0 {
			t.Errorf("%s: %d connections, %d answers", name, m.Len(), answered)
		}
		stats := m.Stats()
		if err := stats.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, ok := m.NextTimeout(); ok {
			t.Errorf("%s: strangers made a timer", name)
		}
	}
}

// Notices to strangers are limited: at most 10 a second a source and 1,000 in all. A
// disconnect is never answered.
func TestNoticesAreRare(t *testing.T) {
	m := NewMux(duoStart, Config{}, newShared(1), kit.Key(1))
	var buf [MaxPacket]byte
	ask := func(now time.Time, from netip.AddrPort, p Packet) int {
		m.HandleDatagram(now, from, p.AppendTo(FromClient, nil))
		n, _, _ := m.PollTransmit(buf[:])
		return n
	}
	if n := ask(duoStart, clientAddr, Packet{Kind: KindAck, Sequence: 777, Time: 5}); n != HeaderBytes+2 {
		t.Fatalf("a notice of %d bytes", n)
	}
	var p Packet
	if !p.Parse(FromServer, buf[:HeaderBytes+2]) || p.Kind != KindDisconnect || p.Sequence != 777 || p.Time != 5 || len(p.Reason) != 0 {
		t.Errorf("the notice is %+v", p)
	}
	if n := ask(duoStart, clientAddr, Packet{Kind: KindDisconnect, Sequence: 777, Time: 5}); n != 0 {
		t.Error("a disconnect was answered")
	}
	one, all := 0, 0
	for i := range 20_000 {
		now := duoStart.Add(10*time.Second + time.Duration(i)*50*time.Microsecond)
		if ask(now, clientAddr, Packet{Kind: KindAck, Sequence: 2}) > 0 {
			one++
		}
		other := netip.AddrPortFrom(netip.AddrFrom4([4]byte{20, byte(i >> 8), byte(i), 1}), 5)
		if ask(now, other, Packet{Kind: KindAck, Sequence: 2}) > 0 {
			all++
		}
	}
	if one == 0 || one > 10 || all < 500 || one+all > 1000 {
		t.Errorf("in a second %d notices to one source and %d to all others", one, all)
	}
}

// T30: a flood of inits and acks from a million forged sources costs no memory; honest clients
// connect through it, and one that is connected loses nothing.
func TestASpoofedFlood(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, Config{}, kit.Lan())
	w.SetLimits(simnet.Limits{Steps: 100_000_000, StepsAtOnce: 10_000})
	x := w.open(0, Config{})
	k := count(w, x, 0)
	rng := kit.Rand(t)
	turns := promise.Keeps(t, "T30", "stamp", kit.Rounds(3000, 60_000))
	perTurn := 1_000_000 / 3000
	var in [MaxPacket]byte
	connected := 0
	for i := range turns {
		for range perTurn {
			from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{30, byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32())}), uint16(1+rng.IntN(65535)))
			p := Packet{Kind: KindInit}
			if rng.IntN(2) == 0 {
				p = Packet{Kind: KindAck, Sequence: 1, Time: rng.Uint64()}
			}
			w.Inject(from, serverAddr, p.AppendTo(FromClient, in[:0]))
		}
		if i%50 == 0 {
			k.left++
			w.dial(1+i/50, Config{})
		}
		w.Pass(20 * time.Millisecond)
	}
	w.Pass(3 * time.Second)
	for _, c := range w.clients {
		if c.State() == StateOpen {
			connected++
		}
	}
	if connected != len(w.clients) || w.mux.Len() != connected {
		t.Errorf("%d of %d clients are connected, the server has %d", connected, len(w.clients), w.mux.Len())
	}
	if !k.complete() {
		t.Errorf("the one that was connected got %v of %v", k.got, k.sent)
	}
	w.check()
}

// T32: garbage and forged packets from the victim's own address and port, and to it from the
// server's, do not touch its session; nor does it keep its neighbours from connecting.
func TestForgedSourcesHarmNobody(t *testing.T) {
	w := newWorld(t, 1, Config{}, kit.Lan())
	x := w.open(0, Config{})
	w.SetLimits(simnet.Limits{Steps: 100_000_000, StepsAtOnce: 10_000})
	rng := kit.Rand(t)
	var in [MaxPacket]byte
	k := count(w, x, 0)
	for i := range promise.Keeps(t, "T32", "stamp", kit.Rounds(1000, 10_000)) {
		for range 50 {
			w.Inject(x.host.Addr(), serverAddr, forge(rng, FromClient, in[:]))
			w.Inject(serverAddr, x.host.Addr(), forge(rng, FromServer, in[:]))
			w.Inject(netip.AddrPortFrom(clientAddr.Addr(), uint16(1+rng.IntN(4000))), serverAddr, forge(rng, FromClient, in[:]))
		}
		if i%100 == 0 {
			w.open(1+i/100, Config{})
		}
		k.left++
		w.server.Poke()
		w.Pass(10 * time.Millisecond)
	}
	w.Pass(time.Second)
	if x.State() != StateOpen || !k.complete() {
		t.Errorf("the victim is %v, saw %v and got %v of %v", x.State(), x.events, k.got, k.sent)
	}
	if w.mux.Len() != len(w.clients) {
		t.Errorf("%d of %d clients are connected", w.mux.Len(), len(w.clients))
	}
	w.check()
}

// A forged init and a forged disconnect from a client's address end nothing, even if the forger
// has the right time.
func TestForgedEndsEndNothing(t *testing.T) {
	for _, tt := range []struct {
		delay time.Duration
		leave bool // with the right time, too
	}{{10 * time.Millisecond, true}, {400 * time.Millisecond, true}, {1200 * time.Millisecond, false}} {
		w := newWorld(t, 7, Config{}, simnet.Profile{Delay: tt.delay})
		x := w.open(0, Config{})
		w.Pass(5 * time.Second)
		for range 20 {
			w.Inject(x.host.Addr(), serverAddr, (&Packet{Kind: KindInit}).AppendTo(FromClient, nil))
			if tt.leave {
				p := Packet{Kind: KindDisconnect, Sequence: 1, Time: x.conn().endpoint.ServerTime(w.Now())}
				w.Inject(x.host.Addr(), serverAddr, p.AppendTo(FromClient, nil))
			}
			w.Pass(time.Second)
		}
		if w.mux.Len() != 1 || x.State() != StateOpen {
			t.Errorf("%v away: %d connections, the client is %v, the server saw %v", tt.delay, w.mux.Len(), x.State(), w.Log)
		}
	}
}

// T35: what proves one address proves no other, no later connection and no other server.
func TestAProofIsOfOneAddressAndOneConnection(t *testing.T) {
	rng := kit.Rand(t)
	var buf [MaxPacket]byte
	m := NewMux(duoStart, Config{}, newShared(1), kit.Key(1))
	other := NewMux(duoStart, Config{}, newShared(1), kit.Key(2))
	now := duoStart
	for range promise.Keeps(t, "T35", "stamp", kit.Rounds(10_000, 100_000)) {
		now = now.Add(time.Minute)
		begun := now
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(rng.Uint32()), byte(rng.Uint32())}), uint16(1+rng.IntN(65535)))
		tell := func(m *Mux, from netip.AddrPort, p Packet) {
			m.HandleDatagram(now, from, p.AppendTo(FromClient, buf[:0]))
		}
		tell(m, from, Packet{Kind: KindInit})
		n, _, _ := m.PollTransmit(buf[:])
		var accept Packet
		if !accept.Parse(FromServer, buf[:n]) || accept.Kind != KindAccept {
			t.Fatalf("got %x", buf[:n])
		}
		now = now.Add(time.Duration(rng.IntN(9000)) * time.Millisecond)
		proof := Packet{Kind: KindAck, Sequence: 1, Time: accept.Time + uint64(now.Sub(begun).Microseconds())}
		otherPort := netip.AddrPortFrom(from.Addr(), from.Port()^uint16(1+rng.IntN(65535)))
		otherAddr := netip.AddrPortFrom(from.Addr().Next(), from.Port())
		for _, forger := range []netip.AddrPort{otherPort, otherAddr} {
			if tell(m, forger, proof); m.Len() != 0 {
				t.Fatalf("the proof of %v opened a connection to %v", from, forger)
			}
		}
		for _, wrong := range []Packet{
			{Kind: KindAck, Sequence: 2, Time: proof.Time},
			{Kind: KindAck, Sequence: 1, Time: proof.Time + 10_100_000},
			{Kind: KindAck, Sequence: 1, Time: proof.Time - 10_100_000},
			{Kind: KindDisconnect, Sequence: 1, Time: proof.Time},
		} {
			if tell(m, from, wrong); m.Len() != 0 {
				t.Fatalf("%+v opened a connection", wrong)
			}
		}
		if tell(other, from, proof); other.Len() != 0 {
			t.Fatal("a proof for one server opened a connection to another")
		}
		if tell(m, from, proof); m.Len() != 1 {
			t.Fatalf("the proof %+v opened nothing", proof)
		}
		c := m.Conn(from)
		c.endpoint.end(Close{Reason: ReasonClosed})
		m.conns.Touch(c)
		for _, _, ok := m.PollEvent(); ok; _, _, ok = m.PollEvent() {
		}
		for _, x := range []*Mux{m, other} {
			for _, _, ok := x.PollTransmit(buf[:]); ok; _, _, ok = x.PollTransmit(buf[:]) {
			}
		}
		if tell(m, from, proof); m.Len() != 0 {
			t.Fatal("the proof of a connection that ended opened another")
		}
	}
}

// T34: a peer is an address and port, whichever way it is written.
func TestAPeerIsItsCanonicalAddress(t *testing.T) {
	promise.Keeps(t, "T34", "stamp", 1)
	m := NewMux(duoStart, Config{}, newShared(1), kit.Key(1))
	mapped := netip.AddrPortFrom(netip.AddrFrom16(clientAddr.Addr().As16()), clientAddr.Port())
	var buf [MaxPacket]byte
	m.HandleDatagram(duoStart, mapped, (&Packet{Kind: KindInit}).AppendTo(FromClient, nil))
	n, _, _ := m.PollTransmit(buf[:])
	var accept Packet
	accept.Parse(FromServer, buf[:n])
	for _, from := range []netip.AddrPort{mapped, clientAddr} {
		m.HandleDatagram(duoStart, from, (&Packet{Kind: KindAck, Sequence: 1, Time: accept.Time}).AppendTo(FromClient, nil))
	}
	if m.Len() != 1 || m.Conn(mapped) == nil || m.Conn(mapped) != m.Conn(clientAddr) {
		t.Errorf("%d connections, %v and %v", m.Len(), m.Conn(mapped), m.Conn(clientAddr))
	}
	x := NewClient(duoStart, mapped, Config{}, newShared(1))
	x.HandleDatagram(duoStart, clientAddr, accept.AppendTo(FromServer, nil))
	if x.State() != StateAccepted {
		t.Errorf("a client of an IPv4 address inside IPv6 is %v", x.State())
	}
}

func TestTinyDatagrams(t *testing.T) { kit.Tiny(t, dialect, true) }
