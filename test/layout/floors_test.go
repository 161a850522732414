package layout

import (
	"fmt"
	"go/parser"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// checkFloors looks at each folder as somebody does who sees only what is directly in it: its own package, and each
// folder below as one box. A box stands above all that it imports, so no chain of imports may lead back to where it began.
// imports are the packages of the project by the packages that import them, as directories.
func checkFloors(imports map[string][]string) []string {
	boxes := map[string]map[string][]string{} // by folder, then by box: what it imports
	for from, all := range imports {
		for _, to := range all {
			folder, a, b := part(from, to)
			if boxes[folder] == nil {
				boxes[folder] = map[string][]string{}
			}
			boxes[folder][a] = append(boxes[folder][a], b)
		}
	}
	var problems []string
	for _, folder := range slices.Sorted(maps.Keys(boxes)) {
		if way := circle(boxes[folder]); way != nil {
			problems = append(problems, fmt.Sprintf("in %s an import runs up: %s", folder, strings.Join(way, " imports ")))
		}
	}
	return problems
}

// part finds the deepest folder that holds both packages, and the box of each in it. The box of the folder's own package is ".".
func part(from, to string) (folder, a, b string) {
	x, y := elements(from), elements(to)
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	box := func(e []string) string {
		if n == len(e) {
			return "."
		}
		return e[n]
	}
	folder = strings.Join(x[:n], "/")
	if folder == "" {
		folder = "the root"
	}
	return folder, box(x), box(y)
}

func elements(dir string) []string {
	if dir == "." {
		return nil
	}
	return strings.Split(dir, "/")
}

// circle returns a chain of imports that ends where it began, if there is one.
func circle(imports map[string][]string) []string {
	done := map[string]bool{}
	var way []string
	var visit func(box string) []string
	visit = func(box string) []string {
		if i := slices.Index(way, box); i >= 0 {
			return append(slices.Clone(way[i:]), box)
		}
		if done[box] {
			return nil
		}
		way = append(way, box)
		for _, next := range imports[box] {
			if found := visit(next); found != nil {
				return found
			}
		}
		way = way[:len(way)-1]
		done[box] = true
		return nil
	}
	for _, box := range slices.Sorted(maps.Keys(imports)) {
		if found := visit(box); found != nil {
			return found
		}
	}
	return nil
}

// No import runs from a lower floor to a higher one, whatever level of folders one looks at.
func TestFloors(t *testing.T) {
	imports := map[string][]string{}
	for _, s := range goSources(readTree(t)) {
		if s.isTest() {
			continue
		}
		_, f, err := s.parse(parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if dir, ours := ourDir(target); ours {
				imports[s.dir()] = append(imports[s.dir()], dir)
			}
		}
	}
	if len(imports) < 20 {
		t.Fatalf("only %d packages were read", len(imports))
	}
	report(t, checkFloors(imports))
}

func TestFloorsAreChecked(t *testing.T) {
	for _, tt := range []struct {
		name    string
		imports map[string][]string
		want    string
	}{
		{"all run down", map[string][]string{"cmd/a": {".", "b/c"}, ".": {"b/c"}, "b/c": {"b/d"}}, ""},
		{"a folder on both sides of another", map[string][]string{"b/up": {"mid"}, "mid": {"b/down"}}, "in the root an import runs up: b imports mid imports b"},
		{"the same one level below", map[string][]string{"x/b/up": {"x/mid"}, "x/mid": {"x/b/down"}}, "in x an import runs up: b imports mid imports b"},
		{"a package and what is below it", map[string][]string{"x": {"x/a"}, "x/a": {"x"}}, "in x an import runs up: . imports a imports ."},
		{"the root on both sides", map[string][]string{".": {"b/c"}, "b/d": {"."}}, "in the root an import runs up: . imports b imports ."},
		{"a folder on both sides of one above and below it", map[string][]string{"a": {"b/c"}, "b/d": {"a"}, "b/c": nil}, "in the root an import runs up: a imports b imports a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := checkFloors(tt.imports)
			if tt.want == "" && len(got) != 0 || tt.want != "" && !slices.Equal(got, []string{tt.want}) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
