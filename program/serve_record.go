package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"parley/world"
)

// mostRecordings bounds the recordings that are kept beside the newest: a server that is restarted again and again must not
// fill a folder unseen.
const mostRecordings = 99

// openRecording makes a file for a recording. An earlier recording may tell why the server before did not live, so it is kept
// under another name: NAME.1, NAME.2 and so on. Any other file is refused, unless the operator has said over: then the file
// is written over, whatever it is. closeFile ends the recording, and puts the earlier one back if the server did not start.
func openRecording(name string, over bool) (file *os.File, closeFile func(started bool), err error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (over || !info.Mode().IsRegular() || info.Size() == 0) {
		file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		return file, func(bool) { file.Close() }, err
	}
	if err != nil {
		return nil, nil, err
	}
	if !isRecording(name) {
		return nil, nil, fmt.Errorf("%s exists and is no recording; name another file, or give --record-over to write over it", name)
	}
	kept, err := freeName(name)
	if err != nil {
		return nil, nil, err
	}
	if err := os.Rename(name, kept); err != nil {
		return nil, nil, err
	}
	if file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
		return nil, nil, errors.Join(err, os.Rename(kept, name))
	}
	return file, func(started bool) {
		file.Close()
		if !started {
			os.Rename(kept, name)
		}
	}, nil
}

// freeName returns the name under which an earlier recording is kept.
func freeName(name string) (string, error) {
	for i := range mostRecordings {
		kept := fmt.Sprintf("%s.%d", name, i+1)
		if _, err := os.Lstat(kept); errors.Is(err, fs.ErrNotExist) {
			return kept, nil
		}
	}
	return "", fmt.Errorf("%s and %d earlier recordings exist; move them away, or give --record-over to write over %[1]s", name, mostRecordings)
}

// isRecording reports whether a file begins as a recording does, of whichever version, and however it goes on.
func isRecording(name string) bool {
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	_, err = world.NewLogReader(file)
	return !errors.Is(err, world.ErrNotRecording)
}
