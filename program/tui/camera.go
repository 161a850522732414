package tui

import (
	"math"

	"parley/world"
)

// A camera says which part of the world is on the map. A character is twice as high as it is wide, and so are the cells that it
// shows.
type camera struct {
	x, y  float64 // the middle
	cells float64 // how many cells wide a character is
	known bool
}

// walkColumns is how many columns a player crosses in a second at full speed, on a terminal of 80 columns. It makes the
// scale fit any game, whether its cells are large or small.
const walkColumns = 10

const (
	usualColumns = 80

	minCells, maxCells = 1.0 / 64, 4096
)

// aim turns the camera to what is to be seen: the own entity in the middle, or everything for a spectator.
func (s *Screen) aim(columns, rows int) {
	w := s.scene.World
	if own := w.Body(s.scene.Own); own != nil {
		k := w.KindOf(s.scene.Own)
		cells := k.MaxSpeed * float64(w.TickRate()) / walkColumns * usualColumns / float64(max(columns, usualColumns))
		s.camera = camera{x: own.X, y: own.Y, cells: s.zoomed(cells), known: true}
		return
	}
	if s.camera.known && s.allSeen(columns, rows) {
		return
	}
	s.fit(columns, rows)
}

// zoomed applies what the player has zoomed.
func (s *Screen) zoomed(cells float64) float64 {
	if cells = cells * math.Pow(2, -float64(s.zoom)/2); !(cells > 0) {
		cells = 1 // nothing moves in this game
	}
	return max(minCells, min(cells, maxCells))
}

// allSeen reports whether every body is on the map. A spectator's camera stands still while that is so.
func (s *Screen) allSeen(columns, rows int) bool {
	w := s.scene.World
	for id, k := range w.Entities() {
		if !k.HasBody {
			continue
		}
		b := w.Body(id)
		if c, r := s.camera.at(b.X, b.Y, columns, rows); c < 0 || c >= columns || r < 0 || r >= rows {
			return false
		}
	}
	return true
}

// fit has every body on the map, with some room around them.
func (s *Screen) fit(columns, rows int) {
	w := s.scene.World
	left, right, low, high := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	var speed float64
	for id, k := range w.Entities() {
		if k.HasBody {
			b := w.Body(id)
			left, right, low, high = min(left, b.X), max(right, b.X), min(low, b.Y), max(high, b.Y)
			speed = max(speed, k.MaxSpeed)
		}
	}
	if left > right {
		return // nobody is there
	}
	const room = 1.2
	cells := max(room*(right-left)/float64(columns), room*(high-low)/float64(2*rows), speed*float64(w.TickRate())/walkColumns/2)
	s.camera = camera{x: (left + right) / 2, y: (low + high) / 2, cells: s.zoomed(cells), known: true}
}

// at returns the column and the row of a place, which may be beside the map.
func (c *camera) at(x, y float64, columns, rows int) (column, row int) {
	const far = 1 << 20 // beyond any map, and within an int
	dx := math.Floor((x-c.x)/c.cells + float64(columns)/2)
	dy := math.Floor((c.y-y)/(2*c.cells) + float64(rows)/2)
	return int(max(-far, min(dx, far))), int(max(-far, min(dy, far)))
}

// place returns where in the world a point of the map is, counted in columns and rows.
func (c *camera) place(column, row float64, columns, rows int) (x, y float64) {
	return c.x + (column-float64(columns)/2)*c.cells, c.y - (row-float64(rows)/2)*2*c.cells
}

// nearest returns the body that actions are aimed at: the nearest of the own kind, or else of any kind, other than the own one.
func (s *Screen) nearest() (id world.ID, to *world.Body) {
	w := s.scene.World
	if w == nil {
		return 0, nil
	}
	own := w.Body(s.scene.Own)
	if own == nil {
		return 0, nil
	}
	ownKind, like, best := w.KindOf(s.scene.Own), false, math.Inf(1)
	for other, k := range w.Entities() {
		if other == s.scene.Own || !k.HasBody || like && k != ownKind {
			continue
		}
		b := w.Body(other)
		if d := math.Hypot(b.X-own.X, b.Y-own.Y); d < best || k == ownKind && !like {
			id, to, best, like = other, b, d, k == ownKind
		}
	}
	return id, to
}
