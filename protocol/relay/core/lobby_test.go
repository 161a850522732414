package core

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// hotel is a lobby that a user might write: who says "open" at the first port gets a port of its own
// for a room, 100 ms later; at such a port everybody is in the room, messages get their
// sender's number in front, and "bye" closes the port.
type hotel struct {
	log     []string
	timeout time.Duration
}

func (l *hotel) Rules() Rules {
	return Rules{ResendAfter: 220 * time.Millisecond, Quiet: true, Grace: -1, Timeout: l.timeout}
}

func (l *hotel) Admit(_ time.Time, _ *Port, _ netip.AddrPort, first Package) (any, bool) {
	return nil, string(first.Payload) != "go away"
}

func (l *hotel) Enter(_ time.Time, p *Peer) {
	if room, ok := p.Port().Value.(*Room); ok {
		room.Add(p)
		p.Seat = byte(room.Len())
		p.Join()
	}
}

func (l *hotel) Receive(now time.Time, p *Peer, pkg Package) bool {
	m := p.Port().Mux()
	room, inRoom := p.Port().Value.(*Room)
	switch text := string(pkg.Payload); {
	case pkg.Server && text == "open" && !inRoom:
		m.First().NewTimer(func(time.Time) {
			port, err := m.Open()
			if err != nil {
				panic(err)
			}
			port.Value = m.NewRoom()
			_ = p.Send(Unordered, fmt.Appendf(nil, "port %d", port.Number()))
		}).Set(now.Add(100 * time.Millisecond))
	case inRoom && text == "bye":
		p.Port().Close()
	case inRoom && !pkg.Server:
		_ = room.Relay(p, pkg.Mode, append([]byte{'0' + p.Seat.(byte)}, pkg.Payload...))
	default:
		return pkg.Server
	}
	return false
}

func (l *hotel) Gone(_ time.Time, p *Peer, why Close) {
	l.log = append(l.log, fmt.Sprintf("%v %v", p.end.Addr().Addr(), why.Reason))
}

// inAt hands a datagram to a further port.
func (h *hall) inAt(port *Port, from netip.AddrPort, b []byte) {
	port.HandleDatagram(h.now, from, b)
	h.turn()
}

// A lobby opens ports, does things later, rewrites what it relays, and closes ports.
func TestALobbyOfOnesOwn(t *testing.T) {
	lobby := &hotel{}
	h := newHall(t, Config{Lobby: lobby})
	a, b := addr(1), addr(2)
	h.in(b, pack(Unordered, true, 0, "go away"))
	h.wantSent(b)
	h.in(a, pack(Unordered, true, 0, "open"))
	h.wait(99 * time.Millisecond)
	h.wantSent(a, "confirm [0]")
	h.wait(time.Millisecond)
	h.wantSent(a, `unordered server 0 "port 9001"`)
	h.wait(220 * time.Millisecond)
	h.wantSent(a, `unordered server 0 "port 9001"`) // resent after 220 ms
	h.in(a, confirmOf(0))
	port := h.others[0]
	h.inAt(port, a, pack(SemiOrdered, false, 0, "alone"))
	h.inAt(port, b, pack(SemiOrdered, false, 0, "hello"))
	h.inAt(port, a, pack(Unreliable, false, 0, "hi"))
	h.inAt(port, b, pack(Unordered, true, 1, "to the game"))
	h.wantSent(a, `semi-ordered others 0 "2hello"`)
	h.wantSent(b, `unreliable others 0 "1hi"`)
	h.wantTold("203.0.0.1 joined", "203.0.0.2 joined", `203.0.0.2 unordered "to the game"`)
	if h.mux.Len() != 3 || port.Len() != 2 || h.mux.First().Len() != 1 {
		t.Errorf("%d peers, %d at the port, %d at the first", h.mux.Len(), port.Len(), h.mux.First().Len())
	}
	h.took(a)
	h.inAt(port, b, pack(Unordered, false, 2, "bye"))
	h.wantTold("203.0.0.2 left: its port was closed", "203.0.0.1 left: its port was closed")
	h.wantSent(b) // Quiet: they are not told
	if !port.Closed() || h.mux.Len() != 1 {
		t.Errorf("closed %t, %d peers are left", port.Closed(), h.mux.Len())
	}
	h.inAt(port, b, pack(Unordered, false, 3, "anyone?"))
	if at, ok := port.NextTimeout(); ok || port.Len() != 0 {
		t.Errorf("a closed port wants to be called at %v and has %d peers", at, port.Len())
	}
	if len(lobby.log) != 2 {
		t.Errorf("the lobby was told %q", lobby.log)
	}
	port.NewTimer(func(time.Time) { t.Error("a timer of a closed port goes off") }).Set(h.now)
	h.wait(time.Second)
	h.mux.First().Close()
	if h.mux.First().Closed() {
		t.Error("the first port was closed")
	}
}

// Ports are bounded, and a core without an opener has none.
func TestPortsAreBounded(t *testing.T) {
	h := newHall(t, Config{})
	for i := 1; i < maxPorts; i++ {
		if _, err := h.mux.Open(); err != nil {
			t.Fatalf("port %d: %v", i, err)
		}
	}
	if _, err := h.mux.Open(); err != ErrNoPorts {
		t.Errorf("one too many: %v", err)
	}
	h.others[0].Close()
	if _, err := h.mux.Open(); err != nil {
		t.Errorf("after one was closed: %v", err)
	}
	h.mux.opener = nil
	h.others[1].Close()
	if _, err := h.mux.Open(); err != ErrNoPorts {
		t.Errorf("without an opener: %v", err)
	}
}

// A timer goes off once for each time that it is set, at the time that was set last; one that sets
// itself for now does not hold up anyone.
func TestTimers(t *testing.T) {
	h := newHall(t, Config{})
	var at []time.Duration
	tm := h.mux.First().NewTimer(func(now time.Time) { at = append(at, now.Sub(start)) })
	tm.Set(start.Add(time.Second))
	tm.Set(start.Add(2 * time.Second))
	h.wait(3 * time.Second)
	tm.Set(start.Add(4 * time.Second))
	tm.Stop()
	h.wait(3 * time.Second)
	tm.Set(start) // in the past: at once
	h.wait(time.Millisecond)
	if len(at) != 2 || at[0] != 2*time.Second || at[1] != 6*time.Second {
		t.Errorf("it went off at %v", at)
	}
	n := 0
	var again *Timer
	again = h.mux.First().NewTimer(func(now time.Time) {
		if n++; n < 100 {
			again.Set(now)
		}
	})
	again.Set(h.now)
	h.mux.HandleTimeout(h.now)
	if n != 1 {
		t.Errorf("it went off %d times in one call", n)
	}
}

// A room has each peer once; a peer is in one room.
func TestRooms(t *testing.T) {
	h := newHall(t, Config{})
	for i := range 4 {
		h.join(near(i))
	}
	peer := func(i int) *Peer { return h.mux.First().Peer(near(i)) }
	hall, cellar := peer(0).Room(), h.mux.NewRoom()
	hall.Add(peer(0))
	cellar.Add(peer(1))
	cellar.Add(peer(2))
	cellar.Add(peer(1))
	if hall.Len() != 2 || cellar.Len() != 2 || peer(1).Room() != cellar {
		t.Fatalf("%d and %d are in", hall.Len(), cellar.Len())
	}
	hall.Remove(peer(1)) // which is not there
	h.in(near(1), pack(Unreliable, false, 0, "x"))
	h.wantSent(near(2), `unreliable others 0 "x"`)
	h.wantSent(near(0))
	cellar.Remove(peer(1))
	h.in(near(1), pack(Unreliable, false, 1, "nobody hears"))
	h.wantSent(near(2))
	h.in(near(2), pack(Unreliable, true, 0, "")) // leaves
	if cellar.Len() != 0 {
		t.Errorf("%d are in the cellar", cellar.Len())
	}
	closed := peer(3)
	closed.Remove(Close{Reason: ReasonClosed})
	cellar.Add(closed)
	if cellar.Len() != 0 {
		t.Error("one who is gone was let in")
	}
}

// What the game is told of a peer that a lobby lets in and out.
func TestJoinAndLeaveAreTold(t *testing.T) {
	h := newHall(t, Config{})
	h.join(near(1))
	h.told()
	p := h.mux.First().Peer(near(1))
	p.Join() // again: nothing new
	p.Leave(Close{Reason: ReasonClosed})
	p.Leave(Close{Reason: ReasonLeft})
	h.turn()
	h.wantTold("10.0.0.1 left: closed")
	p.Join()
	p.Leave(Close{}) // before the game has heard of it
	h.turn()
	h.wantTold()
	p.Join()
	h.turn()
	h.wantTold("10.0.0.1 joined")
	h.in(near(1), pack(Unreliable, true, 0, ""))
	h.wantTold("10.0.0.1 left: peer left")
}
