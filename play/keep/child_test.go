package keep

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/world"
)

// patience is how long tests wait for what must come.
const patience = 2 * time.Minute

// childEnv makes the test binary a server that keeps rooms until it is killed: mode, seed and folder.
const childEnv = "PARLEY_KEEP_CHILD"

// child is that server. It prints what its players are told: room, tick, and the hash of the world before it.
func child() bool {
	what := os.Getenv(childEnv)
	if what == "" {
		return false
	}
	var mode Mode
	var seed uint64
	var dir string
	if _, err := fmt.Sscanf(what, "%d %d %s", &mode, &seed, &dir); err != nil {
		panic(err)
	}
	s, err := Open(Config{Dir: dir, Mode: mode, History: true})
	if err != nil {
		panic(err)
	}
	t := &loud{}
	r := rand.New(rand.NewPCG(seed, 1))
	var tables []*table
	for i := range 3 {
		name := fmt.Sprint("room", i)
		if !slices.Contains(s.Rooms(), name) {
			tables = append(tables, newTable(t, seed+uint64(i), s, name))
			continue
		}
		p := &table{t: t, r: rand.New(rand.NewPCG(seed, uint64(i))), name: name}
		p.goOn(s)
		tables = append(tables, p)
	}
	for {
		for _, p := range tables {
			switch ahead := p.sim.Tick() - min(p.sim.Tick(), p.room.Safe()); {
			case ahead > 3:
				p.archive()
			case r.IntN(40) == 0:
				p.snapshot()
				fallthrough
			default:
				p.tick()
			}
			before := p.told
			if p.tell(); p.told > before {
				fmt.Fprintf(os.Stdout, "%s %d %x\n", p.name, p.told, p.hashes[p.told-p.base])
			}
		}
	}
}

// loud is a test that is none: a server has nobody to report to but its standard error.
type loud struct{ testing.TB }

func (*loud) Helper()                   {}
func (*loud) Fatal(args ...any)         { panic(fmt.Sprint(args...)) }
func (*loud) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

// goOn loads a room of which nothing is known.
func (p *table) goOn(s *Shelf) {
	sim, _, err := s.Load(p.name, game())
	if err != nil {
		p.t.Fatal(err)
	}
	p.take(sim)
	p.base, p.hashes = sim.Tick(), []uint64{sim.World().Hash()}
	p.told = sim.Tick()
	sim.Keep(node, sim.Epoch()+1)
	p.open(s)
}

// told is what a killed server has said of a room.
type told struct {
	tick   uint64
	hashes map[uint64]string
}

// T72: "kill -9 at 200 random points, each of --keep tick and second": a server is killed, and what it has said is on disk. What goes on is
// what a replay of the whole log gives.
func TestKill(t *testing.T) {
	seed := chance.Seed(t, 72)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, mode := range []Mode{Second, Tick} {
		t.Run(mode.String(), func(t *testing.T) {
			dir, said := "", map[string]*told{}
			ticks := uint64(0)
			for i := range promise.Keeps(t, "T72", "keep", promise.Tier(3, 20, 200)) {
				if i%10 == 0 {
					dir, said = t.TempDir(), map[string]*told{}
				}
				kill(t, dir, mode, seed+uint64(i), 1+r.IntN(1+r.IntN(2000)), said)
				ticks += wantTold(t, dir, said)
				if t.Failed() {
					t.Fatalf("kill %d, seed=%d", i, seed)
				}
			}
			t.Logf("%d ticks were run again", ticks)
			if ticks == 0 {
				t.Error("nothing was told")
			}
		})
	}
}

// kill starts a server and kills it when it has said so many lines.
func kill(t *testing.T, dir string, mode Mode, seed uint64, lines int, said map[string]*told) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s", childEnv, mode, seed, dir))
	var trouble bytes.Buffer
	cmd.Stderr = &trouble
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(out)
	for n := 0; ; n++ {
		if n == lines {
			cmd.Process.Kill() // what is in the pipe was said, too
		}
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		var name, hash string
		var tick uint64
		if _, err := fmt.Sscan(line, &name, &tick, &hash); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		p := said[name]
		if p == nil {
			p = &told{hashes: map[uint64]string{}}
			said[name] = p
		}
		p.tick, p.hashes[tick] = max(p.tick, tick), hash
	}
	cmd.Process.Kill()
	patient.Exit(cmd) // it was killed: its error is known
	if trouble.Len() > 0 {
		t.Fatal(trouble.String())
	}
}

// wantTold loads the rooms and compares them with what was said, and with a replay. It returns the sum of their ticks.
func wantTold(t *testing.T, dir string, said map[string]*told) (ticks uint64) {
	t.Helper()
	s := openShelf(t, Config{Dir: dir, Mode: Tick})
	for name, p := range said {
		sim, _, err := s.Load(name, game())
		if err != nil {
			t.Fatal(err)
		}
		ticks += sim.Tick()
		if sim.Tick() < p.tick {
			t.Errorf("%s: players were told up to tick %d, and it goes on at %d", name, p.tick, sim.Tick())
		}
		again := replayAll(t, filepath.Join(dir, roomsDir, name), p.hashes)
		if again.Tick() != sim.Tick() || again.World().Hash() != sim.World().Hash() {
			t.Errorf("%s: it goes on at tick %d with %x, and a replay has tick %d and %x", name, sim.Tick(), sim.World().Hash(), again.Tick(), again.World().Hash())
		}
	}
	closeShelf(t, s)
	return ticks
}

// replayAll runs all entries of a room from its oldest snapshot on, and compares the hashes that were said.
func replayAll(t *testing.T, dir string, hashes map[uint64]string) *world.Sim {
	t.Helper()
	snapshots, _ := filepath.Glob(filepath.Join(dir, snapshotPrefix+"*"))
	f, err := os.Open(snapshots[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sim, _, err := world.Load(game(), f)
	if err != nil {
		t.Fatal(err)
	}
	segments, _ := filepath.Glob(filepath.Join(dir, logPrefix+"*"))
	for _, name := range segments {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		in, err := world.NewLogReader(bytes.NewReader(b))
		for err == nil {
			var block []byte
			if block, err = in.Next(); err != nil {
				break
			}
			var e *world.Entry
			if e, err = sim.ReadEntry(block); err == nil && e.Tick >= sim.Tick() {
				err = sim.Apply(e)
			}
			if want, ok := hashes[sim.Tick()]; ok && want != fmt.Sprintf("%x", sim.World().Hash()) {
				t.Fatalf("%s: tick %d has %x, and players were told %s", name, sim.Tick(), sim.World().Hash(), want)
			}
		}
		if err != io.EOF {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if strings.Contains(snapshots[0], asidePrefix) {
		t.Fatal("files were moved aside")
	}
	return sim
}
