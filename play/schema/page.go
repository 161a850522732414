package schema

import (
	"fmt"

	"parley/world"
)

// A Page is what a client in a browser has to know of a game, which it does not have as code: how fields travel, and what the own body
// stops at. It is the schema of /play/server.
type Page struct {
	Game        string       `json:"game"`
	Fingerprint string       `json:"fingerprint"`
	Kinds       []PageKind   `json:"kinds"`
	Actions     []PageAction `json:"actions"`

	Solid    []int         `json:"solid"`    // the values of cells at which bodies stop
	Hitboxes []PageOutline `json:"hitboxes"` // by sprite
}

// A PageKind is a kind of entity. One with a body has x, y, angle, norm and sprite as its first fields.
type PageKind struct {
	Name     string      `json:"name"`
	Body     bool        `json:"body"`
	MaxSpeed float64     `json:"max_speed,omitempty"` // cells a tick
	Fields   []PageField `json:"fields"`
}

// A PageAction is an action.
type PageAction struct {
	Name   string      `json:"name"`
	Fields []PageField `json:"fields"`
}

// A PageField is a field or a parameter, as in FieldDescription.
type PageField struct {
	Name     string              `json:"name"`
	Path     []any               `json:"path"`
	Type     string              `json:"type"`
	Wire     string              `json:"wire"`
	MaxBytes int                 `json:"max_bytes,omitempty"`
	Quantum  *QuantumDescription `json:"quantum,omitempty"`
}

// A PageOutline is a hitbox: a circle, a rectangle, or none.
type PageOutline struct {
	Radius float64 `json:"radius,omitempty"`
	Width  float64 `json:"width,omitempty"`
	Height float64 `json:"height,omitempty"`
}

// PageOf returns what clients in browsers have to know of a game.
func PageOf(g world.Game) (*Page, error) {
	s, err := g.Schema()
	if err != nil {
		return nil, err
	}
	p := &Page{
		Game: g.Name, Fingerprint: fmt.Sprintf("%016x", s.Fingerprint()),
		Kinds: []PageKind{}, Actions: []PageAction{}, Solid: []int{}, Hitboxes: []PageOutline{},
	}
	for _, k := range s.Kinds {
		one := PageKind{Name: k.Name, Body: k.HasBody, Fields: pageFields(k.Fields)}
		if k.HasBody {
			one.MaxSpeed = k.MaxSpeed
		}
		p.Kinds = append(p.Kinds, one)
	}
	for _, a := range s.Actions {
		p.Actions = append(p.Actions, PageAction{a.Name, pageFields(a.Fields)})
	}
	for value, c := range g.CellTypes {
		if c.Solid {
			p.Solid = append(p.Solid, value)
		}
	}
	for _, h := range g.Hitboxes {
		radius, width, height := h.Size()
		p.Hitboxes = append(p.Hitboxes, PageOutline{radius, width, height})
	}
	return p, nil
}

func pageFields(fields []world.Field) []PageField {
	list := []PageField{}
	for i := range fields {
		d := describeField(&fields[i])
		list = append(list, PageField{d.Name, d.Path, d.Type, d.Wire, d.MaxBytes, d.Quantum})
	}
	return list
}
