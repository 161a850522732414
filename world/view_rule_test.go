package world

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// ruled is the game of the tests with a rule that says something else of each pair now and then.
func ruled(seed uint64, every uint64) Game {
	g := testGame()
	g.Sees = func(w *World, viewer PlayerID, e ID) bool { return fancy(seed, w.Tick()/every, viewer, e) }
	return g
}

func fancy(seed, time uint64, viewer PlayerID, e ID) bool {
	return mix(seed^time*7919^uint64(viewer)<<40^uint64(e))%3 != 0
}

// wantAllowed fails if a view tells a value, or has something in sight, that its viewer may not see.
func wantAllowed(t testing.TB, s *Sim, v *View) {
	t.Helper()
	own := ID(0)
	if p, ok := s.World().Player(v.Player()); ok {
		own = p.Entity
	}
	seen := map[ID]bool{}
	for c := range v.Seen() {
		seen[c.ID] = true
		if c.ID != own && !s.game.Sees(s.world, v.Player(), c.ID) {
			t.Fatalf("tick %d: player %d sees %v", s.Tick(), v.Player(), c.ID)
		}
		if !v.Sees(c.ID) {
			t.Fatalf("%v is in sight, and is not", c.ID)
		}
	}
	// Everything near that it may see is there, by a way of looking that is another.
	r := v.config.Radius
	for i := range s.public.high {
		e := &s.public.slots[i]
		if e.id == 0 || e.wire == 0 || r >= 0 && e.hasBody && v.distance(e) > float64(r*r) && e.id != own {
			continue
		}
		if may := e.id == own || s.game.Sees(s.world, v.Player(), e.id); may && !seen[e.id] {
			t.Fatalf("tick %d: player %d does not see %v", s.Tick(), v.Player(), e.id)
		}
	}
}

// Under loss, reordering and rewinds, no view tells what its player may not see, and each client ends up with the rest.
func TestNoViewTellsWhatTheRuleHides(t *testing.T) {
	r := newRand(t)
	for range max(5, rounds(150, 5_000)) {
		s := newSimOf(t, ruled(r.Uint64(), 1+r.Uint64N(9)), Config{Seed: r.Uint64(), MaxRollbackTicks: 6, ReuseTicks: 12})
		var clients []*client
		var players []PlayerID
		for i := range 4 {
			p := PlayerID(0)
			if i != 3 { // a spectator
				p = join(t, s, fmt.Sprint(i))
				players = append(players, p)
			}
			c := ViewConfig{Radius: 10 + r.Float64()*60, BytesPerTick: 100 + r.IntN(2000)}
			if i == 0 {
				c.Radius = -1
			}
			clients = append(clients, newClient(t, s.NewView(p, c), r, r.Float64()*.3))
			clients[i].narrow = i == 2
			clients[i].may = func(c *Change) bool {
				own, _ := s.World().Player(p)
				return own.Entity == c.ID || s.game.Sees(s.world, p, c.ID)
			}
		}
		for range 60 {
			for _, p := range players {
				tick := s.Tick() - min(s.Tick(), uint64(r.IntN(6)))
				s.Steer(p, tick, steer(r.Float32()*6, r.Float32()*1.5), 0)
				if r.IntN(3) == 0 {
					s.Act(p, tick, s.Schema().Action(0), sowing(float64(r.Float32())*6, 0), 0)
				}
			}
			s.Advance()
			for _, c := range clients {
				c.tick(s.Tick())
				wantAllowed(t, s, c.view)
			}
		}
		still := s.Tick()
		for range 120 {
			still++
			for _, c := range clients {
				c.loss, c.narrow = 0, false
				c.view.updated = 0
				c.tick(still)
			}
		}
		for _, c := range clients {
			c.wantSame()
			c.view.Close()
		}
		for wire := range s.book.pages {
			if s.book.pages[wire].holds != 0 {
				t.Fatalf("number %d is held %d times by views that are closed", wire, s.book.pages[wire].holds)
			}
		}
	}
}

// What is hidden leaves as if it had gone out of range, and comes back with all its values.
func TestWhatIsHiddenLeavesAndComesBackWhole(t *testing.T) {
	for _, c := range []ViewConfig{{}, {Radius: -1}, {MaxPerKind: 1}, {SightOnly: true, Reliable: true, BytesPerTick: -1}} {
		hidden := false
		s, ids := standingBy(t, func(*World, PlayerID, ID) bool { return !hidden }, [2]float64{5, 0})
		p := join(t, s, "a")
		c.Reliable = true
		v := s.NewView(p, c)
		s.Advance()
		own, _ := avatar(t, s, p)
		wantTold(t, "at first", takeAll(v), fmt.Sprint("entered ", s.Wire(own)), "entered 1")
		hidden = true
		Get[sprout](s.World(), ids[0]).Age = 9
		s.Advance()
		wantTold(t, "hidden", takeAll(v), "left 1")
		if v.Sees(ids[0]) || !v.Sees(own) {
			t.Error("Sees")
		}
		v.Correct(ids[0]) // as after an input that names it
		Get[sprout](s.World(), ids[0]).Age = 10
		s.Advance()
		wantTold(t, "changed unseen", takeAll(v))
		hidden = false
		s.Advance()
		v.Update()
		if c := v.Next(); c == nil || c.What != Entered || c.Mask != allFields(c.Kind) || c.Value(5).Uint() != 10 {
			t.Errorf("%+v: it comes back as %+v", v.config, c)
		}
	}
}

// standingBy is standing with a rule.
func standingBy(t testing.TB, sees func(*World, PlayerID, ID) bool, places ...[2]float64) (*Sim, []ID) {
	s, ids := standing(t, places...)
	s.game.Sees = sees
	return s, ids
}

// Each pair is asked once a tick, the own entity and what is out of range are not, and all spectators are one viewer.
func TestWhatTheRuleIsAsked(t *testing.T) {
	var asked []string
	s, _ := standingBy(t, func(w *World, p PlayerID, e ID) bool {
		asked = append(asked, fmt.Sprint(p, " ", w.Body(e).X))
		return true
	}, [2]float64{5, 0}, [2]float64{110, 0}, [2]float64{300, 0})
	p := join(t, s, "a")
	v := s.NewView(p, ViewConfig{Radius: 100, Hysteresis: 20, Reliable: true})
	var spectators []*View
	for range 3 {
		spectators = append(spectators, s.NewView(0, ViewConfig{Radius: -1, Reliable: true}))
	}
	copies := s.NewView(0, ViewConfig{Radius: -1, BytesPerTick: -1, Reliable: true, Copy: true})
	s.Advance()
	want := fmt.Sprint([]string{"1 5", "0 5", "0 110", "0 300", "0 0"})
	for range 2 {
		if got := fmt.Sprint(asked); got != want {
			t.Errorf("asked %s, want %s", got, want)
		}
		takeAll(v)
		for _, x := range spectators {
			takeAll(x)
			if n := len(slices.Collect(x.Seen())); n != 4 {
				t.Errorf("a spectator sees %d", n)
			}
		}
		takeAll(copies)
		if got := fmt.Sprint(asked); got != want {
			t.Errorf("views ask again: %s", got)
		}
		asked = nil
		s.Advance()
	}
	// What is between the radius and the edge is asked about only if it is in sight.
	late := s.NewView(p, ViewConfig{Radius: 200, Reliable: true})
	asked = nil
	late.Update() // between two ticks
	if got := fmt.Sprint(asked); got != fmt.Sprint([]string{"1 5", "1 110"}) || len(slices.Collect(late.Seen())) != 3 {
		t.Errorf("a view that is newer than the tick asks %s", got)
	}
}

// A tick that a view was not brought to is not told: its rule has not been applied.
func TestAViewThatWasNotUpdatedTellsNothing(t *testing.T) {
	hidden := false
	s, ids := standingBy(t, func(*World, PlayerID, ID) bool { return !hidden }, [2]float64{5, 0})
	p := join(t, s, "a")
	v := s.NewView(p, ViewConfig{Reliable: true})
	s.Advance()
	v.Update()
	hidden = true
	Get[sprout](s.World(), ids[0]).Age = 9
	s.Advance()
	if c := v.Next(); c != nil || len(slices.Collect(v.Seen())) != 0 {
		t.Errorf("it tells %v", c)
	}
	own, _ := avatar(t, s, p)
	wantTold(t, "then", takeAll(v), "left 1", fmt.Sprint("entered ", s.Wire(own)))
}

// A panic of the rule is one of Advance, where those of Step are.
func TestAPanicOfTheRuleIsOneOfTheTick(t *testing.T) {
	s, _ := standingBy(t, func(*World, PlayerID, ID) bool { panic("no rule") }, [2]float64{5, 0})
	s.NewView(join(t, s, "a"), ViewConfig{})
	defer func() {
		if why, _ := recover().(string); !strings.Contains(why, "no rule") {
			t.Errorf("Advance ends with %q", why)
		}
	}()
	s.Advance()
}

// The rule may look for what is near, where Step has put it.
func TestTheRuleFindsWhatIsNear(t *testing.T) {
	near := 0
	s, ids := standingBy(t, func(w *World, _ PlayerID, _ ID) bool {
		near = 0
		for range w.Near(50, 0, 1) {
			near++
		}
		return true
	}, [2]float64{5, 0})
	step := s.game.Step
	s.game.Step = func(w *World, in []Input) {
		for range w.Near(0, 0, 1) { // which makes the index
		}
		step(w, in)
		Get[sprout](w, ids[0]).X = 50
	}
	s.NewView(join(t, s, "a"), ViewConfig{})
	s.Advance()
	if near != 1 {
		t.Errorf("%d near", near)
	}
}

// A tick with a rule allocates nothing.
func TestARuleAllocatesNothing(t *testing.T) {
	s, _, views := newTeams(t, 300, 20, ViewConfig{})
	tick := func() {
		s.Advance()
		for _, v := range views {
			drain(v)
		}
	}
	for range 200 {
		tick()
	}
	if n := testing.AllocsPerRun(100, tick); n > 1 {
		t.Errorf("%v allocations a tick", n)
	}
}

// newTeams is newMovers with a rule: a player sees its own team, and of the others those that have not hidden.
func newTeams(t testing.TB, entities, players int, c ViewConfig) (*Sim, []PlayerID, []*View) {
	return moversOf(t, teamGame(entities), players, c)
}

func teamGame(entities int) Game {
	g := moverGame(entities)
	g.Sees = func(w *World, viewer PlayerID, e ID) bool {
		m := Get[mover](w, e)
		return w.Owner(e)%2 == viewer%2 || m != nil && m.Health%4 != 0
	}
	return g
}

// BenchmarkSees is a tick of 1,000 entities and 200 players with their views, without a rule and with one.
func BenchmarkSees(b *testing.B) {
	for _, sight := range []struct {
		name string
		ViewConfig
	}{{"radius 128", ViewConfig{BytesPerTick: 1200}}, {"everything", ViewConfig{Radius: -1, BytesPerTick: 1200}}} {
		for _, game := range []struct {
			name string
			Game
		}{{"no rule", moverGame(1000)}, {"rule", teamGame(1000)}, {"rule of one word", constantGame(1000)}} {
			b.Run(sight.name+"/"+game.name, func(b *testing.B) {
				s, _, views := moversOf(b, game.Game, 200, sight.ViewConfig)
				asks := 0
				if sees := s.game.Sees; sees != nil {
					s.game.Sees = func(w *World, p PlayerID, e ID) bool { asks++; return sees(w, p, e) }
					s.Advance()
					asks = 0
					s.Advance()
					s.game.Sees = sees
				}
				b.ReportAllocs()
				for b.Loop() {
					s.Advance()
					for _, v := range views {
						drain(v)
					}
				}
				b.ReportMetric(float64(asks), "asks/tick")
			})
		}
	}
}

// constantGame has the cheapest rule, which hides nothing: what asking costs by itself.
func constantGame(entities int) Game {
	g := moverGame(entities)
	g.Sees = func(*World, PlayerID, ID) bool { return true }
	return g
}
