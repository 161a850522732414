package core

import "time"

// begin makes entries from now on.
func (r *Room) begin(now time.Time) {
	r.role = sequencing
	r.nextTick, r.nextSave = now, now.Add(snapshotEach)
	for i := range r.out.list { // requests of this node go the short way
		r.in.put(r.cfg.Node, r.out.list[i].number, r.world.Done(r.cfg.Node), r.out.list[i].body)
	}
}

// wake has a room that slept go on.
func (r *Room) wake(now time.Time) {
	r.awake, r.heard = true, now
	if r.nextTick.Before(now) {
		r.nextTick = now
	}
}

// HandleBatch takes requests of another node's players. Who is not the sequencer drops them: they come again.
func (r *Room) HandleBatch(now time.Time, b []byte) {
	if r.role != sequencing { // one that catches up does not know yet what the log has
		return
	}
	if !readBatch(b, func(node, number uint64, body []byte) { r.in.put(node, number, r.world.Done(node), body) }) {
		r.stats.Malformed++
	}
	if !r.awake && r.in.some() {
		r.wake(now)
	}
}

// sequence makes the entry of a tick that is due, and offers it to the log.
func (r *Room) sequence(now time.Time) {
	if r.flight != nil {
		if !r.fetching && !now.Before(r.offered.Add(repeatStore)) {
			r.stats.Repeated++
			r.offer(now)
		}
		return
	}
	if r.fetching || !r.awake && !r.in.some() || now.Before(r.nextTick) {
		return
	}
	due, period := now.UnixMicro(), r.cfg.Period.Microseconds()
	skipped := uint64(0)
	if last := r.world.Due(); last != 0 {
		if due < last {
			due = last // the clock of the sequencer before was ahead of this one's
		}
		skipped = uint64(max((due-last+period/2)/period-1, 0))
	}
	r.stats.SkippedFor += skipped
	r.in.give(r.world)
	r.flight = r.world.Seal(due, r.epoch, skipped)
	if r.nextTick = r.nextTick.Add(r.cfg.Period); !r.nextTick.After(now) {
		r.nextTick = now.Add(r.cfg.Period) // it goes on from now
	}
	r.offer(now)
}

// offer offers the entry to the log, behind the last that was run.
func (r *Room) offer(now time.Time) {
	r.offered = now
	r.order(Order{Kind: Append, Seq: r.seq, Bytes: r.flight})
}

// HandleAppended says that the entry that was offered behind after is in the log, at seq.
func (r *Room) HandleAppended(now time.Time, after, seq uint64) {
	if r.flight == nil || after != r.seq {
		return
	}
	r.appended(now, seq)
	r.drain(now)
}

func (r *Room) appended(now time.Time, seq uint64) {
	r.stats.Made++
	r.seq, r.flight, r.heard = seq, nil, now
	r.world.Advance()
	r.ran(now)
	if !now.Before(r.nextSave) {
		r.nextSave = now.Add(snapshotEach)
		r.order(Order{Kind: Save, Seq: r.seq, Tick: r.world.Next(), Bytes: r.world.Snapshot()})
	}
}

// HandleRefused says that the entry that was offered behind after was refused, because the log has another there. It may be
// this very entry, from a try whose answer was lost.
func (r *Room) HandleRefused(now time.Time, after uint64) {
	if r.flight == nil || after != r.seq {
		return
	}
	r.stats.Refused++
	r.missing = true
	if !r.fetching {
		r.fetch(now)
	}
}
