package layout

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// A link of a page: [text](target), outside of code.
var link = regexp.MustCompile(`\]\(([^()\s]+)\)`)

// links returns the targets of a page's links into the project, as they are written.
func links(page source) []string {
	var found []string
	for _, line := range proseLines(page.text) {
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			if !strings.Contains(m[1], "://") {
				found = append(found, m[1])
			}
		}
	}
	return found
}

// proseLines are the lines of a page outside of fenced code, without what is between backquotes.
func proseLines(text string) []string {
	var lines []string
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if !fenced && !strings.HasPrefix(line, "    ") {
			lines = append(lines, codeSpan.ReplaceAllString(line, "``"))
		}
	}
	return lines
}

var codeSpan = regexp.MustCompile("`[^`]*`")

// anchors are the names of a page's headings, as a browser of the repository makes them.
func anchors(text string) []string {
	var names []string
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if heading := strings.TrimLeft(line, "#"); !fenced && heading != line && strings.HasPrefix(heading, " ") {
			names = append(names, anchor(heading))
		}
	}
	return names
}

func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

// checkLinks finds the links of a page that lead nowhere. exists reports whether there is a file or folder.
func checkLinks(page source, pages map[string]string, exists func(string) bool) []string {
	var problems []string
	for _, target := range links(page) {
		file, heading, _ := strings.Cut(target, "#")
		at := page.path
		if file != "" {
			at = path.Join(page.dir(), file)
		}
		text, isPage := pages[at]
		switch {
		case !exists(at):
			problems = append(problems, fmt.Sprintf("%s: the link to %s leads to no file", page.path, target))
		case heading != "" && isPage && !slices.Contains(anchors(text), heading):
			problems = append(problems, fmt.Sprintf("%s: the link to %s leads to no heading", page.path, target))
		}
	}
	return problems
}

// unreached returns the pages below a folder that cannot be reached by links from a page.
func unreached(from, folder string, pages map[string]string) []string {
	reached := map[string]bool{from: true}
	for next := []string{from}; len(next) > 0; next = next[1:] {
		for _, target := range links(source{next[0], pages[next[0]]}) {
			file, _, _ := strings.Cut(target, "#")
			at := path.Join(path.Dir(next[0]), file)
			if _, isPage := pages[at]; isPage && file != "" && !reached[at] {
				reached[at] = true
				next = append(next, at)
			}
		}
	}
	var missing []string
	for name := range pages {
		if strings.HasPrefix(name, folder+"/") && !reached[name] {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}

// No link of a page is dead, and docs/README.md leads to every page of docs.
func TestLinksLeadSomewhere(t *testing.T) {
	root := moduleRoot(t)
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		return err == nil
	}
	pages := map[string]string{}
	for _, s := range readTree(t) {
		if strings.HasSuffix(s.path, ".md") && !strings.Contains(s.path, "node_modules/") {
			pages[s.path] = s.text
		}
	}
	if len(pages) < 20 {
		t.Fatalf("only %d pages were read", len(pages))
	}
	for name, text := range pages {
		report(t, checkLinks(source{name, text}, pages, exists))
	}
	for _, name := range unreached("docs/README.md", "docs", pages) {
		t.Errorf("%s: no link leads there from docs/README.md", name)
	}
}

func TestLinkCheck(t *testing.T) {
	pages := map[string]string{
		"docs/README.md": "[a](a.md) [x](https://x.example/dead) `[no](link.md)`\n\n    [no](link.md)\n\n```\n[no](link.md)\n# No heading\n```\n",
		"docs/a.md":      "# A page: of `code`, 2\n[b](sub/b.md#two-words) [self](#a-page-of-code-2)\n",
		"docs/sub/b.md":  "## Two words\n[up](../README.md) [plot](p.png)\n",
		"docs/c.md":      "[dead](nosuch.md) [dead](a.md#nosuch) [none](#no-heading)",
	}
	exists := func(name string) bool { return pages[name] != "" || name == "docs/sub/p.png" }
	for _, good := range []string{"docs/README.md", "docs/a.md", "docs/sub/b.md"} {
		if got := checkLinks(source{good, pages[good]}, pages, exists); len(got) != 0 {
			t.Errorf("%s: %q", good, got)
		}
	}
	if got := checkLinks(source{"docs/c.md", pages["docs/c.md"]}, pages, exists); len(got) != 3 {
		t.Errorf("three dead links give %q", got)
	}
	if got := unreached("docs/README.md", "docs", pages); !slices.Equal(got, []string{"docs/c.md"}) {
		t.Errorf("not reached: %q", got)
	}
}

// Who copies the game of the README copies what is read there.
func TestTheFirstGame(t *testing.T) {
	tree := map[string]string{}
	for _, s := range readTree(t) {
		tree[s.path] = s.text
	}
	file := tree["examples/first/main.go"]
	code := file[max(0, strings.Index(file, "package main")):]
	if !strings.Contains(code, "program.Main(game)") || !strings.Contains(tree["README.md"], "```go\n"+code+"```\n") {
		t.Error("README.md does not have the program of examples/first/main.go")
	}
}
