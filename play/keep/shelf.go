package keep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/world"
)

// errTaken means that another process has the lock.
var errTaken = errors.New("keep: locked by another process")

// A Shelf is the folder in which a server keeps its rooms. Its methods may be called from any goroutine.
type Shelf struct {
	config Config
	disk   disk
	root   string // the folder of all rooms
	clock  func() time.Time
	hands  int // files that are synced side by side
	found  []string

	mu       sync.Mutex
	lock     *os.File // nil in tests with a disk of their own
	usurped  error    // another server has the folder, which was removed and made anew
	rooms    map[string]*Room
	loaded   map[string]*loaded // rooms on disk that are not kept now; nil if Load has not read it
	left     map[string]bool    // rooms that have ended and whose files could not be removed
	ended    []Ended            // the oldest first
	isClosed bool
	idle     chan struct{} // closed when Close has no room to wait for any more

	queue  *line // for the writer
	jobs   *line // for the archivists
	notify chan struct{}
	stop   chan struct{}
	all    sync.WaitGroup

	sweeping atomic.Pointer[time.Time] // since when a sweep is at it; nil if none is
	watch    watch
	count    counters
}

type counters struct {
	appended, written, dropped, bytes, groups, syncs, segments, snapshots, snapshotBytes atomic.Uint64
	writeFaults, syncFaults, snapshotFaults, removeFaults                                atomic.Uint64
}

// Open makes the folder if need be, and locks it. If another server has it, the error says so in a sentence.
func Open(c Config) (*Shelf, error) {
	if c.Dir == "" {
		return nil, errors.New("keep: Config.Dir is empty: name the data folder")
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep: the data folder cannot be made: %w", err)
	}
	lock, err := lockFolder(c.Dir)
	if err != nil {
		return nil, err
	}
	s, err := newShelf(c, osDisk{}, time.Now)
	if err != nil {
		dropLock(lock)
		return nil, err
	}
	s.lock = lock
	s.start()
	return s, nil
}

func lockFolder(dir string) (*os.File, error) {
	name := filepath.Join(dir, lockName)
	lock, err := takeLock(name)
	if errors.Is(err, errTaken) {
		return nil, fmt.Errorf("keep: another server uses the folder %s (%s is locked): stop that server, or name another folder", dir, name)
	}
	if err != nil {
		return nil, fmt.Errorf("keep: the folder %s cannot be locked: %w", dir, err)
	}
	return lock, nil
}

// newShelf makes a shelf without its goroutines.
func newShelf(c Config, d disk, clock func() time.Time) (*Shelf, error) {
	s := &Shelf{
		config: c, disk: d, root: filepath.Join(c.Dir, roomsDir), clock: clock, hands: maxSyncs,
		rooms: map[string]*Room{}, loaded: map[string]*loaded{}, left: map[string]bool{},
		queue: newLine(), jobs: newLine(), notify: make(chan struct{}, 1), stop: make(chan struct{}), idle: make(chan struct{}),
	}
	if c.Mode == Off {
		return s, nil
	}
	if err := d.Make(s.root); err != nil {
		return nil, fmt.Errorf("keep: the folder of the rooms cannot be made: %w", err)
	}
	dirs, _, err := d.List(s.root)
	if err != nil {
		return nil, fmt.Errorf("keep: the folder of the rooms cannot be read: %w", err)
	}
	for _, name := range dirs {
		if base, ok := strings.CutSuffix(name, goneSuffix); ok && isName(base) {
			d.RemoveAll(filepath.Join(s.root, name)) // its removal was interrupted; if this fails, it is tried at the next start
		}
		if !isName(name) {
			s.findEnded(name)
			continue
		}
		_, files, err := d.List(filepath.Join(s.root, name))
		if err != nil || len(ticksOf(snapshotPrefix, files)) > 0 {
			s.found = append(s.found, name) // what cannot be read, Load says
			s.loaded[name] = nil
		}
	}
	slices.Sort(s.found)
	slices.SortFunc(s.ended, func(a, b Ended) int { return cmp.Compare(a.at, b.at) })
	s.letGo()
	return s, nil
}

func (s *Shelf) start() {
	if s.config.Mode == Off {
		return
	}
	s.all.Go(s.write)
	for range archivists {
		s.all.Go(s.archive)
	}
	s.all.Go(func() { s.every(syncEvery, s.sweep) })
	s.all.Go(func() { s.every(lookEvery, s.look) })
}

func (s *Shelf) every(period time.Duration, do func()) {
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			do()
		case <-s.stop:
			return
		}
	}
}

// Rooms returns the names of the rooms that were in the folder when it was opened, in order. With Off it returns none.
func (s *Shelf) Rooms() []string { return slices.Clone(s.found) }

// Room begins to keep a room, or goes on with one that was loaded: with a snapshot of sim, so call it right after New or Load and
// Sim.Keep, before anything is submitted. It does not wait for the disk. The error is about the name or the settings, never about the
// disk: a room that cannot be written is in trouble, and tries again. A room may have the name of one that was removed by End.
func (s *Shelf) Room(name string, sim *world.Sim, settings []byte) (*Room, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if len(settings) > maxSettings {
		return nil, fmt.Errorf("keep: room %q has settings of %d bytes: the limit is %d", name, len(settings), maxSettings)
	}
	r := &Room{shelf: s, name: name, dir: filepath.Join(s.root, name), settings: slices.Clone(settings), head: sim.AppendHead(nil), gone: make(chan struct{}),
		behind: uint64(s.config.Behind.Seconds() * float64(sim.Config().TickRate))}
	r.appended.Store(sim.Tick())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed {
		return nil, errors.New("keep: the shelf is closed")
	}
	before := s.rooms[name]
	if before != nil && !before.isLeaving() {
		return nil, fmt.Errorf("keep: room %q is kept already: end it first", name)
	}
	if had, onDisk := s.loaded[name]; onDisk {
		if had == nil {
			return nil, fmt.Errorf("keep: %s has the files of another room %q: load that room, or move the folder away", r.dir, name)
		}
		r.snapshots, r.segments, r.aside = had.snapshots, had.segments, had.aside
		delete(s.loaded, name)
	}
	s.rooms[name] = r
	if s.config.Mode == Off {
		return r, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b := sim.AppendSnapshot(nil)
	if before == nil {
		r.hand(sim.Tick(), b)
		return r, nil
	}
	r.snapshot, r.snapTick, r.working = b, sim.Tick(), true
	before.mu.Lock()
	before.heir = r
	before.mu.Unlock()
	return r, nil
}

// isLeaving reports whether the room has ended and its files are being removed.
func (r *Room) isLeaving() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended && r.remove
}

// forget ends the care for a room: its files are closed, and removed if that was wanted.
func (s *Shelf) forget(r *Room) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.mu.Lock()
	heir, remove := r.heir, r.remove
	r.mu.Unlock()
	close(r.gone)
	s.tell()
	if s.rooms[r.name] == r {
		delete(s.rooms, r.name)
		if !remove && s.config.Mode != Off {
			s.loaded[r.name] = nil
		}
	}
	if heir != nil {
		s.jobs.put(heir)
	}
	if s.isClosed && len(s.rooms) == 0 {
		close(s.idle)
	}
}

// Notify returns a channel that has a value when Safe of some room may have grown since the last value was taken.
func (s *Shelf) Notify() <-chan struct{} { return s.notify }

// Stats returns the counters.
func (s *Shelf) Stats() Stats {
	c := &s.count
	st := Stats{
		Appended: c.appended.Load(), Written: c.written.Load(), Dropped: c.dropped.Load(), Bytes: c.bytes.Load(), Groups: c.groups.Load(),
		Syncs: c.syncs.Load(), Segments: c.segments.Load(), Snapshots: c.snapshots.Load(), SnapshotBytes: c.snapshotBytes.Load(),
		WriteFaults: c.writeFaults.Load(), SyncFaults: c.syncFaults.Load(), SnapshotFaults: c.snapshotFaults.Load(), RemoveFaults: c.removeFaults.Load(),
	}
	for _, r := range s.list() {
		r.mu.Lock()
		st.Rooms++
		st.Pending += r.entries + r.flying
		if r.trouble() != nil {
			st.InTrouble++
		}
		r.mu.Unlock()
	}
	return st
}

// list returns the rooms that are kept, in the order of their names.
func (s *Shelf) list() []*Room {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.rooms), func(a, b *Room) int { return strings.Compare(a.name, b.name) })
}

// Close ends all rooms, waits until everything is written and synced, and gives up the lock. It returns an error if rooms are in
// trouble, or if ctx ends before the disk is done: then the lock is kept until the process ends.
func (s *Shelf) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.isClosed {
		s.mu.Unlock()
		return nil
	}
	s.isClosed = true
	if len(s.rooms) == 0 {
		close(s.idle)
	}
	s.mu.Unlock()
	trouble := s.findTrouble(s.clock())
	for _, r := range s.list() {
		r.End(false)
	}
	select {
	case <-s.idle:
	case <-ctx.Done():
		return fmt.Errorf("keep: the disk is not done with %s: what is not synced may be lost: %w", s.config.Dir, ctx.Err())
	}
	s.shut()
	return trouble
}

// shut ends the goroutines, which have nothing to do any more, and gives up the lock.
func (s *Shelf) shut() {
	close(s.stop)
	s.queue.close()
	s.jobs.close()
	s.all.Wait()
	if s.lock != nil {
		dropLock(s.lock)
	}
}
