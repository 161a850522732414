package keep

import (
	"fmt"
	"log/slog"
	"time"
)

// A Mode says what is on disk when.
type Mode uint8

// The modes. The zero Mode keeps nothing.
const (
	Off    Mode = iota // nothing is kept
	Second             // entries are written each tick and synced once a second: a loss of power loses at most the last second, kill -9 nothing
	Tick               // entries are synced before anyone is told of the tick
)

var modeNames = [...]string{"off", "second", "tick"}

func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// ParseMode reads "off", "second" or "tick".
func ParseMode(s string) (Mode, error) {
	for i, name := range modeNames {
		if s == name {
			return Mode(i), nil
		}
	}
	return Off, fmt.Errorf("keep: %q is no way to keep rooms: say off, second or tick", s)
}

// A Config says where rooms are kept, and how. It is not changed after use.
type Config struct {
	// Dir is the data folder. It is made if it is not there, and locked. Rooms are in its folder rooms.
	Dir string

	// Mode says what is on disk when. With Off the folder is locked and nothing else is done.
	Mode Mode

	// Behind is how far back the log of a room goes at least, in the time of its ticks, for whoever reads it again (Again). The newest two
	// snapshots do not see to it, as each start of a server makes one. 0 means that these two are enough.
	Behind time.Duration

	// History keeps all snapshots and segments, and the files of rooms that have ended. Otherwise the newest two snapshots are kept,
	// and the log since the older one.
	History bool

	// Log takes what the operator should know. nil means none.
	Log *slog.Logger
}

// Stats counts what became of entries, snapshots and files since Open. Appended is Written, Dropped and Pending together.
type Stats struct {
	Appended uint64 // entries that rooms gave
	Written  uint64 // entries that were written to a segment
	Dropped  uint64 // entries that could not be written: a later snapshot stands for them
	Pending  uint64 // entries that wait for the disk now

	Bytes         uint64 // written of entries
	Groups        uint64 // turns of the writer that wrote something
	Syncs         uint64 // of segments
	Segments      uint64 // begun
	Snapshots     uint64 // written, read back and found sound
	SnapshotBytes uint64

	WriteFaults    uint64 // segments that were given up as a write or a file system call failed
	SyncFaults     uint64 // segments that were given up as a sync failed
	SnapshotFaults uint64 // snapshots that could not be written, or were not the same when read back
	RemoveFaults   uint64 // files that could not be removed

	Rooms     uint64 // that are kept now
	InTrouble uint64 // of these, rooms whose newest ticks are not being kept
}
