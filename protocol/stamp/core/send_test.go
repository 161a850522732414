package core

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/way"
	"parley/simnet"
)

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	w := newWorld(t, 3, Config{}, kit.Lan())
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
		if got := c.Send(tt.mode, make([]byte, tt.size)); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := c.SendReport(nil, 1); got != ErrDataSize {
		t.Errorf("an empty report: %v", got)
	}
	if got := x.Send(x.host.Now(), Reliable, []byte("x")); got != ErrClient {
		t.Errorf("a client sends: %v", got)
	}
	c.Close("")
	if got := c.Send(Reliable, []byte("x")); got != ErrClosed {
		t.Errorf("after close: %v", got)
	}
}

// "over WebTransport a core keeps its packets within 1,100" (carriers).
func TestPacketsOverWebTransportAreSmaller(t *testing.T) {
	e := &Endpoint{side: FromServer, state: StateOpen, peer: way.SessionAddr(way.WebTransport, 7)}
	if got := e.MaxData(); got != 1100-HeaderBytes {
		t.Errorf("an entity packet has up to %d bytes of data", got)
	}
	if err := e.maySend(make([]byte, e.MaxData()+1)); err != ErrDataSize {
		t.Errorf("a byte more: %v", err)
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
	w.Until("delivered", time.Minute, func() bool {
		if n := x.conn().endpoint.sender.InFlight(laneEntity); n > 1 {
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
			p.Time = c.endpoint.ServerTime(w.Now().Add(-tt.delay)) // as if it had come all the way
			w.Inject(serverAddr, x.host.Addr(), p.AppendTo(FromServer, nil))
			w.Pass(time.Millisecond)
		}
		saw := func(want string) {
			t.Helper()
			if got := strings.Join(x.events, " "); got != want {
				t.Fatalf("%v away the client saw %s, want %s", tt.delay, got, want)
			}
		}
		inject(5, "c")
		inject(4, "b")
		w.Pass(100 * time.Millisecond)
		saw("connected")
		inject(3, "a")
		saw(`connected "a" "b" "c"`)
		inject(7, "e")
		w.Pass(tt.hold - 10*time.Millisecond)
		saw(`connected "a" "b" "c"`)
		w.Pass(20 * time.Millisecond)
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
		w.mux.Advance(w.Now())
		if err := x.conn().SendReport(fmt.Append(nil, i+1), uint32(i+1)); err != nil {
			t.Fatal(err)
		}
		if err := x.conn().SendReport([]byte("untold"+fmt.Sprint(i)), 0); err != nil {
			t.Fatal(err)
		}
		w.server.Poke()
		w.Pass(20 * time.Millisecond)
	}
	w.Until("all told", 5*time.Second, func() bool { return len(told) == reports })
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
	if x.conn().endpoint.reportsOpen != 0 {
		t.Errorf("%d reports are still open", x.conn().endpoint.reportsOpen)
	}
	w.check()
}

// Who does not ask for events cannot make them pile up.
func TestReportsAreBounded(t *testing.T) {
	w := newWorld(t, 7, Config{}, kit.Lan())
	x := w.open(0, Config{})
	c := x.conn()
	now := w.Now()
	taken := 0
	var buf [MaxPacket]byte
	for range 3 * maxTold {
		now = now.Add(time.Millisecond)
		if c.endpoint.SendReport(now, []byte("x"), 9) == nil {
			taken++
		}
		for n, _, ok := c.endpoint.PollTransmit(buf[:]); ok; n, _, ok = c.endpoint.PollTransmit(buf[:]) {
			var p Packet
			p.Parse(FromServer, buf[:n])
			ack := Packet{Kind: KindAck, Sequence: p.Sequence, Time: c.endpoint.ServerTime(now)}
			c.endpoint.HandleDatagram(now, c.Peer(), ack.AppendTo(FromClient, nil))
		}
	}
	if taken != maxTold || c.endpoint.told.Len() > maxTold {
		t.Errorf("%d reports were taken and %d events wait, want %d", taken, c.endpoint.told.Len(), maxTold)
	}
	for range maxTold {
		if ev, ok := c.endpoint.PollEvent(); !ok || ev.Kind != EventAcked {
			t.Fatalf("got %v", ev.Kind)
		}
	}
	if err := c.endpoint.SendReport(now, []byte("x"), 9); err != nil {
		t.Errorf("after the events were taken: %v", err)
	}
}

// The ack of the accept tells the server the round trip, so that on a long path not every
// packet is resent before its ack can come.
func TestTheServerKnowsTheRoundTripFromTheStart(t *testing.T) {
	for _, delay := range []time.Duration{time.Millisecond, 40 * time.Millisecond, 300 * time.Millisecond, 800 * time.Millisecond} {
		w := newWorld(t, 8, Config{}, simnet.Profile{Delay: delay})
		x := w.dial(0, Config{})
		w.Until("open", 10*time.Second, func() bool { return w.mux.Len() == 1 })
		if rtt := x.conn().RTT(); rtt < 2*delay-time.Millisecond || rtt > 2*delay+time.Millisecond {
			t.Errorf("%v away the server starts with a round trip of %v", delay, rtt)
		}
		w.Until("connected", 10*time.Second, func() bool { return x.State() == StateOpen })
		for range 10 {
			x.send(Reliable, "x")
			w.Pass(time.Second)
		}
		if s := x.conn().Stats().Reliable; s.Resent > 0 {
			t.Errorf("%v away %d of %d were resent for nothing", delay, s.Resent, s.Accepted)
		}
	}
}

// Nor when the way back becomes long later on.
func TestTheServerLearnsThatTheWayBackGrew(t *testing.T) {
	w := newWorld(t, 9, Config{}, kit.Lan())
	x := w.open(0, Config{})
	w.Pass(5 * time.Second)
	w.LinkBetween(x.host, w.server).SetProfile(simnet.Profile{Delay: 900 * time.Millisecond})
	w.Pass(10 * time.Second)
	before := x.conn().Stats().Reliable
	w.Pass(20 * time.Second)
	if s := x.conn().Stats().Reliable; s.Resent-before.Resent > 1 {
		t.Errorf("%d of %d were resent for nothing", s.Resent-before.Resent, s.Accepted-before.Accepted)
	}
}

func TestKeepAlive(t *testing.T) {
	w := newWorld(t, 8, Config{}, kit.Lan())
	x := w.open(0, Config{})
	w.Pass(20 * time.Second)
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
		w.Pass(100 * time.Millisecond)
	}
	if n := x.conn().Stats().Beats - before; n < 9 || n > 11 {
		t.Errorf("%d empty packets in 10 s of unreliable ones", n)
	}
	before = x.conn().Stats().Beats
	for range 100 {
		x.send(Reliable, "x")
		w.Pass(100 * time.Millisecond)
	}
	if n := x.conn().Stats().Beats - before; n > 1 {
		t.Errorf("%d empty packets in 10 s of reliable ones", n)
	}
	// One that would come too late comes in time.
	w = newWorld(t, 8, Config{KeepAlive: time.Hour}, kit.Lan())
	x = w.open(0, Config{})
	w.Pass(30 * time.Second)
	if x.State() != StateOpen || w.mux.Len() != 1 {
		t.Errorf("with a keep-alive of an hour the client is %v", x.State())
	}
}
