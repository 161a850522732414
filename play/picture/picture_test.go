package picture

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"parley/arena"
	"parley/internal/kit/chance"
	"parley/play/message"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
	"parley/world"
)

// A stage is a server's world and a client of it over relay, whose packages take no time.
type stage struct {
	*Core
	sim   *world.Sim
	view  *world.View
	me    world.PlayerID
	relay *Relay
	now   time.Time
	fate  message.Fate
	sent  int
	held  []heldAct
	late  int  // by how many ticks inputs are done too late
	deny  bool // acts are not done
	full  bool // nothing can be sent
}

type heldAct struct {
	tick   uint64
	steer  *world.Steering
	action *world.Action
	params [world.MaxParams]world.Value
	number uint32
}

const stageTick = time.Second / 20

func newStage(t testing.TB, c Config, others int) *stage {
	t.Helper()
	sim, err := world.New(arena.Game(), world.Config{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	core, err := New(arena.Game(), c)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{Core: core, sim: sim, now: time.Unix(1000, 0)}
	if s.me, err = sim.Join("me"); err != nil {
		t.Fatal(err)
	}
	for i := range others {
		if _, err := sim.Join(fmt.Sprint("other ", i)); err != nil {
			t.Fatal(err)
		}
	}
	sim.Advance()
	s.view = sim.NewView(s.me, world.ViewConfig{Radius: -1, BytesPerTick: -1})
	s.Connected(s.now)
	s.relay = NewRelay(core, s.send)
	w := message.World{Seed: 7, TickRate: 20, Tick: uint32(sim.Tick()), Fingerprint: sim.Schema().Fingerprint()}
	s.tell(message.RelayWorld, w.AppendTo(nil, message.Big))
	wire := s.own()
	s.tell(message.RelayYou, message.AppendRelayYou(nil, wire))
	for range 40 {
		s.tick()
	}
	if f := s.Frame(s.now); f.Own() == 0 || f.OwnTick == 0 != c.NoPrediction {
		t.Fatalf("the own entity is %v at tick %v", f.Own(), f.OwnTick)
	}
	return s
}

func (s *stage) own() uint16 {
	id, _ := world.Avatar[arena.Player](s.sim.World(), s.me)
	return s.sim.Wire(id)
}

// send is the server's side: it holds inputs for their ticks.
func (s *stage) send(_ relay.Mode, _ relaycore.Target, b []byte) error {
	if s.full {
		return relay.ErrBacklogFull
	}
	s.sent++
	h := heldAct{}
	switch b[0] {
	case message.RelaySteer:
		st, stamp, _, _ := message.ParseStampedSteer(b[1:], message.Big)
		h.steer, h.number, h.tick = &st, stamp.Number, uint64(stamp.Tick)
	case message.RelayAct:
		a, params, stamp, _, _ := message.ParseStampedAct(s.sim.Schema(), b[1:], message.Big)
		h.action, h.params, h.number, h.tick = a, params, stamp.Number, uint64(stamp.Tick)
	}
	for _, other := range s.held {
		if other.number == h.number {
			return nil
		}
	}
	if h.number > s.fate.Number {
		h.tick = max(h.tick+uint64(s.late), s.sim.Tick())
		s.fate.Margin = int8(min(int64(h.tick)-int64(s.sim.Tick()), 100))
		s.held = append(s.held, h)
	}
	return nil
}

func (s *stage) tell(what byte, b []byte) {
	s.relay.Read(s.now, relay.Event{Kind: relay.EventPackage, Package: relaycore.Package{Server: true, Payload: append([]byte{what}, b...)}})
}

// tick runs a tick of the server, and tells of it.
func (s *stage) tick() {
	keep := s.held[:0]
	for _, h := range s.held {
		if h.tick > s.sim.Tick() {
			keep = append(keep, h)
			continue
		}
		s.fate.Number = max(s.fate.Number, h.number)
		if h.steer != nil {
			s.sim.Steer(s.me, s.sim.Tick(), world.Steering{Entity: s.id(), Angle: h.steer.Angle, Norm: h.steer.Norm, HasAngle: true, HasNorm: true}, 0)
		} else if !s.deny {
			s.sim.Act(s.me, s.sim.Tick(), h.action, h.params[:len(h.action.Fields)], 0)
		}
	}
	s.held = keep
	s.sim.Advance()
	s.fate.Tick = uint32(s.sim.Tick() - 1)
	b := s.fate.AppendTo(nil, message.Big)
	s.view.Update()
	packet := s.view.Open()
	for c := s.view.Next(); c != nil; c = s.view.Next() {
		was := len(b)
		b, _ = message.AppendRecord(b, c, message.Big, 1<<20)
		s.view.Take(len(b) - was)
	}
	s.view.Acked(packet)
	s.tell(message.RelayTick, b)
	for range 3 {
		s.now = s.now.Add(stageTick / 3)
		s.HandleTimeout(s.now)
	}
}

func (s *stage) id() world.ID {
	id, _ := world.Avatar[arena.Player](s.sim.World(), s.me)
	return id
}

// balls returns those of the frame.
func (s *stage) balls() (ids []world.ID) {
	for id := range world.All[arena.Ball](s.Frame(s.now).World()) {
		ids = append(ids, id)
	}
	return ids
}

func (s *stage) throw(t *testing.T, angle float64) {
	t.Helper()
	a := s.Schema().ActionNamed("throw")
	if err := s.Act(s.now, a, []world.Value{world.FloatValue(world.F32, angle), world.UintValue(world.Entity, 0)}); err != nil {
		t.Fatal(err)
	}
}

// freely returns an angle in which nothing is near.
func (s *stage) freely() float64 {
	w, id := s.sim.World(), s.id()
	b := *w.Body(id)
	for angle := 0.; angle < 6.2; angle += .1 {
		free := true
		for far := 0.; far < 100; far += 5 {
			free = free && w.Free(b.X+far*math.Cos(angle), b.Y+far*math.Sin(angle), world.Circle(10))
		}
		if free {
			return angle
		}
	}
	return 0
}

// What an action creates is there at once, and becomes the server's entity: in each frame there is one ball, with one ID, that goes on
// evenly.
func TestAThrownBallIsOneBall(t *testing.T) {
	for late := range 3 {
		s := newStage(t, Config{}, 0)
		s.late = late
		angle := s.freely()
		s.throw(t, angle)
		first := s.balls()
		if len(first) != 1 {
			t.Fatalf("late by %d: %d balls in the frame after the throw", late, len(first))
		}
		was := *s.Frame(s.now).World().Body(first[0])
		for i := range 20 {
			s.tick()
			list := s.balls()
			if len(list) != 1 || list[0] != first[0] {
				t.Fatalf("late by %d: after %d ticks the balls are %v, and %v was thrown", late, i, list, first)
			}
			b := *s.Frame(s.now).World().Body(list[0])
			if step := (b.X-was.X)*math.Cos(angle) + (b.Y-was.Y)*math.Sin(angle); step < -.5 || step > 24 {
				t.Errorf("late by %d: after %d ticks the ball has gone %.2f cells in one", late, i, step)
			}
			was = b
		}
		if n := s.Stats(); n.Adopted != 1 || n.Undone != 0 {
			t.Errorf("late by %d: %d adopted, %d undone", late, n.Adopted, n.Undone)
		}
	}
}

// What own actions have created and the server has told of does not keep the next from being there at once, until there is very much of it. Then
// what is created comes with the server's, and is not in the way meanwhile.
func TestManyOwnThings(t *testing.T) {
	for n, want := range map[int]int{maxBorn: 1, maxOwned: 0} {
		s := newStage(t, Config{}, 0)
		for i := range n {
			s.mine.born = append(s.mine.born, born{id: world.ID(1<<40 + i), wire: uint16(3000 + i), named: true})
		}
		s.throw(t, s.freely())
		if list := s.balls(); len(list) != want {
			t.Errorf("with %d the balls are %v", n, list)
		}
		if want == 0 {
			for id := range world.All[arena.Ball](s.guess.World()) {
				t.Errorf("with %d the ball %v is in the way", n, id)
			}
		}
		for range 10 {
			s.tick()
		}
		if list := s.balls(); len(list) != 1 {
			t.Errorf("with %d the balls are %v in the end", n, list)
		}
	}
}

// An action whose error says that it could not be sent is not done later: neither here nor on the server.
func TestAnActionThatIsNotSentIsNotDone(t *testing.T) {
	s := newStage(t, Config{}, 0)
	angle := s.freely()
	throw := []world.Value{world.FloatValue(world.F32, angle), world.UintValue(world.Entity, 0)}
	s.full = true
	if err := s.Act(s.now, s.Schema().ActionNamed("throw"), throw); !errors.Is(err, relay.ErrBacklogFull) {
		t.Fatal(err)
	}
	if list := s.balls(); len(list) != 0 {
		t.Errorf("the balls are %v", list)
	}
	s.full = false
	for range 20 {
		s.tick()
		for id := range world.All[arena.Ball](s.sim.World()) {
			t.Fatalf("the server has the ball %v", id)
		}
		if list := s.balls(); len(list) != 0 {
			t.Fatalf("the balls are %v", list)
		}
	}
	s.throw(t, angle)
	for range 10 {
		s.tick()
		if list := s.balls(); len(list) != 1 {
			t.Fatalf("the balls are %v", list)
		}
	}
}

// What an action has created goes when the action is refused.
func TestARefusedBallGoes(t *testing.T) {
	s := newStage(t, Config{}, 0)
	s.deny = true
	s.throw(t, s.freely())
	if n := len(s.balls()); n != 1 {
		t.Fatalf("%d balls in the frame after the throw", n)
	}
	for range 20 {
		s.tick()
	}
	if n := len(s.balls()); n != 0 || s.Stats().Undone != 1 {
		t.Errorf("%d balls a second after a throw that was refused; %+v", n, s.Stats())
	}
}

// Who is out of the game sees how it ended: the last frame has what was told last, and not what was some ticks before.
func TestTheLastFrameShowsTheEnd(t *testing.T) {
	s := newStage(t, Config{}, 1)
	id, _ := world.Avatar[arena.Player](s.sim.World(), s.me+1)
	far := func() float64 {
		truth, drawn := s.sim.World().Body(id), s.Frame(s.now).World().Body(s.shown.ID(s.sim.Wire(id)))
		return math.Hypot(truth.X-drawn.X, truth.Y-drawn.Y)
	}
	for range 10 {
		s.sim.Steer(s.me+1, s.sim.Tick(), world.Steering{Entity: id, Norm: 1, HasAngle: true, HasNorm: true}, 0)
		s.tick()
	}
	if far() < .2 {
		t.Fatalf("another is drawn %.3f cells from where it is", far())
	}
	s.Over(s.now)
	if far() > .05 {
		t.Errorf("at the end another is drawn %.3f cells from where it is", far())
	}
}

// A game that fails on what a client knows is drawn without prediction, and that is told once.
func TestAPanicOfStepTurnsPredictionOff(t *testing.T) {
	s := newStage(t, Config{}, 1)
	s.game.Step = nil
	s.guess, _ = world.NewGuess(world.Game{Name: "fails", Kinds: world.Kinds(arena.Player{}, arena.Ball{}), Actions: world.Actions(arena.Throw{}), Step: func(*world.World, []world.Input) { panic("no") }}, world.Config{})
	s.guess.Own(s.Core.own)
	for range 20 {
		s.tick()
	}
	told := 0
	for ev, ok := s.PollEvent(); ok; ev, ok = s.PollEvent() {
		if ev.Kind == Unpredicted {
			told++
		}
	}
	f := s.Frame(s.now)
	if told != 1 || f.Own() == 0 || f.OwnTick != 0 {
		t.Errorf("told %d times; the own entity is %v at tick %v", told, f.Own(), f.OwnTick)
	}
}

// crowd tells of n walkers.
func (s *stage) crowd(n int, r *rand.Rand) {
	k := s.Schema().Kinds[0]
	values := make([]world.Value, len(k.Fields))
	for i := range k.Fields {
		values[i] = world.UintValue(k.Fields[i].Type, 1)
	}
	for i := range n {
		values[world.FieldX], values[world.FieldY] = world.FloatValue(world.F64, r.Float64()*100), world.FloatValue(world.F64, r.Float64()*100)
		values[world.FieldAngle], values[world.FieldNorm] = world.FloatValue(world.F32, 1), world.FloatValue(world.F32, 1)
		s.put(s.newest+1, uint16(2000+i), k, values, 0)
	}
}

// A frame allocates nothing in steady state.
func TestAFrameAllocatesNothing(t *testing.T) {
	if chance.Race {
		t.Skip("the race detector allocates")
	}
	s := newStage(t, Config{}, 8)
	r := chance.Rand(t, 1)
	for range 20 {
		s.crowd(200, r)
		s.tick()
	}
	if n := testing.AllocsPerRun(200, func() { s.now = s.now.Add(time.Millisecond / 10); s.Frame(s.now) }); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

// BenchmarkFrame draws 200 entities that move.
func BenchmarkFrame(b *testing.B) {
	s := newStage(b, Config{}, 0)
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		s.crowd(200, r)
		s.tick()
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if n++; n%50 == 0 {
			b.StopTimer()
			s.crowd(200, r)
			s.tick()
			b.StartTimer()
		}
		s.now = s.now.Add(100 * time.Microsecond)
		s.Frame(s.now)
	}
	count := 0
	for range s.frame.world.Entities() {
		count++
	}
	b.ReportMetric(float64(count), "entities")
}
