package gateway

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"parley/protocol/duplex"
	duplexcore "parley/protocol/duplex/core"
	"parley/world"
)

// duplexDesk is the dialect with a server's core alone, whose turns the test takes.
type duplexDesk struct{ *Duplex }

func (d duplexDesk) Shutdown(context.Context) error { return nil }

// 15.2: the hub may run between the end of a connection and the news of it. It does not give the number of a player whom it
// still has to a newcomer.
func TestANumberIsFreeWhenItsPlayerHasLeft(t *testing.T) {
	const late = 200 // ticks until a player has an entity of its own
	g := pawnGame()
	step := g.Step
	var waiting []world.Input
	tick := 0
	g.Step = func(w *world.World, in []world.Input) {
		for i := range in {
			if in[i].Kind == world.Join {
				waiting = append(waiting, in[i])
			} else {
				step(w, in[i:i+1])
			}
		}
		if tick++; tick%late == 0 {
			step(w, waiting)
			waiting = nil
		}
	}
	h := must(New(Config{Game: g, PerAddress: -1}))
	d, config := newDuplex(h, DuplexConfig{})
	now := time.Unix(1_800_000_000, 0)
	core := duplexcore.NewMux(now, config, &duplexcore.Shared{Rand: rand.New(rand.NewPCG(1, 2))}, [32]byte{})
	d.scene, d.loop = &core.Scene, func(fn func()) error { fn(); return nil }
	h.Add(duplexDesk{d})

	// All numbers are in use or at rest, as after some hours: what is given back is given again.
	var others []uint16
	for n := h.main.sim.Reserve(); n != 0; n = h.main.sim.Reserve() {
		others = append(others, n)
	}
	round := func() map[uint16]bool { // has a thousand numbers go from hand to hand
		got := map[uint16]bool{}
		for _, n := range others[:1000] {
			h.main.sim.Release(n)
		}
		ticks(t, h, 21)
		others = others[1000:]
		for n := h.main.sim.Reserve(); n != 0; n = h.main.sim.Reserve() {
			got[n] = true
			others = append(others, n)
		}
		return got
	}
	for range 3 { // which uses up those that were never given
		round()
	}

	conn := core.Accept(now, netip.MustParseAddrPort("192.0.2.1:4000"))
	core.HandleBytes(now, conn, []byte{duplexcore.CodeConnInit})
	core.HandleBytes(now, conn, []byte{duplexcore.CodeConnFailed}) // it has no feed
	if _, ev, ok := core.PollEvent(); !ok || ev.Kind != duplex.EventJoined {
		t.Fatalf("it has not joined: %v", ev)
	} else {
		d.handle(conn, ev)
	}
	number := uint16(conn.Player())
	core.HandleEnd(now, conn, "")
	_, ev, ok := core.PollEvent()
	if !ok || ev.Kind != duplex.EventClosed {
		t.Fatalf("it is not closed: %v", ev)
	}
	// Here the hub comes between.
	for range 5 {
		if round()[number] {
			t.Fatalf("number %d is another's while its player is in the game", number)
		}
		if len(h.main.players) != 1 {
			t.Fatalf("%d players are in the game", len(h.main.players))
		}
	}
	d.handle(conn, ev)
	free := false
	for range 5 {
		free = free || round()[number]
	}
	if len(h.main.players) != 0 || !free {
		t.Errorf("%d players are in the game, and the number is free: %v", len(h.main.players), free)
	}
}
