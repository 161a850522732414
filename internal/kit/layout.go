package kit

import (
	"errors"
	"strings"
	"testing"

	"parley/internal/pagetest"
	"parley/internal/wire"
)

// Limits holds a page's table of limits against the constants of the code, by the page's spelling.
func Limits(t testing.TB, rows pagetest.Table, column string, want map[string]int) {
	t.Helper()
	if len(rows) != len(want) {
		t.Errorf("%d rows of limits, want %d", len(rows), len(want))
	}
	for _, row := range rows {
		if got, ok := want[row["constant"]]; !ok || got != pagetest.Number(t, row[column]) {
			t.Errorf("%s is %d, and the page says %s", row["constant"], got, row[column])
		}
	}
}

// Layout holds a page's table of fields against the bytes of a packet, from the offset start on. Each field is where its row
// says, behind the one before it. A packet that is cut inside a field is refused with an error that names the field; a field of
// any size ("0 to 9") is not cut. each is told the bytes of each field.
func Layout(t testing.TB, what string, rows pagetest.Table, b []byte, start int, parse func(b []byte) error, each func(field string, b []byte)) {
	t.Helper()
	end := start
	for _, row := range rows {
		at, field := pagetest.Number(t, row["offset"]), row["field"]
		if at != end {
			t.Errorf("%s: %s is at %d, and what precedes it ends at %d", what, field, at, end)
		}
		low, high := pagetest.Span(t, row["bytes"])
		if end = at + high; end > len(b) {
			t.Fatalf("%s: %s ends at %d of %d bytes", what, field, end, len(b))
		}
		each(field, b[at:end])
		for n := at; n < end && low == high; n++ {
			err, e := parse(b[:n]), (*wire.Error)(nil)
			if !errors.As(err, &e) || !strings.HasSuffix(e.Field, field) || e.Offset != at {
				t.Errorf("%s cut to %d bytes: %v, and the page says %s at %d", what, n, err, field, at)
			}
		}
	}
	if end != len(b) {
		t.Errorf("%s: the page describes %d of %d bytes", what, end, len(b))
	}
}
