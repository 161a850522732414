package gateway

import (
	"math"
	"testing"
	"time"

	"parley/arena"
	"parley/internal/promise"
	"parley/protocol/realm/core"
	"parley/world"
)

// wander walks, presses against a wall for a while, and turns.
func wander(c *windowClient) {
	if c.norm == 0 {
		c.angle = float32(c.w.rand.Float64() * 2 * math.Pi)
	}
	if c.norm = .8; !c.walk() && c.w.rand.IntN(20) == 0 {
		c.angle = float32(c.w.rand.Float64() * 2 * math.Pi)
	}
	if c.w.n%250 == 0 { // its clock is set anew
		c.wrong = time.Duration(c.w.rand.IntN(11)-5) * time.Millisecond
	}
	if c.w.n >= c.calm && c.w.rand.IntN(500) == 0 { // its path stalls for longer than the world goes back
		c.up.stall = c.w.now.Add(600 * time.Millisecond)
		c.calm = c.w.n + 30 + windowCalm
	}
}

// fight wanders, throws as soon as its own cooldown permits it, and sometimes before.
func fight(c *windowClient) {
	wander(c)
	if c.cooldown != 0 && (c.cooldown < 5 || c.w.rand.IntN(40) != 0) {
		return
	}
	at, whom := c.angle+1, uint16(0)
	for id := range c.players {
		if e, ok := c.seen[id]; ok && id != c.own && id > whom {
			whom = id
			at = float32(math.Atan2(float64(int(e.Position.BY)<<8+int(e.Position.Y))-c.y, float64(int(e.Position.BX)<<8+int(e.Position.X))-c.x))
		}
	}
	c.throw(at)
}

// The game's own client plays ten minutes: 30,000 ticks, with paths that stall, clocks that are set anew, others who throw at it, and some
// who come while the server is behind the clock.
func TestTheWindowClientPlaysTenMinutes(t *testing.T) {
	w := newWindowWorld(t, 11)
	ann := w.enter("ann", wander)
	bob, eve := w.enter("bob", fight), w.enter("eve", fight)
	w.wait("17 by 17 chunks that nobody asked for", func() bool { return len(ann.land) >= 17*17 && len(bob.land) >= 17*17 && len(eve.land) >= 17*17 })
	ticks := raced(2000, 600)
	if promise.Full() {
		ticks = 30_000
	}
	visits := 0
	for n := range ticks {
		w.tick()
		if n%1000 == 500 {
			w.stalls(2)
			cat := w.enter("cat", fight)
			w.stalls(5)
			w.catchesUp()
			w.wait("cat is in the game", cat.playing)
			for _, c := range w.clients {
				c.calm = max(c.calm, w.n+windowCalm)
			}
			w.run(200)
			w.leave(cat)
			visits++
		}
	}
	for _, c := range w.clients {
		c.steer = func(c *windowClient) { c.norm = 0 }
	}
	w.wait("every temporary number is free again", func() bool { return len(ann.throws)+len(bob.throws)+len(eve.throws) == 0 })
	w.run(windowCalm)
	for _, c := range w.clients {
		own := windowCell(c.x, c.y)
		for dy := int16(-8); dy <= 8; dy++ {
			for dx := int16(-8); dx <= 8; dx++ {
				if id := (core.ChunkID{BX: own.BX + dx, BY: own.BY + dy}); c.land[id] == nil {
					t.Errorf("%s is at %v and was never sent the chunk %v", c.name, own, id)
				}
			}
		}
		if b := c.body(); windowCell(b.X, b.Y) != own {
			t.Errorf("%s believes to be at (%v, %v), and is at (%v, %v)", c.name, c.x, c.y, b.X, b.Y)
		}
		if len(c.unfair) > 0 {
			t.Errorf("%s: %d throws that its own cooldown permits came to nothing", c.name, len(c.unfair))
		}
		if c.countdown > 2*c.done+4 {
			t.Errorf("%s was told its cooldown %d times, and has thrown %d", c.name, c.countdown, c.done)
		}
		if c.told > ticks/10 {
			t.Errorf("%s was told %d times where it is", c.name, c.told)
		}
		t.Logf("%s: told %d times where it is, %d of them far away; %d throws done, %d came to nothing; told its cooldown %d times; %d chunks", c.name, c.told, c.jumps, c.done, c.denied, c.countdown, len(c.land))
	}
	t.Logf("%d ticks, %d log-ins behind the clock; refused: %v", w.n, visits, w.h.main.sim.Stats().Refused)
}

// It freezes at no wall: steered by keys alone, against walls above and to the right, it is told cells that are free for it; says them; and
// walks on. What is refused of its place takes neither angle nor norm with it.
func TestTheWindowClientFreezesAtNoWall(t *testing.T) {
	angles := []float32{0, math.Pi / 2, .7}[:raced(3, 1)]
	if promise.Full() {
		angles = append(angles, math.Pi, -math.Pi/2, .1, 1.5, -.7)
	}
	for n, angle := range angles {
		w := newWindowWorld(t, uint64(n+1))
		ann := w.enter("ann", func(c *windowClient) { c.norm = 0 })
		ann.keysOnly = true
		w.wait("17 by 17 chunks", func() bool { return len(ann.land) >= 17*17 })
		ann.angle = angle
		ann.steer = func(c *windowClient) { c.norm = .8 }
		var last world.Body
		w.wait("it stands at a wall", func() bool {
			b := *ann.body()
			stands := b.X == last.X && b.Y == last.Y && b.Norm != 0
			last = b
			return stands
		})
		w.run(50) // it is told where it is, and would fail in a wall
		before := w.h.stats.RefusedInputs
		ann.keysOnly, ann.calm = false, w.n+50            // what it was told before is on its way
		ann.steer = func(c *windowClient) { c.norm = .8 } // it presses on, and says where it is
		w.run(100)
		if got := w.h.stats.RefusedInputs - before; got > 0 {
			t.Errorf("angle %v: what it was told, it said, and was refused %d times", angle, got)
		}
		told := ann.told
		w.run(100)
		if ann.told != told {
			t.Errorf("angle %v: it was told %d times where it is, and it had said so", angle, ann.told-told)
		}
		// It says a place in the wall, and goes away from there.
		x, y, refused := ann.x, ann.y, w.h.stats.RefusedInputs
		ann.calm = math.MaxInt
		ann.steer = func(c *windowClient) {
			c.x, c.y = x+30*math.Cos(float64(angle)), y+30*math.Sin(float64(angle))
			c.angle, c.norm = angle+math.Pi, .8
		}
		w.run(30)
		if b := ann.body(); b.Angle != angle+math.Pi || b.Norm != .8 || w.h.stats.RefusedInputs == refused {
			t.Errorf("angle %v: %d places were refused, and its angle and norm with them: %v and %v", angle, w.h.stats.RefusedInputs-refused, b.Angle, b.Norm)
		}
	}
}

// It stands at a wall above or to the right, touches it, and says what it was told fifty times a second: that is no wall for it, and is never
// refused.
func TestTheWindowClientStandsAtAWall(t *testing.T) {
	for n, wall := range []struct {
		x, y  float64 // a way to the border of the arena, at 512, that no block is in
		angle float32
	}{{480.5, .5, 0}, {.5, 480.5, math.Pi / 2}, {448.5, 480.5, math.Pi / 2}}[:raced(3, 1)] {
		w := newWindowWorld(t, uint64(n+1))
		ann := w.enter("ann", func(c *windowClient) { c.norm = 0 })
		ann.keysOnly = true
		w.wait("17 by 17 chunks", func() bool { return len(ann.land) >= 17*17 })
		ann.put(wall.x, wall.y)
		w.wait("it is put there", func() bool { return ann.x == math.Floor(wall.x) && ann.y == math.Floor(wall.y) })
		// Halves of a cell from the middle of one bring it to 502.0, if a wall that it touches does not stop it before.
		ann.angle = wall.angle
		ann.steer = func(c *windowClient) { c.norm = .5 }
		w.run(100) // it is told where it is, and fails in a wall
		if b := ann.body(); math.Max(b.X, b.Y) < 501.9 {
			t.Fatalf("%v: it is at (%v, %v), and at no wall", wall, b.X, b.Y)
		}
		stand := func(what string, ticks int) {
			t.Helper()
			told, refused := ann.told, w.h.stats.RefusedInputs
			w.run(ticks)
			if got := w.h.stats.RefusedInputs - refused; got > 0 {
				t.Errorf("%v: %s: what it was told, it said, and was refused %d times", wall, what, got)
			}
			if ann.told != told {
				t.Errorf("%v: %s: it was told %d times where it is, and it had said so", wall, what, ann.told-told)
			}
		}
		ann.keysOnly, ann.calm = false, w.n+windowCalm
		ann.steer = func(c *windowClient) { c.norm = 0 }
		w.run(10) // what it was told last
		stand("it stands still", 100)
		ann.steer = func(c *windowClient) { c.norm = .8 }
		stand("it presses on", 100)
		ann.steer = func(c *windowClient) { c.norm = 0 }
		b := *ann.body()
		w.will(func(sim *world.World) { sim.SetCell(b.X, b.Y, arena.Wall) })
		stand("a wall is built where it stands", 100)
	}
}

// It comes to life again somewhere else, and its clock is a tenth of a second late: what it was told, it says for ticks at which it was not
// there. That is no move, and is not refused.
func TestTheWindowClientSaysWhatItWasTold(t *testing.T) {
	w := newWindowWorld(t, 3)
	ann := w.enter("ann", func(c *windowClient) { c.norm = 0 })
	w.wait("17 by 17 chunks", func() bool { return len(ann.land) >= 17*17 })
	ann.wrong = -100 * time.Millisecond
	w.run(50)
	for n := range raced(20, 4) {
		told, refused := ann.told, w.h.stats.RefusedInputs
		ann.put(float64(64*(n%7-3))+.5, float64(64*(n%5-2))+.5) // no block is there
		w.run(50)
		if got := w.h.stats.RefusedInputs - refused; got > 0 {
			t.Errorf("put %d: what it was told, it said, and was refused %d times: %v", n, got, w.h.main.sim.Stats().Refused)
		}
		if ann.told != told+1 {
			t.Errorf("put %d: it was told %d times where it is", n, ann.told-told)
		}
	}
}

// It walks in full stride, and something brings it out of step: once it is told where it is, and not again for what it said before it heard.
func TestTheWindowClientIsCorrectedOnce(t *testing.T) {
	rounds, seeds := 1, raced(3, 1)
	if promise.Full() {
		rounds, seeds = 10, 16
	}
	for seed := range seeds {
		w := newWindowWorld(t, uint64(seed+1))
		ann := w.enter("ann", func(c *windowClient) { c.norm = 0 })
		w.wait("17 by 17 chunks", func() bool { return len(ann.land) >= 17*17 })
		ann.calm = math.MaxInt
		ann.put(.5, 64.5)
		ann.steer = func(c *windowClient) { // to and fro between two rows of blocks, at full speed
			if c.norm = .8; c.x > 480 {
				c.angle = math.Pi
			} else if c.x < -480 {
				c.angle = 0
			}
			c.walk()
		}
		w.run(200)
		causes := []struct {
			what string
			do   func()
			most int
		}{
			{"it comes to life again somewhere else", func() { ann.put(.5, -63.5) }, 1},
			{"it believes to be elsewhere", func() { ann.y += 25 }, 1},
			{"its path stalls for longer than the world goes back", func() { ann.up.stall = w.now.Add(600 * time.Millisecond) }, 1},
			{"its path stalls", func() { ann.up.stall = w.now.Add(200 * time.Millisecond) }, 0},
			{"it does not hear for a while", func() { ann.down.stall = w.now.Add(300 * time.Millisecond); ann.put(100.5, .5) }, 1},
		}
		for n := range rounds * len(causes) {
			if n %= len(causes); n == 0 {
				ann.wrong = time.Duration(w.rand.IntN(41)-20) * time.Millisecond
				w.run(50)
			}
			told := ann.told
			causes[n].do()
			w.run(200)
			if got := ann.told - told; got > causes[n].most || got == 0 && n < 2 {
				t.Errorf("seed %d: %s: it is told %d times where it is; refused: %v", seed, causes[n].what, got, w.h.main.sim.Stats().Refused)
			}
		}
	}
}

// It comes while others throw, whose throws take their time: it is told of none that was before its log-in.
func TestTheWindowClientEntersWhileOthersThrow(t *testing.T) {
	w := newWindowWorld(t, 5)
	for _, name := range []string{"ann", "bob", "eve", "dan"} {
		w.enter(name, fight)
	}
	w.run(100)
	for range raced(60, 10) {
		cat := w.enter("cat", nil)
		w.wait("cat is in the game", cat.playing)
		w.run(8)
		w.leave(cat)
	}
}
