package world

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
)

// Errors of Replay.
var (
	ErrNotRecording = errors.New("world: not a recording")
	ErrVersion      = errors.New("world: a recording of another version")
	ErrOtherGame    = errors.New("world: a recording of another game, or of another version of this one")
	ErrDamaged      = errors.New("world: the recording is damaged")
)

// A Report is the result of a replay.
type Report struct {
	Name    string
	Seed    uint64
	Ticks   uint64 // ticks that were run again
	Inputs  uint64
	Hash    uint64 // of the world after the last tick
	CutOff  bool   // the recording ends within a block: its writer was stopped
	Stopped bool   // the recording ends before the outcome of its last tick: Step did not return

	// Difference is the first difference, or nil.
	Difference *Difference
}

// A Difference is the point at which a replay differs from its recording. Either Step
// depends on something outside the world, or the game has changed since.
type Difference struct {
	Tick     uint64
	Part     string // "entity", "players", "terrain" or "random source"
	Entity   ID
	Kind     string
	Field    string
	Recorded string
	Now      string
}

func (d *Difference) String() string {
	if d.Part != "entity" {
		return fmt.Sprintf("tick %d: the %s differ", d.Tick, d.Part)
	}
	if d.Field == "" {
		return fmt.Sprintf("tick %d: entity %v (%s): recorded %s, now %s", d.Tick, d.Entity, d.Kind, d.Recorded, d.Now)
	}
	return fmt.Sprintf("tick %d: entity %v (%s): field %s: recorded %s, now %s", d.Tick, d.Entity, d.Kind, d.Field, d.Recorded, d.Now)
}

// Replay runs a recording again and compares every tick. It stops at the first
// difference. It returns an error if the recording cannot be read.
func Replay(g Game, r io.Reader) (Report, error) {
	p := &player{r: r}
	if err := p.begin(g); err != nil {
		return p.report, err
	}
	for p.report.Difference == nil {
		kind, err := p.block()
		if err == io.EOF {
			break
		}
		if err != nil {
			return p.report, err
		}
		if err := p.handle(kind); err != nil {
			return p.report, fmt.Errorf("%w: at byte %d", err, p.offset)
		}
	}
	p.report.Stopped = p.running && p.report.Difference == nil
	p.report.Hash = p.sim.world.Hash()
	return p.report, nil
}

// A player reads a recording.
type player struct {
	r       io.Reader
	buf     bytes.Buffer
	in      reading // the content of the block
	offset  int64   // of the block
	read    int64
	sim     *Sim
	running bool // the inputs of a tick are known, its outcome is not
	report  Report
}

func (p *player) begin(g Game) error {
	head := make([]byte, len(recordMagic)+2)
	n, err := io.ReadFull(p.r, head)
	p.read = int64(n)
	if err != nil || string(head[:len(recordMagic)]) != recordMagic {
		return ErrNotRecording
	}
	if v := binary.LittleEndian.Uint16(head[len(recordMagic):]); v != recordVersion {
		return fmt.Errorf("%w: %d, and this is %d", ErrVersion, v, recordVersion)
	}
	kind, err := p.block()
	if err != nil || kind != blockHead {
		return fmt.Errorf("%w: no head", ErrDamaged)
	}
	in := &p.in
	sum, seed := in.u64(), in.u64()
	c := Config{Seed: seed, MaxRollbackTicks: int(in.u32()), ReplayBudget: int(in.u32()), ReuseTicks: int(in.u32()), TickRate: int(in.u32())}
	p.report.Name, p.report.Seed = in.text(), seed
	if c.MaxRollbackTicks == 0 {
		c.MaxRollbackTicks = -1
	}
	if !in.done() {
		return fmt.Errorf("%w: its head", ErrDamaged)
	}
	if p.sim, err = New(g, c); err != nil {
		return err
	}
	p.sim.replaying = true
	if p.sim.schema.sum != sum {
		return fmt.Errorf("%w: %q", ErrOtherGame, p.report.Name)
	}
	return nil
}

// block reads the next block and checks its sum. One that is cut off is the end.
func (p *player) block() (kind byte, err error) {
	p.offset = p.read
	var head [8]byte
	n, err := io.ReadFull(p.r, head[:])
	p.read += int64(n)
	if err != nil {
		return 0, p.end(err)
	}
	size := int64(binary.LittleEndian.Uint32(head[:]))
	if size < 1 || size > maxBlock {
		return 0, fmt.Errorf("%w: a block of %d bytes at byte %d", ErrDamaged, size, p.offset)
	}
	// The buffer grows with what comes, not with what the size claims.
	p.buf.Reset()
	got, err := io.CopyN(&p.buf, p.r, size)
	p.read += got
	if err != nil {
		return 0, p.end(err)
	}
	if crc32.Checksum(p.buf.Bytes(), castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return 0, fmt.Errorf("%w: the sum of the block at byte %d is wrong", ErrDamaged, p.offset)
	}
	p.in = reading{b: p.buf.Bytes()[1:]}
	return p.buf.Bytes()[0], nil
}

func (p *player) end(err error) error {
	if err == io.EOF && p.offset == p.read {
		return io.EOF
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		p.report.CutOff = true
		return io.EOF
	}
	return fmt.Errorf("world: reading the recording: %w", err)
}

func (p *player) handle(kind byte) error {
	switch {
	case kind == blockInputs && !p.running:
		p.running = true
		return p.inputs()
	case kind == blockState && p.running:
		p.running = false
		return p.compare()
	}
	return fmt.Errorf("%w: a block out of order", ErrDamaged)
}

// inputs submits the inputs of a tick as they came.
func (p *player) inputs() error {
	s, in := p.sim, &p.in
	if in.u64() != s.now {
		return fmt.Errorf("%w: a tick is missing", ErrDamaged)
	}
	for len(in.b) > 0 && !in.failed {
		input := p.input()
		if in.failed {
			break
		}
		p.report.Inputs++
		if s.resubmit(&input) != Accepted {
			return fmt.Errorf("%w: an input that was accepted is not any more", ErrDamaged)
		}
	}
	if !in.done() {
		return fmt.Errorf("%w: an input", ErrDamaged)
	}
	return nil
}

func (p *player) input() Input {
	r := &p.in
	in := Input{Kind: InputKind(r.u8()), Player: PlayerID(r.u16()), Tick: r.u64()}
	switch in.Kind {
	case Join:
		in.Name = r.text()
	case Leave:
	case Steer:
		flags := r.u8()
		in.Steer = Steering{
			HasPlace: flags&1 != 0, HasAngle: flags&2 != 0, HasNorm: flags&4 != 0, Told: flags&8 != 0, Cell: flags&16 != 0, Entity: ID(r.u64()),
			X: math.Float64frombits(r.u64()), Y: math.Float64frombits(r.u64()),
			Angle: math.Float32frombits(r.u32()), Norm: math.Float32frombits(r.u32()),
		}
		r.failed = r.failed || !in.Steer.finite()
	case Act:
		in.Action = p.sim.schema.Action(int(r.u16()))
		in.temp = r.u16()
		if in.Action == nil {
			r.failed = true
			break
		}
		in.params = new(params)
		for i, f := range in.Action.Fields {
			in.params[i] = r.value(f.Type)
			r.failed = r.failed || !in.params[i].Finite()
		}
	default:
		r.failed = true
	}
	return in
}

// resubmit is Join, Leave, Steer or Act, as it was recorded.
func (s *Sim) resubmit(in *Input) Reason {
	if in.Kind == Join {
		if s.isPresent(in.Player) || in.Player == 0 {
			return Malformed
		}
		s.present[in.Player>>6] |= 1 << (in.Player & 63)
		s.players++
	}
	if !s.isPresent(in.Player) || in.Tick > s.now+MaxAhead || in.Tick+s.history.depth < s.now || !s.keep(in) {
		return Malformed
	}
	if in.Kind == Leave {
		s.present[in.Player>>6] &^= 1 << (in.Player & 63)
		s.players--
	}
	return Accepted
}

// compare runs the tick and holds it against what is recorded of it.
func (p *player) compare() error {
	s, in := p.sim, &p.in
	if in.u64() != s.now {
		return fmt.Errorf("%w: a tick is missing", ErrDamaged)
	}
	want := sums{in.u64(), in.u64(), in.u64(), in.u64()}
	recorded, err := p.changes()
	if err != nil {
		return err
	}
	s.Advance()
	p.report.Ticks++
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
	in, all := &p.in, map[fieldKey]tickChange{}
	for id := ID(in.u64()); id != 0 && !in.failed; id = ID(in.u64()) {
		index, count := int(in.u8()), int(in.u16())
		if index >= len(p.sim.schema.Kinds) {
			return nil, fmt.Errorf("%w: an unknown kind", ErrDamaged)
		}
		k := p.sim.schema.Kinds[index]
		for range count {
			f := int(in.u16())
			if in.failed || f >= len(k.Fields)+len(k.hidden) {
				return nil, fmt.Errorf("%w: an unknown field", ErrDamaged)
			}
			all[fieldKey{id, f}] = tickChange{k, in.show(k.field(f).Type)}
		}
	}
	for len(in.b) > 0 && !in.failed {
		all[fieldKey{ID(in.u64()), -1}] = tickChange{value: "gone"}
	}
	if !in.done() {
		return nil, fmt.Errorf("%w: a state", ErrDamaged)
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
			at := i*p.stride + f
			if p.at[at] != p.now {
				continue
			}
			v := Value{Type: e.kind.field(f).Type, bits: p.raw[at], text: p.texts[at]}
			all[fieldKey{e.id, f}] = tickChange{e.kind, v.show()}
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

// A reading takes bytes from the front of b, and fails for good when there are
// too few.
type reading struct {
	b      []byte
	failed bool
}

func (r *reading) take(n int) []byte {
	if r.failed || len(r.b) < n {
		r.failed = true
		return make([]byte, n)
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reading) u8() byte    { return r.take(1)[0] }
func (r *reading) u16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *reading) u32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reading) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *reading) text() string {
	return string(r.take(int(r.u8())))
}

func (r *reading) value(t Type) Value {
	if t == Text {
		return TextValue(r.text())
	}
	return Value{Type: t, bits: r.u64()}
}

func (r *reading) show(t Type) string { v := r.value(t); return v.show() }

// done reports whether all was read and nothing failed.
func (r *reading) done() bool { return !r.failed && len(r.b) == 0 }
