package keep

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// archive is an archivist: it writes snapshots and begins segments, which takes several syncs, so that no entry waits for them.
func (s *Shelf) archive() {
	for r := s.jobs.one(); r != nil; r = s.jobs.one() {
		s.work(r)
	}
}

// work writes the snapshot of a room, or puts away the files of one that has ended.
func (s *Shelf) work(r *Room) {
	r.mu.Lock()
	isClosed, tick, b := r.phase == closed, r.snapTick, r.snapshot
	r.mu.Unlock()
	if isClosed {
		s.putAway(r)
		s.forget(r)
		return
	}
	f, err := r.shelve(tick, b)
	r.mu.Lock()
	r.working, r.snapshot, r.snapErr = false, nil, err
	if err != nil {
		r.notShelved(err)
	} else {
		r.shelved(tick, f)
	}
	if r.ended || r.entries > 0 {
		r.wake()
	}
	r.mu.Unlock()
	if err == nil && !s.config.History {
		r.prune()
	}
	s.tell()
}

// shelved goes on with the log, now that there is a snapshot and a segment for the entries since then. It is called with r.mu held.
func (r *Room) shelved(tick uint64, f segment) {
	c := &r.shelf.count
	c.snapshots.Add(1)
	c.segments.Add(1)
	r.snapshots = insert(r.snapshots, tick)
	r.segments = insert(r.segments, tick)
	r.snapAfter = r.shelf.clock().Add(snapshotEvery)
	switch r.phase {
	case waiting:
		r.phase, r.file, r.err = open, f, nil
		// Rooms that begin together do not want their snapshots together.
		r.snapAfter = r.snapAfter.Add(-snapshotEvery / 2 * time.Duration(crc32.ChecksumIEEE([]byte(r.name))%64) / 64)
		r.safe.Store(max(r.safe.Load(), tick))
		r.synced.Store(max(r.synced.Load(), tick)) // of an open log the entries decide: who reads the log again needs them too
		if r.entries == 0 {
			r.slack.Store(false)
		}
	case open:
		if r.fresh.file != nil { // the writer is slow
			r.trash = append(r.trash, r.fresh.file)
		}
		r.fresh = f
	default: // given up meanwhile: entries are missing
		r.trash = append(r.trash, f.file)
	}
}

// notShelved has the room try again later. It is called with r.mu held.
func (r *Room) notShelved(err error) {
	r.shelf.count.snapshotFaults.Add(1)
	retryAt := r.shelf.clock().Add(retryAfter)
	r.prepared = false
	if r.phase == waiting {
		r.give(err, retryAt)
	}
	r.snapAfter, r.retryAt = retryAt, retryAt
	r.since++ // so that it wants another, if nothing is appended meanwhile
}

// shelve writes a snapshot, reads it back, and begins a segment. Both appear under their names when they are whole and synced.
func (r *Room) shelve(tick uint64, b []byte) (segment, error) {
	d := r.shelf.disk
	r.mu.Lock()
	prepared, aside := r.prepared, r.aside
	r.mu.Unlock()
	if !prepared {
		if err := r.prepare(aside); err != nil {
			return segment{}, err
		}
	}
	name, log := tickName(snapshotPrefix, tick), tickName(logPrefix, tick)
	if err := r.draft(name, b); err != nil {
		return segment{}, err
	}
	if err := r.same(newPrefix+name, b); err != nil {
		d.Remove(r.path(newPrefix + name))
		return segment{}, err
	}
	if err := r.draft(log, r.head); err != nil {
		return segment{}, err
	}
	for _, n := range [...]string{log, name} {
		if err := d.Rename(r.path(newPrefix+n), r.path(n)); err != nil {
			return segment{}, err
		}
	}
	if err := d.SyncDir(r.dir); err != nil {
		return segment{}, err
	}
	r.shelf.count.snapshotBytes.Add(uint64(len(b)))
	f, err := d.Append(r.path(log))
	return segment{f, r.path(log)}, err
}

// prepare makes the folder with the settings, and moves aside what could not be read.
func (r *Room) prepare(aside []string) error {
	d := r.shelf.disk
	if r.shelf.hasLeftover(r.name) {
		if err := r.shelf.discard(r); err != nil {
			return fmt.Errorf("a room of this name has ended, and its files cannot be removed: %w", err)
		}
	}
	if err := d.Make(r.dir); err != nil {
		return err
	}
	_, files, err := d.List(r.dir)
	if err != nil {
		return err
	}
	for _, name := range files {
		if strings.HasPrefix(name, newPrefix) {
			d.Remove(r.path(name)) // of a run that was stopped; it is written again if need be
		}
	}
	for _, name := range aside {
		if err := d.Rename(r.path(name), r.path(asidePrefix+name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := r.draft(settingsName, appendSettings(nil, r.settings)); err != nil {
		return err
	}
	if err := d.Rename(r.path(newPrefix+settingsName), r.path(settingsName)); err != nil {
		return err
	}
	if err := d.SyncDir(r.dir); err != nil { // a room that has a snapshot has settings
		return err
	}
	r.mu.Lock()
	r.prepared, r.aside = true, nil
	r.mu.Unlock()
	return nil
}

// draft writes a file under a name that nobody reads, and syncs it. The caller syncs the folder.
func (r *Room) draft(name string, b []byte) error {
	d := r.shelf.disk
	f, err := d.Create(r.path(newPrefix + name))
	if err != nil {
		return err
	}
	if _, err = f.Write(b); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		d.Remove(r.path(newPrefix + name)) // a full disk has the better use for it
	}
	return err
}

// same reads a file and compares it.
func (r *Room) same(name string, want []byte) error {
	in, err := r.shelf.disk.Read(r.path(name))
	if err != nil {
		return err
	}
	defer in.Close()
	for buf := make([]byte, 32<<10); ; {
		n, err := in.Read(buf)
		if n > len(want) || !bytes.Equal(buf[:n], want[:n]) {
			return fmt.Errorf("%s: is not as it was written", r.path(name))
		}
		want = want[n:]
		switch {
		case err == io.EOF && len(want) > 0:
			return fmt.Errorf("%s: is shorter than it was written", r.path(name))
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// prune removes snapshots but for the newest two and the one with which the log begins, and segments that loading that one does not read.
func (r *Room) prune() {
	s := r.shelf
	r.mu.Lock()
	var old, past []uint64
	if n := len(r.snapshots); n >= 2 {
		first := r.first()
		old = slices.Concat(r.snapshots[:first], r.snapshots[min(first+1, n-2):n-2])
		past = slices.Clone(r.segments[:len(r.segments)-len(fromBefore(r.segments, r.snapshots[first]))])
	}
	r.mu.Unlock()
	gone := func(prefix string, ticks []uint64) []uint64 {
		return slices.DeleteFunc(ticks, func(tick uint64) bool {
			err := s.disk.Remove(r.path(tickName(prefix, tick)))
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				return false
			}
			s.count.removeFaults.Add(1)
			return true // it is tried again after the next snapshot
		})
	}
	old, past = gone(snapshotPrefix, old), gone(logPrefix, past)
	r.mu.Lock()
	r.snapshots = without(r.snapshots, old)
	r.segments = without(r.segments, past)
	r.mu.Unlock()
}

// first returns the snapshot with which the log is to begin: the older of the newest two, or one that is as far back as is wanted. It is
// called with r.mu held, and there are two.
func (r *Room) first() int {
	i := len(r.snapshots) - 2
	for newest := r.snapshots[i+1]; i > 0 && newest-r.snapshots[i] < r.behind; i-- {
	}
	return i
}

// putAway removes the files of a room that has ended, if that is wanted.
func (s *Shelf) putAway(r *Room) {
	if !r.remove {
		return
	}
	r.leaving.Store(true)
	if r.result != nil {
		if err := r.writeResult(); err != nil {
			s.count.writeFaults.Add(1)
			s.warn("keep: the result of a room that has ended could not be written: it is lost when the server stops", "room", r.name, "reason", err)
		}
	}
	if err := s.discard(r); err != nil {
		s.count.removeFaults.Add(1)
		s.warn("keep: the files of a room that has ended could not be removed: remove them, or the room comes back", "room", r.name, "folder", r.dir, "reason", err)
	}
}

// discard removes the folder of a room. First it gets a name that no room has, so that a room does not come back from half of its files.
func (s *Shelf) discard(r *Room) error {
	to, aside := r.dir+goneSuffix, s.config.History || r.result != nil
	if aside {
		to = fmt.Sprintf("%s%s%d-%d", r.dir, endedInfix, s.clock().UnixMicro(), r.appended.Load())
	} else if err := s.disk.RemoveAll(to); err != nil {
		return s.leave(r.name, err)
	}
	err := s.disk.Rename(r.dir, to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.leave(r.name, err)
	}
	if err := s.disk.SyncDir(s.root); err != nil {
		return s.leave(r.name, err)
	}
	s.leave(r.name, nil)
	if r.result != nil {
		s.addEnded(r, to)
	}
	if aside {
		return nil
	}
	return s.disk.RemoveAll(to) // else it is removed at the next start
}

// leave notes whether files of a room that has ended are left: a new room of its name must not begin among them.
func (s *Shelf) leave(name string, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left[name] = true; err == nil {
		delete(s.left, name)
	}
	return err
}

func (s *Shelf) hasLeftover(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left[name]
}

func insert(list []uint64, v uint64) []uint64 {
	i, found := slices.BinarySearch(list, v)
	if found {
		return list
	}
	return slices.Insert(list, i, v)
}

func without(list, gone []uint64) []uint64 {
	return slices.DeleteFunc(list, func(v uint64) bool { return slices.Contains(gone, v) })
}

// The settings of a room are in a file: magic 8 bytes, CRC-32C u32 of what follows, little endian, and the gateway's bytes.
const settingsMagic = "parleyK\n"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendSettings(b, settings []byte) []byte {
	b = binary.LittleEndian.AppendUint32(append(b, settingsMagic...), crc32.Checksum(settings, castagnoli))
	return append(b, settings...)
}

// parseSettings returns the gateway's bytes, or false if the file is not sound.
func parseSettings(b []byte) ([]byte, bool) {
	const head = len(settingsMagic) + 4
	if len(b) < head || len(b) > head+maxSettings || string(b[:len(settingsMagic)]) != settingsMagic ||
		crc32.Checksum(b[head:], castagnoli) != binary.LittleEndian.Uint32(b[len(settingsMagic):]) {
		return nil, false
	}
	return b[head:], true
}
