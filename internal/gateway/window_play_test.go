package gateway

import (
	"math"
	"testing"
	"time"

	"parley/internal/promise"
	"parley/protocol/realm"
	"parley/world"
)

// wander walks, presses against a wall for a while, and turns.
func wander(c *windowClient) {
	if c.norm == 0 {
		c.angle = float32(c.w.rand.Float64() * 2 * math.Pi)
	}
	if c.norm = .8; c.w.n < c.calm && c.w.n >= c.calm-windowCalm/2 {
		c.norm = 0 // who has lost its way looks around: who walks on at full speed does not pay back its grace
	}
	if !c.walk() && c.w.rand.IntN(20) == 0 {
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
	ticks := 2_000
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
				if id := (realm.ChunkID{BX: own.BX + dx, BY: own.BY + dy}); c.land[id] == nil {
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
	t.Logf("%d ticks, %d log-ins behind the clock; refused: %v", w.n, visits, w.h.sim.Stats().Refused)
}

// It freezes at no wall: steered by keys alone, against walls above and to the right, it is told cells that are free for it; says them; and
// walks on. What is refused of its place takes neither angle nor norm with it.
func TestTheWindowClientFreezesAtNoWall(t *testing.T) {
	angles := []float32{0, math.Pi / 2, .7}
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
		// A wall is built where it stands: it says what it was told all the same.
		b := *ann.body()
		w.h.sim.World().SetCell(b.X, b.Y, 1)
		w.run(50)
		if got := w.h.stats.RefusedInputs - before; got > 0 {
			t.Errorf("angle %v: what it was told was refused %d times since a wall stands there", angle, got)
		}
		w.h.sim.World().SetCell(b.X, b.Y, 0)
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

// It comes while others throw, whose throws take their time: it is told of none that was before its log-in.
func TestTheWindowClientEntersWhileOthersThrow(t *testing.T) {
	w := newWindowWorld(t, 5)
	for _, name := range []string{"ann", "bob", "eve", "dan"} {
		w.enter(name, fight)
	}
	w.run(100)
	for range 60 {
		cat := w.enter("cat", nil)
		w.wait("cat is in the game", cat.playing)
		w.run(8)
		w.leave(cat)
	}
}
