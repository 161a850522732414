package tui

import (
	"math"
	"strings"
	"unicode/utf8"

	"parley/internal/plain"
	"parley/world"
)

// CommandKind is what a key asks for.
type CommandKind uint8

const (
	// Nothing is to be done: the key has no meaning, or changed the screen only.
	Nothing CommandKind = iota
	// Steer the own entity: Angle and Norm.
	Steer
	// Act does Action with Params. Entities among them are IDs of the scene's world.
	Act
	// Say Text to all.
	Say
	// Line is a command that was typed after a slash: Text.
	Line
	// Quit the game.
	Quit
)

// Command is what the player wants.
type Command struct {
	Kind        CommandKind
	Angle, Norm float32
	Action      *world.Action
	Params      []world.Value
	Text        string
}

// taken are the letters that are no action's.
const taken = "wasdxq"

// ways are the keys that steer.
var ways = map[string]float64{
	"right": 0, "d": 0, "up": math.Pi / 2, "w": math.Pi / 2, "left": math.Pi, "a": math.Pi, "down": -math.Pi / 2, "s": -math.Pi / 2,
}

// ActionKeys returns the key of each action, in the order of the schema: a letter of its name that no other key has, the first
// if possible; or else a digit, or nothing.
func ActionKeys(s *world.Schema) []string {
	used := taken
	keys := make([]string, len(s.Actions))
	for i, a := range s.Actions {
		letter := strings.IndexFunc(a.Name, func(r rune) bool { return 'a' <= r && r <= 'z' && !strings.ContainsRune(used, r) })
		switch {
		case letter >= 0:
			keys[i] = a.Name[letter : letter+1]
			used += keys[i]
		case i < 9:
			keys[i] = string(rune('1' + i))
		}
	}
	return keys
}

// Key takes a key, by its name: "up", "t", "space", "enter". It returns what the player wants.
func (s *Screen) Key(key string) Command {
	switch {
	case key == "ctrl+c":
		return Command{Kind: Quit}
	case s.typing:
		return s.typeKey(key)
	}
	if angle, ok := ways[key]; ok {
		return s.steer(angle, 1)
	}
	for i, k := range s.keys {
		if k == key {
			return s.act(s.schema.Actions[i])
		}
	}
	switch key {
	case "x", "space":
		return s.steer(s.heading, 0)
	case "enter", "/":
		s.typing = true
		s.typed = strings.TrimPrefix(key, "enter")
	case "+", "=":
		s.zoom = min(s.zoom+1, maxZoom)
		s.camera.known = false
	case "-":
		s.zoom = max(s.zoom-1, -maxZoom)
		s.camera.known = false
	case "q":
		return Command{Kind: Quit}
	}
	return Command{}
}

// maxZoom is how often a player can zoom in and out: to a scale of 8 times as much, or as little.
const maxZoom = 6

// Paste takes a text that is pasted into the line that is typed.
func (s *Screen) Paste(text string) {
	if s.typing {
		s.put(text)
	}
}

// typeKey takes a key of a line that is typed.
func (s *Screen) typeKey(key string) Command {
	switch key {
	case "enter":
		text := strings.TrimSpace(s.typed)
		s.typing, s.typed = false, ""
		if line, ok := strings.CutPrefix(text, "/"); ok && line != "" {
			return Command{Kind: Line, Text: line}
		} else if text != "" && !ok {
			return Command{Kind: Say, Text: text}
		}
	case "esc":
		s.typing, s.typed = false, ""
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(s.typed)
		s.typed = s.typed[:len(s.typed)-n]
	case "ctrl+u":
		s.typed = ""
	case "space":
		s.put(" ")
	default:
		if utf8.RuneCountInString(key) == 1 {
			s.put(key)
		}
	}
	return Command{}
}

// put appends to the line that is typed.
func (s *Screen) put(text string) {
	for _, r := range plain.Text(strings.ToValidUTF8(text, "")) {
		if len(s.typed)+utf8.RuneLen(r) > maxTyped {
			return
		}
		s.typed += string(r)
	}
}

// steer walks at a share of the greatest speed.
func (s *Screen) steer(angle, share float64) Command {
	w := s.scene.World
	if w == nil || w.Body(s.scene.Own) == nil {
		s.Tell("you have nothing to steer here")
		return Command{}
	}
	s.heading = angle
	return Command{Kind: Steer, Angle: float32(angle), Norm: float32(share * w.KindOf(s.scene.Own).MaxSpeed)}
}

// act does an action with what its parameters are likely to mean. A number named angle is the direction of the nearest body
// of another player, and straight on if there is none. In an action without an angle, an entity is the nearest one. Other
// parameters are zero.
func (s *Screen) act(a *world.Action) Command {
	id, to := s.nearest()
	angle := s.heading
	if to != nil {
		own := s.scene.World.Body(s.scene.Own)
		angle = math.Atan2(to.Y-own.Y, to.X-own.X)
	}
	params := make([]world.Value, len(a.Fields))
	aimed := false
	for i := range a.Fields {
		f := &a.Fields[i]
		params[i].Type = f.Type
		if f.Name == "angle" && (f.Type == world.F32 || f.Type == world.F64) {
			params[i], aimed = world.FloatValue(f.Type, angle), true
		}
	}
	for i := range a.Fields {
		if a.Fields[i].Type == world.Entity && !aimed && id != 0 {
			params[i] = world.UintValue(world.Entity, uint64(id))
			aimed = true
		}
	}
	return Command{Kind: Act, Action: a, Params: params}
}
