package keep

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"
)

// A watch is what is known of trouble.
type watch struct {
	mu     sync.Mutex
	err    error
	saidAt time.Time
}

var errStuck = errors.New("the disk has not answered for a second")

// Trouble returns what is wrong with which rooms, or nil. It is also logged, at once and then each minute.
func (s *Shelf) Trouble() error {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	return s.watch.err
}

// sweep syncs what mode Second has written, and looks whether files are still there.
func (s *Shelf) sweep() {
	s.sweeping.Store(new(s.clock()))
	each(s.list(), s.hands, (*Room).sweep)
	s.sweeping.Store(nil)
	s.relock()
}

// relock locks the folder again if it was removed and is there again: another server would lock another file.
func (s *Shelf) relock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil || s.disk.Leads(s.lock.Name(), s.lock) {
		return
	}
	lock, err := lockFolder(s.config.Dir)
	switch s.usurped = nil; {
	case err == nil:
		s.lock.Close()
		s.lock = lock
	case !errors.Is(err, fs.ErrNotExist): // if the folder is not there, its rooms say so
		s.usurped = err
	}
}

func (s *Shelf) isUsurped() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usurped
}

// look has rooms ask for snapshots, lets players of rooms in mode Second go on if the disk stands still, and says what is wrong.
func (s *Shelf) look() {
	now := s.clock()
	for _, r := range s.list() {
		r.mu.Lock()
		r.look(now)
		r.mu.Unlock()
	}
	s.say(now, s.findTrouble(now))
}

func (r *Room) look(now time.Time) {
	switch {
	case r.working || r.ended:
	case r.phase == broken:
		r.wants.Store(!now.Before(r.retryAt))
	case r.phase == open && r.since > 0 && (r.since >= snapshotBytes || !now.Before(r.snapAfter)):
		r.wants.Store(true)
	}
	safe := r.safe.Load()
	if r.phase == closed || safe >= r.appended.Load() || safe != r.stuckSafe || r.stuckAt.IsZero() {
		r.stuckSafe, r.stuckAt = safe, now
	}
	if r.isStuck(now) && !r.slack.Load() {
		r.slack.Store(true)
		r.shelf.tell()
	}
}

// isStuck reports whether entries have waited for too long. It is called with r.mu held.
func (r *Room) isStuck(now time.Time) bool {
	return !r.stuckAt.IsZero() && now.Sub(r.stuckAt) >= stallAfter
}

// trouble returns why what happens in the room is not being kept, or nil. It is called with r.mu held.
func (r *Room) trouble() error {
	switch {
	case r.phase == closed:
		return nil
	case r.err != nil:
		return r.err
	case r.isStuck(r.shelf.clock()):
		return errStuck
	}
	return r.snapErr
}

// findTrouble puts what is wrong into a sentence.
func (s *Shelf) findTrouble(now time.Time) error {
	if err := s.isUsurped(); err != nil {
		return err
	}
	var first error
	name, more := "", 0
	for _, r := range s.list() {
		r.mu.Lock()
		err := r.trouble()
		r.mu.Unlock()
		if err == nil {
			continue
		}
		if first != nil {
			more++
			continue
		}
		first, name = err, r.name
	}
	if first == nil {
		if since := s.sweeping.Load(); since != nil && now.Sub(*since) > slowSweep {
			return fmt.Errorf("keep: syncing %s takes longer than %v: a loss of power loses as much: see what else uses the disk", s.root, slowSweep)
		}
		return nil
	}
	others := ""
	if more > 0 {
		others = fmt.Sprintf(" (and %d more)", more)
	}
	then := "its players go on, and what they do is not kept"
	if s.config.Mode == Tick {
		then = "it stands still"
	}
	return fmt.Errorf("keep: room %q%s is not being written: %s; mend or empty the disk under %s, and the log goes on by itself: %w", name, others, then, s.root, first)
}

// say logs trouble at once, then each minute, and its end.
func (s *Shelf) say(now time.Time, err error) {
	w := &s.watch
	w.mu.Lock()
	before := w.err
	w.err = err
	due := err != nil && (before == nil && now.Sub(w.saidAt) >= sayAgain || now.Sub(w.saidAt) >= sayEvery)
	if due {
		w.saidAt = now
	}
	over := err == nil && before != nil
	w.mu.Unlock()
	if s.config.Log == nil {
		return
	}
	if due {
		st := s.Stats()
		s.config.Log.Error(err.Error(), "rooms", st.InTrouble, "dropped", st.Dropped, "faults", st.WriteFaults+st.SyncFaults+st.SnapshotFaults)
	}
	if over {
		s.config.Log.Info("keep: all rooms are written again", "dropped", s.count.dropped.Load())
	}
}

func (s *Shelf) warn(text string, args ...any) {
	if s.config.Log != nil {
		s.config.Log.Warn(text, args...)
	}
}
