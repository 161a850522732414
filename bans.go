package parley

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"parley/internal/bans"
	"parley/play/keep"
)

// banBook is the list of banned addresses: as the dialects look at it, and on disk.
type banBook struct {
	set  bans.Set
	file string

	// disk is held while the file is written, and mu never is: a slow disk delays those who change the list, and not those who
	// read it. Whoever takes both takes disk first.
	disk    sync.Mutex
	written uint64 // the newest change that is in the file

	mu      sync.Mutex
	bans    map[netip.Prefix]Ban
	changes uint64
}

// bansFile is the list of banned addresses in the data folder.
const bansFile = "bans.json"

// maxBansFile bounds what is read of the file: MaxBans with the longest reasons, each byte of which JSON may write as six.
const maxBansFile = MaxBans * (6*maxBanReason + 256)

// banList is the file. A field or a version that is not known is refused: it may say that a ban holds for more, or for less.
type banList struct {
	Version int       `json:"version"`
	Bans    []banLine `json:"bans"`
}

type banLine struct {
	Prefix netip.Prefix `json:"prefix"`
	Reason string       `json:"reason,omitempty"`
	Until  time.Time    `json:"until,omitzero"`
}

// openBans reads the bans of a data folder. A server must not run with fewer bans than it was told of, so a damaged file is an error.
func openBans(dir string) (*banBook, error) {
	b := &banBook{bans: map[netip.Prefix]Ban{}}
	if dir == "" { // the cluster keeps them
		return b, nil
	}
	b.file = filepath.Join(dir, bansFile)
	list, err := readBans(b.file)
	if err != nil {
		return nil, fmt.Errorf("parley: the bans in %s cannot be read: %w: mend the file, or move it away to start without bans", b.file, err)
	}
	for _, x := range list {
		before, twice := b.bans[x.Prefix]
		if twice && (before.Until.IsZero() || !x.Until.IsZero() && x.Until.Before(before.Until)) {
			continue // by hand: the one that ends later counts
		}
		b.bans[x.Prefix] = x
	}
	b.forget(time.Now())
	b.use()
	return b, nil
}

func readBans(name string) ([]Ban, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxBansFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxBansFile:
		return nil, fmt.Errorf("more than %d bytes", maxBansFile)
	}
	var list banList
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is something behind the list")
	}
	switch {
	case list.Version != 1:
		return nil, fmt.Errorf("version %d is not known", list.Version)
	case len(list.Bans) > MaxBans:
		return nil, fmt.Errorf("%d bans: the limit is %d", len(list.Bans), MaxBans)
	}
	var all []Ban
	for i, x := range list.Bans {
		ban := Ban{Prefix: bans.Canon(x.Prefix), Reason: x.Reason, Until: x.Until}
		if err := ban.check(time.Time{}); err != nil {
			return nil, fmt.Errorf("ban %d: %w", i+1, err)
		}
		all = append(all, ban)
	}
	return all, nil
}

// add has a ban hold from the next datagram on, and returns the number of the change, for keep. It does not wait for the disk:
// whoever is banned under attack is banned at once, also on a machine whose disk is full.
func (b *banBook) add(ban Ban) (change uint64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(time.Now())
	if _, there := b.bans[ban.Prefix]; !there && len(b.bans) >= MaxBans {
		return 0, fmt.Errorf("%w: there are %d: lift some, or ban a larger network", ErrTooManyBans, MaxBans)
	}
	b.bans[ban.Prefix] = ban
	return b.changed(), nil
}

// put has a ban of the cluster hold, and reports whether it is news. There may be more than MaxBans for a moment, as servers add some at the same time.
func (b *banBook) put(ban Ban) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(time.Now())
	before, there := b.bans[ban.Prefix]
	if there && before.Reason == ban.Reason && before.Until.Equal(ban.Until) || !there && len(b.bans) >= 2*MaxBans {
		return false
	}
	b.bans[ban.Prefix] = ban
	b.changed()
	return true
}

// drop lifts a ban of the cluster, if it holds.
func (b *banBook) drop(p netip.Prefix) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.bans[p]; there {
		delete(b.bans, p)
		b.changed()
	}
}

// remove lifts a ban, and returns the number of the change.
func (b *banBook) remove(p netip.Prefix) (change uint64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(time.Now())
	if _, there := b.bans[p]; !there {
		for _, other := range b.sorted() {
			if other.Prefix.Contains(p.Addr()) && other.Prefix.Bits() < p.Bits() {
				return 0, fmt.Errorf("%w: %v; %v, which holds it, is banned", ErrNoBan, p, other.Prefix)
			}
		}
		return 0, fmt.Errorf("%w: %v", ErrNoBan, p)
	}
	delete(b.bans, p)
	return b.changed(), nil
}

// keep writes a change down. The file gets the newest list, so that it never goes back to an older one, and those who wait for the
// disk together need one turn of it.
func (b *banBook) keep(change uint64) error {
	b.disk.Lock()
	defer b.disk.Unlock()
	if b.written >= change || b.file == "" {
		return nil
	}
	b.mu.Lock()
	list, newest := b.sorted(), b.changes
	b.mu.Unlock()
	if err := writeBans(b.file, list); err != nil {
		return fmt.Errorf("%w: %w", ErrBanNotKept, err)
	}
	b.written = newest
	return nil
}

// list returns the bans that hold, in the order of their addresses.
func (b *banBook) list(now time.Time) []Ban {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(now)
	return b.sorted()
}

func (b *banBook) sorted() []Ban {
	return slices.SortedFunc(maps.Values(b.bans), func(x, y Ban) int { return x.Prefix.Compare(y.Prefix) })
}

// count returns how many bans there are, those that have just ended included.
func (b *banBook) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.bans)
}

// forget drops the bans that are over.
func (b *banBook) forget(now time.Time) {
	maps.DeleteFunc(b.bans, func(_ netip.Prefix, x Ban) bool { return !x.Until.IsZero() && !now.Before(x.Until) })
}

// changed makes the list hold, and numbers the change.
func (b *banBook) changed() uint64 {
	b.use()
	b.changes++
	return b.changes
}

func (b *banBook) use() {
	entries := make([]bans.Entry, 0, len(b.bans))
	for _, x := range b.bans {
		entries = append(entries, bans.Entry{Prefix: x.Prefix, Until: x.Until})
	}
	b.set.Use(bans.NewTable(entries))
}

// writeBans replaces the file as a whole: a server that is killed meanwhile finds the old list or the new one.
func writeBans(file string, all []Ban) error {
	list := banList{Version: 1, Bans: []banLine{}}
	for _, x := range all {
		list.Bans = append(list.Bans, banLine{x.Prefix, x.Reason, x.Until})
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return err
	}
	return keep.SyncFolder(dir)
}
