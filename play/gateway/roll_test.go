package gateway

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/play/message"
	"parley/protocol/duplex"
	"parley/protocol/relay"
	"parley/protocol/replica"
	"parley/world"
)

// scribe is a reader that keeps what it was told, as text.
func (m *memberRoom) scribe(s *Seat, told *[]string) {
	c := &reader{T: m.T, list: map[string]message.Member{}, stuck: func() bool { return false }}
	m.d.tell = func(x *Seat) {
		if x == s {
			c.read(s)
			for _, n := range c.told {
				*told = append(*told, fmt.Sprintf("%v %s %d", n.What, n.Name, n.Entity))
			}
			c.told = c.told[:0]
		}
	}
}

// A client that asks is told who is there, and then what happens, each once.
func TestMembersAreToldToThoseWhoAsk(t *testing.T) {
	m := newMemberRoom(t, rand.New(rand.NewPCG(1, 1)), false)
	ann, bob := m.d.sit("ann"), m.d.sit("bob")
	cid := m.d.sit("cid")
	ticks(t, m.h, 2)
	leave := func(s *Seat, bye bool) { s.known = true; m.d.inbox.put(request{seat: s, ask: askLeave, bye: bye}) }
	leave(cid, false)
	ticks(t, m.h, 2)
	if ann.hasNews() || m.h.main.members != nil {
		t.Fatal("a client that does not ask is told of members")
	}
	var told []string
	m.scribe(ann, &told)
	expect := func(what string, want ...string) {
		t.Helper()
		ticks(t, m.h, 3)
		if !slices.Equal(told, want) {
			t.Fatalf("%s: it was told %q, want %q", what, told, want)
		}
		told = nil
	}
	m.d.inbox.put(request{seat: ann, ask: askSteer, stamped: true, stamp: message.Stamp{Number: 1}})
	expect("a stamp")
	m.d.inbox.put(request{seat: ann, ask: askMembers})
	expect("a wish", "here ann 1", "here bob 2", "away cid 3")
	m.d.inbox.put(request{seat: ann, ask: askMembers})
	expect("another")
	leave(bob, true)
	expect("bob says goodbye", "left bob 2")
	m.d.sit("bob")
	expect("another bob", "joined bob 4")
	back := m.d.chair()
	p := m.h.main.away[0]
	back.pass = &Pass{Kind: message.PassSession, token: p.tokens[len(p.tokens)-1]}
	m.d.inbox.put(request{seat: back, ask: askEnter})
	expect("cid comes back", "back cid 3")
	leave(back, false)
	expect("cid is away again", "away cid 3")
	m.h.main.Kick(p.ID, "")
	expect("cid is kicked", "left cid 3")
	dan := m.d.sit("dan")
	ticks(t, m.h, 1)
	told = nil
	m.other[dan.player.ID] = true
	ticks(t, m.h, m.h.cfg.TickRate)
	expect("dan has another entity", "here dan 6")
}

// A room of 1,000 is told in parts, within two seconds.
func TestAFullRoomIsToldInParts(t *testing.T) {
	m := newMemberRoom(t, rand.New(rand.NewPCG(1, 1)), false)
	const players = 1000
	m.h.cfg.MaxPlayers = players
	ann := m.d.sit("ann")
	for i := range players - 1 {
		m.d.sit(fmt.Sprintf("somebody-%d", i))
	}
	ticks(t, m.h, 2)
	c := m.listen(ann)
	c.stuck = func() bool { return false }
	n := 0
	for ; len(c.list) < players && n < 2*m.h.cfg.TickRate; n++ {
		ticks(t, m.h, 1)
	}
	if len(c.list) < players || c.most > maxRoll {
		t.Errorf("after %d ticks it knows %d of %d; a tick had %d bytes", n, len(c.list), players, c.most)
	}
	// On a narrow path a tick has fewer.
	bob := m.h.main.deskSeats()[1]
	c = m.listen(bob)
	c.stuck = func() bool { return false }
	bob.estimate.Rate, bob.estimate.Budget = 10_000, 500
	ticks(t, m.h, 10)
	if c.most > 500/bulkShare || len(c.list) < 20 {
		t.Errorf("over a narrow path it knows %d, and a tick had %d bytes", len(c.list), c.most)
	}
	bob.estimate.Budget = 0
	before := len(c.list)
	if ticks(t, m.h, 10); len(c.list) != before {
		t.Error("a tick without bytes told of members")
	}
	// What is new allocates nothing in a room where nothing happens.
	if n := testing.AllocsPerRun(100, func() { m.h.main.noteMembers(); ann.hasNews() }); n > 0 {
		t.Errorf("%v allocations a tick", n)
	}
}

// A client that does not read makes nobody remember all who ever left. Others are told of them.
func TestAClientThatDoesNotReadOfMembers(t *testing.T) {
	m := newMemberRoom(t, rand.New(rand.NewPCG(1, 1)), false)
	eve, ann := m.d.sit("eve"), m.d.sit("ann")
	ticks(t, m.h, 1)
	m.listen(eve).stuck = func() bool { return true }
	c := m.listen(ann)
	c.stuck = func() bool { return false }
	var seats []*Seat
	for i := range 200 {
		for _, s := range seats {
			m.d.inbox.put(request{seat: s, ask: askLeave, bye: true})
		}
		seats = seats[:0]
		for j := range 25 {
			seats = append(seats, m.d.sit(fmt.Sprint(i, "-", j)))
		}
		ticks(t, m.h, 2)
		if n := len(m.h.main.members.list); n > 3*maxDeparted {
			t.Fatalf("%d changes are remembered", n)
		}
	}
	ticks(t, m.h, 20)
	if len(c.list) != 27 || m.h.stats.LostMembers == 0 {
		t.Errorf("ann knows %d members; %d were lost", len(c.list), m.h.stats.LostMembers)
	}
	m.d.inbox.put(request{seat: eve, ask: askLeave, bye: true})
	m.d.inbox.put(request{seat: ann, ask: askLeave, bye: true})
	for range 2 * maxDeparted / 25 {
		for _, s := range seats {
			m.d.inbox.put(request{seat: s, ask: askLeave, bye: true})
		}
		seats = seats[:0]
		for range 25 {
			seats = append(seats, m.d.sit(""))
		}
		ticks(t, m.h, 1)
	}
	if m.h.main.members != nil {
		t.Error("members are listed when nobody listens")
	}
}

// Members arrive over each dialect, and a client that does not ask gets none. In a game whose rule hides all, it is told
// the names, and no number but its own. If it wants to know how they are connected, it is told that too.
func TestMembersOverEachDialect(t *testing.T) {
	for _, d := range []aimDialect{aimReplica, aimRelay, aimDuplex} {
		t.Run(d.name, func(t *testing.T) {
			for _, tt := range []struct{ asks, hidden, vias bool }{{}, {asks: true}, {asks: true, hidden: true}, {asks: true, vias: true}} {
				asks, g := tt.asks, aimGame(4, &aimCount{})
				if tt.hidden {
					g.Sees = func(*world.World, world.PlayerID, world.ID) bool { return false }
				}
				h := must(New(Config{Game: g}))
				others := &desk{radius: -1}
				others.inbox.knock = h.knock
				h.Add(others)
				a := d.enter(t, chance.Seed(t, 1), 50*time.Millisecond, h, nil)
				a.members, a.vias = map[string]message.Member{}, tt.vias
				wish, code := []byte(nil), uint8(message.DuplexRoster)
				if tt.vias {
					wish, code = []byte{message.MembersVia}, message.DuplexVias
				}
				var seats []*Seat
				for i := range 100 {
					seats = append(seats, others.sit(fmt.Sprint("somebody-", i)))
				}
				if asks {
					switch c := a.node.(type) {
					case aimReplicaClient:
						must(0, c.SendReserved(a.net.Now(), replica.Reliable, message.ReplicaMembers, wish))
					case aimRelayClient:
						must(0, c.Send(a.net.Now(), relay.Unordered, relay.ToServer, append([]byte{message.RelayWho}, wish...)))
					case aimDuplexClient:
						must(c.Query(a.net.Now(), duplex.Main, code, nil))
					}
				}
				a.play(t, 5*time.Second)
				for _, s := range seats[:40] {
					others.inbox.put(request{seat: s, ask: askLeave, bye: true})
				}
				if err := a.net.Run(5 * time.Second); err != nil {
					t.Fatal(err)
				}
				want := 61
				if !asks {
					want = 0
				}
				own, numbers := 0, 0
				for _, m := range a.members {
					if m.Entity == a.own {
						own++
						if tt.vias && m.Via.Dialect() != d.name {
							t.Errorf("its own dialect is %q", m.Via.Dialect())
						}
					} else if m.Entity != 0 {
						numbers++
					}
					if m.Entity != a.own && m.Via != 0 {
						t.Errorf("%s is at a desk, and not over %q", m.Name, m.Via.Dialect())
					}
				}
				if len(a.members) != want || own != min(want, 1) || (numbers == 0) != (tt.hidden || !asks) {
					t.Errorf("%+v: it knows of %d, want %d; itself %d times, and %d numbers", tt, len(a.members), want, own, numbers)
				}
			}
		})
	}
}
