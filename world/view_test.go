package world

import (
	"fmt"
	"math"
	"testing"
)

// A walkers' world: entities where they are put, nothing moves by itself.
func standing(t testing.TB, places ...[2]float64) (*Sim, []ID) {
	g := testGame()
	var ids []ID
	g.Setup = func(w *World) {
		for _, p := range places {
			ids = append(ids, Spawn(w, sprout{Body: Body{X: p[0], Y: p[1]}}))
		}
	}
	g.Step = func(w *World, in []Input) {
		for i := range in {
			if in[i].Kind == Join {
				w.Own(in[i].Player, SpawnFor(w, &in[i], walker{}))
			}
		}
	}
	s := newSimOf(t, g, Config{})
	return s, ids
}

// takeAll returns what a view tells now, as text.
func takeAll(v *View) (list []string) {
	v.Update()
	for c := v.Next(); c != nil; c = v.Next() {
		list = append(list, fmt.Sprint(c.What, " ", c.Entity))
		v.Take(1)
	}
	return list
}

func wantTold(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestSightHasARadiusAndHysteresis(t *testing.T) {
	s, ids := standing(t, [2]float64{50, 0}, [2]float64{110, 0}, [2]float64{0, -99})
	p := join(t, s, "a")
	v := s.NewView(p, ViewConfig{Radius: 100, Hysteresis: 20, Reliable: true})
	move := func(x float64) { Get[sprout](s.World(), ids[0]).X = x; s.Advance() }
	s.Advance()
	own, _ := avatar(t, s, p)
	// Its own first, then the nearest.
	wantTold(t, "at first", takeAll(v), fmt.Sprint("entered ", s.Wire(own)), "entered 1", "entered 3")
	if !v.Sees(ids[0]) || v.Sees(ids[1]) || v.Sees(0) || v.Player() != p {
		t.Error("Sees")
	}
	s.Advance()
	wantTold(t, "nothing new", takeAll(v))
	move(110)
	wantTold(t, "further than the radius, nearer than its edge", takeAll(v), "changed 1")
	move(121)
	wantTold(t, "over the edge", takeAll(v), "left 1")
	move(110)
	wantTold(t, "back within the edge, not within the radius", takeAll(v))
	move(100)
	wantTold(t, "back within the radius", takeAll(v), "entered 1")
	s.World().Despawn(ids[0])
	s.Advance()
	wantTold(t, "dead", takeAll(v), "left 1")
	if s.ByWire(1) != 0 || s.Wire(ids[0]) != 0 {
		t.Error("the dead have a number")
	}
	// Its own is in sight wherever it is looked from, and sight goes with it.
	s.World().Place(own, 1000, 1000)
	s.Advance()
	wantTold(t, "far away", takeAll(v), "left 3", fmt.Sprint("changed ", s.Wire(own)))
}

// What is back before its departure was told, or was known to have arrived, is
// not made to leave afterwards.
func TestWhatIsBackDoesNotLeave(t *testing.T) {
	s, ids := standing(t, [2]float64{5, 0})
	v := s.NewView(0, ViewConfig{Radius: 10})
	x := Get[sprout](s.World(), ids[0])
	move := func(to float64) { x.X = to; s.Advance(); v.Update() }
	tell := func(want string) uint64 {
		t.Helper()
		n := v.Open()
		c := v.Next()
		if c == nil || fmt.Sprint(c.What) != want {
			t.Fatalf("%+v, want %s", c, want)
		}
		v.Take(1)
		if c := v.Next(); c != nil {
			t.Fatalf("and %v", c.What)
		}
		return n
	}
	v.Update()
	v.Acked(tell("entered"))
	move(100) // its departure waits
	move(5)
	v.Acked(tell("entered"))
	move(100)
	gone := tell("left") // this is on its way
	move(5)
	back := tell("entered")
	v.Lost(gone)
	v.Acked(back)
	s.Advance()
	v.Update()
	if c := v.Next(); c != nil {
		t.Errorf("%v again", c.What)
	}
	// An acknowledgement of its last time in sight is none of this one.
	move(100)
	left := tell("left")
	move(5)
	first := tell("entered")
	v.Acked(left)
	move(100)
	tell("left")
	move(5)
	second := tell("entered")
	v.Acked(first)
	v.Lost(second)
	s.Advance()
	v.Update()
	tell("entered")
}

// The fields of all packets that were lost come again, at their newest.
func TestLostFieldsComeAgain(t *testing.T) {
	s, ids := standing(t, [2]float64{5, 0})
	v := s.NewView(0, ViewConfig{})
	x := Get[sprout](s.World(), ids[0])
	tell := func(want uint64) uint64 {
		t.Helper()
		s.Advance()
		v.Update()
		n := v.Open()
		c := v.Next()
		if c == nil || c.Mask != want {
			t.Fatalf("%+v, want mask %x", c, want)
		}
		v.Take(1)
		return n
	}
	v.Acked(tell(allFields(s.Schema().Kind(2))))
	x.Age = 1
	first := tell(1 << 5)
	x.Ratio = 1
	second := tell(1 << 7)
	x.Y = 3
	third := tell(1 << FieldY)
	v.Lost(first)
	v.Acked(second)
	v.Lost(third)
	x.Age = 2
	last := tell(1<<5 | 1<<FieldY)
	if got := v.changeOf(0).public.value(0, 5, &s.Schema().Kind(2).Fields[5]); got.Uint() != 2 {
		t.Errorf("%v is not the newest", got)
	}
	v.Acked(last)
	v.Lost(last)
	s.Advance()
	v.Update()
	if c := v.Next(); c != nil {
		t.Errorf("%+v", c)
	}
}

// A view that is not updated in each tick finds another entity where one was.
func TestAnotherInItsPlace(t *testing.T) {
	s, ids := standing(t, [2]float64{5, 0})
	v := s.NewView(0, ViewConfig{Reliable: true})
	wantTold(t, "at first", takeAll(v), "entered 1")
	s.World().Despawn(ids[0])
	s.Advance()
	id := Spawn(s.World(), sprout{Body: Body{X: 5}})
	s.Advance()
	if v.Sees(id) || v.Sees(ids[0]) {
		t.Error("it sees what it was not told of")
	}
	wantTold(t, "then", takeAll(v), "left 1", "entered 2")
}

// A player may get another entity, and lose it: the view looks from the one that it has.
func TestAViewLooksFromItsPlayersEntity(t *testing.T) {
	s, ids := standing(t, [2]float64{500, 0}, [2]float64{900, 0})
	p := join(t, s, "a")
	v := s.NewView(p, ViewConfig{Radius: 10, Reliable: true})
	s.Advance()
	first, _ := avatar(t, s, p)
	wantTold(t, "its first", takeAll(v), fmt.Sprint("entered ", s.Wire(first)))
	s.World().Own(p, ids[0])
	s.Advance()
	wantTold(t, "another", takeAll(v), fmt.Sprint("left ", s.Wire(first)), "entered 1")
	s.World().Despawn(ids[0])
	s.Advance()
	wantTold(t, "which is gone", takeAll(v), "left 1")
	// Another one in its place is not the player's.
	Spawn(s.World(), sprout{Body: Body{X: 900}})
	s.Advance()
	wantTold(t, "and not replaced", takeAll(v))
	s.World().Own(p, ids[1])
	s.Advance()
	if told := takeAll(v); len(told) != 2 || !v.Sees(ids[1]) {
		t.Errorf("%q from the third", told)
	}
}

func TestASpectatorLooksFromWhereItIsTold(t *testing.T) {
	s, _ := standing(t, [2]float64{50, 0}, [2]float64{1000, 0})
	s.Advance()
	v := s.NewView(0, ViewConfig{Radius: 10, Reliable: true})
	wantTold(t, "from the middle", takeAll(v))
	v.LookFrom(1005, 0)
	s.Advance()
	wantTold(t, "from afar", takeAll(v), "entered 2")
	all := s.NewView(0, ViewConfig{Radius: -1, Reliable: true})
	wantTold(t, "everything", takeAll(all), "entered 1", "entered 2")
}

func TestAChangeIsItsFields(t *testing.T) {
	s, ids := standing(t, [2]float64{5, 5})
	v := s.NewView(0, ViewConfig{Reliable: true})
	takeAll(v)
	x := Get[sprout](s.World(), ids[0])
	x.Age, x.Norm = 7, 2
	s.Advance()
	v.Update()
	c := v.Next()
	if c == nil || c.What != Changed || c.Mask != 1<<FieldNorm|1<<5 || !c.Has(5) || c.Has(FieldX) {
		t.Fatalf("%+v", c)
	}
	if c.Value(5).Uint() != 7 || c.Value(FieldNorm).Float() != 2 || c.Value(FieldX).Float() != 5 || c.ID != ids[0] {
		t.Errorf("%v", c.Value(5))
	}
	// What was not taken comes again, with what is new since.
	x.Ratio = 3
	s.Advance()
	v.Update()
	if c = v.Next(); c.Mask != 1<<FieldNorm|1<<5|1<<7 {
		t.Errorf("mask %x", c.Mask)
	}
	v.Take(1)
	if v.Next() != nil {
		t.Error("told twice")
	}
	v.Correct(ids[0])
	s.Advance()
	v.Update()
	if c = v.Next(); c == nil || c.Mask != moves {
		t.Errorf("not corrected: %+v", c)
	}
	for c := range s.Changes() {
		t.Errorf("nothing has changed, and %v is told", c.ID)
	}
	x.Age++
	s.Advance()
	n := 0
	for c := range s.Changes() {
		n++
		if c.ID != ids[0] || c.Mask != 1<<5 || c.What != Changed {
			t.Errorf("%+v", c)
		}
	}
	if n != 1 {
		t.Errorf("%d changes", n)
	}
}

// A reference to what is gone is told as 0, so that it cannot mean the next
// entity of that number.
func TestAReferenceToTheDeadIsNone(t *testing.T) {
	s, ids := standing(t, [2]float64{5, 5}, [2]float64{6, 5})
	v := s.NewView(0, ViewConfig{Reliable: true})
	Get[sprout](s.World(), ids[0]).Parent = ids[1]
	s.Advance()
	v.Update()
	if c := v.Next(); c.ID != ids[0] || c.Value(6).Uint() != uint64(s.Wire(ids[1])) {
		t.Fatalf("%v", c.Value(6))
	}
	takeAll(v)
	s.World().Despawn(ids[1])
	s.Advance()
	v.Update()
	v.Next()
	v.Take(0) // it has left
	if c := v.Next(); c == nil || c.Mask != 1<<6 || c.Value(6).Uint() != 0 {
		t.Errorf("%+v", c)
	}
}

// Nothing starves: with room for one change a tick, all are told in turn.
func TestNothingStarves(t *testing.T) {
	notRaced(t)
	var places [][2]float64
	for i := range 60 {
		places = append(places, [2]float64{float64(i * 2), 0})
	}
	s, ids := standing(t, places...)
	p := join(t, s, "a")
	s.Advance()
	v := s.NewView(p, ViewConfig{BytesPerTick: 10, Reliable: true})
	last := map[ID]uint64{}
	count := map[ID]int{}
	for tick := range uint64(3000) {
		for _, id := range ids {
			Get[sprout](s.World(), id).Age++
		}
		s.Advance()
		v.Update()
		for c := v.Next(); c != nil; c = v.Next() {
			if tick > 500 && tick-last[c.ID] > 400 {
				t.Fatalf("%v waited for %d ticks", c.ID, tick-last[c.ID])
			}
			last[c.ID] = tick
			count[c.ID]++
			v.Take(10)
		}
	}
	near, far := count[ids[0]], count[ids[59]]
	if near < 2*far || far == 0 {
		t.Errorf("the nearest was told %d times, the furthest %d", near, far)
	}
}

// The budget is kept on average, and what is too large for it is told anyway.
func TestTheBudgetIsKept(t *testing.T) {
	s, ids := standing(t, [2]float64{1, 0}, [2]float64{2, 0}, [2]float64{3, 0}, [2]float64{4, 0})
	v := s.NewView(0, ViewConfig{BytesPerTick: 100, Reliable: true})
	spent := 0
	for tick := 1; tick <= 200; tick++ {
		for _, id := range ids {
			Get[sprout](s.World(), id).Age++
		}
		s.Advance()
		v.Update()
		for c := v.Next(); c != nil; c = v.Next() {
			spent += 250
			v.Take(250)
		}
		if spent > 100*tick+250 {
			t.Fatalf("%d bytes in %d ticks", spent, tick)
		}
	}
	if spent < 19_000 {
		t.Errorf("only %d bytes", spent)
	}
}

func TestSkippedComesAgain(t *testing.T) {
	s, ids := standing(t, [2]float64{1, 0}, [2]float64{2, 0})
	v := s.NewView(0, ViewConfig{Reliable: true})
	v.Update()
	first := v.Next().ID
	v.Skip()
	if c := v.Next(); c == nil || c.ID == first {
		t.Fatal("the same")
	}
	v.Take(1)
	if v.Next() != nil {
		t.Error("what was skipped comes in the same tick")
	}
	s.Advance()
	v.Update()
	if c := v.Next(); c == nil || c.ID != first || c.What != Entered {
		t.Error("what was skipped is lost")
	}
	v.Take(1)
	s.World().Despawn(ids[0])
	s.Advance()
	v.Update()
	v.Next()
	v.Skip()
	if v.Next() != nil {
		t.Error("a departure that was skipped comes in the same tick")
	}
	s.Advance()
	wantTold(t, "the departure", takeAll(v), "left 1")
}

// Replica has 256 slots of a kind: "the game chooses which by interest (nearest
// first by default)".
func TestOnlyTheNearestOfAKind(t *testing.T) {
	var places [][2]float64
	for i := range 50 {
		places = append(places, [2]float64{float64(100 - 2*i), 0})
	}
	s, ids := standing(t, places...)
	v := s.NewView(0, ViewConfig{MaxPerKind: 8, Radius: 200, SightOnly: true, Reliable: true})
	takeAll(v)
	inSight := func() (n int, far float64) {
		for c := range v.Seen() {
			n++
			far = max(far, c.Value(FieldX).Float())
		}
		return n, far
	}
	if n, far := inSight(); n != 8 || far != 16 {
		t.Fatalf("%d in sight, the furthest at %v", n, far)
	}
	// The furthest come near, one after the other.
	for i, id := range ids[:8] {
		Get[sprout](s.World(), id).X = -1 - float64(i)/10
		for range 3 {
			s.Advance()
			takeAll(v)
		}
	}
	if n, far := inSight(); n != 8 || far > 4 {
		t.Errorf("%d in sight, the furthest at %v", n, far)
	}
}

// Two that are about as far away do not take each other's place in turn.
func TestTheNearestDoNotFlap(t *testing.T) {
	s, ids := standing(t, [2]float64{10, 0}, [2]float64{10.1, 0})
	v := s.NewView(0, ViewConfig{MaxPerKind: 1, Reliable: true, SightOnly: true})
	wantTold(t, "at first", takeAll(v), "entered 1")
	for i := range 10 {
		Get[sprout](s.World(), ids[i%2]).X = 9.9 - float64(i)/100
		s.Advance()
		wantTold(t, "then", takeAll(v))
	}
	Get[sprout](s.World(), ids[1]).X = 5
	s.Advance()
	wantTold(t, "clearly nearer", takeAll(v), "left 1")
	s.Advance()
	wantTold(t, "in its place", takeAll(v), "entered 2")
}

func TestSightOnlyTellsNoChanges(t *testing.T) {
	s, ids := standing(t, [2]float64{1, 0})
	v := s.NewView(0, ViewConfig{SightOnly: true, Reliable: true})
	wantTold(t, "at first", takeAll(v), "entered 1")
	Get[sprout](s.World(), ids[0]).Age++
	s.Advance()
	wantTold(t, "changed", takeAll(v))
}

// What clients can reckon themselves is told now and then.
func TestPredictedBodiesAreToldLess(t *testing.T) {
	s, ids := standing(t, [2]float64{1, 0})
	v := s.NewView(0, ViewConfig{PredictTicks: 10, Reliable: true})
	x := Get[sprout](s.World(), ids[0])
	takeAll(v)
	x.Norm = 0.5
	s.Advance()
	wantTold(t, "a new speed", takeAll(v), "changed 1")
	told := 0
	for range 20 {
		x.X += 0.5
		s.Advance()
		told += len(takeAll(v))
	}
	if told != 2 {
		t.Errorf("told %d times in 20 ticks of going straight on", told)
	}
	x.X += 3
	s.Advance()
	wantTold(t, "a jump", takeAll(v), "changed 1")
	s.Advance()
	wantTold(t, "it does not go on", takeAll(v), "changed 1")
}

// A client that falls silent costs no more than its rings.
func TestASilentClientIsBounded(t *testing.T) {
	var places [][2]float64
	for i := range 100 {
		places = append(places, [2]float64{float64(i), 0})
	}
	s, ids := standing(t, places...)
	v := s.NewView(0, ViewConfig{BytesPerTick: -1})
	for range 1000 {
		for _, id := range ids {
			Get[sprout](s.World(), id).Age++
		}
		s.Advance()
		v.Update()
		v.Open()
		for c := v.Next(); c != nil; c = v.Next() {
			v.Take(10)
		}
	}
	if len(v.flight.records) > maxSent || len(v.flight.packets) > maxPackets {
		t.Errorf("%d records", len(v.flight.records))
	}
	// All of it counts as lost, so the client is told all again.
	c := newClient(t, v, newRand(t), 0)
	for range 20 {
		s.Advance()
		c.tick(s.Tick())
	}
	c.wantSame()
	v.Acked(1 << 40)
	v.Lost(0)
	v.Lost(3)
}

// Of more than 256 packets on their way the oldest counts as lost.
func TestOldPacketsCountAsLost(t *testing.T) {
	s, ids := standing(t, [2]float64{1, 0}, [2]float64{2, 0})
	v := s.NewView(0, ViewConfig{BytesPerTick: 1})
	tell := func() ID {
		s.Advance()
		v.Update()
		c := v.Next()
		if c == nil {
			return 0
		}
		v.Open()
		v.Take(1)
		return c.ID
	}
	if a, b := tell(), tell(); a != ids[0] || b != ids[1] {
		t.Fatalf("%v and %v are told, want %v", a, b, ids)
	}
	x := Get[sprout](s.World(), ids[1])
	for i := 3; i <= maxPackets; i++ {
		x.Age++
		if tell() != ids[1] {
			t.Fatal("told again too early")
		}
	}
	x.Age++
	tell() // packet 1 is too old now
	if tell() != ids[0] {
		t.Error("what was in the oldest is not told again")
	}
}

func TestADepartureIsToldUntilItArrives(t *testing.T) {
	s, ids := standing(t, [2]float64{1, 0})
	v := s.NewView(0, ViewConfig{})
	v.Update()
	v.Next()
	v.TakeSure(1)
	s.World().Despawn(ids[0])
	for range 3 {
		s.Advance()
		v.Update()
		n := v.Open()
		if c := v.Next(); c == nil || c.What != Left || c.Entity != 1 || c.ID != ids[0] || c.Value(0) != (Value{}) {
			t.Fatalf("%+v", c)
		}
		v.Take(1)
		v.Lost(n)
	}
	s.Advance()
	v.Update()
	n := v.Open()
	v.Next()
	v.Take(1)
	if v.Next() != nil || s.book.pages[1].holds != 1 {
		t.Error("told twice, or not held")
	}
	v.Acked(n)
	s.Advance() // the book hears of it
	if s.book.pages[1].holds != 0 || len(v.leaving) != 0 {
		t.Error("it is still held")
	}
}

func TestTakeNeedsAPacket(t *testing.T) {
	s, _ := standing(t, [2]float64{1, 0})
	v := s.NewView(0, ViewConfig{})
	v.Update()
	v.Next()
	v.TakeSure(1) // needs none
	v.Correct(s.ByWire(1))
	s.Advance()
	v.Update()
	if v.Next() == nil {
		t.Fatal("nothing to tell")
	}
	defer func() {
		if recover() == nil {
			t.Error("Take without Open does not panic")
		}
	}()
	v.Take(1)
}

func TestHeapAgainstSort(t *testing.T) {
	r := newRand(t)
	for range 200 {
		list := make([]pressing, r.IntN(100))
		for i := range list {
			rank := r.Uint64N(50)
			list[i] = pressing{rank, uint32(rank) + 7}
		}
		heapify(list)
		last := uint64(math.MaxUint64)
		for len(list) > 0 {
			if list[0].rank > last || list[0].at != uint32(list[0].rank)+7 {
				t.Fatal("not in order")
			}
			last = list[0].rank
			list = pop(list)
		}
	}
}
