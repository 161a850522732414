package world

import (
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

// An InputKind is the kind of an input.
type InputKind uint8

// The kinds of inputs. Chat is not an input: it is not part of the state and does not reach the world.
const (
	Join  InputKind = iota + 1 // a new player: give it an entity
	Leave                      // the player leaves: the entities that it still owns after Step are removed
	Steer                      // an entity is to move: w.Steer does it
	Act                        // an action: Read returns its parameters, Done reports it
	Away                       // the player's connection is gone. The player stays, until Back or Leave
	Back                       // the player's client is there again
)

var inputNames = [...]string{"unset", "join", "leave", "steer", "act", "away", "back"}

func (k InputKind) String() string { return nameIn(inputNames[:], int(k)) }

// Steering is a client's request to move an entity.
type Steering struct {
	Entity   ID
	X, Y     float64
	Angle    float32
	Norm     float32
	HasPlace bool // X and Y are given
	Told     bool // X and Y are in the cell that the client was told last, by a gateway that sends whole cells
	Cell     bool // X and Y are the middle of a cell, and the client is somewhere in that cell
	HasAngle bool
	HasNorm  bool
}

// finite reports whether all that is given is finite.
func (s *Steering) finite() bool {
	return (!s.HasPlace || s.X-s.X == 0 && s.Y-s.Y == 0) &&
		(!s.HasAngle || s.Angle-s.Angle == 0) && (!s.HasNorm || s.Norm-s.Norm == 0)
}

// An Input is something that a player asks for in a tick. Step gets the inputs of a tick in the order of their players' IDs, and
// those of one player in the order of arrival. An Act of player 0 is the world's own: see Sim.Inject.
type Input struct {
	Kind   InputKind
	Player PlayerID
	Tick   uint64
	Name   string   // for Join
	Steer  Steering // for Steer
	Action *Action  // for Act
	Shown  uint64   // for Steer and Act: the tick of the others that the player saw, for World.At; 0 if the client does not say

	params *params // of Act
	child  ID      // the first entity created for it
	tag    uint32  // the gateway's own
	index  int32   // of the input in its tick's list, for the copy that Step gets
	temp   uint16  // the number that the client gave to what its action creates
	born   uint16  // entities created for it so far

	order   uint8  // among this player's inputs of the tick
	outcome Reason // what Step made of it
	told    Reason // what the gateway knows of that
	toldID  bool   // and that the child's number was told
}

// params are the parameters of an action. They stand apart from the input, which
// mostly has none and is copied several times.
type params = [MaxParams]Value

// keep puts the parameters of an input, if it has some, into a list that lives as
// long as the input.
func (in *Input) keep(list *[]params) {
	if in.params != nil {
		*list = append(*list, *in.params)
		in.params = &(*list)[len(*list)-1]
	}
}

// take takes the parameters of an action that a client asks for, with byWire to find entities by the numbers that it knows. temp is the
// temporary number among them, 0 if there is none.
func (a *Action) take(to *params, asked []Value, byWire func(uint16) ID) (temp uint16, ok bool) {
	if a == nil || len(asked) != len(a.Fields) {
		return 0, false
	}
	clear(to[:])
	for i, v := range asked {
		f := &a.Fields[i]
		if v.Type != f.Type || !v.Finite() || len(v.text) > f.Max {
			return 0, false
		}
		v = f.rounded(v)
		if v.Type == Entity {
			if v.bits >= TempEntity && v.bits < 1<<16 {
				temp = uint16(v.bits)
			}
			v.bits = uint64(byWire(uint16(min(v.bits, 1<<16-1))))
		}
		to[i] = v
	}
	return temp, true
}

// A Reason is the outcome of an input.
type Reason uint8

// The outcomes of an input. Calls that submit an input return Accepted if it is valid so far. All other reasons are refusals.
const (
	Accepted    Reason = iota + 1
	Ignored            // Step did not handle it
	Denied             // the game refused it
	TooOld             // more than MaxRollbackTicks late
	TooEarly           // more than 2 ticks ahead
	TooMany            // more than 32 inputs of a player in a tick
	OverBudget         // never used. It keeps the later numbers as they are: duplex sends a number as its status
	Absent             // the player was not in the world at that tick
	NoEntity           // the entity did not exist at that tick
	NotYours           // an entity that the player may not steer
	TooFast            // a norm below 0 or over the kind's maximum
	Unreachable        // the entity could not have reached the position
	Blocked            // the position is not passable
	Malformed          // a float that is not finite, or wrong parameters for the action

	// Later is no refusal by the world: the entry of the next tick is full (see Sim.Full), and the caller submits the input again after
	// Advance. It is not counted.
	Later
)

var reasonNames = [...]string{"unset", "accepted", "ignored", "denied", "too old", "too early", "too many", "over budget",
	"absent", "no entity", "not yours", "too fast", "unreachable", "blocked", "malformed", "later"}

func (r Reason) String() string { return nameIn(reasonNames[:], int(r)) }

// Refused reports whether r is a refusal.
func (r Reason) Refused() bool { return r > Accepted }

// Read returns the parameters of an action, if the action is T.
func Read[T any](in *Input) (v T, ok bool) {
	if in.Action == nil || in.Action.typ != reflect.TypeFor[T]() {
		return v, false
	}
	if in.params != nil { // a test may have made the input
		for i := range in.Action.Fields {
			in.Action.Fields[i].setValue(unsafe.Pointer(&v), in.params[i])
		}
	}
	return v, true
}

// Done reports that an action was done. Players who see the actor are told these parameters. Done panics if the action is not T.
func Done[T any](w *World, in *Input, v T) {
	if in.Action == nil || in.Action.typ != reflect.TypeFor[T]() {
		panic(fmt.Sprintf("world: Done with a %v for an input that %s: call it with what Read has returned", reflect.TypeFor[T](), in.asks()))
	}
	if in.params == nil {
		in.params = new(params)
	}
	in.Action.values(unsafe.Pointer(&v), in.params, w.stats)
	in.outcome = Accepted
}

// asks says what an input is.
func (in *Input) asks() string {
	if in.Action == nil {
		return "is " + in.Kind.String()
	}
	return "asks for " + in.Action.typ.String()
}

// Deny refuses an input, such as an action on cool-down or a Steer of a stunned player. The client is told, and corrected.
func (w *World) Deny(in *Input) { in.outcome = Denied }

// Steer checks a client's request to move an entity, and applies or refuses it. With a norm below 0 or above the kind's
// maximum, the whole request is refused. A position is accepted if it is passable, if the straight way to it is free, and if
// the entity could have walked there since its last accepted position, with a grace of 2 cells. The position may be at most 2
// cells and one second's walk away. A claim of the cell that the server told last is not a move, and is always accepted. If
// the position is refused, angle and norm are still applied. After a refusal the client is corrected.
func (w *World) Steer(in *Input) Reason {
	in.outcome = w.steer(in)
	return in.outcome
}

func (w *World) steer(in *Input) Reason {
	s := &in.Steer
	at, ok := w.where.get(s.Entity)
	if !ok || !w.tables[at>>16].kind.HasBody {
		return NoEntity
	}
	t, row := w.tables[at>>16], int(at&0xffff)
	// Owning is not enough: whoever threw a ball does not steer it.
	p, _ := w.Player(in.Player)
	if p.Entity != s.Entity && (w.game.May == nil || !w.game.May(w, in.Player, s.Entity)) {
		return NotYours
	}
	b := t.body(row)
	if s.HasNorm && !(s.Norm >= 0 && s.Norm <= float32(t.kind.MaxSpeed)) {
		return TooFast
	}
	own := p.Entity == s.Entity && b.sum() == b.moved
	why := Accepted
	if s.HasPlace {
		why = w.claim(t.kind, b, in)
	}
	if s.HasAngle {
		b.Angle = t.kind.roundBody(FieldAngle, s.Angle)
	}
	if s.HasNorm {
		b.Norm = t.kind.steered(s.Norm)
	}
	if own {
		b.moved = b.sum()
	}
	return why
}

// claim takes a place, or says why not.
func (w *World) claim(k *Kind, b *Body, in *Input) Reason {
	s := &in.Steer
	if s.Cell {
		s.X, s.Y = nearest(s.X, b.X), nearest(s.Y, b.Y)
	}
	var inside bool
	if s.X, s.Y, inside = k.snap(s.X, s.Y); !inside {
		return Unreachable
	}
	overdrawn, why := w.reachable(k, b, in)
	if why.Refused() {
		if s.Told {
			return Accepted // no move: the client believes what it was told, and is told anew when that changes
		}
		return why
	}
	b.X, b.Y = s.X, s.Y
	b.settleAt(w.tick)
	b.overdrawn = overdrawn
	return Accepted
}

// nearest returns the number of a whole cell that is nearest to where a body is, in one direction. Were it the middle, the way of
// a body that walks at a slant would be a staircase and longer than what it has walked.
func nearest(claimed, at float64) float64 {
	low := math.Floor(claimed)
	return max(low, min(at, math.Nextafter(low+1, low)))
}

// reachable judges a place by its distance from the last accepted one, and by the way from where the
// body is. The grace is an overdraft that later ticks pay back: were it granted anew with each
// place, a client that sends one each tick would be 2 cells a tick faster. If the middle of the
// claimed cell is blocked and its corner is not, the place becomes the corner: clients that keep whole
// cells judge by that.
func (w *World) reachable(k *Kind, b *Body, in *Input) (overdrawn float64, why Reason) {
	s := &in.Steer
	walked := float64(float64(w.tick-b.knownAt) * k.MaxSpeed)
	overdrawn = max(0, b.overdrawn+Hypot(s.X-b.knownX, s.Y-b.knownY)-walked-float64(walked*payback))
	far := Hypot(s.X-b.X, s.Y-b.Y)
	switch {
	case overdrawn > moveGrace || far > moveGrace+min(walked, float64(float64(w.rate)*k.MaxSpeed)):
		return 0, Unreachable
	case far > moveGrace && !w.mayLookFar(in.Player):
		return 0, Unreachable
	}
	h := w.Hitbox(b)
	if s.Cell && s.X == b.X && s.Y == b.Y {
		return overdrawn, Accepted // it is there
	}
	if s.Cell && !w.Free(s.X, s.Y, h) {
		s.X, s.Y, _ = k.snap(math.Floor(s.X)+.5, math.Floor(s.Y)+.5)
	}
	if !w.Free(s.X, s.Y, h) {
		if s.X, s.Y, _ = k.snap(math.Floor(s.X), math.Floor(s.Y)); !w.Free(s.X, s.Y, h) {
			return 0, Blocked
		}
	}
	if !w.clear(b, s.X, s.Y, h) {
		return 0, Blocked
	}
	return overdrawn, Accepted
}

// mayLookFar counts the claims of a player in this step whose way is long to look at.
func (w *World) mayLookFar(p PlayerID) bool {
	if w.claimant != p {
		w.claimant, w.claims = p, 0
	}
	w.claims++
	return w.claims <= maxFarClaims
}
