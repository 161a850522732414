package gateway

import (
	"parley/play/schema"
	"parley/protocol/realm/core"
	"parley/world"
)

// block writes an entity as realm has it: the fields of the mask, and with all its type. It also has its type if an attribute of the
// mask could not be read otherwise, as another kind has one of that number and another type.
func (d *Realm) block(c *world.Change) core.Entity {
	e, codec := core.Entity{ID: c.Entity}, d.codec
	typed := c.Mask&d.typed[c.Kind.Index()] != 0
	if c.What == world.Entered || typed {
		e.Has |= core.HasType
		e.Type = uint16(c.Kind.Number - d.cfg.FirstType)
	}
	if typed {
		codec = codec.Of(e.Type)
	}
	d.costs.masked(c)
	d.attributes = d.attributes[:0]
	for i := range world.Fields(c.Mask) {
		f := &c.Kind.Fields[i]
		switch {
		case !f.InBody:
			d.attributes = append(d.attributes, core.Attribute{ID: f.Attr, Value: schema.ToRealm(f, c.Value(i), &d.raw)})
		case i == world.FieldX || i == world.FieldY:
			e.Has |= core.HasPosition
		case i == world.FieldAngle:
			e.Has |= core.HasSpeedAngle
			e.SpeedAngle = float32(c.Value(i).Float())
		case i == world.FieldNorm:
			e.Has |= core.HasSpeedNorm
			e.SpeedNorm = float32(c.Value(i).Float())
		case i == world.FieldSprite:
			e.Has |= core.HasSprite
			e.Sprite = uint16(c.Value(i).Uint())
		}
	}
	if e.Has&core.HasPosition != 0 {
		e.Position = d.place(c)
	}
	if len(d.attributes) > 0 {
		var err error
		if d.raw, e.Attributes, err = codec.AppendAttributes(d.raw, d.attributes...); err == nil {
			e.Has |= core.HasObject
		}
	}
	return e
}

// place returns where an entity is, as realm has it: a whole cell.
func (d *Realm) place(c *world.Change) core.Position {
	bx, by, x, y, _ := world.Locate(c.Value(world.FieldX).Float(), c.Value(world.FieldY).Float())
	return core.Position{BX: bx, BY: by, X: x, Y: y}
}
