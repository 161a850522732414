package keep

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
)

// A memory is a disk in memory that knows what was synced. A loss of power keeps what was, and of the rest some, in any order. It is for
// one goroutine.
type memory struct {
	r     *rand.Rand
	names map[string]*inode // what a program sees
	saved map[string]*inode // what is left after a loss of power
	later []change          // changes of names that are not synced
	dirs  map[string]bool
	ops   int
	dies  int                         // at this operation; 0 is never
	fault func(op, name string) error // what an operation returns, nil if it works
}

// A change of names is done as a whole, or not at all.
type change struct {
	dir string
	set map[string]*inode // nil removes a name

	from, to string // of a folder that is renamed with all that is in it
}

type inode struct {
	data   []byte // what a program sees
	synced []byte
	bad    bool // a sync has failed: it has forgotten what it had to write, and later syncs succeed
}

var errDead = errors.New("the power is off")

func newMemory(r *rand.Rand) *memory {
	return &memory{r: r, names: map[string]*inode{}, saved: map[string]*inode{}, dirs: map[string]bool{}}
}

// do counts an operation, and returns what becomes of it.
func (m *memory) do(op, name string) error {
	if m.isDead() {
		return errDead
	}
	m.ops++
	if m.isDead() {
		return errDead
	}
	if m.fault != nil {
		return m.fault(op, name)
	}
	return nil
}

func (m *memory) isDead() bool { return m.dies != 0 && m.ops >= m.dies }

// restart returns the disk after the end of the process, or after a loss of power.
func (m *memory) restart(power bool) *memory {
	n := newMemory(m.r)
	n.dirs = m.dirs
	if !power {
		n.names, n.saved, n.later = m.names, m.saved, m.later
		return n // and what is not synced may be lost later
	}
	n.names = m.saved
	for _, c := range m.later {
		if m.r.IntN(2) == 0 {
			c.do(n.names)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		n.names[name].lose(m.r)
	}
	for _, i := range n.names {
		i.synced = bytes.Clone(i.data) // a program that starts later can count on what it reads
		i.bad = false
	}
	n.saved = maps.Clone(n.names)
	return n
}

func (c *change) do(names map[string]*inode) {
	for name, i := range maps.Clone(names) {
		if rest, ok := strings.CutPrefix(name, c.from+"/"); ok && c.from != "" {
			delete(names, name)
			names[c.to+"/"+rest] = i
		}
	}
	for name, i := range c.set {
		if i == nil {
			delete(names, name)
		} else {
			names[name] = i
		}
	}
}

func (c *change) moved(from, to string) change {
	n := change{dir: to, set: map[string]*inode{}}
	for name, i := range c.set {
		n.set[to+strings.TrimPrefix(name, from)] = i
	}
	return n
}

// lose loses some of the pages that were not synced.
func (i *inode) lose(r *rand.Rand) {
	const page = 256
	all, kept := i.data, bytes.Clone(i.synced)
	for at := len(kept) / page * page; at < len(all) && !i.bad; at += page {
		if r.IntN(2) == 0 {
			continue
		}
		part := all[at:min(at+page, len(all))]
		if r.IntN(4) == 0 {
			part = part[:max(r.IntN(len(part)+1), min(len(kept)-at, len(part)))]
		}
		if grow := at + len(part) - len(kept); grow > 0 {
			kept = append(kept, make([]byte, grow)...)
		}
		copy(kept[at:], part)
	}
	i.data = kept
}

func (m *memory) change(dir string, set map[string]*inode) {
	m.make(change{dir: dir, set: set})
}

func (m *memory) make(c change) {
	c.do(m.names)
	m.later = append(m.later, c)
}

func (m *memory) Make(dir string) error {
	if err := m.do("make", dir); err != nil {
		return err
	}
	for ; !m.dirs[dir] && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		m.dirs[dir] = true
	}
	return nil
}

func (m *memory) List(dir string) (dirs, files []string, err error) {
	if err := m.do("list", dir); err != nil {
		return nil, nil, err
	}
	for name := range m.dirs {
		if filepath.Dir(name) == dir && name != dir {
			dirs = append(dirs, filepath.Base(name))
		}
	}
	for name := range m.names {
		if filepath.Dir(name) == dir {
			files = append(files, filepath.Base(name))
		}
	}
	slices.Sort(dirs)
	slices.Sort(files)
	return dirs, files, nil
}

func (m *memory) Create(name string) (file, error) {
	if err := m.do("create", name); err != nil {
		return nil, err
	}
	if !m.dirs[filepath.Dir(name)] {
		return nil, fs.ErrNotExist
	}
	i := &inode{}
	m.change(filepath.Dir(name), map[string]*inode{name: i})
	return &memoryFile{m, i, name}, nil
}

func (m *memory) Append(name string) (file, error) {
	if err := m.do("append", name); err != nil {
		return nil, err
	}
	if i := m.names[name]; i != nil {
		return &memoryFile{m, i, name}, nil
	}
	return nil, fs.ErrNotExist
}

func (m *memory) Read(name string) (io.ReadCloser, error) {
	if err := m.do("read", name); err != nil {
		return nil, err
	}
	if i := m.names[name]; i != nil {
		return io.NopCloser(bytes.NewReader(i.data)), nil
	}
	return nil, fs.ErrNotExist
}

func (m *memory) Rename(from, to string) error {
	if err := m.do("rename", from); err != nil {
		return err
	}
	if m.dirs[from] { // a folder, which is renamed with all that is in it
		delete(m.dirs, from)
		m.dirs[to] = true
		for i := range m.later { // what is not synced of the folder goes with it
			if m.later[i].dir == from {
				m.later[i] = m.later[i].moved(from, to)
			}
		}
		m.make(change{dir: filepath.Dir(from), from: from, to: to})
		return nil
	}
	i := m.names[from]
	if i == nil {
		return fs.ErrNotExist
	}
	m.change(filepath.Dir(from), map[string]*inode{from: nil, to: i})
	return nil
}

func (m *memory) Remove(name string) error {
	if err := m.do("remove", name); err != nil {
		return err
	}
	if m.names[name] == nil {
		return fs.ErrNotExist
	}
	m.change(filepath.Dir(name), map[string]*inode{name: nil})
	return nil
}

func (m *memory) RemoveAll(dir string) error {
	if err := m.do("removeall", dir); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(m.names)) {
		if strings.HasPrefix(name, dir+"/") {
			m.change(filepath.Dir(name), map[string]*inode{name: nil})
		}
	}
	delete(m.dirs, dir)
	return nil
}

func (m *memory) SyncDir(dir string) error {
	if err := m.do("syncdir", dir); err != nil {
		return err
	}
	m.later = slices.DeleteFunc(m.later, func(c change) bool {
		if c.dir == dir {
			c.do(m.saved)
		}
		return c.dir == dir
	})
	return nil
}

func (m *memory) Leads(name string, to file) bool {
	return m.do("leads", name) != nil || m.names[name] == to.(*memoryFile).i
}

type memoryFile struct {
	m    *memory
	i    *inode
	name string
}

func (f *memoryFile) Write(b []byte) (int, error) {
	err := f.m.do("write", f.name)
	n := len(b)
	if err != nil {
		n = f.m.r.IntN(n + 1)
	}
	f.i.data = append(f.i.data, b[:n]...)
	return n, err
}

func (f *memoryFile) Sync() error {
	err := f.m.do("sync", f.name)
	if err != nil {
		f.i.bad = f.i.bad || err != errDead
	} else if !f.i.bad {
		f.i.synced = bytes.Clone(f.i.data)
	}
	return err
}

func (f *memoryFile) Close() error { return nil }
