package main

import "parley/world"

// The field: the red half is on the left, the blue one on the right. A match goes to three flags.
const (
	width, height = 60, 16
	goal          = 3
	speed         = .6  // cells a tick, as Runner's tag says
	reach         = 1.5 // how far a runner reaches, to tag and to take a flag
	wall          = 1   // the value of a solid cell
)

// Runner is a player's own entity.
type Runner struct {
	world.Body `parley:"speed=0.6"`
	Team       uint8 // 0 is red, 1 is blue
	Name       string
	Rest       uint16 `parley:"countdown"` // ticks until a runner who was tagged may run again
}

// Flag belongs to a team. Whoever carries it is its Carrier.
type Flag struct {
	world.Body
	Team    uint8
	Carrier world.ID
}

// Score has no body, so everybody sees it.
type Score struct{ Flags [2]uint8 }

// Tag sends the opponents within reach home, in one's own half of the field.
type Tag struct{}

var game = world.Game{
	Name: "flags", Kinds: world.Kinds(Runner{}, Flag{}, Score{}), Actions: world.Actions(Tag{}), Step: step, Setup: setup,
	Hitboxes: []world.Hitbox{world.Circle(.4)}, CellTypes: []world.Cell{wall: {Solid: true}}, Terrain: terrain,
}

// home is where a team's flag stands and its runners begin.
func home(team uint8) world.Body {
	return world.Body{X: []float64{4, width - 4}[team], Y: height / 2}
}

func setup(w *world.World) {
	for team := range uint8(2) {
		world.Spawn(w, Flag{Body: home(team), Team: team})
	}
	world.Spawn(w, Score{})
}

// terrain is a wall around the field, and one in its middle with a gate above and below.
func terrain(_ uint64, bx, by int16, cells *world.Cells) {
	for i := range cells {
		x, y := int(bx)*world.ChunkSide+i%world.ChunkSide, int(by)*world.ChunkSide+i/world.ChunkSide
		if x < 1 || x >= width || y < 1 || y >= height || x == width/2 && y > 3 && y < height-3 {
			cells[i] = wall
		}
	}
}

func step(w *world.World, inputs []world.Input) {
	for i := range inputs {
		in := &inputs[i]
		_, me := world.Avatar[Runner](w, in.Player)
		switch {
		case in.Kind == world.Join:
			team := smallerTeam(w)
			w.Own(in.Player, world.SpawnFor(w, in, Runner{Body: home(team), Team: team, Name: in.Name}))
		case me == nil || me.Rest > 0:
			w.Deny(in)
		case in.Kind == world.Steer:
			w.Steer(in)
		case in.Kind == world.Act:
			tag(w, me)
			world.Done(w, in, Tag{})
		}
	}
	w.MoveAll()
	for _, r := range world.All[Runner](w) {
		r.Rest -= min(r.Rest, 1)
	}
	for _, f := range world.All[Flag](w) {
		carry(w, f)
	}
}

func smallerTeam(w *world.World) uint8 {
	more := 0 // reds than blues
	for _, r := range world.All[Runner](w) {
		more += 1 - 2*int(r.Team)
	}
	return uint8(max(0, min(more, 1)))
}

// tag sends opponents home who are in reach, in the runner's own half.
func tag(w *world.World, me *Runner) {
	for _, r := range world.All[Runner](w) {
		if r.Team != me.Team && near(&r.Body, &me.Body) && (r.X < width/2) == (me.Team == 0) {
			r.Body, r.Rest = home(r.Team), 40
		}
	}
}

// carry has a flag go with its carrier, come home, and be taken.
func carry(w *world.World, f *Flag) {
	if by := world.Get[Runner](w, f.Carrier); by != nil && by.Rest == 0 {
		f.X, f.Y = by.X, by.Y
		if base := home(by.Team); near(&f.Body, &base) {
			score(w, by)
			f.Body, f.Carrier = home(f.Team), 0
		}
		return
	}
	if f.Carrier != 0 { // the carrier was tagged, or has left
		f.Body, f.Carrier = home(f.Team), 0
	}
	for id, r := range world.All[Runner](w) {
		if r.Team != f.Team && r.Rest == 0 && near(&r.Body, &f.Body) {
			f.Carrier = id
			return
		}
	}
}

func score(w *world.World, by *Runner) {
	for _, s := range world.All[Score](w) {
		if s.Flags[by.Team]++; s.Flags[by.Team] == goal {
			w.End([]string{"red", "blue"}[by.Team] + " wins")
		}
	}
}

func near(a, b *world.Body) bool { return world.Hypot(a.X-b.X, a.Y-b.Y) < reach }
