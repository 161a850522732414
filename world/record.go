package world

import (
	"encoding/binary"
	"errors"
	"io"
)

// A recorder writes blocks. The first error ends the recording.
type recorder struct {
	w     io.Writer
	block []byte
	err   error
}

// Record begins a recording: a log with the state after each tick. Call it before something is submitted for the next tick. If ticks have
// passed, the recording begins with a snapshot. Each tick makes two calls of w.Write: one before Step runs, so that a Step that panics
// can be found, and one after it.
func (s *Sim) Record(w io.Writer) error {
	if s.log.asked || s.log.sealed || s.recorder != nil {
		return errors.New("world: a recording begins before the first input of a tick, and once")
	}
	head := s.appendHead(nil, true)
	if s.now != 0 {
		head = s.appendSnapshot(head)
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	s.recorder = &recorder{w: w}
	if !s.log.on {
		s.write(0, 0)
	}
	if s.now != 0 {
		s.publish() // hidden fields were not compared so far
	}
	return nil
}

// RecordErr returns the error that ended the recording, or nil.
func (s *Sim) RecordErr() error {
	if s.recorder == nil {
		return nil
	}
	return s.recorder.err
}

func (r *recorder) write(b []byte) {
	if r.err == nil {
		_, r.err = r.w.Write(b)
	}
}

func (r *recorder) u64(v uint64) { r.block = binary.LittleEndian.AppendUint64(r.block, v) }

// state writes what the tick has made.
func (r *recorder) state(s *Sim) {
	if r.err != nil {
		return
	}
	r.block, _ = openBlock(r.block[:0], blockState)
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
	r.write(closeBlock(r.block, 0))
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
		if p.at[i*p.stride+f] != p.now {
			continue
		}
		count++
		r.block = append(r.block, byte(f), byte(f>>8))
		r.block = appendWord(r.block, p.recorded(i, f, e.kind.field(f)))
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
