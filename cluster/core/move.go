package core

import "time"

// Move has the sequencer give the room to another node, and reports whether this node is the sequencer, and not the other one. A snapshot is saved while the room goes
// on; then the entry in flight is the last, and the record says the other node, which begins at once. If it does not, others bid
// as usual.
func (r *Room) Move(now time.Time, node uint64) bool {
	if r.role != sequencing || node == r.cfg.Node {
		return false
	}
	if r.heir = node; !r.moving {
		r.moving, r.saved, r.saving, r.moveBy = true, false, 0, now.Add(moveTime)
		r.saveSoon(now)
	}
	return true
}

// Drain has this node make no entries any more, as soon as may be: it leaves the room to whoever bids first, unless a Move says to
// whom, and never bids again. It goes on as a stage.
func (r *Room) Drain(now time.Time) {
	r.draining = true
	switch {
	case r.role == bidding:
		r.follow(now)
	case r.role == sequencing && !r.moving:
		r.Move(now, 0)
	}
}

// saveSoon saves a snapshot as soon as the log has all that was run.
func (r *Room) saveSoon(now time.Time) {
	r.nextSave = now
	if r.say(now); r.flight == nil {
		r.save(now, r.world.Next(), r.world.Snapshot())
	}
}

// save has a snapshot kept, of the world behind the last entry.
func (r *Room) save(now time.Time, tick uint64, snapshot []byte) {
	r.nextSave, r.saving, r.savingOf = now.Add(snapshotEach), r.seq, tick
	r.order(Order{Kind: Save, Seq: r.seq, Tick: tick, Bytes: snapshot})
}

// HandleSaved says that the snapshot behind entry seq is kept, and reads as it was written.
func (r *Room) HandleSaved(now time.Time, seq uint64) {
	if seq == r.saving {
		r.saved, r.kept = true, r.savingOf
		r.mayGive(now)
	}
}

// mayGive gives the room away, if it is to be and nothing is in the way.
func (r *Room) mayGive(now time.Time) bool {
	if r.role != sequencing || !r.moving || r.flight != nil || r.ahead.some() || !r.saved && now.Before(r.moveBy) {
		return false
	}
	r.give(now)
	return true
}

// give has the record say another node.
func (r *Room) give(now time.Time) {
	if !r.moving {
		r.heir = 0
	}
	r.role, r.moving = giving, false
	r.in.clear()
	r.bid(now)
}
