package gateway

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"parley/world"
)

// 15.12: Do says the truth about whether fn ran, also if the hub has ended before its caller looks.
func TestDoSaysWhetherItRan(t *testing.T) {
	var did, not int
	for range 100 {
		h, _ := newDesk(t, Config{})
		ctx, cancel := context.WithCancel(t.Context())
		var ran [20]bool
		var told [20]chan struct{}
		for i := range ran {
			var err error
			if told[i], err = h.post(func() {
				ran[i] = true
				cancel() // from the first on, the hub may end
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.Run(ctx); err != nil {
			t.Fatal(err)
		}
		for i := range ran {
			if err := h.await(told[i]); (err == nil) != ran[i] {
				t.Fatalf("it ran: %v, and the error is %v", ran[i], err)
			}
			if ran[i] {
				did++
			} else {
				not++
			}
		}
		cancel()
	}
	if did < 100 || not < 100 {
		t.Errorf("%d ran, %d did not: that tries nothing", did, not)
	}
}

// Who would wait for itself is told so: Step, Terrain, and a Do within a Do. Another goroutine waits, and is served.
func TestDoDoesNotWaitForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := pawnGame()
		step := g.Step
		var h *Hub
		var inStep error
		others := make(chan error, 1)
		g.Step = func(w *world.World, in []world.Input) {
			if w.Tick() == 2 {
				inStep = h.Do(func() { t.Error("it ran") })
				go func() { others <- h.Do(func() {}) }()
			}
			step(w, in)
		}
		var d *desk
		h, d = newDesk(t, Config{Game: g})
		d.sit("ann") // an empty room sleeps
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx) }()
		time.Sleep(time.Second)
		var nested error
		if err := h.Do(func() { nested = h.Do(func() { t.Error("it ran") }) }); err != nil {
			t.Error(err)
		}
		if !errors.Is(inStep, ErrPlaying) || !errors.Is(nested, ErrPlaying) {
			t.Errorf("in Step it is %v, within a Do %v", inStep, nested)
		}
		if err := <-others; err != nil {
			t.Errorf("another goroutine is told %v", err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := h.Do(func() {}); err != ErrEnded {
			t.Errorf("afterwards it is %v", err)
		}
	})
}
