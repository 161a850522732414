package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"parley/internal/patient"
	"parley/world"
)

func facts(n int) []world.Fact { return make([]world.Fact, n) }

// A consumer that takes nothing costs a bounded buffer. It is given what is in it, and then told that it was too slow.
func TestATapSpills(t *testing.T) {
	p := newTap()
	poured, full := 0, 0
	for i := range uint64(maxTapped) {
		if p.pour(batch{i, facts(3)}) {
			full++
		}
		poured += 3
	}
	if full != 1 {
		t.Errorf("it was full %d times: a slow consumer counts once", full)
	}
	p.release(1 << 60)
	if len(p.ready) != 1 {
		t.Error("nobody is told")
	}
	took := 0
	for {
		f, ended, why := p.take()
		if ended {
			if why != ErrSlow {
				t.Errorf("it ends with %v", why)
			}
			break
		}
		if len(f) == 0 {
			t.Fatal("nothing, and no end")
		}
		took += len(f)
	}
	if took > maxTapped || took < maxTapped-3 || poured <= maxTapped {
		t.Errorf("%d of %d", took, poured)
	}
	big := newTap() // one tick may have more than that
	big.release(1)
	big.pour(batch{1, facts(maxTapped + 1)})
	if f, _, _ := big.take(); len(f) != maxTapped+1 {
		t.Errorf("%d facts of one tick", len(f))
	}
}

// A consumer that was cut off is counted.
func TestSlowConsumersAreCounted(t *testing.T) {
	h, _ := roomsHub(t, Config{Game: pawnGame()})
	slow, quick := newTap(), newTap()
	h.main.taps = []*tap{slow, quick}
	quick.release(1 << 60)
	for range 3 {
		h.main.pour(facts(maxTapped))
		quick.take()
	}
	h.look()
	if n := h.Stats().SlowConsumers; n != 1 {
		t.Errorf("%d consumers were too slow, want 1", n)
	}
}

// What is not on disk is not told, also when the room has ended. If the room has failed, it never is.
func TestATapWaitsForTheDisk(t *testing.T) {
	for _, why := range []error{nil, ErrFailed} {
		p := newTap()
		p.pour(batch{5, facts(1)})
		p.pour(batch{9, facts(2)})
		p.release(4)
		if f, ended, _ := p.take(); f != nil || ended {
			t.Fatalf("%v %v", f, ended)
		}
		p.release(5)
		p.release(3) // it never goes back
		if f, _, _ := p.take(); len(f) != 1 {
			t.Fatalf("%d facts", len(f))
		}
		p.end(why)
		p.end(ErrSlow) // the first end counts
		if f, ended, got := p.take(); f != nil || ended != (why != nil) || got != why {
			t.Fatalf("%v: %v %v", f, ended, got)
		}
		p.release(9)
		if f, ended, _ := p.take(); len(f) != 2 || ended {
			t.Fatalf("%v %v", f, ended)
		}
		if f, ended, got := p.take(); f != nil || !ended || got != why {
			t.Fatalf("%v %v %v", f, ended, got)
		}
	}
}

func TestPlacesAreReadAndWritten(t *testing.T) {
	list := []Place{{}, {0, 0, 1}, {0, 7, 0}, {1, 0, 0}, {1794952671467580, 22, 1<<32 - 1}, {1794952671467580, 1<<64 - 1, 0}, FromNow}
	for i, p := range list {
		got, err := ParsePlace(p.String())
		if err != nil || got != p {
			t.Errorf("%v: %v, %v", p, got, err)
		}
		for j, q := range list {
			if got, want := p.Compare(q), max(-1, min(1, i-j)); got != want {
				t.Errorf("%v and %v: %d, want %d", p, q, got, want)
			}
		}
		text, _ := p.MarshalText()
		var again Place
		if err := again.UnmarshalText(text); err != nil || again != p {
			t.Error(again, err)
		}
	}
	for _, bad := range []string{"1", "1.2", "1.2.3.4", "a.b.c", "1.-2.3", "1.2.4294967296", "..", "1.2.3 "} {
		if p, err := ParsePlace(bad); err == nil || p != (Place{}) {
			t.Errorf("%q is %v, %v", bad, p, err)
		}
	}
	if p, err := ParsePlace(""); p != (Place{}) || err != nil {
		t.Error(p, err)
	}
}

// runHub runs a hub with a desk until the test ends.
func runHub(t *testing.T, c Config) (*Hub, *desk) {
	t.Helper()
	h, d := newDesk(t, c)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		_ = patient.Value(ended) // a game that fails is what some tests are about
	})
	return h, d
}

// followed reads events of a room until the iteration ends.
func followed(t *testing.T, h *Hub, room string) (read func() ([]string, error)) {
	var lines []string
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ev, err := range h.Follow(t.Context(), room, FromNow) {
			if err != nil {
				failed = err
				break
			}
			lines = append(lines, fmt.Sprint(ev.Kind, " ", ev.Name))
		}
	}()
	t.Cleanup(func() { patient.Value(done) })
	return func() ([]string, error) {
		patient.Value(done)
		return lines, failed
	}
}

// A room that is closed while its step runs tells all that happened, once the step has ended.
func TestARoomIsClosedInItsStep(t *testing.T) {
	g := pawnGame()
	step := g.Step
	in, goOn := make(chan struct{}), make(chan struct{})
	g.Step = func(w *world.World, inputs []world.Input) {
		step(w, inputs)
		if w.Mode() == "slow" && len(inputs) > 0 {
			in <- struct{}{}
			<-goOn
		}
	}
	h, d := runHub(t, Config{Game: g, TickRate: 200})
	defer patient.End().Stop()
	if err := h.Do(func() { must(h.Open(Settings{Name: "slow", Mode: "slow"})) }); err != nil {
		t.Fatal(err)
	}
	read := followed(t, h, "slow")
	waitFor(t, func() {}, "somebody follows", func() (ok bool) { h.Do(func() { ok = len(h.rooms["slow"].taps) == 1 }); return ok })
	s := d.chair()
	s.wants = "slow"
	d.inbox.put(request{seat: s, ask: askEnter, name: "ann"})
	<-in
	if err := h.Do(func() {
		if err := h.CloseRoom("slow"); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if got, err := read(); err != nil || !slices.Equal(got, []string{"joined ann", "ended "}) {
		t.Errorf("%q, %v", got, err)
	}
}

// The events of a room whose game fails end with an error.
func TestEventsOfARoomThatFails(t *testing.T) {
	g := pawnGame()
	step := g.Step
	g.Step = func(w *world.World, inputs []world.Input) {
		step(w, inputs)
		if w.Mode() == "weak" && w.Tick() > 60 {
			panic("it was too much")
		}
	}
	h, d := runHub(t, Config{Game: g, TickRate: 200})
	if err := h.Do(func() { must(h.Open(Settings{Name: "weak", Mode: "weak"})) }); err != nil {
		t.Fatal(err)
	}
	read := followed(t, h, "weak")
	waitFor(t, func() {}, "somebody follows", func() (ok bool) { h.Do(func() { ok = len(h.rooms["weak"].taps) == 1 }); return ok })
	s := d.chair()
	s.wants = "weak"
	d.inbox.put(request{seat: s, ask: askEnter, name: "ann"})
	if got, err := read(); !errors.Is(err, ErrFailed) || !slices.Equal(got, []string{"joined ann"}) {
		t.Errorf("%q, %v", got, err)
	}
	waitFor(t, h.rouse, "it is forgotten", func() (ok bool) { h.Do(func() { ok = len(h.ended) == 0 && len(h.tapped) == 0 }); return ok })
}

// Consumers come and go, and a room that nobody follows gathers nothing.
func TestConsumersComeAndGo(t *testing.T) {
	h, d := runHub(t, Config{TickRate: 200})
	s := d.sit("ann")
	for range 20 {
		ctx, stop := context.WithCancel(t.Context())
		d.inbox.put(request{seat: s, ask: askSay, line: []byte("hello")})
		d.inbox.put(request{seat: s, ask: askAct, action: h.Schema().Action(0), params: [world.MaxParams]world.Value{
			world.UintValue(world.U32, 1), world.UintValue(world.Entity, 0), world.TextValue("x"), world.FloatValue(world.F64, 1)}})
		for range h.Follow(ctx, MainRoom, Place{}) {
			break
		}
		stop()
	}
	waitFor(t, h.rouse, "nobody follows", func() (ok bool) {
		h.Do(func() { ok = len(h.main.taps) == 0 && len(h.tapped) == 0 })
		return ok
	})
}
