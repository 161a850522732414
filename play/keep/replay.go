package keep

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"parley/world"
)

// ReadLog opens the files of a room as one log, for world.Replay: the oldest snapshot in its folder, and all entries since then. A server
// may be writing them meanwhile. What a killed server has left unfinished at the end of a segment is left out.
func ReadLog(folder string) (io.ReadCloser, error) {
	_, files, err := osDisk{}.List(folder)
	if err != nil {
		return nil, fmt.Errorf("keep: %w", err)
	}
	snapshots, segments := ticksOf(snapshotPrefix, files), ticksOf(logPrefix, files)
	if len(snapshots) == 0 {
		return nil, fmt.Errorf("keep: %s has no snapshot: it is no folder of a room", folder)
	}
	l := &roomLog{}
	names := []string{tickName(snapshotPrefix, snapshots[0])}
	for _, tick := range segments {
		names = append(names, tickName(logPrefix, tick))
	}
	var parts []io.Reader
	for i, name := range names {
		part, err := l.open(filepath.Join(folder, name), i > 0)
		if err != nil {
			l.Close()
			return nil, fmt.Errorf("keep: %w", err)
		}
		parts = append(parts, part)
	}
	l.Reader = io.MultiReader(parts...)
	return l, nil
}

// roomLog is several files that are read as one.
type roomLog struct {
	io.Reader
	files []*os.File
}

// open opens a file. Of a segment it returns what is whole.
func (l *roomLog) open(name string, isSegment bool) (io.Reader, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	l.files = append(l.files, f)
	if !isSegment {
		return f, nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	in, err := world.NewLogReader(f)
	for err == nil {
		_, err = in.Next()
	}
	end := info.Size()
	if in != nil && err == io.EOF {
		end, _ = in.Torn()
	} // else the replay says what is wrong with it
	return io.NewSectionReader(f, 0, end), nil
}

// Close closes the files.
func (l *roomLog) Close() (err error) {
	for _, f := range l.files {
		err = errors.Join(err, f.Close())
	}
	return err
}
