package world

import "math"

// moveStep is the longest stride that is taken at once, so that nothing passes
// through a wall of one cell at speed.
const moveStep = 0.5

// MoveAll moves every body by its speed: Norm cells in the direction of Angle. A body with a
// hitbox stops at cells that are not passable.
func (w *World) MoveAll() {
	for _, t := range w.tables {
		if !t.kind.HasBody {
			continue
		}
		for row := t.next(0); row >= 0; row = t.next(row + 1) {
			if b := t.body(row); b.Norm != 0 {
				w.Move(b)
			}
		}
	}
	w.fresh = false
}

// Move moves one body by its speed and reports whether something stopped it on the way. The body
// keeps its speed.
func (w *World) Move(b *Body) (stopped bool) {
	norm := float64(b.Norm)
	if norm-norm != 0 || norm == 0 {
		return false
	}
	norm = max(-maxSpeed, min(norm, maxSpeed))
	sin, cos := SinCos(float64(b.Angle))
	own := b.sum() == b.moved
	stopped = w.slide(b, float64(norm*cos), float64(norm*sin))
	if own {
		b.moved = b.sum()
	}
	return stopped
}

// slide moves a body along (dx, dy) in strides until something is in its way.
func (w *World) slide(b *Body, dx, dy float64) (stopped bool) {
	h := w.Hitbox(b)
	if h.IsNull() {
		b.X, b.Y = clampPlace(b.X+dx), clampPlace(b.Y+dy)
		return false
	}
	strides := int(math.Ceil(Hypot(dx, dy) / moveStep))
	x, y := b.X, b.Y
	inside := false
	for i := 1; i <= strides; i++ {
		part := float64(i) / float64(strides)
		nx, ny := x+float64(dx*part), y+float64(dy*part)
		hit := !w.stands(nx, ny, h)
		if hit && i == 1 {
			// What stands in a wall, since the terrain changed around it, may walk out.
			inside = !w.stands(x, y, h)
		}
		if hit && !inside {
			w.approach(b, nx, ny, h)
			return true
		}
		inside = hit
		b.X, b.Y = nx, ny
	}
	return false
}

// approach brings a body up to what stops it, to a sixteenth of a stride.
func (w *World) approach(b *Body, x, y float64, h Hitbox) {
	for range 4 {
		mx, my := (b.X+x)/2, (b.Y+y)/2
		if w.stands(mx, my, h) {
			b.X, b.Y = mx, my
		} else {
			x, y = mx, my
		}
	}
}

// clear reports whether nothing stops a body on the straight way to a place. Who stands in a wall
// may walk out, as with slide.
func (w *World) clear(b *Body, x, y float64, h Hitbox) bool {
	if h.IsNull() {
		return true
	}
	dx, dy := x-b.X, y-b.Y
	strides := int(math.Ceil(Hypot(dx, dy) / moveStep))
	inside := !w.stands(b.X, b.Y, h)
	for i := 1; i < strides; i++ { // the end was looked at
		part := float64(i) / float64(strides)
		hit := !w.stands(b.X+float64(dx*part), b.Y+float64(dy*part), h)
		if hit && !inside {
			return false
		}
		inside = hit
	}
	return true
}

// clampPlace keeps a body without an outline, which nothing stops, within the
// numbers of the wire.
func clampPlace(v float64) float64 {
	const edge = ChunkSide << 15
	return max(-edge, min(v, edge-1))
}
