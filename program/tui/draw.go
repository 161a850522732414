package tui

import (
	"math"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"parley/world"
)

// cell is a character of the map.
type cell struct {
	text    string // of one column, or the beginning of a longer text
	style   style
	covered bool // by a text that begins left of it
	body    bool // no text is written over it
}

// grid is the characters of the map, row by row.
type grid struct {
	cells         []cell
	columns, rows int
}

func (g *grid) reset(columns, rows int) {
	if n := columns * rows; cap(g.cells) < n {
		g.cells = make([]cell, n)
	}
	g.cells, g.columns, g.rows = g.cells[:columns*rows], columns, rows
	for i := range g.cells {
		g.cells[i] = cell{text: " "}
	}
}

func (g *grid) at(column, row int) *cell {
	if column < 0 || column >= g.columns || row < 0 || row >= g.rows {
		return nil
	}
	return &g.cells[row*g.columns+column]
}

// label writes a text in the middle of a column, if no body and no other text is there.
func (g *grid) label(column, row int, text string, st style) {
	width := ansi.StringWidth(text)
	first := max(0, min(column-width/2, g.columns-width))
	if width == 0 || width > g.columns || row < 0 || row >= g.rows {
		return
	}
	for i := range width {
		if c := g.at(first+i, row); c.body || c.covered {
			return
		}
	}
	for i := range width {
		*g.at(first+i, row) = cell{style: st, covered: true, body: true}
	}
	g.at(first, row).text = text
}

// lines returns the rows as text.
func (g *grid) lines() []string {
	out := make([]string, g.rows)
	var b []byte
	for row := range g.rows {
		b = b[:0]
		last := style(0)
		for _, c := range g.cells[row*g.columns:][:g.columns] {
			if c.text == "" {
				continue // covered
			}
			if c.style != last && strings.TrimSpace(c.text) != "" {
				b = c.style.appendTo(b)
				last = c.style
			}
			b = append(b, c.text...)
		}
		if last != 0 {
			b = style(0).appendTo(b)
		}
		out[row] = string(b)
	}
	return out
}

// drawMap draws the world.
func (s *Screen) drawMap(columns, rows int) []string {
	s.grid.reset(columns, rows)
	if w := s.scene.World; w != nil && s.hasBodies() {
		s.aim(columns, rows)
		if s.camera.known {
			s.walls()
			s.bodies()
		}
	} else if w == nil && rows > 0 {
		s.grid.label(columns/2, rows/2, "waiting for the world …", grey)
	}
	return s.grid.lines()
}

// floorDots is how many columns apart the dots on the floor are. Without them, nobody sees that the own player moves.
const floorDots = 8

// walls draws what is solid, with two cells a character: one above and one below.
func (s *Screen) walls() {
	g, w, c := &s.grid, s.scene.World, &s.camera
	pitch := math.Exp2(math.Round(math.Log2(c.cells * floorDots)))
	dotX := make([]bool, g.columns)
	for column := range dotX {
		left, _ := c.place(float64(column), 0, g.columns, g.rows)
		right, _ := c.place(float64(column+1), 0, g.columns, g.rows)
		dotX[column] = math.Floor(left/pitch) != math.Floor(right/pitch)
	}
	for row := range g.rows {
		_, top := c.place(0, float64(row), g.columns, g.rows)
		_, bottom := c.place(0, float64(row+1), g.columns, g.rows)
		dotY := math.Floor(top/pitch) != math.Floor(bottom/pitch)
		for column := range g.columns {
			x, high := c.place(float64(column)+.5, float64(row)+.25, g.columns, g.rows)
			_, low := c.place(float64(column)+.5, float64(row)+.75, g.columns, g.rows)
			above, below := !w.Passable(x, high), !w.Passable(x, low)
			at := g.at(column, row)
			switch {
			case above && below:
				*at = cell{text: "█", style: grey}
			case above:
				*at = cell{text: "▀", style: grey}
			case below:
				*at = cell{text: "▄", style: grey}
			case dotX[column] && dotY:
				*at = cell{text: "·", style: grey}
			}
		}
	}
}

// bodies draws what is on the map: the own entity over all others, and names where there is room for them.
func (s *Screen) bodies() {
	g, w := &s.grid, s.scene.World
	for id, k := range w.Entities() {
		if k.HasBody && id != s.scene.Own {
			s.body(id, k)
		}
	}
	if k := w.KindOf(s.scene.Own); k != nil && k.HasBody {
		s.body(s.scene.Own, k)
	}
	for id, k := range w.Entities() {
		if !k.HasBody {
			continue
		}
		b := w.Body(id)
		column, row := s.camera.at(b.X, b.Y, g.columns, g.rows)
		if g.at(column, row) == nil {
			continue
		}
		if text := s.caption(id, k); text != "" {
			g.label(column, row-1, text, s.bodyStyle(id, k)&^reverse)
		}
	}
}

func (s *Screen) body(id world.ID, k *world.Kind) {
	b := s.scene.World.Body(id)
	column, row := s.camera.at(b.X, b.Y, s.grid.columns, s.grid.rows)
	at := s.grid.at(column, row)
	if at == nil {
		return
	}
	sign := string(s.known(k).sign)
	if id == s.scene.Own {
		sign = "@"
	}
	*at = cell{text: sign, style: s.bodyStyle(id, k), body: true}
}

func (s *Screen) bodyStyle(id world.ID, k *world.Kind) style {
	st := styleOf(id) | bold
	switch {
	case id == s.scene.Own:
		st = yellow | bold
	case s.known(k).health < 0 && s.title(id, k) == "":
		st = red | bold // what flies
	}
	if l, ok := s.lives[id]; ok && s.scene.Tick-l.hit < flashTicks && l.hit <= s.scene.Tick {
		st = red | bold | reverse
	}
	return st
}

// caption is what stands above a body: its name and its health.
func (s *Screen) caption(id world.ID, k *world.Kind) string {
	text := ansi.Truncate(s.title(id, k), maxNameWidth, "…")
	if id == s.scene.Own {
		text = "" // it is in the middle, and its name above all
	}
	if l, ok := s.lives[id]; ok && id != s.scene.Own && l.health < l.most {
		text = strings.TrimSpace(text + " " + shortNumber(l.health))
	}
	return text
}
