package gateway

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"parley/internal/kit"
	"parley/internal/kit/chance"
	"parley/play/message"
	"parley/world"
)

// reader is a client that keeps a list of members, over a connection that does not always take what it is told.
type reader struct {
	*testing.T
	list  map[string]message.Member
	stuck func() bool
	most  int // bytes that a tick told
	told  []message.Member
}

// read takes what a tick tells.
func (c *reader) read(s *Seat) {
	if !s.hasNews() {
		return
	}
	b := s.appendMembers(nil, message.Big, s.rollBytes(), maxRoll)
	c.most = max(c.most, len(b))
	if c.stuck() {
		s.roll.untold()
		return
	}
	c.told = c.told[:0]
	for len(b) > 0 {
		m, rest, ok := message.ParseMember(b, message.Big)
		if !ok {
			c.Fatalf("%x is no member", b)
		}
		c.told = append(c.told, m)
		if b = rest; m.What == message.MemberLeft {
			delete(c.list, m.Name)
		} else {
			c.list[m.Name] = m
		}
	}
}

// memberRoom is a room whose players come, go, are away, come back and get other entities. Some listen.
type memberRoom struct {
	*testing.T
	h       *Hub
	d       *desk
	r       *rand.Rand
	readers map[*Seat]*reader
	other   map[world.PlayerID]bool // who is to get another entity
	hidden  bool
	sight   map[*Seat]map[uint16]bool // which numbers a client has had in sight, if a rule hides entities
}

func newMemberRoom(t *testing.T, r *rand.Rand, hidden bool) *memberRoom {
	m := &memberRoom{T: t, r: r, readers: map[*Seat]*reader{}, other: map[world.PlayerID]bool{}, hidden: hidden, sight: map[*Seat]map[uint16]bool{}}
	g := pawnGame()
	step := g.Step
	g.Step = func(w *world.World, in []world.Input) {
		step(w, in)
		for _, p := range slices.Sorted(maps.Keys(m.other)) {
			if old, ok := w.Player(p); ok {
				w.Despawn(old.Entity)
				w.Own(p, world.Spawn(w, pawn{}))
			}
		}
		clear(m.other)
	}
	if hidden {
		g.Sees = func(w *world.World, viewer world.PlayerID, e world.ID) bool {
			return (uint64(w.Owner(e))+uint64(viewer)+w.Tick()/50)%3 == 0
		}
	}
	m.h, m.d = newDesk(t, Config{Game: g})
	m.d.tell = m.tell
	return m
}

func (m *memberRoom) tell(s *Seat) {
	c := m.readers[s]
	if c == nil {
		return
	}
	for v := range s.view.Seen() {
		m.sight[s][v.Entity] = true
	}
	c.read(s)
	own := m.h.main.sim.Wire(m.h.main.entityOf(s.player))
	for _, x := range c.told {
		if m.hidden && x.Entity != 0 && x.Entity != own && !m.sight[s][x.Entity] {
			m.Fatalf("%s is told the number of %+v, which it has never seen", s.player.Name, x)
		}
	}
	c.told = c.told[:0]
}

// listen has a player's client listen.
func (m *memberRoom) listen(s *Seat) *reader {
	stuck := m.r.IntN(3)
	c := &reader{T: m.T, list: map[string]message.Member{}, stuck: func() bool { return stuck > 0 && m.r.IntN(2) < stuck }}
	m.readers[s], m.sight[s] = c, map[uint16]bool{}
	m.d.inbox.put(request{seat: s, ask: askMembers})
	return c
}

// want is what a client is to know when it has read all.
func (m *memberRoom) want(s *Seat) (list []string) {
	r := m.h.main
	for _, p := range r.Players() {
		e := r.entityOf(p)
		wire := r.sim.Wire(e)
		if m.hidden && p != s.player && !m.sight[s][wire] {
			wire = 0
		}
		list = append(list, fmt.Sprint(p.Name, " ", wire, " ", p.Away()))
	}
	slices.Sort(list)
	return list
}

func (c *reader) has() (list []string) {
	for _, x := range c.list {
		list = append(list, fmt.Sprint(x.Name, " ", x.Entity, " ", x.What == message.MemberAway))
	}
	slices.Sort(list)
	return list
}

// act has something happen.
func (m *memberRoom) act() {
	r := m.h.main
	seats := r.deskSeats()
	players := r.Players()
	switch k := m.r.IntN(10); {
	case (k < 4 || len(players) < 2) && len(players) < 60:
		m.d.sit(fmt.Sprintf("%s-%d", strings.Repeat("n", m.r.IntN(30)), m.r.IntN(1000)))
	case k == 4 && len(seats) > 0:
		m.d.inbox.put(request{seat: seats[m.r.IntN(len(seats))], ask: askLeave, bye: true})
	case k == 5 && len(seats) > 0:
		s := seats[m.r.IntN(len(seats))]
		s.known = true
		m.d.inbox.put(request{seat: s, ask: askLeave})
	case k < 8 && len(r.away) > 0:
		p := r.away[m.r.IntN(len(r.away))]
		s := m.d.chair()
		s.pass = &Pass{Kind: message.PassSession, token: p.tokens[len(p.tokens)-1]}
		m.d.inbox.put(request{seat: s, ask: askEnter})
	case k == 8 && !m.hidden:
		m.other[players[m.r.IntN(len(players))].ID] = true
	case len(seats) > 0:
		if s := seats[m.r.IntN(len(seats))]; m.readers[s] == nil {
			m.listen(s)
		}
	}
}

// Whatever happens in a room, and whenever a client begins to listen: once it has read all, it knows who is there, who of them is away, and
// their entities. In a game with a rule it is never told the number of an entity that it has not had in sight. A tick tells it a bounded
// number of bytes.
func TestClientsKnowWhoIsThere(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		for _, seed := range chance.Seeds(max(kit.Tier(2, 20, 200), 2)) {
			m := newMemberRoom(t, rand.New(rand.NewPCG(seed, 0)), hidden)
			for range 400 {
				for range m.r.IntN(6) {
					m.act()
				}
				ticks(t, m.h, 1)
				for s := range m.readers {
					if s.left {
						delete(m.readers, s)
					}
				}
			}
			for _, c := range m.readers {
				c.stuck = func() bool { return false }
			}
			rest := 2 * m.h.cfg.TickRate
			if hidden { // until each has been in sight of each
				rest = 200
			}
			ticks(t, m.h, rest+1)
			if len(m.readers) == 0 {
				t.Fatalf("seed=%d: nobody listens", seed)
			}
			for s, c := range m.readers {
				want := m.want(s)
				if got := c.has(); !slices.Equal(got, want) {
					t.Fatalf("seed=%d: %s knows\n%s\nwant\n%s", seed, s.player.Name, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if c.most > maxRoll {
					t.Fatalf("seed=%d: a tick told %d bytes", seed, c.most)
				}
			}
			if n := len(m.h.main.members.list); n > 2*len(m.h.main.players)+2*maxDeparted {
				t.Fatalf("seed=%d: the list has %d changes of %d players", seed, n, len(m.h.main.players))
			}
		}
	}
}
