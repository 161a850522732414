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

func (s *realmEntityUpdate) carry(w way, m *realm.Message) (err error) {
	s.realmTicked.carry(w, m)
	if w == toShape {
		s.Entity = showRealmEntity(&m.Entity)
		return nil
	}
	m.Entity, err = s.Entity.entity("entity.")
	return err
}

type realmEntities struct {
	realmTicked
	Entities []realmEntity `json:"entities"`
}

func (s *realmEntities) carry(w way, m *realm.Message) error {
	s.realmTicked.carry(w, m)
	if w == toShape {
		s.Entities = shownList(m.Entities.All(), showRealmEntity)
		return nil
	}
	return madeList("entities", s.Entities, (*realmEntity).entity, func(list []realm.Entity) (err error) { m.Entities, err = realmGame.Entities(list...); return err })
}

type realmDestroy struct {
	realmTicked
	Entity uint16 `json:"entity"`
}

func (s *realmDestroy) carry(w way, m *realm.Message) error {
	carried(w, &s.Entity, &m.ID)
	return s.realmTicked.carry(w, m)
}

type realmChatSend struct {
	realmBare
	Text string `json:"text"`
}

func (s *realmChatSend) carry(w way, m *realm.Message) error {
	s.realmBare.carry(w, m)
	return carriedText(w, "text", &s.Text, &m.Text)
}

type realmChatReceive struct {
	realmTicked
	Entity uint16 `json:"entity"`
	Text   string `json:"text"`
}

func (s *realmChatReceive) carry(w way, m *realm.Message) error {
	s.realmTicked.carry(w, m)
	carried(w, &s.Entity, &m.ID)
	return carriedText(w, "text", &s.Text, &m.Text)
}

type realmVersion struct {
	realmBare
	Version uint16 `json:"version"`
}

func (s *realmVersion) carry(w way, m *realm.Message) error {
	carried(w, &s.Version, &m.Version)
	return s.realmBare.carry(w, m)
}

type realmConfig struct {
	realmBare
	MaxRollbackTicks uint16 `json:"max_rollback_ticks"`
	TimeServerPort   uint16 `json:"time_server_port"`
}

func (s *realmConfig) carry(w way, m *realm.Message) error {
	carried(w, &s.MaxRollbackTicks, &m.MaxRollbackTicks)
	carried(w, &s.TimeServerPort, &m.TimeServerPort)
	return s.realmBare.carry(w, m)
}

type realmIDChange struct {
	realmBare
	Old uint16 `json:"old"`
	New uint16 `json:"new"`
}

func (s *realmIDChange) carry(w way, m *realm.Message) error {
	carried(w, &s.Old, &m.Old)
	carried(w, &s.New, &m.New)
	return s.realmBare.carry(w, m)
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
