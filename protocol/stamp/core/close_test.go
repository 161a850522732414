package core

import (
	"math/rand/v2"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/simnet"
)

// endings are the ways in which a connection ends.
var endings = []struct {
	name string
	do   func(d *duo)
}{
	{"the client leaves", func(d *duo) { d.c.Close(d.now, "") }},
	{"the server leaves", func(d *duo) { d.s.Close(d.now, "enough") }},
	{"both leave", func(d *duo) { d.s.Close(d.now, "enough"); d.c.Close(d.now, "") }},
	{"silence", func(d *duo) { d.now = d.now.Add(10 * time.Second) }},
	{"garbage", func(d *duo) {
		for range maxMalformed + 1 {
			d.s.HandleDatagram(d.now, clientAddr, malformedAt(d.time()))
		}
	}},
	{"a new init, and the old client does not answer", func(d *duo) {
		d.toServer(Packet{Kind: KindInit})
		d.c.end(Close{Reason: ReasonClosed})
	}},
}

// T27: after the end nothing that comes late and nothing that the application calls has an
// effect: no event after closed, no timeout, no packet, and every buffer is returned once.
func TestNothingHappensAfterTheEnd(t *testing.T) {
	t.Parallel()
	shared := newShared(1)
	for seed := range uint64(promise.Keeps(t, "T27", "stamp", kit.Rounds(10_000, 100_000))) {
		rng := rand.New(rand.NewPCG(seed, 27))
		d := newDuoOf(t, shared, Config{})
		var late [][2][]byte
		data := make([]byte, 100)
		for range 5 {
			for range rng.IntN(6) {
				d.s.Send(d.now, Mode(rng.IntN(3)), data)
				d.s.SendReport(d.now, data, 7)
			}
			d.poll()
			for _, b := range d.toC {
				late = append(late, [2][]byte{b, nil})
			}
			for _, b := range d.toS {
				late = append(late, [2][]byte{nil, b})
			}
			if rng.IntN(2) == 0 {
				d.turn(7 * time.Millisecond)
			} else {
				d.toC = nil // something is left in flight
			}
		}
		way := endings[rng.IntN(len(endings))]
		way.do(d)
		for range 40 {
			d.turn(500 * time.Millisecond)
		}
		if !d.closed || !d.ended {
			t.Fatalf("seed=%d: %s: the client is %v, the server %v", seed, way.name, d.c.State(), d.s.State())
		}
		if d.s.sender.InFlight(0)+d.s.ordered.Len()+d.s.loose.Len()+d.s.control.Len()+d.c.control.Len()+d.c.receiver.Waiting() != 0 {
			t.Fatalf("seed=%d: %s: something is kept", seed, way.name)
		}
		for range 1000 / 10 {
			l := late[rng.IntN(len(late))]
			d.after(seed, rng, l[0], l[1], data)
		}
		if seed%100 == 99 && shared.buffers.KeepsTwice() {
			t.Fatalf("seed=%d: a buffer was given back twice", seed)
		}
	}
}

// after does ten random things to both ends of a connection that is over.
func (d *duo) after(seed uint64, rng *rand.Rand, toC, toS, data []byte) {
	for range 10 {
		d.now = d.now.Add(time.Duration(rng.IntN(1000)) * time.Millisecond)
		switch rng.IntN(6) {
		case 0:
			d.c.HandleDatagram(d.now, serverAddr, toC)
			d.s.HandleDatagram(d.now, clientAddr, toS)
		case 1:
			d.c.HandleTimeout(d.now)
			d.s.HandleTimeout(d.now)
		case 2:
			d.c.Close(d.now, "again")
			d.s.Close(d.now, "again")
		case 3:
			if err := d.s.Send(d.now, Mode(rng.IntN(3)), data); err != ErrClosed {
				d.t.Fatalf("seed=%d: send: %v", seed, err)
			}
		case 4:
			if err := d.s.SendReport(d.now, data, 9); err != ErrClosed {
				d.t.Fatalf("seed=%d: report: %v", seed, err)
			}
		case 5:
			for _, e := range []*Endpoint{d.s, d.c} {
				ev, event := e.PollEvent()
				at, timeout := e.NextTimeout()
				n, _, packet := e.PollTransmit(d.buf[:])
				if event || timeout || packet || e.State() != StateClosed {
					d.t.Fatalf("seed=%d: %v: after the end %v, event %v, timeout %v, a packet of %d bytes", seed, e.side, e.State(), ev.Kind, at, n)
				}
			}
		}
	}
}

// Each way of ending has its reason, on both sides.
func TestReasonsOfEnds(t *testing.T) {
	want := [][2]Close{ // server, client
		{{Reason: ReasonPeer, Remote: true}, {Reason: ReasonClosed}},
		{{Reason: ReasonClosed, Text: "enough"}, {Reason: ReasonPeer, Remote: true, Text: "enough"}},
		{{Reason: ReasonClosed, Text: "enough"}, {Reason: ReasonClosed}},
		{{Reason: ReasonTimeout}, {Reason: ReasonTimeout}},
		{{Reason: ReasonProtocol, Text: "protocol error"}, {Reason: ReasonPeer, Remote: true, Text: "protocol error"}},
		{{Reason: ReasonReplaced}, {Reason: ReasonClosed}},
	}
	for i, way := range endings {
		t.Run(way.name, func(t *testing.T) {
			d := newDuo(t, 1, Config{})
			d.turn(0)
			way.do(d)
			for range 30 {
				d.turn(100 * time.Millisecond)
			}
			if !d.ended || !d.closed {
				t.Fatalf("the server is %v, the client %v", d.s.State(), d.c.State())
			}
			got := [2]Close{d.seen[len(d.seen)-1].Close, d.events[len(d.events)-1].Close}
			if got != want[i] {
				t.Errorf("got %+v, want %+v", got, want[i])
			}
		})
	}
}

// What came before the end is read before the end is told.
func TestWhatCameIsReadBeforeTheEnd(t *testing.T) {
	d := newDuo(t, 1, Config{})
	for i := range 5 {
		if err := d.s.Send(d.now, Reliable, []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	d.poll()
	d.s.Close(d.now, "done")
	if err := d.s.Send(d.now, Reliable, []byte("x")); err != ErrClosed {
		t.Errorf("after close: %v", err)
	}
	for range 3 { // there, the acks of it back, and the goodbye
		d.poll()
		d.turn(time.Millisecond)
	}
	if n := len(d.events); n != 6 || d.events[5].Kind != EventClosed || d.events[4].Kind != EventEntity {
		t.Errorf("the client saw %d events: %+v", n, d.events)
	}
}

// A disconnect is sent five times at most, within the linger time, and Close does not hold up
// anybody: a peer that is gone is not waited for.
func TestClosingIsBounded(t *testing.T) {
	for _, linger := range []time.Duration{0, -1, 100 * time.Millisecond, time.Second + 4, 5 * time.Second} {
		cfg := Config{Linger: linger}
		want := cfg.fill().Linger
		w := newWorld(t, 1, cfg, kit.Lan())
		x := w.open(0, Config{})
		w.Pass(100 * time.Millisecond)
		w.Partition(x.host, w.server, false)
		var at []time.Time
		w.Filter(func(p simnet.Packet) simnet.Verdict {
			var got Packet
			if got.Parse(FromServer, p.Bytes) && got.Kind == KindDisconnect {
				at = append(at, w.Now())
			}
			return simnet.Verdict{}
		})
		begun := w.Now()
		w.mux.Advance(begun)
		x.conn().Close("bye")
		w.server.Poke()
		w.Until("closed", time.Minute, func() bool { return w.mux.Len() == 0 })
		if took := w.Now().Sub(begun); took > want || took < want*4/5 {
			t.Errorf("linger %v: closing took %v", linger, took)
		}
		if len(at) > closeSends || len(at) == 0 || len(at) < closeSends && want >= 500*time.Millisecond {
			t.Errorf("linger %v: %d disconnects", linger, len(at))
		}
		for i := 1; i < len(at); i++ {
			if at[i].Sub(at[i-1]) < 10*time.Millisecond {
				t.Errorf("linger %v: two disconnects within %v", linger, at[i].Sub(at[i-1]))
			}
		}
	}
}

// A disconnect to a client counts only with a time and a number of the connection.
func TestAClientObeysTrueDisconnectsOnly(t *testing.T) {
	for _, tt := range []struct {
		name   string
		number int // beyond the newest that came
		late   time.Duration
		want   State
	}{
		{"the next number", 1, 0, StateClosed},
		{"a thousand ahead", 1024, 0, StateClosed},
		{"further ahead", 1025, 0, StateOpen},
		{"far behind", -1025, 0, StateOpen},
		{"9.9 s off", 1, 9900 * time.Millisecond, StateClosed},
		{"10.1 s off", 1, 10100 * time.Millisecond, StateOpen},
		{"the newest number: a notice", 0, 0, StateClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDuo(t, 1, Config{})
			for range 2000 {
				d.toClient(Packet{Kind: KindEntity, Sequence: uint16(d.c.near + 1), Time: d.time()})
			}
			d.toClient(Packet{Kind: KindDisconnect, Sequence: uint16(int(d.c.near) + tt.number),
				Time: d.time() - uint64(tt.late.Microseconds()), Reason: []byte("go")})
			if d.c.State() != tt.want {
				t.Errorf("the client is %v, want %v", d.c.State(), tt.want)
			}
		})
	}
}

// A packet that comes late does not take the client's idea of the newest number back with it.
func TestALatePacketDoesNotHideADisconnect(t *testing.T) {
	d := newDuo(t, 1, Config{})
	newest := uint16(d.c.near + 4000)
	d.toClient(Packet{Kind: KindEntity, Sequence: newest, Time: d.time(), Data: []byte("x")})
	d.toClient(Packet{Kind: KindEntity, Sequence: newest - 3000, Time: d.time(), Data: []byte("x")})
	d.toClient(Packet{Kind: KindDisconnect, Sequence: newest + 1, Time: d.time()})
	if d.c.State() != StateClosed {
		t.Errorf("the client is %v", d.c.State())
	}
}

// A challenge ends when it says, and a goodbye makes one that runs end sooner.
func TestChallengesEndInTime(t *testing.T) {
	for _, tt := range []struct {
		name   string
		init   bool
		leave  bool
		ends   time.Duration
		reason Reason
	}{
		{"an init", true, false, 2 * time.Second, ReasonReplaced},
		{"a disconnect", false, true, time.Second, ReasonPeer},
		{"an init and then a disconnect", true, true, 1100 * time.Millisecond, ReasonPeer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDuo(t, 1, Config{KeepAlive: 3 * time.Second})
			d.turn(0)
			begun := d.now
			if tt.init {
				d.toServer(Packet{Kind: KindInit})
				if tt.leave {
					d.now = d.now.Add(100 * time.Millisecond)
				}
			}
			if tt.leave {
				d.toServer(Packet{Kind: KindDisconnect, Sequence: 1, Time: d.time()})
			}
			for d.s.State() != StateClosed {
				d.drain(d.s, nil)
				at, _ := d.s.NextTimeout()
				d.now = at
				d.s.HandleTimeout(d.now)
			}
			if took := d.now.Sub(begun); took != tt.ends || d.s.closing.close.Reason != tt.reason {
				t.Errorf("ended after %v: %v", took, d.s.closing.close)
			}
		})
	}
}

// With a full window there is no room for a packet to ask with, or a long line before it: the ack
// of any that was on its way will do if it was sent since, and not if it was sent before.
func TestAChallengeWithAFullWindow(t *testing.T) {
	d := newDuo(t, 1, Config{})
	d.turn(0)
	for d.s.Send(d.now, Reliable, make([]byte, 100)) == nil {
	}
	for d.s.Send(d.now, Reliable, make([]byte, 1)) == nil {
	}
	d.poll()
	d.toServer(Packet{Kind: KindInit})
	if !d.s.challenge.pending() {
		t.Fatal("an init asks nothing")
	}
	for _, p := range []Packet{
		{Kind: KindAck, Sequence: uint16(d.s.sender.Next() + 1), Time: d.time() + 1000}, // never sent
		{Kind: KindAck, Sequence: 2, Time: d.time() - 1000},
		{Kind: KindAck, Sequence: 5, Time: d.time() - 1000},
	} {
		if d.toServer(p); !d.s.challenge.pending() {
			t.Fatalf("the ack of %d answers", p.Sequence)
		}
	}
	d.turn(5 * time.Millisecond)
	d.turn(5 * time.Millisecond)
	if d.s.State() != StateOpen || d.s.challenge.pending() {
		t.Errorf("%v, and asked: %t", d.s.State(), d.s.challenge.pending())
	}
}

// A client whose clock is behind answers by the number of what it was asked with.
func TestASlowClockAnswersAChallenge(t *testing.T) {
	d := newDuo(t, 1, Config{})
	d.turn(0)
	d.toServer(Packet{Kind: KindInit})
	asked := uint16(d.s.sender.Next() - 1)
	d.poll()
	d.toServer(Packet{Kind: KindAck, Sequence: asked, Time: d.time() - 3_000_000})
	if d.s.challenge.pending() {
		t.Error("its ack does not count")
	}
}

// What was sent before Close arrives, over a path that loses much, or has had half of the linger
// time to; and all of it together takes no longer than that.
func TestCloseWaitsForWhatWasSent(t *testing.T) {
	for _, tt := range []struct {
		name string
		loss float64
		all  bool
	}{{"on a good path", 0, true}, {"over loss", .2, true}, {"to nobody", 1, false}} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 3, Config{Linger: 2 * time.Second}, kit.Lan())
			x := w.open(0, Config{})
			w.Pass(100 * time.Millisecond)
			w.LinkBetween(w.server, x.host).SetProfile(simnet.Profile{Delay: 10 * time.Millisecond, Loss: tt.loss})
			for range 20 {
				x.send(Reliable, "a")
			}
			for range 10 {
				x.send(Ordered, "b")
			}
			begun := w.Now()
			x.conn().Close("done")
			w.server.Poke()
			w.Until("closed", time.Minute, func() bool { return w.mux.Len() == 0 })
			if took := w.Now().Sub(begun); took > 2*time.Second {
				t.Errorf("closing took %v", took)
			}
			if tt.all && (len(x.events) != 32 || x.closed == nil || x.closed.Text != "done") {
				t.Errorf("the client saw %d events", len(x.events))
			}
			if !tt.all && w.Log[len(w.Log)-1] != "closed: closed" {
				t.Errorf("the server saw %v", w.Log)
			}
		})
	}
}
