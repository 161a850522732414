package keep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/kit/chance"
	"parley/internal/patient"
)

// talk makes the next entry large.
func (p *table) talk() {
	for len(p.players) == 0 {
		p.tick()
	}
	for range 100 {
		p.sim.Chat(p.players[0], bytes.Repeat([]byte("talk"), 1000))
	}
	p.tick()
}

// A disk that stands still costs a bounded number of bytes, and nobody waits for it.
func TestTheBufferIsBounded(t *testing.T) {
	for _, mode := range []Mode{Second, Tick} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			s, d := openSick(t, Config{Dir: dir, Mode: mode})
			p := newTable(t, 1, s, "main")
			p.play(2)
			free := make(chan struct{})
			d.fail(func(op, name string) error { patient.Value(free); return nil })
			for range 30 {
				p.talk()
				p.room.mu.Lock()
				n := cap(p.room.pending) + cap(p.room.spare)
				p.room.mu.Unlock()
				if n > 4*maxPending {
					t.Fatalf("%d bytes", n)
				}
			}
			if st := s.Stats(); st.Dropped == 0 || st.Appended != st.Written+st.Dropped+st.Pending {
				t.Errorf("%+v", st)
			}
			d.heal()
			close(free)
			goesOn(t, s, p, dir)
		})
	}
}

// Snapshots are asked for each half minute, after many bytes, and never of a room that sleeps.
func TestWhenSnapshotsAreWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openShelf(t, Config{Dir: t.TempDir(), Mode: Second})
		p := newTable(t, 1, s, "main")
		p.play(1)
		asleep := newTable(t, 2, s, "asleep")
		wants := func() bool { time.Sleep(time.Second); return p.room.WantsSnapshot() }
		n := 1
		for ; !wants(); n++ {
		}
		if n < 14 || n > 31 {
			t.Errorf("the first after %d s", n)
		}
		p.snapshot()
		for range 60 {
			if wants() {
				t.Fatal("a snapshot without an entry")
			}
		}
		p.play(1)
		if !wants() {
			t.Error("none for an entry after a minute")
		}
		p.snapshot()
		time.Sleep(time.Second)
		for s.Stats().Bytes < snapshotBytes+1<<20 {
			p.talk()
			time.Sleep(10 * time.Millisecond)
		}
		if !wants() {
			t.Error("none after many bytes")
		}
		if asleep.room.WantsSnapshot() {
			t.Error("a room that sleeps wants a snapshot")
		}
		if st := s.Stats(); st.Snapshots != 4 {
			t.Errorf("%+v", st)
		}
	})
}

// An entry that is missing is noticed at once: the log goes on with a snapshot.
func TestAGapIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := openShelf(t, Config{Dir: dir, Mode: Second})
		p := newTable(t, 1, s, "main")
		p.play(5)
		p.sim.Seal(0, 0)
		p.sim.Advance()
		p.hashes = append(p.hashes, p.sim.World().Hash())
		playInTrouble(t, s, p, "the entry of tick 6 came where that of tick 5 follows")
		goesOn(t, s, p, dir)
	})
}

// Close does not wait longer than it is told to, and says what is not done.
func TestCloseHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := openSick(t, Config{Dir: t.TempDir(), Mode: Tick})
		p := newTable(t, 1, s, "main")
		p.play(2)
		free := make(chan struct{})
		d.fail(func(op, name string) error { patient.Value(free); return nil })
		p.tick()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), s.config.Dir) {
			t.Errorf("%v", err)
		}
		d.heal()
		close(free)
		patient.Value(s.idle)
		s.shut()
	})
}

// A folder that is removed and comes back is locked again.
func TestTheLockComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data")
		s := openShelf(t, Config{Dir: dir, Mode: Second})
		p := newTable(t, 1, s, "main")
		p.play(2)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		patient.Until(t, "the room is kept again", func() bool {
			time.Sleep(100 * time.Millisecond)
			p.tick()
			return s.Stats().Snapshots > 1
		})
		time.Sleep(2 * time.Second)
		if _, err := Open(Config{Dir: dir}); err == nil {
			t.Error("two servers have the folder")
		}
		goesOn(t, s, p, dir)
	})
}

// A server whose folder was removed, and taken by another one meanwhile, says so.
func TestAnotherServerTakesTheFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data")
		s := openShelf(t, Config{Dir: dir, Mode: Second})
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		other := openShelf(t, Config{Dir: dir, Mode: Second})
		time.Sleep(3 * time.Second)
		if err := s.Trouble(); err == nil || !strings.Contains(err.Error(), "another server uses the folder") {
			t.Errorf("%v", err)
		}
		closeShelf(t, other)
		time.Sleep(3 * time.Second)
		if err := s.Trouble(); err != nil {
			t.Errorf("%v", err)
		}
	})
}

// Many rooms come, play and go from many goroutines, and what is left goes on.
func TestManyRooms(t *testing.T) {
	seed := chance.Seed(t, 11)
	for _, mode := range []Mode{Second, Tick} {
		dir := t.TempDir()
		s := openShelf(t, Config{Dir: dir, Mode: mode})
		var mu sync.Mutex
		left := map[string]*table{}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for j := range 12 {
					p := newTable(t, seed+uint64(100*i+j), s, fmt.Sprintf("room-%d-%d", i, j%5))
					for range 30 {
						p.tick()
						if p.r.IntN(10) == 0 {
							p.snapshot()
						}
					}
					if j < 10 {
						p.room.End(true)
						continue
					}
					mu.Lock()
					left[p.name] = p
					mu.Unlock()
				}
			})
		}
		patient.Done(all.Wait)
		closeShelf(t, s)
		if st := s.Stats(); st.Appended != 8*12*30 || st.Written != st.Appended {
			t.Errorf("%v: %+v", mode, st)
		}
		s = openShelf(t, Config{Dir: dir, Mode: mode})
		if got := s.Rooms(); len(got) != len(left) || len(left) != 16 {
			t.Fatalf("%v: %d rooms, want %d", mode, len(got), len(left))
		}
		for _, name := range s.Rooms() {
			if now := left[name].resume(s); now != 30 {
				t.Errorf("%v: %s goes on at tick %d", mode, name, now)
			}
		}
	}
}
