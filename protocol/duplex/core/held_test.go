package core

import (
	"fmt"
	"net/netip"
	"testing"

	"parley/internal/pagetest"
	"parley/internal/shell/shelltest"
)

// What hostile clients have the core hold is what docs/limits.md says, in each state.
func TestWhatAMainHolds(t *testing.T) {
	if shelltest.Race {
		t.Skip("the race detector has memory of its own")
	}
	schema := *gameSchema
	schema.Queries = map[uint8]Query{
		64: gameSchema.Queries[64], 65: gameSchema.Queries[65],
		67: {Data: Fixed(1026), Reply: Fixed(2), Pass: true}, // as long as the game server lets a pass be
	}
	measure := func(n int, drive func(g *guest)) int {
		r := newRoom(t, Config{Schema: &schema, WaitingPerAddress: 64})
		for i := range 64 { // so that all that is made once is made
			g := r.open(fmt.Sprintf("10.9.0.%d", i))
			r.mux.HandleEnd(r.now, g.Conn, "")
		}
		r.drain()
		before := pagetest.Heap()
		var all []*guest
		for i := range n {
			g := r.open(netip.AddrFrom4([4]byte{10, byte(i / 64), 1, 1}).String())
			drive(g)
			all = append(all, g)
		}
		held := (pagetest.Heap() - before) / n
		for _, g := range all {
			if g.e.State() >= StateClosing {
				t.Fatalf("one is %v: %v", g.e.State(), g.e.closing.close)
			}
		}
		return held
	}
	waiting := measure(1000, func(g *guest) {
		g.say(CodeConnInit)
		g.say(append([]byte{67}, noise[:1025]...)...) // all of a pass but its last byte
	})
	t.Logf("open, not joined: %d B", waiting)
	pagetest.Reaches(t, "duplex", "open, not joined", waiting)

	joined := measure(16, func(g *guest) {
		g.say(CodeConnInit)
		g.init(g.feed, g.e.token)
		g.say(CodeConnOK)
		g.r.events()
		// Queries of which the game has answered all but the first: the others' replies wait for it.
		for range maxQuestions - 1 {
			g.say(append([]byte{65}, noise[:4]...)...)
			g.r.events()
		}
		for id := uint32(2); id <= g.e.owed.lastID; id++ {
			_ = g.Reply(id, 0, noise[:4])
		}
		// Lines that it never reads, and updates that the socket does not take.
		line := append([]byte{0x0f, 0x00}, noise[:0xf00]...)
		for g.Queued()+len(line)+16 < g.e.cfg.MaxQueue {
			if err := g.Sync(-1, line); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 * maxLooseBytes / 64 {
			if err := g.Update(1, valueOf(1)); err != nil {
				t.Fatal(err)
			}
		}
		// Updates that the game has not looked at, and the beginning of a long message.
		for range maxInboxEvents {
			g.update()
		}
	})
	t.Logf("joined, all queues full: %d B", joined)
	pagetest.Reaches(t, "duplex", "joined, all queues full", joined)
}

// events tells the game what happened, which does nothing.
func (r *room) events() {
	for _, _, ok := r.mux.PollEvent(); ok; _, _, ok = r.mux.PollEvent() {
	}
}
