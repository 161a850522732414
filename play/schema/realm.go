package schema

import (
	"fmt"

	"parley/protocol/realm"
	"parley/world"
)

// realmTypes are the types of the world as realm has them.
var realmTypes = [...]realm.Type{
	world.Bool: realm.TypeU8, world.U8: realm.TypeU8, world.U16: realm.TypeU16, world.U32: realm.TypeU32, world.U64: realm.TypeU64,
	world.I8: realm.TypeI8, world.I16: realm.TypeI16, world.I32: realm.TypeI32, world.I64: realm.TypeI64,
	world.F32: realm.TypeF32, world.F64: realm.TypeF64, world.Text: realm.TypeStr, world.Entity: realm.TypeEntity,
}

// Realm returns the schema of a game over realm: attributes are the fields of its kinds, by their numbers, and actions are its
// own. Two kinds may share an attribute if it has one type.
func Realm(s *world.Schema) (realm.Schema, error) {
	out := realm.Schema{Attributes: map[uint16]realm.Field{}, Actions: map[uint16][]realm.Field{}}
	for _, k := range s.Kinds {
		for _, f := range k.Fields {
			if f.InBody {
				continue
			}
			field := realm.Field{Name: f.Name, Type: realmTypes[f.Type]}
			if was, ok := out.Attributes[f.Attr]; ok && was.Type != field.Type {
				return out, fmt.Errorf("schema: realm: the fields %s and %s have the attribute %d and different types: give one another with the tag attr=", was.Name, f.Name, f.Attr)
			}
			out.Attributes[f.Attr] = field
		}
	}
	for _, a := range s.Actions {
		fields := []realm.Field{}
		for _, f := range a.Fields {
			fields = append(fields, realm.Field{Name: f.Name, Type: realmTypes[f.Type]})
		}
		out.Actions[uint16(a.Number)] = fields
	}
	return out, nil
}

// ToRealm converts a value of the world to one of realm. The bytes of a text are appended to raw, and shared with it.
func ToRealm(v world.Value, raw *[]byte) realm.Value {
	switch v.Type {
	case world.Bool, world.U8:
		return realm.U8(uint8(v.Uint()))
	case world.U16:
		return realm.U16(uint16(v.Uint()))
	case world.U32:
		return realm.U32(uint32(v.Uint()))
	case world.U64:
		return realm.U64(v.Uint())
	case world.I8:
		return realm.I8(int8(v.Int()))
	case world.I16:
		return realm.I16(int16(v.Int()))
	case world.I32:
		return realm.I32(int32(v.Int()))
	case world.I64:
		return realm.I64(v.Int())
	case world.F32:
		return realm.F32(float32(v.Float()))
	case world.F64:
		return realm.F64(v.Float())
	case world.Entity:
		return realm.EntityID(uint16(v.Uint()))
	}
	start := len(*raw)
	*raw = append(*raw, v.Text()...)
	return realm.Str((*raw)[start:])
}

// FromRealm converts a parameter to a value of the world. It returns false for a value that the field cannot have.
func FromRealm(f *world.Field, v realm.Value) (world.Value, bool) {
	switch f.Type {
	case world.Bool:
		return world.UintValue(f.Type, v.Uint()), v.Uint() <= 1
	case world.I8, world.I16, world.I32, world.I64:
		return world.IntValue(f.Type, v.Int()), true
	case world.F32, world.F64:
		return world.FloatValue(f.Type, v.Float()), true
	case world.Text:
		return world.TextValue(string(v.Text())), len(v.Text()) <= f.Max
	}
	return world.UintValue(f.Type, v.Uint()), true
}
