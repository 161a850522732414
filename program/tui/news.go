package tui

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"parley/internal/plain"
	"parley/world"
)

// line is something that was said or has happened.
type line struct {
	text  string // plain
	style style
	about string // a newer line about the same replaces it, if it is the last one
}

// Tell adds a line about the game or the connection. The text may come from anywhere.
func (s *Screen) Tell(text string) { s.add(line{text: clean(text), style: cyan, about: text}) }

// Hear adds a line of chat.
func (s *Screen) Hear(name, text string) {
	if name = clean(name); name == "" {
		name = "somebody"
	}
	s.add(line{text: name + ": " + clean(text)})
}

// clean makes a text plain, and bounds it.
func clean(text string) string {
	if len(text) > maxLineBytes {
		text = text[:maxLineBytes]
		for !utf8.ValidString(text[max(0, len(text)-utf8.UTFMax):]) && len(text) > maxLineBytes-utf8.UTFMax {
			text = text[:len(text)-1]
		}
	}
	return plain.Text(text)
}

func (s *Screen) add(l line) {
	if n := len(s.lines); n > 0 && l.about != "" && s.lines[n-1].about == l.about {
		s.lines[n-1] = l
		return
	}
	if len(s.lines) >= maxLines {
		s.lines = slices.Delete(s.lines, 0, 1)
	}
	s.lines = append(s.lines, l)
}

// life is what was last seen of an entity that has a health.
type life struct {
	health, most float64
	x, y         float64
	hit          float64 // the tick at which it was last hit
	seen         uint64  // the number of the scene
}

// flashTicks is for how long a hit is shown.
const flashTicks = 6

// See takes what is to be drawn, and finds hits and deaths in it: a health that has fallen, and one that is whole again while
// its body is somewhere else.
func (s *Screen) See(sc Scene) {
	s.scene = sc
	s.scenes++
	if sc.World == nil {
		return
	}
	others := 0
	for id, k := range sc.World.Entities() {
		f := s.known(k)
		if f.health < 0 {
			continue
		}
		v, _ := sc.World.Value(id, f.health)
		now := life{health: number(v), seen: s.scenes, hit: math.Inf(-1)}
		now.most = now.health
		if b := sc.World.Body(id); b != nil {
			now.x, now.y = b.X, b.Y
		}
		if was, ok := s.lives[id]; ok {
			now.most, now.hit = max(was.most, now.health), was.hit
			s.compare(id, k, was, &now, &others)
		}
		s.lives[id] = now
	}
	for id, l := range s.lives {
		if l.seen != s.scenes {
			delete(s.lives, id)
		}
	}
	if others > maxTold {
		s.add(line{text: fmt.Sprintf("%d others were hit", others-maxTold), style: grey})
	}
}

// compare tells what has happened to an entity since the last scene.
func (s *Screen) compare(id world.ID, k *world.Kind, was life, now *life, others *int) {
	own := id == s.scene.Own
	name, be := s.nameOf(id, k), "was"
	if own {
		name, be = "you", "were"
	}
	moved := math.Hypot(now.x-was.x, now.y-was.y)
	switch {
	case now.health > was.health && now.health >= was.most && moved > 4*k.MaxSpeed+1:
		if own {
			s.deaths++
		} else {
			s.kills++
		}
		s.add(line{text: name + " died and began a new life", style: red | bold})
	case now.health < was.health:
		now.hit = s.scene.Tick
		if *others++; own {
			*others--
			s.hits++
		} else if *others > maxTold {
			return
		}
		text := fmt.Sprintf("%s %s hit: %s left", name, be, shortNumber(now.health))
		if now.health <= 0 {
			text = name + " died"
		}
		st := grey
		if own {
			st = red
		}
		s.add(line{text: text, style: st, about: fmt.Sprint("hit ", id)})
	}
}

// nameOf returns what an entity is called: its player's name, what its own field says, or its kind.
func (s *Screen) nameOf(id world.ID, k *world.Kind) string {
	if name := s.title(id, k); name != "" {
		return name
	}
	return "a " + k.Name
}

// title returns the name of an entity, or nothing.
func (s *Screen) title(id world.ID, k *world.Kind) string {
	if s.scene.Name != nil {
		if name := s.scene.Name(id); name != "" {
			return clean(name)
		}
	}
	if f := s.known(k); f.name >= 0 {
		v, _ := s.scene.World.Value(id, f.name)
		return clean(v.Text())
	}
	return ""
}

// number returns the number that a value is.
func number(v world.Value) float64 {
	switch v.Type {
	case world.F32, world.F64:
		return v.Float()
	case world.I8, world.I16, world.I32, world.I64:
		return float64(v.Int())
	}
	return float64(v.Uint())
}

func shortNumber(v float64) string { return fmt.Sprint(math.Round(v*10) / 10) }
