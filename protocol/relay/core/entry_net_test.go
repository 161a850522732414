package core

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/simnet"
)

// house is a server with rooms, which judges each newcomer some time later, and clients who show passes over a bad network.
type house struct {
	t      *testing.T
	seed   uint64
	net    *simnet.Network
	rng    *rand.Rand
	server *simnet.Host
	mux    *Mux
	lobby  *EntryLobby
	rooms  map[string]*Room
	shows  map[netip.AddrPort]int // how often the game was told of each
	acked  map[*Peer]map[uint32]int
	guests []*visitor
}

// visitor is a client of the house.
type visitor struct {
	*Endpoint
	host   *simnet.Host
	pass   string
	joined bool
	got    map[string]int // payloads
	left   *Close
}

func newHouse(t *testing.T, seed uint64, path simnet.Profile) *house {
	h := &house{t: t, seed: seed, net: simnet.New(seed), rng: rand.New(rand.NewPCG(seed, 68)), rooms: map[string]*Room{},
		shows: map[netip.AddrPort]int{}, acked: map[*Peer]map[uint32]int{}, lobby: NewEntryLobby(EntryConfig{})}
	h.net.Default(path)
	h.mux = NewMux(h.net.Now(), Config{Lobby: h.lobby}, newShared(seed), kit.Key(seed), nil)
	h.server = h.net.Add(partyServer, h.mux).Named("server")
	h.server.AfterTurn(h.turn)
	for _, name := range []string{"main", "red"} {
		h.rooms[name] = h.mux.NewRoom()
	}
	return h
}

// turn has newcomers judged within 100 ms.
func (h *house) turn(now time.Time) {
	h.mux.Advance(now)
	for p, ev, ok := h.mux.PollEvent(); ok; p, ev, ok = h.mux.PollEvent() {
		switch ev.Kind {
		case EventPass:
			h.shows[ev.Newcomer.Addr()]++
			h.net.After(time.Duration(h.rng.IntN(100))*time.Millisecond, "judge", func() { h.judge(ev.Newcomer) })
		case EventAcked:
			h.acked[p][ev.Tag]++
		}
	}
	for _, ok := h.mux.PollPort(); ok; _, ok = h.mux.PollPort() {
	}
}

func (h *house) judge(n *Newcomer) {
	h.mux.Advance(h.server.Now())
	name, isRoom := strings.CutPrefix(string(n.Pass()), "R")
	switch {
	case n.Pass() == nil:
		name = "main"
	case !isRoom:
		n.Refuse("ticket is not valid")
		h.server.Poke()
		return
	}
	if h.rooms[name] == nil {
		n.Refuse("no such room")
	} else if p, err := n.Admit(h.rooms[name], name); err == nil {
		h.acked[p] = map[uint32]int{}
		for tag := range uint32(3) {
			if err := p.SendTagged(Unordered, fmt.Appendf(nil, "\x04token of %s %d", name, tag+1), tag+1); err != nil {
				h.t.Errorf("seed=%d: %v", h.seed, err)
			}
		}
	} else if err != ErrNewcomerGone {
		h.t.Errorf("seed=%d: %v", h.seed, err)
	}
	h.server.Poke()
}

func (h *house) visit(i int, pass string) {
	v := &visitor{pass: pass, got: map[string]int{}}
	e, err := NewClient(h.net.Now(), partyServer, Config{Ticket: []byte(pass)}, newShared(uint64(i)+h.seed<<8))
	if err != nil {
		h.t.Fatal(err)
	}
	v.Endpoint = e
	v.host = h.net.Add(addr(i), e).Named(fmt.Sprint("visitor ", i))
	v.host.AfterTurn(func(now time.Time) {
		for ev, ok := v.PollEvent(); ok; ev, ok = v.PollEvent() {
			switch ev.Kind {
			case EventJoined:
				v.joined = true
				_ = v.Send(now, SemiOrdered, ToOthers, fmt.Append(nil, "hello of ", v.pass))
			case EventPackage:
				v.got[string(ev.Package.Payload)]++
			case EventLeft:
				v.left = &ev.Close
			}
		}
	})
	h.guests = append(h.guests, v)
}

// Whatever a bad network does, each client comes into the room of its pass, hears nothing of another room, and its tokens are told as
// confirmed once; a client with a bad pass is told so and never in.
func TestPassesOverABadNetwork(t *testing.T) {
	passes := map[string]string{"": "main", "Rmain": "main", "Rred": "red", "Rblue": "", "Tforged": "", "\x00\x01": ""}
	lost, seeds := 0, kit.Tier(30, 300, 3000)
	kit.Seeds(t, seeds, func(t *testing.T, seed uint64) {
		h := newHouse(t, seed, simnet.Profile{Delay: 30 * time.Millisecond, Jitter: 30 * time.Millisecond, Loss: .2, Duplicate: .1})
		i := 0
		for range 2 {
			for _, pass := range []string{"", "Rmain", "Rred", "Rblue", "Tforged", "\x00\x01"} {
				i++
				h.visit(i, pass)
			}
		}
		settled := func() bool {
			for _, v := range h.guests {
				if v.left != nil {
					continue
				}
				if p := h.mux.First().Peer(v.host.Addr()); p == nil || !v.joined || len(h.acked[p]) != 3 {
					return false
				}
			}
			return true
		}
		if err := h.net.RunUntil(settled, time.Minute); err != nil {
			t.Fatalf("seed=%d: %v: %+v", seed, err, h.lobby.Stats())
		}
		if err := h.net.Run(5 * time.Second); err != nil {
			t.Fatal(err)
		}
		for i, v := range h.guests {
			room := passes[v.pass]
			p := h.mux.First().Peer(v.host.Addr())
			switch {
			case room == "" && (p != nil || v.joined || v.left == nil):
				t.Errorf("seed=%d: visitor %d with %q is in", seed, i, v.pass)
			case room == "" && v.left.Reason != ReasonRefused && v.left.Reason != ReasonUnconfirmed && v.left.Reason != ReasonSilent && v.left.Reason != ReasonRemoved:
				t.Errorf("seed=%d: visitor %d with %q: %v", seed, i, v.pass, v.left)
			case room == "":
				if want := map[bool]string{true: "no such room", false: "ticket is not valid"}[v.pass[0] == 'R']; v.left.Reason == ReasonRefused && v.left.Text != want {
					t.Errorf("seed=%d: visitor %d with %q was told %q", seed, i, v.pass, v.left.Text)
				}
			case p == nil && v.left != nil && v.left.Reason != ReasonRefused:
				lost++ // six tries in a row, or their confirmations
			case p == nil || p.Room() != h.rooms[room] || p.Name != room:
				t.Errorf("seed=%d: visitor %d with %q is not in %s: %v", seed, i, v.pass, room, v.left)
			default:
				h.check(i, v, room, p)
			}
		}
	})
	if lost > 1+seeds*6/500 {
		t.Errorf("%d of %d were lost", lost, seeds*6)
	}
}

// check holds what a visitor got against the rooms.
func (h *house) check(i int, v *visitor, room string, p *Peer) {
	for tag, n := range h.acked[p] {
		if payload := fmt.Sprintf("\x04token of %s %d", room, tag); n != 1 || v.got[payload] != 1 {
			h.t.Errorf("seed=%d: visitor %d: tag %d is told %d times, and its package came %d times", h.seed, i, tag, n, v.got[payload])
		}
	}
	for payload, n := range v.got {
		from, ok := strings.CutPrefix(payload, "hello of ")
		if ok && (from == "Rred") != (room == "red") || n > 2 {
			h.t.Errorf("seed=%d: visitor %d in %s heard %q %d times", h.seed, i, room, payload, n)
		}
	}
}
