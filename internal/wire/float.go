package wire

import "math"

// finite32 returns v, which has just been read, and fails if it is NaN or infinite: one
// such value in the world would spread to every sum that it enters.
func (r *Reader) finite32(field string, v float32) float32 {
	if math.Abs(float64(v)) <= math.MaxFloat32 { // false for NaN
		return v
	}
	r.refuse(CauseNotFinite, r.Offset()-4, field)
	return 0
}

// finite64 is finite32 for 8 bytes.
func (r *Reader) finite64(field string, v float64) float64 {
	if math.Abs(v) <= math.MaxFloat64 {
		return v
	}
	r.refuse(CauseNotFinite, r.Offset()-8, field)
	return 0
}
