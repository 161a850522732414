package shelltest

import (
	"fmt"
	"reflect"
)

// Sums fills two structs of counters with numbers of which no two are alike, has the second added to the
// first, and returns an error for the first field that is not their sum: who adds a counter cannot
// forget it there. Counters are uint64; no field may be anything else but a struct of them.
func Sums[S any](add func(sum, s *S)) error {
	var sum, s S
	was, more := counters(reflect.ValueOf(&sum).Elem(), "", nil), counters(reflect.ValueOf(&s).Elem(), "", nil)
	for i := range was {
		if was[i].v.Kind() != reflect.Uint64 {
			return fmt.Errorf("%s is a %v, not a counter", was[i].name, was[i].v.Type())
		}
		was[i].v.SetUint(uint64(i + 1))
		more[i].v.SetUint(uint64(i+1) << 32)
	}
	add(&sum, &s)
	for i := range was {
		if got, want := was[i].v.Uint(), uint64(i+1)<<32+uint64(i+1); got != want {
			return fmt.Errorf("%s is %#x, want the sum %#x", was[i].name, got, want)
		}
	}
	return nil
}

// Falls returns an error for the first counter of a struct that is less in s than in earlier, which no
// counter may ever be.
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

// counters appends the fields of a struct and of those in it.
func counters(v reflect.Value, name string, list []counter) []counter {
	if v.Kind() != reflect.Struct {
		return append(list, counter{name, v})
	}
	for i := range v.NumField() {
		list = counters(v.Field(i), name+"."+v.Type().Field(i).Name, list)
	}
	return list
}
