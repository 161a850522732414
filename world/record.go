package world

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
)

// A recording is a file of blocks. Every tick has two. The first has the inputs, and is written
// before Step runs, so that a Step that panics can be found. The second has the results.
//
//	file    magic 8 bytes, version u16, then blocks
//	block   size u32 of what follows the sum, CRC-32C u32 of the same, kind u8, content
//	head    fingerprint of the schema u64, seed u64, rollback u32, replay u32, reuse u32, ticks a second u32, name
//	inputs  tick u64, then each: kind u8, player u16, tick u64, and by kind
//	          join   name
//	          steer  flags u8 (1 place, 2 angle, 4 norm, 8 the place was told, 16 it is a whole cell), entity u64, x f64, y f64, angle f32, norm f32
//	          act    action u16, temporary number u16, values
//	state   tick u64, sums of entities, players, terrain and random u64 each,
//	        then what has changed: id u64, kind u8, count u16, then field u16 and value each;
//	        an id of 0 ends it; then the ids that are gone
//
// All numbers are little endian. A value is 8 bytes. A text or a name is its size u8 and its bytes.
const (
	recordMagic   = "parleyW\n"
	recordVersion = 2

	blockHead   = 1
	blockInputs = 2
	blockState  = 3

	// maxBlock bounds what a damaged size makes a reader take.
	maxBlock = 256 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A recorder writes blocks. The first error ends the recording.
type recorder struct {
	w       io.Writer
	pending []byte // the inputs since the last tick
	block   []byte
	err     error
}

// Record begins a recording. Call it before the first Advance and the first Join. Each tick makes two calls of w.Write.
func (s *Sim) Record(w io.Writer) error {
	if s.now != 0 || s.stats.InputsPending != 0 {
		return errors.New("world: a recording begins before the first tick and the first input")
	}
	r := &recorder{w: w}
	head := append([]byte(recordMagic), byte(recordVersion), byte(recordVersion>>8))
	if _, err := w.Write(head); err != nil {
		return err
	}
	r.open(blockHead)
	r.u64(s.schema.sum)
	r.u64(s.config.Seed)
	r.block = binary.LittleEndian.AppendUint32(r.block, uint32(s.config.MaxRollbackTicks))
	r.block = binary.LittleEndian.AppendUint32(r.block, uint32(s.config.ReplayBudget))
	r.block = binary.LittleEndian.AppendUint32(r.block, uint32(s.config.ReuseTicks))
	r.block = binary.LittleEndian.AppendUint32(r.block, uint32(s.config.TickRate))
	r.block = appendText(r.block, s.game.Name)
	r.close()
	s.recorder = r
	return r.err
}

// RecordErr returns the error that ended the recording, or nil.
func (s *Sim) RecordErr() error {
	if s.recorder == nil {
		return nil
	}
	return s.recorder.err
}

// open begins a block, with room for its size and sum.
func (r *recorder) open(kind byte) { r.block = append(r.block[:0], 0, 0, 0, 0, 0, 0, 0, 0, kind) }

func (r *recorder) u64(v uint64) { r.block = binary.LittleEndian.AppendUint64(r.block, v) }

func (r *recorder) close() {
	body := r.block[8:]
	binary.LittleEndian.PutUint32(r.block, uint32(len(body)))
	binary.LittleEndian.PutUint32(r.block[4:], crc32.Checksum(body, castagnoli))
	if r.err == nil {
		_, r.err = r.w.Write(r.block)
	}
}

func appendText(b []byte, s string) []byte {
	s = s[:min(len(s), 255)]
	return append(append(b, byte(len(s))), s...)
}

func appendValue(b []byte, v Value) []byte {
	if v.Type == Text {
		return appendText(b, v.text)
	}
	return binary.LittleEndian.AppendUint64(b, v.bits)
}

// input notes an input that was accepted into history.
func (r *recorder) input(in *Input) {
	b := append(r.pending, byte(in.Kind))
	b = binary.LittleEndian.AppendUint16(b, uint16(in.Player))
	b = binary.LittleEndian.AppendUint64(b, in.Tick)
	switch in.Kind {
	case Join:
		b = appendText(b, in.Name)
	case Steer:
		st := &in.Steer
		b = append(b, bitIf(st.HasPlace, 1)|bitIf(st.HasAngle, 2)|bitIf(st.HasNorm, 4)|bitIf(st.Told, 8)|bitIf(st.Cell, 16))
		b = binary.LittleEndian.AppendUint64(b, uint64(st.Entity))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(st.X))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(st.Y))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(st.Angle))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(st.Norm))
	case Act:
		b = binary.LittleEndian.AppendUint16(b, uint16(in.Action.Number))
		b = binary.LittleEndian.AppendUint16(b, in.temp)
		for i := range in.Action.Fields {
			b = appendValue(b, in.params[i])
		}
	}
	r.pending = b
}

func bitIf(set bool, bit byte) byte {
	if set {
		return bit
	}
	return 0
}

// begin writes the inputs that came since the last tick.
func (r *recorder) begin(tick uint64) {
	r.open(blockInputs)
	r.u64(tick)
	r.block = append(r.block, r.pending...)
	r.pending = r.pending[:0]
	r.close()
}

// state writes what the tick has made.
func (r *recorder) state(s *Sim) {
	r.open(blockState)
	r.u64(s.now - 1)
	sums := s.world.sums()
	for _, sum := range [...]uint64{sums.entities, sums.players, sums.terrain, sums.random} {
		r.u64(sum)
	}
	p := &s.public
	for i := range p.high {
		if p.slots[i].id != 0 {
			r.changes(p, i)
		}
	}
	r.u64(0)
	for _, g := range p.gone {
		r.u64(uint64(g.id))
	}
	r.close()
}

// changes writes the fields of an entity that this tick has changed, hidden
// ones too.
func (r *recorder) changes(p *published, i int) {
	e := &p.slots[i]
	start := len(r.block)
	r.u64(uint64(e.id))
	r.block = append(r.block, byte(e.kind.index), 0, 0)
	count := 0
	for f := range len(e.kind.Fields) + len(e.kind.hidden) {
		at := i*p.stride + f
		if p.at[at] != p.now {
			continue
		}
		count++
		r.block = append(r.block, byte(f), byte(f>>8))
		if e.kind.field(f).Type == Text {
			r.block = appendText(r.block, p.texts[at])
		} else {
			r.u64(p.raw[at])
		}
	}
	if count == 0 {
		r.block = r.block[:start]
		return
	}
	r.block[start+9], r.block[start+10] = byte(count), byte(count>>8)
}

// field returns a field by its index among the replicated and then the hidden.
func (k *Kind) field(i int) *Field {
	if i < len(k.Fields) {
		return &k.Fields[i]
	}
	return &k.hidden[i-len(k.Fields)]
}
