package core

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"parley/internal/admission"
	"parley/internal/kit"
	"parley/simnet"
)

var serverAddr, clientAddr = kit.ServerAddr, kit.ClientAddr

// world is a server and its clients over a simulated network.
type world struct {
	kit.Net
	mux     *Mux
	server  *simnet.Host
	clients []*client
	onEvent func(now time.Time, c *Conn, ev Event) // at the server
}

// client is an endpoint and what it saw.
type client struct {
	*Endpoint
	w       *world
	host    *simnet.Host
	events  []string
	onEvent func(now time.Time, ev Event)
	closed  *Close
}

func newShared(seed uint64) *Shared {
	return &Shared{Rand: rand.New(rand.NewPCG(seed, 77))}
}

func newWorld(t testing.TB, seed uint64, c Config, path simnet.Profile) *world {
	w := &world{Net: kit.NewNet(t, seed, path)}
	w.mux = NewMux(w.Now(), c, newShared(seed), kit.Key(seed))
	w.server = w.Add(serverAddr, w.mux).Named("server")
	w.server.AfterTurn(func(now time.Time) {
		for c, ev, ok := w.mux.PollEvent(); ok; c, ev, ok = w.mux.PollEvent() {
			w.Log = append(w.Log, eventText(ev))
			if w.onEvent != nil {
				w.onEvent(now, c, ev)
			}
		}
	})
	return w
}

// dial adds a client that begins to connect.
func (w *world) dial(i int, c Config) *client {
	addr := netip.AddrPortFrom(clientAddr.Addr(), clientAddr.Port()+uint16(i))
	x := &client{w: w, Endpoint: NewClient(w.Now(), serverAddr, c, newShared(uint64(i)+100))}
	x.host = w.Add(addr, x.Endpoint).Named(fmt.Sprintf("client%d", i))
	x.host.AfterTurn(func(now time.Time) {
		for ev, ok := x.PollEvent(); ok; ev, ok = x.PollEvent() {
			x.events = append(x.events, eventText(ev))
			if ev.Kind == EventClosed {
				x.closed = &ev.Close
			}
			if x.onEvent != nil {
				x.onEvent(now, ev)
			}
		}
	})
	w.clients = append(w.clients, x)
	return x
}

func eventText(ev Event) string {
	switch ev.Kind {
	case EventMessage:
		return fmt.Sprintf("%s=%.20q", ev.Name, ev.Data)
	case EventClosed:
		return "closed: " + ev.Close.Reason.String()
	}
	return ev.Kind.String()
}

// send sends from the client, failing the test if it is not taken.
func (x *client) send(mode Mode, name, data string) {
	x.w.T.Helper()
	if err := x.Send(x.host.Now(), mode, name, []byte(data)); err != nil {
		x.w.T.Fatalf("send: %v", err)
	}
	x.host.Poke()
}

func TestAClientConnectsTalksAndLeaves(t *testing.T) {
	w := newWorld(t, 1, Config{}, kit.Lan())
	w.onEvent = func(now time.Time, c *Conn, ev Event) {
		if ev.Kind == EventMessage {
			if err := c.Send(Ordered, "echo", ev.Data); err != nil {
				t.Error(err)
			}
		}
	}
	x := w.dial(0, Config{})
	w.Until("connected", time.Second, func() bool { return x.State() == StateOpen && w.mux.Len() == 1 })
	if !x.Extended() {
		t.Error("two of our own peers did not agree on the extension")
	}
	x.send(Ordered, "say", "hello")
	x.send(Reliable, "say", "world")
	x.send(Unreliable, "say", "!")
	w.Until("echoes", time.Second, func() bool { return len(x.events) == 4 })
	if rtt := x.RTT(); rtt < 19*time.Millisecond || rtt > 25*time.Millisecond {
		t.Errorf("the client measures a round trip of %v, want 20 ms", rtt)
	}
	x.Close(x.host.Now(), "")
	x.host.Poke()
	w.Until("left", 3*time.Second, func() bool { return w.mux.Len() == 0 && x.closed != nil })
	if w.Log[len(w.Log)-1] != "closed: peer left" {
		t.Errorf("the server saw %q", w.Log)
	}
	if _, ok := x.NextTimeout(); ok {
		t.Error("a closed client wants a timeout")
	}
}

// Close waits for what was sent before it.
func TestCloseLosesNothingThatWasSent(t *testing.T) {
	kit.Seeds(t, 20, func(t *testing.T, seed uint64) {
		w := newWorld(t, seed, Config{}, simnet.Profile{Delay: 20 * time.Millisecond, Loss: .2})
		x := w.dial(0, Config{Linger: 5 * time.Second})
		w.Until("connected", 20*time.Second, func() bool { return x.State() == StateOpen && w.mux.Len() == 1 })
		got := 0
		w.onEvent = func(_ time.Time, _ *Conn, ev Event) {
			if ev.Kind == EventMessage {
				got++
			}
		}
		for range 20 {
			x.send(Ordered, "last", "words")
		}
		x.Close(x.host.Now(), "")
		if err := x.Send(x.host.Now(), Ordered, "too", []byte("late")); err != ErrClosed {
			t.Errorf("after Close: %v", err)
		}
		x.host.Poke()
		w.Until("left", 20*time.Second, func() bool { return w.mux.Len() == 0 && x.closed != nil })
		if got != 20 {
			t.Errorf("seed=%d: %d of 20 messages arrived", seed, got)
		}
	})
}

func TestTheClockOfAClientFollowsTheServer(t *testing.T) {
	w := newWorld(t, 1, Config{}, simnet.Profile{Delay: 20 * time.Millisecond, Jitter: 10 * time.Millisecond})
	x := w.dial(0, Config{})
	x.host.Skew(300)
	w.Pass(30 * time.Second)
	c := w.mux.Conn(x.host.Addr())
	if c == nil {
		t.Fatalf("not connected: %v", x.events)
	}
	off := int64(x.ServerTime(x.host.Now()) - c.endpoint.ServerTime(w.Now()))
	if off < -10_000 || off > 10_000 {
		t.Errorf("after 30 s the client's server time is %d µs off", off)
	}
}

func TestALargeMessageArrivesWholeOverLoss(t *testing.T) {
	w := newWorld(t, 2, Config{}, simnet.Profile{Delay: 20 * time.Millisecond, Loss: .05})
	x := w.dial(0, Config{})
	w.Until("connected", 5*time.Second, func() bool { return w.mux.Len() == 1 })
	big := make([]byte, 1<<20)
	for i := range big {
		big[i] = byte(i * 7 >> 3)
	}
	got := 0
	w.onEvent = func(_ time.Time, _ *Conn, ev Event) {
		switch {
		case ev.Kind != EventMessage:
		case string(ev.Name) == "after" && got == 1:
			got = 2
		case string(ev.Name) == "map" && bytes.Equal(ev.Data, big):
			got = 1
		default:
			t.Errorf("got %s of %d bytes out of place", ev.Name, len(ev.Data))
		}
	}
	x.send(Ordered, "map", string(big))
	x.send(Ordered, "after", "")
	w.Until("delivered", time.Minute, func() bool { return got == 2 })
}

func TestMessagesThatDoNotFitAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name    string
		foreign bool
		mode    Mode
		msg     string
		size    int
		want    error
	}{
		{"one packet", false, Unreliable, "m", 1184, nil},
		{"a byte over one packet", false, Unreliable, "m", 1185, ErrMessageSize},
		{"the same, reliable", false, Reliable, "m", 1185, ErrMessageSize},
		{"the same, ordered", false, Ordered, "m", 1185, nil},
		{"the largest", false, Ordered, "m", 1 << 20, nil},
		{"a byte over the largest", false, Ordered, "m", 1<<20 + 1, ErrMessageSize},
		{"a whole datagram to a foreign peer", true, Reliable, "m", maxDatagramBytes - 16, nil},
		{"a byte more", true, Ordered, "m", maxDatagramBytes - 15, ErrMessageSize},
		{"one of our names", false, Ordered, "parley.gone", 1, ErrName},
		{"a name that is not UTF-8", false, Ordered, "\xff", 1, ErrName},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 3, Config{Foreign: tt.foreign}, kit.Lan())
			x := w.dial(0, Config{})
			w.Until("connected", time.Second, func() bool { return w.mux.Len() == 1 })
			if got := x.Send(x.host.Now(), tt.mode, tt.msg, make([]byte, tt.size)); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// "With a foreign peer (no extension bit) the sender never has two ordered
// packets of one order in flight."
func TestWithAForeignPeerOneOrderedPacketIsInFlight(t *testing.T) {
	w := newWorld(t, 4, Config{Foreign: true}, simnet.Profile{Delay: 10 * time.Millisecond, Loss: .2})
	x := w.dial(0, Config{})
	w.Until("connected", 10*time.Second, func() bool { return w.mux.Len() == 1 })
	var got []string
	w.onEvent = func(_ time.Time, _ *Conn, ev Event) {
		if ev.Kind == EventMessage {
			got = append(got, string(ev.Data))
		}
	}
	for i := range 50 {
		x.send(Ordered, "n", fmt.Sprint(i))
		if n := x.sender.InFlight(laneMessage); n > 1 {
			t.Fatalf("%d ordered packets in flight", n)
		}
	}
	w.Until("delivered", time.Minute, func() bool {
		if n := x.sender.InFlight(laneMessage); n > 1 {
			t.Fatalf("%d ordered packets in flight", n)
		}
		return len(got) == 50
	})
	for i, s := range got {
		if s != fmt.Sprint(i) {
			t.Fatalf("message %d is %s", i, s)
		}
	}
}

func TestAFullServerRejects(t *testing.T) {
	w := newWorld(t, 5, Config{MaxConns: 1}, kit.Lan())
	a := w.dial(0, Config{})
	w.Until("connected", time.Second, func() bool { return w.mux.Len() == 1 })
	b := w.dial(1, Config{})
	w.Until("rejected", time.Second, func() bool { return b.closed != nil })
	if b.closed.Reason != ReasonRejected || b.closed.Text != "server full" {
		t.Errorf("the second client was told %+v", *b.closed)
	}
	if a.State() != StateOpen {
		t.Errorf("the first is %v", a.State())
	}
}

func TestAGameMayRefuseANewcomer(t *testing.T) {
	w := newWorld(t, 5, Config{Admit: func(from netip.AddrPort) (string, bool) { return "banned", from.Port() != clientAddr.Port() }}, kit.Lan())
	banned, welcome := w.dial(0, Config{}), w.dial(1, Config{})
	w.Until("an answer to both", time.Second, func() bool { return banned.closed != nil && welcome.State() == StateOpen })
	if banned.closed.Reason != ReasonRejected || banned.closed.Text != "banned" {
		t.Errorf("the banned one was told %+v", *banned.closed)
	}
}

func TestAServerThatRestartedTellsItsClients(t *testing.T) {
	w := newWorld(t, 6, Config{}, kit.Lan())
	x := w.dial(0, Config{})
	w.Until("connected", time.Second, func() bool { return x.State() == StateOpen })
	w.server.Crash()
	w.Pass(time.Second)
	w.mux = NewMux(w.Now(), Config{}, newShared(9), admission.Key{9})
	w.server.Restart(w.mux)
	x.send(Reliable, "anyone", "there")
	w.Until("told", 3*time.Second, func() bool { return x.closed != nil })
	if x.closed.Reason != ReasonUnknown {
		t.Errorf("the client was told %+v", *x.closed)
	}
}

// A forged init and a forged disconnect from a client's address end nothing.
func TestForgedPacketsDoNotEndAConnection(t *testing.T) {
	w := newWorld(t, 7, Config{}, kit.Lan())
	x := w.dial(0, Config{})
	w.Until("connected", time.Second, func() bool { return x.State() == StateOpen })
	for range 20 {
		for _, p := range []Packet{{Kind: KindInit}, {Kind: KindDisconnect, Reliable: true, Sequence: 5}} {
			w.Inject(x.host.Addr(), serverAddr, p.AppendTo(nil))
		}
		w.Pass(time.Second)
	}
	if w.mux.Len() != 1 || x.State() != StateOpen {
		t.Errorf("%d connections, the client is %v, the server saw %v", w.mux.Len(), x.State(), w.Log)
	}
}

func TestASilentPeerIsLost(t *testing.T) {
	w := newWorld(t, 8, Config{}, kit.Lan())
	x := w.dial(0, Config{})
	w.Until("connected", time.Second, func() bool { return x.State() == StateOpen })
	x.host.Crash()
	w.Pass(11 * time.Second)
	if w.mux.Len() != 0 || w.Log[len(w.Log)-1] != "closed: timeout" {
		t.Errorf("the server has %d connections and saw %v", w.mux.Len(), w.Log)
	}
}
