package world

import (
	"iter"
	"math"
	"math/bits"
)

// A ViewConfig sets what a player sees and how changes are sent. The zero value is usable.
type ViewConfig struct {
	// Radius is the distance from its own entity up to which a player sees, in cells. 0 means 128; negative means
	// everything.
	Radius float64

	// Hysteresis is the extra distance at which an entity leaves sight, so that an entity at the edge does not enter and
	// leave all the time. 0 means an eighth of Radius.
	Hysteresis float64

	// MaxPerKind bounds the entities of one kind in sight, the nearest first. 0 means no bound; replica sets 256.
	MaxPerKind int

	// BytesPerTick is the most that Take may use in a tick, in bytes and on average. Allow says less for a tick. The
	// player's own entity is told even if they are used up. 0 means 4,096; negative means no bound.
	BytesPerTick int

	// Reliable means that everything sent arrives, in order: a change counts as acknowledged when it is taken. Open,
	// Acked and Lost are then not needed.
	Reliable bool

	// PredictTicks is for clients that move bodies by their speed, as realm's do: the position of a body that moves
	// straight on is sent once in this many ticks. 0 means each tick.
	PredictTicks int

	// OwnMoves is for clients that move their own entity themselves, as realm's do: they are not sent their own
	// accepted moves. The entity's position, angle and norm are sent after a refusal (Correct), and when the game
	// itself has changed them.
	OwnMoves bool

	// Countdowns is for clients that count down themselves, as realm's do: a countdown is sent when it is set.
	Countdowns bool

	// CorrectTicks is the least number of ticks between two corrections of the player's own entity. The first is sent at
	// once. 0 means each tick.
	CorrectTicks int

	// SightOnly makes the view yield Entered and Left only, for a gateway that gets the other changes from Sim.Changes.
	SightOnly bool

	// Copy means that the view is a gateway's own copy of the world, not a client's: clients are told of its entities
	// only if they are in sight of the clients' own views.
	Copy bool
}

// A What is the kind of a change.
type What uint8

// The kinds of changes.
const (
	Entered What = iota + 1 // the entity came into sight: all fields
	Changed                 // the fields of Mask
	Left                    // the entity is gone, or out of sight: no fields
)

var whatNames = [...]string{"unset", "entered", "changed", "left"}

func (w What) String() string { return nameIn(whatNames[:], int(w)) }

// A Change is something to tell a client about an entity. Its values are those of the last Advance.
type Change struct {
	What   What
	Kind   *Kind
	Entity uint16 // the number by which clients know it
	ID     ID
	Owner  PlayerID
	Mask   uint64 // a bit for each of Kind.Fields

	slot   uint32 // of what has Left the serial of its departure
	at     uint32 // which of the view's entries, if Next returned it
	public *published
}

// Has reports whether a field is in Mask.
func (c *Change) Has(field int) bool { return c.Mask>>field&1 != 0 }

// Value returns the newest value of a field, changed or not. An Entity is the number of a living entity, or 0. A Left
// has no values.
func (c *Change) Value(field int) Value {
	if c.What == Left {
		return Value{}
	}
	return c.public.value(int(c.slot), field, &c.Kind.Fields[field])
}

// A View is what one player sees, and what its client has been told of that. After each Advance, call Update, then Allow if
// the path to the client is narrow, then Next and Take until Next returns nil. Between two Advances, several goroutines may each use a view of their own, as long as
// none changes the Sim. NewView and Close change it.
type View struct {
	sim     *Sim
	player  PlayerID
	offered bool // next was neither taken nor skipped
	own     int  // the slot of its player's own entity, or -1
	updated uint64
	budget  int
	x, y    float64 // where it looks from
	limit   float64 // the square of the distance at which something leaves
	scale   float64 // makes the square of a distance a loss of urgency
	config  ViewConfig
	plain   bool // all that changes is told: the configuration leaves nothing out
	entries entries
	flight  flight
	rule    *rule // nil: all that is in range is in sight

	wrong     bool   // the player's own entity is to be corrected
	refused   uint64 // the newest tick of which something was refused
	corrected uint64 // the publication in which the player's own entity was last told as it did not expect

	narrow bool       // the last tick was allowed less than it could have used
	urgent []pressing // what is to be told
	queue  []pressing // a heap of the most urgent of it
	rest   []pressing // the rest
	near   []uint64   // newcomers, and their distances
	next   Change     // what Next returned

	leaving []departure
	unsent  int    // of those
	serial  uint32 // of the last entry or departure
	perKind []int  // how many of each are in sight

	// Numbers that it has come to hold and has let go of. The book is for all views,
	// and hears of them at the next Advance.
	held, released []uint16

	place int // in sim.views
}

// A departure is an entity that the client is to forget.
type departure struct {
	kind   *Kind
	wire   uint16
	sent   bool
	serial uint32
	passed uint64 // the publication in which Skip passed over it
}

// NewView returns the view of a player, or of a spectator if p is 0. Close it when its client is gone.
func (s *Sim) NewView(p PlayerID, c ViewConfig) *View {
	if c.Radius == 0 {
		c.Radius = 128
	}
	if c.Hysteresis == 0 {
		c.Hysteresis = c.Radius / 8
	}
	if c.BytesPerTick == 0 {
		c.BytesPerTick = 4096
	}
	v := &View{sim: s, place: len(s.views), player: p, config: c, rule: s.ruleFor(p, &c), own: -1, perKind: make([]int, len(s.schema.Kinds))}
	v.plain = c.isPlain()
	v.limit = math.Inf(1)
	if c.Radius >= 0 {
		edge := c.Radius + c.Hysteresis
		v.limit = float64(edge * edge)
		v.scale = nearUrgency / v.limit
	}
	s.views = append(s.views, v)
	return v
}

func (c *ViewConfig) isPlain() bool {
	return !c.SightOnly && !c.OwnMoves && !c.Countdowns && c.PredictTicks == 0
}

// hearViews tells the book what views hold.
func (s *Sim) hearViews() {
	for _, v := range s.views {
		v.tellBook()
	}
}

func (v *View) tellBook() {
	for _, wire := range v.held {
		v.sim.book.hold(wire, !v.config.Copy)
	}
	for _, wire := range v.released {
		v.sim.book.letGo(wire)
	}
	v.held, v.released = v.held[:0], v.released[:0]
}

// LookFrom sets the position from which a view looks while its player has no entity.
func (v *View) LookFrom(x, y float64) { v.x, v.y = x, y }

// Player returns the player of the view, 0 for a spectator.
func (v *View) Player() PlayerID { return v.player }

// Sees reports whether an entity is in sight.
func (v *View) Sees(id ID) bool {
	i, ok := v.sim.public.slotOf.get(id)
	if ok {
		_, ok = v.known(i)
	}
	return ok
}

// known returns where the entry of a slot is, if it is that of who is in the slot now.
func (v *View) known(i uint32) (at uint32, ok bool) {
	at, ok = v.entries.of(i)
	return at, ok && v.entries.all[at].born == uint32(v.sim.public.slots[i].born)
}

// Own returns the player's own entity as Entered, whether or not it has changed, if the player has one that clients know. It is for a
// dialect that tells it with each tick. Call it after Update.
func (v *View) Own() (c Change, ok bool) {
	if v.own < 0 {
		return c, false
	}
	if _, ok = v.known(uint32(v.own)); !ok {
		return c, false
	}
	c = v.changeOf(uint32(v.own))
	c.What, c.Mask = Entered, allFields(c.Kind)
	return c, true
}

// OwnMoves sets ViewConfig.OwnMoves from now on: the player is no longer sent its own moves.
func (v *View) OwnMoves() { v.config.OwnMoves, v.plain = true, false }

// SightOnly sets ViewConfig.SightOnly from the next Update on. When it is turned off, all that has changed since it came
// into sight is to be told.
func (v *View) SightOnly(on bool) {
	v.config.SightOnly = on
	v.plain = v.config.isPlain()
}

// Correct makes the view send the newest position, angle and norm of an entity again, after a client was refused
// something and has a wrong state. For an entity without a body, all fields are sent.
func (v *View) Correct(id ID) { v.Refused(id, v.sim.now) }

// Refused is Correct for an input of a given tick. Inputs that a client sent before it got a correction are refused
// too. They cause no further correction: the player's own entity is not sent if a position of a later tick was
// accepted.
func (v *View) Refused(id ID, tick uint64) {
	i, ok := v.sim.public.slotOf.get(id)
	switch {
	case !ok:
	case int(i) == v.own && v.config.CorrectTicks > 0:
		v.wrong, v.refused = true, max(v.refused, tick) // the next Update looks whether it is time
	default:
		v.correct(i)
	}
}

func (v *View) correct(i uint32) {
	if at, ok := v.known(i); ok {
		e := &v.entries.all[at]
		if s := &v.sim.public.slots[i]; s.hasBody && e.known {
			e.lost |= moves
		} else {
			e.lost = allFields(s.kind)
		}
		e.urgency = min(e.urgency+ownUrgency, mostUrgency)
	}
}

// moves are the fields that tell how a body moves.
const moves = 1<<FieldX | 1<<FieldY | 1<<FieldAngle | 1<<FieldNorm

// Seen iterates over all entities in sight, as Entered, whether or not the client was told of them before. It is for
// a dialect whose clients can ask for everything at once.
func (v *View) Seen() iter.Seq[Change] {
	return func(yield func(Change) bool) {
		for _, x := range v.entries.list {
			if _, ok := v.known(x.slot); !ok || v.isStale() {
				continue
			}
			c := v.changeOf(x.slot)
			c.What, c.Mask = Entered, allFields(c.Kind)
			if !yield(c) {
				return
			}
		}
	}
}

func (v *View) changeOf(i uint32) Change {
	p := &v.sim.public
	s := &p.slots[i]
	return Change{What: Changed, Kind: s.kind, Entity: s.wire, ID: s.id, Owner: s.owner, slot: i, public: p}
}

// Close releases the numbers that the view holds. The view is not usable afterwards.
func (v *View) Close() {
	for _, x := range v.entries.list {
		v.released = append(v.released, v.entries.all[x.at].wire)
	}
	for _, d := range v.leaving {
		v.released = append(v.released, d.wire)
	}
	v.tellBook()
	if list := v.sim.views; v.place < len(list) && list[v.place] == v {
		last := len(list) - 1
		list[v.place] = list[last]
		list[v.place].place = v.place
		list[last] = nil
		v.sim.views = list[:last]
	}
	*v = View{sim: v.sim, own: -1, perKind: make([]int, len(v.perKind))}
}

// Fields iterates over the fields of a mask, the lowest first.
func Fields(mask uint64) iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; mask != 0; mask &= mask - 1 {
			if !yield(bits.TrailingZeros64(mask)) {
				return
			}
		}
	}
}
