package web

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// timed is a histogram of durations: how many, their sum in seconds, and how many were within each bound.
type timed interface {
	Histogram() (count uint64, sum float64, buckets map[float64]uint64)
}

// tabled is a table of counters whose rows have labels of their own. The labels come from the program, never from a player.
type tabled interface {
	Each(yield func(n uint64, labels ...string))
}

// sample is one number of a Stats struct, one histogram or one table.
type sample struct {
	path  string // the fields that lead to it, with dots
	value float64
	times timed
	table tabled
}

// walk calls yield for each exported number, histogram and table in a struct, in the order of its fields. Embedded structs do
// not add to the path, and what a nil pointer would lead to is not there.
func walk(v reflect.Value, path string, yield func(sample)) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		yield(sample{path: path, value: x.Seconds()})
		return
	case timed:
		yield(sample{path: path, times: x})
		return
	case tabled:
		yield(sample{path: path, table: x})
		return
	}
	switch {
	case v.Kind() == reflect.Map:
		if v.Type().Key().Implements(reflect.TypeFor[fmt.Stringer]()) {
			yield(sample{path: path, table: byName{v}})
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case !f.IsExported():
			case f.Anonymous:
				walk(v.Field(i), path, yield)
			default:
				walk(v.Field(i), strings.TrimPrefix(path+"."+f.Name, "."), yield)
			}
		}
	case v.CanUint():
		yield(sample{path: path, value: float64(v.Uint())})
	case v.CanInt():
		yield(sample{path: path, value: float64(v.Int())})
	case v.CanFloat():
		yield(sample{path: path, value: v.Float()})
	}
}

// byName is a map of counters whose keys have names.
type byName struct{ v reflect.Value }

// Each yields the counters in the order of their names.
func (m byName) Each(yield func(n uint64, labels ...string)) {
	keys := m.v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, key := range keys {
		yield(m.v.MapIndex(key).Uint(), fmt.Sprint(key))
	}
}

// dialects are the parts of the Stats that * stands for, and their label.
var dialects = []struct{ part, label string }{
	{"Replica", "replica"}, {"Stamp", "stamp"}, {"Relay", "relay"}, {"Connector", "relay"}, {"Duplex", "duplex"}, {"Realm", "realm"},
}

// expand calls yield for each path that a path of the table stands for, with the dialect's label: empty if it has none.
func expand(path string, yield func(path, dialect string)) {
	if !strings.Contains(path, "*") {
		part, _, _ := strings.Cut(path, ".")
		i := slices.IndexFunc(dialects, func(d struct{ part, label string }) bool { return d.part == part })
		if i < 0 {
			yield(path, "")
		} else {
			yield(path, dialects[i].label)
		}
		return
	}
	for _, d := range dialects {
		yield(strings.ReplaceAll(path, "*", d.part), d.label)
	}
}

// series calls yield for each series of a family.
func (f *family) series(samples map[string]sample, yield func(s sample, labels []string)) {
	for _, from := range f.from {
		expand(from.path, func(path, dialect string) {
			whole, parts, _ := strings.Cut(path, " - ")
			s, ok := samples[whole]
			if !ok {
				return
			}
			for part := range strings.SplitSeq(parts, " - ") {
				s.value -= samples[part].value
			}
			s.value = max(s.value, 0)
			labels := strings.Fields(from.values)
			if strings.HasPrefix(f.labels, "dialect") {
				labels = append([]string{dialect}, labels...)
			}
			if s.table == nil {
				yield(s, labels)
				return
			}
			s.table.Each(func(n uint64, more ...string) {
				row := labels[:len(labels):len(labels)]
				if len(more) == 1 { // a name of our own, "no buffers"; two names of a game must not become one
					more = []string{strings.ReplaceAll(more[0], " ", "_")}
				}
				yield(sample{value: float64(n)}, append(row, more...))
			})
		})
	}
}

// collector gives the counters to Prometheus.
type collector struct {
	stats func() any
	descs []*prometheus.Desc
}

func newCollector(stats func() any) *collector {
	c := &collector{stats: stats}
	for _, f := range families {
		c.descs = append(c.descs, prometheus.NewDesc(f.name, f.help, strings.Fields(f.labels), nil))
	}
	return c
}

// Describe sends the descriptions of all metrics.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect reads all counters.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	samples := map[string]sample{}
	walk(reflect.ValueOf(c.stats()), "", func(s sample) { samples[s.path] = s })
	for i := range families {
		f, desc := &families[i], c.descs[i]
		f.series(samples, func(s sample, labels []string) {
			switch {
			case f.kind == histogram && s.times != nil:
				count, sum, buckets := s.times.Histogram()
				out <- prometheus.MustNewConstHistogram(desc, count, sum, buckets, labels...)
			case f.kind == counter:
				out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, s.value, labels...)
			case f.kind == gauge:
				out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, s.value, labels...)
			}
		})
	}
}

// Check compares the table of metrics with the type of a Stats struct, and returns the faults. A counter that is added to a Stats
// needs a line in families.go. The line of a counter that is removed must go too.
func Check(stats any) (faults []string) {
	v := reflect.New(reflect.TypeOf(stats)).Elem()
	fill(v)
	there, listed := map[string]bool{}, map[string]bool{}
	walk(v, "", func(s sample) { there[s.path] = true })
	note := func(paths string) {
		for path := range strings.SplitSeq(paths, " - ") {
			leads := false
			expand(path, func(path, _ string) { leads, listed[path] = leads || there[path], true })
			if !leads {
				faults = append(faults, path+" of families.go is not in the struct")
			}
		}
	}
	for _, f := range families {
		for _, from := range f.from {
			note(from.path)
		}
	}
	for path := range leftOut {
		note(path)
	}
	for path := range there {
		if !listed[path] {
			faults = append(faults, path+" is in no metric of families.go, and not in leftOut")
		}
	}
	slices.Sort(faults)
	return faults
}

// fill makes what pointers in a struct lead to.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.CanSet() {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	}
}
