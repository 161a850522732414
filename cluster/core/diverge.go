package core

import (
	"encoding/binary"
	"slices"
	"time"
)

// differs is the state of a stage that was another than the log says.
type differs struct {
	seq   uint64 // a snapshot behind this message, or a later one, is of this tick or a later one
	tick  uint64 // before which the state was this one
	mine  []byte
	until time.Time // when the stage goes on without the sequencer's
	stops error     // set if it is one time too many
}

// diverge notes that the state is another than the entry of the next tick, which is in message seq, was made for. The stage tells its
// players nothing more, and complains to the sequencer.
func (r *Room) diverge(now time.Time, seq uint64, err error) {
	r.stats.Diverged++
	if len(r.parts) == 1 {
		seq = r.seq // the one before
	}
	r.differs = &differs{seq: seq, tick: r.world.Next(), mine: r.world.Snapshot(), until: now.Add(complainFor)}
	if r.fails(now) {
		r.differs.stops = err
	}
	r.hello = now
	r.load(now)
}

// fails notes that an entry could not be run, and reports whether that is one time too many: it is for good then.
func (r *Room) fails(now time.Time) bool {
	r.diverged = slices.DeleteFunc(r.diverged, func(t time.Time) bool { return now.Sub(t) > divergedSpan })
	r.diverged = append(r.diverged, now)
	return len(r.diverged) >= maxDiverged
}

// complain asks the sequencer to save its state.
func (r *Room) complain(now time.Time) {
	r.hello, r.batch = now.Add(complainEach), true
	b := binary.LittleEndian.AppendUint64(nil, r.cfg.Node)
	r.order(Order{Kind: Ask, Bytes: appendRequest(b, 0, binary.LittleEndian.AppendUint64(nil, r.differs.tick))})
}

// heed saves the state for a stage that has diverged, unless a snapshot is kept that is new enough.
func (r *Room) heed(now time.Time, complaint []byte) {
	switch {
	case len(complaint) != 8:
		r.stats.Malformed++
	case binary.LittleEndian.Uint64(complaint) > r.kept && !now.Before(r.nextKept):
		r.stats.Complaints++
		r.nextKept = now.Add(keptEach)
		r.saveSoon(now)
	}
}

// awaits reports whether a snapshot, which is behind message seq, is older than what the sequencer is to save.
func (r *Room) awaits(now time.Time, seq uint64) bool {
	return r.differs != nil && seq < r.differs.seq && now.Before(r.differs.until)
}

// differed says what differs, when the sequencer's state has come, or is not waited for any more. Too often is for good: this machine computes
// otherwise than the others.
func (r *Room) differed(seq uint64, theirs []byte) {
	d := r.differs
	if d == nil {
		return
	}
	o := Order{Kind: Differ, Tick: d.tick, Bytes: d.mine}
	if seq >= d.seq {
		o.Theirs = theirs
	}
	r.order(o)
	if r.differs = nil; d.stops != nil {
		r.stop(d.stops)
	}
}
