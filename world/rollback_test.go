package world

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"parley/internal/promise"
)

// A script is a random history: what players do at which tick.
type script struct {
	game    Game
	seed    uint64
	window  int
	ticks   int
	actions []scripted
}

type scripted struct {
	tick   uint64 // when it is meant for
	late   uint64 // how many ticks later it arrives in the late run
	kind   int
	player int // of those that joined
	angle  float32
	norm   float32
	value  uint8
	dx, dy float64
	back   uint64 // how many ticks before it the others are that it shows; 0 in a game that does not ask
}

func newScript(r *rand.Rand) script {
	sc := script{game: testGame(), seed: r.Uint64(), window: 1 + r.IntN(10), ticks: 14 + r.IntN(8)}
	if r.IntN(20) == 0 {
		sc.window, sc.ticks = 20, 50
	}
	aims := r.IntN(2) == 0
	if aims {
		sc.game = aimGame()
	}
	for range 6 + r.IntN(14) {
		a := scripted{
			tick: uint64(2 + r.IntN(sc.ticks-3)), kind: r.IntN(8), player: r.IntN(3),
			angle: float32(r.Float64()*8 - 4), norm: float32(r.Float64() * 1.6), value: uint8(r.IntN(5)),
			dx: r.Float64()*4 - 2, dy: r.Float64()*4 - 2,
		}
		if aims {
			a.back = r.Uint64N(7)
		}
		if r.IntN(2) == 0 {
			a.late = uint64(r.IntN(sc.window + 1))
		}
		sc.actions = append(sc.actions, a)
	}
	return sc
}

// run plays the script; late makes inputs come when they are late. Those that
// would arrive after the end come at the end.
func (sc script) run(t testing.TB, late bool) *Sim {
	s := newSimOf(t, sc.game, Config{Seed: sc.seed, MaxRollbackTicks: sc.window, ReplayBudget: sc.window})
	var players []PlayerID
	for i := range 3 {
		players = append(players, join(t, s, fmt.Sprint("player", i)))
	}
	for now := range uint64(sc.ticks) {
		// The same tick's inputs of a player must come in the same order, as order
		// of arrival is a part of the history.
		for _, a := range sc.actions {
			at := a.tick
			if late {
				at = min(a.tick+sc.lateness(a), uint64(sc.ticks)-1)
			}
			if at == now {
				if why := a.submit(s, players); why != Accepted {
					t.Fatalf("tick %d: input for %d: %v", now, a.tick, why)
				}
			}
		}
		s.Advance()
	}
	return s
}

// lateness is the same for all inputs of a player and a tick, so that they keep
// their order.
func (sc script) lateness(a scripted) uint64 {
	for _, b := range sc.actions {
		if b.tick == a.tick && b.player == a.player {
			return b.late
		}
	}
	return 0
}

func (a scripted) submit(s *Sim, players []PlayerID) Reason {
	p, shown := players[a.player], uint64(0)
	if a.back != 0 {
		shown = shownAt(a.tick, a.back)
	}
	switch a.kind {
	case 0, 1, 2:
		return s.SteerShown(p, a.tick, shown, steer(a.angle, a.norm), 0)
	case 3:
		st := steer(a.angle, a.norm)
		st.HasPlace, st.X, st.Y = true, 15+a.dx, 15+a.dy
		return s.SteerShown(p, a.tick, shown, st, 0)
	case 4, 5:
		return s.ActShown(p, a.tick, shown, s.Schema().ActionNamed("sow"), []Value{FloatValue(F32, float64(a.angle)), UintValue(Entity, TempEntity)}, 0)
	case 6:
		return s.ActShown(p, a.tick, shown, s.Schema().ActionNamed("dig"), []Value{UintValue(U8, uint64(a.value)), UintValue(Bool, uint64(a.value)&1)}, 0)
	}
	return s.ActShown(p, a.tick, shown, s.Schema().ActionNamed("say"), []Value{TextValue(fmt.Sprint("n", a.value))}, 0)
}

// T50: "10^4 random histories: late action inside the window = in-order result".
func TestALateInputGivesTheStateOfOneInTime(t *testing.T) {
	r := newRand(t)
	rewinds, dones := uint64(0), 0
	for i := range promise.Keeps(t, "T50", "world", rounds(10_000, 100_000)) {
		sc := newScript(r)
		inTime, late := sc.run(t, false), sc.run(t, true)
		if inTime.World().Hash() != late.World().Hash() {
			t.Fatalf("history %d: the states differ: %v", i, firstDifference(inTime, late))
		}
		rewinds += late.Stats().Rewinds
		dones += len(late.Events())
		if inTime.Stats().Rewinds != 0 {
			t.Fatal("the run in time went back")
		}
	}
	if rewinds == 0 {
		t.Error("nothing was late")
	}
	t.Logf("%d rewinds", rewinds)
}

// firstDifference says where two worlds differ.
func firstDifference(a, b *Sim) string {
	if x, y := a.World().sums(), b.World().sums(); x.entities == y.entities {
		return fmt.Sprintf("%+v, %+v", x, y)
	}
	for k, t := range a.world.tables {
		u := b.world.tables[k]
		for row := range max(t.high, u.high) {
			if t.ids[row] != u.ids[row] {
				return fmt.Sprintf("%s row %d: %v, %v", t.kind.Name, row, t.ids[row], u.ids[row])
			}
			for f := range len(t.kind.Fields) + len(t.kind.hidden) {
				if x, y := t.kind.field(f).value(t.at(row)), u.kind.field(f).value(u.at(row)); t.isUsed(row) && x != y {
					return fmt.Sprintf("%s %v: %s: %v, %v", t.kind.Name, t.ids[row], t.kind.field(f).Name, x, y)
				}
			}
		}
	}
	return "owners"
}

func sowing(angle float64, temp uint64) []Value {
	return []Value{FloatValue(F32, angle), UintValue(Entity, temp)}
}

// "an id once announced stays with the (player, action) that created it in every
// replay" (realm).
func TestAnAnnouncedNumberStays(t *testing.T) {
	s := newSim(t, Config{Seed: 3})
	a, b := join(t, s, "a"), join(t, s, "b")
	advance(s, 5)
	sow := s.Schema().ActionNamed("sow")
	when := s.Tick()
	s.Act(b, when, sow, sowing(1, TempEntity), 0)
	advance(s, 3)
	// The first sowing was told: its number is known.
	var first ID
	for id, x := range All[sprout](s.World()) {
		if w := s.World().Owner(id); w == b {
			first = id
			_ = x
		}
	}
	number := s.Wire(first)
	if number == 0 {
		t.Fatal("it was not told")
	}
	// Now a sowing of a comes late, for a tick before it, and one for the same.
	wantReason(t, "late", s.Act(a, when-2, sow, sowing(2, TempEntity+1), 0), Accepted)
	wantReason(t, "as late", s.Act(a, when, sow, sowing(3, TempEntity+2), 0), Accepted)
	rewinds := s.Stats().Rewinds
	s.Advance()
	if got := s.Stats().Rewinds - rewinds; got != 1 {
		t.Errorf("%d rewinds for two late inputs of one tick", got)
	}
	if got := s.Wire(first); got != number || s.ByWire(number) != first {
		t.Errorf("its number is now %d, was %d", got, number)
	}
	named := events(s, EntityNamed)
	if len(named) != 2 || named[0].Temp != TempEntity+1 || named[1].Temp != TempEntity+2 || named[0].Wire == number || named[1].Wire == named[0].Wire {
		t.Errorf("%+v", named)
	}
	done := events(s, ActionDone)
	if len(done) != 2 || done[0].Tick != when-2 || done[1].Tick != when || done[0].Player != a {
		t.Fatalf("%+v", done)
	}
	own, _ := avatar(t, s, a)
	if done[0].Entity != own || done[0].Wire != s.Wire(own) {
		t.Error("done by another")
	}
	if got := done[0].Params[1]; got.Type != Entity || got.Uint() != uint64(named[0].Wire) {
		t.Errorf("what was created is told as %v, not %d", got, named[0].Wire)
	}
}

// A replay tells only what is new.
func TestAReplayTellsNothingTwice(t *testing.T) {
	s := newSim(t, Config{Seed: 3})
	a, b := join(t, s, "a"), join(t, s, "b")
	advance(s, 5)
	s.Act(b, s.Tick(), s.Schema().ActionNamed("sow"), sowing(1, TempEntity), 0)
	s.Steer(b, s.Tick(), steer(1, 9), 0)
	s.Advance()
	if n := len(s.Events()); n != 3 {
		t.Fatalf("%+v", s.Events())
	}
	s.Steer(a, s.Tick()-4, steer(1, 1), 0)
	s.Advance()
	if n := len(s.Events()); n != 0 {
		t.Errorf("told again: %+v", s.Events())
	}
}

// An action that was done, and told, may turn out to have been impossible.
func TestWhatALateInputMakesImpossibleIsRefused(t *testing.T) {
	for want, answer := range map[Reason]func(*World, *Input){
		Denied:  (*World).Deny,
		Ignored: func(*World, *Input) {},
	} {
		t.Run(want.String(), func(t *testing.T) { testImpossible(t, answer, want) })
	}
}

func testImpossible(t *testing.T, answer func(*World, *Input), want Reason) {
	g := testGame()
	g.Step = func(w *World, in []Input) {
		for i := range in {
			switch in := &in[i]; {
			case in.Kind == Join:
				testInput(w, in)
			case in.Kind == Act && Count[sprout](w) < 6:
				testInput(w, in) // only the first to come may sow
			case in.Kind == Act:
				answer(w, in)
			}
		}
	}
	s := newSimOf(t, g, Config{})
	a, b := join(t, s, "a"), join(t, s, "b")
	advance(s, 3)
	sow := s.Schema().ActionNamed("sow")
	s.Act(b, s.Tick(), sow, sowing(1, 0), 5)
	s.Advance()
	if n := len(events(s, ActionDone)); n != 1 {
		t.Fatal(s.Events())
	}
	view := s.NewView(0, ViewConfig{Radius: -1, Reliable: true})
	drain(view)
	seen := len(view.entries.list)
	s.Act(a, s.Tick()-2, sow, sowing(1, 0), 6)
	s.Advance()
	done, refused := events(s, ActionDone), events(s, InputRefused)
	if len(done) != 1 || done[0].Tag != 6 || len(refused) != 1 || refused[0].Tag != 5 || refused[0].Reason != want {
		t.Errorf("%+v", s.Events())
	}
	// The view tells of both: one has gone, one has come.
	view.Update()
	c := view.Next()
	if c == nil || c.What != Left {
		t.Fatalf("%+v", c)
	}
	view.Take(0)
	if c = view.Next(); c == nil || c.What != Entered {
		t.Errorf("%+v", c)
	}
	if got := len(view.entries.list); got != seen {
		t.Errorf("%d in sight, want %d", got, seen)
	}
}

func TestInputsOfBeforeOneJoined(t *testing.T) {
	s := newSim(t, Config{})
	advance(s, 10)
	p := join(t, s, "a")
	wantReason(t, "early", s.Steer(p, s.Tick()-3, steer(1, 1), 9), Accepted)
	s.Advance()
	refused := events(s, InputRefused)
	if len(refused) != 1 || refused[0].Reason != Absent || refused[0].Tag != 9 {
		t.Errorf("%+v", s.Events())
	}
	joined := events(s, PlayerJoined)
	own, _ := avatar(t, s, p)
	if len(joined) != 1 || joined[0].Name != "a" || joined[0].Entity != own || joined[0].Wire == 0 {
		t.Errorf("%+v", joined)
	}
	s.Leave(p)
	s.Advance()
	left := events(s, PlayerLeft)
	if len(left) != 1 || left[0].Name != "a" || left[0].Entity != own {
		t.Errorf("%+v", left)
	}
}

// Every input ends as done or refused.
func TestInputsAreCounted(t *testing.T) {
	r := newRand(t)
	s := newSim(t, Config{MaxRollbackTicks: 6})
	submitted := uint64(0)
	var players []PlayerID
	for range 4 {
		players = append(players, join(t, s, "x"))
		submitted++
	}
	for range 200 {
		for range r.IntN(12) {
			submitted++
			p := players[r.IntN(len(players))]
			tick := s.Tick() + uint64(r.IntN(6)) - uint64(min(r.IntN(10), int(s.Tick())))
			if r.IntN(2) == 0 {
				s.Steer(p, tick, steer(r.Float32(), r.Float32()*2), 0)
			} else {
				s.Act(p, tick, s.Schema().Action(r.IntN(4)), sowing(1, r.Uint64N(70000)), 0)
			}
		}
		s.Advance()
		if st := s.Stats(); st.InputsDone+st.InputsRefused+uint64(st.InputsPending) != submitted {
			t.Fatalf("%+v, %d submitted", st, submitted)
		}
	}
	advance(s, 10)
	if st := s.Stats(); st.InputsPending != 0 || st.InputsDone == 0 || st.InputsRefused == 0 {
		t.Errorf("%+v", st)
	}
}
