package gateway

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"parley/world"
)

// The load of BenchmarkHubTick.
const (
	benchEntities   = 1000
	benchPlayers    = 40 // of each dialect
	benchTickRate   = 20
	benchSpreadSide = 1024 // cells: the arena's own size
)

// drifter is an entity that nobody owns: it goes its way, and turns at the edge.
type drifter struct {
	world.Body `parley:"speed=2"`
	Health     int16
}

// benchGame has so many drifters, and a pawn a player.
func benchGame(drifters int) world.Game {
	g := pawnGame()
	step := g.Step
	g.Kinds = world.Kinds(pawn{}, drifter{})
	g.Step = func(w *world.World, in []world.Input) {
		for world.Count[drifter](w) < drifters {
			world.Spawn(w, drifter{Body: randomBody(w), Health: 100})
		}
		step(w, in)
		for i := range in {
			if in[i].Kind == world.Join {
				if id, p := world.Avatar[pawn](w, in[i].Player); p != nil {
					b := randomBody(w)
					w.Place(id, b.X, b.Y)
				}
			}
		}
		for _, p := range world.All[drifter](w) {
			if math.Abs(p.X) > benchSpreadSide/2 || math.Abs(p.Y) > benchSpreadSide/2 {
				p.Angle += math.Pi
			}
			w.Move(&p.Body)
		}
	}
	return g
}

func randomBody(w *world.World) world.Body {
	r := w.Random()
	at := func() float64 { return float64(r.IntN(benchSpreadSide)) - benchSpreadSide/2 }
	return world.Body{X: at(), Y: at(), Angle: float32(r.IntN(628)) / 100, Norm: 1}
}

func percentile(list []time.Duration, p float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(int(float64(len(sorted))*p), len(sorted)-1)]
}

func million(d time.Duration) float64 { return float64(d) / 1e6 }

// benchDesk has players of the hub with no wire behind them: a tick's own cost.
func benchDesk(b *testing.B) (*Hub, func(tick int)) {
	return benchDeskOf(b, benchGame(benchEntities-5*benchPlayers))
}

func benchDeskOf(b *testing.B, g world.Game) (*Hub, func(tick int)) {
	h, err := New(Config{Game: g, World: world.Config{Seed: 7}, TickRate: benchTickRate})
	if err != nil {
		b.Fatal(err)
	}
	d := &desk{}
	h.Add(d)
	var seats []*Seat
	for range 5 * benchPlayers {
		seats = append(seats, d.sit(""))
	}
	steer := func(tick int) { // twice a second
		for i, s := range seats {
			if (tick+i)%10 == 0 {
				d.inbox.put(request{seat: s, ask: askSteer, steer: world.Steering{Angle: float32(tick % 6), Norm: 1, HasAngle: true, HasNorm: true}})
			}
		}
	}
	for i := range 60 {
		if i > 0 {
			steer(i)
		}
		if err := h.Tick(); err != nil {
			b.Fatal(err)
		}
	}
	return h, steer
}

// A tick of 1,000 entities and 200 players without any wire: inputs, the step, and a view of
// each. The cpu metrics are the thread's own time.
func BenchmarkHubTick(b *testing.B) { benchmarkHubTick(b, benchGame(benchEntities-5*benchPlayers)) }

// The same with a rule of sight: players see their own team, and of the other what is hurt.
func BenchmarkHubTickSees(b *testing.B) {
	g := benchGame(benchEntities - 5*benchPlayers)
	g.Sees = func(w *world.World, viewer world.PlayerID, e world.ID) bool {
		if d := world.Get[drifter](w, e); d != nil {
			return d.Health > 0
		}
		return w.Owner(e)%2 == viewer%2
	}
	benchmarkHubTick(b, g)
}

func benchmarkHubTick(b *testing.B, g world.Game) {
	h, steer := benchDeskOf(b, g)
	b.ReportAllocs()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	times := make([]time.Duration, 0, 1<<20)
	tick := 0
	for b.Loop() {
		tick++
		steer(tick)
		begin := threadTime()
		if err := h.Tick(); err != nil {
			b.Fatal(err)
		}
		times = append(times, threadTime()-begin)
	}
	b.ReportMetric(million(percentile(times, .5)), "cpu-p50-ms")
	b.ReportMetric(million(percentile(times, .99)), "cpu-p99-ms")
}

// The same with an action of each player twice a second and a line of each every ten seconds, which nobody follows, or one or ten do: what
// Server.Events costs.
func BenchmarkHubTickEvents(b *testing.B) {
	for _, followers := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("followers=%d", followers), func(b *testing.B) {
			h, steer := benchDesk(b)
			d := h.dialects[0].(*desk)
			seats := slices.Clone(h.main.deskSeats())
			var taps []*tap
			for range followers {
				taps = append(taps, h.main.offer().tap)
			}
			b.ReportAllocs()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			times := make([]time.Duration, 0, 1<<20)
			tick, told := 0, 0
			for b.Loop() {
				tick++
				steer(tick)
				for i, s := range seats {
					if (tick+i)%10 == 5 {
						q := request{seat: s, ask: askAct, action: h.Schema().Action(0)}
						copy(q.params[:], []world.Value{world.UintValue(world.U32, 1), world.UintValue(world.Entity, 0), world.TextValue("x"), world.FloatValue(world.F64, 1)})
						d.inbox.put(q)
					}
					if (tick+i)%200 == 7 {
						d.inbox.put(request{seat: s, ask: askSay, line: []byte("hello, all of you")})
					}
				}
				begin := threadTime()
				if err := h.Tick(); err != nil {
					b.Fatal(err)
				}
				times = append(times, threadTime()-begin)
				for _, t := range taps {
					for f, _, _ := t.take(); len(f) > 0; f, _, _ = t.take() {
						told += len(f)
					}
				}
			}
			b.ReportMetric(million(percentile(times, .5)), "cpu-p50-ms")
			b.ReportMetric(million(percentile(times, .99)), "cpu-p99-ms")
			b.ReportMetric(float64(told)/float64(tick), "events/tick")
		})
	}
}

// The views of 200 players on 1,000 entities, of which all move, read to their end.
func BenchmarkHubViews(b *testing.B) {
	h, steer := benchDesk(b)
	b.ReportAllocs()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	times := make([]time.Duration, 0, 1<<20)
	tick, changes := 0, 0
	for b.Loop() {
		tick++
		steer(tick)
		h.take(h.awake)
		if err := h.main.step(); err != nil {
			b.Fatal(err)
		}
		begin := threadTime()
		h.main.settle()
		for _, s := range h.main.deskSeats() {
			s.view.Update()
			for s.view.Next() != nil {
				changes++
				s.view.Take(1)
			}
		}
		times = append(times, threadTime()-begin)
	}
	b.ReportMetric(million(percentile(times, .5)), "cpu-p50-ms")
	b.ReportMetric(million(percentile(times, .99)), "cpu-p99-ms")
	b.ReportMetric(float64(changes)/float64(tick)/(5*benchPlayers), "changes/view")
}
