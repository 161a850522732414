package shelltest

import (
	"fmt"
	"reflect"
)

// Falls returns an error for the first counter that is less in s than in earlier. Counters must never
// fall.
func Falls[S any](earlier, s S) error {
	was, is := counters(reflect.ValueOf(&earlier).Elem(), "", nil), counters(reflect.ValueOf(&s).Elem(), "", nil)
	for i := range was {
		if was[i].v.Kind() == reflect.Uint64 && is[i].v.Uint() < was[i].v.Uint() {
			return fmt.Errorf("%s fell from %d to %d", was[i].name, was[i].v.Uint(), is[i].v.Uint())
		}
	}
	return nil
}

type counter struct {
	name string
	v    reflect.Value
}

// counters appends the fields of a struct and of its nested structs.
func counters(v reflect.Value, name string, list []counter) []counter {
	if v.Kind() != reflect.Struct {
		return append(list, counter{name, v})
	}
	for i := range v.NumField() {
		list = counters(v.Field(i), name+"."+v.Type().Field(i).Name, list)
	}
	return list
}
