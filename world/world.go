package world

import (
	"unicode/utf8"
	"unsafe"
)

// A Game is the code of a game: kinds, actions and one function. Game must not be changed
// after use.
type Game struct {
	// Name is kept in recordings, so that a recording is not replayed with another game.
	Name string

	// Version tells builds of a game apart whose Step may differ. It is kept in logs and snapshots: a world that another version
	// has made goes on from its newest state. It has at most 255 bytes.
	Version string

	Kinds   KindList   // world.Kinds(Ship{}, Shot{})
	Actions ActionList // world.Actions(Fire{})

	// Step runs one tick of the world: it applies the inputs and moves the entities. It
	// uses nothing but w, and takes random numbers from w.Random only. When an input comes
	// late, Step is called again for past ticks, and must do the same again.
	Step func(w *World, in []Input)

	// Setup fills the world before its first tick. It may be nil.
	Setup func(w *World)

	// Terrain makes a chunk: it fills the cells of chunk (bx, by), which are 0 before. Its lower left corner is at (bx*ChunkSide,
	// by*ChunkSide): Place(bx, by, cx, cy) is the middle of the cell cells[cy*ChunkSide+cx]. It
	// must depend on its arguments only, as chunks are made when they are first needed. nil
	// means 0 everywhere.
	Terrain func(seed uint64, bx, by int16, cells *Cells)

	// CellTypes are the properties of cells, by value. Values beyond the list are like
	// Cell{}.
	CellTypes []Cell

	// Hitboxes are the outlines of sprites, by number. Sprites beyond the list have none.
	Hitboxes []Hitbox

	// Sees reports whether a player may see an entity that is in range: for teams, fog and hidden hands. nil means yes. Viewer 0 stands
	// for all spectators. A player always sees its own entity (see Own), and Sees is not asked. An entity that it may not see any more
	// leaves its sight, as if it had gone out of range, and comes back with all its values.
	//
	// Sees is called at the end of each tick, for each viewer and each entity in range of it. It must change nothing, and depend on
	// nothing but w and its arguments. A panic in it ends the room, as one of Step does. A field of type ID is told as a number to
	// everybody who sees the entity that has it, also if the number is that of a hidden entity.
	Sees func(w *World, viewer PlayerID, e ID) bool

	// May reports whether a player may steer an entity other than its own (see Own). nil
	// means no.
	May func(w *World, p PlayerID, id ID) bool

	schema *Schema // see Prepare
}

// A World is the state of a game at one tick. Step and Setup are given a World that is
// valid only during that call. It belongs to one goroutine.
type World struct {
	game   *Game
	schema *Schema
	seed   uint64

	// What is state: copied for history, and hashed.
	tick    uint64
	random  Random
	tables  []*table
	players players
	terrain terrain
	ending  ending

	// What follows from it.
	where lookup[ID] // kind<<16 | row, by ID
	grid  grid       // of the bodies, when first asked for in a step
	fresh bool       // the grid is of this step

	history *history // of the Sim, for At

	rate int    // ticks a second
	mode string // Config.Mode

	// How many places far away a player has claimed in this step.
	claimant PlayerID
	claims   int

	born  uint32 // entities that the world itself created in this step
	setUp uint32 // those that Setup created, before the first
	stats *Stats
}

func newWorld(g *Game, s *Schema, c *Config, stats *Stats) *World {
	seed := c.Seed
	w := &World{game: g, schema: s, seed: seed, rate: c.TickRate, mode: c.Mode, stats: stats}
	w.random.state = mix(seed)
	for _, k := range s.Kinds {
		w.tables = append(w.tables, newTable(k))
	}
	w.terrain.init(g, seed)
	return w
}

// Tick returns the number of the tick, from 0.
func (w *World) Tick() uint64 { return w.tick }

// TickRate returns the number of ticks a second.
func (w *World) TickRate() int { return w.rate }

// Seed returns the world's seed.
func (w *World) Seed() uint64 { return w.seed }

// Mode returns Config.Mode.
func (w *World) Mode() string { return w.mode }

// Random returns the world's random source.
func (w *World) Random() *Random { return &w.random }

// Schema returns the kinds and actions of the game.
func (w *World) Schema() *Schema { return w.schema }

// begin starts a step.
func (w *World) begin(tick uint64) {
	w.tick, w.born, w.fresh, w.claimant, w.claims = tick, 0, false, 0, 0
	if tick == 0 {
		w.born = w.setUp // they have the IDs of tick 0 too
	}
}

// settle ends a step: it makes what the game left behind fit to be told. A float
// that is NaN or infinite becomes 0, a string is cut to its size and to UTF-8.
// What the schema quantises is rounded. before is the world at the beginning of the step, nil after Setup.
func (w *World) settle(before *snapshot) {
	for _, t := range w.tables {
		k := t.kind
		for row := t.next(0); row >= 0; row = t.next(row + 1) {
			p := t.at(row)
			for i := range k.floats {
				if k.floats[i].scrub(p) {
					w.stats.NotFinite++
				}
			}
			for _, i := range k.texts {
				s := k.Fields[i].text(p)
				*s = fitText(*s, k.Fields[i].Max)
			}
			if k.placed || k.angled || k.rounds != nil {
				w.round(t, row, before)
			}
			if k.HasBody {
				(*Body)(unsafe.Add(p, k.body)).notice(w.tick)
			}
		}
	}
}

// fitText cuts a text to a size, and to what is UTF-8 of it.
func fitText(s string, max int) string {
	s = s[:min(len(s), max)]
	for i, r := range s {
		if r != utf8.RuneError {
			continue
		}
		// The character itself has three bytes; what is broken counts as one.
		if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
			return s[:i]
		}
	}
	return s
}
