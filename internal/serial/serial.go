package serial

// Bits is the width of a wrap-around number space. The constants below are the
// widths in use; every width from 1 to 32 works.
type Bits uint8

// The widths that the dialects use.
const (
	Bits16 Bits = 16
	Bits24 Bits = 24
	Bits32 Bits = 32
)

// unused is the number of bits of a uint32 above the width. The mask shows the compiler
// that the shift is in range, so that it adds no branch.
func (n Bits) unused() uint8 { return uint8(32-n) & 31 }

// Mask returns the largest number of the space: all its bits set.
func (n Bits) Mask() uint32 { return ^uint32(0) >> n.unused() }

// Next returns the number after a; after the largest comes 0.
func (n Bits) Next(a uint32) uint32 { return (a + 1) & n.Mask() }

// Distance returns the signed shortest way from one number to the other: how often Next
// must be applied to from to reach to, negative when to is behind. Exactly half the space
// could be either; it is returned as negative, so there Distance(a, b) equals Distance(b,
// a).
func (n Bits) Distance(from, to uint32) int32 {
	// Shifting the difference to the top and back down extends its sign.
	return int32((to-from)<<n.unused()) >> n.unused()
}

// Less reports whether a comes before b. Of two numbers exactly half the space apart,
// neither comes before the other, so Less(a, b) and Less(b, a) are never both true.
func (n Bits) Less(a, b uint32) bool { return n.Distance(a, b) > 0 }

// Unwrap returns the 64 bit number nearest to near whose low bits are x. Of two that are
// equally near it returns the later. The result never wraps below 0 or beyond the largest
// uint64: where the nearest would, Unwrap returns the next one inside.
func (n Bits) Unwrap(near uint64, x uint32) uint64 {
	mask := uint64(n.Mask())
	// The answer is the one congruent number among the 2^n that start just after near
	// minus half the space. That start is moved to keep all of them in range.
	back := mask >> 1
	start := min(max(near, back)-back, ^mask)
	return start + (uint64(x)-start)&mask
}
