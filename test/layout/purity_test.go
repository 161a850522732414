package layout

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// impureImports are the packages that a pure file may not import, with their
// subpackages: it has no socket, file, lock or log, and its randomness is
// given to it, so that one seed gives one run. hash/maphash is random by
// design.
var impureImports = []string{"net", "os", "sync", "log", "syscall", "crypto/rand", "hash/maphash"}

// pureExceptions are values only, and the type of a log that a core's Config hands on to its shell.
var pureExceptions = []string{"net/netip", "log/slog"}

// impureNames are what a pure file may not use of a package that is otherwise
// fine: of time, whatever reads or waits for the clock; of fmt, what prints.
var impureNames = map[string]*regexp.Regexp{
	"time": regexp.MustCompile(`^(Now|Since|Until|After|AfterFunc|Sleep|Tick|NewTimer|NewTicker)$`),
	"fmt":  regexp.MustCompile(`^(Print|Scan)(f|ln)?$`),
}

// pureNames are the opposite: all that a pure file may use of a package. The
// other functions of the random packages draw from a source that all share.
var pureNames = map[string][]string{
	"log/slog":     {"Logger"},
	"math/rand":    {"New", "NewSource", "NewZipf", "Rand", "Source", "Source64", "Zipf"},
	"math/rand/v2": {"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG", "ChaCha8", "Zipf"},
}

// checkPurity looks for the outside world in a file that is not shell.
func checkPurity(s source) []string {
	if r, ok := rowOf(s.dir()); !ok || r.isShell(s.path) {
		return nil
	}
	fset, f, err := s.parse(0)
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	problem := func(at ast.Node, text string, args ...any) {
		problems = append(problems, fmt.Sprintf("%s: %s in a pure file", fset.Position(at.Pos()), fmt.Sprintf(text, args...)))
	}
	names := map[string]string{} // how the file calls a package -> its path
	for _, spec := range f.Imports {
		target, _ := strconv.Unquote(spec.Path.Value)
		name := packageName(target)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = target
		if isImpureImport(target) {
			problem(spec, "import of %s", target)
		} else if name == "." {
			problem(spec, "dot import of %s", target)
		}
	}
	shadowed := shadowedNames(fset, f)
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			problem(n, "go statement")
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && !shadowed[x] && isImpureName(names[x.Name], n.Sel.Name) {
				problem(n, "%s.%s", names[x.Name], n.Sel.Name)
			}
		}
		return true
	})
	return problems
}

// checkNames looks for anything but aliases in the names.go of a dialect's core: it may name a logger or a socket's counters, and
// call nothing.
func checkNames(s source) []string {
	if r, ok := rowOf(s.dir()); !ok || r.path != "protocol/*/core" || !r.isShell(s.path) {
		return nil
	}
	fset, f, err := s.parse(0)
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && (g.Tok == token.IMPORT || g.Tok == token.TYPE && !slices.ContainsFunc(g.Specs, func(s ast.Spec) bool { return !s.(*ast.TypeSpec).Assign.IsValid() })) {
			continue
		}
		problems = append(problems, fmt.Sprintf("%s: only aliases of types may be here", fset.Position(d.Pos())))
	}
	return problems
}

func TestNamesOfACoreAreAliases(t *testing.T) {
	const file = "protocol/relay/core/names.go"
	if got := checkNames(source{file, "package core\n\nimport \"log/slog\"\n\ntype (\n\tLogger = slog.Logger\n)\n"}); len(got) != 0 {
		t.Error(got)
	}
	for _, body := range []string{"type Logger slog.Logger", "func f() {}", "var x = slog.Default()", "type (\n\tA = int\n\tB int\n)"} {
		wantProblem(t, checkNames(source{file, "package core\n\nimport \"log/slog\"\n\n" + body}), file)
	}
}

func isImpureImport(target string) bool {
	return !slices.Contains(pureExceptions, target) && slices.ContainsFunc(impureImports, func(p string) bool {
		return target == p || strings.HasPrefix(target, p+"/")
	})
}

func isImpureName(pkg, name string) bool {
	if pure, ok := pureNames[pkg]; ok {
		return !slices.Contains(pure, name)
	}
	impure := impureNames[pkg]
	return impure != nil && impure.MatchString(name)
}

var versionElement = regexp.MustCompile(`^v[0-9]+$`)

// packageName guesses the name of a package of the standard library.
func packageName(target string) string {
	if base := path.Base(target); !versionElement.MatchString(base) {
		return base
	}
	return path.Base(path.Dir(target))
}

// shadowedNames finds the identifiers that look like packages but are
// variables: with rand *rand.Rand as a parameter, rand.IntN is pure. What the
// type checker cannot tell, as it sees one file only, counts as a package.
func shadowedNames(fset *token.FileSet, f *ast.File) map[*ast.Ident]bool {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: hollow{}, Error: func(error) {}, FakeImportC: true}
	// Its error is the first of many: every import is empty.
	_, _ = conf.Check(f.Name.Name, fset, []*ast.File{f}, info)
	shadowed := map[*ast.Ident]bool{}
	for ident, object := range info.Uses {
		if _, isPackage := object.(*types.PkgName); !isPackage {
			shadowed[ident] = true
		}
	}
	return shadowed
}

// hollow imports packages without contents: enough to know their names.
type hollow struct{}

func (hollow) Import(target string) (*types.Package, error) {
	p := types.NewPackage(target, packageName(target))
	p.MarkComplete()
	return p, nil
}

func TestPurityCheckFindsTheOutside(t *testing.T) {
	for _, tt := range []struct {
		name, imports, body, want string
	}{
		{"sockets", `"net"`, ``, "import of net"},
		{"web servers", `"net/http"`, ``, "import of net/http"},
		{"files", `"os"`, ``, "import of os"},
		{"signals", `"os/signal"`, ``, "import of os/signal"},
		{"locks", `"sync"`, ``, "import of sync"},
		{"atomics", `"sync/atomic"`, ``, "import of sync/atomic"},
		{"logs", `"log"`, ``, "import of log"},
		{"structured logs", `"log/slog"`, `var x = slog.Default()`, "slog.Default"},
		{"system calls", `"syscall"`, ``, "import of syscall"},
		{"true randomness", `"crypto/rand"`, ``, "import of crypto/rand"},
		{"random hashes", `"hash/maphash"`, ``, "import of hash/maphash"},
		{"an import by another name", `quiet "os"`, ``, "import of os"},
		{"the clock", `"time"`, `var x = time.Now()`, "time.Now"},
		{"the clock as a value", `"time"`, `var now = time.Now`, "time.Now"},
		{"the clock by another name", `clock "time"`, `var x = clock.Now()`, "time.Now"},
		{"the clock by no name", `. "time"`, `var x = Now()`, "dot import of time"},
		{"time since", `"time"`, `func f(t time.Time) any { return time.Since(t) }`, "time.Since"},
		{"time until", `"time"`, `func f(t time.Time) any { return time.Until(t) }`, "time.Until"},
		{"a wait", `"time"`, `func f() { <-time.After(1) }`, "time.After"},
		{"a sleep", `"time"`, `func f() { time.Sleep(1) }`, "time.Sleep"},
		{"a timer", `"time"`, `func f() { _ = time.NewTimer(1) }`, "time.NewTimer"},
		{"a ticker", `"time"`, `func f() { _ = time.NewTicker(1) }`, "time.NewTicker"},
		{"the clock inside what cannot be checked", `"time"`, `func f() { unknown{at: time.Now()}.run(func() {}) }`, "time.Now"},
		{"shared randomness", `"math/rand/v2"`, `var x = rand.IntN(3)`, "math/rand/v2.IntN"},
		{"shared randomness of a type", `"math/rand/v2"`, `var x = rand.N[int](3)`, "math/rand/v2.N"},
		{"shared randomness of old", `"math/rand"`, `var x = rand.Intn(3)`, "math/rand.Intn"},
		{"a shared seed", `"math/rand"`, `func f() { rand.Seed(1) }`, "math/rand.Seed"},
		{"a print", `"fmt"`, `func f() { fmt.Println() }`, "fmt.Println"},
		{"a goroutine", `"fmt"`, `func f() { go f() }`, "go statement"},
		{"a file that is no Go", ``, `}`, "world/x.go"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantProblem(t, checkPurity(source{"world/x.go", "package world\nimport " + tt.imports + "\n" + tt.body}), tt.want)
		})
	}
}

func TestPurityCheckLetsValuesThrough(t *testing.T) {
	pure := `// Package x never calls time.Now or rand.IntN.
package x

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"
)

type state struct {
	rand *rand.Rand
	from netip.AddrPort
	next time.Time
}

func newState(seed uint64) *state { return &state{rand: rand.New(rand.NewPCG(seed, 1))} }

func (s *state) draw(rand *rand.Rand, time clock) string {
	_ = "import \"os\"; time.Sleep(1)" // time.Sleep(1)
	return fmt.Sprint(rand.IntN(3), s.rand.IntN(4), time.Now())
}

func draws() {
	rand := newState(1).rand
	rand.Shuffle(1, nil)
}
`
	for _, p := range []string{
		"internal/wire/x.go", "internal/serial/x.go", "internal/reliable/x.go", "internal/clocksync/x.go", "internal/admission/x.go",
		"world/x.go", "simnet/x.go", "protocol/relay/endpoint.go",
	} {
		if got := checkPurity(source{p, pure}); len(got) != 0 {
			t.Errorf("%s: %q", p, got)
		}
	}
}

func TestOnlyShellsAreExcused(t *testing.T) {
	const impure = "package x\n\nimport _ \"os\"\n"
	for file, wantProblems := range map[string]int{
		"internal/wire/reader.go":          1,
		"internal/serial/serial.go":        1,
		"internal/reliable/sender.go":      1,
		"internal/clocksync/slew.go":       1,
		"internal/admission/table.go":      1,
		"world/server.go":                  1,
		"arena/arena.go":                   1,
		"simnet/network.go":                1,
		"simnet/connect.go":                1,
		"simnet/conn.go":                   0,
		"simnet/conn_live.go":              0,
		"protocol/relay/codec.go":          1,
		"protocol/relay/mux.go":            1,
		"protocol/relay/endpoint_close.go": 1,
		"protocol/relay/servers.go":        1,
		"protocol/relay/server.go":         0,
		"protocol/relay/server_linux.go":   0,
		"protocol/relay/client.go":         0,
		"internal/udp/socket.go":           0,
		"program/cli.go":                   0,
		"play/gateway/relay.go":            0,
	} {
		if got := checkPurity(source{file, impure}); len(got) != wantProblems {
			t.Errorf("%s: %q, want %d problems", file, got, wantProblems)
		}
	}
}
