package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"parley/world"
)

// Scene is a frame of the game.
type Scene struct {
	World *world.World // nil while nothing is known. It is read until the next scene
	Own   world.ID     // the own entity, or 0
	Tick  float64
	Name  func(world.ID) string // the name of the player whose entity it is, or nothing; may be nil
	Line  string                // of the connection, such as the dialect and the round trip
}

// Screen is what a player has before the eyes. New makes it.
type Screen struct {
	schema *world.Schema
	keys   []string // of the actions
	fields []fields // of the kinds

	columns, rows int
	zoom          int
	camera        camera
	scene         Scene
	scenes        uint64

	lives               map[world.ID]life
	hits, deaths, kills int
	lines               []line

	heading float64 // where the player walks
	typing  bool
	typed   string

	grid grid
}

// fields are the indexes of fields with a meaning, or -1.
type fields struct {
	sign                rune
	name, health, score int
}

// New returns a screen for a game.
func New(s *world.Schema) *Screen {
	sc := &Screen{schema: s, keys: ActionKeys(s), lives: map[world.ID]life{}}
	for _, k := range s.Kinds {
		f := fields{Sign(s, k), -1, -1, -1}
		for i := range k.Fields {
			switch k.Fields[i].Name {
			case "name":
				if k.Fields[i].Type == world.Text {
					f.name = i
				}
			case "health", "hp":
				f.health = i
			case "score", "points":
				f.score = i
			}
		}
		sc.fields = append(sc.fields, f)
	}
	return sc
}

func (s *Screen) known(k *world.Kind) fields { return s.fields[k.Index()] }

// Sign returns the sign of a kind: the first letter of its name that no kind before it has, as a capital; an o for the ball of
// many games. The own entity is an @, whatever its kind.
func Sign(s *world.Schema, kind *world.Kind) rune {
	var used []rune
	for _, k := range s.Kinds {
		sign := '?'
		for _, letter := range strings.ToUpper(k.Name) {
			if !slices.Contains(used, letter) {
				sign = letter
				break
			}
		}
		if (k.Name == "ball" || k.Name == "shot" || k.Name == "bullet") && !slices.Contains(used, 'o') {
			sign = 'o'
		}
		if k == kind {
			return sign
		}
		used = append(used, sign)
	}
	return '?'
}

// Resize says how large the terminal is.
func (s *Screen) Resize(columns, rows int) {
	s.columns, s.rows = max(0, min(columns, maxSide)), max(0, min(rows, maxSide))
	s.camera.known = false
}

// Draw returns the screen: as many lines as there are rows, none wider than the terminal, with colours.
func (s *Screen) Draw() string {
	if s.columns == 0 || s.rows == 0 {
		return ""
	}
	top, lines, bottom := s.layout()
	out := make([]string, 0, s.rows)
	if top > 0 {
		out = append(out, s.top())
	}
	out = append(out, s.drawMap(s.columns, s.rows-top-lines-bottom)...)
	for i := len(s.lines) - lines; i < len(s.lines); i++ {
		if i < 0 {
			out = append(out, "")
			continue
		}
		out = append(out, s.lines[i].style.paint(s.cut(s.lines[i].text)))
	}
	if bottom > 0 {
		out = append(out, s.bottom())
	}
	return strings.Join(out, "\n")
}

// layout returns how many rows are for the score, for lines, and for typing. A low terminal has the map first.
func (s *Screen) layout() (top, lines, bottom int) {
	switch {
	case s.rows < 4:
		return 0, 0, 0
	case s.rows < 10:
		return 1, 1, 1
	}
	return 1, max(1, min((s.rows-12)/3, 8)), 1
}

// cut makes a text fit into a line.
func (s *Screen) cut(text string) string { return ansi.Truncate(text, s.columns, "…") }

// Cursor returns where the cursor of a line that is typed is, if there is one.
func (s *Screen) Cursor() (column, row int, ok bool) {
	if !s.typing || s.rows < 4 {
		return 0, 0, false
	}
	return min(ansi.StringWidth(s.typedLine()), s.columns-1), s.rows - 1, true
}

// typedLine returns the end of what is typed, as much as fits.
func (s *Screen) typedLine() string {
	text := "> " + s.typed
	if over := ansi.StringWidth(text) - (s.columns - 1); over > 0 {
		text = ansi.TruncateLeft(text, over, "")
	}
	return text
}

// bottom is what is typed, or else what can be.
func (s *Screen) bottom() string {
	if s.typing {
		return s.typedLine()
	}
	parts := []string{"arrows walk", "x stops"}
	if len(s.schema.Kinds) > 0 && !s.hasBodies() {
		parts = nil
	}
	for i, a := range s.schema.Actions {
		if s.keys[i] != "" && i < 9 {
			parts = append(parts, s.keys[i]+" "+strings.ReplaceAll(a.Name, "_", " "))
		}
	}
	parts = append(parts, "Enter speaks", "+- zoom", "q quits")
	return grey.paint(s.cut(strings.Join(parts, "  ")))
}

func (s *Screen) hasBodies() bool {
	for _, k := range s.schema.Kinds {
		if k.HasBody {
			return true
		}
	}
	return false
}

// top is the line of the score: how the own player is, what has happened, and what the game says of itself.
func (s *Screen) top() string {
	sep := grey.paint(" | ")
	var parts []string
	if w := s.scene.World; w != nil {
		parts = append(parts, s.ownParts()...)
		bodies := 0
		for id, k := range w.Entities() {
			if k.HasBody && id != s.scene.Own && (s.known(k).health >= 0 || w.KindOf(s.scene.Own) == k) {
				bodies++
			}
		}
		if s.hasBodies() {
			parts = append(parts, fmt.Sprintf("%d in sight", bodies))
		}
		parts = append(parts, s.boards()...)
	}
	if s.scene.Line != "" {
		parts = append(parts, grey.paint(clean(s.scene.Line)))
	}
	return s.cut(strings.Join(parts, sep))
}

// ownParts say how the own player is.
func (s *Screen) ownParts() (parts []string) {
	w, own := s.scene.World, s.scene.Own
	k := w.KindOf(own)
	if k == nil {
		return []string{"watching"}
	}
	name := ansi.Truncate(s.title(own, k), maxNameWidth, "…")
	if name == "" {
		name = "you"
	}
	first := (yellow | bold).paint(name)
	f := s.known(k)
	if f.health >= 0 {
		l := s.lives[own]
		share := 0.0
		if l.most > 0 {
			share = l.health / l.most
		}
		first += " " + bar(share, 10) + " " + shortNumber(l.health)
	}
	parts = append(parts, first)
	if f.score >= 0 {
		v, _ := w.Value(own, f.score)
		parts = append(parts, k.Fields[f.score].Name+" "+shortNumber(number(v)))
	}
	if f.health >= 0 {
		parts = append(parts, fmt.Sprintf("hit %d, died %d, others %d", s.hits, s.deaths, s.kills))
	}
	return parts
}

// boards are entities without a body, such as the score of a match: their fields, as text.
func (s *Screen) boards() (parts []string) {
	w := s.scene.World
	for id, k := range w.Entities() {
		if k.HasBody || id == s.scene.Own {
			continue
		}
		if len(parts) == maxBoards {
			break
		}
		text := k.Name
		for i := range min(len(k.Fields), 8) {
			v, _ := w.Value(id, i)
			value := v.String()
			if v.Type == world.Text {
				value = v.Text()
			}
			text += " " + k.Fields[i].Name + " " + value
		}
		parts = append(parts, clean(text))
	}
	return parts
}
