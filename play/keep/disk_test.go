package keep

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/patient"
	"parley/internal/promise"
)

// A sick disk is the file system, with faults: what fault returns becomes of an operation. It may also take its time.
type sick struct {
	osDisk
	fault atomic.Pointer[func(op, name string) error]
}

func (d *sick) do(op, name string) error {
	if f := d.fault.Load(); f != nil {
		return (*f)(op, name)
	}
	return nil
}

func (d *sick) Make(dir string) error {
	return errors.Join(d.do("make", dir), d.osDisk.Make(dir))
}

func (d *sick) Create(name string) (file, error) { return d.open("create", name, d.osDisk.Create) }
func (d *sick) Append(name string) (file, error) { return d.open("append", name, d.osDisk.Append) }

func (d *sick) open(op, name string, open func(string) (file, error)) (file, error) {
	if err := d.do(op, name); err != nil {
		return nil, err
	}
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	return &sickFile{f, d, name}, nil
}

func (d *sick) Rename(from, to string) error {
	if err := d.do("rename", from); err != nil {
		return err
	}
	return d.osDisk.Rename(from, to)
}

func (d *sick) Leads(name string, to file) bool {
	if f, ok := to.(*sickFile); ok {
		to = f.file
	}
	return d.osDisk.Leads(name, to)
}

type sickFile struct {
	file
	d    *sick
	name string
}

func (f *sickFile) Write(b []byte) (int, error) {
	if err := f.d.do("write", f.name); err != nil {
		n, _ := f.file.Write(b[:len(b)/2])
		return n, err
	}
	return f.file.Write(b)
}

func (f *sickFile) Sync() error {
	if err := f.d.do("sync", f.name); err != nil {
		return err
	}
	return f.file.Sync()
}

// openSick opens a shelf on a disk that can be made to fail.
func openSick(t *testing.T, c Config) (*Shelf, *sick) {
	t.Helper()
	d := &sick{}
	s, err := newShelf(c, d, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(func() { closeShelf(t, s) })
	return s, d
}

func (d *sick) fail(f func(op, name string) error) { d.fault.Store(&f) }
func (d *sick) heal()                              { d.fault.Store(nil) }

// A log is written by goroutines and read by tests.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logBuffer) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

// goesOn plays until the room is kept again, closes the shelf, and loads the room from the disk.
func goesOn(t *testing.T, s *Shelf, p *table, dir string) {
	t.Helper()
	patient.Until(t, "the log goes on", func() bool {
		time.Sleep(100 * time.Millisecond)
		if s.Trouble() == nil && p.room.safe.Load() == p.sim.Tick() {
			return true
		}
		if p.sim.Tick() <= p.room.Safe()+2 {
			p.tick()
		}
		p.archive()
		return false
	})
	p.play(5)
	closeShelf(t, s)
	s = openShelf(t, Config{Dir: dir, Mode: s.config.Mode})
	want := p.sim.Tick()
	if now := p.resume(s); now != want {
		t.Errorf("it goes on at tick %d, and was at %d", now, want)
	}
}

// playInTrouble plays until it is said that the disk fails.
func playInTrouble(t *testing.T, s *Shelf, p *table, says string) {
	t.Helper()
	patient.Until(t, "trouble is said", func() bool {
		time.Sleep(100 * time.Millisecond)
		if p.sim.Tick() <= p.room.Safe()+2 {
			p.tick()
		}
		err := s.Trouble()
		return err != nil && strings.Contains(err.Error(), says) && strings.Contains(err.Error(), `room "main"`)
	})
}

// T73: "EIO and slow writes (injected), read-only, removed folder: players go on, it is said, the log goes on by itself".
func TestTroubleEnds(t *testing.T) {
	eio := func(ops ...string) func(d *sick, dir string) func() {
		return func(d *sick, dir string) func() {
			d.fail(func(op, name string) error {
				for _, o := range ops {
					if o == op {
						return &os.PathError{Op: op, Path: name, Err: syscall.EIO}
					}
				}
				return nil
			})
			return d.heal
		}
	}
	for _, tt := range []struct {
		name  string
		begin func(d *sick, dir string) (end func())
		says  string
	}{
		{"writes fail", eio("write"), "write"},
		{"syncs fail", eio("sync"), "sync"},
		{"everything fails", eio("make", "create", "append", "rename", "write", "sync"), "input/output error"},
		{"read-only", func(d *sick, dir string) func() {
			d.fail(func(op, name string) error { return &os.PathError{Op: op, Path: name, Err: syscall.EROFS} })
			return d.heal
		}, "read-only"},
		{"writes and syncs take for ever", func(d *sick, dir string) func() {
			free := make(chan struct{})
			d.fail(func(op, name string) error { patient.Value(free); return nil })
			return func() { d.heal(); close(free) }
		}, "has not answered for a second"},
		{"the room's folder is removed", func(d *sick, dir string) func() {
			os.RemoveAll(filepath.Join(dir, roomsDir, "main"))
			return func() {}
		}, "removed while it was written"},
		{"the data folder is removed", func(d *sick, dir string) func() {
			os.RemoveAll(dir)
			d.fail(func(op, name string) error {
				if op == "make" {
					return syscall.EIO
				}
				return nil
			})
			return d.heal
		}, "removed while it was written"},
	} {
		for _, mode := range []Mode{Second, Tick} {
			t.Run(fmt.Sprint(tt.name, ", ", mode), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					dir := filepath.Join(t.TempDir(), "data")
					var log logBuffer
					s, d := openSick(t, Config{Dir: dir, Mode: mode, Log: slog.New(slog.NewTextHandler(&log, nil))})
					p := newTable(t, 1, s, "main")
					p.play(10)
					end := tt.begin(d, dir)
					playInTrouble(t, s, p, tt.says)
					if mode == Second {
						wantGoesOn(t, p)
					} else if !strings.Contains(tt.name, "removed") { // a removed file takes what is written, until that is noticed
						wantStandsStill(t, p)
					}
					if st := s.Stats(); st.InTrouble != 1 {
						t.Errorf("%+v", st)
					}
					time.Sleep(3 * time.Minute)
					if n := log.count("is not being written"); !strings.Contains(tt.name, "room's folder") && (n < 3 || n > 6) {
						t.Errorf("said %d times in 3 minutes", n)
					}
					end()
					goesOn(t, s, p, dir)
					if log.count("all rooms are written again") == 0 {
						t.Error("the end of it was not said")
					}
					promise.Kept(t, "T73", "keep", 1)
				})
			})
		}
	}
}

// wantGoesOn wants players of Second to be told of each tick.
func wantGoesOn(t *testing.T, p *table) {
	t.Helper()
	for range 20 {
		p.tick()
		patient.Until(t, "players go on", func() bool { return p.room.Safe() == p.sim.Tick() })
	}
}

// wantStandsStill wants players of Tick to be told of nothing.
func wantStandsStill(t *testing.T, p *table) {
	t.Helper()
	before := p.room.Safe()
	for range 3 {
		p.tick()
		p.archive()
		time.Sleep(time.Second)
	}
	if got := p.room.Safe(); got != before || got >= p.sim.Tick() {
		t.Errorf("safe %d, was %d", got, before)
	}
}
