package world

import "reflect"

// typeOf returns the type of a Go type, or 0.
func typeOf(t reflect.Type) Type {
	if t == idType {
		return Entity
	}
	switch t.Kind() {
	case reflect.Bool:
		return Bool
	case reflect.Uint8:
		return U8
	case reflect.Uint16:
		return U16
	case reflect.Uint32:
		return U32
	case reflect.Uint64:
		return U64
	case reflect.Int8:
		return I8
	case reflect.Int16:
		return I16
	case reflect.Int32:
		return I32
	case reflect.Int64:
		return I64
	case reflect.Float32:
		return F32
	case reflect.Float64:
		return F64
	case reflect.String:
		return Text
	}
	return 0
}

// advice says what to use in place of a type that cannot be state.
func advice(t reflect.Type) string {
	const noAddress = "state is copied each tick and told to other machines, where an address means nothing"
	switch t.Kind() {
	case reflect.Int:
		return "use int32 or int64, whose size is the same on every machine"
	case reflect.Uint:
		return "use uint32 or uint64, whose size is the same on every machine"
	case reflect.Uintptr, reflect.UnsafePointer:
		return "use world.ID to refer to an entity, or uint64: " + noAddress
	case reflect.Pointer:
		return "use world.ID to refer to an entity, or the value itself: " + noAddress
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "use an array of a fixed size, such as [16]uint8, or a string if it is text"
		}
		return "use an array of a fixed size, and a uint8 for how many of its elements are in use"
	case reflect.Map:
		return "use an array of structs that have a key and a value, or a kind of entity for its elements"
	case reflect.Interface:
		return "use a type of its own for each case, and a uint8 that says which case it is"
	case reflect.Complex64, reflect.Complex128:
		return "use two floats"
	case reflect.Func, reflect.Chan:
		return "leave it out: a tick depends on the state and on the inputs alone"
	}
	return "use bool, int8 to int64, uint8 to uint64, float32, float64, string, world.ID, or arrays and structs of these"
}
