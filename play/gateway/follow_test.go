package gateway

import (
	"context"
	"errors"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/world"
)

// facts takes all that is in a tap.
func (t *tap) facts() (list []world.Fact, ended bool) {
	for {
		facts, ended, _ := t.take()
		if len(facts) == 0 {
			return list, ended
		}
		list = append(list, facts...)
	}
}

// A room that is closed while its last tick waits for the disk tells its end all the same.
func TestARoomThatIsClosedBeforeItsTickIsSafeTellsItsEnd(t *testing.T) {
	h, _ := roomsHub(t, Config{})
	r := must(h.Open(Settings{Name: "duel"}))
	src := r.offer()
	r.state = roomRan
	if err := h.CloseRoom("duel"); err != nil {
		t.Fatal(err)
	}
	h.release()
	if list, ended := src.tap.facts(); !ended || len(list) != 1 || list[0].Kind != world.FactEnded {
		t.Errorf("%v, ended %v", list, ended)
	}
}

// endingAt is a game that ends its world at a tick. Its action counts for nothing.
func endingAt(tick uint64) world.Game {
	g := pawnGame()
	g.Actions = world.Actions(nudge{})
	g.Step = func(w *world.World, in []world.Input) {
		for i := range in {
			if n, ok := world.Read[nudge](&in[i]); ok {
				world.Done(w, &in[i], n)
			}
		}
		if w.Tick() == tick {
			w.End("over")
		}
	}
	return g
}

type nudge struct{ By uint8 }

// An empty room sleeps when all that has happened in it is final, and not before: what is to be told would wait for somebody who comes, and
// the room would be closed without its result.
func TestARoomDoesNotSleepBeforeItsEnd(t *testing.T) {
	h, _ := roomsHub(t, Config{Game: endingAt(10)})
	r := must(h.Open(Settings{Name: "duel"}))
	r.wake()
	for range 100 {
		if err := h.Tick(); err != nil {
			t.Fatal(err)
		}
		h.rest(time.Now())
	}
	if list := h.Ended(); len(list) == 0 || list[0].Room != "duel" && list[1].Room != "duel" {
		t.Errorf("%+v", list)
	}
	if r.state != roomEnded {
		t.Error("the room is still there")
	}
}

func TestARoomDoesNotSleepBeforeItsFacts(t *testing.T) {
	const never = 1 << 40
	for at := range 40 {
		h, _ := roomsHub(t, Config{Game: endingAt(never)})
		r := must(h.Open(Settings{Name: "duel"}))
		src := r.offer()
		r.wake()
		for i := range 100 {
			if i == at {
				if err := r.Inject(nudge{1}); err != nil {
					t.Fatal(err)
				}
			}
			if err := h.Tick(); err != nil {
				t.Fatal(err)
			}
			h.rest(time.Now())
		}
		if list, _ := src.tap.facts(); len(list) != 1 {
			t.Errorf("injected after %d ticks: %d facts", at, len(list))
		}
		if r.state != roomAsleep {
			t.Errorf("injected after %d ticks: the room does not sleep", at)
		}
	}
}

// Who wants to follow or to look at the main room while it ends gets the next.
func TestTheNextMainRoomIsFollowed(t *testing.T) {
	defer patient.End().Stop()
	h, _ := roomsHub(t, Config{Game: pawnGame()})
	old := h.main
	old.state = roomStepping
	ctx, stop := context.WithCancel(t.Context())
	followed, viewed := make(chan error), make(chan error)
	go func() {
		var last error
		for _, err := range h.Follow(ctx, MainRoom, FromNow) {
			last = err
		}
		followed <- last
	}()
	(<-h.commands)()
	var seen *world.World
	go func() { viewed <- h.View(MainRoom, func(w *world.World) { seen = w }) }()
	(<-h.commands)()
	old.state, old.over = roomRan, old.outcome()
	h.end(old, errOver{})
	if err := <-viewed; err != nil {
		t.Error(err)
	}
	if seen != h.main.sim.World() || h.main == old {
		t.Error("it saw another world")
	}
	(<-h.commands)() // it is handed back
	if len(h.main.taps) != 1 {
		t.Errorf("%d follow the new room", len(h.main.taps))
	}
	stop()
	if err := <-followed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A gap says which event was the last and where there are more, whatever of the rooms in between is known.
func TestAGapSaysWhatIsMissing(t *testing.T) {
	h, _ := roomsHub(t, Config{Game: pawnGame()})
	now := h.main.settings.Opened
	ended := func(opened int64, kept bool) *Ended {
		return &Ended{Room: MainRoom, Opened: opened, Tick: 50, Index: 1, kept: kept}
	}
	kept, lost, last := ended(20, true), ended(30, false), ended(40, true)
	for _, tt := range []struct {
		name string
		at   Place
		some bool // it has followed a room
		list []*Ended
		room bool // one is open
		next *Ended
		gap  Place
	}{
		{"all that there is", Place{}, false, []*Ended{lost, last}, true, last, Place{}},
		{"from now on", FromNow, false, []*Ended{kept}, true, nil, Place{}},
		{"in a room that is kept", Place{20, 7, 1}, false, []*Ended{kept, last}, true, kept, Place{}},
		{"at the end of a room", Place{20, 50, 1}, false, []*Ended{kept}, true, nil, Place{}},
		{"in a room that is forgotten", Place{10, 7, 1}, false, []*Ended{kept}, true, kept, Place{Opened: 20}},
		{"in a room that is forgotten, without another", Place{10, 7, 1}, false, nil, true, nil, Place{Opened: now}},
		{"before a room that was not kept", Place{20, 50, 1}, true, []*Ended{kept, lost, last}, true, last, Place{Opened: 40}},
		{"before a room that was not kept and the one of now", Place{20, 50, 1}, true, []*Ended{kept, lost}, true, nil, Place{Opened: now}},
		{"before a room that was not kept, the last of its name", Place{20, 50, 1}, true, []*Ended{kept, lost}, false, nil, Place{30, 50, 1}},
	} {
		h.ended = tt.list
		if h.rooms[MainRoom] = h.main; !tt.room {
			delete(h.rooms, MainRoom)
		}
		f := follower{h: h, name: MainRoom, at: tt.at, some: tt.some}
		if next, gap := f.findEnded(); next != tt.next || gap != tt.gap || f.at != tt.at {
			t.Errorf("%s: next is %v, with a gap up to %v, at %v; want %v, %v, %v", tt.name, next, gap, f.at, tt.next, tt.gap, tt.at)
		}
	}
	h.ended, h.rooms[MainRoom] = []*Ended{kept, lost}, h.main
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	at := Place{20, 50, 1}
	told := make(chan error, 1)
	go func() {
		for ev, err := range h.Follow(ctx, MainRoom, at) {
			if ev.Place != at {
				t.Errorf("the place beside the gap is %v, and not that of the last event", ev.Place)
			}
			told <- err
		}
	}()
	patient.Value(h.commands)()
	var gap *GapError
	if err := patient.Value(told); !errors.As(err, &gap) || gap.After != at || gap.GoOn != (Place{Opened: now}) {
		t.Errorf("a gap is told as %v", err)
	}
}

// Those who look at a room without end do not stop it: a tick that is due comes first, and then one of them at least.
func TestViewsDoNotStopARoom(t *testing.T) {
	h, _ := roomsHub(t, Config{})
	r := h.main
	h.now, r.next = time.Now(), time.Now().Add(time.Hour)
	var viewers [3]chan *Room
	lent := func() (n int) {
		for _, v := range viewers {
			n += len(v)
		}
		return n
	}
	want := func(what string, n int, free bool) {
		t.Helper()
		if lent() != n || r.quiet() != free {
			t.Errorf("%s: %d have looked, want %d; quiet %v", what, lent(), n, r.quiet())
		}
	}
	for i := range viewers {
		viewers[i] = make(chan *Room, 1)
		h.lend(MainRoom, viewers[i])
	}
	want("the first", 1, false)
	r.handedBack()
	want("the second, before the tick", 2, false)
	r.next = h.now
	r.handedBack()
	want("the tick is due", 2, true)
	if err := h.Tick(); err != nil {
		t.Fatal(err)
	}
	r.lendNext()
	want("the third, after the tick", 3, false)
	r.handedBack()
	want("at last", 3, true)
}
