package gateway

import (
	"math"
	"slices"
	"sync"

	"parley/world"
)

// tap is where one who follows a room takes the facts of its ticks from. The hub pours them in, and waits for nobody.
type tap struct {
	ready chan struct{} // has a value when there may be something new

	mu      sync.Mutex
	batches []batch
	count   int    // facts in them
	mark    uint64 // entries of ticks below it are on disk, as far as that is wanted
	spilled bool   // it was full: what came then is not in it
	ended   bool   // nothing more is poured in
	why     error  // with which it has ended; nil if the room has
}

// batch is the facts that a tick has made final.
type batch struct {
	needs uint64 // the tick below which all entries must be on disk, so that nothing can take the facts back
	facts []world.Fact
}

func newTap() *tap { return &tap{ready: make(chan struct{}, 1)} }

func (t *tap) knock() {
	select {
	case t.ready <- struct{}{}:
	default:
	}
}

// pour adds facts, which belong to all taps and are not changed any more. It reports whether the tap has just become full.
func (t *tap) pour(b batch) (full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.spilled:
	case t.count > 0 && t.count+len(b.facts) > maxTapped:
		t.spilled = true
		t.knock()
		return true
	default:
		t.batches = append(t.batches, b)
		t.count += len(b.facts)
		if b.needs <= t.mark {
			t.knock()
		}
	}
	return false
}

// release lets facts out whose entries are on disk.
func (t *tap) release(mark uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mark > t.mark {
		t.mark = mark
		t.knock()
	}
}

// undo takes back what was not released: the ticks are lost.
func (t *tap) undo() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.batches {
		if t.batches[i].needs > t.mark {
			for _, b := range t.batches[i:] {
				t.count -= len(b.facts)
			}
			t.batches = slices.Delete(t.batches, i, len(t.batches))
			return
		}
	}
}

// end says that nothing more is poured in. What is in it can still be taken, once it is released.
func (t *tap) end(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.ended, t.why = true, why
		t.knock()
	}
}

// take returns the next facts. With none, ended says that none will come, and why.
func (t *tap) take() (facts []world.Fact, ended bool, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.batches) > 0 && t.batches[0].needs <= t.mark {
		facts = t.batches[0].facts
		t.count -= len(facts)
		t.batches[0].facts = nil
		t.batches = t.batches[1:]
		return facts, false, nil
	}
	if len(t.batches) == 0 && t.spilled {
		return nil, true, ErrSlow
	}
	// If the room has failed, what its disk does not have yet was never told.
	return nil, t.ended && (len(t.batches) == 0 || t.why != nil), t.why
}

// marked reports whether all entries of ticks below one are on disk, or that nothing comes any more.
func (t *tap) marked(tick uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mark >= tick || t.ended
}

// follow attaches a tap. The room is quiet.
func (r *Room) follow(t *tap) {
	if len(r.taps) == 0 {
		r.sim.Watch(true)
		if !slices.Contains(r.hub.tapped, r) {
			r.hub.tapped = append(r.hub.tapped, r)
		}
	}
	r.taps = append(r.taps, t)
	t.release(r.durable())
}

// unfollow takes a tap away. The room is quiet, or has ended.
func (r *Room) unfollow(t *tap) {
	r.taps = slices.DeleteFunc(r.taps, func(o *tap) bool { return o == t })
	if len(r.taps) == 0 && r.state != roomEnded {
		r.sim.Watch(false)
	}
}

// pour hands the facts of the last tick to all who follow the room.
func (r *Room) pour(facts []world.Fact) {
	if len(facts) == 0 {
		return
	}
	for _, t := range r.taps {
		if t.pour(batch{r.sim.Tick(), facts}) {
			r.hub.slow.Add(1)
		}
	}
}

// durable returns the tick below which no loss of power takes a tick back.
func (r *Room) durable() uint64 {
	switch {
	case r.shared != nil && r.state != roomEnded:
		return r.shared.durable()
	case r.kept == nil || r.state == roomEnded && r.over == nil: // its files are removed, and it does not come back
		return math.MaxUint64
	case r.over == nil:
		return r.kept.Synced()
	}
	select {
	case <-r.kept.Gone():
		return math.MaxUint64
	default:
		return r.kept.Synced()
	}
}

// release lets those who follow rooms know what is on disk by now.
func (h *Hub) release() {
	h.tapped = slices.DeleteFunc(h.tapped, func(r *Room) bool {
		mark := r.durable()
		for _, t := range r.taps {
			t.release(mark)
		}
		return len(r.taps) == 0 || r.state == roomEnded && mark == math.MaxUint64
	})
}

// conclude ends what is told of a room. If the game or an operator has ended it, all of its ticks are final.
func (r *Room) conclude(why error) {
	if len(r.taps) == 0 {
		return
	}
	switch {
	case why != nil:
	case r.over == nil: // after World.End the last entry has done it
		r.pour(r.sim.Conclude())
	}
	for _, t := range r.taps {
		t.end(why)
	}
}
