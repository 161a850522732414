package keep

import (
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Ended is a room that has ended with a result, and whose files are kept.
type Ended struct {
	Room   string
	Dir    string // its folder, for Again
	Result []byte // as EndWith was given it

	at uint64 // when it ended, Unix µs
}

// Ended returns the rooms that have ended with a result, the oldest first. With Off there are none.
func (s *Shelf) Ended() []Ended {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ended)
}

// parseEnded reads the name of a folder of a room that has ended.
func parseEnded(name string) (room string, at uint64, ok bool) {
	room, rest, ok := strings.Cut(name, endedInfix)
	digits, _, _ := strings.Cut(rest, "-")
	at, err := strconv.ParseUint(digits, 10, 64)
	return room, at, ok && err == nil && isName(room)
}

// findEnded takes note of a folder, if it is that of a room that has ended with a result.
func (s *Shelf) findEnded(name string) {
	room, at, ok := parseEnded(name)
	if !ok {
		return
	}
	dir := filepath.Join(s.root, name)
	f, err := s.disk.Read(filepath.Join(dir, resultName))
	if err != nil {
		return // of a room that was closed, with History
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSettings+64))
	if err == nil {
		if result, sound := parseSettings(b); sound {
			s.ended = append(s.ended, Ended{Room: room, Dir: dir, Result: result, at: at})
		}
	}
}

// writeResult puts the result into the folder, in the form of the settings.
func (r *Room) writeResult() error {
	if err := r.draft(resultName, appendSettings(nil, r.result)); err != nil {
		return err
	}
	if err := r.shelf.disk.Rename(r.path(newPrefix+resultName), r.path(resultName)); err != nil {
		return err
	}
	return r.shelf.disk.SyncDir(r.dir)
}

// addEnded takes note of a room that has ended, now that its files are aside.
func (s *Shelf) addEnded(r *Room, dir string) {
	_, at, _ := parseEnded(filepath.Base(dir))
	s.mu.Lock()
	s.ended = append(s.ended, Ended{Room: r.name, Dir: dir, Result: r.result, at: at})
	s.mu.Unlock()
	s.letGo()
}

// letGo removes the oldest of them that are too many, unless all is to be kept.
func (s *Shelf) letGo() {
	s.mu.Lock()
	n := max(0, len(s.ended)-maxEnded)
	old := slices.Clone(s.ended[:n])
	s.ended = slices.Delete(s.ended, 0, n)
	s.mu.Unlock()
	if s.config.History {
		return
	}
	for _, e := range old {
		if err := s.disk.RemoveAll(e.Dir); err != nil {
			s.count.removeFaults.Add(1) // it is tried again at the next start
		}
	}
}
