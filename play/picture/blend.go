package picture

import (
	"math"
	"time"
)

const (
	// blendTime is how long an error is seen.
	blendTime = 100 * time.Millisecond

	// defaultSnap is the error in cells that is not blended.
	defaultSnap = 2
)

// A Blend is the error of something that is drawn: it goes on from where it was drawn, and comes to where it is in 100 ms. The zero value
// is no error.
type Blend struct {
	Snap float64 // a greater error, in cells, is not blended: it jumps; 0 means 2

	dx, dy, turn float64
	since        time.Time
}

// Add says that something is drawn at (dx, dy) and turned from where it is now. It returns false if that is too far: then it is drawn where
// it is.
func (b *Blend) Add(now time.Time, dx, dy, turn float64) bool {
	x, y, t := b.At(now)
	dx, dy, turn = x+dx, y+dy, math.Remainder(t+turn, 2*math.Pi)
	snap := b.Snap
	if snap == 0 {
		snap = defaultSnap
	}
	if !(dx*dx+dy*dy <= snap*snap) || turn != turn {
		b.dx, b.dy, b.turn = 0, 0, 0
		return false
	}
	b.dx, b.dy, b.turn, b.since = dx, dy, turn, now
	return true
}

// At returns how far from where it is something is drawn now.
func (b *Blend) At(now time.Time) (dx, dy, turn float64) {
	left := 1 - float64(now.Sub(b.since))/float64(blendTime)
	if !(left > 0) {
		return 0, 0, 0
	}
	left = min(left, 1)
	return b.dx * left, b.dy * left, b.turn * left
}
