package stamp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/admission"
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

func keyOf(seed uint64) (key admission.Key) {
	binary.LittleEndian.PutUint64(key[:], seed)
	return key
}

func newWorld(t testing.TB, seed uint64, c Config, path simnet.Profile) *world {
	n := simnet.New(seed)
	n.Default(path)
	n.SetLimits(simnet.Limits{Steps: 20_000_000})
	w := &world{t: t, net: n}
	w.mux = NewMux(n.Now(), c, newShared(seed), keyOf(seed))
	w.server = n.Add(serverAddr, w.mux).Named("server")
	w.server.AfterTurn(func(now time.Time) {
		for c, ev, ok := w.mux.PollEvent(); ok; c, ev, ok = w.mux.PollEvent() {
			if len(w.log) < 1000 {
				w.log = append(w.log, eventText(ev))
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
	x := &client{w: w, Endpoint: NewClient(w.net.Now(), serverAddr, c, newShared(uint64(i)+100))}
	x.host = w.net.Add(addr, x.Endpoint).Named(fmt.Sprintf("client%d", i))
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
	x.w.t.Helper()
	c := x.w.mux.Conn(x.host.Addr())
	if c == nil {
		x.w.t.Fatalf("not connected: the client saw %v, the server %v", x.events, x.w.log)
	}
	return c
}

// send sends to the client, failing the test if it is not taken.
func (x *client) send(mode Mode, data string) {
	x.w.t.Helper()
	if err := x.conn().Send(x.w.server.Now(), mode, []byte(data)); err != nil {
		x.w.t.Fatalf("send: %v", err)
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
	w.t.Helper()
	x := w.dial(i, c)
	w.until("connected", 10*time.Second, func() bool { return x.State() == StateOpen && w.mux.Conn(x.host.Addr()) != nil })
	return x
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

// check fails the test if any counters do not add up.
func (w *world) check() {
	w.t.Helper()
	muxStats := w.mux.Stats()
	errs := []error{w.net.Stats().Balance(), muxStats.Check()}
	for _, x := range w.clients {
		s := x.Stats()
		errs = append(errs, s.Check(), x.receiver.Check())
	}
	for _, c := range w.mux.conns {
		s := c.Stats()
		errs = append(errs, s.Check(), c.sender.Check())
	}
	if err := errors.Join(errs...); err != nil {
		w.t.Error(err)
	}
}

func lan() simnet.Profile { return simnet.Profile{Delay: 10 * time.Millisecond} }

func TestAClientConnectsReceivesAndLeaves(t *testing.T) {
	w := newWorld(t, 1, Config{}, lan())
	w.onEvent = func(now time.Time, c *Conn, ev Event) {
		if ev.Kind == EventConnected {
			for mode, data := range []string{"loose", "sure", "in order"} {
				if err := c.Send(now, Mode(mode), []byte(data)); err != nil {
					t.Error(err)
				}
			}
		}
	}
	x := w.open(0, Config{})
	w.until("all came", time.Second, func() bool { return len(x.events) == 4 })
	slices.Sort(x.events)
	if got := strings.Join(x.events, " "); got != `"in order" "loose" "sure" connected` {
		t.Errorf("the client saw %s", got)
	}
	w.run(20 * time.Millisecond)
	if rtt := x.conn().RTT(); rtt < 19*time.Millisecond || rtt > 25*time.Millisecond {
		t.Errorf("the server measures a round trip of %v, want 20 ms", rtt)
	}
	if rtt := x.RTT(); rtt < 19*time.Millisecond || rtt > 25*time.Millisecond {
		t.Errorf("the client measures a round trip of %v, want 20 ms", rtt)
	}
	x.leave()
	w.until("left", 3*time.Second, func() bool { return w.mux.Len() == 0 && x.closed != nil })
	if w.log[len(w.log)-1] != "closed: peer left" || x.closed.Reason != ReasonClosed {
		t.Errorf("the server saw %q, the client %+v", w.log, *x.closed)
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
	w := newWorld(t, 1, Config{}, lan())
	var seen []string
	w.net.Filter(func(p simnet.Packet) simnet.Verdict {
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
	w.run(900 * time.Millisecond)
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
			w.net.Filter(func(simnet.Packet) simnet.Verdict {
				sent++
				return simnet.Verdict{Drop: slices.Contains(tt.lost, sent)}
			})
			x := w.dial(0, Config{})
			x.host.Skew(300)
			w.until("connected", 5*time.Second, func() bool { return slices.Contains(x.events, "connected") })
			off := func() int64 { return int64(x.ServerTime(x.host.Now()) - x.conn().ServerTime(w.net.Now())) }
			for range 120 {
				if got := off(); got < -15_000 || got > 15_000 {
					t.Fatalf("after %v the client's server time is %d µs off", w.net.Elapsed(), got)
				}
				if bound := x.ClockError(x.host.Now()).Microseconds(); bound < max(off(), -off()) {
					t.Fatalf("the bound of the error is %d µs, but it is %d", bound, off())
				}
				w.run(time.Second)
			}
		})
	}
}

// A resend keeps its number, not its time: "Every packet carries the sender's time".
func TestEveryTransmissionCarriesTheTimeOfItsOwn(t *testing.T) {
	w := newWorld(t, 2, Config{}, simnet.Profile{Delay: 10 * time.Millisecond, Loss: .3})
	x := w.open(0, Config{})
	resent := map[uint16]int{}
	w.net.Filter(func(p simnet.Packet) simnet.Verdict {
		var got Packet
		if p.From == w.server && got.Parse(FromServer, p.Bytes) {
			resent[got.Sequence]++
			if want := x.conn().ServerTime(w.net.Now()); got.Time != want {
				t.Errorf("transmission %d of packet %d has time %d, and it is %d", resent[got.Sequence], got.Sequence, got.Time, want)
			}
		}
		return simnet.Verdict{}
	})
	for i := range 50 {
		x.send(Mode(i%3), "x")
	}
	w.run(4 * time.Second)
	again := 0
	for _, n := range resent {
		again += n - 1
	}
	if again == 0 {
		t.Error("nothing was resent")
	}
}

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	w := newWorld(t, 3, Config{}, lan())
	x := w.open(0, Config{})
	c := x.conn()
	for _, tt := range []struct {
		name string
		mode Mode
		size int
		want error
	}{
		{"nothing", Reliable, 0, ErrDataSize},
		{"one byte", Unreliable, 1, nil},
		{"the largest", Unreliable, MaxData, nil},
		{"the largest, reliable", Reliable, MaxData, nil},
		{"the largest, ordered", Ordered, MaxData, nil},
		{"a byte more", Unreliable, MaxData + 1, ErrDataSize},
		{"a byte more, ordered", Ordered, MaxData + 1, ErrDataSize},
		{"a mode that is none", 3, 1, ErrMode},
	} {
		if got := c.Send(w.net.Now(), tt.mode, make([]byte, tt.size)); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := c.SendReport(w.net.Now(), nil, 1); got != ErrDataSize {
		t.Errorf("an empty report: %v", got)
	}
	if got := x.Send(x.host.Now(), Reliable, []byte("x")); got != ErrClient {
		t.Errorf("a client sends: %v", got)
	}
	c.Close(w.net.Now(), "")
	if got := c.Send(w.net.Now(), Reliable, []byte("x")); got != ErrClosed {
		t.Errorf("after close: %v", got)
	}
}

// "the sender keeps one ordered packet in flight"
func TestOneOrderedPacketIsInFlight(t *testing.T) {
	w := newWorld(t, 4, Config{}, simnet.Profile{Delay: 10 * time.Millisecond, Loss: .2})
	x := w.open(0, Config{})
	var got []string
	x.onEvent = func(_ time.Time, ev Event) {
		if ev.Kind == EventEntity && ev.Ordered {
			got = append(got, string(ev.Data))
		}
	}
	for i := range 50 {
		x.send(Ordered, fmt.Sprint(i))
		x.send(Unreliable, "between")
	}
	w.until("delivered", time.Minute, func() bool {
		if n := x.conn().sender.InFlight(laneEntity); n > 1 {
			t.Fatalf("%d ordered packets in flight", n)
		}
		return len(got) == 50
	})
	for i, s := range got {
		if s != fmt.Sprint(i) {
			t.Fatalf("packet %d is %s", i, s)
		}
	}
	w.check()
}

// A foreign server may have several in flight: they are put in order, held "for at most 4
// round trips", and one that comes later still is told as skipped.
func TestAClientOrdersWhatAForeignServerSends(t *testing.T) {
	for _, tt := range []struct{ delay, hold time.Duration }{
		{10 * time.Millisecond, 200 * time.Millisecond},
		{100 * time.Millisecond, 800 * time.Millisecond},
	} {
		w := newWorld(t, 5, Config{}, simnet.Profile{Delay: tt.delay})
		x := w.open(0, Config{})
		c := x.conn()
		inject := func(n int, data string) {
			p := Packet{Kind: KindEntity, Reliable: true, Ordered: true, Sequence: uint16(n), Data: []byte(data)}
			p.Time = c.ServerTime(w.net.Now().Add(-tt.delay)) // as if it had come all the way
			w.net.Inject(serverAddr, x.host.Addr(), p.AppendTo(FromServer, nil))
			w.run(time.Millisecond)
		}
		saw := func(want string) {
			t.Helper()
			if got := strings.Join(x.events, " "); got != want {
				t.Fatalf("%v away the client saw %s, want %s", tt.delay, got, want)
			}
		}
		inject(5, "c")
		inject(4, "b")
		w.run(100 * time.Millisecond)
		saw("connected")
		inject(3, "a")
		saw(`connected "a" "b" "c"`)
		inject(7, "e")
		w.run(tt.hold - 10*time.Millisecond)
		saw(`connected "a" "b" "c"`)
		w.run(20 * time.Millisecond)
		saw(`connected "a" "b" "c" "e"`)
		inject(6, "d")
		saw(`connected "a" "b" "c" "e" skipped`)
		inject(8, "") // not even an ordered one is delivered if it is empty
		inject(9, "f")
		saw(`connected "a" "b" "c" "e" skipped "f"`)
		w.check()
	}
}

func TestReportsTellOfEachPacketOnce(t *testing.T) {
	w := newWorld(t, 6, Config{}, simnet.Profile{Delay: 10 * time.Millisecond, Loss: .2})
	x := w.open(0, Config{})
	told, arrived := map[uint32]EventKind{}, map[string]bool{}
	w.onEvent = func(_ time.Time, _ *Conn, ev Event) {
		if ev.Kind != EventAcked && ev.Kind != EventLost {
			return
		}
		if before, twice := told[ev.Tag]; twice {
			t.Errorf("tag %d was told as %v and as %v", ev.Tag, before, ev.Kind)
		}
		told[ev.Tag] = ev.Kind
	}
	x.onEvent = func(_ time.Time, ev Event) {
		if ev.Kind == EventEntity {
			if arrived[string(ev.Data)] {
				t.Errorf("%s came twice", ev.Data)
			}
			arrived[string(ev.Data)] = true
		}
	}
	const reports = 500
	for i := range reports {
		if err := x.conn().SendReport(w.net.Now(), fmt.Append(nil, i+1), uint32(i+1)); err != nil {
			t.Fatal(err)
		}
		if err := x.conn().SendReport(w.net.Now(), []byte("untold"+fmt.Sprint(i)), 0); err != nil {
			t.Fatal(err)
		}
		w.server.Poke()
		w.run(20 * time.Millisecond)
	}
	w.until("all told", 5*time.Second, func() bool { return len(told) == reports })
	lost := 0
	for tag, kind := range told {
		if kind == EventLost {
			lost++
		} else if !arrived[fmt.Sprint(tag)] {
			t.Errorf("%d was told as acknowledged and never came", tag)
		}
	}
	if lost < reports/10 || lost > reports/2 {
		t.Errorf("%d of %d were told as lost, at a loss of 20%% each way", lost, reports)
	}
	if x.conn().reportsOpen != 0 {
		t.Errorf("%d reports are still open", x.conn().reportsOpen)
	}
	w.check()
}

// Who does not ask for events cannot make them pile up.
func TestReportsAreBounded(t *testing.T) {
	w := newWorld(t, 7, Config{}, lan())
	x := w.open(0, Config{})
	c := x.conn()
	now := w.net.Now()
	taken := 0
	var buf [MaxPacket]byte
	for range 3 * maxTold {
		now = now.Add(time.Millisecond)
		if c.Endpoint.SendReport(now, []byte("x"), 9) == nil {
			taken++
		}
		for n, _, ok := c.PollTransmit(buf[:]); ok; n, _, ok = c.PollTransmit(buf[:]) {
			var p Packet
			p.Parse(FromServer, buf[:n])
			ack := Packet{Kind: KindAck, Sequence: p.Sequence, Time: c.ServerTime(now)}
			c.HandleDatagram(now, c.Peer(), ack.AppendTo(FromClient, nil))
		}
	}
	if taken != maxTold || c.told.len() > maxTold {
		t.Errorf("%d reports were taken and %d events wait, want %d", taken, c.told.len(), maxTold)
	}
	for range maxTold {
		if ev, ok := c.PollEvent(); !ok || ev.Kind != EventAcked {
			t.Fatalf("got %v", ev.Kind)
		}
	}
	if err := c.Endpoint.SendReport(now, []byte("x"), 9); err != nil {
		t.Errorf("after the events were taken: %v", err)
	}
}

// The ack of the accept tells the server the round trip, so that on a long path not every
// packet is resent before its ack can come.
func TestTheServerKnowsTheRoundTripFromTheStart(t *testing.T) {
	for _, delay := range []time.Duration{time.Millisecond, 40 * time.Millisecond, 300 * time.Millisecond, 800 * time.Millisecond} {
		w := newWorld(t, 8, Config{}, simnet.Profile{Delay: delay})
		x := w.dial(0, Config{})
		w.until("open", 10*time.Second, func() bool { return w.mux.Len() == 1 })
		if rtt := x.conn().RTT(); rtt < 2*delay-time.Millisecond || rtt > 2*delay+time.Millisecond {
			t.Errorf("%v away the server starts with a round trip of %v", delay, rtt)
		}
		w.until("connected", 10*time.Second, func() bool { return x.State() == StateOpen })
		for range 10 {
			x.send(Reliable, "x")
			w.run(time.Second)
		}
		if s := x.conn().Stats().Reliable; s.Resent > 0 {
			t.Errorf("%v away %d of %d were resent for nothing", delay, s.Resent, s.Accepted)
		}
	}
}

// Nor when the way back becomes long later on.
func TestTheServerLearnsThatTheWayBackGrew(t *testing.T) {
	w := newWorld(t, 9, Config{}, lan())
	x := w.open(0, Config{})
	w.run(5 * time.Second)
	w.net.LinkBetween(x.host, w.server).SetProfile(simnet.Profile{Delay: 900 * time.Millisecond})
	w.run(10 * time.Second)
	before := x.conn().Stats().Reliable
	w.run(20 * time.Second)
	if s := x.conn().Stats().Reliable; s.Resent-before.Resent > 1 {
		t.Errorf("%d of %d were resent for nothing", s.Resent-before.Resent, s.Accepted-before.Accepted)
	}
}

func TestKeepAlive(t *testing.T) {
	w := newWorld(t, 8, Config{}, lan())
	x := w.open(0, Config{})
	w.run(20 * time.Second)
	if x.State() != StateOpen || w.mux.Len() != 1 {
		t.Fatalf("the client is %v, and there are %d connections", x.State(), w.mux.Len())
	}
	if s := x.conn().Stats(); s.Beats < 20 || s.Beats > 22 {
		t.Errorf("%d empty packets in 20 s", s.Beats)
	}
	if len(x.events) != 1 {
		t.Errorf("the client saw %v", x.events)
	}
	// Unreliable packets are no keep-alive, reliable ones are.
	before := x.conn().Stats().Beats
	for range 100 {
		x.send(Unreliable, "x")
		w.run(100 * time.Millisecond)
	}
	if n := x.conn().Stats().Beats - before; n < 9 || n > 11 {
		t.Errorf("%d empty packets in 10 s of unreliable ones", n)
	}
	before = x.conn().Stats().Beats
	for range 100 {
		x.send(Reliable, "x")
		w.run(100 * time.Millisecond)
	}
	if n := x.conn().Stats().Beats - before; n > 1 {
		t.Errorf("%d empty packets in 10 s of reliable ones", n)
	}
	// One that would come too late comes in time.
	w = newWorld(t, 8, Config{KeepAlive: time.Hour}, lan())
	x = w.open(0, Config{})
	w.run(30 * time.Second)
	if x.State() != StateOpen || w.mux.Len() != 1 {
		t.Errorf("with a keep-alive of an hour the client is %v", x.State())
	}
}

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
			w := newWorld(t, 9, tt.c, lan())
			a := w.open(0, Config{})
			if tt.down != "" {
				w.mux.Shutdown(w.net.Now(), tt.down)
				w.server.Poke()
				w.until("the first is told", time.Second, func() bool { return a.closed != nil })
				if a.closed.Reason != ReasonPeer || a.closed.Text != tt.down {
					t.Errorf("the first client was told %+v", *a.closed)
				}
			}
			b := w.dial(1, Config{})
			w.until("rejected", time.Second, func() bool { return b.closed != nil })
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

// A server that fills up between its accept and the ack of it says so.
func TestAServerThatIsFullByThenRejectsTheAck(t *testing.T) {
	w := newWorld(t, 10, Config{MaxConns: 1}, lan())
	a, b := w.dial(0, Config{}), w.dial(1, Config{})
	w.until("one is rejected", time.Second, func() bool { return b.closed != nil })
	if b.closed.Reason != ReasonRejected || b.closed.Text != "server full" {
		t.Errorf("the second client was told %+v", *b.closed)
	}
	w.run(time.Second)
	if a.State() != StateOpen {
		t.Errorf("the first is %v", a.State())
	}
}

func TestAServerKicks(t *testing.T) {
	w := newWorld(t, 11, Config{}, simnet.Profile{Delay: 10 * time.Millisecond, Loss: .3})
	x := w.open(0, Config{})
	x.send(Reliable, "before")
	w.until("came", 5*time.Second, func() bool { return len(x.events) == 2 })
	long := strings.Repeat("é", 200)
	x.conn().Close(w.net.Now(), long)
	w.server.Poke()
	w.until("both are done", 2*time.Second, func() bool { return x.closed != nil && w.mux.Len() == 0 })
	if x.closed.Reason != ReasonPeer || !x.closed.Remote || x.closed.Text != strings.Repeat("é", 127) {
		t.Errorf("the client was told %+v", *x.closed)
	}
}

func TestAServerThatRestartedBeforeTheAckLetsItsClientBeginAgain(t *testing.T) {
	w := newWorld(t, 12, Config{}, lan())
	x := w.dial(0, Config{})
	w.until("accepted", time.Second, func() bool { return x.State() == StateAccepted })
	w.mux = NewMux(w.net.Now(), Config{}, newShared(9), keyOf(99))
	w.server.Restart(w.mux)
	w.until("connected", time.Second, func() bool { return x.State() == StateOpen && w.mux.Len() == 1 })
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
			w := newWorld(t, 13, Config{}, lan())
			x := w.open(0, Config{})
			w.run(100 * time.Millisecond)
			if tt.ack {
				x.send(Reliable, "x")
			}
			w.run(15 * time.Millisecond)
			w.mux = NewMux(w.net.Now(), Config{}, newShared(9), keyOf(99))
			w.server.Restart(w.mux)
			w.until("told", tt.by, func() bool { return x.closed != nil })
			if x.closed.Reason != tt.want {
				t.Errorf("the client was told %+v", *x.closed)
			}
		})
	}
}

func TestASilentPeerIsLost(t *testing.T) {
	w := newWorld(t, 14, Config{}, lan())
	x := w.open(0, Config{})
	x.host.Crash()
	w.run(11 * time.Second)
	if w.mux.Len() != 0 || w.log[len(w.log)-1] != "closed: timeout" {
		t.Errorf("the server has %d connections and saw %v", w.mux.Len(), w.log)
	}
}

// A client that crashed and comes back from the same address takes the place of its own
// old connection, and nothing of that reaches it.
func TestAClientThatComesBackReplacesItself(t *testing.T) {
	w := newWorld(t, 15, Config{}, lan())
	x := w.open(0, Config{})
	x.send(Reliable, "to the old one")
	x.host.Crash()
	w.run(100 * time.Millisecond)
	y := &client{w: w, host: x.host, Endpoint: NewClient(w.net.Now(), serverAddr, Config{}, newShared(5))}
	x.host.AfterTurn(func(now time.Time) {
		for ev, ok := y.PollEvent(); ok; ev, ok = y.PollEvent() {
			y.events = append(y.events, eventText(ev))
		}
	})
	x.host.Restart(y.Endpoint)
	w.until("connected", 4*time.Second, func() bool { return y.State() == StateOpen })
	w.run(time.Second)
	if got := strings.Join(w.log, " "); got != "connected closed: replaced by a new connection connected" {
		t.Errorf("the server saw %s", got)
	}
	if got := strings.Join(y.events, " "); got != "connected" {
		t.Errorf("the client saw %s", got)
	}
}

// A rebound client has another address, which the server does not know. It is lost, and
// connects anew.
func TestAReboundClientIsLost(t *testing.T) {
	w := newWorld(t, 16, Config{}, lan())
	x := w.open(0, Config{})
	x.host.Rebind(netip.MustParseAddrPort("10.0.0.9:1234"))
	w.until("both have ended", 11*time.Second, func() bool { return x.closed != nil && w.mux.Len() == 0 })
	if x.closed.Reason != ReasonTimeout || w.log[len(w.log)-1] != "closed: timeout" {
		t.Errorf("the client was told %+v, the server %v", *x.closed, w.log)
	}
}
