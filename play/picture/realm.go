package picture

import (
	"math"
	"time"

	"parley/play/message"
	"parley/play/schema"
	"parley/protocol/realm"
	realmcore "parley/protocol/realm/core"
	"parley/world"
)

// Realm reads what a server tells over realm, and writes what the player does.
//
// Realm's clients count ticks by the clock, and move bodies themselves: one that goes straight on is told every tenth tick only. So the reader has a
// Guess of its own, of the ticks that have surely come, in which Step moves what is told; the samples of others are made of it. The own
// entity is predicted at the server's tick of now. The server does inputs at the ticks at which they were made, by going back, and tells of
// the own entity only what the client cannot know. Positions are whole cells: a body stays where it is computed to be if that is in the
// cell that is told.
type Realm struct {
	core    *Core
	out     RealmSend
	cfg     RealmConfig
	sim     *world.Guess
	ran     uint64 // the tick that sim has run last
	begun   bool
	heard   bool      // something was told
	lag     float64   // how many ticks old what comes is, or was of late
	tick    float64   // the own tick, with its part
	tickAt  time.Time // and when it was asked for
	failed  bool      // Step has failed on what was told
	values  []world.Value
	told    map[uint16]*told // of entities in sight
	made    []world.ID       // and missing: room for hold
	missing []uint16
	steers  []input // the newest
	stand   stand
	asked   world.ChunkPlace // that the own body was in when terrain was asked for
	askedAt time.Time
	entered uint64 // the tick in which the first player was told
}

// RealmConfig sets up a Realm.
type RealmConfig struct {
	Name      string // of the account
	FirstType int    // the number of the kind whose type is 0 on the wire
}

// RealmSend is how a Realm sends. None of it may block.
type RealmSend struct {
	Update    func(e realmcore.Entity) error
	Act       func(a realmcore.Action) error
	Say       func(text string) error
	Want      func(chunks ...realmcore.ChunkID) error
	Temporary func() (id uint16, ok bool)
	Tick      func() (tick uint64, part float64) // the server's, by its clock: realm.Client.ServerTickPart
	Codec     *realmcore.Codec
}

// NewRealm makes a reader for a new connection of a core.
func NewRealm(c *Core, cfg RealmConfig, out RealmSend) (*Realm, error) {
	sim, err := world.NewGuess(c.game, c.config)
	if err != nil {
		return nil, err
	}
	r := &Realm{core: c, out: out, cfg: cfg, sim: sim, told: map[uint16]*told{}}
	sim.SetName(cfg.Name)
	c.voice = r
	return r, nil
}

// Read takes an event of the connection.
func (r *Realm) Read(now time.Time, ev realm.Event) {
	if ev.Kind != realm.EventMessage {
		return
	}
	c, m := r.core, ev.Message
	if !r.heard {
		r.heard = true
		r.renew()
	}
	tick := max(ev.Tick, 1) - 1 // what is told with a tick is so before that tick is run
	switch m.Kind {
	case realmcore.KindEntityCreate, realmcore.KindEntityUpdate:
		r.at(now, tick)
		r.block(&m.Entity)
		r.sample(tick)
	case realmcore.KindEntitiesUpdate:
		r.at(now, tick)
		for e := range m.Entities.All() {
			r.block(e)
		}
		r.sample(tick)
	case realmcore.KindEntityDestroy:
		r.at(now, tick)
		r.sim.Drop(m.ID)
		delete(r.told, m.ID)
		c.gone(tick, m.ID)
	case realmcore.KindMetaAction:
		r.meta(m)
	case realmcore.KindChunkUpdate:
		r.chunk(m.Chunk)
	case realmcore.KindChunksUpdate:
		for one := range m.Chunks.All() {
			r.chunk(one)
		}
	case realmcore.KindChatReceive:
		c.said([]byte(c.names[m.ID]), m.Text, true)
	case realmcore.KindActionsDone:
		for d := range m.Actions.All() {
			r.done(ev.Tick, &d)
		}
	}
}

// renew begins anew if the server is another than the one that was known: its ticks have not come as far.
func (r *Realm) renew() {
	c := r.core
	if t, _ := r.out.Tick(); c.begun && t > 0 && t+1 < c.newest {
		c.anew()
	}
}

// meta takes who came and went.
func (r *Realm) meta(m *realmcore.Message) {
	c := r.core
	if realmcore.MetaCode(m.Code) == realmcore.MetaPlayerLeft {
		name := c.names[m.ID]
		delete(c.names, m.ID)
		c.renamed = true
		c.note(Event{Kind: Left, Name: name, Entity: c.id(m.ID)})
		return
	}
	name := cut(m.Name, maxName)
	if len(c.names) < maxNames {
		c.names[m.ID] = name
	}
	c.renamed = true
	if name == r.cfg.Name {
		c.you(m.ID)
		r.sim.Own(m.ID)
	}
	kind := Joined
	if c.own == 0 || r.core.newest < r.entered+uint64(time.Second/r.core.period) { // those who were there are told first
		kind = Here
	}
	if r.entered == 0 {
		r.entered = max(r.core.newest, 1)
	}
	c.note(Event{Kind: kind, Name: name, Entity: c.id(m.ID), Own: name == r.cfg.Name})
}

// done takes an action that was done.
func (r *Realm) done(tick uint64, d *realmcore.Done) {
	a := r.core.schema.Action(int(d.Action.ID))
	if a == nil || d.Action.Params.Len() != len(a.Fields) {
		return
	}
	r.values = r.values[:0]
	for i := range a.Fields {
		v, ok := schema.FromRealm(&a.Fields[i], d.Action.Params.Get(i))
		if !ok {
			return
		}
		r.values = append(r.values, v)
	}
	r.core.acted(d.By, tick, a, r.values)
}

func (r *Realm) chunk(m realmcore.Chunk) {
	cells := new(world.Cells)
	m.FillIn((*realmcore.Terrain)(cells))
	at := world.ChunkPlace{BX: m.BX, BY: m.BY}
	r.sim.SetChunk(at, cells)
	r.core.land(at, cells)
}

// at brings the reader's guess to what is so after a tick, of which something has come.
func (r *Realm) at(now time.Time, tick uint64) {
	if t, _ := r.out.Tick(); t > tick {
		r.lag = max(r.lag, min(float64(t-tick), maxRun/2))
	}
	switch {
	case !r.begun || tick > r.ran+maxRun || tick+maxRun < r.ran:
		r.sim.Back(tick)
		r.begun, r.ran = true, tick
	case tick < r.ran:
		r.sim.Back(tick)
		r.ran = tick
	default:
		r.run(tick)
	}
	r.core.pending.waits = true
}

// run runs the reader's guess up to a tick, and takes samples.
func (r *Realm) run(tick uint64) {
	c := r.core
	for r.ran < tick {
		if c.busy() {
			r.sim.Back(tick)
			r.ran = tick
			r.sample(tick)
			return
		}
		if !r.failed {
			for _, s := range r.steers {
				if s.tick == r.ran+1 && c.own != 0 {
					r.sim.Steer(s.steering())
				}
			}
			r.failed = r.sim.Run() != nil
			r.hold()
		}
		if r.failed {
			r.sim.Back(r.ran + 1)
		}
		r.ran++
		r.sample(r.ran)
	}
}

// sample tells the core of all entities.
func (r *Realm) sample(tick uint64) {
	w := r.sim.World()
	for id, k := range w.Entities() {
		if id == 0 || id > world.MaxEntity {
			continue
		}
		r.values = r.values[:0]
		for i := range k.Fields {
			v, _ := w.Value(id, i)
			if v.Type == world.Entity {
				v = world.UintValue(world.Entity, min(v.Uint(), math.MaxUint16))
			}
			r.values = append(r.values, v)
		}
		r.core.put(tick, uint16(id), r.core.schema.Kinds[k.Index()], r.values, 0)
	}
}

// block takes what is told of an entity.
func (r *Realm) block(e *realmcore.Entity) {
	var k *world.Kind
	if t := r.told[e.ID]; t != nil {
		k = t.kind
	}
	if e.Has&realmcore.HasType != 0 {
		k = r.core.schema.Kind(int(e.Type) + r.cfg.FirstType)
	}
	if k == nil || e.ID == 0 || e.ID > world.MaxEntity || r.told[e.ID] == nil && len(r.told) >= maxTracks {
		return
	}
	values := append(r.values[:0], make([]world.Value, len(k.Fields))...) // a zero Value leaves what is there
	r.values = values
	if k.HasBody {
		r.body(e, values)
	}
	for i := range k.Fields {
		f := &k.Fields[i]
		if f.InBody || e.Has&realmcore.HasObject == 0 {
			continue
		}
		if v, ok := e.Attributes.Get(f.Attr); ok {
			if value, ok := schema.FromRealm(f, v); ok {
				values[i] = value
			}
		}
	}
	if r.sim.Put(e.ID, k, values) {
		r.notes(e.ID, k, values)
	}
}

// body takes the fields of a body.
func (r *Realm) body(e *realmcore.Entity, values []world.Value) {
	if e.Has&realmcore.HasPosition != 0 {
		x, y := world.Place(e.Position.BX, e.Position.BY, e.Position.X, e.Position.Y)
		b := r.sim.World().Body(r.sim.ID(e.ID))
		if b == nil || (math.Floor(b.X) != math.Floor(x) || math.Floor(b.Y) != math.Floor(y)) && !r.outdated(e, b, x, y) {
			low := r.blocked(e, b, x, y)
			if low { // a whole cell that is told is free at its corner
				x, y = x-.5, y-.5
			}
			if e.ID == r.core.own {
				r.stand.sure, r.stand.low = false, low
			}
			values[world.FieldX], values[world.FieldY] = world.FloatValue(world.F64, x), world.FloatValue(world.F64, y)
		}
	}
	if e.Has&realmcore.HasSpeedAngle != 0 {
		values[world.FieldAngle] = world.FloatValue(world.F32, float64(e.SpeedAngle))
	}
	if e.Has&realmcore.HasSpeedNorm != 0 {
		values[world.FieldNorm] = world.FloatValue(world.F32, float64(e.SpeedNorm))
	}
	if e.ID == r.core.own {
		r.steered(e)
	}
	if e.Has&realmcore.HasSprite != 0 {
		values[world.FieldSprite] = world.UintValue(world.U16, uint64(e.Sprite))
	}
}

// blocked reports whether a body cannot be in the middle of the cell that is told.
func (r *Realm) blocked(e *realmcore.Entity, b *world.Body, x, y float64) bool {
	shape := world.Body{Sprite: e.Sprite}
	if b != nil && e.Has&realmcore.HasSprite == 0 {
		shape = *b
	}
	w := r.sim.World()
	h := w.Hitbox(&shape)
	return !h.IsNull() && !w.Free(x, y, h) && w.Free(x-.5, y-.5, h)
}

// turn brings all to a time: what has surely come is sampled, and the own tick is the server's.
func (r *Realm) turn(now time.Time) {
	c := r.core
	t, part := r.out.Tick()
	if !r.begun || t == 0 {
		return
	}
	r.tick, r.tickAt = float64(t-1)+part, now // the tick that the clock counts is the one that runs next
	r.lag = max(1, r.lag-1e-3)
	heard := t - min(t, uint64(math.Ceil(r.lag))+1)
	if heard <= r.ran && !c.pending.waits {
		return
	}
	r.run(heard)
	c.hears(now, r.ran)
	if c.own == 0 {
		return
	}
	r.look(now)
	if !c.ahead {
		c.ahead = true
		c.mine.tick = own(r.own(now))
	}
	c.pending = truth{}
	number := uint64(0)
	for i := range c.inputs.list {
		if in := &c.inputs.list[i]; in.tick <= r.ran {
			number = in.number
		}
	}
	c.judge(now, r.ran, number)
}

// look asks for the terrain around the own body. The server tells of nine chunks at first, and of others if they are asked for; realm tells no seed.
func (r *Realm) look(now time.Time) {
	b := r.sim.World().Body(r.sim.ID(r.core.own))
	if b == nil {
		return
	}
	bx, by, _, _, ok := world.Locate(b.X, b.Y)
	at := world.ChunkPlace{BX: bx, BY: by}
	if !ok || at == r.asked && now.Sub(r.askedAt) < askAgain {
		return
	}
	r.asked, r.askedAt = at, now
	var list [9]realmcore.ChunkID
	n := 0
	for _, d := range [9][2]int16{{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {1, -1}, {-1, 1}, {-1, -1}} {
		if x, y := bx+d[0], by+d[1]; !r.sim.HasChunk(world.ChunkPlace{BX: x, BY: y}) {
			list[n] = realmcore.ChunkID{BX: x, BY: y}
			n++
		}
	}
	if n > 0 {
		_ = r.out.Want(list[:n]...) // if it cannot be sent now, it is asked again
	}
}

// own is the own tick: the server's, with its part.
func (r *Realm) own(now time.Time) float64 {
	return max(0, r.tick+float64(now.Sub(r.tickAt))/float64(r.core.period))
}

func (r *Realm) steer(_ time.Time, angle, norm float32, s message.Stamp) error {
	if len(r.steers) >= maxRun {
		r.steers = append(r.steers[:0], r.steers[1:]...)
	}
	in := input{tick: r.core.tickOf(s.Tick), angle: angle, norm: norm}
	e := realmcore.Entity{ID: r.core.own, Has: realmcore.HasSpeedAngle | realmcore.HasSpeedNorm, SpeedAngle: angle, SpeedNorm: norm}
	if of := r.core.inputs.of(s.Number); of != nil && of.cell {
		in.cell, in.x, in.y = true, of.x, of.y
		if bx, by, x, y, ok := world.Locate(in.x, in.y); ok {
			e.Has |= realmcore.HasPosition
			e.Position = realmcore.Position{BX: bx, BY: by, X: x, Y: y}
		}
	}
	r.steers = append(r.steers, in)
	return r.out.Update(e)
}

func (r *Realm) act(_ time.Time, a *world.Action, params []world.Value, _ message.Stamp, again bool) error {
	if again {
		return nil
	}
	var texts []byte
	list := make([]realmcore.Value, 0, len(params))
	for i, p := range params {
		if a.Fields[i].Type == world.Entity && p.Uint() == 0 {
			// What the action creates has a number of our own until the server gives it one.
			id, _ := r.out.Temporary()
			p = world.UintValue(world.Entity, uint64(id))
		}
		list = append(list, schema.ToRealm(&a.Fields[i], p, &texts))
	}
	action, err := r.out.Codec.Action(uint16(a.Number), list...)
	if err != nil {
		return err
	}
	return r.out.Act(action)
}

func (r *Realm) say(text string) error { return r.out.Say(text) }
