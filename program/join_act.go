package program

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"parley/world"
)

// maxUsage is how long the parameters of an action may be to be shown in a line of help.
const maxUsage = helpColumns - 20

// actionOf returns the action that a word stands for: its name, or its first letter if no other action and no key has that.
func actionOf(s *world.Schema, word string) *world.Action {
	if a := s.ActionNamed(word); a != nil || len(word) != 1 || strings.Contains("wasdxq", word) {
		return a
	}
	var found *world.Action
	for _, a := range s.Actions {
		switch {
		case !strings.HasPrefix(a.Name, word):
		case found != nil:
			return nil
		default:
			found = a
		}
	}
	return found
}

// paramsOf reads the parameters of an action, in their order. Those that are left out are zero.
func paramsOf(a *world.Action, rest string) ([]world.Value, error) {
	words := strings.Fields(rest)
	if n := len(a.Fields); n > 0 && a.Fields[n-1].Type == world.Text && len(words) > n {
		words = append(words[:n-1], strings.Join(words[n-1:], " ")) // a text at the end takes what there is
	}
	if len(words) > len(a.Fields) {
		return nil, fmt.Errorf("write %s; to speak, write say %s %s", usageOf(a), a.Name, rest)
	}
	list := make([]world.Value, len(a.Fields))
	for i := range a.Fields {
		text := ""
		if i < len(words) {
			text = words[i]
		}
		v, ok := valueOf(&a.Fields[i], text)
		if !ok {
			return nil, fmt.Errorf("%q is no %s of %s: write %s with %s, such as %s", text, a.Fields[i].Name, a.Name, usageOf(a), wantedBy(&a.Fields[i]), exampleOf(a))
		}
		list[i] = v
	}
	return list, nil
}

// isAngle reports whether people write a parameter in degrees.
func isAngle(f *world.Field) bool {
	return f.Name == "angle" && (f.Type == world.F32 || f.Type == world.F64)
}

// valueOf reads one parameter.
func valueOf(f *world.Field, text string) (v world.Value, ok bool) {
	if text == "" && f.Type != world.Text {
		text = "0"
	}
	var err error
	bits := 8 * f.Type.Bytes()
	switch f.Type {
	case world.Text:
		return world.TextValue(text), len(text) <= f.Max
	case world.F32, world.F64:
		var n float64
		if n, err = strconv.ParseFloat(text, 64); isAngle(f) {
			n *= math.Pi / 180
		}
		v = world.FloatValue(f.Type, n)
		return v, err == nil && v.Finite()
	case world.I8, world.I16, world.I32, world.I64:
		var n int64
		n, err = strconv.ParseInt(text, 10, bits)
		v = world.IntValue(f.Type, n)
	case world.Bool:
		var yes bool
		if yes, err = strconv.ParseBool(text); yes {
			return world.UintValue(f.Type, 1), err == nil
		}
		v = world.UintValue(f.Type, 0)
	default:
		if f.Type == world.Entity {
			bits = 64 // an ID of the frame's world
		}
		var n uint64
		n, err = strconv.ParseUint(text, 10, bits)
		v = world.UintValue(f.Type, n)
	}
	return v, err == nil
}

// wantedBy says what a parameter is.
func wantedBy(f *world.Field) string {
	switch {
	case isAngle(f):
		return "a number of degrees"
	case f.Type == world.Text:
		return fmt.Sprintf("a text of at most %d bytes", f.Max)
	case f.Type == world.F32 || f.Type == world.F64:
		return "a number"
	case f.Type == world.Bool:
		return "true or false"
	case f.Type == world.Entity:
		return "the number of an entity, which who lists"
	}
	return "a whole number of type " + f.Type.String()
}

// usageOf says how an action is written.
func usageOf(a *world.Action) string {
	var b strings.Builder
	b.WriteString(a.Name)
	for i := range a.Fields {
		b.WriteString(" " + strings.ToUpper(a.Fields[i].Name))
	}
	return b.String()
}

func exampleOf(a *world.Action) string {
	var b strings.Builder
	b.WriteString(a.Name)
	for i := range a.Fields {
		switch f := &a.Fields[i]; {
		case isAngle(f):
			b.WriteString(" 90")
		case f.Type == world.Text:
			b.WriteString(" hello")
		default:
			b.WriteString(" 1")
		}
	}
	return b.String()
}

// actionHelp are the lines of join's help for the actions of the game.
func (a *app) actionHelp() string {
	schema, err := a.game.Schema()
	if err != nil || len(schema.Actions) == 0 {
		return ""
	}
	var lines []string
	for _, action := range schema.Actions {
		usage := usageOf(action)
		if len(usage) > maxUsage {
			usage = action.Name + " …"
		}
		lines = append(lines, fmt.Sprintf("%-14s do this action", usage))
	}
	return "\n  " + strings.Join(lines, "\n  ")
}
