package keep

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"parley/world"
)

var errStopped = errors.New("keep: stopped by its caller")

// Dir returns the folder of a room that is kept, for Again.
func (s *Shelf) Dir(name string) string { return filepath.Join(s.root, name) }

// Again runs what is kept of a room again, in a Sim of its own, for its facts (see world.Sim.Watch). It begins with the newest
// snapshot that is not newer than a tick, or with the oldest. Snapshots of other versions of the game are left out: its Step
// would make other facts of the same log. visit is called with each snapshot, fresh, and after each entry; by returning false
// it ends the run. Where entries are missing, Again goes on with the next snapshot. A server may be writing the files
// meanwhile, and visit must end the run at a tick that is on disk. If files are removed under its hands, which happens to the
// oldest, the error is fs.ErrNotExist: try again.
func (s *Shelf) Again(dir string, g world.Game, from uint64, visit func(sim *world.Sim, fresh bool) bool) error {
	l := loading{shelf: s, name: filepath.Base(dir), dir: dir, game: g, visit: visit}
	_, files, err := s.disk.List(dir)
	if err != nil {
		return fmt.Errorf("keep: %w", err)
	}
	snapshots, segments := ticksOf(snapshotPrefix, files), ticksOf(logPrefix, files)
	next := uint64(0)
	for _, tick := range inTurn(snapshots, from) {
		if l.sim != nil && tick <= next {
			continue // the log has led there, or further
		}
		sim := l.sim
		if err := l.readSnapshot(tickName(snapshotPrefix, tick)); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep: %w", err)
		} else if err != nil || l.head.Version != g.Version || l.head.Name != g.Name {
			l.sim = sim
			continue
		}
		l.wounds = nil
		l.sim.Watch(true)
		if !visit(l.sim, true) {
			return nil
		}
		for _, begin := range segments[l.start(segments, tick):] {
			if err := l.readSegment(begin); errors.Is(err, errStopped) {
				return nil
			} else if err != nil {
				return err
			}
		}
		next = l.sim.Tick()
	}
	if l.sim == nil {
		return fmt.Errorf("keep: %s has no sound snapshot of this version of the game", dir)
	}
	return nil
}

// inTurn returns ticks of snapshots in the order in which they are tried: the newest that is not after a tick, those before it,
// as it may not be sound, and those after it.
func inTurn(ticks []uint64, from uint64) (list []uint64) {
	n := 0
	for n < len(ticks) && ticks[n] <= from {
		n++
	}
	for i := n - 1; i >= 0; i-- {
		list = append(list, ticks[i])
	}
	return append(list, ticks[n:]...)
}
