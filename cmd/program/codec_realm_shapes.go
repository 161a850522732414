package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"parley/protocol/realm/core"
)

type realmPosition struct {
	BX int16 `json:"bx"`
	BY int16 `json:"by"`
	X  uint8 `json:"x"`
	Y  uint8 `json:"y"`
}

// realmAttribute is a pair; its value is a number in the schema of the vectors.
type realmAttribute struct {
	ID    uint16          `json:"id"`
	Value json.RawMessage `json:"value"`
}

// realmEntity has just the fields whose bit is set.
type realmEntity struct {
	ID         uint16            `json:"id"`
	Position   *realmPosition    `json:"position,omitempty"`
	SpeedAngle *float32          `json:"speed_angle,omitempty"`
	SpeedNorm  *float32          `json:"speed_norm,omitempty"`
	Type       *uint16           `json:"type,omitempty"`
	Sprite     *uint16           `json:"sprite,omitempty"`
	Attributes *[]realmAttribute `json:"attributes,omitempty"`
}

func showRealmEntity(said *core.Entity) realmEntity {
	e := *said // what is shown points to it
	s := realmEntity{ID: e.ID}
	if e.Has&core.HasPosition != 0 {
		p := realmPosition(e.Position)
		s.Position = &p
	}
	if e.Has&core.HasSpeedAngle != 0 {
		s.SpeedAngle = &e.SpeedAngle
	}
	if e.Has&core.HasSpeedNorm != 0 {
		s.SpeedNorm = &e.SpeedNorm
	}
	if e.Has&core.HasType != 0 {
		s.Type = &e.Type
	}
	if e.Has&core.HasSprite != 0 {
		s.Sprite = &e.Sprite
	}
	if e.Has&core.HasObject != 0 {
		list := []realmAttribute{}
		for id, v := range e.Attributes.All() {
			text, _ := json.Marshal(showRealmValue(v)) // a number always can be
			list = append(list, realmAttribute{id, text})
		}
		s.Attributes = &list
	}
	return s
}

func (s *realmEntity) entity(path string) (core.Entity, error) {
	e := core.Entity{ID: s.ID, SpeedAngle: orZero(s.SpeedAngle), SpeedNorm: orZero(s.SpeedNorm), Type: orZero(s.Type), Sprite: orZero(s.Sprite),
		Position: core.Position(orZero(s.Position))}
	for _, f := range []struct {
		there bool
		bit   core.Has
	}{{s.Position != nil, core.HasPosition}, {s.SpeedAngle != nil, core.HasSpeedAngle}, {s.SpeedNorm != nil, core.HasSpeedNorm},
		{s.Type != nil, core.HasType}, {s.Sprite != nil, core.HasSprite}, {s.Attributes != nil, core.HasObject}} {
		if f.there {
			e.Has |= f.bit
		}
	}
	var list []core.Attribute
	for i, a := range orZero(s.Attributes) {
		at := fmt.Sprintf("%sattributes[%d]", path, i)
		field, ok := realmGame.Attribute(a.ID)
		if !ok {
			return e, fmt.Errorf("%s.id: no attribute has number %d", at, a.ID)
		}
		v, err := realmValue(at+".value", field.Type, json.Number(a.Value))
		if err != nil {
			return e, err
		}
		list = append(list, core.Attribute{ID: a.ID, Value: v})
	}
	return e, realmNamed(path+"attributes", func() (err error) { e.Attributes, err = realmGame.Attributes(list...); return err })
}

type realmCell struct {
	X     uint8 `json:"x"`
	Y     uint8 `json:"y"`
	Value uint8 `json:"value"`
}

type realmChunk struct {
	BX      int16       `json:"bx"`
	BY      int16       `json:"by"`
	Default uint8       `json:"default"`
	Cells   []realmCell `json:"cells"`
}

func showRealmChunk(c core.Chunk) realmChunk {
	s := realmChunk{c.BX, c.BY, c.Default, []realmCell{}} // an empty list is printed as such
	for cell := range c.Cells.All() {
		s.Cells = append(s.Cells, realmCell(cell))
	}
	return s
}

func (s *realmChunk) chunk(path string) (core.Chunk, error) {
	list := make([]core.Cell, len(s.Cells))
	for i, cell := range s.Cells {
		list[i] = core.Cell(cell)
	}
	cells, err := core.MakeCells(list...)
	if err != nil {
		return core.Chunk{}, fmt.Errorf("%scells: %w", path, err)
	}
	return core.Chunk{BX: s.BX, BY: s.BY, Default: s.Default, Cells: cells}, nil
}

type realmWanted struct {
	BX int16 `json:"bx"`
	BY int16 `json:"by"`
}

// A realmAction is a map, as the names of its parameters are the game's.
type realmAction map[string]any

func showRealmAction(a core.Action) realmAction {
	s := realmAction{"action": a.ID}
	for name, v := range a.Params.All() {
		s[name] = showRealmValue(v)
	}
	return s
}

// UnmarshalJSON keeps numbers as they were written.
func (s *realmAction) UnmarshalJSON(b []byte) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return dec.Decode((*map[string]any)(s))
}

// action turns the map into an action. Fields other than the parameters are in also.
func (s realmAction) action(path string, also ...string) (core.Action, error) {
	number, err := realmNumber(path+"action", s["action"])
	if err != nil {
		return core.Action{}, err
	}
	fields, ok := realmGame.ActionFields(number)
	if !ok {
		return core.Action{}, fmt.Errorf("%saction: no action has number %d", path, number)
	}
	known := append([]string{"action"}, also...)
	params := make([]core.Value, len(fields))
	for i, f := range fields {
		known = append(known, f.Name)
		if params[i], err = realmValue(path+f.Name, f.Type, s[f.Name]); err != nil {
			return core.Action{}, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(known, name) {
			return core.Action{}, fmt.Errorf("%s%s: action %d has no such parameter", path, name, number)
		}
	}
	a, err := realmGame.Action(number, params...)
	if err != nil {
		return a, fmt.Errorf("%saction: %w", path, err)
	}
	return a, nil
}

func showRealmDone(d core.Done) realmAction {
	s := showRealmAction(d.Action)
	s["by"] = d.By
	return s
}

func (s *realmAction) done(path string) (d core.Done, err error) {
	if d.By, err = realmNumber(path+"by", (*s)["by"]); err == nil {
		d.Action, err = s.action(path, "by")
	}
	return d, err
}

// showRealmValue gives a value of the types that the schema of the vectors has.
func showRealmValue(v core.Value) any {
	if v.Type() == core.TypeF32 {
		return float32(v.Float())
	}
	return v.Uint()
}

// realmValue reads such a value. What is absent is zero.
func realmValue(field string, t core.Type, v any) (core.Value, error) {
	if t == core.TypeF32 {
		number, ok := v.(json.Number)
		if v == nil {
			number, ok = "0", true
		}
		f, err := strconv.ParseFloat(string(number), 32)
		if !ok || err != nil {
			return core.Value{}, fmt.Errorf("%s: must be an f32, not %v", field, v)
		}
		return core.F32(float32(f)), nil
	}
	n, err := realmNumber(field, v)
	if t == core.TypeEntity {
		return core.EntityID(n), err
	}
	return core.U16(n), err
}

// realmNumber reads a u16. What is absent is zero.
func realmNumber(field string, v any) (uint16, error) {
	if v == nil || v == json.Number("") {
		return 0, nil
	}
	number, ok := v.(json.Number)
	n, err := strconv.ParseUint(string(number), 10, 16)
	if !ok || err != nil {
		return 0, fmt.Errorf("%s: must be a u16, not %v", field, v)
	}
	return uint16(n), nil
}
