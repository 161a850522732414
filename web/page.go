package web

import (
	_ "embed"
	"html/template"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// pageView is what the page shows.
type pageView struct {
	Title string
	At    string
	Why   string // it is not ready
	Parts []partView
}

type partView struct {
	Name, Addr string
	Rows       []rowView
}

type rowView struct{ Name, Value string }

// show writes the page. Numbers that are zero are left out: what never happened says
// nothing.
func show(w http.ResponseWriter, c Config) {
	view := pageView{Title: c.Title, At: time.Now().UTC().Format("2006-01-02 15:04:05 UTC")}
	if err := c.Ready(); err != nil {
		view.Why = err.Error()
	}
	view.Parts = parts(reflect.ValueOf(c.Stats()), c.Addrs)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	pageTemplate.Execute(w, view) // its only error is that of a client that left
}

// parts are the fields of a Stats struct, one a section of the page.
func parts(stats reflect.Value, addrs map[string]string) (list []partView) {
	for i := range stats.NumField() {
		name := strings.ToLower(stats.Type().Field(i).Name)
		part := partView{Name: name, Addr: addrs[name]}
		field := stats.Field(i)
		if field.Kind() == reflect.Pointer && field.IsNil() {
			continue
		}
		walk(field, "", func(s sample) {
			title := strings.ReplaceAll(s.path, ".", " · ")
			row := func(title string, value float64) {
				if value != 0 {
					part.Rows = append(part.Rows, rowView{title, format(value)})
				}
			}
			switch {
			case s.times != nil:
				if count, sum, _ := s.times.Histogram(); count > 0 {
					row(title+" · mean", sum/float64(count))
				}
			case s.table != nil:
				s.table.Each(func(n uint64, labels ...string) { row(title+" · "+strings.Join(labels, " · "), float64(n)) })
			default:
				row(title, s.value)
			}
		})
		list = append(list, part)
	}
	return list
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
