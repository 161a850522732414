package keep

import (
	"context"

	"parley/world"
)

// A Shelf is the folder in which a server keeps its rooms. Its methods may be called from any goroutine.
type Shelf struct {
}

// Open makes the folder if need be, and locks it. If another server has it, the error says so in a sentence.
func Open(c Config) (*Shelf, error) { panic("keep: not written yet") }

// Rooms returns the names of the rooms that were in the folder when it was opened, in order. With Off it returns none.
func (s *Shelf) Rooms() []string { return nil }

// Load reads a room: its newest sound snapshot, or the one before, and the entries since then. settings is what Room was given with it,
// or nil if that is lost. A room of another game, schema or format, and one whose files are damaged so that more than the last seconds
// would be lost, is an error of one sentence that says how to go on: its files are left as they are, and Room refuses its name.
func (s *Shelf) Load(name string, g world.Game) (sim *world.Sim, settings []byte, err error) {
	panic("keep: not written yet")
}

// Room begins to keep a room, or goes on with one that was loaded: with a snapshot of sim, so call it right after New or Load and
// Sim.Keep, before anything is submitted. It does not wait for the disk. The error is about the name or the settings, never about the
// disk: a room that cannot be written is in trouble, and tries again. A room may have the name of one that has ended before.
func (s *Shelf) Room(name string, sim *world.Sim, settings []byte) (*Room, error) {
	panic("keep: not written yet")
}

// Notify returns a channel that has a value when Safe of some room may have grown since the last value was taken.
func (s *Shelf) Notify() <-chan struct{} { return nil }

// Trouble returns what is wrong with which rooms, or nil. It is also logged, at once and then each minute.
func (s *Shelf) Trouble() error { return nil }

// Stats returns the counters.
func (s *Shelf) Stats() Stats { return Stats{} }

// Close ends all rooms, waits until everything is written and synced, and gives up the lock. It returns an error if rooms are in
// trouble, or if ctx ends before the disk is done.
func (s *Shelf) Close(ctx context.Context) error { panic("keep: not written yet") }
