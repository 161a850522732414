package world

import "math"

// A Body is embedded in the kinds that have a place in the world. Every
// dialect can say what is in it.
type Body struct {
	X, Y   float64 // in cells; y is up
	Angle  float32 // the direction of its speed in radians: 0 is along x, and it grows towards y
	Norm   float32 // its speed, in cells a tick
	Sprite uint16  // how it looks, and by Game.Hitboxes its outline

	// The last place that was accepted from the client, and when.
	knownX, knownY float64
	knownAt        uint64
	overdrawn      float64 // how much of the grace is used up
}

// settleAt makes where the body is the place that is known of it.
func (b *Body) settleAt(tick uint64) {
	b.knownX, b.knownY, b.knownAt, b.overdrawn = b.X, b.Y, tick, 0
}

// Place puts an entity somewhere else, all at once, and stops it. A client's own
// idea of where it was does not hold any more.
func (w *World) Place(id ID, x, y float64) {
	if b := w.Body(id); b != nil {
		b.X, b.Y, b.Norm = x, y, 0
		b.settleAt(w.tick)
	}
}

// A Hitbox is the outline of a body, centred on its place: nothing, a circle or
// a rectangle. The zero Hitbox is nothing.
type Hitbox struct {
	radius, halfWidth, halfHeight float64
}

// Circle makes a hitbox; sizes beyond 64 cells count as 64.
func Circle(radius float64) Hitbox {
	return Hitbox{radius: max(0, min(radius, maxHitbox))}
}

// Rectangle makes a hitbox; sizes beyond 128 cells count as 128.
func Rectangle(width, height float64) Hitbox {
	return Hitbox{halfWidth: max(0, min(width/2, maxHitbox)), halfHeight: max(0, min(height/2, maxHitbox))}
}

// IsNull reports whether there is no outline.
func (h Hitbox) IsNull() bool { return h.radius == 0 && (h.halfWidth == 0 || h.halfHeight == 0) }

// reach is the distance of the outline's furthest point.
func (h Hitbox) reach() float64 {
	if h.radius > 0 {
		return h.radius
	}
	return Hypot(h.halfWidth, h.halfHeight)
}

// Hitbox returns the outline of a body.
func (w *World) Hitbox(b *Body) Hitbox {
	if int(b.Sprite) < len(w.game.Hitboxes) {
		return w.game.Hitboxes[b.Sprite]
	}
	return Hitbox{}
}

// Overlap reports whether the outlines of two bodies overlap. A body without an
// outline overlaps nothing.
func (w *World) Overlap(a, b *Body) bool {
	return overlap(a.X, a.Y, w.Hitbox(a), b.X, b.Y, w.Hitbox(b))
}

func overlap(ax, ay float64, a Hitbox, bx, by float64, b Hitbox) bool {
	if a.IsNull() || b.IsNull() {
		return false
	}
	dx, dy := math.Abs(bx-ax), math.Abs(by-ay)
	switch {
	case a.radius > 0 && b.radius > 0:
		r := a.radius + b.radius
		return float64(dx*dx)+float64(dy*dy) < float64(r*r)
	case a.radius > 0:
		return circleMeetsBox(dx, dy, a.radius, b)
	case b.radius > 0:
		return circleMeetsBox(dx, dy, b.radius, a)
	}
	return dx < a.halfWidth+b.halfWidth && dy < a.halfHeight+b.halfHeight
}

// circleMeetsBox is for a circle at (dx, dy), both positive, from the box.
func circleMeetsBox(dx, dy, radius float64, box Hitbox) bool {
	dx, dy = max(0, dx-box.halfWidth), max(0, dy-box.halfHeight)
	return float64(dx*dx)+float64(dy*dy) < float64(radius*radius)
}

// Free reports whether a body with an outline could stand at a place: nothing
// under the outline, nor the cell itself, is solid.
func (w *World) Free(x, y float64, h Hitbox) bool {
	return w.Passable(x, y) && !w.hits(x, y, h)
}

// hits reports whether some cell under an outline is solid. A cell is a square
// whose lower left corner has whole numbers; to touch it is not to be over it.
func (w *World) hits(x, y float64, h Hitbox) bool {
	if h.IsNull() {
		return false
	}
	if _, _, _, _, ok := Locate(x, y); !ok {
		return true // over the edge, or nowhere
	}
	halfHeight := h.halfHeight
	if h.radius > 0 {
		halfHeight = h.radius
	}
	low, high := int(math.Floor(y-halfHeight)), int(math.Ceil(y+halfHeight))-1
	for row := low; row <= high; row++ {
		half := h.halfWidth
		if h.radius > 0 {
			// The widest part of the circle within this row of cells.
			dy := 0.0
			if bottom, top := float64(row), float64(row+1); y < bottom {
				dy = bottom - y
			} else if y > top {
				dy = y - top
			}
			rest := float64(h.radius*h.radius) - float64(dy*dy)
			if rest <= 0 {
				continue
			}
			half = math.Sqrt(rest)
		}
		if w.terrain.solidSpan(int(math.Floor(x-half)), int(math.Ceil(x+half))-1, row) {
			return true
		}
	}
	return false
}
