package core

import (
	"net/netip"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/roster"
	"parley/simnet"
)

// session has an address connect and prove itself, without ever linking; it reports whether it was let in.
func (w *world) session(from netip.AddrPort) bool {
	now := w.Now()
	init := Packet{Kind: KindInit, Extended: true}
	for range 2 { // a crowd is answered the second time
		w.mux.HandleDatagram(now, from, init.AppendTo(nil))
	}
	v := w.mux.half.Get(now, from)
	if v == nil {
		return false
	}
	proof := Packet{Kind: KindMessage, Sequence: 1, Time: w.mux.clock(now, from, v.number), Name: []byte("hello")}
	w.mux.HandleDatagram(now, from, proof.AppendTo(nil))
	w.server.Poke()
	return w.mux.Conn(from) != nil
}

func hostileAddr(host, port int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, byte(host >> 16), byte(host >> 8), byte(host)}), uint16(1024+port))
}

func lobbyWorld(t *testing.T, seed uint64, maxConns int) *world {
	w := newWorld(t, seed, Config{MaxConns: maxConns, EnterWithin: 10 * time.Second}, kit.Lan())
	w.SetLimits(simnet.Limits{Steps: 50_000_000, StepsAtOnce: 200_000})
	if _, err := w.mux.Store().AddVariable("v", DataInt); err != nil {
		t.Fatal(err)
	}
	return w
}

// T31: ten times as many sessions as there are places, which never link, are renewed all the time: from one address, from some and from as
// many as there are sessions. They take no place, the lobby is bounded, and the next honest client enters, 100 of 100.
func TestSessionsThatNeverLinkKeepNobodyOut(t *testing.T) {
	for _, tt := range []struct {
		name  string
		hosts int
	}{{"one address", 1}, {"fifty addresses", 50}, {"an address each", 1 << 20}} {
		t.Run(tt.name, func(t *testing.T) {
			places, guests := 600, promise.Keeps(t, "T31", "replica", max(kit.Tier(100, 100, 100), 5))
			if kit.Race { // half a minute else
				places = 60
			}
			w := lobbyWorld(t, 31, places)
			n, late := 0, uint64(0)
			crowd := func(count int) {
				for range count {
					w.session(hostileAddr(n%tt.hosts, n/tt.hosts%60_000))
					n++
				}
			}
			honest := 0
			crowd(10 * places)
			for i := range guests {
				crowd(60)
				x := w.dial(i, Config{})
				x.onEvent = func(now time.Time, ev Event) {
					switch ev.Kind {
					case EventConnected:
						x.Link(now)
					case EventLinked:
						honest++
					}
				}
				w.Until("an honest client enters", 3*time.Second, func() bool {
					c := w.mux.Conn(x.host.Addr())
					return c != nil && roster.Entered(&c.member) && honest == i+1
				})
				w.Pass(50 * time.Millisecond)
			}
			w.Pass(11 * time.Second)
			s := w.mux.Stats()
			if late = s.Late + s.GaveWay; w.mux.lobby.Taken() != guests || w.mux.lobby.Len() != 0 || w.mux.Len() != guests || late == 0 {
				t.Errorf("%d places are taken, %d are in the lobby, %d in all: %+v", w.mux.lobby.Taken(), w.mux.lobby.Len(), w.mux.Len(), s)
			}
			t.Logf("%d sessions of %d addresses: %+v", n, min(n, tt.hosts), s)
		})
	}
}

// Two thousand sessions of one address: 64 are let in, the rest are not answered, all are closed after 10 s, and
// then the address may come again.
func TestAnAddressHasSixtyFourThatHaveNotEntered(t *testing.T) {
	w := lobbyWorld(t, 32, 100)
	let := 0
	for i := range 2000 {
		if w.session(hostileAddr(1, i)) {
			let++
		}
	}
	if let != 64 || w.mux.Len() != 64 || w.mux.lobby.Taken() != 0 || w.mux.Stats().Crowded < 1900 {
		t.Errorf("%d were let in, %d places are taken: %+v", let, w.mux.lobby.Taken(), w.mux.Stats())
	}
	w.Pass(9 * time.Second)
	if w.mux.Len() != 64 {
		t.Errorf("after 9 s there are %d", w.mux.Len())
	}
	w.Pass(2 * time.Second)
	if w.mux.Len() != 0 || w.mux.Stats().Late != 64 {
		t.Errorf("after 11 s there are %d, and %d were late", w.mux.Len(), w.mux.Stats().Late)
	}
	if !w.session(hostileAddr(1, 3000)) {
		t.Error("the address is not let in any more")
	}
}

// A client that enters a full game is told so, and one that enters by the application's word has its place.
func TestWhoEntersAFullGameIsTold(t *testing.T) {
	w := lobbyWorld(t, 33, 1)
	a, b := w.dial(0, Config{}), w.dial(1, Config{})
	w.Until("both are connected", time.Second, func() bool { return w.mux.Len() == 2 && b.State() == StateOpen && a.State() == StateOpen })
	if !w.mux.Conn(a.host.Addr()).Enter() || w.mux.lobby.Taken() != 1 {
		t.Fatal("the first does not enter")
	}
	b.Link(b.host.Now())
	b.host.Poke()
	w.Until("the second is told", 3*time.Second, func() bool { return b.closed != nil })
	if b.closed.Reason != ReasonPeer || b.closed.Text != serverFull {
		t.Errorf("it was told %+v", *b.closed)
	}
	a.Close(a.host.Now(), "")
	a.host.Poke()
	w.Until("the first has left", 5*time.Second, func() bool { return w.mux.Len() == 0 })
	if w.mux.lobby.Taken() != 0 {
		t.Errorf("%d places are taken", w.mux.lobby.Taken())
	}
}

// Without EnterWithin a connection enters with its handshake, and may stay silent.
func TestAPlainConnectionEntersAtOnce(t *testing.T) {
	w := newWorld(t, 34, Config{MaxConns: 1}, kit.Lan())
	x := w.dial(0, Config{})
	w.Pass(30 * time.Second)
	if c := w.mux.Conn(x.host.Addr()); c == nil || !roster.Entered(&c.member) || !c.Enter() || x.closed != nil {
		t.Errorf("after half a minute: %v", x.closed)
	}
}

// Connections that have not entered leave gaps open and begin messages that they never end. They take nothing of the memory that
// all connections share, and little each.
func TestConnectionsThatHaveNotEnteredShareNothing(t *testing.T) {
	w := lobbyWorld(t, 35, 100)
	conns := 0
	for _, size := range []int{1, 200, 1100} {
		for i := range 64 {
			conns++
			from := hostileAddr(size, i)
			if !w.session(from) {
				t.Fatal("it was not let in")
			}
			c := w.mux.Conn(from)
			number, clock := c.endpoint.near+1, c.endpoint.ServerTime(w.Now())
			data := make([]byte, size)
			for j := range uint64(40) { // a message in parts
				w.mux.HandleDatagram(w.Now(), from, pieceOf(c, number+j, clock, true, j == 0, data))
			}
			w.server.Poke()
			number = c.endpoint.near + 2
			for j := range uint64(1000) { // and what is behind a gap
				w.mux.HandleDatagram(w.Now(), from, pieceOf(c, number+j, clock, true, false, data))
			}
			if n := c.endpoint.receiver.WaitingBytes() + c.endpoint.parts.Len(); c.endpoint.State() != StateOpen || n > guestBytes || n < 200 {
				t.Fatalf("packets of %d bytes: it is %v, and %d bytes wait", size, c.endpoint.State(), n)
			}
		}
		held, parts := w.mux.shared.buffers.Held(), w.mux.shared.partial
		if held != 0 || parts.Used() > conns*8<<10 || parts.Waiting() != 0 {
			t.Errorf("packets of %d bytes: %d bytes of the shared budget are held, %d are in parts, and %d wait", size, held, parts.Used(), parts.Waiting())
		}
	}
}

// A client that sends a large message, and links at once or later, has the message delivered once it has entered, though there was no room
// for it before.
func TestALargeMessageBeforeEnteringComesAfterIt(t *testing.T) {
	for _, wait := range []time.Duration{0, 5 * time.Second} {
		t.Run(wait.String(), func(t *testing.T) { largeBeforeEntering(t, wait) })
	}
}

func largeBeforeEntering(t *testing.T, wait time.Duration) {
	w := lobbyWorld(t, 36, 100)
	x, got := w.dial(0, Config{}), 0
	w.onEvent = func(_ time.Time, _ *Conn, ev Event) {
		if ev.Kind == EventMessage {
			got += len(ev.Data)
		}
	}
	w.Until("connected", time.Second, func() bool { return w.mux.Len() == 1 && x.State() == StateOpen })
	x.send(Ordered, "big", string(make([]byte, 64<<10)))
	w.Pass(wait)
	x.Link(x.host.Now())
	x.host.Poke()
	c := w.mux.Conn(x.host.Addr())
	w.Until("the message", 20*time.Second, func() bool { return got == 64<<10 })
	if x.closed != nil || c.endpoint.stats.OutOfState == 0 || !roster.Entered(&c.member) {
		t.Errorf("it ended: %v; %+v", x.closed, c.endpoint.stats)
	}
}
