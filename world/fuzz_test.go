package world

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// FuzzOps runs a script of joins, leaves, steers, actions, ticks and packets
// that are lost, and checks what always holds; then its recording is replayed.
func FuzzOps(f *testing.F) {
	f.Add([]byte{0, 0, 7, 1, 2, 3, 4, 7, 7, 5, 9, 7, 8, 7, 6, 7})
	f.Add([]byte("joinjoinsteeractacttickticklostleave"))
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 600 {
			return
		}
		o := newOps(t)
		for len(script) > 0 {
			script = o.step(script)
		}
		o.finish()
	})
}

// The same scripts, made at random, in every plain run.
func TestRandomOps(t *testing.T) {
	r := newRand(t)
	for range rounds(150, 10_000) {
		script := make([]byte, 200)
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		o := newOps(t)
		for len(script) > 0 {
			script = o.step(script)
		}
		o.finish()
	}
}

type ops struct {
	t       testing.TB
	sim     *Sim
	file    bytes.Buffer
	players []PlayerID
	clients []*client
}

func newOps(t testing.TB) *ops {
	o := &ops{t: t, sim: newSim(t, Config{Seed: 1, MaxRollbackTicks: 4, ReplayBudget: 3, ReuseTicks: 8})}
	if err := o.sim.Record(&o.file); err != nil {
		t.Fatal(err)
	}
	return o
}

// step takes one operation and its arguments from a script.
func (o *ops) step(script []byte) []byte {
	next := func() int {
		if len(script) == 0 {
			return 0
		}
		b := script[0]
		script = script[1:]
		return int(b)
	}
	s := o.sim
	op := next()
	if op%8 == 0 && len(o.players) < 5 {
		p := join(o.t, s, "p")
		o.players = append(o.players, p)
		c := ViewConfig{Radius: float64(next()) - 50, MaxPerKind: next() % 12, BytesPerTick: 50 + next(), PredictTicks: next() % 4}
		o.clients = append(o.clients, newClient(o.t, s.NewView(p, c), rand.New(rand.NewPCG(uint64(op), 3)), float64(next()%100)/250))
		return script
	}
	if len(o.players) == 0 {
		s.Advance()
		return script
	}
	i := next() % len(o.players)
	p := o.players[i]
	tick := s.Tick() + 3 - min(s.Tick()+3, uint64(next()%9))
	switch op % 8 {
	case 1:
		s.Leave(p)
		o.clients[i].view.Close()
		o.players = append(o.players[:i], o.players[i+1:]...)
		o.clients = append(o.clients[:i], o.clients[i+1:]...)
	case 2:
		st := steer(float32(next())/40, float32(next())/160)
		st.Entity = s.ByWire(uint16(next() % 12))
		st.HasPlace, st.X, st.Y = op > 128, float64(next()%40), float64(next()%40)
		s.Steer(p, tick, st, uint32(op))
	case 3, 4:
		s.Act(p, tick, s.Schema().Action(0), sowing(float64(next())/40, uint64(next())*257), 0)
	case 5:
		s.Act(p, tick, s.Schema().Action(1), []Value{UintValue(U8, uint64(next()%4)), UintValue(Bool, uint64(op>>7))}, 0)
	default:
		s.Advance()
		if op > 200 {
			s.Rest()
		}
		checkWorld(o.t, s)
		for _, c := range o.clients {
			c.tick(s.Tick())
		}
	}
	return script
}

// finish lets all clients catch up, and replays the recording.
func (o *ops) finish() {
	o.sim.Advance()
	checkWorld(o.t, o.sim)
	for later := range uint64(150) {
		for _, c := range o.clients {
			c.loss = 0
			c.view.updated = 0
			c.tick(o.sim.Tick() + later)
		}
	}
	for _, c := range o.clients {
		if c.view.config.PredictTicks == 0 {
			c.wantSame()
		}
	}
	got, err := Replay(testGame(), bytes.NewReader(o.file.Bytes()))
	if err != nil || got.Difference != nil || got.Hash != o.sim.World().Hash() {
		o.t.Fatalf("%+v %v, %v, want %x", got, got.Difference, err, o.sim.World().Hash())
	}
	for _, c := range o.clients {
		c.view.Close()
	}
	for wire, p := range o.sim.book.pages {
		if p.holds != 0 {
			o.t.Fatalf("number %d is still held", wire)
		}
	}
}
