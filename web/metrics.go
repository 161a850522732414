package web

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
)

// metric is one number of a Stats struct.
type metric struct {
	path    []string // of fields, from the struct on
	of      string   // which of the numbers that a map has, by the name of its key
	value   float64
	counter bool
}

// walk calls yield for each exported number in a struct, in the order of its fields.
// Embedded structs do not add to the path. Of maps those are taken whose keys have a name; arrays are
// left out, as a place in them is none.
func walk(v reflect.Value, path []string, yield func(metric)) {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if d, ok := v.Interface().(time.Duration); ok {
		yield(metric{append(path[:len(path):len(path)], "Seconds"), "", d.Seconds(), false})
		return
	}
	switch {
	case v.Kind() == reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, key := range keys {
			if name, ok := key.Interface().(fmt.Stringer); ok {
				walk(v.MapIndex(key), path, func(m metric) {
					m.of = name.String()
					yield(m)
				})
			}
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			switch {
			case !f.IsExported():
			case f.Anonymous:
				walk(v.Field(i), path, yield)
			default:
				walk(v.Field(i), append(path[:len(path):len(path)], f.Name), yield)
			}
		}
	case v.CanUint():
		yield(metric{path, "", float64(v.Uint()), true})
	case v.CanInt():
		yield(metric{path, "", float64(v.Int()), false})
	case v.CanFloat():
		yield(metric{path, "", v.Float(), false})
	case v.Kind() == reflect.Bool:
		value := 0.0
		if v.Bool() {
			value = 1
		}
		yield(metric{path, "", value, false})
	}
}

// name returns a metric's name: parley, its source and its path, in lower case.
func (m metric) name(source string) string {
	words := []string{"parley", source}
	for _, p := range m.path {
		words = append(words, snake(p))
	}
	if m.counter {
		words = append(words, "total")
	}
	return strings.Join(words, "_")
}

// snake writes a Go name as Prometheus does: ToConns is to_conns, RTTs is rtts.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 {
			next := i+1 < len(runes) && unicode.IsLower(runes[i+1]) && runes[i+1] != 's'
			if unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]) || next && unicode.IsUpper(runes[i-1]) {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// collector gives the counters of all sources to Prometheus.
type collector struct{ sources []Source }

// Describe says nothing: what there is follows from the structs.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect reads all counters.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	for _, s := range c.sources {
		walk(reflect.ValueOf(s.Stats()), nil, func(m metric) {
			kind := prometheus.GaugeValue
			if m.counter {
				kind = prometheus.CounterValue
			}
			var label, of []string
			if m.of != "" { // Results by result
				label, of = []string{strings.TrimSuffix(snake(m.path[len(m.path)-1]), "s")}, []string{m.of}
			}
			desc := prometheus.NewDesc(m.name(s.Name), strings.Join(m.path, ".")+" of "+s.Name, label, nil)
			out <- prometheus.MustNewConstMetric(desc, kind, m.value, of...)
		})
	}
}
