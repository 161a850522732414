package keep

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"

	"parley/world"
)

func TestMain(m *testing.M) {
	if child() {
		return
	}
	goleak.VerifyTestMain(m)
}

// The game of the tests: ships that steer, fire and drift by chance.

type ship struct {
	world.Body `parley:"speed=2,cap=64"`
	Health     int16
	Name       string `parley:"max=12"`
	drift      uint32
}

type shot struct {
	world.Body `parley:"cap=64"`
	Age        uint8
}

type fire struct{ Angle float32 }

func game() world.Game {
	return world.Game{Name: "ships", Version: "one", Kinds: world.Kinds(ship{}, shot{}), Actions: world.Actions(fire{}), Step: step}
}

func step(w *world.World, inputs []world.Input) {
	for i := range inputs {
		switch in := &inputs[i]; in.Kind {
		case world.Join:
			w.Own(in.Player, world.SpawnFor(w, in, ship{Health: 100, Name: in.Name}))
		case world.Steer:
			w.Steer(in)
		case world.Act:
			if f, ok := world.Read[fire](in); ok {
				world.SpawnFor(w, in, shot{Body: world.Body{Angle: f.Angle, Norm: 3}})
				world.Done(w, in, f)
			}
		}
	}
	w.MoveAll()
	for _, s := range world.All[ship](w) {
		s.drift += uint32(w.Random().IntN(9))
	}
	for id, s := range world.All[shot](w) {
		if s.Age++; s.Age > 20 {
			w.Despawn(id)
		}
	}
}

// A table is a room that is played at random and kept. It knows the hash of its world before each tick.
type table struct {
	t       testing.TB
	r       *rand.Rand
	name    string
	sim     *world.Sim
	room    *Room
	players []world.PlayerID
	base    uint64
	hashes  []uint64 // before each tick, from base on
	told    uint64   // players know of ticks below it
	buf     []byte
}

const node = 0x5eed_0123_4567_89ab

func newTable(t testing.TB, seed uint64, s *Shelf, name string) *table {
	t.Helper()
	sim, err := world.New(game(), world.Config{Seed: seed, MaxRollbackTicks: 4})
	if err != nil {
		t.Fatal(err)
	}
	sim.Keep(node, 1)
	p := &table{t: t, r: rand.New(rand.NewPCG(seed, 9)), name: name, sim: sim, hashes: []uint64{sim.World().Hash()}}
	p.open(s)
	return p
}

func (p *table) open(s *Shelf) {
	p.t.Helper()
	room, err := s.Room(p.name, p.sim, []byte("settings of "+p.name))
	if err != nil {
		p.t.Fatal(err)
	}
	p.room = room
}

// tick plays a tick.
func (p *table) tick() {
	now := p.sim.Tick()
	for range p.r.IntN(4) {
		if len(p.players) == 0 || p.r.IntN(20) == 0 && len(p.players) < 5 {
			if id, err := p.sim.Join(fmt.Sprint("p", p.r.IntN(99))); err == nil {
				p.players = append(p.players, id)
			}
			continue
		}
		id := p.players[p.r.IntN(len(p.players))]
		switch p.r.IntN(5) {
		case 0:
			p.sim.Act(id, now, p.sim.Schema().ActionNamed("fire"), []world.Value{world.FloatValue(world.F32, p.r.Float64())}, 0)
		case 1:
			p.sim.Chat(id, bytes.Repeat([]byte("a"), p.r.IntN(200)))
		default:
			late := p.r.Uint64N(4)
			p.sim.Steer(id, now-min(now, late), world.Steering{Angle: p.r.Float32(), HasAngle: true, Norm: p.r.Float32(), HasNorm: true}, 0)
		}
	}
	p.room.Append(now, p.sim.Seal(int64(now)*50_000, 0))
	p.sim.Advance()
	p.hashes = append(p.hashes, p.sim.World().Hash())
	p.archive()
}

// archive gives the room the snapshot that it wants.
func (p *table) archive() {
	if p.room.WantsSnapshot() {
		p.snapshot()
	}
}

func (p *table) snapshot() {
	p.buf = p.sim.AppendSnapshot(p.buf[:0])
	p.room.Snapshot(p.sim.Tick(), p.buf)
}

// tell notes what is promised to the players. In mode Second they may be told more while the disk stands still, and that is not.
func (p *table) tell() { p.told = max(p.told, min(p.room.Safe(), p.room.safe.Load())) }

// resume loads the room and goes on with it. It returns the tick at which it goes on.
func (p *table) resume(s *Shelf) uint64 {
	p.t.Helper()
	sim, settings, err := s.Load(p.name, game())
	if err != nil {
		p.t.Fatal(err)
	}
	if string(settings) != "settings of "+p.name {
		p.t.Fatalf("settings %q", settings)
	}
	now := sim.Tick()
	if now >= uint64(len(p.hashes)) {
		p.t.Fatalf("%s goes on at tick %d, and was at %d", p.name, now, len(p.hashes)-1)
	}
	if got, want := sim.World().Hash(), p.hashes[now]; got != want {
		p.t.Fatalf("%s goes on at tick %d with the hash %x, and had %x", p.name, now, got, want)
	}
	p.hashes = p.hashes[:now+1]
	p.take(sim)
	sim.Keep(node, sim.Epoch()+1)
	p.open(s)
	return now
}

// take plays on with a world.
func (p *table) take(sim *world.Sim) {
	p.sim = sim
	p.players = p.players[:0]
	for id := world.PlayerID(1); id < 100; id++ {
		if _, ok := sim.World().Player(id); ok {
			p.players = append(p.players, id)
		}
	}
}
