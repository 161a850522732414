package picture

import (
	"math"
	"testing"
	"time"

	"parley/internal/kit/chance"
)

// "Small errors are blended away in 100 ms, large ones snap."
func TestBlend(t *testing.T) {
	var b Blend
	now := began
	if x, y, turn := b.At(now); x != 0 || y != 0 || turn != 0 {
		t.Fatal("an error from the beginning")
	}
	if !b.Add(now, 1, -.5, 3) {
		t.Fatal("it snaps")
	}
	was := 2.0
	for i := range 11 {
		x, y, turn := b.At(now.Add(time.Duration(i) * blendTime / 10))
		if x >= was || math.Abs(y+x/2) > 1e-9 || math.Abs(turn-3*x) > 1e-9 {
			t.Errorf("after %d0 ms: %v, %v, %v after %v", i, x, y, turn, was)
		}
		was = x
	}
	if was != 0 {
		t.Errorf("%v is left after 100 ms", was)
	}
	b = Blend{}
	b.Add(now, 1, 0, 0)
	half := now.Add(blendTime / 2)
	b.Add(half, 1, 0, 4) // what is left of the first is added
	if x, _, turn := b.At(half); x != 1.5 || turn > 0 {
		t.Errorf("%v, and it turns the long way: %v", x, turn)
	}
	if b.Add(half, 1, 0, 0) {
		t.Error("2.5 cells are blended")
	}
	if x, y, turn := b.At(half); x != 0 || y != 0 || turn != 0 {
		t.Error("it did not snap")
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), -1e300} {
		if b.Add(half, bad, 0, 0) {
			t.Errorf("%v cells are blended", bad)
		}
	}
	if b.Add(half, 0, 0, math.NaN()) {
		t.Error("it turns by no number")
	}
	if b = (Blend{Snap: 5}); !b.Add(half, 4, 0, 0) {
		t.Error("4 of 5 cells snap")
	}
}

// FuzzClocks has a hostile server tell of any ticks and margins at any time: the clocks stay numbers, never run backwards, and take no
// longer for it.
func FuzzClocks(f *testing.F) {
	f.Add(uint16(20), []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	f.Add(uint16(1000), []byte("heardheardsentmarginatatresetheard"))
	f.Fuzz(func(t *testing.T, rate uint16, script []byte) {
		if len(script) <= 600 {
			clockOps(t, int(rate), script)
		}
	})
}

func TestRandomClocks(t *testing.T) {
	r := chance.Rand(t, 22)
	for range 300 {
		script := make([]byte, 300)
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		clockOps(t, int(r.Uint32()>>uint(16+r.IntN(15))), script)
	}
}

func clockOps(t *testing.T, rate int, script []byte) {
	next := func() uint64 {
		if len(script) == 0 {
			return 0
		}
		b := script[0]
		script = script[1:]
		return uint64(b)
	}
	c, l := NewClock(rate), NewLead(rate)
	now, tick, number := began, uint64(1)<<33, uint64(0)
	var drawn, own float64
	for len(script) > 0 {
		op := next()
		switch op % 8 {
		case 0, 1, 2:
			tick += next() % 4
		case 3:
			tick += next()<<(op/8)>>3 - 9
		}
		now = now.Add(time.Duration(next()) << (op % 29))
		if op%64 == 7 {
			now = now.Add(-time.Hour)
		}
		c.Heard(now, tick)
		l.Heard(now, tick)
		if op%2 == 0 {
			number++
			l.Sent(now, tick+next()%8, number)
		}
		if op%3 == 0 {
			l.Margin(now, tick, number, int(int8(next())))
		}
		if op%5 == 0 {
			l.Again(tick + next()%8)
		}
		at, _ := c.At(now)
		mine := l.At(now)
		if !(at >= drawn) || !(mine >= own) || math.IsInf(at, 0) || math.IsInf(mine, 0) {
			t.Fatalf("rate %d: drawn %v after %v, own %v after %v", rate, at, drawn, mine, own)
		}
		drawn, own = at, mine
	}
}

// Clocks take no memory, whatever they hear.
func TestClocksAllocateNothing(t *testing.T) {
	if chance.Race {
		t.Skip("the race detector allocates")
	}
	c, l := NewClock(20), NewLead(20)
	now, tick := began, uint64(100)
	var b Blend
	turn := func() {
		now = now.Add(50 * time.Millisecond)
		tick++
		c.Heard(now, tick)
		l.Heard(now, tick)
		l.Sent(now, tick+2, tick)
		l.Margin(now, tick, tick, 1)
		b.Add(now, .1, 0, 0)
		c.At(now)
		l.At(now)
	}
	for range 300 {
		turn()
	}
	if n := testing.AllocsPerRun(100, turn); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
