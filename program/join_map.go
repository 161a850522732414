package program

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"parley/internal/plain"
	"parley/play/bots"
	"parley/world"
)

// The map is that many characters wide and high; one is twice as many cells high as it is wide, as
// characters are.
const mapWidth, mapHeight, mapCells = 64, 20, 4

// frame is what a map shows: the middle of it, and how many cells wide a character is.
type frame struct{ x, y, cells float64 }

// frameOf has the player's own entity in the middle. A player without one watches: everything in
// sight is on the map.
func frameOf(v *bots.Sight) frame {
	if own, ok := v.Things[v.You]; ok {
		return frame{own.X, own.Y, mapCells}
	}
	if len(v.Things) == 0 {
		return frame{0, 0, mapCells}
	}
	left, right, low, high := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, t := range v.Things {
		left, right = min(left, t.X), max(right, t.X)
		low, high = min(low, t.Y), max(high, t.Y)
	}
	wide, tall := (right-left)/(mapWidth-2), (high-low)/(2*(mapHeight-2))
	return frame{(left + right) / 2, (low + high) / 2, math.Ceil(max(wide, tall, mapCells))}
}

// at returns the row and the column of a place.
func (f frame) at(x, y float64) (row, column int, inside bool) {
	column = int(math.Round((x-f.x)/f.cells)) + mapWidth/2
	row = mapHeight/2 - int(math.Round((y-f.y)/(2*f.cells)))
	return row, column, row >= 0 && row < mapHeight && column >= 0 && column < mapWidth
}

// place returns the middle of what a character shows.
func (f frame) place(row, column int) (x, y float64) {
	return f.x + float64(column-mapWidth/2)*f.cells, f.y + float64(mapHeight/2-row)*2*f.cells
}

// unknown returns the chunks on the map that the player has not been told of.
func (s *joinSeat) unknown() (list []world.ChunkPlace) {
	s.player.See(func(v *bots.Sight) {
		f := frameOf(v)
		for row := range mapHeight {
			for column := range mapWidth {
				bx, by, _, _, ok := world.Locate(f.place(row, column))
				at := world.ChunkPlace{BX: bx, BY: by}
				if ok && v.Land[at] == nil && !slices.Contains(list, at) {
					list = append(list, at)
				}
			}
		}
	})
	return list
}

// explore asks for the terrain on the map, and waits a moment for it.
func (s *joinSeat) explore(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, at := range s.unknown() {
		if s.player.Explore(ctx, at) != nil {
			return // the map says that there are no walls to be seen
		}
	}
	for len(s.unknown()) > 0 {
		select {
		case <-s.news:
		case <-s.over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// chart draws what is in sight.
func (s *joinSeat) chart() string {
	var b strings.Builder
	s.player.See(func(v *bots.Sight) {
		f := frameOf(v)
		var rows [mapHeight][mapWidth]rune
		for r := range rows {
			for c := range rows[r] {
				rows[r][c] = '·'
				if value, _ := v.Cell(f.place(r, c)); s.solid(value) {
					rows[r][c] = '#'
				}
			}
		}
		for id, t := range v.Things {
			if r, c, ok := f.at(t.X, t.Y); ok && rows[r][c] != '@' {
				rows[r][c] = glyph(s.schema, t.Kind, id == v.You)
			}
		}
		fmt.Fprintf(&b, "at (%.0f, %.0f), %.0f by %.0f cells a sign: %s", f.x, f.y, f.cells, 2*f.cells, s.legend(len(v.Land) > 0))
		for r := range rows {
			b.WriteByte('\n')
			b.WriteString(string(rows[r][:]))
		}
	})
	return b.String()
}

// solid reports whether a cell is a wall.
func (s *joinSeat) solid(value byte) bool {
	return int(value) < len(s.game.CellTypes) && s.game.CellTypes[value].Solid
}

// legend says what the signs of a map are.
func (s *joinSeat) legend(explored bool) string {
	signs := []string{"@ you"}
	for _, k := range s.schema.Kinds {
		if k.HasBody {
			signs = append(signs, fmt.Sprintf("%c %s", glyph(s.schema, k.Number, false), k.Name))
		}
	}
	switch {
	case !slices.ContainsFunc(s.game.CellTypes, func(c world.Cell) bool { return c.Solid }):
	case explored:
		signs = append(signs, "# wall")
	default:
		signs = append(signs, "walls unknown")
	}
	return strings.Join(signs, ", ")
}

// glyph is the sign of an entity: the first letter of its kind, or the next one if an earlier kind has that.
func glyph(s *world.Schema, kind int, you bool) rune {
	if you {
		return '@'
	}
	var taken []rune
	for _, k := range s.Kinds {
		sign := '?'
		for _, letter := range strings.ToUpper(k.Name) {
			if !slices.Contains(taken, letter) {
				sign = letter
				break
			}
		}
		if k.Number == kind {
			return sign
		}
		taken = append(taken, sign)
	}
	return '?'
}

// list says what is in sight.
func (s *joinSeat) list() string {
	var b strings.Builder
	s.player.See(func(v *bots.Sight) {
		ids := make([]uint16, 0, len(v.Things))
		for id := range v.Things {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		fmt.Fprintf(&b, "%d in sight", len(ids))
		for _, id := range ids {
			t := v.Things[id]
			kind, place := "?", fmt.Sprintf(" at (%.1f, %.1f)", t.X, t.Y)
			if k := s.schema.Kind(t.Kind); k != nil {
				if kind = k.Name; !k.HasBody {
					place = "" // it is nowhere
				}
			}
			fmt.Fprintf(&b, "\n  %-6s %5d%s", kind, id, place)
			if name := v.Players[id]; name != "" {
				fmt.Fprintf(&b, ", %s", plain.Text(name))
			}
			if id == v.You {
				b.WriteString(", which is you")
			}
		}
	})
	return b.String()
}
