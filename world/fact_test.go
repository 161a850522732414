package world

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"parley/internal/kit/chance"
)

// show writes a fact so that two can be compared. Entities are left out if events are to be compared, which have them by number.
func (f *Fact) show(entities bool) string {
	text := fmt.Sprintf("%d.%d %v %d %q %q", f.Tick, f.Index, f.Kind, f.Player, f.Name, f.Text)
	if f.Action == nil {
		return text
	}
	text += " " + f.Action.Name
	for i := range f.Action.Fields {
		if v := f.Value(i); v.Type != Entity || entities {
			text += " " + v.String()
		}
	}
	return text
}

// showFacts writes facts, but for the last of a room.
func showFacts(list []Fact, entities bool) (texts []string) {
	for i := range list {
		if list[i].Kind == FactEnded && list[i].Text == "" {
			continue
		}
		texts = append(texts, list[i].show(entities))
	}
	return texts
}

func wantFacts(t testing.TB, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Fatalf("%s: fact %d of %d, %d:\ngot  %s\nwant %s", what, i, len(got), len(want), g, w)
		}
	}
}

// factsOf runs the rest of a log, and returns the facts, up to the last tick.
func (c *troupe) factsOf(s *Sim, log []byte) (list []Fact) {
	c.t.Helper()
	s.Watch(true)
	in, err := NewLogReader(bytes.NewReader(log))
	for err == nil {
		var block []byte
		if block, err = in.Next(); err != nil {
			break
		}
		e, err := s.ReadEntry(block)
		if err == nil && e.Tick >= s.Tick() {
			err = s.Apply(e)
			list = append(list, s.Facts()...)
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
	if err != io.EOF {
		c.t.Fatal(err)
	}
	return list
}

// foresee runs the inputs of a log each at its own tick, as if none had been late, and returns what Step made of them: nothing is ever
// rewound in it, so its events are final.
func (c *troupe) foresee() (facts []string) {
	config := c.sims[0].Config().again()
	s, read := newSimOf(c.t, c.game, config), newSimOf(c.t, c.game, config)
	inputs, words := map[uint64][]Input{}, map[uint64][]string{}
	in, err := NewLogReader(bytes.NewReader(c.log))
	for err == nil {
		var block []byte
		if block, err = in.Next(); err != nil {
			break
		}
		e, err := read.ReadEntry(bytes.Clone(block))
		if err != nil {
			c.t.Fatal(err)
		}
		for _, it := range e.Items {
			switch it.Kind {
			case ItemInput:
				kept := it.Input
				if kept.params != nil {
					kept.params = new(params)
					*kept.params = *it.Input.params
				}
				inputs[kept.Tick] = append(inputs[kept.Tick], kept)
			case ItemChat, ItemSay:
				words[e.Tick] = append(words[e.Tick], fmt.Sprintf("%d %q", it.Player, it.Text))
			}
		}
	}
	names := map[PlayerID]string{0: ""}
	for tick := range uint64(len(c.hashes)) {
		for _, in := range inputs[tick] {
			s.history.at(tick).add(&in)
			if in.Kind == Join {
				names[in.Player] = in.Name
			}
		}
		s.stats.InputsPending += len(inputs[tick])
		s.Advance()
		index := 0
		add := func(kind FactKind, p PlayerID, text string, more ...string) {
			index++
			facts = append(facts, strings.Join(append([]string{fmt.Sprintf("%d.%d %v %d %q %q", tick, index, kind, p, names[p], text)}, more...), " "))
		}
		for _, ev := range s.Events() {
			kind := map[EventKind]FactKind{PlayerJoined: FactJoined, PlayerLeft: FactLeft, PlayerAway: FactAway, PlayerBack: FactBack, ActionDone: FactActed}[ev.Kind]
			switch {
			case kind == FactActed:
				more := []string{ev.Action.Name}
				for i := range ev.Action.Fields {
					if v := ev.Params[i]; v.Type != Entity {
						more = append(more, v.String())
					}
				}
				add(kind, ev.Player, "", more...)
			case kind != 0:
				add(kind, ev.Player, "")
			}
		}
		for _, line := range words[tick] {
			var p PlayerID
			var text string
			fmt.Sscanf(line, "%d %q", &p, &text)
			add(FactSaid, p, text)
		}
	}
	if got, want := s.World().Hash(), c.hashes[len(c.hashes)-1]; got != want {
		c.t.Fatalf("%x, want %x", got, want)
	}
	return facts
}

// Facts are what stays true: those of a world that knew all inputs in time. Whoever runs the log, from whichever snapshot, has the same.
func TestFactsAreTheSameForAll(t *testing.T) {
	r := newRand(t)
	kinds := map[FactKind]int{}
	rewinds := uint64(0)
	for range max(20, rounds(150, 3000)) {
		seed := r.Uint64()
		c := newTroupe(t, seed)
		at := r.IntN(30)
		for range at {
			c.tick()
		}
		snapshot := c.sims[0].AppendSnapshot(nil)
		final := c.sims[0].Final()
		for range r.IntN(30) + 1 {
			c.tick()
		}
		rewinds += c.sims[0].Stats().Rewinds
		live := c.facts
		if len(live) > 0 { // and else the zero place
			if last, known := c.sims[0].LastFact(); !known || last != (FactPlace{live[len(live)-1].Tick, live[len(live)-1].Index}) {
				t.Fatalf("seed %d: %v %v", seed, last, known)
			}
		}
		live = append(live, c.sims[0].Conclude()...)
		for _, f := range live {
			kinds[f.Kind]++
		}
		wantFacts(t, fmt.Sprintf("seed %d: a world without late inputs", seed), showFacts(live, false), c.foresee())

		whole := newSimOf(t, c.game, c.sims[0].Config().again())
		got := append(c.factsOf(whole, c.log), whole.Conclude()...)
		wantFacts(t, fmt.Sprintf("seed %d: the whole log", seed), showFacts(got, true), showFacts(live, true))

		rest := c.load(snapshot)
		if rest.Final() != final {
			t.Fatalf("seed %d: a snapshot goes back to %d, and the world that it is of to %d", seed, rest.Final(), final)
		}
		got = append(c.factsOf(rest, c.log), rest.Conclude()...)
		since := slices.DeleteFunc(slices.Clone(live), func(f Fact) bool { return f.Tick < final })
		wantFacts(t, fmt.Sprintf("seed %d: a snapshot and the rest", seed), showFacts(got, true), showFacts(since, true))
	}
	for kind := FactJoined; kind <= FactSaid; kind++ {
		if kinds[kind] == 0 {
			t.Errorf("no fact that %v", kind)
		}
	}
	if rewinds == 0 {
		t.Error("nothing was rewound")
	}
}

// goalGame is a game in which the first to hit wins, whoever comes later is refused.
type goal struct {
	Points uint16
	By     string
}

type scored struct {
	_    struct{} `parley:"cap=4"`
	Done bool
}

func goalGame(most uint16) Game {
	return Game{
		Name: "goals", Kinds: Kinds(scored{}), Actions: Actions(goal{}),
		Setup: func(w *World) { Spawn(w, scored{}) },
		Step: func(w *World, in []Input) {
			for i := range in {
				g, ok := Read[goal](&in[i])
				if !ok {
					continue
				}
				for _, s := range All[scored](w) {
					if s.Done {
						w.Deny(&in[i])
						continue
					}
					s.Done = g.Points != 0
					if g.By = "the world"; in[i].Player != 0 {
						p, _ := w.Player(in[i].Player)
						g.By = p.Name
					}
					Done(w, &in[i], g)
					if g.Points >= most {
						w.End(g.By + " wins")
					}
				}
			}
		},
	}
}

func points(n uint64) []Value { return []Value{UintValue(U16, n), TextValue("")} }

// What a late input takes back is no fact.
func TestWhatIsTakenBackIsNoFact(t *testing.T) {
	s := newSimOf(t, goalGame(9), Config{MaxRollbackTicks: 3, ReplayBudget: 3})
	s.Watch(true)
	a, b := join(t, s, "ann"), join(t, s, "bea")
	s.Advance()
	s.Advance()
	goals := s.Schema().ActionNamed("goal")
	wantReason(t, "bea", s.Act(b, s.Tick(), goals, points(9), 0), Accepted)
	s.Advance()
	if result, ended := s.World().Ended(); result != "bea wins" || !ended {
		t.Fatalf("%q %v", result, ended)
	}
	wantReason(t, "ann, two ticks late", s.Act(a, s.Tick()-2, goals, points(1), 0), Accepted)
	s.Advance()
	var list []Fact
	for range 10 {
		if _, ended := s.World().Ended(); ended {
			t.Fatal("the end was not taken back")
		}
		list = append(list, s.Facts()...)
		s.Advance()
	}
	want := []string{`0.1 joined 1 "ann" ""`, `0.2 joined 2 "bea" ""`, `1.1 acted 1 "ann" "" goal 1 "ann"`}
	wantFacts(t, "facts", showFacts(list, true)[:], want)
	if g, ok := As[goal](&list[2]); !ok || g != (goal{1, "ann"}) {
		t.Errorf("%+v %v", g, ok)
	}
	if _, ok := As[dig](&list[2]); ok {
		t.Error("another action")
	}
}

// The game ends a room: when its tick is final, not before; in the log, in snapshots, and in the hash.
func TestAGameEndsItsRoom(t *testing.T) {
	const depth = 3
	g := goalGame(5)
	s := newSimOf(t, g, Config{MaxRollbackTicks: depth})
	s.Keep(7, 1)
	s.Watch(true)
	log := s.AppendHead(nil)
	advance := func() {
		log = append(log, s.Seal(1, 0)...)
		s.Advance()
	}
	p := join(t, s, "ann")
	advance()
	advance()
	if err := s.Inject(goal{Points: 6}); err != nil {
		t.Fatal(err)
	}
	before := s.World().Hash()
	advance()
	plain := newSimOf(t, g, Config{MaxRollbackTicks: depth})
	if before == s.World().Hash() || plain.World().Hash() != newSimOf(t, goalGame(6), Config{MaxRollbackTicks: depth}).World().Hash() {
		t.Error("hashes")
	}
	for i := range depth {
		if _, over := s.Over(); over {
			t.Fatalf("over after %d ticks", i)
		}
		loaded, _, err := Load(g, bytes.NewReader(s.AppendSnapshot(nil)))
		if err != nil {
			t.Fatal(err)
		}
		if result, ended := loaded.World().Ended(); !ended || result != "the world wins" || loaded.World().Hash() != s.World().Hash() {
			t.Fatalf("a snapshot says %q %v", result, ended)
		}
		advance()
	}
	result, over := s.Over()
	if !over || result != "the world wins" {
		t.Fatalf("%q %v", result, over)
	}
	s.Chat(p, []byte("well done"))
	s.End([]byte(result))
	advance()
	last := s.Tick() - 1
	want := []string{fmt.Sprintf(`%d.1 said 1 "ann" "well done"`, last), fmt.Sprintf(`%d.2 ended 0 "" "the world wins"`, last)}
	wantFacts(t, "the last facts", showFacts(s.Facts(), true), want)

	again, err := Replay(g, bytes.NewReader(log))
	if err != nil || again.Difference != nil || !again.Ended || again.Hash != s.World().Hash() {
		t.Errorf("%+v, %v", again, err)
	}
}

// Inject takes what the game has registered, and no more in a tick than a player may.
func TestInjectIsBounded(t *testing.T) {
	s := newSimOf(t, goalGame(9), Config{})
	if err := s.Inject(dig{}); !errors.Is(err, ErrNoAction) || !strings.Contains(err.Error(), "dig") {
		t.Error(err)
	}
	if err := s.Inject(nil); !errors.Is(err, ErrNoAction) {
		t.Error(err)
	}
	n := 0
	for ; s.Inject(goal{By: strings.Repeat("né", 99)}) == nil; n++ {
	}
	if err := s.Inject(goal{}); !errors.Is(err, ErrTooMany) || n != maxPlayerInputs {
		t.Errorf("%d, %v", n, err)
	}
	s.Advance()
	if done := events(s, ActionDone); len(done) != n || done[0].Entity != 0 || done[0].Wire != 0 {
		t.Errorf("%d done: %+v", len(done), done[0])
	}
	s.Keep(1, 1)
	for s.Say(make([]byte, maxWordBytes)); !s.Full(); s.Say(make([]byte, maxWordBytes)) {
	}
	if err := s.Inject(goal{}); !errors.Is(err, ErrLater) {
		t.Error(err)
	}
}

// A result is UTF-8 and has its bound, whatever the game says.
func TestAResultFits(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"won", "won"}, {"", ""}, {"bad \xff", "bad "}, {strings.Repeat("é", MaxResult), strings.Repeat("é", MaxResult/2)},
	} {
		w := newSimOf(t, goalGame(1), Config{}).World()
		w.End(tt.text)
		w.End("again")
		if got, ended := w.Ended(); got != tt.want || !ended {
			t.Errorf("%q: %q %v", tt.text, got, ended)
		}
	}
}

// A tick in which things happen allocates nothing, if nobody watches.
func TestUnwatchedFactsAllocateNothing(t *testing.T) {
	if chance.Race {
		t.Skip("the race detector allocates")
	}
	s, players, _ := newMovers(t, 300, 20, ViewConfig{})
	line := []byte("hello")
	tick := func() {
		for _, p := range players {
			s.Chat(p, line)
			s.Away(p)
			s.Back(p)
		}
		s.Advance()
	}
	for range 400 {
		tick()
	}
	if n := testing.AllocsPerRun(100, tick); n != 0 {
		t.Errorf("%v allocations a tick", n)
	}
	if s.Facts() != nil {
		t.Error("facts without Watch")
	}
}

// A world may end before it begins, and is kept like others.
func TestSetupMayEndTheWorld(t *testing.T) {
	g := goalGame(1)
	g.Setup = func(w *World) { w.End("no game") }
	s, err := New(g, Config{})
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		loaded, _, err := Load(g, bytes.NewReader(s.AppendSnapshot(nil)))
		if err != nil {
			t.Fatalf("tick %d: %v", s.Tick(), err)
		}
		if result, ended := loaded.World().Ended(); !ended || result != "no game" {
			t.Fatalf("tick %d: %q %v", s.Tick(), result, ended)
		}
		s.Advance()
	}
	if result, over := s.Over(); !over || result != "no game" {
		t.Errorf("%q %v", result, over)
	}
}
