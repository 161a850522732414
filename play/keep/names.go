package keep

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	roomsDir     = "rooms"
	lockName     = "lock"
	settingsName = "settings"
	newPrefix    = "new-"     // of files that are being written
	asidePrefix  = "aside-"   // of files that could not be read, or that others have taken the place of
	goneSuffix   = ".removed" // of folders that are being removed; no room has such a name
	endedInfix   = ".ended-"  // of folders of rooms that have ended, with a result or with Config.History
	resultName   = "result"   // in such a folder

	snapshotPrefix = "snapshot-"
	logPrefix      = "log-"
	tickDigits     = 20 // so that names are in the order of ticks
)

// checkName refuses what is no name of a room: nothing else ever becomes a path.
func checkName(name string) error {
	if isName(name) {
		return nil
	}
	if len(name) > 64 {
		name = name[:64] + "…"
	}
	return fmt.Errorf("keep: %q is no name of a room: it has 1 to 32 of a-z, 0-9 and -", name)
}

func isName(name string) bool {
	return len(name) >= 1 && len(name) <= 32 &&
		!strings.ContainsFunc(name, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' })
}

func tickName(prefix string, tick uint64) string {
	return fmt.Sprintf("%s%0*d", prefix, tickDigits, tick)
}

// ticksOf returns the ticks of the files with a prefix, in order.
func ticksOf(prefix string, files []string) (ticks []uint64) {
	for _, name := range files {
		digits, ok := strings.CutPrefix(name, prefix)
		if !ok || len(digits) != tickDigits {
			continue
		}
		if tick, err := strconv.ParseUint(digits, 10, 64); err == nil && tickName(prefix, tick) == name {
			ticks = append(ticks, tick)
		}
	}
	slices.Sort(ticks)
	return ticks
}

// fromBefore returns the segments that loading a snapshot reads: from the last one that is not named by a later tick, and the one before
// that, as a segment is named by the snapshot at which it began, and the entries of a moment may still be in the one before.
func fromBefore(segments []uint64, tick uint64) []uint64 {
	n, found := slices.BinarySearch(segments, tick)
	if found {
		n++
	}
	return segments[max(0, n-2):]
}
