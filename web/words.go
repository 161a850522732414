package web

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rowView is a series in words.
type rowView struct{ Name, Value string }

// row is a series as people read it: the words of its name and of its labels. ok is false if it is zero.
func (f *family) row(s sample, labels []string) (row rowView, ok bool) {
	row = rowView{Name: strings.ReplaceAll(strings.Join(append([]string{f.words()}, labels...), " · "), "_", " ")}
	if s.times == nil {
		row.Value = f.format(s.value)
		return row, s.value != 0
	}
	count, sum, buckets := s.times.Histogram()
	if count == 0 {
		return row, false
	}
	row.Value = "mean " + f.format(sum/float64(count))
	for _, bound := range slices.Sorted(maps.Keys(buckets)) {
		if float64(buckets[bound]) >= .99*float64(count) {
			row.Value += ", 99% ≤ " + f.format(bound)
			break
		}
	}
	return row, true
}

// words is the name of a metric without what all have.
func (f *family) words() string {
	name := strings.TrimPrefix(f.name, "parley_")
	for _, unit := range []string{"_total", "_seconds"} {
		name = strings.TrimSuffix(name, unit)
	}
	return strings.ReplaceAll(name, "_", " ")
}

// format writes a number of the metric with its unit.
func (f *family) format(v float64) string {
	if !strings.HasSuffix(strings.TrimSuffix(f.name, "_total"), "_seconds") {
		return format(v)
	}
	d := time.Duration(v * float64(time.Second))
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond / 10).String()
	case d < time.Second:
		return d.Round(time.Millisecond / 100).String()
	}
	return d.Round(time.Second / 100).String()
}

// format writes a number with commas between its thousands.
func format(v float64) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	whole, rest, _ := strings.Cut(text, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	var groups []string
	for len(whole) > 3 {
		groups = append([]string{whole[len(whole)-3:]}, groups...)
		whole = whole[:len(whole)-3]
	}
	text = sign + strings.Join(append([]string{whole}, groups...), ",")
	if rest != "" {
		text += "." + rest[:min(len(rest), 6)]
	}
	return text
}
