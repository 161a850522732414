package world

import (
	"math"
	"math/bits"
)

// A Body is embedded in kinds that have a position in the world. Every dialect can send its fields.
type Body struct {
	X, Y   float64 // in cells; y is up
	Angle  float32 // direction of motion in radians: 0 is along x, and it grows towards y
	Norm   float32 // speed, in cells a tick
	Sprite uint16  // appearance; Game.Hitboxes has its outline

	// The last place that was accepted from the client, and when.
	knownX, knownY float64
	knownAt        uint64
	overdrawn      float64 // how much of the grace is used up

	moved  uint64 // the sum of the body after it last moved by its speed or was steered by its own player
	jolted uint64 // tells the last time that the game itself changed it from others
}

// sum tells one state of a body's motion from others.
func (b *Body) sum() uint64 {
	h := math.Float64bits(b.X) * 0x9e3779b97f4a7c15
	h = bits.RotateLeft64(h, 32) ^ math.Float64bits(b.Y)*0xbf58476d1ce4e5b9
	return bits.RotateLeft64(h, 32) ^ (uint64(math.Float32bits(b.Angle))<<32|uint64(math.Float32bits(b.Norm)))*0x94d049bb133111eb
}

// notice finds, at the end of a tick, whether the game has changed a body otherwise than by its speed and by what its
// player asked: that player's client is to be told.
func (b *Body) notice(tick uint64) {
	if sum := b.sum(); sum != b.moved {
		b.moved, b.jolted = sum, sum^mix(tick)
	}
}

// settleAt makes where the body is the place that is known of it.
func (b *Body) settleAt(tick uint64) {
	b.knownX, b.knownY, b.knownAt, b.overdrawn = b.X, b.Y, tick, 0
}

// Place moves an entity to a position at once and stops it. The last position that was accepted from its client no
// longer counts.
func (w *World) Place(id ID, x, y float64) {
	if b := w.Body(id); b != nil {
		b.X, b.Y, b.Norm = x, y, 0
		b.settleAt(w.tick)
	}
}

// A Hitbox is the outline of a body, centred on its position: none, a circle or a rectangle. The zero Hitbox is none.
type Hitbox struct {
	radius, halfWidth, halfHeight float64
}

// Circle returns a round hitbox. A radius above 64 cells counts as 64.
func Circle(radius float64) Hitbox {
	return Hitbox{radius: max(0, min(radius, maxHitbox))}
}

// Rectangle returns a rectangular hitbox. A side above 128 cells counts as 128.
func Rectangle(width, height float64) Hitbox {
	return Hitbox{halfWidth: max(0, min(width/2, maxHitbox)), halfHeight: max(0, min(height/2, maxHitbox))}
}

// IsNull reports whether the hitbox has no outline.
func (h Hitbox) IsNull() bool { return h.radius == 0 && (h.halfWidth == 0 || h.halfHeight == 0) }

// Size returns the radius of a circle, or the sides of a rectangle. What the hitbox is not is 0.
func (h Hitbox) Size() (radius, width, height float64) {
	return h.radius, 2 * h.halfWidth, 2 * h.halfHeight
}

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

// Free reports whether a body with an outline could stand at a position: neither its cell nor any cell under the
// outline is solid.
func (w *World) Free(x, y float64, h Hitbox) bool {
	return w.Passable(x, y) && w.stands(x, y, h)
}

// stands reports whether an outline is over nothing solid, both at a place and at the cell that
// clients are told for it: "a position that is told as a whole cell is free as that whole cell"
// (realm).
func (w *World) stands(x, y float64, h Hitbox) bool {
	if h.IsNull() {
		return true
	}
	if _, _, _, _, ok := Locate(x, y); !ok {
		return false // over the edge, or nowhere
	}
	halfWidth, halfHeight := h.halfWidth, h.halfHeight
	if h.radius > 0 {
		halfWidth, halfHeight = h.radius, h.radius
	}
	cellX, cellY := math.Floor(x), math.Floor(y)
	if !w.solidBox(cellX-halfWidth, cellY-halfHeight, x+halfWidth, y+halfHeight) {
		return true // mostly nothing is near
	}
	return !w.hits(x, y, h) && !w.hits(cellX, cellY, h)
}

// solidBox reports whether a cell of a box is solid.
func (w *World) solidBox(x0, y0, x1, y1 float64) bool {
	return w.terrain.solidBox(int(math.Floor(x0)), int(math.Floor(y0)), int(math.Floor(x1)), int(math.Floor(y1)))
}

// hits reports whether some cell under an outline is solid. "Cells are half-open, so a hitbox that
// ends at the border of the cell above or to the right is in that cell" (realm): a cell has its
// lower and its left border, and not the others.
func (w *World) hits(x, y float64, h Hitbox) bool {
	if h.IsNull() {
		return false
	}
	if _, _, _, _, ok := Locate(x, y); !ok {
		return true // over the edge, or nowhere
	}
	if h.radius == 0 {
		return w.solidBox(x-h.halfWidth, y-h.halfHeight, x+h.halfWidth, y+h.halfHeight)
	}
	first, last := int(math.Floor(y-h.radius)), int(math.Floor(y+h.radius))
	c := w.terrain.only(int(math.Floor(x-h.radius)), first, int(math.Floor(x+h.radius)), last)
	if c != nil && !c.filled {
		return false
	}
	for row := first; row <= last; row++ {
		// The widest part of the circle within this row of cells. Where that is at the upper border,
		// which is not the row's, the circle comes close to it and no further.
		bottom, top := float64(row), float64(row+1)
		dy := max(0, bottom-y, y-top)
		rest := float64(h.radius*h.radius) - float64(dy*dy)
		if rest < 0 || rest == 0 && y >= top {
			continue
		}
		half := math.Sqrt(rest)
		left, right := int(math.Floor(x-half)), int(math.Floor(x+half))
		if y >= top {
			right = int(math.Ceil(x+half)) - 1
		}
		if c == nil {
			if w.terrain.solidSpan(left, right, row) {
				return true
			}
		} else if left <= right && anyBit(&c.line(row&255).solid, left&255, right&255) {
			return true
		}
	}
	return false
}
