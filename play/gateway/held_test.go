package gateway

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/patient"
	"parley/protocol/realm"
	"parley/protocol/realm/core"
	"parley/world"
)

// clocked is a hub that runs in a bubble, with a player whose client counts ticks by the clock.
type clocked struct {
	h     *Hub
	d     *desk
	ann   *Seat
	load  atomic.Int64 // what a tick takes
	epoch time.Time
}

// inBubble runs fn with a hub of 20 ticks a second, the player standing still.
func inBubble(t *testing.T, fn func(c *clocked)) {
	synctest.Test(t, func(t *testing.T) {
		c := &clocked{}
		c.h, c.d = newDesk(t, Config{TickRate: 20})
		c.d.stall = func() { time.Sleep(time.Duration(c.load.Load())) }
		c.ann = c.d.sit("ann")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		c.epoch = time.Now() // tick 0 is run one period later
		go func() { ended <- c.h.Run(ctx) }()
		time.Sleep(time.Second + 10*time.Millisecond)
		fn(c)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// tick is the one of now by the clock.
func (c *clocked) tick() uint64 { return uint64(time.Since(c.epoch) / (50 * time.Millisecond)) }

// steer sends what the player does now.
func (c *clocked) steer(norm float32) (tick uint64) {
	tick = c.tick()
	c.d.inbox.put(request{seat: c.ann, ask: askSteer, tick: tick, steer: world.Steering{HasAngle: true, HasNorm: true, Norm: norm}})
	return tick
}

// place is where the player is, and at which tick.
func (c *clocked) place() (x float64, tick uint64) {
	c.h.Do(func() {
		x, tick = world.Get[pawn](c.h.main.sim.World(), c.h.main.entityOf(c.ann.player)).X, c.h.main.sim.Tick()
	})
	return x, tick
}

// What a player does while the world stands still, and while it catches up, has the effect that it has
// in a world that is punctual: it is done at its tick.
func TestWhatIsDoneWhileTheWorldIsBehindIsDoneAtItsTick(t *testing.T) {
	for _, stall := range []time.Duration{0, 300 * time.Millisecond, 3 * time.Second, 4900 * time.Millisecond} {
		t.Run(stall.String(), func(t *testing.T) {
			inBubble(t, func(c *clocked) {
				start, _ := c.place()
				c.load.Store(int64(stall))
				time.Sleep(100 * time.Millisecond)        // a tick has begun
				c.load.Store(int64(2 * time.Millisecond)) // those after it are quick
				time.Sleep(max(0, stall-500*time.Millisecond))
				from := c.steer(1)
				time.Sleep(450 * time.Millisecond) // at the end of the stall, or when it catches up
				to := c.steer(0)
				time.Sleep(5 * time.Second)
				x, now := c.place()
				if want := start + float64(to-from); math.Abs(x-want) > 1e-6 {
					t.Errorf("it walked from tick %d to %d, and went %v cells: want %v", from, to, x-start, want-start)
				}
				st := c.h.Stats()
				if now != c.tick() || st.RefusedInputs > 0 || st.HastenedInput > 0 || (st.HeldInput > 0) != (stall >= time.Second) {
					t.Errorf("at tick %d of the world and %d of the clock: %+v", now, c.tick(), st)
				}
			})
		})
	}
}

// In a world that stays behind, what a player does is done within a second or so, and is not refused;
// and what waits is bounded, however much a player does.
func TestInAWorldThatStaysBehindInputsDoNotWaitForLong(t *testing.T) {
	inBubble(t, func(c *clocked) {
		const took = 150 * time.Millisecond
		c.load.Store(int64(took))
		time.Sleep(10 * time.Second) // and so it is 6 s behind
		start, tick := c.place()
		if c.tick()-tick < 100 {
			t.Fatalf("it is at tick %d, the clock at %d", tick, c.tick())
		}
		c.steer(1)
		time.Sleep(holdTime + 2*took)
		if x, _ := c.place(); x == start {
			t.Error("what it did a second ago has no effect")
		}
		c.steer(0)
		for range 20 {
			for range 40 {
				c.steer(0)
			}
			time.Sleep(took)
			c.h.Do(func() {
				if len(c.ann.held) > maxHeld || (len(c.ann.held) > 0) != (len(c.h.main.holders) == 1) {
					t.Errorf("%d inputs wait, %d players have some", len(c.ann.held), len(c.h.main.holders))
				}
			})
		}
		st := c.h.Stats()
		if many := st.World.Refused[world.TooMany]; st.RefusedInputs != many || st.HastenedInput == 0 {
			t.Errorf("%d were refused, %d of them as too many; %d were done before their tick; %v", st.RefusedInputs, many, st.HastenedInput, st.World.Refused)
		}
		c.load.Store(0)
		c.d.inbox.put(request{seat: c.ann, ask: askLeave})
		time.Sleep(20 * time.Second)
		c.h.Do(func() {
			if len(c.h.main.holders) > 0 || len(c.ann.held) > 0 {
				t.Errorf("%d inputs still wait", len(c.ann.held))
			}
		})
	})
}

// Over realm: what a player does while the world stands still, or catches up, is not refused, and is
// done at its tick; also in a hub that has let ticks go.
func TestRealmPlayersActWhileTheWorldIsBehind(t *testing.T) {
	const rate = 100
	var stop atomic.Bool
	var stops atomic.Int64 // times that it stood still
	gate := make(chan struct{})
	open := sync.OnceFunc(func() {
		stop.Store(false)
		close(gate)
	})
	g := pawnGame()
	step := g.Step
	g.Step = func(w *world.World, in []world.Input) {
		if stop.Load() {
			stops.Add(1)
			patient.Value(gate)
		}
		step(w, in)
	}
	h := must(New(Config{Game: g, TickRate: rate, Sight: -1}))
	d := plainRealm(h, nil)
	h.stats.SkippedTicks = 5000 // as if it had been asleep once
	h.patience = math.MaxInt    // a busy machine may take longer than a step that spins
	until := live(t, h)
	t.Cleanup(open) // before the hub is closed
	p := playRealm(t, h, d, "ann")
	if code := p.login(t, "ann", ""); code != realm.LoginOK {
		t.Fatal(code)
	}
	until("it is in", func() bool { return p.is(func() bool { return p.own != 0 }) })
	stop.Store(true)
	act := func() {
		t.Helper()
		a, err := p.Codec().Action(0, core.U32(1), core.EntityID(0), core.Str([]byte("x")), core.F64(1))
		if err == nil {
			err = p.Act(a)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const acts = 5
	come := func(stopped int64) { // while the world stands still
		t.Helper()
		patient.Until(t, "the world stands still", func() bool { return stops.Load() == stopped })
		for range acts {
			act()
		}
		patient.Until(t, "they have come", func() bool {
			d.inbox.mu.Lock()
			defer d.inbox.mu.Unlock()
			return len(d.inbox.list) >= acts
		})
	}
	from := p.ServerTick()
	patient.Until(t, "half a second of the clock", func() bool { return p.ServerTick() >= from+rate/2 })
	come(1)
	for range rate / 5 { // it catches up, but not yet with the clock
		gate <- struct{}{}
	}
	come(1 + rate/5)
	open()
	until("all is done", func() bool { return p.is(func() bool { return p.done == 2*acts }) })
	until("all have waited", func() bool { return h.Stats().HeldInput >= 2*acts }) // counters are made known twice a tick
	// On a machine that has much else to do, some may wait too long.
	if st := h.Stats(); st.RefusedInputs > 0 || st.HastenedInput == st.HeldInput {
		t.Errorf("%d were refused, %d waited, %d of them were done before their tick", st.RefusedInputs, st.HeldInput, st.HastenedInput)
	}
}
