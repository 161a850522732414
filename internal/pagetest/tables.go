package pagetest

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// Table is a table of a page. Each row is a map from column to cell.
type Table []map[string]string

// Tables returns the tables of a page by their headings. The key of a second table under a
// heading also has its first column: "Limits, name".
func Tables(t testing.TB, name string) map[string]Table {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]Table{}
	heading, title, columns := "", "", []string(nil)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		cells, isRow := strings.CutPrefix(line, "|")
		switch {
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimLeft(line, "# ")
		case !isRow:
			columns = nil
		case strings.HasPrefix(cells, " ---"):
		default:
			row := strings.Split(strings.TrimSuffix(cells, "|"), "|")
			for i := range row {
				row[i] = strings.TrimSpace(row[i])
			}
			if columns == nil {
				columns, title = row, heading
				if len(tables[title]) > 0 {
					title += ", " + row[0]
				}
				continue
			}
			if len(row) != len(columns) {
				t.Fatalf("%s, %s: %d cells under %d columns: %s", name, heading, len(row), len(columns), line)
			}
			cell := map[string]string{}
			for i := range row {
				cell[columns[i]] = row[i]
			}
			tables[title] = append(tables[title], cell)
		}
	}
	return tables
}

// Number reads a cell with one number: 65,535 or 0x0A.
func Number(t testing.TB, cell string) int {
	t.Helper()
	n, err := strconv.ParseInt(strings.ReplaceAll(cell, ",", ""), 0, 32)
	if err != nil {
		t.Fatalf("%q is no number", cell)
	}
	return int(n)
}

// Span reads a cell with "a to b" or just "a".
func Span(t testing.TB, cell string) (low, high int) {
	t.Helper()
	from, to, found := strings.Cut(cell, " to ")
	if low = Number(t, from); !found {
		return low, low
	}
	return low, Number(t, to)
}
