package schema

import (
	"parley/protocol/realm/core"
	"parley/world"
)

// realmTypes are the types of the world as realm has them.
var realmTypes = [...]core.Type{
	world.Bool: core.TypeU8, world.U8: core.TypeU8, world.U16: core.TypeU16, world.U32: core.TypeU32, world.U64: core.TypeU64,
	world.I8: core.TypeI8, world.I16: core.TypeI16, world.I32: core.TypeI32, world.I64: core.TypeI64,
	world.F32: core.TypeF32, world.F64: core.TypeF64, world.Text: core.TypeStr, world.Entity: core.TypeEntity,
}

// Realm returns the schema of a game over realm: realm's attributes are the fields of the game's kinds, which each number their own,
// and realm's actions are the game's. firstType is the number of the kind that is type 0 in realm; with 0, types are the numbers of
// kinds.
//
// Most numbers have one type in all kinds that have them. An attribute whose type depends on the kind is among TypedAttributes,
// and a block that has it has the entity's type too.
func Realm(s *world.Schema, firstType int) core.Schema {
	out := core.Schema{Attributes: map[uint16]core.Field{}, TypedAttributes: map[uint16]map[uint16]core.Field{}, Actions: map[uint16][]core.Field{}}
	types := typesOf(s)
	for _, k := range s.Kinds {
		for i := range k.Fields {
			f := &k.Fields[i]
			if f.InBody {
				continue
			}
			field := core.Field{Name: f.Name, Type: realmTypes[f.Wire]}
			if len(types[f.Attr]) == 1 {
				out.Attributes[f.Attr] = field
				continue
			}
			typ := uint16(k.Number - firstType)
			if out.TypedAttributes[typ] == nil {
				out.TypedAttributes[typ] = map[uint16]core.Field{}
			}
			out.TypedAttributes[typ][f.Attr] = field
		}
	}
	for _, a := range s.Actions {
		fields := []core.Field{}
		for _, f := range a.Fields {
			fields = append(fields, core.Field{Name: f.Name, Type: realmTypes[f.Wire]})
		}
		out.Actions[uint16(a.Number)] = fields
	}
	return out
}

// typesOf returns the types in realm that each attribute's number has.
func typesOf(s *world.Schema) map[uint16]map[core.Type]bool {
	types := map[uint16]map[core.Type]bool{}
	for _, k := range s.Kinds {
		for i := range k.Fields {
			f := &k.Fields[i]
			if f.InBody {
				continue
			}
			if types[f.Attr] == nil {
				types[f.Attr] = map[core.Type]bool{}
			}
			types[f.Attr][realmTypes[f.Wire]] = true
		}
	}
	return types
}

// RealmTyped returns, for each kind by its index, a bit for each field whose type in realm depends on the kind.
func RealmTyped(s *world.Schema) []uint64 {
	types, masks := typesOf(s), make([]uint64, len(s.Kinds))
	for _, k := range s.Kinds {
		for i := range k.Fields {
			if f := &k.Fields[i]; !f.InBody && len(types[f.Attr]) > 1 {
				masks[k.Index()] |= 1 << i
			}
		}
	}
	return masks
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
