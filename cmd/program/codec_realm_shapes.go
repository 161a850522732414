package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"parley/protocol/realm"
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

func showRealmEntity(said *realm.Entity) realmEntity {
	e := *said // what is shown points to it
	s := realmEntity{ID: e.ID}
	if e.Has&realm.HasPosition != 0 {
		p := realmPosition(e.Position)
		s.Position = &p
	}
	if e.Has&realm.HasSpeedAngle != 0 {
		s.SpeedAngle = &e.SpeedAngle
	}
	if e.Has&realm.HasSpeedNorm != 0 {
		s.SpeedNorm = &e.SpeedNorm
	}
	if e.Has&realm.HasType != 0 {
		s.Type = &e.Type
	}
	if e.Has&realm.HasSprite != 0 {
		s.Sprite = &e.Sprite
	}
	if e.Has&realm.HasObject != 0 {
		list := []realmAttribute{}
		for id, v := range e.Attributes.All() {
			text, _ := json.Marshal(showRealmValue(v)) // a number always can be
			list = append(list, realmAttribute{id, text})
		}
		s.Attributes = &list
	}
	return s
}

func (s *realmEntity) entity(path string) (realm.Entity, error) {
	e := realm.Entity{ID: s.ID, SpeedAngle: orZero(s.SpeedAngle), SpeedNorm: orZero(s.SpeedNorm), Type: orZero(s.Type), Sprite: orZero(s.Sprite),
		Position: realm.Position(orZero(s.Position))}
	for _, f := range []struct {
		there bool
		bit   realm.Has
	}{{s.Position != nil, realm.HasPosition}, {s.SpeedAngle != nil, realm.HasSpeedAngle}, {s.SpeedNorm != nil, realm.HasSpeedNorm},
		{s.Type != nil, realm.HasType}, {s.Sprite != nil, realm.HasSprite}, {s.Attributes != nil, realm.HasObject}} {
		if f.there {
			e.Has |= f.bit
		}
	}
	var list []realm.Attribute
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
		list = append(list, realm.Attribute{ID: a.ID, Value: v})
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

func showRealmChunk(c realm.Chunk) realmChunk {
	s := realmChunk{c.BX, c.BY, c.Default, []realmCell{}} // an empty list is printed as such
	for cell := range c.Cells.All() {
		s.Cells = append(s.Cells, realmCell(cell))
	}
	return s
}

func (s *realmChunk) chunk(path string) (realm.Chunk, error) {
	list := make([]realm.Cell, len(s.Cells))
	for i, cell := range s.Cells {
		list[i] = realm.Cell(cell)
	}
	cells, err := realm.MakeCells(list...)
	if err != nil {
		return realm.Chunk{}, fmt.Errorf("%scells: %w", path, err)
	}
	return realm.Chunk{BX: s.BX, BY: s.BY, Default: s.Default, Cells: cells}, nil
}

type realmWanted struct {
	BX int16 `json:"bx"`
	BY int16 `json:"by"`
}

// A realmAction is a map, as the names of its parameters are the game's.
type realmAction map[string]any

func showRealmAction(a realm.Action) realmAction {
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
func (s realmAction) action(path string, also ...string) (realm.Action, error) {
	number, err := realmNumber(path+"action", s["action"])
	if err != nil {
		return realm.Action{}, err
	}
	fields, ok := realmGame.ActionFields(number)
	if !ok {
		return realm.Action{}, fmt.Errorf("%saction: no action has number %d", path, number)
	}
	known := append([]string{"action"}, also...)
	params := make([]realm.Value, len(fields))
	for i, f := range fields {
		known = append(known, f.Name)
		if params[i], err = realmValue(path+f.Name, f.Type, s[f.Name]); err != nil {
			return realm.Action{}, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(known, name) {
			return realm.Action{}, fmt.Errorf("%s%s: action %d has no such parameter", path, name, number)
		}
	}
	a, err := realmGame.Action(number, params...)
	if err != nil {
		return a, fmt.Errorf("%saction: %w", path, err)
	}
	return a, nil
}

func showRealmDone(d realm.Done) realmAction {
	s := showRealmAction(d.Action)
	s["by"] = d.By
	return s
}

func (s *realmAction) done(path string) (d realm.Done, err error) {
	if d.By, err = realmNumber(path+"by", (*s)["by"]); err == nil {
		d.Action, err = s.action(path, "by")
	}
	return d, err
}

// showRealmValue gives a value of the types that the schema of the vectors has.
func showRealmValue(v realm.Value) any {
	if v.Type() == realm.TypeF32 {
		return float32(v.Float())
	}
	return v.Uint()
}

// realmValue reads such a value. What is absent is zero.
func realmValue(field string, t realm.Type, v any) (realm.Value, error) {
	if t == realm.TypeF32 {
		number, ok := v.(json.Number)
		if v == nil {
			number, ok = "0", true
		}
		f, err := strconv.ParseFloat(string(number), 32)
		if !ok || err != nil {
			return realm.Value{}, fmt.Errorf("%s: must be an f32, not %v", field, v)
		}
		return realm.F32(float32(f)), nil
	}
	n, err := realmNumber(field, v)
	if t == realm.TypeEntity {
		return realm.EntityID(n), err
	}
	return realm.U16(n), err
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
