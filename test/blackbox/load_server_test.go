package blackbox

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/account/sqlite"
	"parley/arena"
	"parley/internal/patient"
	"parley/internal/shell/shelltest"
	"parley/play/gateway"
	"parley/test/field"
	"parley/world"
)

// The server under load is a process of its own: this test's own program, started again with these
// words in its environment. It is parley.Start as `parley serve` calls it, with the arena and as
// many drifting entities as are asked for.
const (
	loadServer  = "PARLEY_LOAD_SERVER"  // its loadConfig
	loadProfile = "PARLEY_LOAD_PROFILE" // a file for its CPU profile, from the mark on
	loadRoom    = 512                   // cells from the middle to each side: the arena's
	loadMark    = "mark"                // what came before is left out of the figures
	loadFigures = "figures"
	loadJump    = "jump"    // its wall clock goes to where the next word says
	loadCollect = "collect" // it collects its garbage, now and twice a second from here on
	loadChatter = "chatter" // it says as much in one tick as players do in a minute
)

// loadConfig is what a server under load serves.
type loadConfig struct {
	Drifters int  // beside the players
	Vessels  int  // instead of the arena: so many that move on three axes
	Holders  bool // instead of the arena: players who stand apart and turn
	TickRate int
	Players  int // the most
	Dir      string
	Plain    bool // realm without TLS
	Sight    float64
	Allocs   bool          // count allocations by place, which is slow
	Burn     time.Duration // holders only: a tick takes so long, and for each player a fiftieth of that more
	Swell    int           // with more players than that there are four times the drifters
	OwnClock bool          // it has a wall clock of its own, if that can be
	Guarded  bool          // with the limits by address that a server has by default
	Favoured bool          // it goes before its clients, who elsewhere have machines of their own, if that can be
}

func (c *loadConfig) game() world.Game {
	if c.Vessels > 0 {
		return vessels(c.Vessels)
	}
	if c.Holders {
		return holders(c.Burn)
	}
	return driftingArena(c.Drifters, c.Swell)
}

// loadFigure is what a server under load says of itself, since the last mark.
type loadFigure struct {
	Players, Spectators int
	Ticks, Late, Skips  uint64
	P50, P99, Longest   time.Duration // of a tick
	CPU                 time.Duration
	Mallocs             uint64
	GCPauseP99          time.Duration
	GCs                 uint64
	Resident            uint64
	Live                uint64 // heap that the last collection left
	Requests            uint64
	DroppedInput        uint64
	Shed                uint64
	Behind              time.Duration
	ReplicaBytes        uint64 // that replica sent
	Allocs              []allocSite
	Favoured            bool
	OwnClock            bool          // it has a wall clock of its own
	Wall                int64         // what that says, in Unix ms
	Up                  time.Duration // since just before it began, by the clock that does not jump
}

// drifter is an entity that nobody owns: it goes its way, and turns at the edge.
type drifter struct {
	world.Body `parley:"kind=3,speed=2"`
	Health     int16
}

// driftingArena is the arena with so many drifters, and with more players than swell with more.
func driftingArena(drifters, swell int) world.Game {
	g := arena.Game()
	if drifters <= 0 {
		return g
	}
	step := g.Step
	g.Kinds = world.Kinds(arena.Player{}, arena.Ball{}, drifter{})
	g.Step = func(w *world.World, in []world.Input) {
		many := drifters
		if swell > 0 && world.Count[arena.Player](w) > swell {
			many *= 4
		}
		for id := range world.All[drifter](w) {
			if world.Count[drifter](w) <= many {
				break
			}
			w.Despawn(id)
		}
		for world.Count[drifter](w) < many {
			r := w.Random()
			at := func() float64 { return float64(r.IntN(2*loadRoom) - loadRoom) }
			world.Spawn(w, drifter{Body: world.Body{X: at(), Y: at(), Angle: float32(r.IntN(628)) / 100, Norm: 1}, Health: 100})
		}
		step(w, in)
		for _, d := range world.All[drifter](w) {
			if w.Move(&d.Body) || math.Abs(d.X) > loadRoom || math.Abs(d.Y) > loadRoom {
				d.Angle += 2 // away from the wall, and not back the way it came
			}
		}
	}
	return g
}

// vessel moves on three axes.
type vessel struct {
	X, Y, Z float32
}

// vessels is a game of n objects, each of which has three values that change in every tick.
func vessels(n int) world.Game {
	return world.Game{Name: "vessels", Kinds: world.Kinds(vessel{}), Step: func(w *world.World, in []world.Input) {
		for world.Count[vessel](w) < n {
			world.Spawn(w, vessel{})
		}
		tick, i := float32(w.Tick()), float32(0)
		for _, v := range world.All[vessel](w) {
			v.X, v.Y, v.Z = tick+i, tick-i, tick*.5+i
			i++
		}
	}}
}

// holder is a player who stands and turns: its own entity, 64 bytes or so on most wires, is all that
// it sees, and changes whenever it steers.
type holder struct {
	world.Body `parley:"speed=2"`
}

// holders stand 64 cells from each other, and away from all of them stands one that is nobody's and
// turns in each tick, so that spectators have something to see. With burn it is a game that takes its time.
func holders(burn time.Duration) world.Game {
	return world.Game{Name: "holders", Kinds: world.Kinds(holder{}), Step: func(w *world.World, in []world.Input) {
		long := burn + burn*time.Duration(world.Count[holder](w))/50
		for began := time.Now(); time.Since(began) < long; {
		}
		if w.Tick() == 0 {
			world.Spawn(w, holder{world.Body{X: -1000}})
		}
		for id, h := range world.All[holder](w) {
			if w.Owner(id) == 0 {
				h.Angle = float32(w.Tick() % 6)
			}
		}
		for i := range in {
			switch in := &in[i]; in.Kind {
			case world.Join:
				at := world.Body{X: float64(in.Player%64) * 64, Y: float64(in.Player/64) * 64}
				w.Own(in.Player, world.SpawnFor(w, in, holder{at}))
			case world.Steer:
				w.Steer(in)
			}
		}
	}}
}

// beLoadServer serves until its standard input ends.
func beLoadServer(text string) error {
	var c loadConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	var jump func(time.Duration)
	owned := false
	if c.OwnClock {
		jump, _, owned = ownWallClock()
	}
	favoured := c.Favoured && favourSelf()
	config := field.Config()
	config.RealmPlain, config.DataDir, config.Accounts, config.Sight, config.MaxPlayers, config.TickRate = c.Plain, c.Dir, sqlite.OpenIn, c.Sight, c.Players, c.TickRate
	config.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if !c.Guarded {
		config.PerAddress = -1
	}
	began := time.Now()
	s, err := field.Start(c.game(), config)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.Encode(s.At)
	marked := takeLoadLook(s)
	var allocs map[string]int64
	var collecting sync.Once
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		now := takeLoadLook(s)
		if in.Text() == loadMark {
			if c.Allocs {
				runtime.MemProfileRate = 1 // all are counted from here on
			}
			marked, allocs = now, allocations(c.Allocs)
			defer profile()()
		}
		if in.Text() == loadCollect {
			collecting.Do(func() { go collectAlways() })
			runtime.GC()
			now = takeLoadLook(s)
		}
		if in.Text() == loadChatter {
			for range 100 {
				s.Broadcast("", "so many words")
			}
		}
		if to, ok := strings.CutPrefix(in.Text(), loadJump+" "); ok {
			d, err := time.ParseDuration(to)
			if err != nil {
				return err
			}
			jump(d)
		}
		f := now.since(marked)
		f.Favoured, f.OwnClock, f.Wall = favoured, owned, time.Now().UnixMilli()
		f.Up = time.Since(began)
		if allocs != nil && in.Text() == loadFigures {
			f.Allocs = allocsSince(allocs)
		}
		out.Encode(f)
	}
	return s.Close()
}

// collectAlways gives the pauses of the collector a basis: a server that allocates nothing hardly collects.
func collectAlways() {
	for range time.Tick(time.Second / 2) {
		runtime.GC()
	}
}

// profile writes a CPU profile until the function that it returns is called, if one is wanted.
func profile() (stop func()) {
	path := os.Getenv(loadProfile)
	if path == "" {
		return func() {}
	}
	f, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}
}

// loadLook is all that the figures are made of.
type loadLook struct {
	world   gateway.Stats
	cpu     time.Duration
	mallocs uint64
	pauses  *metrics.Float64Histogram
	gcs     uint64
	live    uint64
	replica uint64
}

func takeLoadLook(s *field.Server) loadLook {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/tiny/allocs:objects"}, {Name: "/sched/pauses/total/gc:seconds"}, {Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	return loadLook{
		world: s.WorldStats(), cpu: processCPU(),
		mallocs: samples[0].Value.Uint64() + samples[1].Value.Uint64(), pauses: samples[2].Value.Float64Histogram(), gcs: samples[3].Value.Uint64(), live: samples[4].Value.Uint64(),
		replica: s.Stats().Replica.Socket.OutBytes,
	}
}

func (l loadLook) since(m loadLook) loadFigure {
	times := l.world.TickTimes.Since(m.world.TickTimes)
	return loadFigure{
		Players: l.world.Players, Spectators: l.world.Spectators,
		Ticks: l.world.Ticks - m.world.Ticks, Late: l.world.LateTicks - m.world.LateTicks, Skips: l.world.SkippedTicks - m.world.SkippedTicks,
		P50: times.Quantile(.5), P99: times.Quantile(.99), Longest: times.Quantile(1),
		CPU: l.cpu - m.cpu, Mallocs: l.mallocs - m.mallocs, GCPauseP99: pauseQuantile(l.pauses, m.pauses, .99), GCs: l.gcs - m.gcs,
		Requests: l.world.Requests - m.world.Requests, Shed: l.world.Shed - m.world.Shed, Behind: l.world.Behind,
		Resident: uint64(shelltest.Resident()), Live: l.live, DroppedInput: l.world.DroppedInput - m.world.DroppedInput, ReplicaBytes: l.replica - m.replica,
	}
}

func pauseQuantile(now, then *metrics.Float64Histogram, share float64) time.Duration {
	total := uint64(0)
	for i := range now.Counts {
		total += now.Counts[i] - then.Counts[i]
	}
	if total == 0 {
		return 0
	}
	rank := min(uint64(share*float64(total)), total-1)
	for i := range now.Counts {
		n := now.Counts[i] - then.Counts[i]
		if n > rank {
			return time.Duration(now.Buckets[i+1] * float64(time.Second))
		}
		rank -= n
	}
	return 0
}

// processCPU is the CPU time of this process; 0 where the system does not tell.
func processCPU() time.Duration {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// loaded is a server under load, as this process knows it.
type loaded struct {
	t     testing.TB
	cmd   *exec.Cmd
	addrs map[string]string
	in    *json.Decoder
	ask   io.WriteCloser
}

// startLoaded starts one.
func startLoaded(t testing.TB, c loadConfig) *loaded {
	t.Helper()
	c.Dir = t.TempDir()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := &loaded{t: t, cmd: exec.Command(self)}
	l.cmd.Env, l.cmd.Stderr = append(os.Environ(), loadServer+"="+string(text)), os.Stderr
	if l.ask, err = l.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := l.cmd.StdoutPipe()
	if err == nil {
		err = l.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.ask.Close()
		if err := patient.Exit(l.cmd); err != nil {
			t.Errorf("the server under load: %v", err)
		}
	})
	l.in = json.NewDecoder(out)
	defer patient.End().Stop()
	if err := l.in.Decode(&l.addrs); err != nil {
		t.Fatalf("the server under load does not say where it is: %v", err)
	}
	return l
}

// say asks the server for its figures.
func (l *loaded) say(word string) (f loadFigure) {
	l.t.Helper()
	defer patient.End().Stop()
	if _, err := fmt.Fprintln(l.ask, word); err != nil {
		l.t.Fatal(err)
	}
	if err := l.in.Decode(&f); err != nil {
		l.t.Fatalf("the server under load does not answer: %v", err)
	}
	return f
}
