package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"

	"parley/world"
)

// Event is something that happened in a room and stays true.
type Event struct {
	Room  string
	Place Place // of the event: to go on behind it
	world.Fact
}

// Errors of Follow, which package parley returns as its own.
var (
	// ErrSlow means that a consumer of events was too slow: the buffer is full.
	ErrSlow = errors.New("parley: the consumer of events is too slow")
	// ErrFailed means that the room has ended because its game failed.
	ErrFailed = errors.New("parley: the room has ended because its game failed")
)

// GapError means that events may be missing. GoOn is the place from which there are some.
type GapError struct {
	Room  string
	After Place // of the last event that the consumer had
	GoOn  Place // behind which events can be had
}

func (e *GapError) Error() string {
	return fmt.Sprintf("parley: events of room %s behind %v are gone: they go back to %v", e.Room, e.After, e.GoOn)
}

// Follow yields what happens in the rooms of a name behind a place, in order, and goes on as it happens. An event comes when its tick can
// no longer be rewound, and when it is on disk if the room is kept. The iteration ends with an error: that of ctx, ErrSlow, a
// *GapError, ErrFailed, ErrNoRoom, ErrEnded. It ends without one when the room has ended and there is no other of its name.
func (h *Hub) Follow(ctx context.Context, name string, after Place) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		_ = h.Bring(name) // if it cannot, there are no events here, and that is said
		f := follower{h: h, ctx: ctx, name: name, at: after, yield: yield}
		for {
			more, err := f.round()
			if err != nil && !f.stopped {
				yield(Event{Room: name, Place: f.at}, err)
			}
			if err != nil || !more {
				return
			}
		}
	}
}

// follower is one iteration.
type follower struct {
	h       *Hub
	ctx     context.Context
	name    string
	at      Place // behind the last event
	yield   func(Event, error) bool
	stopped bool // the consumer wants no more
	some    bool // it has been at a room

	goroutine uint64 // that runs a log again
}

var (
	errStop  = errors.New("stopped")
	errMoved = errors.New("the files are of another room by now")
)

// source is where the next events come from.
type source struct {
	room  *Room
	tap   *tap
	ended *Ended // or from the files of a room that has ended

	opened int64
	final  uint64 // the tap has facts from this tick on
	next   uint64 // the tick that comes next in the room
	last   Place  // of the newest fact before the tap's, if it is known
	known  bool
}

// round follows one room to its end. more says that there may be another.
func (f *follower) round() (more bool, err error) {
	src, err := f.choose()
	if err != nil || src == nil {
		return false, err
	}
	f.some = true
	if src.ended != nil {
		return f.readEnded(src.ended)
	}
	defer f.h.post(func() { src.room.do(func() { src.room.unfollow(src.tap) }) })
	if err := f.catchUp(src); err == errMoved { // it has ended: its files are elsewhere, or gone
		f.some = false
		return true, nil
	} else if err != nil {
		return false, err
	}
	return f.live(src)
}

// choose finds the room that has the next events, on the hub's goroutine.
func (f *follower) choose() (src *source, err error) {
	h := f.h
	var refused error
	chosen := make(chan struct{})
	var choose func()
	choose = func() {
		e, gap := f.findEnded()
		r := h.rooms[f.name]
		switch {
		case gap != Place{}:
			refused = &GapError{f.name, f.at, gap}
		case e != nil:
			src = &source{ended: e}
		case r == nil && f.some: // it has ended, and that was told
		case r == nil:
			refused = fmt.Errorf("%w: %s", ErrNoRoom, f.name)
		default:
			r.do(func() {
				if src = r.offer(); src == nil { // it has ended meanwhile, and may have left its files or another of its name
					choose()
					return
				}
				close(chosen)
			})
			return
		}
		close(chosen)
	}
	if _, err := h.post(choose); err != nil {
		return nil, err
	}
	select {
	case <-chosen:
		return src, refused
	case <-h.over:
		return nil, ErrEnded
	}
}

// findEnded returns the oldest room of the name that has ended and has events behind the place. If events before those that there are
// are gone, gap is where to go on.
func (f *follower) findEnded() (next *Ended, gap Place) {
	if f.at == FromNow {
		return nil, Place{}
	}
	r := f.h.rooms[f.name]
	known := f.some || f.at.Opened == 0 || r != nil && r.settings.Opened == f.at.Opened
	var lost Place // the end of a room whose events went with it
	for _, e := range f.h.ended {
		if e.Room != f.name || e.Opened < f.at.Opened {
			continue
		}
		known = known || e.Opened == f.at.Opened
		switch {
		case next != nil || f.at.Compare(e.last()) >= 0:
		case e.kept:
			next = e
		case f.at != Place{}: // which wants what there is
			lost = e.last()
		}
	}
	switch {
	case known && lost == Place{}:
		return next, Place{}
	case next != nil:
		return next, Place{Opened: next.Opened}
	case r != nil:
		return nil, Place{Opened: r.settings.Opened}
	}
	return nil, lost
}

// offer attaches a tap to a room. It returns nil if the room has ended.
func (r *Room) offer() *source {
	if r.state == roomEnded {
		return nil
	}
	src := &source{room: r, tap: newTap(), opened: r.settings.Opened, final: r.sim.Final(), next: r.sim.Tick()}
	last, known := r.sim.LastFact()
	src.last, src.known = Place{src.opened, last.Tick, last.Index}, known
	r.follow(src.tap)
	return src
}

// catchUp yields what happened before the tap was attached, from the log.
func (f *follower) catchUp(src *source) error {
	from := Place{src.opened, src.final, 0}
	if f.at == FromNow {
		f.at = from
	}
	if f.at.Compare(from) >= 0 || src.known && (src.last.Index == 0 || f.at.Compare(src.last) >= 0) {
		return nil
	}
	if src.room.kept == nil {
		if f.at == (Place{}) {
			return nil
		}
		return &GapError{f.name, f.at, from}
	}
	for !src.tap.marked(src.next) {
		if err := f.wait(src.tap.ready); err != nil {
			return err
		}
	}
	shelf := f.h.cfg.Shelf
	reached := false
	err := f.again(shelf.Dir(f.name), src.opened, func(sim *world.Sim) bool { reached = sim.Tick() >= src.next; return !reached }, src.final, src.room.kept.Leaving)
	if err == nil && !reached {
		err = &GapError{f.name, f.at, from}
	}
	return err
}

// readEnded yields the events of a room that has ended, from its files.
func (f *follower) readEnded(e *Ended) (more bool, err error) {
	if e.gone != nil {
		if err := f.wait(e.gone); err != nil {
			return false, err
		}
	}
	dir := ""
	for _, k := range f.h.cfg.Shelf.Ended() {
		if k.Room == e.Room && endedOf(k.Result).Opened == e.Opened {
			dir = k.Dir
		}
	}
	if dir == "" {
		return false, &GapError{f.name, f.at, e.last()}
	}
	if err := f.again(dir, e.Opened, func(*world.Sim) bool { return true }, math.MaxUint64, func() bool { return false }); err != nil {
		return false, err
	}
	if f.at.Compare(e.last()) < 0 { // the end of its log is lost: it was read, and is known to be whole when it was put aside
		return false, &GapError{f.name, f.at, e.last()}
	}
	return true, nil
}

// again runs the log of a room again while goesOn, and yields the facts of ticks before one. It ends with errMoved if what it
// has read may be of another room.
func (f *follower) again(dir string, opened int64, goesOn func(*world.Sim) bool, before uint64, moved func() bool) error {
	f.goroutine = goroutine() // Step runs on it
	f.h.workers.ids.Store(f.goroutine, true)
	defer func() {
		f.h.workers.ids.Delete(f.goroutine)
		f.goroutine = 0
	}()
	var err error
	visit := func(sim *world.Sim, fresh bool) bool {
		if moved() {
			err = errMoved
			return false
		}
		if fresh {
			if err = f.check(sim, opened); err != nil {
				return false
			}
		} else if err = f.tell(opened, sim.Facts(), before); err != nil {
			return false
		}
		return goesOn(sim) && f.ctx.Err() == nil
	}
	var failed error
	for range rereads {
		from := uint64(0)
		if f.at.Opened == opened { // the tick of a place in an earlier room says nothing of this one
			from = f.at.Tick
		}
		failed = f.h.cfg.Shelf.Again(dir, f.h.cfg.Game, from, visit)
		switch {
		case err != nil:
			return err
		case f.ctx.Err() != nil:
			return f.ctx.Err()
		case moved():
			return errMoved
		case !errors.Is(failed, fs.ErrNotExist):
			return failed
		}
	}
	return failed
}

// check finds out whether a snapshot begins behind events that were not yielded yet.
func (f *follower) check(sim *world.Sim, opened int64) error {
	begins := Place{opened, sim.Final(), 0}
	last, known := sim.LastFact()
	switch {
	case f.at == (Place{}): // all that there is
		f.at = begins
		return nil
	case f.at.Compare(begins) >= 0 || sim.Final() == 0 || known && (last.Index == 0 || f.at.Compare(Place{opened, last.Tick, last.Index}) >= 0):
		return nil
	}
	return &GapError{f.name, f.at, begins}
}

// tell yields those facts that are behind the place, and of ticks before one.
func (f *follower) tell(opened int64, facts []world.Fact, before uint64) error {
	for i := range facts {
		at := Place{opened, facts[i].Tick, facts[i].Index}
		if at.Compare(f.at) <= 0 || facts[i].Tick >= before {
			continue
		}
		f.at = at
		if !f.give(Event{f.name, at, facts[i]}) {
			f.stopped = true
			return errStop
		}
	}
	return nil
}

// give yields an event. While a log is run again, the consumer's code is not the game's.
func (f *follower) give(e Event) bool {
	if f.goroutine != 0 {
		f.h.workers.ids.Delete(f.goroutine)
		defer f.h.workers.ids.Store(f.goroutine, true)
	}
	return f.yield(e, nil)
}

// live yields what happens from now on.
func (f *follower) live(src *source) (more bool, err error) {
	for {
		facts, ended, why := src.tap.take()
		switch {
		case len(facts) > 0:
			if err := f.tell(src.opened, facts, math.MaxUint64); err != nil {
				return false, err
			}
		case ended:
			return why == nil, why
		default:
			if err := f.wait(src.tap.ready); err != nil {
				return false, err
			}
		}
	}
}

// wait waits for a channel.
func (f *follower) wait(ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	case <-f.ctx.Done():
		return f.ctx.Err()
	case <-f.h.over:
		return ErrEnded
	}
}
