package world

import (
	"math"
	"strings"
	"testing"

	"parley/internal/promise"
)

func TestEntitiesLiveInTheirRows(t *testing.T) {
	w := newSim(t, Config{}).World()
	base := Count[sprout](w)
	a, b, c := Spawn(w, sprout{Age: 1}), Spawn(w, sprout{Age: 2}), Spawn(w, sprout{Age: 3})
	if a == b || b == c || a == 0 {
		t.Fatal(a, b, c)
	}
	pa, pc := Get[sprout](w, a), Get[sprout](w, c)
	w.Despawn(b)
	w.Despawn(b)
	d := Spawn(w, sprout{Age: 4})
	if Get[sprout](w, b) != nil || Get[walker](w, a) != nil || w.Exists(b) || !w.Exists(d) || w.KindOf(b) != nil || w.KindOf(d).Name != "sprout" {
		t.Error("what is gone is there, or of another kind")
	}
	if Get[sprout](w, a) != pa || Get[sprout](w, c) != pc || pa.Age != 1 || pc.Age != 3 {
		t.Error("a pointer does not hold")
	}
	var ages []uint16
	for id, s := range All[sprout](w) {
		if Get[sprout](w, id) != s {
			t.Error("All and Get differ")
		}
		if s.Age > 0 {
			ages = append(ages, s.Age)
		}
	}
	// The row of the dead one is taken first.
	if len(ages) != 3 || ages[0] != 1 || ages[1] != 4 || ages[2] != 3 {
		t.Errorf("ages %v", ages)
	}
	if got := Count[sprout](w); got != base+3 {
		t.Errorf("%d", got)
	}
	if Count[tagged](w) != 0 {
		t.Error("a count of no kind")
	}
	for range All[tagged](w) {
		t.Error("one of no kind")
	}
	w.SetOwner(a, 7)
	if w.Owner(a) != 7 || w.Owner(b) != 0 || w.Body(a) != &pa.Body || w.Body(b) != nil {
		t.Error("owner or body")
	}
	for id := range All[mark](w) {
		if w.Body(id) != nil {
			t.Error("a mark has a body")
		}
	}
}

// An ID is not used again, not even in the tick in which its entity went.
func TestIDsDoNotComeBack(t *testing.T) {
	g := testGame()
	seen := map[ID]bool{}
	fresh := func(id ID) {
		if id == 0 || seen[id] {
			t.Fatalf("%v again", id)
		}
		seen[id] = true
	}
	g.Setup = func(w *World) {
		for range 3 {
			id := Spawn(w, sprout{})
			fresh(id)
			w.Despawn(id)
		}
		fresh(Spawn(w, sprout{}))
	}
	g.Step = func(w *World, in []Input) {
		for id := range All[sprout](w) {
			w.Despawn(id)
		}
		for i := range in {
			for range 3 {
				id := SpawnFor(w, &in[i], sprout{})
				fresh(id)
				w.Despawn(id)
			}
		}
		for range 3 {
			fresh(Spawn(w, sprout{}))
		}
	}
	s := newSimOf(t, g, Config{MaxRollbackTicks: -1})
	p := join(t, s, "a")
	for range 5 {
		s.Steer(p, s.Tick(), steer(1, 1), 0)
		s.Steer(p, s.Tick(), steer(1, 1), 0)
		s.Advance()
	}
}

func TestAKindHasItsBound(t *testing.T) {
	s := newSim(t, Config{})
	w := s.World()
	n := 0
	for Spawn(w, mark{}) != 0 {
		n++
	}
	if n != 7 || s.Stats().SpawnsRefused != 1 {
		t.Errorf("%d more than the first, %d refused", n, s.Stats().SpawnsRefused)
	}
	for id := range All[mark](w) {
		w.Despawn(id)
	}
	if Count[mark](w) != 0 || Spawn(w, mark{}) == 0 {
		t.Error("room is not found again")
	}
}

func TestSpawnOfWhatIsNoKindPanics(t *testing.T) {
	w := newSim(t, Config{}).World()
	for want, spawn := range map[string]func(){
		"world: spawn of world.plain, which is no kind of this game: add plain{} to Game.Kinds": func() { Spawn(w, plain{}) },
		"world: spawn of *world.walker, a pointer: spawn the struct itself":                     func() { Spawn(w, &walker{}) },
	} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}()
			spawn()
		}()
	}
}

// T7: no state has a NaN, an infinity, or a text that a dialect could not write.
func TestAStepLeavesNothingThatCannotBeTold(t *testing.T) {
	promise.Keeps(t, "T7", "world", 1)
	g := testGame()
	var id ID
	g.Step = func(w *World, in []Input) {
		for _, i := range in {
			if i.Kind == Join {
				id = SpawnFor(w, &i, walker{})
				w.Own(i.Player, id)
			}
		}
		a := Get[walker](w, id)
		a.X, a.Angle, a.path[1] = math.NaN(), float32(math.Inf(-1)), math.Inf(1)
		a.Name = "ääääääääääää"
		for _, m := range All[mark](w) {
			m.Note = "good\xffbad"
		}
	}
	s := newSimOf(t, g, Config{})
	join(t, s, "a")
	s.Advance()
	a := Get[walker](s.World(), id)
	if a.X != 0 || a.Angle != 0 || a.path[1] != 0 || a.Name != "ääääää" {
		t.Errorf("%+v", a)
	}
	for _, m := range All[mark](s.World()) {
		if m.Note != "good" {
			t.Errorf("%q", m.Note)
		}
	}
	if n := s.Stats().NotFinite; n != 3 {
		t.Errorf("%d counted", n)
	}
}

func TestFitText(t *testing.T) {
	for _, tt := range []struct {
		s    string
		max  int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aé", 2, "a"}, {"aé", 3, "aé"}, {"€€", 5, "€"}, {"€", 1, ""}, {"a\xff", 9, "a"},
		{"\ufffd", 9, "\ufffd"}, {"", 0, ""}, {"ab\x80", 2, "ab"}, {"é", 1, ""},
	} {
		if got := fitText(tt.s, tt.max); got != tt.want {
			t.Errorf("%q to %d: %q, want %q", tt.s, tt.max, got, tt.want)
		}
	}
}

func TestPlayersAreKeptInOrder(t *testing.T) {
	s := newSim(t, Config{})
	a, b, c := join(t, s, "a"), join(t, s, "b"), join(t, s, "c")
	if _, ok := s.World().Player(a); ok {
		t.Error("a player is there before its tick")
	}
	s.Advance()
	s.Leave(b)
	s.Leave(b)
	s.Advance()
	var names []string
	for p := range s.World().Players() {
		names = append(names, p.Name)
	}
	if strings.Join(names, "") != "ac" || s.Players() != 2 {
		t.Errorf("%v, %d", names, s.Players())
	}
	if _, ok := s.World().Player(b); ok {
		t.Error("who left is there")
	}
	if _, x := Avatar[walker](s.World(), b); x != nil {
		t.Error("who left has an entity")
	}
	if Count[walker](s.World()) != 2 {
		t.Error("what it owned is there")
	}
	_, _ = avatar(t, s, a)
	_, _ = avatar(t, s, c)
}
