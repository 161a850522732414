package parley

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"parley/play/gateway"
)

// desyncDir is where the data folder has what differed between the servers of a cluster.
const desyncDir = "desync"

// maxDesyncs bounds the folders there, of two snapshots each, 10 MiB at most: with more, the oldest are removed.
const maxDesyncs = 10

// desyncs writes what is to be looked at when a world was not what its log says.
type desyncs struct {
	dir string
	log *slog.Logger
	mu  sync.Mutex
}

// write writes the snapshots and the difference into a folder of their own.
func (s *desyncs) write(d gateway.Desync) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := filepath.Join(s.dir, fmt.Sprintf("%s-%d", d.Room, d.Tick))
	err := os.MkdirAll(dir, 0o700)
	for _, f := range []struct {
		name string
		text []byte
	}{{"here.snapshot", d.Here}, {"there.snapshot", d.There}, {"difference.txt", d.Fields}} {
		if err == nil && f.text != nil {
			err = os.WriteFile(filepath.Join(dir, f.name), f.text, 0o600)
		}
	}
	if err = errors.Join(err, s.prune()); err != nil {
		s.log.Error("the states that differ are not all written", "room", d.Room, "tick", d.Tick, "err", err)
		return
	}
	s.log.Error("the states that differ were written", "room", d.Room, "tick", d.Tick, "folder", dir)
}

// isDesync reports whether a folder is one that write has made: another is somebody else's.
func isDesync(name string) bool {
	i := strings.LastIndexByte(name, '-')
	_, err := strconv.ParseUint(name[i+1:], 10, 64)
	return i > 0 && err == nil
}

// prune removes the oldest folders.
func (s *desyncs) prune() (err error) {
	list, err := os.ReadDir(s.dir)
	var mine []os.FileInfo
	for _, e := range list {
		if info, gone := e.Info(); gone == nil && e.IsDir() && isDesync(e.Name()) {
			mine = append(mine, info)
		}
	}
	slices.SortFunc(mine, func(a, b os.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for len(mine) > maxDesyncs {
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir, mine[0].Name())))
		mine = mine[1:]
	}
	return err
}
