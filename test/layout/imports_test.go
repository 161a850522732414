package layout

import (
	"fmt"
	"go/parser"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// modulePath is the name of our module, which begins each of our imports.
const modulePath = "parley"

// checkImports holds the imports of one file against the table.
func checkImports(s source) []string {
	from, ok := rowOf(s.dir())
	if !ok {
		return []string{fmt.Sprintf("%s: the package %s has no row in test/layout/table_test.go", s.path, s.dir())}
	}
	fset, f, err := s.parse(parser.ImportsOnly)
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	for _, spec := range f.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			err = from.checkImport(s, target)
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", fset.Position(spec.Pos()), err))
		}
	}
	return problems
}

func (r row) checkImport(s source, target string) error {
	if dir, ours := ourDir(target); ours {
		return r.checkPackage(s, dir)
	}
	if !isForeign(target) || r.anything {
		return nil
	}
	if slices.ContainsFunc(r.modules, func(m string) bool { return target == m || strings.HasPrefix(target, m+"/") }) {
		return nil
	}
	return fmt.Errorf("%s may not import the foreign package %s", r.path, target)
}

func (r row) checkPackage(s source, dir string) error {
	to, ok := rowOf(dir)
	if !ok {
		return fmt.Errorf("the package %s has no row in the table", dir)
	}
	if !r.anything && !slices.Contains(r.mayImport, to.path) {
		return fmt.Errorf("%s may not import %s", r.path, dir)
	}
	if to.path == "protocol/*/core" && r.path == "protocol/*" && path.Dir(dir) != s.dir() {
		return fmt.Errorf("%s may not import %s: dialects do not know each other", s.dir(), dir)
	}
	// Otherwise a pure file could open a socket by asking its neighbour to.
	if !r.isShell(s.path) && to.isAllShell() {
		return fmt.Errorf("a pure file may not import %s, which is a shell", dir)
	}
	return nil
}

// ourDir turns an import path of our module into a directory.
func ourDir(target string) (string, bool) {
	if target == modulePath {
		return ".", true
	}
	return strings.CutPrefix(target, modulePath+"/")
}

// isForeign tells other modules, whose first element is a host, from the
// standard library. Code in C counts as foreign: no package may have it.
func isForeign(target string) bool {
	first, _, _ := strings.Cut(target, "/")
	return strings.Contains(first, ".") || target == "C"
}

func TestImportCheckFindsForbiddenArrows(t *testing.T) {
	for _, tt := range []struct {
		name, path, imports, want string
	}{
		{"a socket in a codec", "protocol/relay/codec.go", "parley/internal/udp", "a pure file may not import internal/udp"},
		{"a socket in a pure variant", "protocol/relay/endpoint_recv.go", "parley/internal/udp", "a pure file may not import"},
		{"a dialect that knows another", "protocol/relay/server.go", "parley/protocol/stamp", "protocol/* may not import protocol/stamp"},
		{"a dialect that knows the world", "protocol/relay/server.go", "parley/world", "protocol/* may not import world"},
		{"a dialect that knows the front door", "protocol/relay/server.go", "parley", "protocol/* may not import ."},
		{"a world that knows a dialect", "world/view.go", "parley/protocol/stamp", "world may not import protocol/stamp"},
		{"an engine that knows bytes", "internal/reliable/sender.go", "parley/internal/wire", "internal/reliable may not import internal/wire"},
		{"a package of a higher floor", "internal/serial/serial.go", "parley/internal/reliable", "internal/serial may not import"},
		{"a main with logic", "cmd/parley/main.go", "github.com/spf13/cobra", "cmd/parley may not import the foreign package"},
		{"a foreign package in the engine", "internal/wire/reader.go", "golang.org/x/sys/unix", "internal/wire may not import the foreign"},
		{"a module that only begins alike", "internal/udp/socket.go", "golang.org/x/system", "internal/udp may not import the foreign"},
		{"code in C", "internal/udp/socket.go", "C", "internal/udp may not import the foreign package C"},
		{"an example that reaches inside", "examples/echo/main.go", "parley/internal/wire", "examples/... may not import internal/wire"},
		{"a package without a row", "internal/util/util.go", "fmt", "internal/util has no row"},
		{"an import without a row", "program/cli.go", "parley/internal/util", "internal/util has no row"},
		{"a package below another", "internal/wire/fast/fast.go", "fmt", "internal/wire/fast has no row"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantProblem(t, checkImports(source{tt.path, "package x\n\nimport \"" + tt.imports + "\"\n"}), tt.want)
		})
	}
	wantProblem(t, checkImports(source{"world/broken.go", "package"}), "world/broken.go")
}

func TestImportCheckLetsTheTableThrough(t *testing.T) {
	for _, tt := range []struct{ path, imports string }{
		{"cmd/parley/main.go", "parley/program"},
		{"program/codec_relay.go", "parley/protocol/relay"},
		{"program/cli.go", "github.com/spf13/cobra"},
		{"serve.go", "parley/play/gateway"},
		{"arena/arena.go", "parley/world"},
		{"protocol/relay/codec.go", "parley/internal/wire"},
		{"protocol/relay/server.go", "parley/internal/udp"},
		{"protocol/relay/server_linux.go", "parley/internal/udp"},
		{"internal/reliable/sender.go", "parley/internal/serial"},
		{"internal/udp/socket_linux.go", "golang.org/x/sys/unix"},
		{"play/gateway/relay.go", "parley/protocol/relay"},
		{"examples/deep/down/main.go", "parley"},
		{"account/sqlite/store.go", "modernc.org/sqlite"},
	} {
		if got := checkImports(source{tt.path, "package x\n\nimport _ \"" + tt.imports + "\"\n"}); len(got) != 0 {
			t.Errorf("%s imports %s: %q", tt.path, tt.imports, got)
		}
	}
}

// lightModules are the foreign modules that a game may compile by importing package parley: databases, browsers'
// carriers and clusters are values of its Config, and only the program imports them.
var lightModules = []string{"golang.org/x/crypto", "golang.org/x/text", "golang.org/x/sys"}

// checkReach looks for foreign packages that a package imports, itself or through others of ours, and that are of none of the
// modules. The standard library's HTTP counts as foreign: it is a fifth of a small program.
func checkReach(tree []source, dir string, modules []string) (problems []string) {
	type step struct{ dir, way string }
	seen := map[string]bool{dir: true}
	for todo := []step{{dir, dir}}; len(todo) > 0; todo = todo[1:] {
		for _, s := range tree {
			if s.dir() != todo[0].dir || s.isTest() {
				continue
			}
			_, f, err := s.parse(parser.ImportsOnly)
			if err != nil {
				problems = append(problems, err.Error())
				continue
			}
			for _, spec := range f.Imports {
				target, _ := strconv.Unquote(spec.Path.Value)
				next, ours := ourDir(target)
				if seen[target] || ours && seen[next] {
					continue
				}
				seen[target] = true
				way := todo[0].way + " > " + target
				if ours {
					seen[next] = true
					todo = append(todo, step{next, way})
				} else if target == "net/http" || isForeign(target) && !slices.ContainsFunc(modules, func(m string) bool { return strings.HasPrefix(target, m+"/") }) {
					problems = append(problems, fmt.Sprintf("%s is heavy to import: %s", dir, way))
				}
			}
		}
	}
	return problems
}

// A game that imports package parley compiles no database, whatever way it would come.
func TestTheFrontDoorIsLight(t *testing.T) {
	tree := goSources(readTree(t))
	for _, dir := range []string{".", "examples/ships"} {
		report(t, checkReach(tree, dir, lightModules))
	}
	far := []source{
		{"a.go", "package parley\n\nimport \"parley/x\"\n"},
		{"x/x.go", "package x\n\nimport (\n\t\"os\"\n\t\"parley/x/y\"\n\t\"golang.org/x/sys/unix\"\n)\n"},
		{"x/y/y.go", "package y\n\nimport \"modernc.org/sqlite\"\n"},
		{"x/y/y_test.go", "package y\n\nimport \"go.uber.org/goleak\"\n"},
	}
	wantProblem(t, checkReach(far, ".", lightModules), ". is heavy to import: . > parley/x > parley/x/y > modernc.org/sqlite")
	far[2].text = "package y\n\nimport \"net/http\"\n"
	wantProblem(t, checkReach(far, ".", lightModules), "parley/x/y > net/http")
}

// wantProblem wants one problem that says want.
func wantProblem(t *testing.T, got []string, want string) {
	t.Helper()
	if len(got) != 1 || !strings.Contains(got[0], want) {
		t.Errorf("got %q, want one problem with %q", got, want)
	}
}

// A row that names a package that is not in the table would allow nothing, or
// what nobody meant.
func TestTableNamesItsOwnRooms(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range table {
		if seen[r.path] {
			t.Errorf("%s has two rows", r.path)
		}
		seen[r.path] = true
	}
	for _, r := range table {
		for _, to := range r.mayImport {
			if !seen[to] || to == r.path {
				t.Errorf("%s may import %s, which is no other package", r.path, to)
			}
		}
	}
}
