package world

import (
	"reflect"
	"unsafe"
)

// ParamsOf returns the action whose values a struct has, and its parameters as a client sends them: see Schema.Action. A text that is
// too long is cut, and a float that is not finite is 0. The action is nil if the game has none of this type.
func ParamsOf[T any](s *Schema, v T) (a *Action, params []Value) {
	typ := reflect.TypeFor[T]()
	for _, a := range s.Actions {
		if a.typ != typ {
			continue
		}
		var list [MaxParams]Value
		a.values(unsafe.Pointer(&v), &list, new(Stats))
		return a, list[:len(a.Fields):len(a.Fields)]
	}
	return nil, nil
}

// FromParams returns the struct of an action with these parameters, one for each of its fields, if the action is T.
func FromParams[T any](a *Action, params []Value) (v T, ok bool) {
	if a == nil || a.typ != reflect.TypeFor[T]() || len(params) != len(a.Fields) {
		return v, false
	}
	for i := range params {
		if params[i].Type != a.Fields[i].Type {
			return *new(T), false
		}
		a.Fields[i].setValue(unsafe.Pointer(&v), params[i])
	}
	return v, true
}
