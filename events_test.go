package parley_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley"
	"parley/internal/patient"
	"parley/play/bots"
	"parley/test/field"
	"parley/world"
)

// A quiz is a game in which players score, until one of them has finished it.
type Pawn struct {
	world.Body
	Points uint16
}

// A Board counts what the world itself scores.
type Board struct{ Total uint32 }

type Score struct{ Points uint16 }

type Finish struct{ Word string }

func quiz() parley.Game {
	return parley.Game{
		Name: "quiz", Kinds: world.Kinds(Pawn{}, Board{}), Actions: world.Actions(Score{}, Finish{}),
		Setup: func(w *world.World) { world.Spawn(w, Board{}) },
		Step: func(w *world.World, in []world.Input) {
			for i := range in {
				in := &in[i]
				if in.Kind == world.Join {
					w.Own(in.Player, world.SpawnFor(w, in, Pawn{}))
				}
				if s, ok := world.Read[Score](in); ok {
					if s.Points == 13 {
						w.Deny(in)
						continue
					}
					for _, b := range world.All[Board](w) {
						if in.Player == 0 {
							b.Total += uint32(s.Points)
						}
					}
					if _, pawn := world.Avatar[Pawn](w, in.Player); pawn != nil {
						pawn.Points += s.Points
						s.Points = pawn.Points // what it has by now
					}
					world.Done(w, in, s)
				}
				if f, ok := world.Read[Finish](in); ok {
					world.Done(w, in, f)
					w.End(f.Word)
				}
			}
		},
	}
}

// pointsInjected looks at the board.
func pointsInjected(t *testing.T, s *field.Server, room string) (n uint32) {
	t.Helper()
	if err := s.View(room, func(w *world.World) {
		for _, b := range world.All[Board](w) {
			n = b.Total
		}
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

func quizConfig() parley.Config {
	c := field.Replica()
	c.TickRate = 100
	return c
}

// told is what a consumer of events has read.
type told struct {
	mu    sync.Mutex
	lines []string
	last  parley.Place
	err   error
	over  chan struct{}
	stop  context.CancelFunc
}

// listen has a consumer read events until the test ends.
func listen(t *testing.T, s *field.Server, room string, after parley.Place) *told {
	ctx, stop := context.WithCancel(t.Context())
	c := &told{over: make(chan struct{}), stop: stop, last: after}
	go func() {
		defer close(c.over)
		for ev, err := range s.Events(ctx, room, after) {
			c.mu.Lock()
			if err != nil {
				c.err = err
			} else {
				if ev.Place.Compare(c.last) <= 0 && c.last != parley.FromNow {
					t.Errorf("an event at %v behind %v", ev.Place, c.last)
				}
				c.lines, c.last = append(c.lines, line(ev)), ev.Place
			}
			c.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		defer patient.End().Stop()
		stop()
		<-c.over
	})
	return c
}

func line(ev parley.Event) string {
	text := fmt.Sprintf("%v %s", ev.Kind, ev.Name)
	if s, ok := parley.As[Score](ev); ok {
		text += fmt.Sprintf(" %d", s.Points)
	}
	return strings.Join(strings.Fields(text+" "+ev.Text), " ")
}

func (c *told) read() (lines []string, last parley.Place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lines), c.last
}

func (c *told) want(t *testing.T, s *field.Server, lines ...string) parley.Place {
	t.Helper()
	s.Within(t, "events "+strings.Join(lines, ", "), func() bool {
		select {
		case <-c.over: // it has read all that it will
			return true
		default:
		}
		got, _ := c.read()
		return len(got) >= len(lines)
	})
	got, last := c.read()
	if !slices.Equal(got, lines) {
		c.mu.Lock()
		defer c.mu.Unlock()
		t.Fatalf("got  %q\nwant %q, %v", got, lines, c.err)
	}
	return last
}

// ended waits for the end of the iteration.
func (c *told) ended(t *testing.T) error {
	t.Helper()
	defer patient.End().Stop()
	<-c.over
	return c.err
}

func score(t *testing.T, s *field.Server, v *field.Visitor, n uint64) {
	t.Helper()
	if err := v.Act(s.Schema.ActionNamed("score"), world.UintValue(world.U16, n)); err != nil {
		t.Fatal(err)
	}
}

// What happens is told once, in order, and only what stays: joins, actions with what Step made of them, what was said as Config.Chat has it,
// and what the world itself does.
func TestEventsTellWhatHappens(t *testing.T) {
	t.Parallel() // it waits for most of its time
	c := quizConfig()
	c.Chat = func(l parley.ChatLine) (string, bool) {
		switch {
		case l.Room != "main" || l.Name != "ann" || l.Dialect != "replica" || l.Player == 0:
			t.Errorf("%+v", l)
		case l.Text == "boom":
			panic("boom")
		case l.Text == "long":
			return strings.Repeat("x", 513), true
		case l.Text == "broken":
			return "\xff", true
		case l.Text == "none":
			return "", true
		}
		return strings.ReplaceAll(l.Text, "darn", "****"), l.Text != "bad"
	}
	s := field.Serve(t, quiz(), c)
	all := listen(t, s, "main", parley.Place{})
	ann := field.Enter(t, "replica", s.At["replica"], bots.Config{Schema: s.Schema, Room: "main", Name: "ann"})
	want := []string{"joined ann"}
	all.want(t, s, want...)
	score(t, s, ann, 4)
	score(t, s, ann, 13)
	score(t, s, ann, 3)
	want = append(want, "acted ann 4", "acted ann 7")
	all.want(t, s, want...)
	for i, text := range []string{"bad", "boom", "long", "broken", "none"} {
		if err := ann.Say(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		s.Within(t, text, func() bool { return s.WorldStats().DroppedChat == uint64(i+1) })
	}
	if err := ann.Say(t.Context(), "darn it"); err != nil {
		t.Fatal(err)
	}
	s.Within(t, "the line is read", func() bool { return ann.Heard("**** it") })
	want = append(want, "said ann **** it")
	all.want(t, s, want...)
	if err := s.Inject("main", Score{Points: 9}); err != nil {
		t.Fatal(err)
	}
	last := all.want(t, s, append(want, "acted 9")...)
	want = append(want, "acted 9")
	again := listen(t, s, "main", last) // nothing is missed, and nothing comes twice
	if err := s.Broadcast("main", "closing"); err != nil {
		t.Fatal(err)
	}
	ann.Leave()
	all.want(t, s, append(want, "said closing", "left ann")...)
	again.want(t, s, "said closing", "left ann")
	if ann.Heard("bad") || ann.Heard("boom") || ann.Heard("none") {
		t.Error("a line was said that was dropped")
	}
	gap := listen(t, s, "main", parley.Place{Opened: last.Opened, Tick: 1})
	var missing *parley.GapError
	if err := gap.ended(t); !errors.As(err, &missing) || missing.GoOn.Opened != last.Opened {
		t.Errorf("a place that is too old: %v", err)
	}
	s.Close()
	for _, c := range []*told{all, again} {
		if err := c.ended(t); !errors.Is(err, parley.ErrClosed) {
			t.Errorf("the server has ended, and the events with %v", err)
		}
	}
}

// The methods refuse what they cannot do with an error that says so.
func TestEventsViewAndInjectRefuse(t *testing.T) {
	t.Parallel() // it waits for most of its time
	s := field.Serve(t, quiz(), quizConfig())
	s.Audience(t)
	if err := listen(t, s, "nowhere", parley.Place{}).ended(t); !errors.Is(err, parley.ErrNoRoom) {
		t.Error(err)
	}
	if err := s.View("nowhere", nil); !errors.Is(err, parley.ErrNoRoom) {
		t.Error(err)
	}
	if err := s.Inject("nowhere", Score{}); !errors.Is(err, parley.ErrNoRoom) || err.Error() != "parley: no such room: nowhere" {
		t.Error(err)
	}
	if err := s.Inject("main", Pawn{}); !errors.Is(err, parley.ErrNoAction) || !strings.Contains(err.Error(), "Pawn") {
		t.Error(err)
	}
	func() {
		defer func() {
			if recover() != "mine" {
				t.Error("the panic is not the caller's")
			}
		}()
		s.View("main", func(*world.World) { panic("mine") })
	}()
	looked := false
	err := s.View("main", func(w *world.World) {
		looked = w.Mode() == ""
		for name, err := range map[string]error{"View": s.View("main", func(*world.World) {}), "Inject": s.Inject("main", Score{})} {
			if !errors.Is(err, parley.ErrInStep) {
				t.Errorf("%s within View: %v", name, err)
			}
		}
		if _, err := s.Players(); !errors.Is(err, parley.ErrInStep) {
			t.Error(err)
		}
	})
	if err != nil || !looked {
		t.Error(err)
	}
	s.Close()
	if err := s.View("main", nil); !errors.Is(err, parley.ErrClosed) {
		t.Error(err)
	}
	if _, ok := s.Result("main"); ok {
		t.Error("a result")
	}
}

// While somebody looks at a room it waits, and no other room does.
func TestAViewHoldsItsRoomAlone(t *testing.T) {
	t.Parallel() // it waits for most of its time
	s := field.Serve(t, quiz(), quizConfig())
	if err := s.Open(parley.Room{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	for _, room := range []string{"main", "other"} {
		field.Enter(t, "replica", s.At["replica"], bots.Config{Schema: s.Schema, Room: room})
	}
	tickOf := func(room string) uint64 {
		for _, r := range roomsOf(t, s) {
			if r.Name == room {
				return r.Tick
			}
		}
		return 0
	}
	defer patient.End().Stop()
	looking, goOn, done := make(chan uint64), make(chan struct{}), make(chan error)
	go func() {
		done <- s.View("main", func(w *world.World) {
			tick := w.Tick()
			defer patient.End().Stop()
			looking <- tick
			<-goOn
			if w.Tick() != tick {
				t.Error("the world went on")
			}
		})
	}()
	tick := <-looking
	from := tickOf("other")
	s.Within(t, "the other room goes on", func() bool { return tickOf("other") > from+30 })
	if got := tickOf("main"); got > tick+2 {
		t.Errorf("the room is at tick %d, and was looked at in tick %d", got, tick)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Error(err)
	}
	s.Within(t, "the room goes on", func() bool { return tickOf("main") > tick+30 })
	if err := s.View("main", func(w *world.World) {
		if n := world.Count[Pawn](w); n != 1 {
			t.Errorf("%d pawns", n)
		}
	}); err != nil {
		t.Error(err)
	}
}

// A room that nobody is in wakes up for what is injected.
func TestASleepingRoomTakesAnAction(t *testing.T) {
	t.Parallel() // it waits for most of its time
	s := field.Serve(t, quiz(), quizConfig())
	if err := s.Open(parley.Room{Name: "asleep", Idle: -1}); err != nil {
		t.Fatal(err)
	}
	all := listen(t, s, "asleep", parley.Place{})
	for i := range 3 {
		s.Within(t, "it sleeps", func() bool { return roomsOf(t, s)[0].Asleep })
		if err := s.Inject("asleep", Score{Points: uint16(i)}); err != nil {
			t.Fatal(err)
		}
		all.want(t, s, []string{"acted 0", "acted 1", "acted 2"}[:i+1]...)
	}
}

// A game ends its room: players, events and Result tell with what. The main room begins anew, and the events go on with it.
func TestAGameEndsItsRoom(t *testing.T) {
	t.Parallel() // it waits for most of its time
	c := field.Config()
	c.TickRate = 100
	s := field.Serve(t, quiz(), c)
	if err := s.Open(parley.Room{Name: "duel", Mode: "two"}); err != nil {
		t.Fatal(err)
	}
	duel, main := listen(t, s, "duel", parley.Place{}), listen(t, s, "main", parley.FromNow)
	ann := field.Enter(t, "replica", s.At["replica"], bots.Config{Schema: s.Schema, Name: "ann", Room: "duel"})
	if err := ann.Act(s.Schema.ActionNamed("finish"), world.TextValue("ann wins")); err != nil {
		t.Fatal(err)
	}
	if got := ann.Gone(); !strings.Contains(got, "the room has ended: ann wins") {
		t.Errorf("the player is told %q", got)
	}
	if err := duel.ended(t); err != nil {
		t.Error(err)
	}
	duel.want(t, s, "joined ann", "acted ann", "ended ann wins")
	if e, ok := s.Result("duel"); !ok || e.Result != "ann wins" || e.Room != "duel" || e.Tick == 0 {
		t.Errorf("%+v %v", e, ok)
	}
	if rooms := roomsOf(t, s); len(rooms) != 1 || rooms[0].Name != "main" {
		t.Fatalf("%+v", rooms)
	}
	var want []string
	for round, dialect := range []string{"replica", "relay", "duplex"} {
		v := field.Enter(t, dialect, s.At[dialect], bots.Config{Schema: s.Schema})
		word := fmt.Sprintf("round %d", round)
		if err := s.Inject("main", Finish{word}); err != nil {
			t.Fatal(err)
		}
		if got := v.Gone(); !strings.Contains(got, word) && !v.Heard("the room has ended: "+word) {
			t.Errorf("%s is told %q", dialect, got)
		}
		want = append(want, "joined guest-1", "acted", "ended "+word)
		main.want(t, s, want...)
		if e, ok := s.Result("main"); !ok || e.Result != word {
			t.Errorf("%+v %v", e, ok)
		}
		if r := roomsOf(t, s)[0]; r.Name != "main" || r.Seed != 7 || r.Players != 0 {
			t.Errorf("the new room is %+v", r)
		}
	}
	if err := s.CloseRoom("main"); !errors.Is(err, parley.ErrMainRoom) {
		t.Error(err)
	}
}

// A room that is closed tells so, with all that happened in it.
func TestAClosedRoomTellsTheRest(t *testing.T) {
	t.Parallel() // it waits for most of its time
	s := field.Serve(t, quiz(), quizConfig())
	if err := s.Open(parley.Room{Name: "duel"}); err != nil {
		t.Fatal(err)
	}
	all := listen(t, s, "duel", parley.Place{})
	field.Enter(t, "replica", s.At["replica"], bots.Config{Schema: s.Schema, Name: "ann", Room: "duel"})
	all.want(t, s, "joined ann")
	if err := s.Inject("duel", Score{5}); err != nil {
		t.Fatal(err)
	}
	s.Within(t, "it was done", func() bool { return pointsInjected(t, s, "duel") == 5 })
	if err := s.CloseRoom("duel"); err != nil {
		t.Fatal(err)
	}
	if err := all.ended(t); err != nil {
		t.Error(err)
	}
	got, _ := all.read()
	if len(got) < 2 || got[len(got)-1] != "ended" || got[1] != "acted 5" {
		t.Errorf("%q", got)
	}
	if _, ok := s.Result("duel"); ok {
		t.Error("a room that was closed has a result")
	}
}

// Events of a kept room can be had again after a restart: behind each place, the same. So can those of rooms that have ended,
// and the results.
func TestEventsGoOnAfterARestart(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for _, mode := range []parley.Keep{parley.KeepSecond, parley.KeepTick} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			c := quizConfig()
			c.Keep, c.DataDir = mode, filepath.Join(t.TempDir(), "data")
			s := field.Serve(t, quiz(), c)
			all := listen(t, s, "main", parley.Place{})
			ann := field.Enter(t, "replica", s.At["replica"], bots.Config{Schema: s.Schema, Room: "main", Name: "ann"})
			var places []parley.Place
			want := []string{"joined ann"}
			for i := range 4 {
				if i > 0 {
					if err := s.Inject("main", Score{uint16(i)}); err != nil {
						t.Fatal(err)
					}
					want = append(want, fmt.Sprintf("acted %d", i))
				}
				places = append(places, all.want(t, s, want...))
			}
			ann.Leave()
			want = append(want, "left ann")
			all.want(t, s, want...)
			if err := s.Inject("main", Score{9}); err != nil {
				t.Fatal(err)
			}
			s.Within(t, "it was done", func() bool { return pointsInjected(t, s, "main") == 1+2+3+9 })
			want = append(want, "acted 9") // perhaps nobody is told before the end
			s.Close()
			if err := all.ended(t); !errors.Is(err, parley.ErrClosed) {
				t.Error(err)
			}

			s = field.Serve(t, quiz(), c)
			if err := s.Inject("main", Finish{"done"}); err != nil {
				t.Fatal(err)
			}
			want = append(want, "acted", "ended done")
			for i, place := range places {
				listen(t, s, "main", place).want(t, s, want[i+1:]...)
			}
			s.Within(t, "the result", func() bool { _, ok := s.Result("main"); return ok })
			listen(t, s, "main", parley.Place{}).want(t, s, want...) // it is put aside by now, or will be
			if err := s.Inject("main", Score{1}); err != nil {
				t.Fatal(err)
			}
			s.Within(t, "it was done", func() bool { return pointsInjected(t, s, "main") == 1 })
			s.Close()

			s = field.Serve(t, quiz(), c)
			if e, ok := s.Result("main"); !ok || e.Result != "done" {
				t.Errorf("%+v %v", e, ok)
			}
			want = append(want, "acted 1")
			for i, place := range places {
				listen(t, s, "main", place).want(t, s, want[i+1:]...)
			}
			gone := places[0]
			gone.Opened--
			var gap *parley.GapError
			if err := listen(t, s, "main", gone).ended(t); !errors.As(err, &gap) || gap.GoOn.Opened != places[0].Opened {
				t.Errorf("a place of a room that is gone: %v", err)
			} else {
				listen(t, s, "main", gap.GoOn).want(t, s, want...)
			}
		})
	}
}

// Behind the end of a room comes all of the next room of its name, whatever their ticks are.
func TestEventsGoOnInTheNextRoom(t *testing.T) {
	t.Parallel() // it waits for most of its time
	c := quizConfig()
	c.Keep, c.DataDir, c.TickRate = parley.KeepTick, filepath.Join(t.TempDir(), "data"), 200
	s := field.Serve(t, quiz(), c)
	all := listen(t, s, "main", parley.Place{})
	field.Enter(t, "replica", s.At["replica"], bots.Config{Schema: s.Schema, Room: "main", Name: "ann"})
	all.want(t, s, "joined ann")
	s.Within(t, "it is older than the next room will be", func() bool { return roomsOf(t, s)[0].Tick > 300 })
	if err := s.Inject("main", Finish{"done"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"joined ann", "acted", "ended done"}
	end := all.want(t, s, want...)
	if err := s.Inject("main", Score{1}); err != nil {
		t.Fatal(err)
	}
	all.want(t, s, append(want, "acted 1")...)
	next := roomsOf(t, s)[0]
	s.Close()
	if next.Tick >= end.Tick {
		t.Skipf("the next room is at tick %d, and the one before ended at %d", next.Tick, end.Tick)
	}
	s = field.Serve(t, quiz(), c) // with a snapshot behind the action
	listen(t, s, "main", end).want(t, s, "acted 1")
}
