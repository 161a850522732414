package core

import "time"

// begin makes entries from now on.
func (r *Room) begin(now time.Time) {
	if r.reached > r.epoch { // another was chosen since
		r.follow(now)
		return
	}
	r.role, r.moving, r.ahead.proven, r.company = sequencing, false, false, now
	if r.draining {
		r.give(now)
		return
	}
	r.nextTick, r.nextSave = now, now.Add(snapshotEach)
	r.putOwn()
}

// putOwn takes the requests of this node the short way.
func (r *Room) putOwn() {
	list, done := r.out.list, r.world.Done(r.cfg.Node)
	if len(list) == 0 {
		return
	}
	next := r.in.of(r.cfg.Node, done).next
	for i := max(next, list[0].number) - list[0].number; i < uint64(len(list)); i++ { // numbers have no gaps
		if !r.in.put(r.cfg.Node, list[i].number, done, list[i].body) {
			return
		}
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
	node, ok := readBatch(b, func(node, number uint64, body []byte) {
		if number == 0 {
			r.heed(now, body)
			return
		}
		r.in.put(node, number, r.world.Done(node), body)
	})
	if !ok {
		r.stats.Malformed++
	}
	if node != r.cfg.Node {
		r.company = now
		r.say(now)
	}
	if !r.awake && r.in.some() {
		r.wake(now)
	}
}

// sequence makes the entry of a tick that is due, and offers it to the log or runs it.
func (r *Room) sequence(now time.Time) {
	if r.flight != nil && !r.fetching && !now.Before(r.offered.Add(repeatStore)) {
		r.stats.Repeated++
		r.offer(now)
	}
	alone := r.isAlone(now)
	if !alone || r.isMuch(now) {
		r.say(now)
	}
	if r.mayGive(now) || r.fetching || !r.awake && !r.in.some() || now.Before(r.nextTick) {
		return
	}
	if r.waits(now) {
		if r.ahead.flying > 0 {
			r.nextTick = now // NextTimeout is not to ask for it again
		}
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
	r.putOwn()
	r.in.give(r.world)
	entry := r.world.Seal(due, r.epoch, skipped)
	if r.nextTick = r.nextTick.Add(r.cfg.Period); !r.nextTick.After(now) {
		r.nextTick = now.Add(r.cfg.Period) // it goes on from now
	}
	if alone {
		r.goAhead(now, entry)
		return
	}
	r.flight = entry
	r.offer(now)
}

// offer offers the message to the log, behind the last that was run.
func (r *Room) offer(now time.Time) {
	r.offered, r.refused = now, false
	anew := !r.lost.IsZero() && !now.Before(r.lost.Add(emptyFor))
	r.order(Order{Kind: Append, Seq: r.seq, Bytes: r.flight, Anew: anew})
}

// HandleAppended says that the message that was offered behind after is in the log, at seq.
func (r *Room) HandleAppended(now time.Time, after, seq uint64) {
	if r.flight == nil || after != r.seq {
		return
	}
	if r.doubt == after+1 { // or an earlier one is
		r.HandleRefused(now, after)
		return
	}
	r.appended(now, seq)
	r.drain(now)
}

func (r *Room) appended(now time.Time, seq uint64) {
	r.seq, r.heard, r.reached, r.soon = seq, now, r.epoch, 0
	if !r.lost.IsZero() {
		r.lost, r.nextSave = time.Time{}, now // who loads an older snapshot cannot go on from it
	}
	if r.ahead.flying > 0 {
		r.said(now)
	} else {
		r.stats.Made++
		r.flight, r.ahead.proven = nil, true
		r.world.Advance()
		r.ran(now)
	}
	if !now.Before(r.nextSave) && !r.ahead.some() {
		r.save(now, r.world.Next(), r.world.Snapshot())
	}
	if !r.isAlone(now) {
		r.say(now)
	}
	r.mayGive(now)
}

// HandleRefused says that the message that was offered behind after was refused, because the log has another there. It may be
// this very entry, from a try whose answer was lost.
func (r *Room) HandleRefused(now time.Time, after uint64) {
	if r.flight == nil || after != r.seq {
		return
	}
	r.stats.Refused++
	r.missing, r.refused, r.lost = true, true, time.Time{}
	if !r.fetching {
		r.fetch(now)
	}
}

// HandleLost says that the message that was offered behind after was refused because the log of the room, which has not ended, has no entry at all: the
// store has lost what it had. newest is of which entry the newest snapshot is. If that stays so, a sequencer that has run as much as anybody can know of
// begins the log anew. Of two that do so the store takes the message of one, as ever.
func (r *Room) HandleLost(now time.Time, after, newest uint64) {
	if r.flight == nil || after != r.seq {
		return
	}
	r.stats.Refused++
	if newest > r.seq {
		r.load(now)
		return
	}
	if r.lost.IsZero() {
		r.lost, r.soon = now, 0
	}
	r.offerSoon(now)
}

// offerSoon has the message offered again soon: the log has refused it, and has no other in its place. The longer that lasts the less often.
func (r *Room) offerSoon(now time.Time) {
	r.soon = min(max(2*r.soon, repeatSoon), repeatStore)
	r.offered = now.Add(r.soon - repeatStore)
}
