package program

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"parley/internal/plain"
	"parley/program/tui"
	"parley/world"
)

// The map is that many characters wide and high; one is twice as many cells high as it is wide, as
// characters are.
const mapWidth, mapHeight, mapCells = 64, 20, 4

// section is what a map shows: the middle of it, and how many cells wide a character is.
type section struct{ x, y, cells float64 }

// sectionOf has the player's own entity in the middle. A player without one watches: everything in
// sight is on the map.
func sectionOf(w *world.World, own world.ID) section {
	if b := w.Body(own); b != nil {
		return section{b.X, b.Y, mapCells}
	}
	left, right, low, high := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for id := range w.Entities() {
		if b := w.Body(id); b != nil {
			left, right = min(left, b.X), max(right, b.X)
			low, high = min(low, b.Y), max(high, b.Y)
		}
	}
	if left > right { // nobody is there
		return section{0, 0, mapCells}
	}
	wide, tall := (right-left)/(mapWidth-2), (high-low)/(2*(mapHeight-2))
	return section{(left + right) / 2, (low + high) / 2, math.Ceil(max(wide, tall, mapCells))}
}

// at returns the row and the column of a place.
func (f section) at(x, y float64) (row, column int, inside bool) {
	column = int(math.Round((x-f.x)/f.cells)) + mapWidth/2
	row = mapHeight/2 - int(math.Round((y-f.y)/(2*f.cells)))
	return row, column, row >= 0 && row < mapHeight && column >= 0 && column < mapWidth
}

// place returns the middle of what a character shows.
func (f section) place(row, column int) (x, y float64) {
	return f.x + float64(column-mapWidth/2)*f.cells, f.y + float64(mapHeight/2-row)*2*f.cells
}

// chart draws what is in sight.
func (s *joinSeat) chart() string {
	w, f := s.frame.World(), sectionOf(s.frame.World(), s.frame.Own())
	var rows [mapHeight][mapWidth]rune
	for r := range rows {
		for c := range rows[r] {
			rows[r][c] = '·'
			if s.sees && !w.Passable(f.place(r, c)) {
				rows[r][c] = '#'
			}
		}
	}
	for id, k := range w.Entities() {
		if b := w.Body(id); b != nil {
			if r, c, ok := f.at(b.X, b.Y); ok && rows[r][c] != '@' {
				rows[r][c] = tui.Sign(w.Schema(), k)
				if id == s.frame.Own() {
					rows[r][c] = '@'
				}
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "at (%.0f, %.0f), %.0f by %.0f cells a sign: %s", f.x, f.y, f.cells, 2*f.cells, s.legend())
	for r := range rows {
		b.WriteByte('\n')
		b.WriteString(string(rows[r][:]))
	}
	return b.String()
}

// legend says what the signs of a map are.
func (s *joinSeat) legend() string {
	signs, schema := []string{"@ you"}, s.frame.World().Schema()
	for _, k := range schema.Kinds {
		if k.HasBody {
			signs = append(signs, fmt.Sprintf("%c %s", tui.Sign(schema, k), k.Name))
		}
	}
	switch {
	case !slices.ContainsFunc(s.game.CellTypes, func(c world.Cell) bool { return c.Solid }):
	case s.sees:
		signs = append(signs, "# wall")
	default:
		signs = append(signs, "walls unknown")
	}
	return strings.Join(signs, ", ")
}

// list says what is in sight.
func (s *joinSeat) list() string {
	w := s.frame.World()
	var ids []world.ID
	for id := range w.Entities() {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var b strings.Builder
	fmt.Fprintf(&b, "%d in sight", len(ids))
	for _, id := range ids {
		fmt.Fprintf(&b, "\n  %-6s %5d", w.KindOf(id).Name, id)
		if body := w.Body(id); body != nil {
			fmt.Fprintf(&b, " at (%.1f, %.1f)", body.X, body.Y)
		}
		if name := s.frame.Name(id); name != "" {
			fmt.Fprintf(&b, ", %s", plain.Text(name))
		}
		if id == s.frame.Own() {
			b.WriteString(", which is you")
		}
	}
	return b.String()
}
