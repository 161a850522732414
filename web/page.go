package web

import (
	"cmp"
	_ "embed"
	"html/template"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// maxRows is how many series of a metric a section of the page shows. The smaller ones are summed in one row.
const maxRows = 6

// pageView is what the page shows.
type pageView struct {
	Title string
	At    string
	Why   string // it is not ready
	Parts []*partView
}

// partView is a section of the page: the game, or a dialect.
type partView struct {
	Name, Addr string
	Rows       []rowView
}

type rowView struct {
	Name, Help, Value string
	size              float64
}

// show writes the page.
func show(w http.ResponseWriter, c Config) {
	view := pageView{Title: c.Title, At: time.Now().UTC().Format("2006-01-02 15:04:05 UTC")}
	if err := c.Ready(); err != nil {
		view.Why = err.Error()
	}
	view.Parts = parts(reflect.ValueOf(c.Stats()), c.Addrs)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	pageTemplate.Execute(w, view) // its only error is that of a client that left
}

// parts are the metrics of /metrics, those of each dialect in a section of its own. Numbers that are zero are left out: what
// never happened says nothing.
func parts(stats reflect.Value, addrs map[string]string) []*partView {
	samples := map[string]sample{}
	walk(stats, "", func(s sample) { samples[s.path] = s })
	list := []*partView{{Name: "game"}}
	for _, d := range dialects {
		if addr, on := addrs[d.label]; on && list[len(list)-1].Name != d.label {
			list = append(list, &partView{Name: d.label, Addr: addr})
		}
	}
	for i := range families {
		f := &families[i]
		rows := map[string][]rowView{}
		f.series(samples, func(s sample, labels []string) {
			part := "game"
			if strings.HasPrefix(f.labels, "dialect") {
				part, labels = labels[0], labels[1:]
			}
			if row, ok := f.row(s, labels); ok {
				rows[part] = append(rows[part], row)
			}
		})
		for _, part := range list {
			part.Rows = append(part.Rows, f.largest(rows[part.Name])...)
		}
	}
	return list
}

// row is a series as the page shows it: the words of its name and of its labels.
func (f *family) row(s sample, labels []string) (row rowView, ok bool) {
	row = rowView{Name: strings.ReplaceAll(strings.Join(append([]string{f.words()}, labels...), " · "), "_", " "), Help: f.help, size: s.value}
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

// largest keeps the rows of a metric few.
func (f *family) largest(rows []rowView) []rowView {
	if len(rows) <= maxRows {
		return rows
	}
	slices.SortStableFunc(rows, func(a, b rowView) int { return cmp.Compare(b.size, a.size) })
	rest, sum := rows[maxRows-1:], 0.
	for _, r := range rest {
		sum += r.size
	}
	return append(rows[:maxRows-1], rowView{Name: f.words() + " · " + strconv.Itoa(len(rest)) + " more", Help: f.help, Value: f.format(sum)})
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
