package keep

import "time"

const (
	// maxPending is how many bytes of a room wait for the disk. A room of 200 steering players makes 50 KB a second, and an entry
	// has a megabyte at most: so this is a minute of a large room. Beyond it the room is in trouble.
	maxPending = 4 << 20

	// maxIdleBuffer is how large a room's buffer may stay once it is written. There may be thousands of rooms.
	maxIdleBuffer = 64 << 10

	// maxSettings bounds what the gateway keeps of a room beside its world.
	maxSettings = 64 << 10

	// snapshotEvery and snapshotBytes say when a room wants a snapshot. Loading runs the entries since the newest one again: 30 s of
	// them are 600, which takes less than a second.
	snapshotEvery = 30 * time.Second
	snapshotBytes = 16 << 20

	// syncEvery is the promise of Second.
	syncEvery = time.Second

	// retryAfter is how long a room in trouble waits until it tries again, as each try costs it a snapshot.
	retryAfter = time.Second

	// stallAfter is after how long the players of a room in mode Second go on without the disk.
	stallAfter = time.Second

	// lookEvery is how often the rooms are looked at: for snapshots that are due, and for trouble.
	lookEvery = 250 * time.Millisecond

	// sayEvery is how often trouble that lasts is logged, and sayAgain how often trouble that comes and goes is.
	sayEvery = time.Minute
	sayAgain = 10 * time.Second

	// slowSweep is how long the syncs of mode Second may take before the operator is told.
	slowSweep = 10 * time.Second

	// lostSeconds is how much of the end of a log may be unsound with something sound behind it. A loss of power loses what was not
	// synced in any order, so such an end is no damage. Second syncs once a second, and a sync takes a while.
	lostSeconds = 3

	// maxBehind is how many bytes behind a damaged place are looked through for entries, and maxBehindWork how many bytes are summed
	// meanwhile: a tail in which each byte could begin an entry would take the square of its size.
	maxBehind     = 64 << 20
	maxBehindWork = 256 << 20

	// maxSyncs is how many files are synced side by side. Syncs at the same time share a commit of the file system's journal.
	maxSyncs = 64

	// maxEnded is how many rooms that have ended with a result stay on disk, for whoever reads their events or their results later. Each
	// has two snapshots, and the log of a minute or so.
	maxEnded = 256

	// archivists is how many snapshots are written side by side.
	archivists = 4
)
