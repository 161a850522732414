package world

import (
	"fmt"
	"reflect"
)

// OwnPlayer is the number of the player in a Guess, whatever its number on the server is: clients are not told that one.
const OwnPlayer PlayerID = 1

// A Guess is a world on a client, made of what the server has told it, on which the game's own Step runs ahead of the server. Its owner
// puts in what was told of a tick, goes back when the truth about a past tick arrives, and runs the ticks since then again.
// It has no clock, and belongs to one goroutine.
//
// Step runs on a client as it does on the server, with these differences:
//
//   - Entities out of sight are missing, and so is what Setup makes, until the server tells of it. An ID in a field may be that of an
//     entity that is not there: Get returns nil.
//   - There is one player, OwnPlayer, with its own entity and inputs. Others are not in Players, and nobody owns their entities.
//     Join, Leave, Away and Back do not come.
//   - World.Random draws other numbers than on the server, and rows are in another order.
//   - Unexported fields are zero for an entity that the server tells of, and then what Step makes of them.
//   - Step is called for the same tick again and again, each time on newer truth.
//
// What differs for it is corrected when the server tells of the tick. A panic of Step ends no client: Run returns it as an error.
//
// The server's entity with the number n has the ID n here. What Step creates has IDs of its own, until Adopt says which entity of the
// server it is.
type Guess struct {
	game    Game
	world   *World
	stats   Stats
	history *history
	next    uint64 // the tick that Run runs
	room    int    // bytes that rows may have: each tick of history has a copy

	told   [(MaxEntity + 64) / 64]uint64 // a bit for each number that the server has told of and not taken away
	own    uint16
	name   string
	named  map[uint16]ID // those with another ID than their number, as they were born here
	number lookup[ID]    // and the numbers of these

	inputs []Input // of the tick that runs next, or, once it has run, of that one
	params []params
	asked  params
	ran    bool

	edits map[ChunkPlace]uint64 // the chunks that Step has changed, and when it first did
	lines int                   // of the chunks that the server has told
}

// NewGuess makes an empty world. Of c, the Seed, the TickRate, the Mode and MaxShownTicks count. Setup is not run: the server tells of
// what it made. It returns an error if the game is invalid.
func NewGuess(g Game, c Config) (*Guess, error) {
	schema, err := g.prepare(&c)
	if err != nil {
		return nil, err
	}
	c = c.withDefaults()
	depth := max(leastGuessed, min(c.TickRate/2, maxRollback))
	s := &Guess{game: g, history: newHistory(uint64(depth), uint64(c.MaxShownTicks)), named: map[uint16]ID{}, edits: map[ChunkPlace]uint64{}}
	s.room = maxGuessBytes / len(s.history.ring)
	s.world = newWorld(&s.game, schema, &c, &s.stats)
	s.world.history = s.history
	s.world.setUp = MaxEntity // what is spawned at tick 0 has no ID of the server's
	s.seat()
	return s, nil
}

// World returns the world as it is now. Its bodies may be changed; call its Reindex then.
func (g *Guess) World() *World { return g.world }

// Tick returns the tick that Run runs next.
func (g *Guess) Tick() uint64 { return g.next }

// Back brings the world to what it was after a tick, if Run has run the next one not too long ago: half a second, and at least 64 ticks.
// Entities that were dropped since then are not in it, and inputs that Run has not run are gone. Otherwise it returns false, and the
// world stays as it is. In both cases the tick after it runs next.
func (g *Guess) Back(tick uint64) bool {
	g.empty()
	known := tick+1 == g.next
	if m := g.history.at(tick + 1); !known && m.saved && m.tick == tick+1 {
		known = true
		g.world.load(&m.before)
		g.purge()
		g.expire(tick)
	}
	g.next, g.world.tick, g.world.fresh = tick+1, tick, false
	g.seat()
	return known
}

// purge removes what the server has taken away since.
func (g *Guess) purge() {
	for _, t := range g.world.tables {
		for row := t.next(0); row >= 0; row = t.next(row + 1) {
			id := t.ids[row]
			if wire, ok := g.Wire(id); ok && (!g.isTold(wire) || g.ID(wire) != id) {
				g.world.Despawn(id)
			}
		}
	}
}

// seat makes the player what it is now, as a past tick may know it otherwise.
func (g *Guess) seat() {
	w := g.world
	w.players.add(Player{ID: OwnPlayer})
	p := &w.players.list[0]
	p.Name, p.Entity = g.name, g.ID(g.own)
	w.SetOwner(p.Entity, OwnPlayer)
}

// Own says which of the server's entities is the player's own. 0 is none.
func (g *Guess) Own(wire uint16) {
	if was := g.ID(g.own); was != 0 && was != g.ID(wire) && g.world.Owner(was) == OwnPlayer {
		g.world.SetOwner(was, 0)
	}
	g.own = wire
	g.seat()
}

// SetName sets the name of the player.
func (g *Guess) SetName(name string) {
	g.name = fitText(name, maxNameBytes)
	g.seat()
}

// Put makes an entity what the server tells of it, of all fields of the kind in their order. A zero Value leaves a field as it is, and so
// do unexported fields stay. An Entity among the values is a number. Put returns false, and changes nothing, if the number, the kind or a
// value is none of this game's, or if there is no room for one more entity.
func (g *Guess) Put(wire uint16, k *Kind, values []Value) bool {
	id := g.ID(wire)
	t := g.tableFor(k)
	if id == 0 || t == nil || !t.kind.fits(values) {
		return false
	}
	row, ok := g.rowFor(id, t)
	if !ok {
		return false
	}
	g.told[wire>>6] |= 1 << (wire & 63)
	if wire == g.own {
		t.owners[row] = OwnPlayer
	}
	at := t.at(row)
	for i, v := range values {
		f := &t.kind.Fields[i]
		switch v.Type {
		case 0:
			continue
		case Text:
			v.text = fitText(v.text, f.Max)
		case Entity:
			v.bits = uint64(g.ID(uint16(min(v.bits, 1<<16-1))))
		}
		f.setValue(at, v)
	}
	if t.kind.HasBody && (values[FieldX].Type != 0 || values[FieldY].Type != 0) {
		t.body(row).settleAt(g.world.tick) // claims of the player are judged from there
	}
	g.world.fresh = false
	return true
}

// tableFor returns the table of a kind, which may be that of another run of the same game.
func (g *Guess) tableFor(k *Kind) *table {
	if k == nil || k.index >= len(g.world.tables) {
		return nil
	}
	if t := g.world.tables[k.index]; t.kind == k || t.kind.typ == k.typ {
		return t
	}
	return nil
}

// fits reports whether values are such as the kind's fields may have.
func (k *Kind) fits(values []Value) bool {
	if len(values) != len(k.Fields) {
		return false
	}
	for i, v := range values {
		if v.Type != 0 && (v.Type != k.Fields[i].Type || !v.Finite()) {
			return false
		}
	}
	return true
}

// rowFor returns the row of an entity in a table. If it is not there it is made, all zero, and one of another kind goes for it.
func (g *Guess) rowFor(id ID, t *table) (row int, ok bool) {
	w := g.world
	at, there := w.where.get(id)
	if there && w.tables[at>>16] == t {
		return int(at & 0xffff), true
	}
	bytes := int(t.size)
	for _, other := range w.tables {
		bytes += other.count * int(other.size)
	}
	if bytes > g.room || t.count >= t.kind.rows {
		g.stats.SpawnsRefused++
		return 0, false
	}
	if there {
		w.Despawn(id)
	}
	owner := PlayerID(0)
	if id > MaxEntity {
		owner = OwnPlayer // it was born here
	}
	row = t.take(id, owner)
	reflect.NewAt(t.kind.typ, t.at(row)).Elem().SetZero()
	if t.kind.HasBody {
		t.body(row).settleAt(w.tick)
	}
	w.where.put(id, uint32(t.kind.index)<<16|uint32(row))
	return row, true
}

// Drop removes an entity of the server's that is gone or out of sight.
func (g *Guess) Drop(wire uint16) {
	if wire <= MaxEntity {
		g.told[wire>>6] &^= 1 << (wire & 63)
		g.world.Despawn(g.ID(wire))
		g.world.fresh = false
	}
}

func (g *Guess) isTold(wire uint16) bool { return g.told[wire>>6]>>(wire&63)&1 != 0 }

// ID returns the ID that the server's entity with a number has here, whether it is there or not. It is 0 for what is no number of an
// entity.
func (g *Guess) ID(wire uint16) ID {
	if wire > MaxEntity {
		return 0
	}
	if len(g.named) > 0 {
		if id, ok := g.named[wire]; ok {
			return id
		}
	}
	return ID(wire)
}

// Wire returns the number of the server's entity that has an ID here. It is false for what was created here and not adopted.
func (g *Guess) Wire(id ID) (uint16, bool) {
	if id > 0 && id <= MaxEntity {
		return uint16(id), true
	}
	wire, ok := g.number.get(id)
	return uint16(wire), ok
}

// Adopt says that what Step created here is the server's entity with a number, which has the ID of the former from now on. It keeps it
// until the number is given to something else that was created here.
func (g *Guess) Adopt(born ID, wire uint16) {
	if wire == 0 || wire > MaxEntity || born <= MaxEntity {
		return
	}
	if was, ok := g.number.get(born); ok {
		delete(g.named, uint16(was))
	}
	was := g.ID(wire)
	g.number.remove(was)
	g.named[wire] = born
	g.number.put(born, uint32(wire))
	g.told[wire>>6] |= 1 << (wire & 63)
	if was != born {
		g.merge(was, born)
	}
	g.seat()
}

// merge makes two entities one, with the ID of the second.
func (g *Guess) merge(was, born ID) {
	w := g.world
	at, there := w.where.get(was)
	switch {
	case !there:
		return
	case w.Exists(born):
		w.Despawn(was)
	default:
		w.where.remove(was)
		w.where.put(born, at)
		w.tables[at>>16].ids[at&0xffff] = born
	}
	w.fresh = false
}

// Forget ends what Adopt said of a number: the server has given it to another entity, which has the ID of its number.
func (g *Guess) Forget(wire uint16) {
	if id, ok := g.named[wire]; ok {
		g.world.Despawn(id)
		delete(g.named, wire)
		g.number.remove(id)
		g.world.fresh = false
		g.seat()
	}
}

// CopyFrom makes an entity what it is in another Guess of the same game, and removes it if it is not there. It reports whether it is there
// now.
func (g *Guess) CopyFrom(from *Guess, id ID) bool {
	at, ok := from.world.where.get(id)
	if !ok {
		g.world.Despawn(id)
		return false
	}
	source, row := from.world.tables[at>>16], int(at&0xffff)
	t := g.tableFor(source.kind)
	if t == nil {
		return false
	}
	to, ok := g.rowFor(id, t)
	if !ok {
		return false
	}
	t.owners[to] = source.owners[row]
	typ := t.kind.typ
	reflect.NewAt(typ, t.at(to)).Elem().Set(reflect.NewAt(typ, source.at(row)).Elem())
	g.world.fresh = false
	return true
}

// Steer adds a request to move to the tick that runs next. st.Entity 0 is the player's own entity. It returns false if it is malformed, or
// one too many.
func (g *Guess) Steer(st Steering) bool {
	if st.Entity == 0 {
		st.Entity = g.ID(g.own)
	}
	return st.finite() && g.add(&Input{Kind: Steer, Steer: st})
}

// Act adds an action to the tick that runs next. shown is the tick of the others that was on the screen. An Entity among the params is a
// number, as in Sim.Act. It returns false if it is malformed, or one too many.
func (g *Guess) Act(a *Action, params []Value, shown uint64) bool {
	if a == nil {
		return false
	}
	in := Input{Kind: Act, Shown: shown, Action: a, params: &g.asked}
	var ok bool
	if in.temp, ok = a.take(&g.asked, params, g.ID); !ok {
		return false
	}
	return g.add(&in)
}

func (g *Guess) add(in *Input) bool {
	if g.ran {
		g.empty()
	}
	if len(g.inputs) >= maxPlayerInputs {
		return false
	}
	in.Player, in.Tick, in.order = OwnPlayer, g.next, uint8(len(g.inputs))
	g.history.judge(in)
	g.inputs = append(g.inputs, *in)
	g.inputs[len(g.inputs)-1].keep(&g.params)
	return true
}

// empty lets the inputs go.
func (g *Guess) empty() {
	g.inputs, g.params, g.ran = g.inputs[:0], g.params[:0], false
}

// Run runs one tick with the game's Step. If Step panics, Run returns an error, and the world is as it was before the tick, which runs
// next.
func (g *Guess) Run() (err error) {
	if g.ran {
		g.empty()
	}
	w, tick := g.world, g.next
	g.history.open(tick)
	m := g.history.at(tick)
	w.enter(m, tick)
	w.terrain.left, w.terrain.bounded = maxGuessedChunks, true
	defer func() {
		w.terrain.bounded = false
		if r := recover(); r != nil {
			w.load(&m.before)
			w.fresh = false
			g.empty()
			err = fmt.Errorf("world: Step panics in tick %d on this client: %v: it must bear with entities that are missing here, see world.Guess", tick, r)
		}
	}()
	g.game.Step(w, g.inputs)
	w.settle(&m.before)
	g.noteEdits()
	g.ran = true
	g.next++
	return nil
}

// Outcome returns what Step made of the i-th input of the tick that ran last, and the first entity that it created for it.
func (g *Guess) Outcome(i int) (why Reason, child ID) {
	if !g.ran || i < 0 || i >= len(g.inputs) {
		return Absent, 0
	}
	in := &g.inputs[i]
	if in.outcome == 0 {
		return Ignored, in.child
	}
	return in.outcome, in.child
}
