package keep

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// A Room is the log of a room that is written. Its methods may be called from any goroutine, Append and Snapshot from one at a time.
type Room struct {
	shelf    *Shelf
	name     string
	dir      string
	settings []byte
	head     []byte // of its segments
	behind   uint64 // Config.Behind in ticks

	appended atomic.Uint64 // the tick after the newest that was appended
	safe     atomic.Uint64 // the tick after the newest that is on disk as the mode wants it
	synced   atomic.Uint64 // the tick after the newest that a loss of power does not lose
	slack    atomic.Bool   // Second: players go on without the disk
	wants    atomic.Bool   // a snapshot
	leaving  atomic.Bool   // its files are being moved or removed

	mu     sync.Mutex
	phase  phase
	turn   uint64 // counts the times that the log was given up or begun: a goroutine that comes back from the disk sees whether it still matters
	queued bool   // the writer will look at it

	pending []byte // entries that the writer has not taken
	entries uint64 // in pending
	flying  uint64 // entries that the writer has taken and not written yet
	written uint64 // the tick after the newest that was written
	spare   []byte // memory for pending

	file    segment
	fresh   segment   // the writer goes on with it
	retired []segment // to be synced and closed before file is synced
	trash   []file    // to be closed
	dirty   bool      // something was written to file since the last sweep
	syncing bool      // a sweep is at it

	working   bool // an archivist is at it, or will be
	snapshot  []byte
	snapTick  uint64
	prepared  bool // the folder is there, with the settings
	aside     []string
	snapshots []uint64 // on disk and sound, in order
	segments  []uint64

	since     uint64 // bytes that were appended since the newest snapshot
	snapAfter time.Time
	retryAt   time.Time
	stuckSafe uint64 // what safe was at stuckAt
	stuckAt   time.Time
	err       error // why the log was given up
	snapErr   error // why the last snapshot was

	ended  bool
	remove bool
	result []byte        // with which it has ended; nil if there is none
	gone   chan struct{} // closed when nothing more is done for it
	heir   *Room         // a room of the same name that begins when this one is gone
}

// A segment is a file of the log.
type segment struct {
	file
	path string
}

// A phase says where a room's log is.
type phase uint8

const (
	waiting phase = iota // for the snapshot with which the log begins: entries since then wait too
	open                 // entries are written
	broken               // the log cannot go on without a snapshot: entries are dropped
	closed               // it has ended, and nothing is open any more
)

var (
	errBehind  = errors.New("the disk is too slow: too much waits to be written")
	errRemoved = errors.New("its file was removed while it was written")
)

// Append adds the entry of a tick, as Sim.Seal returned it: call it between Seal and Advance, for every tick without gaps. It copies the
// entry, and never waits for the disk. If too much waits for the disk already, the entry is dropped: the room is in trouble, and wants
// a snapshot as soon as it can go on.
func (r *Room) Append(tick uint64, entry []byte) {
	s := r.shelf
	if s.config.Mode == Off {
		r.appended.Store(tick + 1)
		return
	}
	s.count.appended.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		panic("keep: Append after End")
	}
	next := r.appended.Load()
	r.appended.Store(tick + 1)
	switch {
	case r.phase == broken:
		s.count.dropped.Add(1)
	case tick != next:
		s.count.dropped.Add(1)
		r.give(fmt.Errorf("the entry of tick %d came where that of tick %d follows", tick, next), time.Time{})
	case len(r.pending)+len(entry) > maxPending:
		s.count.dropped.Add(1)
		s.count.writeFaults.Add(1)
		r.give(errBehind, time.Time{})
	default:
		r.pending = append(r.pending, entry...)
		r.entries++
		r.since += uint64(len(entry))
		r.wake()
	}
}

// wake has the writer look at the room. It is called with r.mu held.
func (r *Room) wake() {
	if !r.queued && (r.phase != waiting || r.ended) {
		r.queued = true
		r.shelf.queue.put(r)
	}
}

// give gives the log up: what waits is dropped, and the room wants a snapshot with which a new segment begins. It is called with r.mu
// held. After a failed sync nothing is known of what a file has, not even after a later sync that succeeds: so no file is used again.
func (r *Room) give(why error, retryAt time.Time) {
	r.turn++
	r.phase, r.err, r.retryAt = broken, why, retryAt
	r.shelf.count.dropped.Add(r.entries)
	r.pending, r.entries = r.pending[:0], 0
	for _, g := range append(r.retired, r.file, r.fresh) {
		if g.file != nil {
			r.trash = append(r.trash, g.file)
		}
	}
	r.retired, r.file, r.fresh, r.dirty = nil, segment{}, segment{}, false
	r.prepared = false
	r.slack.Store(true)
}

// Safe returns up to which tick players may be told: of ticks below it. In mode Tick these are synced, and while the disk fails Safe
// stands still. In mode Second these are written, which survives the end of the process. While the disk fails or has not answered for
// a second, these are all that were appended. With Off they always are. It is 0 until the snapshot with which the log begins is
// on disk, also in a room that was loaded: a server that was killed may have written what it had not synced, and that was read.
func (r *Room) Safe() uint64 {
	switch r.shelf.config.Mode {
	case Off:
		return r.appended.Load()
	case Second:
		if r.slack.Load() {
			return r.appended.Load()
		}
	}
	return r.safe.Load()
}

// Synced returns up to which tick nothing is lost, not even with the machine's power: of ticks below it. In mode Tick it is Safe. In mode
// Second it follows within a second or two, and stands still while the disk fails. With Off it is all.
func (r *Room) Synced() uint64 {
	if r.shelf.config.Mode == Off {
		return r.appended.Load()
	}
	return r.synced.Load()
}

// Leaving reports whether the files of a room that has ended are being moved or removed: what is read by its name from then on may be of
// another room.
func (r *Room) Leaving() bool { return r.leaving.Load() }

// Gone returns a channel that is closed when all of a room that has ended is synced, and its files are closed, moved or removed.
func (r *Room) Gone() <-chan struct{} { return r.gone }

// WantsSnapshot reports whether it is time for a snapshot: half a minute after the last one if there were entries since then, after 16
// MiB of them, and when the log cannot go on without one. It costs a load from memory.
func (r *Room) WantsSnapshot() bool { return r.wants.Load() }

// Snapshot gives a snapshot, as Sim.AppendSnapshot made it right after Advance: tick is Sim.Tick, the one that comes next. It copies b,
// and does not wait for the disk. While the one before is being written it does nothing. In a room that stands still, as Safe does not
// grow in mode Tick, give one as soon as WantsSnapshot says so.
func (r *Room) Snapshot(tick uint64, b []byte) {
	if r.shelf.config.Mode == Off {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.working || r.ended || r.phase == open && len(r.snapshots) > 0 && r.snapshots[len(r.snapshots)-1] == tick {
		return
	}
	if r.phase == broken {
		r.turn++
		r.phase = waiting
		r.appended.Store(tick)
	}
	r.hand(tick, append([]byte(nil), b...))
}

// hand gives a snapshot to the archivists. It is called with r.mu held.
func (r *Room) hand(tick uint64, b []byte) {
	r.wants.Store(false)
	r.snapshot, r.snapTick, r.since, r.working = b, tick, 0, true
	r.shelf.jobs.put(r)
}

// End ends the log: nothing may be appended any more. With remove the room's files go, once all is written. With Config.History
// they are moved aside instead. It does not wait for the disk.
func (r *Room) End(remove bool) { r.end(remove, nil) }

// EndWith is End for a room that has ended with a result: its files are moved aside, with the result, and Shelf.Ended has both. The newest
// 256 of them are kept. The name is free for another room.
func (r *Room) EndWith(result []byte) { r.end(true, result) }

func (r *Room) end(remove bool, result []byte) {
	r.mu.Lock()
	again := r.ended
	if !again {
		r.ended, r.remove, r.result = true, remove, result
		r.wants.Store(false)
		if r.shelf.config.Mode != Off {
			r.wake()
		}
	}
	r.mu.Unlock()
	if r.shelf.config.Mode == Off && !again {
		r.shelf.forget(r)
	}
}

func (r *Room) path(name string) string { return filepath.Join(r.dir, name) }
