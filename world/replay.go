package world

import (
	"fmt"
	"io"
	"slices"
)

// A Report is the result of a replay.
type Report struct {
	Name    string
	Version string // Game.Version of the game that was recorded
	Mode    string
	Seed    uint64
	Ticks   uint64 // ticks that were run again
	Inputs  uint64
	Hash    uint64 // of the world after the last tick
	CutOff  bool   // the recording has a torn tail: its writer was stopped
	Ended   bool   // the room has ended
	Stopped bool   // the recording ends before the outcome of its last tick: Step did not return

	// Difference is the first difference, or nil.
	Difference *Difference
}

// A Difference is the point at which a replay differs from its recording. Either Step
// depends on something outside the world, or the game has changed since.
type Difference struct {
	Tick     uint64
	Part     string // "entity", "players", "terrain" or "random source"; "world" for a log without states
	Entity   ID
	Kind     string
	Field    string
	Recorded string
	Now      string
}

func (d *Difference) String() string {
	if d.Part == "world" {
		return fmt.Sprintf("tick %d: the world differs; a recording would name the field", d.Tick)
	}
	if d.Part != "entity" {
		return fmt.Sprintf("tick %d: the %s differ", d.Tick, d.Part)
	}
	if d.Field == "" {
		return fmt.Sprintf("tick %d: entity %v (%s): recorded %s, now %s", d.Tick, d.Entity, d.Kind, d.Recorded, d.Now)
	}
	return fmt.Sprintf("tick %d: entity %v (%s): field %s: recorded %s, now %s", d.Tick, d.Entity, d.Kind, d.Field, d.Recorded, d.Now)
}

// Replay runs a recording again and compares every tick. It stops at the first
// difference. It returns an error if the recording cannot be read. Of a log without states,
// the hash of each tick is compared, and the difference names the tick alone.
func Replay(g Game, r io.Reader) (Report, error) {
	p := &player{in: blocks{r: r}}
	err := p.begin(g)
	for err == nil && p.report.Difference == nil {
		var kind byte
		if kind, err = p.in.next(); err != nil {
			break
		}
		if err = p.handle(kind); err != nil {
			err = fmt.Errorf("%w: at byte %d", err, p.in.offset)
		}
	}
	if err != nil && err != io.EOF {
		return p.report, err
	}
	p.report.CutOff = p.in.torn
	p.report.Stopped = p.running && p.report.Difference == nil
	p.report.Hash = p.sim.world.Hash()
	return p.report, nil
}

// A player reads a recording.
type player struct {
	in      blocks
	head    Head
	sim     *Sim
	load    loading // a snapshot that is being read
	running bool    // the inputs of a tick are known, its outcome is not
	skips   bool    // the entry before was left out, and so is its state
	report  Report
}

func (p *player) begin(g Game) (err error) {
	if err := p.in.open(&p.head); err != nil {
		return err
	}
	p.report.Name, p.report.Version, p.report.Seed, p.report.Mode = p.head.Name, p.head.Version, p.head.Config.Seed, p.head.Config.Mode
	if p.sim, err = New(g, p.head.Config); err != nil {
		return err
	}
	p.sim.replaying = true
	if p.sim.schema.sum != p.head.schema {
		return fmt.Errorf("%w: %q", ErrOtherGame, p.report.Name)
	}
	return nil
}

func (p *player) handle(kind byte) error {
	switch {
	case kind == blockHead && p.in.version == logVersion && !p.running:
		return p.goOn()
	case kind == blockInputs && p.in.version == oldVersion && !p.running:
		p.running = true
		return p.oldInputs()
	case kind == blockEntry && p.in.version == logVersion && !p.running:
		return p.entry()
	case kind == blockState && p.skips:
		p.skips = false
		return nil
	case kind == blockState && p.running:
		p.running = false
		return p.compare()
	case kind >= blockChunk && kind <= blockPast && p.in.version == logVersion && !p.running:
		return p.snapshot(kind)
	}
	return damaged("a block out of order")
}

// goOn reads the head of a file that follows another one: a snapshot, and the log since then.
func (p *player) goOn() error {
	first := p.head
	p.head = Head{}
	if err := p.head.read(&p.in.in); err != nil {
		return err
	}
	if p.head.schema != first.schema || p.head.Config != first.Config {
		return damaged("the log of another room")
	}
	return nil
}

// snapshot reads a block of a snapshot: the replay begins with it. One that comes later is left out, as the log leads to it.
func (p *player) snapshot(kind byte) error {
	if p.report.Ticks > 0 {
		return nil
	}
	if !p.load.takes(kind) {
		return damaged("a block out of order")
	}
	if err := p.load.block(kind, &p.in.in); err != nil || kind != blockKept {
		return err
	}
	head := p.head
	head.Version = p.sim.game.Version // whichever it was, it is compared
	s, err := p.load.sim(p.sim.game, &head)
	if err != nil {
		return err
	}
	p.sim, p.load = s, loading{}
	s.replaying = true
	s.publish() // hidden fields too
	return nil
}

// entry submits what is in an entry. If no state follows, it is run.
func (p *player) entry() error {
	s := p.sim
	e := &s.log.entry
	if err := e.read(s.schema, p.in.block); err != nil {
		return err
	}
	p.skips = false
	if e.Tick < s.now && p.report.Ticks == 0 {
		p.skips = true
		return nil // the snapshot is newer than the beginning of the log
	}
	if e.Epoch < s.log.epoch {
		return nil // void: the server that made it was no longer the one to do so
	}
	if e.Tick == s.now && e.Hash != s.world.Hash() && !s.log.renewed {
		p.report.Difference = &Difference{Tick: max(s.now, 1) - 1, Part: "world"}
		return nil
	}
	if err := s.submitAll(e); err != nil {
		return err
	}
	p.report.Inputs += uint64(e.Inputs())
	p.running = true
	if p.head.states {
		return nil
	}
	p.running = false
	p.advance()
	return nil
}

func (p *player) advance() {
	p.sim.Advance()
	p.report.Ticks++
	p.report.Ended = p.sim.Ended()
}

// compare runs the tick and holds it against what is recorded of it.
func (p *player) compare() error {
	s, in := p.sim, &p.in.in
	if in.u64() != s.now {
		return damaged("a tick is missing")
	}
	want := sums{in.u64(), in.u64(), in.u64(), in.u64()}
	recorded, err := p.changes()
	if err != nil {
		return err
	}
	p.advance()
	got := s.world.sums()
	if got == want {
		return nil
	}
	d := &Difference{Tick: s.now - 1}
	p.report.Difference = d
	switch {
	case got.entities != want.entities:
		d.Part = "entity"
		d.find(recorded, s)
	case got.players != want.players:
		d.Part = "players"
	case got.terrain != want.terrain:
		d.Part = "terrain"
	default:
		d.Part = "random source"
	}
	return nil
}

// A fieldKey names a field of an entity: -1 is the entity itself.
type fieldKey struct {
	id    ID
	field int
}

// A tickChange is what a tick has made of a field.
type tickChange struct {
	kind  *Kind
	value string
}

// changes reads what is recorded of a tick.
func (p *player) changes() (map[fieldKey]tickChange, error) {
	in, all := &p.in.in, map[fieldKey]tickChange{}
	for id := ID(in.u64()); id != 0 && !in.failed; id = ID(in.u64()) {
		index, count := int(in.u8()), int(in.u16())
		if index >= len(p.sim.schema.Kinds) {
			return nil, damaged("an unknown kind")
		}
		k := p.sim.schema.Kinds[index]
		for range count {
			f := int(in.u16())
			if in.failed || f >= len(k.Fields)+len(k.hidden) {
				return nil, damaged("an unknown field")
			}
			all[fieldKey{id, f}] = tickChange{k, in.word(k.field(f).Type).show()}
		}
	}
	for len(in.b) > 0 && !in.failed {
		all[fieldKey{ID(in.u64()), -1}] = tickChange{value: "gone"}
	}
	if !in.done() {
		return nil, damaged("a state")
	}
	return all, nil
}

// find names the first entity and field on which the two disagree. Until this
// tick they were the same, so it is enough to look at what the tick has changed.
func (d *Difference) find(recorded map[fieldKey]tickChange, s *Sim) {
	now := s.tickChanges()
	keys := make([]fieldKey, 0, len(recorded)+len(now))
	for k := range recorded {
		keys = append(keys, k)
	}
	for k := range now {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b fieldKey) int {
		if a.id != b.id {
			if a.id < b.id {
				return -1
			}
			return 1
		}
		return a.field - b.field
	})
	for _, key := range keys {
		was, is := recorded[key], now[key]
		if was.value == is.value {
			continue
		}
		kind := was.kind
		if kind == nil {
			kind = is.kind
		}
		if k := s.world.KindOf(key.id); kind == nil {
			kind = k
		}
		d.Entity, d.Recorded, d.Now = key.id, was.value, is.value
		if kind != nil {
			d.Kind = kind.Name
			if key.field >= 0 {
				d.Field = kind.field(key.field).Name
			}
		}
		missing := "unchanged"
		if key.field < 0 {
			missing = "still there"
		}
		for _, text := range []*string{&d.Recorded, &d.Now} {
			if *text == "" {
				*text = missing
			}
		}
		return
	}
	d.Part = "owners or places in the tables"
}

// tickChanges is what the last tick has changed, as changes reads it.
func (s *Sim) tickChanges() map[fieldKey]tickChange {
	p, all := &s.public, map[fieldKey]tickChange{}
	for i := range p.high {
		e := &p.slots[i]
		if e.id == 0 {
			continue
		}
		for f := range len(e.kind.Fields) + len(e.kind.hidden) {
			if p.at[i*p.stride+f] == p.now {
				all[fieldKey{e.id, f}] = tickChange{e.kind, p.recorded(i, f, e.kind.field(f)).show()}
			}
		}
	}
	for _, g := range p.gone {
		all[fieldKey{g.id, -1}] = tickChange{g.kind, "gone"}
	}
	return all
}

// show is String, with an entity by its ID.
func (v Value) show() string {
	if v.Type == Entity {
		return ID(v.bits).String()
	}
	return v.String()
}
