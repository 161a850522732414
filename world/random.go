package world

// Random is the world's random source. It is part of the state: it is copied, rewound and
// hashed with it, so a replay draws the same numbers. It is predictable: clients are
// told the seed. Do not use it for keys, nor for what Game.Sees hides: docs/world.md says
// what to do there. The zero value is usable.
type Random struct{ state uint64 }

// Uint64 returns 64 random bits.
func (r *Random) Uint64() uint64 {
	r.state += 0x9e3779b97f4a7c15
	return mix(r.state)
}

// IntN returns a random number from 0 to n-1. It panics if n is not positive.
func (r *Random) IntN(n int) int {
	if n <= 0 {
		panic("world: IntN of a number that is not positive")
	}
	// The remainder favours small numbers by n in 2^64, which no game will see.
	return int(r.Uint64() % uint64(n))
}

// Float64 returns a random number from 0 up to, but not including, 1.
func (r *Random) Float64() float64 { return float64(r.Uint64()>>11) / (1 << 53) }

// mix spreads each bit of x over all of the result, and is one to one.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
