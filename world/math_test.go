package world

import (
	"math"
	"testing"
)

func TestAnglesAreThoseOfPackageMath(t *testing.T) {
	r := newRand(t)
	near := func(name string, x, got, want, within float64) {
		if math.Abs(got-want) > within {
			t.Fatalf("%s(%v) = %v, want %v", name, x, got, want)
		}
	}
	for range rounds(200_000, 10_000_000) {
		x := r.NormFloat64() * 10
		within := 1e-15 * max(1, math.Abs(x)/4)
		near("Sin", x, Sin(x), math.Sin(x), within)
		near("Cos", x, Cos(x), math.Cos(x), within)
		a, b := r.NormFloat64(), r.NormFloat64()
		near("Atan2", a/b, Atan2(a, b), math.Atan2(a, b), 1e-15)
		near("Hypot", a, Hypot(a, b), math.Hypot(a, b), 1e-14)
	}
	for _, x := range []float64{0, math.Pi, -math.Pi, math.Pi / 2, 8, -8, 1e-300, 1e6, math.Copysign(0, -1)} {
		near("Sin", x, Sin(x), math.Sin(x), 1e-9)
		near("Cos", x, Cos(x), math.Cos(x), 1e-9)
	}
	// What no angle is: whatever comes out is finite, and a direction.
	for _, x := range []float64{math.NaN(), math.Inf(1), math.MaxFloat64, math.MaxFloat32, -1e30} {
		s, c := SinCos(x)
		near("length of", x, Hypot(s, c), 1, 1e-9)
		if got := Atan2(x, math.NaN()); got != 0 {
			t.Errorf("Atan2(%v, NaN) = %v", x, got)
		}
	}
	for _, p := range [][2]float64{{0, 1}, {0, -1}, {1, 0}, {-1, 0}, {1, 1}, {-1, -1}, {0, 0}} {
		near("Atan2", p[0], Atan2(p[0], p[1]), math.Atan2(p[0], p[1]), 1e-15)
	}
	if got := Heading(1, 1, 1, 5); got != float32(math.Pi/2) {
		t.Errorf("Heading %v", got)
	}
}

func TestRandomIsEven(t *testing.T) {
	var r Random
	var count [10]int
	sum := 0.0
	for range 100_000 {
		count[r.IntN(10)]++
		f := r.Float64()
		if f < 0 || f >= 1 {
			t.Fatal(f)
		}
		sum += f
	}
	for i, n := range count {
		if n < 9_500 || n > 10_500 {
			t.Errorf("%d came %d times of 100,000", i, n)
		}
	}
	if sum < 49_500 || sum > 50_500 {
		t.Errorf("the mean is %v", sum/100_000)
	}
	defer func() {
		if recover() == nil {
			t.Error("IntN(0) does not panic")
		}
	}()
	r.IntN(0)
}
