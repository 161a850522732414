package admission

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"parley/internal/promise"
)

func TestAllowance(t *testing.T) {
	var a Allowance
	if a.MaySend(1) {
		t.Error("the zero value allows a byte")
	}
	if !a.MaySend(0) {
		t.Error("nothing at all is not allowed")
	}
	a.Received(10)
	if a.MaySend(31) || !a.MaySend(30) || a.MaySend(1) {
		t.Error("10 bytes do not allow 30")
	}
	a.Received(-10)
	if a.MaySend(-1) {
		t.Error("less than nothing may be sent")
	}
	for range 10 {
		a.Received(math.MaxInt)
		if a.left < 0 || a.left > maxAllowance {
			t.Fatalf("%d bytes are left", a.left)
		}
	}
	if a.Proven() {
		t.Error("an endless peer is taken for a proven one")
	}
	if !a.MaySend(math.MaxInt/2) || a.MaySend(math.MaxInt) {
		t.Error("the sum overflowed")
	}
	g := NewAllowance(8192)
	if g.MaySend(8193) || !g.MaySend(8192) || g.MaySend(1) {
		t.Error("a grace of 8 KiB is not 8 KiB")
	}
	if z := NewAllowance(-5); z.MaySend(1) || z != (Allowance{}) {
		t.Error("a negative grace is not none")
	}
	g.Prove()
	g.Received(5)
	if !g.Proven() || !g.MaySend(math.MaxInt) || !g.Proven() {
		t.Error("a proven address is limited")
	}
	if size := unsafe.Sizeof(g); size != 8 {
		t.Errorf("an allowance takes %d bytes, want 8", size)
	}
}

// T29: whatever happens, a source was never sent more than three times what it sent and its grace.
func TestAllowanceNeverSendsMoreThanThreeTimes(t *testing.T) {
	steps := promise.Keeps(t, "T29", "admission", tenth(t, 100_000))
	forEachSeed(t, 6, func(t *testing.T, rng *rand.Rand) {
		grace := []int{0, 8192}[rng.IntN(2)]
		a, in, out := NewAllowance(grace), 0, 0
		for range steps {
			n := rng.IntN(1500)
			if rng.IntN(2) == 0 {
				in += n
				a.Received(n)
				continue
			}
			if n *= 8; a.MaySend(n) {
				out += n
			}
			if limit := 3*in + grace; out > limit {
				t.Fatalf("%d bytes were sent for %d, limit %d", out, in, limit)
			}
		}
		if out == 0 {
			t.Error("nothing was sent")
		}
	})
}

// T29: 10^6 sources, to each all that is allowed.
func TestAllowanceOfAMillionSources(t *testing.T) {
	n := promise.Keeps(t, "T29", "admission", tenth(t, 1_000_000))
	forEachSeed(t, 1, func(t *testing.T, rng *rand.Rand) {
		for i := range n {
			var a Allowance
			size := rng.IntN(1400)
			if a.MaySend(1) {
				t.Fatalf("source %d was sent something for nothing", i)
			}
			a.Received(size)
			if a.MaySend(3*size + 1) {
				t.Fatalf("source %d was sent %d bytes for %d", i, 3*size+1, size)
			}
			if !a.MaySend(3*size) || a.MaySend(1) {
				t.Fatalf("source %d was not sent %d bytes for %d", i, 3*size, size)
			}
		}
	})
}
