package web

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// rows writes the families as the table of docs/metrics.md.
func rows() string {
	var b strings.Builder
	b.WriteString("| metric | type | labels | what it means, and what to do when it grows |\n| --- | --- | --- | --- |\n")
	for _, f := range families {
		labels := strings.ReplaceAll(f.labels, " ", ", ")
		if labels == "" {
			labels = "–"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.name, f.kind, labels, f.help)
	}
	return b.String()
}

// TestThePageOfMetrics holds docs/metrics.md against the table of families. PARLEY_UPDATE=1 writes the page's table anew.
func TestThePageOfMetrics(t *testing.T) {
	const path = "../docs/metrics.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), "\n| metric | type |")
	if !ok {
		t.Fatal("docs/metrics.md has no table of metrics")
	}
	_, tail, _ := strings.Cut(rest, "\n\n")
	want := head + "\n" + rows() + "\n" + tail
	if string(text) != want && os.Getenv("PARLEY_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Error("the table of docs/metrics.md is not that of web/families.go: PARLEY_UPDATE=1 go test ./web -run TestThePageOfMetrics writes it")
	}
}

// The table obeys the rules for names of Prometheus, and every series of a family has its labels.
func TestTheTableOfFamilies(t *testing.T) {
	name := regexp.MustCompile(`^parley_[a-z0-9_]+$`)
	seen := map[string]bool{}
	for _, f := range families {
		if !name.MatchString(f.name) || seen[f.name] || strings.HasSuffix(f.name, "_total") != (f.kind == counter) {
			t.Errorf("%s is no name of a %s, or is there twice", f.name, f.kind)
		}
		seen[f.name] = true
		if len(f.help) < 20 || !strings.HasSuffix(f.help, ".") || strings.ContainsAny(f.help, "|\n") {
			t.Errorf("%s has no help that a table can have: %q", f.name, f.help)
		}
		labels := strings.Fields(f.labels)
		if i := strings.Index(f.labels, "dialect"); i > 0 {
			t.Errorf("%s: dialect is not the first label", f.name)
		}
		for _, from := range f.from {
			n := len(strings.Fields(from.values))
			if len(labels) > 0 && labels[0] == "dialect" {
				n++
			}
			if n > len(labels) {
				t.Errorf("%s: %s has %d labels, want %d", f.name, from.path, n, len(labels))
			}
		}
	}
}

// The counters that docs/gateway.md speaks of are there, with the values of their labels.
func TestThePageOfTheGateway(t *testing.T) {
	text, err := os.ReadFile("../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`(parley_[a-z_]+)(?:{[a-z]+=\"([a-z_]+)\"})?`").FindAllStringSubmatch(string(text), -1)
	if len(names) < 10 {
		t.Errorf("the page has %d counters", len(names))
	}
	for _, n := range names {
		found := false
		for _, f := range families {
			for _, from := range f.from {
				found = found || f.name == n[1] && (n[2] == "" || from.values == n[2])
			}
		}
		if !found {
			t.Errorf("there is no metric %s", n[0])
		}
	}
}
