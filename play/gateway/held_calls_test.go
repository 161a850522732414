package gateway

import (
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/patient"
)

// A server that does not come to run what a room's log tells it holds its node's goroutines back, and says how much waits. Nothing is lost or out of order.
func TestASlowStageHoldsItsNodeBack(t *testing.T) {
	c := &aCluster{}
	h, _, _ := newAlly(t, Config{}, c)
	var part *aPart
	if err := h.Do(func() { part, h.patience = c.parts[MainRoom], 1<<30 }); err != nil {
		t.Fatal(err)
	}
	slow, busy := make(chan struct{}), make(chan struct{})
	if !part.config.Run(func() { close(busy); patient.Value(slow) }) {
		t.Fatal("the room has ended")
	}
	patient.Value(busy)
	const calls = 4 * maxHeldCalls
	var asked atomic.Int64
	ran, wrong := 0, 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range calls {
			part.config.Run(func() {
				if ran != i {
					wrong++
				}
				ran++
			})
			asked.Add(1)
		}
	}()
	held := func() (n int) {
		if err := h.Do(h.look); err != nil {
			t.Fatal(err)
		}
		return h.Stats().HeldCalls
	}
	patient.Until(t, "the server has as much as it takes", func() bool { return held() == maxHeldCalls })
	<-time.After(20 * time.Millisecond)
	if n := asked.Load(); n != maxHeldCalls-1 || held() != maxHeldCalls {
		t.Errorf("%d calls are held, %d are told", n, held())
	}
	close(slow)
	patient.Value(done)
	patient.Until(t, "all are done", func() bool { return held() == 0 })
	if err := h.Do(func() {
		if ran != calls || wrong > 0 {
			t.Errorf("%d of %d calls were done, %d of them out of order", ran, calls, wrong)
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// A room that ends lets those go who wait for it.
func TestARoomThatEndsHoldsNobody(t *testing.T) {
	c := &aCluster{}
	h, _, a := newAlly(t, Config{}, c)
	a.list(t, c, 1, nil)
	if err := h.Bring("room-0"); err != nil {
		t.Fatal(err)
	}
	var part *aPart
	_ = h.Do(func() { part, h.patience = c.parts["room-0"], 1<<30 })
	slow := make(chan struct{})
	part.config.Run(func() { patient.Value(slow) })
	over := make(chan struct{})
	go func() {
		defer close(over)
		for part.config.Run(func() {}) {
		}
	}()
	if err := h.Do(func() { a.told("room-0", nil, false) }); err != nil {
		t.Fatal(err)
	}
	patient.Value(over)
	close(slow)
}
