package schema

import (
	"fmt"

	"parley/protocol/realm/core"
	"parley/world"
)

// realmTypes are the types of the world as realm has them.
var realmTypes = [...]core.Type{
	world.Bool: core.TypeU8, world.U8: core.TypeU8, world.U16: core.TypeU16, world.U32: core.TypeU32, world.U64: core.TypeU64,
	world.I8: core.TypeI8, world.I16: core.TypeI16, world.I32: core.TypeI32, world.I64: core.TypeI64,
	world.F32: core.TypeF32, world.F64: core.TypeF64, world.Text: core.TypeStr, world.Entity: core.TypeEntity,
}

// Realm returns the schema of a game over realm: realm's attributes are the fields of the game's kinds, by their numbers, and
// realm's actions are the game's. Two kinds may share an attribute if it has the same type in both.
func Realm(s *world.Schema) (core.Schema, error) {
	out := core.Schema{Attributes: map[uint16]core.Field{}, Actions: map[uint16][]core.Field{}}
	for _, k := range s.Kinds {
		for _, f := range k.Fields {
			if f.InBody {
				continue
			}
			field := core.Field{Name: f.Name, Type: realmTypes[f.Wire]}
			if was, ok := out.Attributes[f.Attr]; ok && was.Type != field.Type {
				return out, fmt.Errorf("schema: realm: the fields %s and %s have the attribute %d and different types: give one another with the tag attr=", was.Name, f.Name, f.Attr)
			}
			out.Attributes[f.Attr] = field
		}
	}
	for _, a := range s.Actions {
		fields := []core.Field{}
		for _, f := range a.Fields {
			fields = append(fields, core.Field{Name: f.Name, Type: realmTypes[f.Wire]})
		}
		out.Actions[uint16(a.Number)] = fields
	}
	return out, nil
}

// ToRealm converts a value of a field to one of realm. The bytes of a text are appended to raw, and the result shares them.
func ToRealm(f *world.Field, v world.Value, raw *[]byte) core.Value {
	switch v = f.Encode(v); v.Type {
	case world.Bool, world.U8:
		return core.U8(uint8(v.Uint()))
	case world.U16:
		return core.U16(uint16(v.Uint()))
	case world.U32:
		return core.U32(uint32(v.Uint()))
	case world.U64:
		return core.U64(v.Uint())
	case world.I8:
		return core.I8(int8(v.Int()))
	case world.I16:
		return core.I16(int16(v.Int()))
	case world.I32:
		return core.I32(int32(v.Int()))
	case world.I64:
		return core.I64(v.Int())
	case world.F32:
		return core.F32(float32(v.Float()))
	case world.F64:
		return core.F64(v.Float())
	case world.Entity:
		return core.EntityID(uint16(v.Uint()))
	}
	start := len(*raw)
	*raw = append(*raw, v.Text()...)
	return core.Str((*raw)[start:])
}

// FromRealm converts a parameter to a value of the world. It returns false for a value that the field cannot have.
func FromRealm(f *world.Field, v core.Value) (world.Value, bool) {
	switch f.Wire {
	case world.Bool:
		return world.UintValue(f.Type, v.Uint()), v.Uint() <= 1
	case world.I8, world.I16, world.I32, world.I64:
		return f.Decode(world.IntValue(f.Wire, v.Int()))
	case world.F32, world.F64:
		return world.FloatValue(f.Type, v.Float()), true
	case world.Text:
		return world.TextValue(string(v.Text())), len(v.Text()) <= f.Max
	}
	return f.Decode(world.UintValue(f.Wire, v.Uint()))
}
