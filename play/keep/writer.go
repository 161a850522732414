package keep

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// write is the writer: it takes all that waits, writes it and syncs it. What comes meanwhile goes with the next turn.
func (s *Shelf) write() {
	var rooms []*Room
	for {
		if rooms = s.queue.all(rooms[:0]); len(rooms) == 0 {
			return
		}
		s.commit(rooms)
		clear(rooms)
	}
}

// commit writes what waits of some rooms: a group.
func (s *Shelf) commit(rooms []*Room) {
	hands := s.hands
	if s.config.Mode == Second {
		hands = min(hands, len(rooms)/16) // a write to memory is shorter than the start of a goroutine
	}
	each(rooms, hands, (*Room).flush)
	s.count.groups.Add(1)
	s.tell()
}

// each calls do for all rooms, so many at a time.
func each(rooms []*Room, hands int, do func(*Room)) {
	if hands = min(hands, len(rooms)); hands <= 1 {
		for _, r := range rooms {
			do(r)
		}
		return
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range hands {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(rooms)); i = next.Add(1) - 1 {
				do(rooms[i])
			}
		})
	}
	all.Wait()
}

// tell has the loops look at Safe.
func (s *Shelf) tell() {
	select {
	case s.notify <- struct{}{}:
	default:
	}
}

// flush writes what waits of a room, and syncs it if the mode wants it or if it is the last.
func (r *Room) flush() {
	s := r.shelf
	r.mu.Lock()
	r.queued = false
	if r.phase == waiting { // an archivist is at it, and wakes the writer
		r.mu.Unlock()
		return
	}
	if r.phase == open && r.fresh.file != nil {
		r.retire()
	}
	b, n, to, turn, f, ended := r.pending, r.entries, r.appended.Load(), r.turn, r.file, r.ended
	r.pending, r.spare, r.entries, r.flying = r.spare[:0], nil, 0, n
	var before []segment
	sync := f.file != nil && (s.config.Mode == Tick && n > 0 || ended && (n > 0 || r.dirty || len(r.retired) > 0))
	if sync {
		before, r.retired = r.retired, nil
	}
	r.mu.Unlock()

	err := error(nil)
	if n > 0 {
		var wrote int
		if wrote, err = f.Write(b); err == nil && wrote < len(b) {
			err = io.ErrShortWrite
		}
		if err != nil {
			s.count.writeFaults.Add(1)
			err = fmt.Errorf("write: %w", err)
		}
	}
	if err == nil && sync {
		err = s.syncAll(append(before, f))
	}
	closeAll(before)

	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrote(b, n, to, turn, sync, err)
	if r.ended && !r.working && !r.syncing && !r.queued && r.entries == 0 {
		r.finish()
	}
}

// retire makes the new segment the one that is written. In mode Tick the old one is synced already. It is called with r.mu held.
func (r *Room) retire() {
	if r.shelf.config.Mode == Tick {
		r.trash = append(r.trash, r.file.file)
	} else {
		r.retired = append(r.retired, r.file)
	}
	r.file, r.fresh = r.fresh, segment{}
}

// wrote takes note of a write. It is called with r.mu held.
func (r *Room) wrote(b []byte, n, to, turn uint64, synced bool, err error) {
	c := &r.shelf.count
	r.flying = 0
	if cap(b) <= maxIdleBuffer {
		r.spare = b[:0]
	}
	if err != nil {
		c.dropped.Add(n)
		if turn == r.turn {
			r.give(err, r.shelf.clock().Add(retryAfter))
		}
		return
	}
	c.written.Add(n)
	c.bytes.Add(uint64(len(b)))
	if turn != r.turn || r.phase != open {
		return // given up meanwhile: a snapshot decides what is safe
	}
	r.safe.Store(max(r.safe.Load(), to))
	r.written = max(r.written, to)
	r.dirty = r.dirty || n > 0 // only now: a sweep that came before has not synced it
	if synced {
		r.synced.Store(max(r.synced.Load(), to))
	}
	if r.entries == 0 {
		r.slack.Store(false)
	}
}

// syncAll syncs files, in order. It stops at the first that fails.
func (s *Shelf) syncAll(files []segment) error {
	for _, f := range files {
		s.count.syncs.Add(1)
		if err := f.Sync(); err != nil {
			s.count.syncFaults.Add(1)
			return fmt.Errorf("sync: %w", err)
		}
	}
	return nil
}

func closeAll(files []segment) {
	for _, f := range files {
		f.Close() // what was written is synced, or given up
	}
}

// finish closes the files of a room that has ended and is written. It is called with r.mu held.
func (r *Room) finish() {
	if r.phase == closed {
		return
	}
	r.give(r.err, time.Time{})
	r.phase = closed
	for _, f := range r.trash {
		f.Close()
	}
	r.trash = nil
	r.working = true
	r.shelf.jobs.put(r)
}

// sweep does what is done once a second: in mode Second it syncs, and in both it looks whether the file is still there.
func (r *Room) sweep() {
	r.mu.Lock()
	trash, retired, f, turn, written := r.trash, r.retired, r.file, r.turn, r.written
	r.trash = nil
	due := r.phase == open && (r.dirty || len(retired) > 0)
	if due {
		r.retired, r.dirty, r.syncing = nil, false, true
	}
	r.mu.Unlock()
	if due {
		r.swept(turn, written, r.shelf.check(f, retired))
		closeAll(retired)
	}
	for _, g := range trash {
		g.Close()
	}
}

// check syncs files of a room, the newest last, and looks whether that one is still there.
func (s *Shelf) check(f segment, retired []segment) error {
	if s.config.Mode == Second {
		if err := s.syncAll(append(retired[:len(retired):len(retired)], f)); err != nil {
			return err
		}
	}
	if !s.disk.Leads(f.path, f.file) {
		s.count.writeFaults.Add(1)
		return fmt.Errorf("%s: %w", f.path, errRemoved)
	}
	return nil
}

func (r *Room) swept(turn, written uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.syncing = false
	if err == nil && turn == r.turn && r.shelf.config.Mode == Second && written > r.synced.Load() {
		r.synced.Store(written)
		r.shelf.tell()
	}
	if err != nil && turn == r.turn && r.phase == open {
		r.give(err, r.shelf.clock().Add(retryAfter))
	}
	if r.ended {
		r.wake()
	}
}
