package core

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/simnet"
)

// How connections are refused, end and come back.

func TestRejections(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    Config
		down string
		want string
	}{
		{"a full server", Config{MaxConns: 1}, "", "server full"},
		{"one that is closing", Config{}, "back at noon", "back at noon"},
		{"the game", Config{Admit: func(a netip.AddrPort) string {
			if a.Port() == clientAddr.Port() {
				return ""
			}
			return strings.Repeat("b", 24) + "ännt"
		}}, "", strings.Repeat("b", 24)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 9, tt.c, kit.Lan())
			a := w.open(0, Config{})
			if tt.down != "" {
				w.mux.Shutdown(w.Now(), tt.down)
				w.server.Poke()
				w.Until("the first is told", time.Second, func() bool { return a.closed != nil })
				if a.closed.Reason != ReasonPeer || a.closed.Text != tt.down {
					t.Errorf("the first client was told %+v", *a.closed)
				}
			}
			b := w.dial(1, Config{})
			w.Until("rejected", time.Second, func() bool { return b.closed != nil })
			if b.closed.Reason != ReasonRejected || b.closed.Text != tt.want || !b.closed.Remote {
				t.Errorf("the second client was told %+v", *b.closed)
			}
			if tt.down == "" && a.State() != StateOpen {
				t.Errorf("the first is %v", a.State())
			}
			w.check()
		})
	}
}

// A server that fills up between the handshake of a client and its first confirmation says so.
func TestAServerThatIsFullByThenSaysSo(t *testing.T) {
	w := newWorld(t, 10, Config{MaxConns: 1}, kit.Lan())
	a, b := w.dial(0, Config{}), w.dial(1, Config{})
	w.Until("one is told", time.Second, func() bool { return b.closed != nil })
	if b.closed.Reason != ReasonPeer || b.closed.Text != "server full" {
		t.Errorf("the second client was told %+v", *b.closed)
	}
	w.Pass(time.Second)
	if a.State() != StateOpen {
		t.Errorf("the first is %v", a.State())
	}
}

func TestAServerKicks(t *testing.T) {
	w := newWorld(t, 11, Config{}, simnet.Profile{Delay: 10 * time.Millisecond, Loss: .3})
	x := w.open(0, Config{})
	x.send(Reliable, "before")
	w.Until("came", 5*time.Second, func() bool { return len(x.events) == 2 })
	long := strings.Repeat("é", 200)
	w.mux.Advance(w.Now())
	x.conn().Close(long)
	w.server.Poke()
	w.Until("both are done", 2*time.Second, func() bool { return x.closed != nil && w.mux.Len() == 0 })
	if x.closed.Reason != ReasonPeer || !x.closed.Remote || x.closed.Text != strings.Repeat("é", 127) {
		t.Errorf("the client was told %+v", *x.closed)
	}
}

func TestAServerThatRestartedBeforeTheAckLetsItsClientBeginAgain(t *testing.T) {
	w := newWorld(t, 12, Config{}, kit.Lan())
	x := w.dial(0, Config{})
	w.Until("accepted", time.Second, func() bool { return x.State() == StateAccepted })
	w.mux = NewMux(w.Now(), Config{}, newShared(9), kit.Key(99))
	w.server.Restart(w.mux)
	w.Until("connected", time.Second, func() bool { return x.State() == StateOpen && w.mux.Len() == 1 })
	if x.handshake.restarts != 1 {
		t.Errorf("the client began %d times anew", x.handshake.restarts)
	}
}

// A client that is open sends nothing of its own accord, so it learns of a restart by
// silence; an ack that is on its way is answered with a notice.
func TestAServerThatRestartedIsLost(t *testing.T) {
	for _, tt := range []struct {
		name string
		ack  bool
		want Reason
		by   time.Duration
	}{{"by silence", false, ReasonTimeout, 11 * time.Second}, {"by a notice", true, ReasonUnknown, time.Second}} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 13, Config{}, kit.Lan())
			x := w.open(0, Config{})
			w.Pass(100 * time.Millisecond)
			if tt.ack {
				x.send(Reliable, "x")
			}
			w.Pass(15 * time.Millisecond)
			w.mux = NewMux(w.Now(), Config{}, newShared(9), kit.Key(99))
			w.server.Restart(w.mux)
			w.Until("told", tt.by, func() bool { return x.closed != nil })
			if x.closed.Reason != tt.want {
				t.Errorf("the client was told %+v", *x.closed)
			}
		})
	}
}

func TestASilentPeerIsLost(t *testing.T) {
	w := newWorld(t, 14, Config{}, kit.Lan())
	x := w.open(0, Config{})
	x.host.Crash()
	w.Pass(11 * time.Second)
	if w.mux.Len() != 0 || w.Log[len(w.Log)-1] != "closed: timeout" {
		t.Errorf("the server has %d connections and saw %v", w.mux.Len(), w.Log)
	}
}

// A client that crashed and comes back from the same address takes the place of its own
// old connection, and nothing of that reaches it.
func TestAClientThatComesBackReplacesItself(t *testing.T) {
	w := newWorld(t, 15, Config{}, kit.Lan())
	x := w.open(0, Config{})
	x.send(Reliable, "to the old one")
	x.host.Crash()
	w.Pass(100 * time.Millisecond)
	y := &client{w: w, host: x.host, Endpoint: NewClient(w.Now(), serverAddr, Config{}, newShared(5))}
	x.host.AfterTurn(func(now time.Time) {
		for ev, ok := y.PollEvent(); ok; ev, ok = y.PollEvent() {
			y.events = append(y.events, eventText(ev))
		}
	})
	x.host.Restart(y.Endpoint)
	w.Until("connected", 4*time.Second, func() bool { return y.State() == StateOpen })
	w.Pass(time.Second)
	if got := strings.Join(w.Log, " "); got != "connected entered closed: replaced by a new connection connected entered" {
		t.Errorf("the server saw %s", got)
	}
	if got := strings.Join(y.events, " "); got != "connected" {
		t.Errorf("the client saw %s", got)
	}
}

// A rebound client has another address, which the server does not know. It is lost, and
// connects anew.
func TestAReboundClientIsLost(t *testing.T) {
	w := newWorld(t, 16, Config{}, kit.Lan())
	x := w.open(0, Config{})
	x.host.Rebind(netip.MustParseAddrPort("10.0.0.9:1234"))
	w.Until("both have ended", 11*time.Second, func() bool { return x.closed != nil && w.mux.Len() == 0 })
	if x.closed.Reason != ReasonTimeout || w.Log[len(w.Log)-1] != "closed: timeout" {
		t.Errorf("the client was told %+v, the server %v", *x.closed, w.Log)
	}
}

// A client that comes back so soon that an accept to its former self is still under way does not
// walk into the middle of the old connection.
func TestAnAcceptToItsFormerSelfDoesNoHarm(t *testing.T) {
	w := newWorld(t, 16, Config{}, kit.Lan())
	x := w.open(0, Config{})
	for i := range 5 {
		x.send(Ordered, fmt.Sprint("old ", i))
	}
	w.Pass(200 * time.Millisecond)
	x.host.Crash()
	late := Packet{Kind: KindAccept, Sequence: 1, Time: x.conn().endpoint.ServerTime(w.Now())}
	y := &client{w: w, host: x.host, Endpoint: NewClient(w.Now(), serverAddr, Config{}, newShared(5))}
	x.host.AfterTurn(func(time.Time) {
		for ev, ok := y.PollEvent(); ok; ev, ok = y.PollEvent() {
			y.events = append(y.events, eventText(ev))
		}
	})
	x.host.Restart(y.Endpoint)
	w.Pass(15 * time.Millisecond)
	w.Inject(serverAddr, x.host.Addr(), late.AppendTo(FromServer, nil))
	w.Pass(time.Millisecond)
	if y.State() != StateAccepted {
		t.Fatalf("the client is %v", y.State())
	}
	x.send(Ordered, "old too")
	w.onEvent = func(now time.Time, c *Conn, ev Event) {
		if ev.Kind == EventConnected {
			if err := c.Send(Ordered, []byte("new")); err != nil {
				t.Error(err)
			}
		}
	}
	w.Until("connected", 5*time.Second, func() bool { return len(y.events) == 2 })
	if got := strings.Join(y.events, " "); got != `connected "new"` {
		t.Errorf("the client saw %s", got)
	}
}

// A foreign server may begin with another number, or lose its first packet: its client waits, and
// then takes what comes.
func TestAServerWithoutAFirstPacket(t *testing.T) {
	now := duoStart
	x := NewClient(now, serverAddr, Config{}, newShared(1))
	tell := func(p Packet) { x.HandleDatagram(now, serverAddr, p.AppendTo(FromServer, nil)) }
	tell(Packet{Kind: KindAccept, Sequence: 1, Time: 1 << 50})
	for i := range 100 {
		now = now.Add(100 * time.Millisecond)
		tell(Packet{Kind: KindEntity, Sequence: uint16(10 + i), Time: 1<<50 + uint64(now.Sub(duoStart).Microseconds()), Data: []byte("x")})
		if want := now.Sub(duoStart) >= firstWithin; (x.State() == StateOpen) != want {
			t.Fatalf("after %v the client is %v", now.Sub(duoStart), x.State())
		}
	}
}

// Whoever closes finds connections that ended in the same turn: their end is told once.
func TestAnEndIsToldOnce(t *testing.T) {
	d := newDuo(t, 1, Config{})
	for range 2 {
		d.s.Abort(d.now, "over")
	}
	ends := 0
	for range 2 {
		for ev, ok := d.s.PollEvent(); ok; ev, ok = d.s.PollEvent() {
			if ev.Kind == EventClosed {
				ends++
			}
		}
		d.s.Abort(d.now, "over")
	}
	if ends != 1 {
		t.Errorf("the end was told %d times", ends)
	}
}

// A peer that may be silent for a minute may be late with an acknowledgement by as much: its packet comes, and nobody gave up.
func TestALongTimeoutIsOneOfAcksToo(t *testing.T) {
	d := newDuo(t, 1, Config{Timeout: time.Minute})
	if err := d.s.Send(d.now, Reliable, []byte("late")); err != nil {
		t.Fatal(err)
	}
	for range 50 * 10 { // the machine of the peer stands still for 50 s, in which nothing arrives
		d.turn(100 * time.Millisecond)
		d.toC, d.toS = nil, nil
	}
	for range 50 {
		d.turn(100 * time.Millisecond)
	}
	if d.ended || d.closed || d.s.State() != StateOpen {
		t.Errorf("the server ended: %v, the client: %v", d.seen, d.events)
	}
	if !slices.ContainsFunc(d.events, func(ev Event) bool { return string(ev.Data) == "late" }) {
		t.Errorf("the packet has not come: %v", d.events)
	}
}
