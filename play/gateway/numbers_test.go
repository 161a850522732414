package gateway

import (
	"fmt"
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/play/message"
	"parley/world"
)

// 15.2: who comes and goes as fast as it can, from one address, uses up no numbers; all of a botnet use up those for
// newcomers, who are told at once, and none of those who are there, whose shots are seen.
func TestComingAndGoingUsesUpNoNumbers(t *testing.T) {
	for _, tt := range []struct {
		name string
		from func(i int) string
		full bool
	}{
		{"one address", func(int) string { return "192.0.2.1" }, false},
		{"one prefix", func(i int) string { return fmt.Sprintf("192.0.2.%d", i%256) }, false},
		{"all addresses", func(i int) string { return fmt.Sprintf("%d.%d.%d.1", i&0xff, i>>8&0xff, i>>16&0xff) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.full && chance.Race {
				t.Skip("all numbers are needed to use them up")
			}
			var shot world.ID
			h, d := newDesk(t, Config{Game: shooters(&shot)})
			d.radius = 4 // what each sees is its own matter here
			now := time.Now()
			h.now = now
			honest := d.sitFrom("198.51.100.1", false)
			ticks(t, h, 2)
			told := map[error]int{}
			var before []*Seat
			hanging := 0
			for i := range raced(34_000, 4000) {
				s := d.sitFrom(tt.from(i), false)
				before = append(before, s)
				if len(before) < 150 { // 3,000 a second
					continue
				}
				ticks(t, h, 1)
				h.now = h.now.Add(50 * time.Millisecond)
				for _, s := range before {
					told[s.kicked]++
					if s.kicked == nil && h.main.sim.Wire(h.main.entityOf(s.player)) == 0 {
						hanging++
					}
					d.inbox.put(request{seat: s, ask: askLeave})
				}
				before = before[:0]
			}
			ticks(t, h, 1)
			if hanging != 0 {
				t.Errorf("%d wait for an entity", hanging)
			}
			if (told[RefusedFull] > 0) != tt.full || (told[RefusedCrowd] > 0) == tt.full {
				t.Errorf("they are told %v", told)
			}
			next := d.sitFrom("198.51.100.2", false)
			ticks(t, h, 1)
			if (next.player == nil) != tt.full {
				t.Errorf("the next is told %q", next.kicked)
			}
			// A shot of who is there has a number.
			action := h.main.sim.Schema().ActionNamed("poke")
			params, ok := message.ParseParams(action, make([]byte, 4+2+1+8), message.Little)
			if !ok {
				t.Fatal("that is no poke")
			}
			shots := map[world.ID]bool{} // by their IDs: numbers that nobody was told are soon used again
			for range 100 {
				d.inbox.put(request{seat: honest, ask: askAct, action: action, params: params})
				ticks(t, h, 1)
				if h.main.sim.Wire(shot) != 0 {
					shots[shot] = true
				}
			}
			if len(shots) < 100 {
				t.Errorf("%d of 100 shots are seen", len(shots))
			}
			if !tt.full {
				return
			}
			ticks(t, h, 1300) // a minute
			next = d.sitFrom("198.51.100.2", false)
			ticks(t, h, 1)
			if next.player == nil {
				t.Errorf("a minute later the next is told %q", next.kicked)
			}
			h.look()
			if h.Stats().Numberless == 0 {
				t.Error("nobody was counted")
			}
		})
	}
}

// shooters is a game in which a poke makes a shot, that lives for a second; last is the newest.
func shooters(last *world.ID) world.Game {
	type shot struct {
		world.Body
		Left uint32
	}
	g := pawnGame()
	g.Kinds = world.Kinds(pawn{}, shot{})
	step := g.Step
	g.Step = func(w *world.World, in []world.Input) {
		step(w, in)
		for id, s := range world.All[shot](w) {
			if s.Left--; s.Left == 0 {
				w.Despawn(id)
			}
		}
		for i := range in {
			if in[i].Kind == world.Act {
				*last = world.SpawnFor(w, &in[i], shot{Left: 20})
			}
		}
	}
	return g
}
