package picture

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"parley/arena"
	"parley/internal/kit/chance"
	"parley/internal/promise"
	"parley/play/message"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
	"parley/protocol/replica"
	"parley/world"
)

// evil is a server of relay that tells a client what it likes.
type evil struct {
	c    *Core
	r    *Relay
	now  time.Time
	tick uint32 // of the last fate
}

func newEvil(t *testing.T) *evil {
	c, err := New(arena.Game(), Config{Name: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	e := &evil{c: c, now: time.Unix(1000, 0)}
	c.Connected(e.now)
	e.r = NewRelay(c, func(relay.Mode, relaycore.Target, []byte) error { return nil })
	return e
}

func (e *evil) read(b []byte) {
	var ev relay.Event
	ev.Kind = relay.EventPackage
	ev.Package.Server = true
	ev.Package.Payload = b
	e.r.Read(e.now, ev)
}

func (e *evil) world(seed uint64, rate uint16, tick uint32, mode string) {
	e.read(message.World{Seed: seed, TickRate: rate, Tick: tick, Mode: []byte(mode), Fingerprint: e.c.schema.Fingerprint()}.AppendTo([]byte{message.RelayWorld}, message.Big))
}

func (e *evil) you(wire uint16) { e.read([]byte{message.RelayYou, byte(wire >> 8), byte(wire)}) }

func (e *evil) record(b []byte, wire uint16, kind int, x, y float64, angle, norm float32, sprite uint16) []byte {
	k := e.c.schema.Kind(kind)
	start := len(b)
	b = append(b, byte(wire>>8), byte(wire), byte(kind), 0)
	for i, f := range k.Fields {
		var v world.Value
		switch {
		case i == world.FieldX && k.HasBody:
			v = world.FloatValue(f.Type, x)
		case i == world.FieldY && k.HasBody:
			v = world.FloatValue(f.Type, y)
		case i == world.FieldAngle && k.HasBody:
			v = world.FloatValue(f.Type, float64(angle))
		case i == world.FieldNorm && k.HasBody:
			v = world.FloatValue(f.Type, float64(norm))
		case i == world.FieldSprite && k.HasBody:
			v = world.UintValue(f.Type, uint64(sprite))
		default:
			v = world.UintValue(f.Type, 100)
		}
		b = k.Fields[i].Encode(v).AppendTo(b, message.Big)
	}
	b[start+3] = byte(len(b) - start - 4)
	return b
}

func (e *evil) fate(tick, number uint32, margin int8, records []byte) {
	b := message.Fate{Tick: tick, Number: number, Margin: margin}.AppendTo([]byte{message.RelayTick}, message.Big)
	e.read(append(b, records...))
}

// scene tells of n entities, and of the own one, which is number n+1.
func (e *evil) scene(n int) {
	e.world(1, 20, 100, "")
	for i := range n + 1 {
		e.read(e.record([]byte{message.RelayEntities}, uint16(i+1), 1, 100, 100, 1, 2, 0))
	}
	e.you(uint16(n + 1))
}

// A client that has no time predicts nothing, however often it is told to, and goes on when it has.
func TestABusyClientDoesNotPredict(t *testing.T) {
	e := newEvil(t)
	left := 10
	e.c.cfg.Busy = func() bool { left--; return left < 0 }
	e.scene(20)
	for i := range 50 {
		e.now = e.now.Add(50 * time.Millisecond)
		e.fate(uint32(101+i), 0, 1, nil)
		if f := e.c.Frame(e.now); i > 10 && (f.Own() == 0 || f.OwnTick != 0) {
			t.Fatalf("tick %d: the own entity is %v at tick %v, and the client has no time", i, f.Own(), f.OwnTick)
		}
	}
	if e.c.guess.Tick() > 130 {
		t.Errorf("it has run the tick %d", e.c.guess.Tick())
	}
	left = math.MaxInt
	e.now = e.now.Add(50 * time.Millisecond)
	e.fate(151, 0, 1, nil)
	if f := e.c.Frame(e.now); f.Own() == 0 || f.OwnTick == 0 {
		t.Error("it does not predict again")
	}
}

// A client that draws nothing for an hour, as its window is not shown, knows afterwards what is there.
func TestWhatIsGoneMakesRoom(t *testing.T) {
	e := newEvil(t)
	e.scene(1)
	for i := range 4 * maxTracks {
		e.now = e.now.Add(time.Second)
		wire := uint16(100 + i)
		e.fate(uint32(101+2*i), 0, 1, e.record(nil, wire, 2, 1, 1, 0, 0, 1))
		e.fate(uint32(102+2*i), 0, 1, []byte{byte(wire >> 8), byte(wire), 2, 0})
	}
	e.fate(8*maxTracks+200, 0, 1, e.record(nil, 9, 2, 1, 1, 0, 0, 1))
	if e.c.tracks[9] == nil || e.c.stats.EntitiesLost > 0 || len(e.c.list) > maxTracks {
		t.Errorf("of %d entities that came and went %d are kept, and %d were not taken", 4*maxTracks, len(e.c.list), e.c.stats.EntitiesLost)
	}
}

// A server that links thousands of numbers to one kind takes no more memory than one that links each kind.
func TestLinksOfKindsAreBounded(t *testing.T) {
	e := newEvil(t)
	r := NewReplica(e.c, func(replica.Mode, string, []byte) error { return nil })
	for link := range 4096 {
		name := e.c.schema.Kinds[0].Name
		b := []byte{0, 1, byte(link), byte(link >> 8), byte(len(name))}
		b = append(append(b, name...), 1, 255, 0, 1, 'x')
		r.Read(e.now, replica.Event{Kind: replica.EventLinked, Data: b})
	}
	if n := len(r.kinds); n == 0 || n > 2*len(e.c.schema.Kinds) {
		t.Errorf("%d links of kinds are known", n)
	}
}

// A player who enters another world over the same connection, whose ticks are lower, goes on sending what tells its margin.
func TestProbesInAnotherWorld(t *testing.T) {
	e := newEvil(t)
	e.world(1, 20, 1_000_000, "")
	count := func(seed uint64, tick uint32) int {
		e.world(seed, 20, tick, "")
		e.read(e.record([]byte{message.RelayEntities}, 1, 1, 100, 100, 1, 2, 0))
		e.you(1)
		before := e.c.stats.Inputs
		for i := range uint32(60) {
			e.now = e.now.Add(50 * time.Millisecond)
			e.fate(tick+1+i, 0, 1, e.record(nil, 1, 1, 100, 100, 1, 2, 0))
			e.c.HandleTimeout(e.now)
		}
		return int(e.c.stats.Inputs - before)
	}
	first, second := count(1, 1_000_000), count(2, 50)
	if first < 20 || second < 20 {
		t.Errorf("%d inputs in three seconds of the first world, %d of the second", first, second)
	}
}

// Whatever a server tells, in any order, a client bears with it, and nothing is drawn at no place.
func TestAHostileServer(t *testing.T) {
	for _, seed := range chance.Seeds(promise.Tier(2, 10, 200)) {
		r := rand.New(rand.NewPCG(seed, 1))
		e := newEvil(t)
		e.world(1, 20, 100, "")
		for range 600 {
			e.anything(t, seed, r)
		}
	}
}

// oddFloats are what positions, angles and norms are.
var oddFloats = []float64{0, 1, -1, 1e308, -1e308, math.NaN(), math.Inf(1), 300, 8388607, -8388608, 1e-300, 12.5}

// anything tells something, or has the player do something.
func (e *evil) anything(t *testing.T, seed uint64, r *rand.Rand) {
	f := func() float64 { return oddFloats[r.IntN(len(oddFloats))] }
	e.now = e.now.Add(time.Duration(r.IntN(60)) * time.Millisecond)
	switch r.IntN(14) {
	case 0:
		if r.IntN(10) == 0 {
			e.world(uint64(r.IntN(3)), []uint16{0, 1, 20, 1000, 65535}[r.IntN(5)], r.Uint32(), string(make([]byte, r.IntN(2)*255)))
		}
	case 1:
		e.you(uint16(r.IntN(40)))
	case 2, 3, 4, 5:
		var b []byte
		for range r.IntN(20) {
			b = e.record(b, uint16(r.IntN(40)), 1+r.IntN(2), f(), f(), float32(f()), float32(f()), uint16(r.IntN(4)))
			if r.IntN(10) == 0 {
				b = append(b, 0, byte(r.IntN(40)), 1, 0)
			}
		}
		switch e.tick++; r.IntN(12) {
		case 0:
			e.tick += r.Uint32()
		case 1:
			e.tick -= 5
		}
		e.fate(e.tick, uint32(r.IntN(100)), int8(r.IntN(256)), b)
	case 6:
		e.c.Steer(e.now, float32(r.IntN(7)), 2)
	case 7:
		a := e.c.schema.Actions[0]
		e.c.Act(e.now, a, []world.Value{world.FloatValue(world.F32, 1), world.UintValue(world.Entity, 0)})
	case 8:
		e.read(message.Member{What: message.MemberNews(1 + r.IntN(5)), Entity: uint16(r.IntN(1 << 16)), Name: string(rune('a' + r.IntN(5)))}.AppendTo([]byte{message.RelayMembers}, message.Big))
	case 9:
		b := make([]byte, 1+r.IntN(40))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		b[0] = byte(r.IntN(12))
		e.read(b)
	case 10:
		e.c.HandleTimeout(e.now)
	case 11:
		if r.IntN(20) == 0 {
			e.c.Lost(e.now)
			e.now = e.now.Add(time.Duration(r.IntN(5000)) * time.Millisecond)
			e.c.Connected(e.now)
			e.r = NewRelay(e.c, e.r.send)
		}
	default:
		fr := e.c.Frame(e.now)
		for id := range fr.World().Entities() {
			if b := fr.World().Body(id); b != nil && (b.X-b.X != 0 || b.Y-b.Y != 0 || b.Angle-b.Angle != 0) {
				t.Fatalf("seed %d: %v is at %v,%v angle %v", seed, id, b.X, b.Y, b.Angle)
			}
		}
	}
}
