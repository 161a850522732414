package keep

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/internal/promise"
)

// A house is a shelf on a disk in memory that is driven by hand, on one goroutine, with its rooms.
type house struct {
	t       testing.TB
	r       *rand.Rand
	mode    Mode
	history bool
	disk    *memory
	now     time.Time
	swept   time.Time
	shelf   *Shelf
	tables  []*table
	synced  map[*table]uint64 // what Second has promised
	durable map[*table]uint64 // what Synced has said
	ended   []string          // rooms that are gone
	again   map[*table]bool   // rooms with the name of one that is gone
	gone    map[string][]*table
	names   int
	sick    bool // the disk has faults
}

func newHouse(t testing.TB, seed uint64) *house {
	r := rand.New(rand.NewPCG(seed, 3))
	h := &house{t: t, r: r, mode: Second + Mode(r.IntN(2)), history: r.IntN(4) == 0, disk: newMemory(r), now: time.Unix(1e9, 0), synced: map[*table]uint64{}, durable: map[*table]uint64{}, again: map[*table]bool{}, gone: map[string][]*table{}}
	h.start()
	return h
}

func (h *house) start() {
	s, err := newShelf(Config{Dir: "/data", Mode: h.mode, History: h.history, Log: slog.New(slog.NewTextHandler(h.t.Output(), nil))}, h.disk, func() time.Time { return h.now })
	if err != nil {
		h.t.Fatal(err)
	}
	s.hands = 1
	h.shelf, h.swept = s, h.now
}

// step does one of the things that the goroutines of a shelf and of a server do.
func (h *house) step() {
	s := h.shelf
	switch n := h.r.IntN(100); {
	case n < 50:
		if len(h.tables) > 0 {
			p := h.tables[h.r.IntN(len(h.tables))]
			if h.mode == Tick && p.sim.Tick() > p.room.Safe()+3 {
				p.archive() // it stands still
			} else {
				p.tick()
			}
			h.now = h.now.Add(50 * time.Millisecond / time.Duration(len(h.tables)))
		}
	case n < 75:
		if rooms := take(s.queue); len(rooms) > 0 {
			s.commit(rooms)
		}
	case n < 90:
		if rooms := take(s.jobs); len(rooms) > 0 {
			s.work(rooms[0])
			for _, r := range rooms[1:] {
				s.jobs.put(r)
			}
		}
	case n < 94:
		s.look()
	case n < 95:
		h.now = h.now.Add(time.Duration(h.r.IntN(2e9)))
	case n < 96 && len(h.tables) > 0:
		h.tables[h.r.IntN(len(h.tables))].snapshot()
	case n < 97 && len(h.tables) < 3:
		name, again := "r"+fmt.Sprint(h.names), false
		if h.names++; len(h.ended) > 0 && h.r.IntN(2) == 0 {
			name, h.ended = h.ended[0], h.ended[1:]
			again = true
		}
		p := newTable(h.t, h.r.Uint64(), s, name)
		h.tables = append(h.tables, p)
		h.again[p] = again
	case n < 98 && len(h.tables) > 1 && h.r.IntN(4) == 0:
		p := h.tables[0]
		h.tables = h.tables[1:]
		p.room.End(true)
		h.ended = append(h.ended, p.name)
		h.gone[p.name] = append(h.gone[p.name], p)
	}
	if h.now.Sub(h.swept) >= syncEvery {
		h.sweep()
	}
	for _, p := range h.tables {
		if !h.disk.isDead() {
			p.tell()
			h.durable[p] = max(h.durable[p], p.room.Synced())
		}
	}
}

// sweep is what happens each second. What was written before it is then promised.
func (h *house) sweep() {
	h.shelf.sweep()
	h.swept = h.now
	for _, p := range h.tables {
		if !h.disk.isDead() && !h.sick && p.room.trouble() == nil && p.room.phase == open {
			h.synced[p] = max(h.synced[p], p.room.safe.Load())
		}
	}
}

func take(l *line) []*Room {
	rooms := slices.Clone(l.rooms)
	l.rooms = l.rooms[:0]
	return rooms
}

// crash ends the process, perhaps with the power, and goes on with what is left.
func (h *house) crash() {
	power := h.r.IntN(2) == 0
	h.disk = h.disk.restart(power)
	h.start()
	there := h.shelf.Rooms()
	var left []*table
	for _, p := range h.tables {
		promised := p.told
		if h.mode == Second && (power || h.sick) {
			promised = h.synced[p]
		}
		promised = max(promised, h.durable[p]) // a fault of the disk or a loss of power does not take it back
		if !slices.Contains(there, p.name) {
			if promised > 0 {
				h.t.Fatalf("%v, power %v: room %s is gone, and tick %d was promised", h.mode, power, p.name, promised)
			}
			continue
		}
		if promised == 0 && h.again[p] {
			h.gone[p.name] = append(h.gone[p.name], p) // it may be the room before, whose files were not gone yet
			continue
		}
		left = append(left, p)
		if now := p.resume(h.shelf); now < promised {
			h.t.Fatalf("%v, power %v: room %s goes on at tick %d, and %d was promised", h.mode, power, p.name, now, promised)
		}
		p.told = min(p.told, p.sim.Tick())
		h.synced[p] = min(h.synced[p], p.sim.Tick())
	}
	h.wantWhole(there, left)
	h.tables, h.ended = left, nil // names that are not free again are left alone
}

// wantWhole wants rooms that have ended, and whose files are still there, to be there as a whole.
func (h *house) wantWhole(there []string, left []*table) {
	for _, name := range there {
		if slices.ContainsFunc(left, func(p *table) bool { return p.name == name }) {
			continue
		}
		sim, _, err := h.shelf.Load(name, game())
		if err != nil {
			h.t.Fatal(err)
		}
		if now := sim.Tick(); !slices.ContainsFunc(h.gone[name], func(p *table) bool {
			return now < uint64(len(p.hashes)) && now >= h.synced[p] && p.hashes[now] == sim.World().Hash()
		}) {
			h.t.Fatalf("%v: room %s comes back at tick %d, as it never was", h.mode, name, now)
		}
	}
}

// settle has the goroutines do all that there is to do.
func (h *house) settle() {
	for range 1000 {
		rooms := take(h.shelf.queue)
		h.shelf.commit(rooms)
		jobs := take(h.shelf.jobs)
		for _, r := range jobs {
			h.shelf.work(r)
		}
		if len(rooms)+len(jobs) == 0 {
			return
		}
	}
	h.t.Fatal("there is no end to it")
}

// T72, simulated: the process ends at a random operation on the disk, with the power or alone. What was not synced is lost in part, in any
// order. Tick has all that players were told, Second all that was told a second ago, and at the end of the process alone all.
func TestCrashesAtAnyOperation(t *testing.T) {
	crashes, resumed := 0, 0
	for _, seed := range chance.Seeds(promise.Keeps(t, "T72", "keep", promise.Tier(100, 1000, 20_000))) {
		h := newHouse(t, seed)
		t.Logf("seed=%d", seed)
		for range 3 {
			h.disk.dies = h.disk.ops + 1 + h.r.IntN(1+h.r.IntN(600))
			for i := 0; i < 3000 && !h.disk.isDead(); i++ {
				h.step()
			}
			h.crash()
			crashes++
			resumed += len(h.tables)
		}
		for _, p := range h.tables {
			p.tick()
		}
		h.settle()
		if t.Failed() {
			t.Fatalf("seed=%d", seed)
		}
	}
	t.Logf("%d crashes, %d rooms went on", crashes, resumed)
}

// T73: "EIO and slow writes (injected)": operations fail at random, for a while, and the process ends during it or later. Tick loses
// nothing that was told, whatever fails. When the disk is well again, all rooms are kept again.
func TestFaultsAtAnyOperation(t *testing.T) {
	eio := errors.New("input/output error")
	faults, said := uint64(0), 0
	for _, seed := range chance.Seeds(promise.Keeps(t, "T73", "keep", promise.Tier(100, 1000, 20_000))) {
		h := newHouse(t, seed)
		t.Logf("seed=%d", seed)
		for range 3 {
			for range 200 {
				h.step()
			}
			h.sick = true
			odds := 1 + h.r.IntN(20)
			h.disk.fault = func(op, name string) error {
				if h.r.IntN(odds) == 0 && op != "leads" {
					return eio
				}
				return nil
			}
			for range 200 {
				h.step()
				if h.shelf.Trouble() != nil {
					said++
				}
			}
			h.disk.fault = nil
			if h.r.IntN(2) == 0 {
				faults += h.shelf.Stats().SyncFaults + h.shelf.Stats().WriteFaults
				h.crash()
			}
			h.heal()
			h.sick = false
		}
	}
	t.Logf("%d faults, said at %d of the steps", faults, said)
	if faults == 0 || said == 0 {
		t.Error("there was no trouble")
	}
}

// heal goes on until all rooms are kept again, which must have an end.
func (h *house) heal() {
	s := h.shelf
	for range 100 {
		h.now = h.now.Add(time.Second)
		h.sweep()
		s.look()
		for _, p := range h.tables {
			p.archive()
		}
		h.settle()
		s.look()
		ok := s.Trouble() == nil
		for _, p := range h.tables {
			p.tick()
			h.settle()
			p.tell()
			ok = ok && p.told == p.sim.Tick() && p.room.safe.Load() == p.sim.Tick()
		}
		st := s.Stats()
		if st.Appended != st.Written+st.Dropped+st.Pending {
			h.t.Fatalf("%+v", st)
		}
		if ok {
			return
		}
	}
	h.t.Fatalf("the disk is well, and rooms are not: %v", s.Trouble())
}
