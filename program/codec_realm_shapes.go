package program

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"parley/protocol/realm/core"
)

// realmEntity has just the fields whose bit is set.
func realmEntity() fields[core.Entity] {
	type E = core.Entity
	with := func(bit core.Has, f fields[E]) fields[E] {
		return f.each(func(f field[E]) field[E] {
			show := func(e *E) any {
				if e.Has&bit == 0 {
					return nil
				}
				return f.show(e)
			}
			return field[E]{f.name, show, func(e *E, text []byte) error {
				if text == nil {
					return nil
				}
				e.Has |= bit
				return f.take(e, text)
			}}
		})
	}
	position := plainFields[core.Position]("bx", "by", "x", "y")
	return slices.Concat(
		plainFields[E]("id"),
		with(core.HasPosition, objectField("position", position, func(e *E) *core.Position { return &e.Position })),
		with(core.HasSpeedAngle, plainFields[E]("speed_angle")),
		with(core.HasSpeedNorm, plainFields[E]("speed_norm")),
		with(core.HasType, plainFields[E]("type")),
		with(core.HasSprite, plainFields[E]("sprite")),
		with(core.HasObject, wireField("attributes", core.MaxListed, realmAttribute(),
			func(e *E) (list []core.Attribute) {
				for id, v := range e.Attributes.All() {
					list = append(list, core.Attribute{ID: id, Value: v})
				}
				return list
			},
			func(e *E, list []core.Attribute) (err error) {
				e.Attributes, err = realmGame.Attributes(list...)
				return err
			})))
}

// realmAttribute is a pair. The schema says of what type its value is.
func realmAttribute() fields[core.Attribute] {
	type A = core.Attribute
	return slices.Concat(
		shapedField("id", func(a *A) uint16 { return a.ID }, func(a *A, id uint16) error {
			if _, ok := realmGame.Attribute(id); !ok {
				return fmt.Errorf("id: no attribute has number %d", id)
			}
			a.ID = id
			return nil
		}),
		fields[A]{{"value", func(a *A) any { return showRealmValue(a.Value) }, func(a *A, text []byte) (err error) {
			of, _ := realmGame.Attribute(a.ID)
			a.Value, err = takeRealmValue("value", of.Type, text)
			return err
		}}})
}

func realmChunk() fields[core.Chunk] {
	type C = core.Chunk
	return slices.Concat(
		plainFields[C]("bx", "by", "default"),
		wireField("cells", core.MaxListed, plainFields[core.Cell]("x", "y", "value"),
			func(c *C) []core.Cell { return slices.Collect(c.Cells.All()) },
			func(c *C, list []core.Cell) (err error) { c.Cells, err = core.MakeCells(list...); return err }))
}

// realmAction is the shape of an action: the names of its parameters are the game's.
type realmAction struct{}

// realmDone is that of an action with the entity that did it.
type realmDone struct{}

func (realmAction) show(a *core.Action) object {
	o := object{{"action", a.ID}}
	for name, v := range a.Params.All() {
		o = append(o, member{name, showRealmValue(v)})
	}
	return o
}

func (realmDone) show(d *core.Done) object {
	o := append(realmAction{}.show(&d.Action), member{"by", d.By})
	slices.SortFunc(o, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	return o
}

func (realmAction) take(a *core.Action, said members) error {
	return takeRealmAction(a, said, "action")
}

func (realmDone) take(d *core.Done, said members) error {
	by, err := takeRealmValue("by", core.TypeU16, said.text("by"))
	if err != nil {
		return err
	}
	d.By = uint16(by.Uint())
	return takeRealmAction(&d.Action, said, "action", "by")
}

// takeRealmAction reads an action. Fields that it has beside the parameters are in known.
func takeRealmAction(a *core.Action, said members, known ...string) error {
	number, err := takeRealmValue("action", core.TypeU16, said.text("action"))
	if err != nil {
		return err
	}
	id := uint16(number.Uint())
	takes, ok := realmGame.ActionFields(id)
	if !ok {
		return fmt.Errorf("action: no action has number %d", id)
	}
	params := make([]core.Value, len(takes))
	for i, f := range takes {
		known = append(known, f.Name)
		if params[i], err = takeRealmValue(f.Name, f.Type, said.text(f.Name)); err != nil {
			return err
		}
	}
	for _, name := range said.names() {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s: action %d has no such parameter", name, id)
		}
	}
	if *a, err = realmGame.Action(id, params...); err != nil {
		return fmt.Errorf("action: %w", err)
	}
	return nil
}

// showRealmValue gives a value of the types that the schema of the vectors has.
func showRealmValue(v core.Value) any {
	if v.Type() == core.TypeF32 {
		return float32(v.Float())
	}
	return v.Uint()
}

// takeRealmValue reads such a value. What is absent is zero.
func takeRealmValue(field string, t core.Type, text []byte) (core.Value, error) {
	number := cmp.Or(string(text), "0")
	if t == core.TypeF32 {
		f, err := strconv.ParseFloat(number, 32)
		if err != nil {
			return core.Value{}, fmt.Errorf("%s: must be an f32, not %s", field, strings.Trim(number, `"`))
		}
		return core.F32(float32(f)), nil
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		return core.Value{}, fmt.Errorf("%s: must be a u16, not %s", field, strings.Trim(number, `"`))
	}
	if t == core.TypeEntity {
		return core.EntityID(uint16(n)), nil
	}
	return core.U16(uint16(n)), nil
}
