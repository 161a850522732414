package world

import (
	"errors"
	"fmt"
)

// A Config sets up a world. The zero Config is usable. Config must not be changed after use.
type Config struct {
	// Seed is the seed of terrain and random numbers.
	Seed uint64

	// MaxRollbackTicks is how many ticks late an input may be. 0 means 20, as in realm; negative
	// means none. Each tick holds a copy of the entities.
	MaxRollbackTicks int

	// TickRate is the number of ticks a second. 0 means 20. The world has no clock: Steer uses
	// the rate for the distance that a body may walk in a second.
	TickRate int

	// MaxShownTicks is how many ticks back a player's view of the others may be that World.At believes. 0 means a quarter of a
	// second; negative means none. Each tick holds a copy of the entities.
	MaxShownTicks int

	// ReplayBudget is how many past ticks may be run again in a tick, on average. Players share it
	// fairly. Once a player has used its share, its late inputs are applied now rather than at their
	// own tick. 0 means a quarter of MaxRollbackTicks. A budget of MaxRollbackTicks is always enough,
	// as all late inputs of one tick share one rewind.
	ReplayBudget int

	// Mode is a text that the game reads with World.Mode, such as the rules that a room plays by. It is part of the hashed
	// state, and has at most 255 bytes.
	Mode string

	// ReuseTicks is how many ticks an entity's number stays unused before another entity gets it. 0
	// means 1,200: a minute at 20 ticks a second, which is more than the 30 s that a datagram may
	// live.
	ReuseTicks int
}

// ErrFull means that no more players can join.
var ErrFull = errors.New("world: full: no more players can join")

// Stats are the counters of a Sim. Each input is counted in one of the first three.
type Stats struct {
	InputsDone    uint64 // accepted by Step, joins and leaves included
	InputsRefused uint64 // refused by Step, or before Step
	InputsPending int    // not yet run, or without a final outcome

	Refused Refusals // an input whose outcome changes is counted again

	Ticks         uint64
	Rewinds       uint64
	TicksReplayed uint64
	LateDoneNow   uint64 // late inputs that were applied at once, as their player's share of the replay budget was used up
	NotFinite     uint64 // floats that the game left NaN or infinite; they are set to 0
	SpawnsRefused uint64 // spawns of a kind that had reached its greatest number
	Unnumbered    uint64 // entities that had to wait for a number
}

// Refusals are how many inputs were refused, by Reason.
type Refusals [Malformed + 1]uint64

// Each yields the number of each reason.
func (r Refusals) Each(yield func(n uint64, labels ...string)) {
	for why := Accepted + 1; why <= Malformed; why++ {
		yield(r[why], why.String())
	}
}

// A Sim runs a game: it takes inputs, steps the world, goes back when an input is late, and publishes
// the state for views. It has no clock: its owner calls Advance once a tick. It belongs to one
// goroutine.
type Sim struct {
	game   Game
	config Config
	schema *Schema
	world  *World
	stats  Stats

	now      uint64 // the tick that Advance will run
	earliest uint64 // the oldest tick that has a late input, or now
	floor    uint64 // the oldest tick of which there is history, of a Sim that was loaded
	share    share  // of the replay budget, by player
	history  *history
	scratch  []Input  // the copy of a tick's inputs that Step may change
	params   []params // and of the parameters in it
	asked    params   // those that Act was last called with
	spare    []uint64 // for sorting

	present    []uint64 // bits of the players that have joined and not left, by number
	players    int
	lastPlayer PlayerID

	book    book
	awaited map[PlayerID]uint16 // numbers that are reserved for players' own entities
	owed    map[ID]PlayerID     // those of them that are there by now, in a publication
	public  published
	views   []*View

	spectators rule // for viewer 0
	events     []Event

	watched   bool   // facts are gathered
	concluded bool   // nothing is submitted any more: all ticks are final
	facts     []Fact // of the last Advance
	lastFact  FactPlace
	factless  bool // lastFact is not known

	log       ledger
	roll      roll
	recorder  *recorder
	replaying bool // a recording is run again
}

// New makes a world and runs Setup. It returns an error if the game is invalid.
func New(g Game, c Config) (*Sim, error) {
	s, err := emptySim(g, c)
	if err != nil {
		return nil, err
	}
	s.setUp()
	return s, nil
}

// setUp makes the state before the first tick.
func (s *Sim) setUp() {
	if s.game.Setup != nil {
		s.game.Setup(s.world)
		s.world.setUp = s.world.born
	}
	s.world.settle(nil)
	s.publish()
}

// emptySim makes a Sim without a state.
func emptySim(g Game, c Config) (*Sim, error) {
	schema, err := g.prepare(&c)
	if err != nil {
		return nil, err
	}
	c = c.withDefaults()
	s := &Sim{game: g, config: c, schema: schema, history: newHistory(uint64(c.MaxRollbackTicks), uint64(c.MaxShownTicks))}
	s.share.init(&c)
	s.world = newWorld(&s.game, schema, &c, &s.stats)
	s.world.history = s.history
	s.book.init(uint64(c.ReuseTicks))
	s.public.init(schema)
	return s, nil
}

// prepare returns the schema of a game that a world can be made of.
func (g *Game) prepare(c *Config) (*Schema, error) {
	switch {
	case g.Step == nil:
		return nil, errors.New("world: the game has no Step")
	case len(g.Version) > maxLabelBytes || len(c.Mode) > maxLabelBytes:
		return nil, fmt.Errorf("world: Game.Version of %d and Config.Mode of %d bytes: %d is the limit", len(g.Version), len(c.Mode), maxLabelBytes)
	}
	return newSchema(g)
}

func (c Config) withDefaults() Config {
	switch {
	case c.MaxRollbackTicks == 0:
		c.MaxRollbackTicks = 20
	case c.MaxRollbackTicks < 0:
		c.MaxRollbackTicks = 0
	}
	c.MaxRollbackTicks = min(c.MaxRollbackTicks, maxRollback)
	if c.ReplayBudget <= 0 {
		c.ReplayBudget = max(1, c.MaxRollbackTicks/4)
	}
	if c.TickRate <= 0 {
		c.TickRate = 20
	}
	switch {
	case c.MaxShownTicks == 0:
		c.MaxShownTicks = defaultShown(c.TickRate)
	case c.MaxShownTicks < 0:
		c.MaxShownTicks = 0
	}
	c.MaxShownTicks = min(c.MaxShownTicks, maxShown)
	if c.ReuseTicks <= 0 {
		c.ReuseTicks = 1200
	}
	return c
}

// defaultShown is a quarter of a second in ticks, rounded up.
func defaultShown(rate int) int { return min((rate-1)/4+1, maxShown) }

// Tick returns the tick that the next Advance runs. Dialects without ticks use it for their inputs.
func (s *Sim) Tick() uint64 { return s.now }

// Schema returns the kinds and actions of the game.
func (s *Sim) Schema() *Schema { return s.schema }

// Config returns the configuration with its defaults filled in.
func (s *Sim) Config() Config { return s.config }

// World returns the world between two ticks. It may be read but not changed, except by a test that has no late inputs: a rewind, a replay and
// the log do not know of the change.
func (s *Sim) World() *World { return s.world }

// Stats returns the counters.
func (s *Sim) Stats() Stats { return s.stats }

// Players returns the number of players that have joined and not left.
func (s *Sim) Players() int { return s.players }

// Join adds a player at the next tick. The PlayerID is valid at once. Join returns ErrFull if the
// world is full, and ErrLater if the entry of the next tick is: see Full.
func (s *Sim) Join(name string) (PlayerID, error) {
	switch {
	case s.players >= MaxPlayers:
		return 0, ErrFull
	case s.Full():
		return 0, ErrLater
	}
	p := s.NextPlayer()
	s.enter(p)
	s.submit(&Input{Kind: Join, Player: p, Tick: s.now, Name: fitText(name, maxNameBytes)})
	return p, nil
}

// NextPlayer returns the number that the next Join gives.
func (s *Sim) NextPlayer() PlayerID {
	p := s.lastPlayer
	for p++; p == 0 || s.isPresent(p); p++ {
	}
	return p
}

// Leave removes a player at the next tick. A second Leave does nothing.
func (s *Sim) Leave(p PlayerID) {
	if !s.isPresent(p) {
		return
	}
	s.submit(&Input{Kind: Leave, Player: p, Tick: s.now})
	s.exit(p)
}

// enter makes a player present.
func (s *Sim) enter(p PlayerID) {
	s.lastPlayer = p
	for len(s.present) <= int(p>>6) {
		s.present = append(s.present, 0)
	}
	s.present[p>>6] |= 1 << (p & 63)
	s.players++
	s.share.join(p)
}

// exit makes a player absent.
func (s *Sim) exit(p PlayerID) {
	s.forgo(p)
	s.present[p>>6] &^= 1 << (p & 63)
	s.players--
	s.share.leave(p)
}

// Away tells Step at the next tick that a player's connection is gone. The player stays in the world. A second Away does nothing.
func (s *Sim) Away(p PlayerID) {
	if s.isPresent(p) && !s.roll.seats[p].Away {
		s.submit(&Input{Kind: Away, Player: p, Tick: s.now})
	}
}

// Back tells Step at the next tick that a player's client is there again: after Away, or over another connection.
func (s *Sim) Back(p PlayerID) {
	if s.isPresent(p) {
		s.submit(&Input{Kind: Back, Player: p, Tick: s.now})
	}
}

func (s *Sim) isPresent(p PlayerID) bool {
	return int(p>>6) < len(s.present) && s.present[p>>6]>>(p&63)&1 != 0
}

// Steer submits a player's request to move an entity at a tick: Tick() for now, or the client's own
// tick. st.Entity 0 is the player's own entity. Accepted means that Step will get the input. An event
// follows if Step refuses it, or if tag is not 0. Any other result is a refusal, and no event
// follows.
func (s *Sim) Steer(p PlayerID, tick uint64, st Steering, tag uint32) Reason {
	return s.SteerShown(p, tick, 0, st, tag)
}

// SteerShown is Steer by a client that says which tick of the others was on its screen: Input.Shown.
func (s *Sim) SteerShown(p PlayerID, tick, shown uint64, st Steering, tag uint32) Reason {
	in := Input{Kind: Steer, Player: p, Tick: tick, Shown: shown, Steer: st, tag: tag}
	if s.Full() {
		return Later
	}
	if !st.finite() {
		return s.refuse(Malformed)
	}
	return s.submit(&in)
}

// Act submits an action at a tick, as Steer does. An Entity among the params is a number that the
// client knows. A temporary number is meant for an entity that the action creates, and is 0 in Step.
// An unknown number is 0 in Step too.
func (s *Sim) Act(p PlayerID, tick uint64, a *Action, params []Value, tag uint32) Reason {
	return s.ActShown(p, tick, 0, a, params, tag)
}

// ActShown is Act by a client that says which tick of the others was on its screen: Input.Shown. A tick that World.At would not believe
// becomes 0.
func (s *Sim) ActShown(p PlayerID, tick, shown uint64, a *Action, params []Value, tag uint32) Reason {
	if s.Full() {
		return Later
	}
	in := Input{Kind: Act, Player: p, Tick: tick, Shown: shown, Action: a, tag: tag, params: &s.asked}
	var ok bool
	if in.temp, ok = a.take(&s.asked, params, s.ByWire); !ok {
		return s.refuse(Malformed)
	}
	return s.submit(&in)
}

// submit puts an input into history, at its tick or, if its player has used up its share of the
// replay budget, at the next.
func (s *Sim) submit(in *Input) Reason {
	switch {
	case !s.isPresent(in.Player):
		return s.refuse(Absent)
	case in.Tick > s.now+MaxAhead:
		return s.refuse(TooEarly)
	case !s.inReach(in.Tick):
		return s.refuse(TooOld)
	}
	late, putOff := in.Tick < s.now, uint64(0)
	if late && !s.share.affords(in.Player, s.now, s.now-in.Tick, in.Tick < s.earliest) {
		in.Tick, late, putOff = s.now, false, s.now-in.Tick
	}
	s.history.judge(in)
	if !s.keep(in) {
		return s.refuse(TooMany)
	}
	s.log.asked = true
	s.heard(s.log.from)
	if s.log.on {
		s.log.input(in, s.now, putOff)
	}
	if putOff != 0 {
		s.stats.LateDoneNow++
		s.share.putOff(in.Player, s.now, putOff)
	}
	if late {
		s.share.note(in.Player, s.now-in.Tick)
	}
	return Accepted
}

// inReach reports whether the world can still go back to a tick.
func (s *Sim) inReach(tick uint64) bool { return tick+s.history.depth >= s.now && tick >= s.floor }

// keep puts an input into history.
func (s *Sim) keep(in *Input) bool {
	if !s.history.at(in.Tick).add(in) {
		return false
	}
	s.earliest = min(s.earliest, in.Tick)
	s.stats.InputsPending++
	if in.Kind != Steer && in.Kind != Act {
		s.roll.input(in)
	}
	return true
}

func (s *Sim) refuse(why Reason) Reason {
	s.stats.InputsRefused++
	s.stats.Refused[why]++
	if s.log.on {
		s.Answer(why)
	}
	return why
}
