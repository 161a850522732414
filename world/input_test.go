package world

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestInputsAreRefusedBeforeTheTick(t *testing.T) {
	s := newSim(t, Config{MaxRollbackTicks: 5})
	p := join(t, s, "a")
	advance(s, 10)
	sow := s.Schema().ActionNamed("sow")
	good := []Value{FloatValue(F32, 1), UintValue(Entity, 0)}
	now := s.Tick()
	nan := float32(math.NaN())
	for _, tt := range []struct {
		name string
		got  Reason
		want Reason
	}{
		{"now", s.Steer(p, now, steer(1, 1), 0), Accepted},
		{"2 ticks ahead", s.Steer(p, now+2, steer(1, 1), 0), Accepted},
		{"3 ticks ahead", s.Steer(p, now+3, steer(1, 1), 0), TooEarly},
		{"never", s.Steer(p, math.MaxUint64-3, steer(1, 1), 0), TooEarly},
		{"as late as may be", s.Steer(p, now-5, steer(1, 1), 0), Accepted},
		{"later than that", s.Steer(p, now-6, steer(1, 1), 0), TooOld},
		{"at the beginning of time", s.Steer(p, 0, steer(1, 1), 0), TooOld},
		{"of nobody", s.Steer(p+1, now, steer(1, 1), 0), Absent},
		{"of player 0", s.Steer(0, now, steer(1, 1), 0), Absent},
		{"an angle that is no number", s.Steer(p, now, steer(nan, 1), 0), Malformed},
		{"a norm that is no number", s.Steer(p, now, steer(1, nan), 0), Malformed},
		{"a place that is no place", s.Steer(p, now, Steering{HasPlace: true, X: math.Inf(1)}, 0), Malformed},
		{"an action", s.Act(p, now, sow, good, 0), Accepted},
		{"no action", s.Act(p, now, nil, nil, 0), Malformed},
		{"too few parameters", s.Act(p, now, sow, good[:1], 0), Malformed},
		{"parameters of another type", s.Act(p, now, sow, []Value{FloatValue(F64, 1), good[1]}, 0), Malformed},
		{"parameters that are no numbers", s.Act(p, now, sow, []Value{FloatValue(F32, math.NaN()), good[1]}, 0), Malformed},
		{"a text that is too long", s.Act(p, now, s.Schema().ActionNamed("say"), []Value{TextValue(strings.Repeat("x", 33))}, 0), Malformed},
	} {
		wantReason(t, tt.name, tt.got, tt.want)
	}
	for range maxPlayerInputs - 2 {
		wantReason(t, "one more", s.Steer(p, now, steer(1, 1), 0), Accepted)
	}
	wantReason(t, "one too many", s.Steer(p, now, steer(1, 1), 0), TooMany)
	s.Leave(p)
	wantReason(t, "after leaving", s.Steer(p, now, steer(1, 1), 0), Absent)
	s.Advance()
	if s.World().players.list != nil && len(s.World().players.list) != 0 {
		t.Error("one who asked for too much cannot leave")
	}
}

func TestATickHasABoundOfInputs(t *testing.T) {
	m := moment{}
	in := Input{Kind: Steer}
	for p := 1; len(m.inputs) < maxTickInputs; p++ {
		in.Player = PlayerID(p)
		for range maxPlayerInputs {
			if !m.add(&in) {
				t.Fatal(len(m.inputs))
			}
		}
	}
	in.Player = 60000
	if m.add(&in) {
		t.Error("one too many")
	}
	for _, kind := range []InputKind{Join, Leave} {
		in.Kind = kind
		if !m.add(&in) {
			t.Errorf("%v is one too many", kind)
		}
	}
}

// "inputs of a tick are applied in order of player, then that player's order of
// arrival" (realm).
func TestInputsComeInOrder(t *testing.T) {
	g := testGame()
	var got []string
	g.Step = func(w *World, in []Input) {
		for _, i := range in {
			got = append(got, fmt.Sprintf("%v %d/%v", i.Kind, i.Player, i.Steer.Norm))
		}
	}
	s := newSimOf(t, g, Config{})
	a, b := join(t, s, "a"), join(t, s, "b")
	s.Advance()
	for i, p := range []PlayerID{b, a, b, a, a} {
		s.Steer(p, s.Tick(), steer(0, float32(i)), 0)
	}
	s.Leave(a)
	c := join(t, s, "c")
	s.Steer(c, s.Tick(), steer(0, 9), 0)
	s.Advance()
	want := "join 1/0 join 2/0 steer 1/1 steer 1/3 steer 1/4 leave 1/0 steer 2/0 steer 2/2 join 3/0 steer 3/9"
	if all := strings.Join(got, " "); all != want {
		t.Errorf("got  %s\nwant %s", all, want)
	}
}

// steerOnce steers and returns what the step made of it.
func steerOnce(s *Sim, p PlayerID, st Steering) Reason {
	if why := s.Steer(p, s.Tick(), st, 77); why != Accepted {
		return why
	}
	s.Advance()
	for _, e := range s.Events() {
		if e.Tag == 77 {
			return e.Reason
		}
	}
	return 0
}

func TestSteeringIsJudged(t *testing.T) {
	s := newSim(t, Config{Seed: 4})
	p, q := join(t, s, "a"), join(t, s, "b")
	s.Advance()
	id, a := avatar(t, s, p)
	other, _ := avatar(t, s, q)
	s.Act(p, s.Tick(), s.Schema().ActionNamed("sow"), []Value{FloatValue(F32, 0), UintValue(Entity, TempEntity+5)}, 0)
	s.Advance()
	named := events(s, EntityNamed)
	if len(named) != 1 || named[0].Temp != TempEntity+5 || named[0].Wire == 0 || s.ByWire(named[0].Wire) != named[0].Entity {
		t.Fatalf("%+v", named)
	}
	sown := named[0].Entity
	far := func(dx, dy float64) Steering { return Steering{HasPlace: true, X: a.X + dx, Y: a.Y + dy} }
	with := func(st Steering, id ID) Steering { st.Entity = id; return st }
	for _, tt := range []struct {
		name string
		p    PlayerID
		st   Steering
		want Reason
	}{
		{"its own", p, steer(1, 0.5), Accepted},
		{"its own by name", p, with(steer(1, 0.5), id), Accepted},
		{"as fast as may be", p, steer(1, 1.5), Accepted},
		{"faster", p, steer(1, 1.51), TooFast},
		{"backwards", p, steer(1, -0.1), TooFast},
		{"another's", p, with(steer(1, 0.5), other), NotYours},
		{"its own by another", q, with(steer(1, 0.5), id), NotYours},
		{"what the game lets it", p, with(steer(1, 0.5), sown), Accepted},
		{"what the game lets only it", q, with(steer(1, 0.5), sown), NotYours},
		{"nothing", p, with(steer(1, 0.5), 1<<60), NoEntity},
		{"too far away", p, far(30, 0), Unreachable},
		{"out of the world", p, Steering{HasPlace: true, X: 1e300}, Unreachable},
		{"standing still", p, steer(1, 0), Accepted},
		{"a step", p, far(0.5, 0), Accepted},
	} {
		if tt.want == Accepted {
			wantReason(t, tt.name, steerOnce(s, tt.p, tt.st), tt.want)
			continue
		}
		before := *a
		wantReason(t, tt.name, steerOnce(s, tt.p, tt.st), tt.want)
		if a.Norm != before.Norm || a.Angle != before.Angle {
			t.Errorf("%s: it has changed from %+v to %+v", tt.name, before.Body, a.Body)
		}
	}
	for id := range All[mark](s.World()) {
		wantReason(t, "what has no body", steerOnce(s, p, with(steer(1, 0.5), id)), NoEntity)
	}
}

// "a position is taken if the entity could have got there since its last
// accepted one (2 cells of grace) and it is passable" (realm).
func TestAPlaceMustBeReachableAndFree(t *testing.T) {
	w := roomWorld(t, Hitbox{}, Circle(1))
	w.players.add(Player{ID: 1})
	id := Spawn(w, walker{Body: Body{X: 15, Y: 15, Sprite: 1}})
	w.Own(1, id)
	try := func(name string, ticks uint64, x, y float64, want Reason) {
		t.Helper()
		w.begin(w.tick + ticks)
		in := Input{Kind: Steer, Player: 1, Steer: Steering{Entity: id, HasPlace: true, X: x, Y: y}}
		wantReason(t, name, w.Steer(&in), want)
		b := w.Body(id)
		if here := b.X == x && b.Y == y; here != (want == Accepted) {
			t.Errorf("%s: it is at (%v, %v)", name, b.X, b.Y)
		}
	}
	try("within the grace", 0, 16.9, 15, Accepted)
	try("the grace is used up", 0, 18.8, 15, Unreachable)
	try("a tick later it has walked 1.5", 1, 18.3, 15, Accepted)
	try("and no more", 0, 18.6, 15, Unreachable)
	try("standing pays it back", 2, 18.3, 15, Accepted)
	try("so there is grace again", 0, 20.2, 15, Accepted)
	try("long after", 10, 3, 15, Unreachable)
	try("long after, as far as it can have walked", 0, 6.5, 15, Accepted)
	try("into a wall", 20, 0.5, 15, Blocked)
	try("through a wall", 0, -5, 15, Blocked)
	w.Place(id, 15, 15)
	try("after it was put elsewhere", 0, 12, 15, Unreachable)
}

func TestWhatIsNotAnsweredIsRefused(t *testing.T) {
	g := testGame()
	deny := false
	g.Step = func(w *World, in []Input) {
		for i := range in {
			switch {
			case in[i].Kind == Join:
				testInput(w, &in[i])
			case deny:
				w.Deny(&in[i])
			}
		}
	}
	s := newSimOf(t, g, Config{})
	p := join(t, s, "a")
	s.Advance()
	wantReason(t, "no answer", steerOnce(s, p, steer(1, 1)), Ignored)
	deny = true
	wantReason(t, "a no", steerOnce(s, p, steer(1, 1)), Denied)
	if s.Stats().Refused[Denied] != 1 || s.Stats().Refused[Ignored] != 1 {
		t.Errorf("%v", s.Stats().Refused)
	}
}

func TestReadAndDoneAreOfOneAction(t *testing.T) {
	s := newSim(t, Config{})
	in := Input{Kind: Act, Action: s.Schema().ActionNamed("dig")}
	if _, ok := Read[sow](&in); ok {
		t.Error("a dig is read as a sow")
	}
	if _, ok := Read[sow](&Input{}); ok {
		t.Error("nothing is read as a sow")
	}
	Done(s.World(), &in, dig{Value: 3, Deep: true})
	if v, ok := Read[dig](&in); !ok || v != (dig{3, true}) {
		t.Errorf("%+v", v)
	}
	in.Action = s.Schema().ActionNamed("sow")
	Done(s.World(), &in, sow{Angle: float32(math.NaN())})
	if v, _ := Read[sow](&in); v.Angle != 0 || s.Stats().NotFinite != 1 {
		t.Errorf("%+v", v)
	}
	in.Action = s.Schema().ActionNamed("say")
	Done(s.World(), &in, say{Text: strings.Repeat("é", 100)})
	if v, _ := Read[say](&in); len(v.Text) != defaultTextBytes {
		t.Errorf("%d bytes", len(v.Text))
	}
	defer func() {
		if recover() == nil {
			t.Error("a say was done as a sow")
		}
	}()
	Done(s.World(), &in, sow{})
}

func TestPlayersHaveABound(t *testing.T) {
	notRaced(t)
	s := newSim(t, Config{})
	var first PlayerID
	for i := range MaxPlayers {
		p, err := s.Join("x")
		if err != nil {
			t.Fatal(i, err)
		}
		if i == 0 {
			first = p
		}
	}
	if _, err := s.Join("x"); err != ErrFull {
		t.Fatal(err)
	}
	s.Leave(first)
	// Numbers come around, and never to one who is there.
	for range 1 << 16 {
		p, err := s.Join("x")
		if err != nil {
			t.Fatal(err)
		}
		if p == 0 || p > first && p <= first+MaxPlayers-1 {
			t.Fatalf("%d is taken", p)
		}
		s.Leave(p)
		if s.stats.InputsPending > 100_000 {
			s.history.open(s.now) // the tick need not run for this
			s.stats.InputsPending = 0
		}
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[fmt.Stringer]string{
		InputKind(0): "unset", Act: "act", InputKind(9): "unset", Reason(0): "unset", Malformed: "malformed", Reason(99): "unset",
		EventKind(0): "unset", ActionDone: "action done", EventKind(99): "unset", What(0): "unset", Left: "left", What(9): "unset",
	} {
		if got.String() != want {
			t.Errorf("%T %v, want %s", got, got, want)
		}
	}
	if Accepted.Refused() || !TooOld.Refused() || Reason(0).Refused() {
		t.Error("Refused")
	}
}

// However many there are, and however they come: "in order of player, then that player's order of
// arrival". Some come after the tick was run once.
func TestManyInputsAreInOrder(t *testing.T) {
	r := newRand(t)
	for range 50 {
		var m moment
		var spare []uint64
		for range 3 {
			for range r.IntN(800) {
				m.add(&Input{Kind: Steer, Player: PlayerID(1 + r.IntN(1<<(1+r.IntN(16))-1))})
			}
			want := slices.Sorted(slices.Values(m.order))
			m.sort(&spare)
			for i, key := range want {
				if m.order[i] != key {
					t.Fatalf("%d of %d is %x, want %x", i, len(want), m.order[i], key)
				}
			}
		}
	}
}

// An action has its own parameters, and none of the one before it, nor those that Step made of
// them when the tick was run for the first time.
func TestActionsKeepTheirParams(t *testing.T) {
	g := testGame()
	var seen []float32
	g.Step = func(w *World, in []Input) {
		for i := range in {
			if v, ok := Read[sow](&in[i]); ok {
				seen = append(seen, v.Angle)
				v.Angle += 10
				Done(w, &in[i], v)
			} else if v, ok := Read[say](&in[i]); ok {
				Done(w, &in[i], v)
			}
		}
	}
	s := newSimOf(t, g, Config{})
	p := join(t, s, "a")
	advance(s, 3)
	at := s.Tick()
	for i := range 20 {
		wantReason(t, "sow", s.Act(p, at, s.Schema().ActionNamed("sow"), sowing(float64(i), 0), 0), Accepted)
	}
	s.Act(p, at, s.Schema().ActionNamed("say"), []Value{TextValue("ho")}, 0)
	s.Advance()
	done := events(s, ActionDone)
	if len(done) != 21 {
		t.Fatalf("%d actions were done", len(done))
	}
	for i, e := range done[:20] {
		if got := e.Params[0].Float(); got != float64(i+10) {
			t.Errorf("action %d was done with %v", i, got)
		}
	}
	if got := done[20].Params; got != [MaxParams]Value{TextValue("ho")} {
		t.Errorf("said %v", got)
	}
	seen = seen[:0]
	s.Steer(p, at, steer(1, 0), 0) // runs that tick again
	s.Advance()
	if len(seen) != 20 {
		t.Fatalf("%d actions came again", len(seen))
	}
	for i, angle := range seen {
		if angle != float32(i) {
			t.Errorf("action %d came again with %v", i, angle)
		}
	}
}
