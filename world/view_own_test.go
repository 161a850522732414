package world

import (
	"fmt"
	"testing"
)

// timer is a kind with a countdown.
type timer struct {
	Body  `parley:"speed=2"`
	Left  uint16 `parley:"countdown"`
	Score uint16
}

type wind struct{ Ticks uint16 }

// timerSim is a game whose players walk, and wind their timers up.
func timerSim(t *testing.T) (*Sim, PlayerID, *timer) {
	t.Helper()
	g := Game{Name: "timers", Kinds: Kinds(timer{}), Actions: Actions(wind{})}
	g.Step = func(w *World, in []Input) {
		for i := range in {
			switch in := &in[i]; in.Kind {
			case Join:
				w.Own(in.Player, SpawnFor(w, in, timer{}))
			case Steer:
				w.Steer(in)
			case Act:
				v, _ := Read[wind](in)
				_, own := Avatar[timer](w, in.Player)
				if own.Left > 0 {
					w.Deny(in)
					continue
				}
				own.Left = v.Ticks
				Done(w, in, v)
			}
		}
		for _, own := range All[timer](w) {
			w.Move(&own.Body)
			own.Left -= min(own.Left, 1)
		}
	}
	s := newSimOf(t, g, Config{})
	p := join(t, s, "a")
	s.Advance()
	_, own := Avatar[timer](s.World(), p)
	return s, p, own
}

// tellings advances and returns what the view tells.
func tellings(s *Sim, v *View) (masks []uint64) {
	s.Advance()
	v.Update()
	for c := v.Next(); c != nil; c = v.Next() {
		masks = append(masks, c.Mask)
		v.Take(1)
	}
	return masks
}

// "A player's own accepted moves are not told back to it; countdowns are told when they are set" and
// "whatever is refused is corrected by position, angle and norm, nothing else" (realm).
func TestAPlayerIsNotToldItsOwnMoves(t *testing.T) {
	s, p, own := timerSim(t)
	predicting := ViewConfig{Reliable: true, BytesPerTick: -1, PredictTicks: 10, OwnMoves: true, Countdowns: true, CorrectTicks: 10}
	v, other := s.NewView(p, predicting), s.NewView(0, predicting)
	tellings(s, v)
	tellings(s, other)
	quiet := func(what string, ticks int) {
		t.Helper()
		for n := range ticks {
			if masks := tellings(s, v); masks != nil {
				t.Errorf("%s: tick %d: told %b", what, n, masks)
			}
		}
	}
	s.Steer(p, s.Tick(), steer(1, 2), 0)
	quiet("it walks", 1)
	other.Update()
	if c := other.Next(); c == nil || c.Mask&moves != moves {
		t.Errorf("the others are told %+v", c)
	}
	quiet("it walks on", 25)
	s.Steer(p, s.Tick(), Steering{HasPlace: true, X: own.X - 1, Y: own.Y, HasNorm: true}, 0)
	quiet("it stops where it says", 15)
	s.Steer(p, s.Tick()-3, Steering{HasPlace: true, X: own.X + 1, Y: own.Y}, 0)
	quiet("it said so before", 5)

	// Refused: at once, and then not more often than the configuration says.
	corrections := 0
	for n := range 30 {
		s.Steer(p, s.Tick(), Steering{HasPlace: true, X: own.X + 500, Y: own.Y}, 0)
		v.Correct(s.ByWire(1)) // as a gateway does
		if masks := tellings(s, v); fmt.Sprint(masks) == fmt.Sprint([]uint64{moves}) {
			corrections++
		} else if masks != nil || n == 0 {
			t.Errorf("tick %d: told %b", n, masks)
		}
	}
	if corrections != 3 {
		t.Errorf("%d corrections in 30 ticks", corrections)
	}
	tellings(s, v)
	v.Correct(s.ByWire(1))
	late := 0
	for range 12 {
		late += len(tellings(s, v))
	}
	if late != 1 {
		t.Errorf("the last correction was told %d times", late)
	}

	// What the game does to it is told.
	for name, change := range map[string]func(){
		"it is put elsewhere": func() { s.world.Place(s.ByWire(1), own.X+9, own.Y) },
		"it is pushed":        func() { own.X++ },
		"it is turned":        func() { own.Angle++ },
	} {
		change()
		if masks := tellings(s, v); len(masks) != 1 || masks[0] != moves {
			t.Errorf("%s: told %b", name, masks)
		}
		quiet(name+" once", 3)
	}
	own.Score = 7
	if masks := tellings(s, v); len(masks) != 1 || masks[0] != 1<<6 {
		t.Errorf("a score: told %b", masks)
	}
}

func TestACountdownIsToldWhenItIsSet(t *testing.T) {
	s, p, own := timerSim(t)
	v := s.NewView(p, ViewConfig{Reliable: true, BytesPerTick: -1, PredictTicks: 10, OwnMoves: true, Countdowns: true})
	plain := s.NewView(p, ViewConfig{Reliable: true, BytesPerTick: -1})
	tellings(s, v)
	tellings(s, plain)
	s.Act(p, s.Tick(), s.Schema().ActionNamed("wind"), []Value{UintValue(U16, 30)}, 0)
	if masks := tellings(s, v); len(masks) != 1 || masks[0] != 1<<5 {
		t.Errorf("told %b", masks)
	}
	for n := range 40 {
		was := own.Left
		if masks := tellings(s, v); masks != nil {
			t.Errorf("tick %d: told %b", n, masks)
		}
		plain.Update()
		if c := plain.Next(); was > 0 && (c == nil || c.Mask != 1<<5) {
			t.Errorf("tick %d: who does not count is told %+v", n, c)
		}
		plain.Take(1)
	}
	// A rewind that undoes it is told too.
	s.Act(p, s.Tick(), s.Schema().ActionNamed("wind"), []Value{UintValue(U16, 30)}, 0)
	tellings(s, v)
	s.Act(p, s.Tick()-3, s.Schema().ActionNamed("wind"), []Value{UintValue(U16, 9)}, 0)
	if masks := tellings(s, v); len(masks) != 1 || masks[0] != 1<<5 {
		t.Errorf("told %b", masks)
	}
	if _, err := New(Game{Kinds: Kinds(struct2{}), Step: func(*World, []Input) {}}, Config{}); err == nil {
		t.Error("a countdown of text")
	}
}

type struct2 struct {
	Name string `parley:"countdown"`
}

// Own is the player's own entity with all its fields in each tick, whether or not the view tells of it. A spectator has none.
func TestOwnIsThereUnchanged(t *testing.T) {
	s, p, own := timerSim(t)
	v, watcher := s.NewView(p, ViewConfig{Reliable: true}), s.NewView(0, ViewConfig{Radius: -1})
	if _, ok := v.Own(); ok {
		t.Error("it is there before the first Update")
	}
	tellings(s, v)
	for i := range 3 {
		if masks := tellings(s, v); len(masks) > 0 {
			t.Fatalf("tick %d: it stands still, and the view tells of %b", i, masks)
		}
		c, ok := v.Own()
		id, _ := Avatar[timer](s.World(), p)
		if !ok || c.What != Entered || c.ID != id || c.Mask != allFields(c.Kind) || c.Entity != s.Wire(id) || c.Value(FieldX).Float() != own.X {
			t.Errorf("tick %d: the own entity is %+v: %v", i, c, ok)
		}
	}
	watcher.Update()
	if _, ok := watcher.Own(); ok {
		t.Error("a spectator has one")
	}
	s.Leave(p)
	tellings(s, v)
	if c, ok := v.Own(); ok {
		t.Errorf("it is gone, and is %+v", c)
	}
}
