package core

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

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
		w.mux.Advance(now)
		for c, ev, ok := w.mux.PollEvent(); ok; c, ev, ok = w.mux.PollEvent() {
			if len(w.Log) < 1000 {
				w.Log = append(w.Log, eventText(ev))
			}
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
			if len(x.events) < 1000 {
				x.events = append(x.events, eventText(ev))
			}
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
	case EventEntity:
		return fmt.Sprintf("%.20q", ev.Data)
	case EventAcked, EventLost:
		return fmt.Sprintf("%v %d", ev.Kind, ev.Tag)
	case EventClosed:
		return "closed: " + ev.Close.Reason.String()
	}
	return ev.Kind.String()
}

// conn is the server's side of a client that is connected.
func (x *client) conn() *Conn {
	x.w.T.Helper()
	c := x.w.mux.Conn(x.host.Addr())
	if c == nil {
		x.w.T.Fatalf("not connected: the client saw %v, the server %v", x.events, x.w.Log)
	}
	return c
}

// send sends to the client, failing the test if it is not taken.
func (x *client) send(mode Mode, data string) {
	x.w.T.Helper()
	x.w.mux.Advance(x.w.server.Now())
	if err := x.conn().Send(mode, []byte(data)); err != nil {
		x.w.T.Fatalf("send: %v", err)
	}
	x.w.server.Poke()
}

// leave closes the client's side.
func (x *client) leave() {
	x.Close(x.host.Now(), "")
	x.host.Poke()
}

// open dials and waits until both sides are connected.
func (w *world) open(i int, c Config) *client {
	w.T.Helper()
	x := w.dial(i, c)
	w.Until("connected", 10*time.Second, func() bool { return x.State() == StateOpen && w.mux.Conn(x.host.Addr()) != nil })
	return x
}

// check fails the test if any counters do not add up.
func (w *world) check() {
	w.T.Helper()
	muxStats := w.mux.Stats()
	errs := []error{w.Stats().Balance(), muxStats.Check()}
	for _, x := range w.clients {
		s := x.Stats()
		errs = append(errs, s.Check(), x.receiver.Check())
	}
	for c := range w.mux.Conns() {
		s := c.Stats()
		errs = append(errs, s.Check(), c.endpoint.sender.Check())
	}
	if err := errors.Join(errs...); err != nil {
		w.T.Error(err)
	}
}

func TestAClientConnectsReceivesAndLeaves(t *testing.T) {
	w := newWorld(t, 1, Config{}, kit.Lan())
	w.onEvent = func(now time.Time, c *Conn, ev Event) {
		if ev.Kind == EventConnected {
			for mode, data := range []string{"loose", "sure", "in order"} {
				if err := c.Send(Mode(mode), []byte(data)); err != nil {
					t.Error(err)
				}
			}
		}
	}
	x := w.open(0, Config{})
	w.Until("all came", time.Second, func() bool { return len(x.events) == 4 })
	slices.Sort(x.events)
	if got := strings.Join(x.events, " "); got != `"in order" "loose" "sure" connected` {
		t.Errorf("the client saw %s", got)
	}
	w.Pass(20 * time.Millisecond)
	if rtt := x.conn().RTT(); rtt < 19*time.Millisecond || rtt > 25*time.Millisecond {
		t.Errorf("the server measures a round trip of %v, want 20 ms", rtt)
	}
	if rtt := x.RTT(); rtt < 19*time.Millisecond || rtt > 25*time.Millisecond {
		t.Errorf("the client measures a round trip of %v, want 20 ms", rtt)
	}
	x.leave()
	w.Until("left", 3*time.Second, func() bool { return w.mux.Len() == 0 && x.closed != nil })
	if w.Log[len(w.Log)-1] != "closed: peer left" || x.closed.Reason != ReasonClosed {
		t.Errorf("the server saw %q, the client %+v", w.Log, *x.closed)
	}
	if _, ok := x.NextTimeout(); ok {
		t.Error("a closed client wants a timeout")
	}
	if _, ok := w.mux.NextTimeout(); ok {
		t.Error("a server without connections wants a timeout")
	}
	w.check()
}

// The handshake, packet by packet: an init, an accept, an ack of sequence 1, and an empty
// reliable entity packet, whose ack ends it.
func TestTheHandshakeIsFiveDatagrams(t *testing.T) {
	w := newWorld(t, 1, Config{}, kit.Lan())
	var seen []string
	w.Filter(func(p simnet.Packet) simnet.Verdict {
		from := FromClient
		if p.From == w.server {
			from = FromServer
		}
		var got Packet
		if !got.Parse(from, p.Bytes) {
			t.Errorf("%v sent %x", from, p.Bytes)
		}
		seen = append(seen, fmt.Sprintf("%v %v %d", from, got.Kind, got.Sequence))
		if got.Kind == KindInit && got.Time != 0 {
			t.Errorf("an init has time %d", got.Time)
		}
		return simnet.Verdict{}
	})
	w.open(0, Config{})
	w.Pass(900 * time.Millisecond)
	want := []string{"client connect.init 0", "server connect.accept 1", "client ack 1", "server entity 2", "client ack 2"}
	if !slices.Equal(seen, want) {
		t.Errorf("got %q, want %q", seen, want)
	}
}

func TestTheClockOfAClientFollowsTheServer(t *testing.T) {
	for _, tt := range []struct {
		name string
		path simnet.Profile
		lost []int // of the datagrams, from 1
	}{
		{"on a steady path", simnet.Profile{Delay: 20 * time.Millisecond}, nil},
		{"with jitter and drift", simnet.Profile{Delay: 20 * time.Millisecond, Jitter: 10 * time.Millisecond}, nil},
		{"with two inits lost", simnet.Profile{Delay: 20 * time.Millisecond}, []int{1, 2}},
		{"with the first ack lost", simnet.Profile{Delay: 20 * time.Millisecond}, []int{3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 1, Config{}, tt.path)
			sent := 0
			w.Filter(func(simnet.Packet) simnet.Verdict {
				sent++
				return simnet.Verdict{Drop: slices.Contains(tt.lost, sent)}
			})
			x := w.dial(0, Config{})
			x.host.Skew(300)
			w.Until("connected", 5*time.Second, func() bool { return slices.Contains(x.events, "connected") })
			off := func() int64 { return int64(x.ServerTime(x.host.Now()) - x.conn().endpoint.ServerTime(w.Now())) }
			for range 120 {
				if got := off(); got < -15_000 || got > 15_000 {
					t.Fatalf("after %v the client's server time is %d µs off", w.Elapsed(), got)
				}
				if bound := x.ClockError(x.host.Now()).Microseconds(); bound < max(off(), -off()) {
					t.Fatalf("the bound of the error is %d µs, but it is %d", bound, off())
				}
				w.Pass(time.Second)
			}
		})
	}
}

// A resend keeps its number, not its time: "Every packet carries the sender's time".
func TestEveryTransmissionCarriesTheTimeOfItsOwn(t *testing.T) {
	w := newWorld(t, 2, Config{}, simnet.Profile{Delay: 10 * time.Millisecond, Loss: .3})
	x := w.open(0, Config{})
	resent := map[uint16]int{}
	w.Filter(func(p simnet.Packet) simnet.Verdict {
		var got Packet
		if p.From == w.server && got.Parse(FromServer, p.Bytes) {
			resent[got.Sequence]++
			if want := x.conn().endpoint.ServerTime(w.Now()); got.Time != want {
				t.Errorf("transmission %d of packet %d has time %d, and it is %d", resent[got.Sequence], got.Sequence, got.Time, want)
			}
		}
		return simnet.Verdict{}
	})
	for i := range 50 {
		x.send(Mode(i%3), "x")
	}
	w.Pass(4 * time.Second)
	again := 0
	for _, n := range resent {
		again += n - 1
	}
	if again == 0 {
		t.Error("nothing was resent")
	}
}
