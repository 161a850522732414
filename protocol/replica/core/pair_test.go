package core

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"parley/internal/admission"
	"parley/internal/promise"
	"parley/simnet"
)

var (
	serverAddr = netip.MustParseAddrPort("10.0.0.1:7000")
	clientAddr = netip.MustParseAddrPort("10.0.0.2:5000")
)

// world is a server and its clients over a simulated network.
type world struct {
	t       testing.TB
	net     *simnet.Network
	mux     *Mux
	server  *simnet.Host
	clients []*client
	onEvent func(now time.Time, c *Conn, ev Event) // at the server
	log     []string
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
	n := simnet.New(seed)
	n.Default(path)
	n.SetLimits(simnet.Limits{Steps: 20_000_000})
	w := &world{t: t, net: n}
	var key admission.Key
	binary.LittleEndian.PutUint64(key[:], seed)
	w.mux = NewMux(n.Now(), c, newShared(seed), key)
	w.server = n.Add(serverAddr, w.mux).Named("server")
	w.server.AfterTurn(func(now time.Time) {
		for c, ev, ok := w.mux.PollEvent(); ok; c, ev, ok = w.mux.PollEvent() {
			w.log = append(w.log, eventText(ev))
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
	x := &client{w: w, Endpoint: NewClient(w.net.Now(), serverAddr, c, newShared(uint64(i)+100))}
	x.host = w.net.Add(addr, x.Endpoint).Named(fmt.Sprintf("client%d", i))
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
	x.w.t.Helper()
	if err := x.Send(x.host.Now(), mode, name, []byte(data)); err != nil {
		x.w.t.Fatalf("send: %v", err)
	}
	x.host.Poke()
}

func (w *world) run(d time.Duration) {
	w.t.Helper()
	if err := w.net.Run(d); err != nil {
		w.t.Fatal(err)
	}
}

// until runs until cond holds, for at most limit.
func (w *world) until(what string, limit time.Duration, cond func() bool) {
	w.t.Helper()
	if err := w.net.RunUntil(cond, limit); err != nil {
		w.t.Fatalf("%s: %v\nserver: %v", what, err, w.log)
	}
}

// eachSeed runs f for n seeds, or for that of the flag.
func eachSeed(t *testing.T, n int, f func(t *testing.T, seed uint64)) {
	t.Helper()
	if *seedFlag != 0 {
		f(t, *seedFlag)
		return
	}
	for seed := range uint64(n) {
		f(t, seed+1)
		if t.Failed() {
			t.Fatalf("seed=%d failed; replay with -run '^%s$' -seed %d", seed+1, t.Name(), seed+1)
		}
	}
}

func lan() simnet.Profile { return simnet.Profile{Delay: 10 * time.Millisecond} }

func TestAClientConnectsTalksAndLeaves(t *testing.T) {
	w := newWorld(t, 1, Config{}, lan())
	w.onEvent = func(now time.Time, c *Conn, ev Event) {
		if ev.Kind == EventMessage {
			if err := c.Send(Ordered, "echo", ev.Data); err != nil {
				t.Error(err)
			}
		}
	}
	x := w.dial(0, Config{})
	w.until("connected", time.Second, func() bool { return x.State() == StateOpen && w.mux.Len() == 1 })
	if !x.Extended() {
		t.Error("two of our own peers did not agree on the extension")
	}
	x.send(Ordered, "say", "hello")
	x.send(Reliable, "say", "world")
	x.send(Unreliable, "say", "!")
	w.until("echoes", time.Second, func() bool { return len(x.events) == 4 })
	if rtt := x.RTT(); rtt < 19*time.Millisecond || rtt > 25*time.Millisecond {
		t.Errorf("the client measures a round trip of %v, want 20 ms", rtt)
	}
	x.Close(x.host.Now(), "")
	x.host.Poke()
	w.until("left", 3*time.Second, func() bool { return w.mux.Len() == 0 && x.closed != nil })
	if w.log[len(w.log)-1] != "closed: peer left" {
		t.Errorf("the server saw %q", w.log)
	}
	if _, ok := x.NextTimeout(); ok {
		t.Error("a closed client wants a timeout")
	}
}

// Close waits for what was sent before it.
func TestCloseLosesNothingThatWasSent(t *testing.T) {
	eachSeed(t, 20, func(t *testing.T, seed uint64) {
		w := newWorld(t, seed, Config{}, simnet.Profile{Delay: 20 * time.Millisecond, Loss: .2})
		x := w.dial(0, Config{Linger: 5 * time.Second})
		w.until("connected", 20*time.Second, func() bool { return x.State() == StateOpen && w.mux.Len() == 1 })
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
		w.until("left", 20*time.Second, func() bool { return w.mux.Len() == 0 && x.closed != nil })
		if got != 20 {
			t.Errorf("seed=%d: %d of 20 messages arrived", seed, got)
		}
	})
}

func TestTheClockOfAClientFollowsTheServer(t *testing.T) {
	w := newWorld(t, 1, Config{}, simnet.Profile{Delay: 20 * time.Millisecond, Jitter: 10 * time.Millisecond})
	x := w.dial(0, Config{})
	x.host.Skew(300)
	w.run(30 * time.Second)
	c := w.mux.Conn(x.host.Addr())
	if c == nil {
		t.Fatalf("not connected: %v", x.events)
	}
	off := int64(x.ServerTime(x.host.Now()) - c.endpoint.ServerTime(w.net.Now()))
	if off < -10_000 || off > 10_000 {
		t.Errorf("after 30 s the client's server time is %d µs off", off)
	}
}

func TestALargeMessageArrivesWholeOverLoss(t *testing.T) {
	w := newWorld(t, 2, Config{}, simnet.Profile{Delay: 20 * time.Millisecond, Loss: .05})
	x := w.dial(0, Config{})
	w.until("connected", 5*time.Second, func() bool { return w.mux.Len() == 1 })
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
	w.until("delivered", time.Minute, func() bool { return got == 2 })
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
			w := newWorld(t, 3, Config{Foreign: tt.foreign}, lan())
			x := w.dial(0, Config{})
			w.until("connected", time.Second, func() bool { return w.mux.Len() == 1 })
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
	w.until("connected", 10*time.Second, func() bool { return w.mux.Len() == 1 })
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
	w.until("delivered", time.Minute, func() bool {
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
	w := newWorld(t, 5, Config{MaxConns: 1}, lan())
	a := w.dial(0, Config{})
	w.until("connected", time.Second, func() bool { return w.mux.Len() == 1 })
	b := w.dial(1, Config{})
	w.until("rejected", time.Second, func() bool { return b.closed != nil })
	if b.closed.Reason != ReasonRejected || b.closed.Text != "server full" {
		t.Errorf("the second client was told %+v", *b.closed)
	}
	if a.State() != StateOpen {
		t.Errorf("the first is %v", a.State())
	}
}

func TestAGameMayRefuseANewcomer(t *testing.T) {
	w := newWorld(t, 5, Config{Admit: func(from netip.AddrPort) (string, bool) { return "banned", from.Port() != clientAddr.Port() }}, lan())
	banned, welcome := w.dial(0, Config{}), w.dial(1, Config{})
	w.until("an answer to both", time.Second, func() bool { return banned.closed != nil && welcome.State() == StateOpen })
	if banned.closed.Reason != ReasonRejected || banned.closed.Text != "banned" {
		t.Errorf("the banned one was told %+v", *banned.closed)
	}
}

func TestAServerThatRestartedTellsItsClients(t *testing.T) {
	w := newWorld(t, 6, Config{}, lan())
	x := w.dial(0, Config{})
	w.until("connected", time.Second, func() bool { return x.State() == StateOpen })
	w.server.Crash()
	w.run(time.Second)
	w.mux = NewMux(w.net.Now(), Config{}, newShared(9), admission.Key{9})
	w.server.Restart(w.mux)
	x.send(Reliable, "anyone", "there")
	w.until("told", 3*time.Second, func() bool { return x.closed != nil })
	if x.closed.Reason != ReasonUnknown {
		t.Errorf("the client was told %+v", *x.closed)
	}
}

// A forged init and a forged disconnect from a client's address end nothing.
func TestForgedPacketsDoNotEndAConnection(t *testing.T) {
	w := newWorld(t, 7, Config{}, lan())
	x := w.dial(0, Config{})
	w.until("connected", time.Second, func() bool { return x.State() == StateOpen })
	for range 20 {
		for _, p := range []Packet{{Kind: KindInit}, {Kind: KindDisconnect, Reliable: true, Sequence: 5}} {
			w.net.Inject(x.host.Addr(), serverAddr, p.AppendTo(nil))
		}
		w.run(time.Second)
	}
	if w.mux.Len() != 1 || x.State() != StateOpen {
		t.Errorf("%d connections, the client is %v, the server saw %v", w.mux.Len(), x.State(), w.log)
	}
}

func TestASilentPeerIsLost(t *testing.T) {
	w := newWorld(t, 8, Config{}, lan())
	x := w.dial(0, Config{})
	w.until("connected", time.Second, func() bool { return x.State() == StateOpen })
	x.host.Crash()
	w.run(11 * time.Second)
	if w.mux.Len() != 0 || w.log[len(w.log)-1] != "closed: timeout" {
		t.Errorf("the server has %d connections and saw %v", w.mux.Len(), w.log)
	}
}

// T24: every subset of the first ten datagrams of a handshake is lost: it
// connects, or ends with a reason in bounded time, and nothing half-open is left.
func TestAHandshakeSurvivesAnyLoss(t *testing.T) {
	ended := 0
	step := 1
	if testing.Short() {
		step = 16
	}
	promise.Keeps(t, "T24", "replica", 1<<10/step)
	for lost := 0; lost < 1<<10; lost += step {
		w := newWorld(t, uint64(lost), Config{}, lan())
		n := 0
		w.net.Filter(func(simnet.Packet) simnet.Verdict {
			n++
			return simnet.Verdict{Drop: n <= 10 && lost>>(n-1)&1 != 0}
		})
		x := w.dial(0, Config{})
		w.until(fmt.Sprintf("an end with %010b lost", lost), 20*time.Second, func() bool {
			return x.State() == StateOpen && w.mux.Len() == 1 || x.closed != nil
		})
		if x.closed != nil {
			ended++
		}
		if w.mux.half.Expire(w.net.Now()); w.mux.half.Len() != 0 {
			t.Fatalf("with %010b lost a half-open connection is left", lost)
		}
	}
	// Only who loses the client's one answer and then every sync.init for 5 s is
	// left without a connection.
	if ended > 20 {
		t.Errorf("%d of 1,024 handshakes did not connect", ended)
	}
	t.Logf("%d of 1,024 handshakes did not connect", ended)
}
