package world

import "math"

// The functions of package math are not the same to the last bit everywhere:
// where the processor has a fused multiply-add, the compiler uses it inside
// them. These round every product, as float64(a*b) + c asks for, so that all
// machines agree. Sqrt, Floor, Abs and Mod of package math are exact and safe.

// Sin returns the sine of an angle in radians, to about 1e-15. It is less exact for
// angles of many turns.
func Sin(angle float64) float64 {
	sin, _ := SinCos(angle)
	return sin
}

// Cos returns the cosine of an angle in radians, as exactly as Sin.
func Cos(angle float64) float64 {
	_, cos := SinCos(angle)
	return cos
}

// SinCos returns Sin and Cos. For an angle that is not finite it returns 0 and 1.
func SinCos(angle float64) (sin, cos float64) {
	if angle-angle != 0 {
		return 0, 1
	}
	r := angle
	if r < -8 || r > 8 {
		r = math.Mod(r, 2*math.Pi)
	}
	turns := math.Floor(float64(r*(2/math.Pi)) + 0.5)
	// Pi/2 in two parts, so that the difference keeps its digits.
	const high, low = 1.57079632673412561417e+00, 6.07710050650619224932e-11
	r = r - float64(turns*high)
	r = r - float64(turns*low)
	s, c := sinCosSmall(r)
	switch int(turns) & 3 {
	case 1:
		return c, -s
	case 2:
		return -s, -c
	case 3:
		return -c, s
	}
	return s, c
}

// sinCosSmall sums the series of both for an angle within about a quarter of Pi,
// from the smallest term.
func sinCosSmall(x float64) (sin, cos float64) {
	xx := float64(x * x)
	sin, cos = sinTerms[0], cosTerms[0]
	for i := 1; i < len(sinTerms); i++ {
		sin = float64(xx*sin) + sinTerms[i]
		cos = float64(xx*cos) + cosTerms[i]
	}
	return float64(x * sin), cos
}

// The coefficients of both series: one over the factorials, with their signs.
var (
	sinTerms = [9]float64{1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1}
	cosTerms = [9]float64{1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -1.0 / 2, 1}
)

// Atan2 returns the angle of the point (x, y), from -Pi to Pi, to about 1e-15. As in
// package math, y comes first. For (0, 0), and for values that are not finite, it returns
// 0.
func Atan2(y, x float64) float64 {
	if x-x != 0 || y-y != 0 || x == 0 && y == 0 {
		return 0
	}
	ax, ay := math.Abs(x), math.Abs(y)
	var a float64
	if ay <= ax {
		a = atan(ay / ax)
	} else {
		a = math.Pi/2 - atan(ax/ay)
	}
	if x < 0 {
		a = math.Pi - a
	}
	if y < 0 {
		a = -a
	}
	return a
}

// atan returns the arc tangent of t from 0 to 1. Two halvings of the angle
// bring it under 0.2, where the series is short.
func atan(t float64) float64 {
	for range 2 {
		t = t / (1 + math.Sqrt(1+float64(t*t)))
	}
	tt := float64(t * t)
	sum := 0.0
	for n := 23; n >= 1; n -= 2 {
		sum = 1/float64(n) - float64(tt*sum)
	}
	return float64(4 * float64(t*sum))
}

// Hypot returns the length of (x, y).
func Hypot(x, y float64) float64 { return math.Sqrt(float64(x*x) + float64(y*y)) }

// Heading returns the angle from one point to another, for Body.Angle.
func Heading(fromX, fromY, toX, toY float64) float32 {
	// Converted, as the caller may have multiplied to get them: see "Determinism".
	return float32(Atan2(float64(toY)-float64(fromY), float64(toX)-float64(fromX)))
}
