package web

import (
	"fmt"
	"strings"
	"testing"
)

// sizes is a table with a row for each size.
type sizes []uint64

func (s sizes) Each(yield func(n uint64, labels ...string)) {
	for i, n := range s {
		yield(n, "ship", fmt.Sprintf("field%d", i))
	}
}

// A world with many kinds and fields keeps its page short: the largest are shown, the others are one row.
func TestThePageIsShort(t *testing.T) {
	type fields struct{ Replica sizes }
	c := Config{Addrs: map[string]string{"replica": "127.0.0.1:7000"}, Stats: func() any {
		return struct{ Fields fields }{fields{sizes{1, 50, 2, 40, 30, 3, 20, 0, 10, 4}}}
	}}
	_, body := get(t, c, "GET", "/")
	var got []string
	for _, row := range strings.Split(body, "<tr ")[1:] {
		_, cells, _ := strings.Cut(row, "<td>")
		got = append(got, strings.NewReplacer("</td><td>", "=", "</td></tr>", "").Replace(strings.SplitN(cells, "</table>", 2)[0]))
	}
	want := "world bytes · ship · field1=50 | world bytes · ship · field3=40 | world bytes · ship · field4=30 | world bytes · ship · field6=20 | world bytes · ship · field8=10 | world bytes · 4 more=10"
	if strings.Join(got, " | ") != want {
		t.Errorf("the rows are %q", got)
	}
}
