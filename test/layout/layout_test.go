package layout

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// report fails the test with each problem.
func report(t *testing.T, problems []string) {
	t.Helper()
	for _, p := range problems {
		t.Error(p)
	}
}

// A walk that finds nothing would let everything pass.
func TestTreeIsRead(t *testing.T) {
	tree := readTree(t)
	for _, want := range []string{"go.mod", "README.md", ".ci/run", "cmd/parley/main.go", "test/layout/doc.go", "test/layout/tree_test.go"} {
		if !slices.ContainsFunc(tree, func(s source) bool { return s.path == want }) {
			t.Errorf("%s was not read", want)
		}
	}
	nested := []source{{"go.mod", ""}, {"a.go", ""}, {"bench/go.mod", ""}, {"bench/b.go", ""}, {"bench/x/c.go", ""}, {"x/testdata/d.go", ""}}
	if got := goSources(nested); len(got) != 1 || got[0].path != "a.go" {
		t.Errorf("the Go files of a module with another inside are %v", got)
	}
}

// The arrows between packages are those of the table.
func TestImportGraph(t *testing.T) {
	for _, s := range goSources(readTree(t)) {
		if !s.isTest() {
			report(t, checkImports(s))
		}
	}
}

// Pure files know no socket, file, lock, log, clock or shared randomness.
func TestPurity(t *testing.T) {
	for _, s := range goSources(readTree(t)) {
		if !s.isTest() {
			report(t, checkPurity(s))
			report(t, checkNames(s))
		}
	}
}

func TestFilesAreTidy(t *testing.T) {
	tree := readTree(t)
	for _, s := range tree {
		report(t, checkWords(s))
	}
	packages := map[string][]source{}
	for _, s := range goSources(tree) {
		report(t, checkLength(s))
		packages[s.dir()] = append(packages[s.dir()], s)
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		report(t, checkPackageComment(packages[dir]))
	}
}

// What a server writes is not kept with the code: a test that starts one without a folder of its own leaves its data beside itself.
func TestNoDataOfServersIsKept(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "--", ":/*parley-data/*").Output()
	if err != nil {
		t.Skip("this is no repository of git: ", err)
	}
	for path := range strings.Lines(string(out)) {
		t.Errorf("%s is a server's own file: remove it, and give the test that writes it a folder (Config.DataDir)", strings.TrimSpace(path))
	}
}

// The table of docs/packages.md names each package that there is.
func TestPackagesPageNamesEveryPackage(t *testing.T) {
	tree := readTree(t)
	i := slices.IndexFunc(tree, func(s source) bool { return s.path == "docs/packages.md" })
	if i < 0 {
		t.Fatal("no docs/packages.md")
	}
	missing := map[string]bool{}
	for _, s := range goSources(tree) {
		if r, ok := rowOf(s.dir()); ok && !strings.Contains(tree[i].text, "\n| `"+strings.TrimSuffix(r.path, "/...")+"` |") {
			missing[r.path] = true
		}
	}
	for name := range missing {
		t.Errorf("docs/packages.md has no row for the package `%s`", name)
	}
}
