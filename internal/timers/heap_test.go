package timers

import (
	"math/rand/v2"
	"testing"
	"time"

	"parley/internal/kit/chance"
)

type thing struct {
	Timer
	id int
}

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func TestHeapAgreesWithAModel(t *testing.T) {
	for _, seed := range chance.Seeds(5) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var h Heap[*thing]
		things := make([]*thing, 64)
		for i := range things {
			things[i] = &thing{id: i}
		}
		model := map[int]time.Time{}
		for step := range 20_000 {
			x := things[rng.IntN(len(things))]
			if rng.IntN(3) == 0 {
				h.Set(x, time.Time{}, false)
				delete(model, x.id)
			} else {
				at := start.Add(time.Duration(rng.IntN(1000)) * time.Millisecond)
				h.Set(x, at, true)
				model[x.id] = at
			}
			var want time.Time
			for _, at := range model {
				if want.IsZero() || at.Before(want) {
					want = at
				}
			}
			first, at, ok := h.First()
			if ok != (len(model) > 0) || h.Len() != len(model) || ok && (!at.Equal(want) || !model[first.id].Equal(want)) {
				t.Fatalf("seed=%d step %d: first is %v at %v (%v), want %v; %d of %d things", seed, step, first, at, ok, want, h.Len(), len(model))
			}
		}
	}
}

func TestSettingAllocatesNothing(t *testing.T) {
	var h Heap[*thing]
	things := make([]*thing, 1000)
	for i := range things {
		things[i] = &thing{id: i}
		h.Set(things[i], start, true)
	}
	n := 0
	if got := testing.AllocsPerRun(1000, func() {
		n++
		h.Set(things[n%1000], start.Add(time.Duration(n*7919%5000)), true)
	}); got != 0 {
		t.Errorf("%.1f allocations", got)
	}
	if got := testing.AllocsPerRun(10, func() {
		for _, x := range things {
			h.Set(x, start, false)
		}
		for _, x := range things {
			h.Set(x, start, true)
		}
	}); got != 0 {
		t.Errorf("%.1f allocations to take all out and put them in again", got)
	}
}

// What is taken out is let go of, and its id is used again.
func TestTheHeapKeepsNothing(t *testing.T) {
	var h Heap[*thing]
	for i := range 1000 {
		x := &thing{id: i}
		h.Set(x, start.Add(time.Duration(i%7)), true)
		if i >= 10 {
			first, _, _ := h.First()
			h.Set(first, time.Time{}, false)
		}
	}
	if len(h.things) > 11 {
		t.Errorf("10 things have %d ids", len(h.things))
	}
	for h.Len() > 0 {
		first, _, _ := h.First()
		h.Set(first, time.Time{}, false)
	}
	for id, x := range h.things {
		if x != nil {
			t.Errorf("thing %d is still held by id %d", x.id, id)
		}
	}
}

// BenchmarkSet moves one of a thousand timers to and fro, as a resend timer does.
func BenchmarkSet(b *testing.B) {
	var h Heap[*thing]
	things := make([]*thing, 1000)
	for i := range things {
		things[i] = &thing{id: i}
		h.Set(things[i], start.Add(time.Duration(i)*time.Millisecond), true)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		x := things[i*7919%1000]
		h.Set(x, start.Add(time.Duration(i*31%100)), true)
		h.Set(x, start.Add(time.Duration(x.id)*time.Millisecond), true)
	}
}
