package gateway

import (
	"math/rand/v2"
	"testing"

	"parley/internal/kit/chance"
	"parley/play/message"
	"parley/world"
)

// steer sends the steer of a number, whose norm says the number.
func (p *pokes) steer(s *Seat, number, tick uint32) {
	p.d.inbox.put(request{
		seat: s, ask: askSteer, stamped: true, stamp: message.Stamp{Number: number, Tick: tick},
		steer: world.Steering{HasNorm: true, Norm: steerNorm(number)},
	})
}

func steerNorm(number uint32) float32 { return float32(number) / 4096 }

// steered returns the number of the steer by which a player goes.
func (p *pokes) steered(s *Seat) uint32 {
	return uint32(p.h.main.sim.World().Body(p.h.main.entityOf(s.player)).Norm * 4096)
}

// A steer that another has overtaken is not done, and counts as done in the fate. Acts are done in any order.
func TestAnOvertakenSteerIsNotDone(t *testing.T) {
	type steer struct {
		number uint32
		ahead  int // of the tick that is next
	}
	for _, tt := range []struct {
		name   string
		before []steer // in one tick
		after  []steer // in the next
		want   uint32
		lost   uint64
	}{
		{"it comes late, after a newer one", []steer{{2, 0}}, []steer{{1, -2}}, 2, 1},
		{"it comes late, with nothing newer", []steer{{1, 0}}, []steer{{2, -2}}, 2, 0},
		{"two of one tick, in the wrong order", nil, []steer{{2, 0}, {1, 0}}, 2, 1},
		{"two of one tick that waited, in the wrong order", []steer{{2, 1}, {1, 1}}, nil, 2, 1},
		{"one that waited, and a late one in the same tick", []steer{{2, 1}}, []steer{{1, -3}}, 2, 1},
		{"a lower number for a later tick", []steer{{2, 0}}, []steer{{1, 0}}, 1, 0},
		{"a newer one that waits is not done yet", []steer{{2, 2}}, []steer{{1, -3}}, 1, 0},
		{"across the wrap of numbers", []steer{{1<<32 - 1, -1}}, []steer{{4, -1}}, 4, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPokes(t)
			s := p.d.sit("ann")
			ticks(t, p.h, 10)
			highest := uint32(0)
			for _, list := range [][]steer{tt.before, tt.after} {
				for _, x := range list {
					p.steer(s, x.number, uint32(int(p.now())+x.ahead))
					highest = x.number
				}
				ticks(t, p.h, 1)
			}
			if got := p.steered(s); got != tt.want || p.h.stats.Overtaken != tt.lost {
				t.Errorf("it goes by %d, want %d; %d were overtaken, want %d", got, tt.want, p.h.stats.Overtaken, tt.lost)
			}
			ticks(t, p.h, 3)
			if f := p.fate(s); f.Number < min(highest, 2) {
				t.Errorf("the fate is %+v", f)
			}
		})
	}
}

// A client repeats each steer for some ticks, over a path that loses, delays and reorders. After each tick the player goes by the newest
// of those that have come and are due: never by an older one than before.
func TestRepeatedSteersNeverTurnBack(t *testing.T) {
	for _, seed := range chance.Seeds(raced(40, 4)) {
		r := rand.New(rand.NewPCG(seed, 0))
		p := newPokes(t)
		s := p.d.sit("ann")
		ticks(t, p.h, 10)
		type copy struct{ number, tick uint32 }
		under := map[uint64][]copy{} // by the tick before which a copy comes
		came := map[uint32]uint32{}  // tick by number
		number, meant, want := uint32(0), uint32(0), uint32(0)
		loss, lead, late := r.IntN(60), r.IntN(4), 1+r.IntN(8)
		for range 300 {
			now := p.now()
			for range r.IntN(3) { // steers of one tick
				number++
				meant = max(meant, uint32(int(now)+lead+r.IntN(2)))
				c := copy{number, meant}
				for i := range uint64(1 + r.IntN(6)) {
					if r.IntN(100) >= loss {
						at := now + i + uint64(r.IntN(late))
						under[at] = append(under[at], c)
					}
				}
			}
			list := under[now]
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			for _, c := range list {
				came[c.number] = c.tick
				p.steer(s, c.number, c.tick)
			}
			delete(under, now)
			ticks(t, p.h, 1)
			for n, tick := range came {
				if uint64(tick) <= now {
					want = max(want, n)
					delete(came, n)
				}
			}
			if got := p.steered(s); got != want {
				t.Fatalf("seed=%d: at tick %d it goes by steer %d, want %d", seed, now, got, want)
			}
		}
		if st := p.h.stats; st.DroppedInput > 0 || st.PushedInput > 0 || st.FarInput > 0 {
			t.Fatalf("seed=%d: this tests something else: %+v", seed, st)
		}
	}
}
