package cluster

import (
	"time"

	"parley/cluster/core"
)

// pending are a room's snapshots that are read or written. The core orders one again each second until it has it, however long that takes, and a slow
// store is not to be asked for many at a time.
type pending struct {
	reads  int         // Loads that are under way: all read the same
	moved  time.Time   // when the last of them began, or brought something
	writes bool        // a Save is under way
	next   *core.Order // the newest Save that waits for it
	said   time.Time   // when the log was told that one fails
}

// begins reports whether an order is to be brought to the store now.
func (r *Room) begins(now time.Time, o core.Order) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.pending
	switch {
	case o.Kind == core.Load && p.reads > 0 && now.Sub(p.moved) < readEach:
		return false
	case o.Kind == core.Load:
		p.reads++
		p.moved = now
	case o.Kind == core.Save && p.writes:
		p.next = &o
		return false
	case o.Kind == core.Save:
		p.writes = true
	}
	return true
}

// ends notes that an order of a kind was brought to the store, and returns the one that has waited for that.
func (r *Room) ends(kind core.OrderKind) (next *core.Order) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.pending
	switch kind {
	case core.Load:
		p.reads--
	case core.Save:
		next, p.next = p.next, nil
		p.writes = next != nil
	}
	return next
}

// moves notes that a snapshot that is read has brought something.
func (r *Room) moves(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending.moved = now
}

// timeFor is how long so many bytes of a snapshot may take.
func timeFor(bytes int64) time.Duration {
	return storeTime + time.Duration(bytes)*time.Second/snapshotRate
}

// fails says that the store has not done what an order says.
func (r *Room) fails(o core.Order, err error) {
	log := r.node.cfg.Log
	if o.Kind != core.Load && o.Kind != core.Save {
		log.Debug("the store does not answer", "room", r.name, "order", o.Kind.String(), "err", err)
		return
	}
	r.mu.Lock()
	now := time.Now()
	known := now.Sub(r.pending.said) < sayEach
	if !known {
		r.pending.said = now
	}
	r.mu.Unlock()
	switch {
	case known:
	case o.Kind == core.Save:
		log.Warn("a snapshot of a room is not kept, so its log grows; it is tried again", "room", r.name, "bytes", len(o.Bytes), "err", err)
	default:
		log.Warn("the newest snapshot of a room cannot be read, so this node does not run the room; it is tried again", "room", r.name, "err", err)
	}
}
