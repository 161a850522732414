package world

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"parley/internal/promise"
)

// A client is a model of one: it gets packets, some of them late, twice or not
// at all, and keeps what they say. It knows for each packet which entities it
// means, which a true client cannot: so it sees a number that was confused.
type client struct {
	t    testing.TB
	view *View
	rand *rand.Rand
	loss float64

	narrow bool               // its path takes a few changes a tick
	may    func(*Change) bool // whether it may be told; nil: all

	flying []flying
	has    map[uint16]*copied
	newest map[uint16]uint64 // the packet that spoke last of a number
}

type copied struct {
	id     ID
	kind   *Kind
	values map[int]Value
	newest map[int]uint64
	whole  bool
}

type flying struct {
	number  uint64
	arrives uint64 // the tick
	lost    bool
	told    []told
}

type told struct {
	what   What
	wire   uint16
	id     ID
	kind   *Kind
	values map[int]Value
}

func newClient(t testing.TB, v *View, r *rand.Rand, loss float64) *client {
	return &client{t: t, view: v, rand: r, loss: loss, has: map[uint16]*copied{}, newest: map[uint16]uint64{}}
}

// tick sends what the view has, and receives what has arrived.
func (c *client) tick(now uint64) int {
	c.view.Update()
	if c.narrow {
		c.view.Allow(c.rand.IntN(60))
	}
	changes := 0
	for c.view.Next() != nil {
		f := flying{number: c.view.Open(), arrives: now + uint64(c.rand.IntN(6)), lost: c.rand.Float64() < c.loss}
		for ch := c.view.Next(); ch != nil && len(f.told) < 20; ch = c.view.Next() {
			if c.may != nil && ch.What != Left && !c.may(ch) {
				c.t.Fatalf("tick %d: player %d is told of %v", now, c.view.Player(), ch.ID)
			}
			x := told{ch.What, ch.Entity, ch.ID, ch.Kind, map[int]Value{}}
			for i := range Fields(ch.Mask) {
				x.values[i] = ch.Value(i)
			}
			f.told = append(f.told, x)
			c.view.Take(10)
			changes++
		}
		c.flying = append(c.flying, f)
	}
	for i := 0; i < len(c.flying); i++ {
		f := c.flying[i]
		if f.arrives > now {
			continue
		}
		c.flying = append(c.flying[:i], c.flying[i+1:]...)
		i--
		if f.lost {
			c.view.Lost(f.number)
			continue
		}
		c.receive(f)
		c.view.Acked(f.number)
	}
	return changes
}

// receive is what the dialects do: "newest wins", and values older than a
// departure are dropped.
func (c *client) receive(f flying) {
	for _, x := range f.told {
		if x.what == Left {
			if f.number > c.newest[x.wire] {
				if e := c.has[x.wire]; e != nil && e.id != x.id {
					c.t.Fatalf("number %d: %v left, and the client has %v", x.wire, x.id, e.id)
				}
				delete(c.has, x.wire)
				c.newest[x.wire] = f.number
			}
			continue
		}
		e := c.has[x.wire]
		if e == nil {
			if f.number < c.newest[x.wire] {
				continue // it has left since
			}
			e = &copied{id: x.id, kind: x.kind, values: map[int]Value{}, newest: map[int]uint64{}}
			c.has[x.wire] = e
		}
		if e.id != x.id || e.kind != x.kind {
			c.t.Fatalf("number %d is %v and %v", x.wire, e.id, x.id)
		}
		c.newest[x.wire] = max(c.newest[x.wire], f.number)
		e.whole = e.whole || x.what == Entered
		for i, v := range x.values {
			if f.number >= e.newest[i] {
				e.values[i], e.newest[i] = v, f.number
			}
		}
	}
}

// wantSame checks that the client has what is in its sight, and that all of it
// is as published.
func (c *client) wantSame() {
	c.t.Helper()
	n := 0
	for ch := range c.view.Seen() {
		n++
		e := c.has[ch.Entity]
		if e == nil || !e.whole {
			c.t.Fatalf("the client does not know %v (%d)", ch.ID, ch.Entity)
		}
		for i := range ch.Kind.Fields {
			if e.values[i] != ch.Value(i) {
				c.t.Fatalf("%v: %s is %v, and the client has %v", ch.ID, ch.Kind.Fields[i].Name, ch.Value(i), e.values[i])
			}
		}
	}
	if n != len(c.has) {
		c.t.Fatalf("%d in sight, and the client has %d", n, len(c.has))
	}
}

// T52 too: under loss and reordering a client ends up with the truth, and no
// number is ever confused, though they are used again at once.
func TestClientsEndUpWithTheTruth(t *testing.T) {
	r := newRand(t)
	for round := range max(5, promise.Keeps(t, "T52", "world", rounds(150, 5_000))) {
		s := newSim(t, Config{Seed: r.Uint64(), MaxRollbackTicks: 6, ReuseTicks: 12})
		var clients []*client
		var players []PlayerID
		for i := range 3 {
			p := join(t, s, fmt.Sprint(i))
			c := ViewConfig{Radius: 10 + r.Float64()*60, BytesPerTick: 100 + r.IntN(2000)}
			if i == 0 {
				c.Radius = -1
			}
			players = append(players, p)
			clients = append(clients, newClient(t, s.NewView(p, c), r, float64(1+round)*0.1-float64(round/5)*0.5))
			clients[i].narrow = i == 2
		}
		for range 60 {
			for _, p := range players {
				tick := s.Tick() - min(s.Tick(), uint64(r.IntN(6)))
				s.Steer(p, tick, steer(r.Float32()*6, r.Float32()*1.5), 0)
				if r.IntN(3) == 0 {
					s.Act(p, tick, s.Schema().Action(0), sowing(float64(r.Float32())*6, 0), 0)
				}
			}
			s.Advance()
			for _, c := range clients {
				c.tick(s.Tick())
			}
		}
		// Let the world stand still, and all arrive.
		still := s.Tick()
		for range 120 {
			still++
			for _, c := range clients {
				c.loss, c.narrow = 0, false
				c.view.updated = 0
				c.tick(still)
			}
		}
		for _, c := range clients {
			c.wantSame()
			c.view.Close()
		}
		for wire := range s.book.pages {
			if s.book.pages[wire].holds != 0 {
				t.Fatalf("number %d is held %d times by views that are closed", wire, s.book.pages[wire].holds)
			}
		}
	}
}
