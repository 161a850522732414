package core

import (
	"encoding/binary"
	"time"

	"parley/world"
)

// ahead is what the sequencer has run of a room that no other node has a stage of, and what the log does not have yet.
type ahead struct {
	proven bool // the log has an entry of this epoch: those of earlier ones are void from there on

	message []byte // what was not offered yet
	count   int    // its entries
	since   time.Time

	// What is in flight was run before if flying, the number of its entries, is not 0.
	flying   int
	from     time.Time // when the first of them was run
	done     uint64    // the newest request of this node in them
	snapshot []byte    // of the world behind them, if one is to be saved
	tick     uint64
	spare    []byte // room for the next message
}

func (a *ahead) some() bool { return a.count > 0 }

// isAlone reports whether nobody is kept waiting by a tick that only this node has run.
func (r *Room) isAlone(now time.Time) bool {
	return r.cfg.Batch > 0 && r.ahead.proven && !r.moving && !now.Before(r.company.Add(aloneAfter))
}

// waits reports whether the room stands still at a time, until the log has what is in flight: what may be lost is bounded.
func (r *Room) waits(at time.Time) bool {
	a := &r.ahead
	switch {
	case r.flight == nil:
		return false
	case a.flying == 0 || !r.isAlone(at):
		return true
	}
	return !at.Before(a.from.Add(2*r.cfg.Batch)) || len(a.message) >= maxAheadBytes
}

// isMuch reports whether it is time to append what was run.
func (r *Room) isMuch(now time.Time) bool {
	a := &r.ahead
	return a.some() && !now.Before(a.since.Add(r.cfg.Batch)) || len(a.message) >= maxAheadBytes || len(r.out.list) > MaxWaiting/4
}

// goAhead runs the sealed entry, which the log does not have yet.
func (r *Room) goAhead(now time.Time, entry []byte) {
	a := &r.ahead
	if !a.some() {
		a.message, a.since = append(a.spare[:0], severalMark...), now
		a.spare = nil
	}
	a.message = binary.AppendUvarint(a.message, uint64(len(entry)))
	a.message = append(a.message, entry...)
	a.count++
	r.stats.Ahead++
	r.heard = now
	r.world.Advance()
	r.look(now)
}

// say offers the log what was run.
func (r *Room) say(now time.Time) {
	a := &r.ahead
	if r.flight != nil || !a.some() {
		return
	}
	if !now.Before(r.nextSave) {
		a.snapshot, a.tick = r.world.Snapshot(), r.world.Next()
	}
	r.flight = a.message
	a.flying, a.from, a.done = a.count, a.since, r.world.Done(r.cfg.Node)
	a.message, a.count = nil, 0
	r.offer(now)
}

// said goes on when the log has what was offered.
func (r *Room) said(now time.Time) {
	a := &r.ahead
	r.stats.Made += uint64(a.flying)
	if a.snapshot != nil {
		r.save(now, a.tick, a.snapshot)
	}
	a.spare, r.flight, a.flying, a.snapshot = r.flight, nil, 0, nil
	r.out.done(a.done)
	r.look(now)
}

// forget is for a world that is loaded anew: what it was ahead is lost.
func (a *ahead) forget() (lost int) {
	lost = a.count + a.flying
	*a = ahead{}
	return lost
}

// severalMark begins a message of several entries. No entry begins so: an entry of package world begins with its size.
//
//	message   an entry, or FF FF FF FF, and entries: size v, entry
const severalMark = "\xff\xff\xff\xff"

// split appends the entries of a message to a list, and reports whether it is sound.
func split(list [][]byte, message []byte) ([][]byte, bool) {
	if len(message) < len(severalMark) || string(message[:len(severalMark)]) != severalMark {
		return append(list, message), true
	}
	for b := message[len(severalMark):]; len(b) > 0; {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return list, false
		}
		list, b = append(list, b[n:n+int(size)]), b[n+int(size):]
	}
	return list, len(list) > 0
}

// head reads the head of the first entry of a message, whose entries are in parts then.
func (r *Room) head(message []byte) (h world.EntryHead, ok bool) {
	r.parts, ok = split(r.parts[:0], message)
	if !ok {
		return h, false
	}
	h, err := r.world.Head(r.parts[0])
	return h, err == nil
}
