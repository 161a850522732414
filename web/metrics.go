package web

import (
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
)

// metric is one number of a Stats struct.
type metric struct {
	path    []string // of fields, from the struct on
	value   float64
	counter bool
}

// walk calls yield for each exported number in a struct, in the order of its fields.
// Embedded structs do not add to the path; arrays and maps are left out, as their length is no
// part of a name.
func walk(v reflect.Value, path []string, yield func(metric)) {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if d, ok := v.Interface().(time.Duration); ok {
		yield(metric{append(path[:len(path):len(path)], "Seconds"), d.Seconds(), false})
		return
	}
	switch {
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
		yield(metric{path, float64(v.Uint()), true})
	case v.CanInt():
		yield(metric{path, float64(v.Int()), false})
	case v.CanFloat():
		yield(metric{path, v.Float(), false})
	case v.Kind() == reflect.Bool:
		value := 0.0
		if v.Bool() {
			value = 1
		}
		yield(metric{path, value, false})
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
			desc := prometheus.NewDesc(m.name(s.Name), strings.Join(m.path, ".")+" of "+s.Name, nil, nil)
			out <- prometheus.MustNewConstMetric(desc, kind, m.value)
		})
	}
}
