package core

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/simnet"
)

// late is a client that is over, with what was recorded of its life.
type late struct {
	w      *world
	x      *client
	c      *Conn
	heard  [2][][]byte // all that the server and the client ever sent
	closed [2]int      // closed events at the server and the client
	after  [2]int      // events that came later
}

// liveAndClose has a client live for a moment, with all that can be in flight, and
// ends it in one of several ways.
func liveAndClose(t testing.TB, seed uint64, r *rand.Rand) *late {
	w := newWorld(t, seed, Config{}, simnet.Profile{Delay: 10 * time.Millisecond, Loss: .1, Duplicate: .1})
	l := &late{w: w}
	link, err := w.mux.Store().AddVariable("v", DataInt)
	if err != nil {
		t.Fatal(err)
	}
	l.x = w.dial(0, Config{})
	w.Filter(func(p simnet.Packet) simnet.Verdict {
		side := 0
		if p.From == l.x.host {
			side = 1
		}
		l.heard[side] = append(l.heard[side], append([]byte(nil), p.Bytes...))
		return simnet.Verdict{}
	})
	note := func(side int, ev Event) {
		if l.closed[side] > 0 {
			l.after[side]++
		}
		if ev.Kind == EventClosed {
			l.closed[side]++
		}
	}
	w.onEvent = func(_ time.Time, c *Conn, ev Event) {
		l.c = c
		note(0, ev)
	}
	l.x.onEvent = func(now time.Time, ev Event) {
		note(1, ev)
		if ev.Kind == EventConnected {
			l.x.Link(now)
		}
	}
	for i := range 20 {
		for range r.IntN(5) {
			l.x.Send(l.x.host.Now(), Mode(r.IntN(3)), "m", make([]byte, r.IntN(1100)))
			if l.c != nil {
				l.c.Send(Mode(r.IntN(3)), "m", make([]byte, r.IntN(1100)))
				w.mux.Store().Set(link, u32(uint32(i)))
				l.c.Replicate(2000)
			}
		}
		if l.x.State() == StateOpen && r.IntN(10) == 0 {
			l.x.Send(l.x.host.Now(), Ordered, "large", make([]byte, 20_000))
		}
		l.x.host.Poke()
		w.server.Poke()
		w.Pass(time.Duration(r.IntN(30)) * time.Millisecond)
	}
	// Ordered messages that are more than 31 numbers apart wait for the acks.
	for i := range r.IntN(100) {
		mode := Unreliable
		if i%40 == 0 || i > 85 {
			mode = Ordered
		}
		l.x.Send(l.x.host.Now(), mode, "m", make([]byte, 500))
		if l.c != nil {
			l.c.Send(mode, "m", make([]byte, 500))
		}
	}
	switch r.IntN(4) {
	case 0:
		l.x.Close(l.x.host.Now(), "")
	case 1:
		if l.c != nil {
			l.c.Close("bye")
		}
	case 2:
		w.Partition(w.server, l.x.host, false)
	case 3:
		w.mux.Shutdown(w.Now(), "down")
	}
	l.x.host.Poke()
	w.server.Poke()
	w.Pass(time.Duration(r.IntN(15_000)) * time.Millisecond)
	l.x.Close(l.x.host.Now(), "")
	l.x.host.Poke()
	w.Pass(30 * time.Second)
	return l
}

// T27: after close come 1,000 late datagrams, timeouts and calls of the
// application in any order: no event, no timeout, no buffer given twice.
func TestNothingComesAfterClosed(t *testing.T) {
	kit.Seeds(t, promise.Keeps(t, "T27", "replica", kit.Tier(200, 10_000, 10_000)), func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 27))
		l := liveAndClose(t, seed, r)
		x, m := l.x, l.w.mux
		if x.State() != StateClosed || m.Len() != 0 || l.closed[1] != 1 || l.c != nil && l.closed[0] == 0 {
			t.Errorf("seed=%d: the client is %v, the server has %d connections, closed events %v", seed, x.State(), m.Len(), l.closed)
			return
		}
		for side := range l.heard {
			l.heard[side] = append(l.heard[side], []byte{0})
		}
		ended := m.Stats().Ended
		now := l.w.Now()
		var buf [2048]byte
		for range 1000 {
			now = now.Add(time.Duration(r.IntN(20)) * time.Millisecond)
			switch r.IntN(8) {
			case 0:
				x.HandleTimeout(now)
				if l.c != nil {
					l.c.endpoint.HandleTimeout(now)
				}
			case 1:
				x.Close(now, "again")
				x.Release()
				if l.c != nil {
					l.c.Close("again")
				}
			case 2:
				if err := x.Send(now, Mode(r.IntN(3)), "m", make([]byte, 100)); err != ErrClosed {
					t.Errorf("a closed client sends: %v", err)
				}
				if x.Link(now) != ErrClosed {
					t.Error("a closed client links")
				}
				if l.c != nil {
					if err := l.c.Send(Mode(r.IntN(3)), "m", make([]byte, 100)); err != ErrClosed {
						t.Errorf("a closed connection sends: %v", err)
					}
					l.c.Replicate(1000)
				}
			default:
				x.HandleDatagram(now, serverAddr, l.heard[0][r.IntN(len(l.heard[0]))])
				if l.c != nil {
					l.c.endpoint.HandleDatagram(now, l.x.host.Addr(), l.heard[1][r.IntN(len(l.heard[1]))])
				}
			}
			if ev, ok := x.PollEvent(); ok {
				t.Errorf("after closed the client tells %v", eventText(ev))
			}
			if _, ev, ok := m.PollEvent(); ok {
				t.Errorf("after closed the server tells %v", eventText(ev))
			}
			for range 10 {
				x.PollTransmit(buf[:])
				m.PollTransmit(buf[:])
			}
			if _, ok := x.NextTimeout(); ok {
				t.Error("a closed client wants a timeout")
			}
			if l.c != nil {
				if _, ok := l.c.endpoint.NextTimeout(); ok {
					t.Error("a closed connection wants a timeout")
				}
			}
			if n, _, ok := x.PollTransmit(buf[:]); ok {
				t.Errorf("a closed client sends % x", buf[:n])
			}
			if t.Failed() {
				return
			}
		}
		if at, ok := m.NextTimeout(); ok {
			t.Errorf("seed=%d: a server without connections wants a timeout at %v", seed, at)
		}
		if m.Stats().Ended != ended || l.after[1] != 0 {
			t.Errorf("seed=%d: connections ended again, or %v events came after closed", seed, l.after)
		}
		if x.buffers.KeepsTwice() || m.shared.buffers.KeepsTwice() {
			t.Errorf("seed=%d: a buffer was given twice", seed)
		}
		if x.partial() || m.shared.partial != nil && m.shared.partial.Used() != 0 {
			t.Errorf("seed=%d: parts of messages are kept", seed)
		}
	})
}

// Buffers that were given twice would mix up the messages of connections that come
// and go: each says what it is.
func TestBuffersOfEndedConnectionsDoNotMixUpOthers(t *testing.T) {
	kit.Seeds(t, kit.Rounds(20, 500), func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 28))
		w := newWorld(t, seed, Config{}, simnet.Profile{Delay: 5 * time.Millisecond, Loss: .1, Duplicate: .2})
		got := 0
		check := func(ev Event) {
			if ev.Kind != EventMessage {
				return
			}
			got++
			for _, b := range ev.Data {
				if fmt.Sprintf("m%d", b) != string(ev.Name) {
					t.Fatalf("seed=%d: message %s has a byte %d", seed, ev.Name, b)
				}
			}
		}
		say := func(send func(Mode, string, []byte) error) {
			b := make([]byte, r.IntN(1100))
			v := byte(r.Uint32())
			for i := range b {
				b[i] = v
			}
			send(Mode(r.IntN(3)), fmt.Sprintf("m%d", v), b)
		}
		w.onEvent = func(_ time.Time, c *Conn, ev Event) {
			check(ev)
			if ev.Kind == EventMessage && c.endpoint.State() == StateOpen {
				say(c.Send)
			}
		}
		for i := range 20 {
			x := w.dial(i, Config{})
			x.onEvent = func(_ time.Time, ev Event) { check(ev) }
		}
		for range 60 {
			x := w.clients[r.IntN(len(w.clients))]
			for range r.IntN(6) {
				say(func(m Mode, name string, b []byte) error { return x.Send(x.host.Now(), m, name, b) })
			}
			if r.IntN(10) == 0 {
				x.Close(x.host.Now(), "")
			}
			if c := w.conn(x); c != nil && r.IntN(20) == 0 {
				c.Close("bye")
			}
			x.host.Poke()
			w.server.Poke()
			w.Pass(20 * time.Millisecond)
		}
		if got < 20 {
			t.Errorf("seed=%d: %d messages came", seed, got)
		}
		if kept := w.mux.shared.buffers.KeepsTwice(); kept {
			t.Errorf("seed=%d: a buffer was given twice", seed)
		}
	})
}

// A notice names what a client sent or acknowledged; a goodbye need not be
// reliable. Anything else ends nothing.
func TestWhichDisconnectsAClientObeys(t *testing.T) {
	for _, tt := range []struct {
		name     string
		reliable bool
		sequence int // from the newest that the client sent, or got
		ofOurs   bool
		reason   string
		want     Reason
	}{
		{"a goodbye", true, 1, false, "bye", ReasonPeer},
		{"a goodbye without acknowledgement", false, 1, false, "bye", ReasonPeer},
		{"a late goodbye", true, -1000, false, "", ReasonPeer},
		{"a goodbye far ahead", true, 1025, false, "", 0},
		{"a goodbye from long ago", true, -1025, false, "", 0},
		{"a notice of what the client sent", false, 0, true, "", ReasonUnknown},
		{"a notice of what it sent long ago", false, -1024, true, "", 0},
		{"a notice of what it has not sent yet", false, 1, true, "", 0},
		{"a notice of what it acknowledged", false, 0, false, "", ReasonUnknown},
		{"a notice of what it acknowledged long ago", false, -1025, false, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDrivenClient("open")
			d.e.near = 40_000 // far from our own numbers
			n := int(d.e.near)
			if tt.ofOurs {
				for range 3000 {
					d.e.sender.Take(d.now, 4)
				}
				n = int(d.e.sender.Next()) - 1
			}
			p := Packet{Kind: KindDisconnect, Reliable: tt.reliable, Sequence: uint16(n + tt.sequence), Reason: []byte(tt.reason)}
			d.e.HandleDatagram(d.now, serverAddr, p.AppendTo(nil))
			var got Reason
			for ev, ok := d.e.PollEvent(); ok; ev, ok = d.e.PollEvent() {
				got = ev.Close.Reason
			}
			if got != tt.want {
				t.Errorf("it ended with %v, want %v", got, tt.want)
			}
		})
	}
}

func TestGarbageDoesNotEndAClientThatIsNotConnected(t *testing.T) {
	d := newDrivenClient("connecting")
	for range 1000 {
		d.step([]byte{9})
	}
	if d.e.State() != StateConnecting || d.e.Stats().Malformed != 1000 {
		t.Errorf("after 1,000 malformed datagrams it is %v with %+v", d.e.State(), d.e.Stats())
	}
}

// Who was half-open when the server began to shut down does not get in.
func TestAShutdownLetsNoHalfOpenConnectionIn(t *testing.T) {
	d := newDrivenServer(t).inState("half-open")
	d.mux.Shutdown(d.now, "down")
	if got := d.step(d.packet("message")); got[0] != "sends connect.reject" || d.mux.Len() != 0 {
		t.Errorf("%q, %d connections", got, d.mux.Len())
	}
}

// A connection that owes an acknowledgement stays due until it is polled: a Mux
// that asked it again and again in one call would never return.
func TestATimeoutOfTheMuxHandlesEachConnectionOnce(t *testing.T) {
	w := newWorld(t, 1, Config{}, kit.Lan())
	x := w.dial(0, Config{})
	w.Until("connected", time.Second, func() bool { return x.State() == StateOpen && w.mux.Len() == 1 })
	now := w.Now()
	p := Packet{Kind: KindMessage, Reliable: true, Sequence: 20, Time: x.ServerTime(now)}
	w.mux.HandleDatagram(now, x.host.Addr(), p.AppendTo(nil))
	now = now.Add(2 * time.Second) // past the next sync.init
	w.mux.HandleTimeout(now)
	var buf [2048]byte
	acks := 0
	for _, _, ok := w.mux.PollTransmit(buf[:]); ok; _, _, ok = w.mux.PollTransmit(buf[:]) {
		if Type(buf[0]) == TypeAck {
			acks++
		}
	}
	if acks != 1 {
		t.Errorf("the mux sends %d acks, want 1", acks)
	}
	if at, ok := w.mux.NextTimeout(); !ok || !at.After(now) {
		t.Errorf("after all was sent the mux wants a timeout at %v, %v; now is %v", at, ok, now)
	}
}
