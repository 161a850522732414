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
	for _, s := range c.Sources {
		part := partView{Name: s.Name, Addr: s.Addr}
		walk(reflect.ValueOf(s.Stats()), nil, func(m metric) {
			if m.value != 0 {
				part.Rows = append(part.Rows, rowView{m.title(), format(m.value)})
			}
		})
		view.Parts = append(view.Parts, part)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	pageTemplate.Execute(w, view) // its only error is that of a client that left
}

// title is what the page calls a number.
func (m metric) title() string {
	title := strings.Join(m.path, " · ")
	if m.of != "" {
		title += " · " + m.of
	}
	return title
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
