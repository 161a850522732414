package gateway

import (
	"context"
	"testing"

	"parley/world"
)

// desk is a dialect without a wire: what the hub does with seats is tried with it.
type desk struct {
	inbox   inbox
	heard   []string // lines that were said: name and text
	refused []result
	stall   func() // what a tick's publishing does besides
	radius  float64
	tell    func(s *Seat) // what else it does for each seat
}

func (d *desk) Name() string                   { return "desk" }
func (d *desk) requests() *inbox               { return &d.inbox }
func (d *desk) visit(fn func())                { fn() }
func (d *desk) Shutdown(context.Context) error { return nil }

func (d *desk) view() world.ViewConfig {
	return world.ViewConfig{Radius: d.radius, BytesPerTick: -1, Reliable: true}
}

func (d *desk) stage(s *side) stage { return deskStage{s, d} }

// deskStage is a room at a desk.
type deskStage struct {
	*side
	d *desk
}

func (x deskStage) end() {}

func (x deskStage) publish() {
	d := x.d
	for i := range x.room.said {
		d.heard = append(d.heard, x.room.said[i].Name+": "+string(x.room.said[i].Text))
	}
	for _, s := range x.seats {
		d.refused = append(d.refused, s.results...)
		s.upto = x.room.sim.Tick()
		if s.kicked != nil { // as a dialect does: the connection ends, and so does the seat
			d.inbox.put(request{seat: s, ask: askLeave})
			continue
		}
		for s.view.Next() != nil {
			s.view.Take(1)
		}
		if d.tell != nil {
			d.tell(s)
		}
	}
	if d.stall != nil {
		d.stall()
	}
}

// deskSeats are the seats of a room whose first dialect is a desk.
func (r *Room) deskSeats() []*Seat {
	if len(r.sides) == 0 || r.sides[0] == nil {
		return nil
	}
	return r.sides[0].seats
}

// sit has somebody enter.
func (d *desk) sit(name string) *Seat {
	s := d.chair()
	d.inbox.put(request{seat: s, ask: askEnter, name: name})
	return s
}

// chair is a desk's own seat.
type chair struct{ Seat }

func (d *desk) chair() *Seat {
	c := &chair{Seat{dialect: d}}
	c.own = c
	return &c.Seat
}

// refuse ends the connection, as a dialect does.
func (c *chair) refuse(error) { c.leave(true) }

func (c *chair) welcome() {}

// newDesk is a hub with a desk.
func newDesk(t *testing.T, c Config) (*Hub, *desk) {
	t.Helper()
	if c.Game.Step == nil {
		c.Game = pawnGame()
	}
	h := must(New(c))
	d := &desk{radius: -1}
	d.inbox.knock = h.knock
	h.Add(d)
	return h, d
}

func ticks(t *testing.T, h *Hub, n int) {
	t.Helper()
	for range n {
		if err := h.Tick(); err != nil {
			t.Fatal(err)
		}
	}
}

// pawn is what a player of pawnGame has: what it did is counted, and nobody can touch
// another's.
type pawn struct {
	world.Body `parley:"speed=2"`
	Pokes      uint32
	Note       string `parley:"max=16"`
}

// poke is its action: a number, an entity of anybody's and a text.
type poke struct {
	Amount uint32
	Target world.ID
	Text   string
	Weight float64
}

func pawnGame() world.Game {
	return world.Game{
		Name: "pawns", Kinds: world.Kinds(pawn{}), Actions: world.Actions(poke{}),
		Step: func(w *world.World, inputs []world.Input) {
			for i := range inputs {
				in := &inputs[i]
				switch in.Kind {
				case world.Join:
					id := world.SpawnFor(w, in, pawn{Body: world.Body{X: float64(in.Player) * 8}})
					w.Own(in.Player, id)
				case world.Steer:
					w.Steer(in)
				case world.Act:
					if p, ok := world.Read[poke](in); ok {
						if _, own := world.Avatar[pawn](w, in.Player); own != nil {
							own.Pokes, own.Note = own.Pokes+1, p.Text[:min(len(p.Text), 16)]
							world.Done(w, in, p)
						}
					}
				}
			}
			for _, p := range world.All[pawn](w) {
				w.Move(&p.Body)
			}
		},
	}
}

// stageOf returns what a dialect keeps of the main room, once somebody has come over it.
func stageOf[S stage](h *Hub, d Dialect) (x S) {
	side := h.main.side(d)
	side.open()
	return side.stage.(S)
}
