package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/internal/promise"
	"parley/play/message"
	"parley/world"
)

// roomsHub is a hub with one booth.
func roomsHub(t testing.TB, c Config) (*Hub, *booth) {
	t.Helper()
	if c.Game.Step == nil {
		c.Game = pawnGame()
	}
	h := must(New(c))
	b := &booth{name: "booth"}
	h.Add(b)
	return h, b
}

// guest has somebody enter a room as a guest.
func (b *booth) guest(room string) *visitor {
	v := &visitor{}
	v.own, v.dialect = v, b
	v.pass = &Pass{Kind: message.PassRoom, Room: room}
	b.inbox.put(request{seat: &v.Seat, ask: askEnter})
	return v
}

// inUse returns the bytes that are in use, after what is garbage is gone.
func inUse() int64 {
	var st runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&st)
	return int64(st.HeapAlloc)
}

// T70: rooms come and go with their players in them, closed, broken or idle, and leave nothing behind.
func TestRoomsComeAndGo(t *testing.T) {
	n := promise.Keeps(t, "T70", "gateway", promise.Tier(500, 10_000, 100_000))
	g := pawnGame()
	step := g.Step
	broken := false
	g.Step = func(w *world.World, in []world.Input) {
		if broken && w.Mode() != "" {
			panic("as the test says")
		}
		step(w, in)
	}
	h, b := roomsHub(t, Config{Game: g})
	var before int64
	goroutines := runtime.NumGoroutine()
	for i := range n {
		if i == n/5 {
			before = inUse()
		}
		name := fmt.Sprint("room-", i%7)
		must(h.Open(Settings{Name: name, Seed: uint64(i), Mode: "x", Idle: time.Nanosecond}))
		a, away := b.guest(name), b.guest(name)
		ticks(t, h, 2)
		if a.player == nil || away.player == nil {
			t.Fatalf("room %d: it is told %q", i, a.heard)
		}
		b.inbox.put(request{seat: &away.Seat, ask: askKnown})
		b.inbox.put(request{seat: &away.Seat, ask: askLeave})
		ticks(t, h, 1)
		switch i % 3 {
		case 0:
			if err := h.CloseRoom(name); err != nil {
				t.Fatal(err)
			}
			ticks(t, h, 1)
		case 1:
			broken = true
			ticks(t, h, 1)
			broken = false
		default: // all leave, and it is empty for long enough
			r := h.rooms[name]
			b.inbox.put(request{seat: &a.Seat, ask: askLeave, bye: true})
			r.remove(r.away[0])
			for r.state != roomAsleep {
				ticks(t, h, 1)
				h.rest(time.Now())
			}
			for h.rooms[name] != nil {
				h.rest(h.swept.Add(2 * time.Second))
			}
			ticks(t, h, 1)
		}
		if len(h.rooms) != 1 || len(h.awake) > 1 || h.players != 0 || len(h.sessions) != 0 || len(h.leaving) != 0 {
			t.Fatalf("room %d: %d rooms, %d awake, %d players, %d sessions", i, len(h.rooms), len(h.awake), h.players, len(h.sessions))
		}
		if want := i%3 != 2; (len(a.heard) == 1) != want {
			t.Fatalf("room %d: its player is told %q", i, a.heard)
		}
	}
	after := inUse()
	t.Logf("%d rooms: %d KiB in use after a fifth of them, %d at the end", n, before>>10, after>>10)
	if after > before+before/10+1<<20 {
		t.Errorf("the heap has grown from %d to %d bytes", before, after)
	}
	// One of a test before may have ended meanwhile, so fewer is no fault; and the last ones may be about to end.
	waitFor(t, func() {}, "no more goroutines than before", func() bool { return runtime.NumGoroutine() <= goroutines })
}

// A room that falls asleep while it is behind the clock lets in who comes later.
func TestARoomThatIsAsleepIsNotBehind(t *testing.T) {
	h, b := roomsHub(t, Config{})
	a := b.guest(MainRoom)
	ticks(t, h, 2)
	b.inbox.put(request{seat: &a.Seat, ask: askLeave, bye: true})
	r := h.main
	r.behind, r.found, r.now = 2*shedBehind, start, start.Add(2*shedFor)
	late := b.guest(MainRoom)
	ticks(t, h, 1)
	if late.player != nil {
		t.Error("a room that is behind lets somebody in")
	}
	for r.state != roomAsleep {
		ticks(t, h, 1)
		h.rest(time.Now())
	}
	next := b.guest(MainRoom)
	ticks(t, h, 1)
	if next.player == nil {
		t.Errorf("who comes to a room that was asleep is told %q", next.heard)
	}
}

// T70: a room that panics leaves the others as they would be without it.
func TestARoomThatPanicsLeavesTheOthersAlone(t *testing.T) {
	promise.Keeps(t, "T70", "gateway", 1)
	hashes := func(breaks bool) (list []uint64) {
		g := pawnGame()
		step := g.Step
		g.Step = func(w *world.World, in []world.Input) {
			if breaks && w.Mode() == "bad" && w.Tick() == 7 {
				panic("as the test says")
			}
			step(w, in)
		}
		h, b := roomsHub(t, Config{Game: g})
		for i := range 5 {
			must(h.Open(Settings{Name: fmt.Sprint("room-", i), Seed: uint64(i)}))
			for range 3 {
				b.guest(fmt.Sprint("room-", i))
			}
		}
		must(h.Open(Settings{Name: "bad", Mode: "bad"}))
		bad := b.guest("bad")
		for range 40 {
			ticks(t, h, 1)
			for i := range 5 {
				list = append(list, h.rooms[fmt.Sprint("room-", i)].sim.World().Hash())
			}
		}
		if breaks != (len(bad.heard) == 1) || breaks != (h.rooms["bad"] == nil) {
			t.Errorf("its player is told %q", bad.heard)
		}
		return list
	}
	with, without := hashes(true), hashes(false)
	for i := range with {
		if with[i] != without[i] {
			t.Fatalf("the hash of room %d at tick %d is %x, and %x without the one that panics", i%5, i/5, with[i], without[i])
		}
	}
}

// lines is a log that several goroutines write and read.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// spinning never ends, until the test says so.
func spinning(stop *atomic.Bool, ended chan struct{}) {
	defer close(ended)
	for !stop.Load() {
	}
}

// T70: a room that spins is found, its stack is in the log, its players are told, and the others go on.
func TestARoomThatSpinsIsGivenUp(t *testing.T) {
	promise.Keeps(t, "T70", "gateway", 1)
	var stop, spin atomic.Bool
	ended := make(chan struct{})
	g := pawnGame()
	step := g.Step
	g.Step = func(w *world.World, in []world.Input) {
		if w.Mode() == "bad" && spin.Load() {
			spinning(&stop, ended)
			return
		}
		step(w, in)
	}
	var log lines
	h, b := roomsHub(t, Config{Game: g, Log: slog.New(slog.NewTextHandler(&log, nil))})
	var bad, good, late *visitor
	must(h.Open(Settings{Name: "bad", Mode: "bad"}))
	must(h.Open(Settings{Name: "good"}))
	until := live(t, h)
	do := func(fn func()) {
		t.Helper()
		if err := h.Do(fn); err != nil {
			t.Fatal(err)
		}
	}
	is := func(what string, cond func() bool) {
		t.Helper()
		until(what, func() (ok bool) { do(func() { ok = cond() }); return ok })
	}
	do(func() { bad, good = b.guest("bad"), b.guest("good") })
	is("both are in", func() bool { return bad.player != nil && good.player != nil })
	spin.Store(true)
	start := time.Now()
	// What is asked of the room meanwhile waits, and is answered when it is given up.
	is("it is at its step", func() bool { r := h.rooms["bad"]; return r == nil || r.state == roomStepping })
	do(func() { late = b.guest("bad") })
	var began uint64
	do(func() { began = h.rooms["good"].sim.Tick() })
	is("its player is told", func() bool { return len(bad.heard) == 1 })
	found := time.Since(start)
	var went uint64
	do(func() { went = h.rooms["good"].sim.Tick() - began })
	t.Logf("found after %v, in which the other room had %d ticks", found.Round(time.Millisecond), went)
	if went < 10 {
		t.Errorf("the other room had %d ticks meanwhile", went)
	}
	is("who came meanwhile is told", func() bool { return len(late.heard) == 1 })
	do(func() {
		if bad.heard[0] != errRoomBroke.Error() || late.heard[0] != RefusedRoom.Error() {
			t.Errorf("they are told %q and %q", bad.heard, late.heard)
		}
		if h.rooms["bad"] != nil || h.players != 1 || len(h.sessions) != 1 {
			t.Errorf("%d rooms, %d players, %d sessions", len(h.rooms), h.players, len(h.sessions))
		}
	})
	if err := h.Degraded(); err == nil || !strings.Contains(err.Error(), "bad") {
		t.Errorf("what is wrong is %v", err)
	}
	if !strings.Contains(log.String(), "gateway.spinning") {
		t.Errorf("the log is without the stack: %s", log.String())
	}
	// A room of that name can be opened again, while the old one spins.
	spin.Store(false)
	var err error
	do(func() { _, err = h.Open(Settings{Name: "bad", Mode: "bad"}) })
	if err != nil {
		t.Error(err)
	}
	var again *visitor
	do(func() { again = b.guest("bad") })
	is("somebody is in it", func() bool { return again.player != nil && h.rooms["bad"].sim.Tick() > 5 })
	stop.Store(true)
	patient.Value(ended)
}

// T70: a thousand rooms with two players each have twenty ticks a second. What that takes is in the test's log.
func TestAThousandRooms(t *testing.T) {
	n := promise.Keeps(t, "T70", "gateway", promise.Tier(100, 1000, 1000))
	h, b := roomsHub(t, Config{MaxPlayers: 2 * n, MaxRooms: n + 1})
	for i := range n {
		must(h.Open(Settings{Name: fmt.Sprint("room-", i), Seed: uint64(i)}))
		b.guest(fmt.Sprint("room-", i))
		b.guest(fmt.Sprint("room-", i))
	}
	empty := inUse()
	until := live(t, h)
	until("all are in", func() bool { return h.Stats().Players == 2*n })
	each := uint64(promise.Tier(1, 5, 5) * h.cfg.TickRate)
	first := h.Stats()
	begun, cpu := time.Now(), cpuTime()
	until("all have had their ticks", func() bool { return h.Stats().Ticks-first.Ticks >= each*uint64(n) })
	took, used, last := time.Since(begun), cpuTime()-cpu, h.Stats()
	times := last.TickTimes.Since(first.TickTimes)
	ran := last.Ticks - first.Ticks
	t.Logf("%d rooms: %d ticks in %v, %.1f a second in each room; p50 %v, p99 %v; %d late, %d let go; %.2f cores; %d KiB a room",
		n, ran, took.Round(time.Millisecond), float64(ran)/float64(n)/took.Seconds(), times.Quantile(.5), times.Quantile(.99),
		last.LateTicks-first.LateTicks, last.SkippedTicks-first.SkippedTicks, used.Seconds()/took.Seconds(), (inUse()-empty)>>10/int64(n))
	var wrong error
	err := h.Do(func() {
		for name, r := range h.rooms {
			if r.sim.Tick() < each/2 && r.state != roomAsleep {
				wrong = errors.Join(wrong, fmt.Errorf("room %s had %d ticks", name, r.sim.Tick()))
			}
		}
	})
	if err = errors.Join(err, wrong); err != nil {
		t.Error(err)
	}
}
