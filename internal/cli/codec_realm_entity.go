package cli

import (
	"encoding/json"
	"fmt"
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

func showRealmEntity(e realm.Entity) realmEntity {
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
	e := realm.Entity{ID: s.ID, SpeedAngle: realmOrZero(s.SpeedAngle), SpeedNorm: realmOrZero(s.SpeedNorm), Type: realmOrZero(s.Type), Sprite: realmOrZero(s.Sprite),
		Position: realm.Position(realmOrZero(s.Position))}
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
	for i, a := range realmOrZero(s.Attributes) {
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

type realmEntityUpdate struct {
	realmTicked
	Entity realmEntity `json:"entity"`
}

func (s *realmEntityUpdate) show(m *realm.Message) {
	s.realmTicked.show(m)
	s.Entity = showRealmEntity(m.Entity)
}

func (s *realmEntityUpdate) fill(m *realm.Message) (err error) {
	m.Tick = s.Tick
	m.Entity, err = s.Entity.entity("entity.")
	return err
}

type realmEntities struct {
	realmTicked
	Entities []realmEntity `json:"entities"`
}

func (s *realmEntities) show(m *realm.Message) {
	s.realmTicked.show(m)
	s.Entities = []realmEntity{}
	for e := range m.Entities.All() {
		s.Entities = append(s.Entities, showRealmEntity(*e))
	}
}

func (s *realmEntities) fill(m *realm.Message) error {
	m.Tick = s.Tick
	list := make([]realm.Entity, len(s.Entities))
	for i := range s.Entities {
		var err error
		if list[i], err = s.Entities[i].entity(fmt.Sprintf("entities[%d].", i)); err != nil {
			return err
		}
	}
	return realmNamed("entities", func() (err error) { m.Entities, err = realmGame.Entities(list...); return err })
}

type realmDestroy struct {
	realmTicked
	Entity uint16 `json:"entity"`
}

func (s *realmDestroy) show(m *realm.Message) {
	s.realmTicked.show(m)
	s.Entity = m.ID
}

func (s *realmDestroy) fill(m *realm.Message) error {
	m.Tick, m.ID = s.Tick, s.Entity
	return nil
}

type realmChatSend struct {
	realmBare
	Text string `json:"text"`
}

func (s *realmChatSend) show(m *realm.Message) {
	s.realmBare.show(m)
	s.Text = string(m.Text)
}

func (s *realmChatSend) fill(m *realm.Message) (err error) {
	m.Text, err = realmText("text", s.Text)
	return err
}

type realmChatReceive struct {
	realmTicked
	Entity uint16 `json:"entity"`
	Text   string `json:"text"`
}

func (s *realmChatReceive) show(m *realm.Message) {
	s.realmTicked.show(m)
	s.Entity, s.Text = m.ID, string(m.Text)
}

func (s *realmChatReceive) fill(m *realm.Message) (err error) {
	m.Tick, m.ID = s.Tick, s.Entity
	m.Text, err = realmText("text", s.Text)
	return err
}

type realmVersion struct {
	realmBare
	Version uint16 `json:"version"`
}

func (s *realmVersion) show(m *realm.Message) {
	s.realmBare.show(m)
	s.Version = m.Version
}

func (s *realmVersion) fill(m *realm.Message) error {
	m.Version = s.Version
	return nil
}

type realmConfig struct {
	realmBare
	MaxRollbackTicks uint16 `json:"max_rollback_ticks"`
	TimeServerPort   uint16 `json:"time_server_port"`
}

func (s *realmConfig) show(m *realm.Message) {
	s.realmBare.show(m)
	s.MaxRollbackTicks, s.TimeServerPort = m.MaxRollbackTicks, m.TimeServerPort
}

func (s *realmConfig) fill(m *realm.Message) error {
	m.MaxRollbackTicks, m.TimeServerPort = s.MaxRollbackTicks, s.TimeServerPort
	return nil
}

type realmIDChange struct {
	realmBare
	Old uint16 `json:"old"`
	New uint16 `json:"new"`
}

func (s *realmIDChange) show(m *realm.Message) {
	s.realmBare.show(m)
	s.Old, s.New = m.Old, m.New
}

func (s *realmIDChange) fill(m *realm.Message) error {
	m.Old, m.New = s.Old, s.New
	return nil
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
			return realm.Value{}, fmt.Errorf("%s: %v is no f32", field, v)
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
		return 0, fmt.Errorf("%s: %v is no u16", field, v)
	}
	return uint16(n), nil
}
