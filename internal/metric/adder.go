package metric

import (
	"fmt"
	"reflect"
	"unsafe"
)

// Adder adds each counter of one T to the same counter of another. Make one with NewAdder, once, as a package
// variable.
type Adder[T any] struct{ looked bool }

// NewAdder checks T: all its fields must be uint64, or structs and arrays of them. It panics otherwise.
func NewAdder[T any]() Adder[T] {
	if t := reflect.TypeFor[T](); !counters(t) {
		panic(fmt.Sprintf("metric: %v has a field that is no counter", t))
	}
	return Adder[T]{true}
}

// Add adds one to total, field by field.
func (a Adder[T]) Add(total, one *T) {
	if !a.looked {
		panic("metric: an Adder that NewAdder has not made")
	}
	from := words(one)
	for i, to := 0, words(total); i < len(to); i++ {
		to[i] += from[i]
	}
}

// counters reports whether a type consists of uint64 and nothing else, so that it is an array of them in memory.
func counters(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Uint64:
		return true
	case reflect.Array:
		return counters(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !counters(t.Field(i).Type) {
				return false
			}
		}
		return t.NumField() > 0
	}
	return false
}

// words returns the counters of a struct that NewAdder has checked.
func words[T any](s *T) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(s)), unsafe.Sizeof(*s)/unsafe.Sizeof(uint64(0)))
}
