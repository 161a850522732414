package serial

import (
	"fmt"
	"math"
	"math/big"
	"os"
	"testing"

	"parley/internal/kit/chance"
	"parley/internal/promise"
)

// rounds returns the count of turns of a random loop: the PR tier, a hundredth
// of it under -short.
func rounds(n int) int {
	if testing.Short() {
		return n / 100
	}
	if os.Getenv("PARLEY_PR") == "" && os.Getenv("PARLEY_SOAK") == "" {
		return n / 5
	}
	return n
}

var widths = []Bits{Bits16, Bits24, Bits32}

func TestNamedCases(t *testing.T) {
	const half16, half24, half32 = 1 << 15, 1 << 23, 1 << 31
	for _, tt := range []struct {
		name     string
		n        Bits
		a, b     uint32
		distance int32
		less     bool
	}{
		{"a number is not before itself", Bits16, 7, 7, 0, false},
		{"the next number is later", Bits16, 7, 8, 1, true},
		{"the last number is before the first", Bits16, 0xffff, 0, 1, true},
		{"the first number is after the last", Bits16, 0, 0xffff, -1, false},
		{"just less than half ahead is later", Bits16, 5, 5 + half16 - 1, half16 - 1, true},
		{"exactly half ahead is neither", Bits16, 5, 5 + half16, -half16, false},
		{"exactly half behind is neither", Bits16, 5 + half16, 5, -half16, false},
		{"just more than half ahead is earlier", Bits16, 5, 5 + half16 + 1, -half16 + 1, false},
		{"high bits of 16 do not count", Bits16, 0xabcd_0007, 0x1234_0009, 2, true},
		{"24 bits wrap", Bits24, 0xff_ffff, 2, 3, true},
		{"24 bits at half", Bits24, 0, half24, -half24, false},
		{"high bits of 24 do not count", Bits24, 0xab00_0000, 0x1200_0001, 1, true},
		{"32 bits wrap", Bits32, 0xffff_ffff, 2, 3, true},
		{"32 bits at half", Bits32, 9, 9 + half32, -half32, false},
		{"32 bits just less than half", Bits32, 9, 9 + half32 - 1, half32 - 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.n.Distance(tt.a, tt.b); got != tt.distance {
				t.Errorf("Distance(%#x, %#x) = %d, want %d", tt.a, tt.b, got, tt.distance)
			}
			if got := tt.n.Less(tt.a, tt.b); got != tt.less {
				t.Errorf("Less(%#x, %#x) = %t, want %t", tt.a, tt.b, got, tt.less)
			}
		})
	}
}

func TestMaskAndNext(t *testing.T) {
	for n, mask := range map[Bits]uint32{Bits16: 0xffff, Bits24: 0xff_ffff, Bits32: 0xffff_ffff} {
		if got := n.Mask(); got != mask {
			t.Errorf("%d bits: Mask() = %#x, want %#x", n, got, mask)
		}
		if got := n.Next(mask); got != 0 {
			t.Errorf("%d bits: Next(%#x) = %#x, want 0", n, mask, got)
		}
		if got := n.Next(0); got != 1 {
			t.Errorf("%d bits: Next(0) = %#x, want 1", n, got)
		}
		if got := n.Next(mask - 1); got != mask {
			t.Errorf("%d bits: Next(%#x) = %#x, want %#x", n, mask-1, got, mask)
		}
	}
}

func TestUnwrapNamedCases(t *testing.T) {
	const last = math.MaxUint64
	for _, tt := range []struct {
		name string
		n    Bits
		near uint64
		x    uint32
		want uint64
	}{
		{"the same number", Bits16, 70_000, 70_000 & 0xffff, 70_000},
		{"the next across the wrap", Bits16, 0x1_ffff, 0, 0x2_0000},
		{"the one before across the wrap", Bits16, 0x2_0000, 0xffff, 0x1_ffff},
		{"a tie is the later", Bits16, 0x2_0000, 0x8000, 0x2_8000},
		{"just past the tie is the earlier", Bits16, 0x2_0000, 0x8001, 0x1_8001},
		{"never below zero", Bits16, 0, 0xffff, 0xffff},
		{"never below zero, close to half", Bits16, 0x7ffe, 0xffff, 0xffff},
		{"zero is reachable from half", Bits16, 0x7fff, 0, 0},
		{"a tie at half is the later", Bits16, 0x8000, 0, 0x1_0000},
		{"high bits of x do not count", Bits16, 0x1_0000, 0xabcd_0001, 0x1_0001},
		{"24 bits", Bits24, 0x1ff_ffff, 3, 0x200_0003},
		{"32 bits", Bits32, 0x1_ffff_ffff, 3, 0x2_0000_0003},
		{"32 bits back", Bits32, 0x2_0000_0000, 0xffff_fff0, 0x1_ffff_fff0},
		{"never beyond the largest", Bits16, last, 0, last - 0xffff},
		{"the largest itself", Bits16, last, 0xffff, last},
		{"never beyond the largest, 32 bits", Bits32, last, 0, last - 0xffff_ffff},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.n.Unwrap(tt.near, tt.x); got != tt.want {
				t.Errorf("Unwrap(%#x, %#x) = %#x, want %#x", tt.near, tt.x, got, tt.want)
			}
		})
	}
}

// checkPair holds the laws of two numbers of a space against each other and
// returns the broken one, or "".
func checkPair(n Bits, a, b uint32) string {
	mask, half := int64(n.Mask()), (int64(n.Mask())+1)/2
	a, b = a&n.Mask(), b&n.Mask()
	d := int64(n.Distance(a, b))
	ahead := (int64(b) - int64(a)) & mask // how often Next leads from a to b
	want := ahead
	if ahead >= half {
		want = ahead - mask - 1
	}
	less, more := n.Less(a, b), n.Less(b, a)
	switch {
	case d != want:
		return "Distance is not the shortest way"
	case less != (ahead > 0 && ahead < half):
		return "Less is not: ahead by less than half"
	case less && more:
		return "Less is not antisymmetric"
	case !less && !more && ahead != 0 && ahead != half:
		return "two numbers that are neither equal nor half apart have no order"
	case ahead != half && int64(n.Distance(b, a)) != -d:
		return "the way back is not opposite"
	case ahead == half && (d != -half || int64(n.Distance(b, a)) != -half):
		return "half the space is not negative both ways"
	case d != half-1 && int64(n.Distance(a, n.Next(b))) != d+1:
		return "Next does not add one to the distance"
	}
	return ""
}

// T8: random pairs of each width. Half of them are close, as numbers on a wire are.
func TestLawsHoldForRandomPairs(t *testing.T) {
	r := chance.Rand(t, 0x5e41a1)
	for _, n := range widths {
		for range promise.Keeps(t, "T8", "serial", rounds(10_000_000)) {
			v := r.Uint64()
			a, b := uint32(v), uint32(v>>32)
			if v&(1<<20) != 0 {
				b = a + uint32(int32(b)>>22)
			}
			if broken := checkPair(n, a, b); broken != "" {
				t.Fatalf("%d bits, %#x and %#x: %s", n, a, b, broken)
			}
		}
	}
}

// T8, tier N: all pairs of 16 bits.
func TestLawsHoldForAllPairsOf16Bits(t *testing.T) {
	if os.Getenv("PARLEY_SOAK") == "" {
		t.Skip("2^32 pairs; set PARLEY_SOAK=1")
	}
	for a := range uint32(1 << 16) {
		for b := range uint32(1 << 16) {
			if broken := checkPair(Bits16, a, b); broken != "" {
				t.Fatalf("16 bits, %#x and %#x: %s", a, b, broken)
			}
		}
	}
}

// T8: every width at every place where an error of one would show.
func TestLawsHoldAtTheEdges(t *testing.T) {
	promise.Keeps(t, "T8", "serial", 1)
	for _, n := range widths {
		half := n.Mask()/2 + 1
		for _, base := range []uint32{0, 1, half - 1, half, half + 1, n.Mask() - 1, n.Mask()} {
			for _, step := range []uint32{0, 1, 2, half - 2, half - 1, half, half + 1, half + 2, n.Mask() - 1, n.Mask()} {
				if broken := checkPair(n, base, base+step); broken != "" {
					t.Fatalf("%d bits, %#x and %#x: %s", n, base, base+step, broken)
				}
			}
		}
	}
}

// A peer's counter walks back and forth by less than half the space; the
// unwrapped number must follow a 64 bit model through many wraps.
func TestUnwrapFollowsARandomWalk(t *testing.T) {
	r := chance.Rand(t, 0x5e41a1)
	for _, n := range widths {
		half := int64(n.Mask()/2) + 1
		wraps := 0
		for walk := range 20 {
			model := uint64(r.Uint32())
			if walk == 0 {
				model = 0 // the start of a real connection
			}
			got := model
			for range rounds(100_000) {
				step := r.Int64N(half)
				if r.IntN(3) == 0 { // two steps ahead for one back
					step = -step
				}
				if step < 0 && uint64(-step) > model {
					continue
				}
				before := model
				model += uint64(step)
				if before>>n != model>>n {
					wraps++
				}
				if got = n.Unwrap(got, uint32(model)); got != model {
					t.Fatalf("%d bits, from %#x by %d: got %#x, want %#x", n, before, step, got, model)
				}
			}
		}
		if wraps < rounds(100_000) {
			t.Errorf("%d bits: only %d wraps were crossed", n, wraps)
		}
	}
}

// checkUnwrap compares Unwrap with its definition in numbers that do not wrap.
func checkUnwrap(n Bits, near uint64, x uint32) error {
	got := n.Unwrap(near, x)
	if uint32(got)&n.Mask() != x&n.Mask() {
		return fmt.Errorf("%d bits: Unwrap(%#x, %#x) = %#x has other low bits", n, near, x, got)
	}
	away := func(v *big.Int) *big.Int {
		d := new(big.Int).Sub(v, new(big.Int).SetUint64(near))
		return d.Abs(d)
	}
	g, space := new(big.Int).SetUint64(got), big.NewInt(int64(n.Mask())+1)
	later, earlier := new(big.Int).Add(g, space), new(big.Int).Sub(g, space)
	if earlier.Sign() >= 0 && away(earlier).Cmp(away(g)) < 0 {
		return fmt.Errorf("%d bits: Unwrap(%#x, %#x) = %#x, but %#x is nearer", n, near, x, got, earlier)
	}
	if later.IsUint64() && away(later).Cmp(away(g)) <= 0 {
		return fmt.Errorf("%d bits: Unwrap(%#x, %#x) = %#x, but %#x is as near and later", n, near, x, got, later)
	}
	return nil
}

// FuzzLaws checks the laws of pairs and the definition of Unwrap.
func FuzzLaws(f *testing.F) {
	for _, n := range widths {
		half := uint64(n.Mask()/2) + 1
		f.Add(uint8(n), uint64(0), n.Mask())
		f.Add(uint8(n), half, uint32(0))
		f.Add(uint8(n), half-1, uint32(half))
		f.Add(uint8(n), uint64(math.MaxUint64), uint32(0))
	}
	f.Fuzz(func(t *testing.T, width uint8, near uint64, x uint32) {
		n := Bits(width%32 + 1)
		if broken := checkPair(n, uint32(near), x); broken != "" {
			t.Fatalf("%d bits, %#x and %#x: %s", n, uint32(near), x, broken)
		}
		if err := checkUnwrap(n, near, x); err != nil {
			t.Fatal(err)
		}
	})
}

func TestUnwrapIsTheNearest(t *testing.T) {
	r := chance.Rand(t, 0x5e41a1)
	for _, n := range widths {
		half := uint64(n.Mask()/2) + 1
		nears := []uint64{0, 1, half - 1, half, half + 1, 2*half - 1, 2 * half, math.MaxUint64, math.MaxUint64 - half, math.MaxUint64 - 2*half}
		for range rounds(100_000) {
			near := nears[r.IntN(len(nears))] + uint64(r.IntN(5)) - 2
			if r.IntN(2) == 0 {
				near = r.Uint64() >> r.IntN(64)
			}
			if err := checkUnwrap(n, near, uint32(near)+uint32(half)*uint32(r.IntN(2))+uint32(r.IntN(5))-2); err != nil {
				t.Fatal(err)
			}
			if err := checkUnwrap(n, near, r.Uint32()); err != nil {
				t.Fatal(err)
			}
		}
	}
}
