package gateway

import (
	"bytes"
	"runtime"
	"slices"
	"testing"

	"parley/internal/pagetest"
	"parley/world"
)

// A line that waits for its tick is what was said, whatever others say meanwhile.
func TestAHeldLineIsKept(t *testing.T) {
	h, d := newDesk(t, Config{})
	ann, bob := d.sit("ann"), d.sit("bob")
	ticks(t, h, 1)
	d.inbox.put(request{seat: ann, ask: askSay, tick: h.main.sim.Tick() + 8, line: []byte("ann's words")})
	for range 12 {
		ticks(t, h, 1)
		d.inbox.put(request{seat: bob, ask: askSay, line: []byte("bob's words")})
	}
	if !slices.Contains(d.heard, "ann: ann's words") {
		t.Errorf("heard is %q", d.heard)
	}
}

// docs/limits.md: what a player costs the hub that asks for as much as it may, in lines as long as a message can be, for ticks
// that the world has yet to come to, and for all terrain.
func TestWhatAPlayerCostsTheHub(t *testing.T) {
	const players = 100
	h, d := newDesk(t, Config{})
	d.radius = 1
	line := bytes.Repeat([]byte("x"), 60_000)
	var seats []*Seat
	before := pagetest.Heap()
	for range players {
		seats = append(seats, d.sit(""))
	}
	ticks(t, h, 1)
	for range 3 {
		for _, s := range seats {
			for range maxRequests { // held: a tick far ahead
				d.inbox.put(request{seat: s, ask: askSay, tick: h.main.sim.Tick() + 1000, line: line})
			}
			for i := range int16(maxAsked) {
				h.main.wants(s, world.ChunkPlace{BX: i, BY: 9999}, 0)
			}
		}
		h.take(h.awake)
		d.heard = nil
	}
	for _, s := range seats {
		for range 2 * maxRequests { // and those of the next tick
			d.inbox.put(request{seat: s, ask: askSay, line: line})
		}
		if len(s.held) != maxHeld || len(s.asked) != maxAsked || s.waiting != maxRequests {
			t.Fatalf("%d are held, %d asked for, %d waiting", len(s.held), len(s.asked), s.waiting)
		}
	}
	pagetest.Reaches(t, "hub", "in the game, all queues full", (pagetest.Heap()-before)/players)
	runtime.KeepAlive(h)
}
