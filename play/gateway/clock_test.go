package gateway

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/internal/promise"
)

// wallClock are the methods that make a number of the wall clock, or take the monotonic reading
// from a time, and how many arguments they have.
var wallClock = map[string]int{"Unix": 0, "UnixNano": 0, "UnixMicro": 0, "UnixMilli": 0, "UTC": 0, "Local": 0, "Date": 0, "In": 1, "Round": 1, "Truncate": 1}

// needsWall are the files that must know what time it is for people, and why. No timer is in
// one of them.
var needsWall = map[string]string{
	"protocol/realm/core/mux.go":    "the wire has Unix time: it is read once, and moved on by monotonic differences",
	"protocol/realm/server_time.go": "so does the time server's answer",
	"protocol/relay/core/ticket.go": "a ticket has an hour and a day at which it ends",
	"play/gateway/spent.go":         "so has a ticket that was used",
	"play/gateway/kept.go":          "the log of a room has it, read once and moved on by monotonic differences",
	"operator.go":                   "a ban ends at a time of the wall clock",
	"play/gateway/over.go":          "a room is known by when it was opened, later than all before it whatever the clock does",
	"play/keep/archive.go":          "the folder of a room that has ended has the day in its name",
}

// T63: the wall clock may jump, as timers know monotonic time only: Go's times carry it, and
// nothing on the way from a socket to the world takes it away.
func TestTimersKnowMonotonicTimeOnly(t *testing.T) {
	promise.Keeps(t, "T63", "gateway", 1)
	root := filepath.Join("..", "..")
	var files []string
	for _, pattern := range []string{"*.go", "world/*.go", "protocol/*/*.go", "protocol/*/*/*.go", "internal/*/*.go", "play/*/*.go"} {
		list := must(filepath.Glob(filepath.Join(root, pattern)))
		files = append(files, list...)
	}
	looked := 0
	used := map[string]bool{}
	for _, file := range files {
		name, _ := filepath.Rel(root, file)
		name = filepath.ToSlash(name)
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		looked++
		text := must(os.ReadFile(file))
		set := token.NewFileSet()
		f := must(parser.ParseFile(set, file, text, 0))
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || isPackage(sel.X, "math") {
				return true
			}
			if arguments, ok := wallClock[sel.Sel.Name]; !ok || len(call.Args) != arguments {
				return true
			}
			if needsWall[name] != "" {
				used[name] = true
			} else if !isDuration(call) {
				t.Errorf("%s: %s makes a number of the wall clock, which may jump", set.Position(call.Pos()), sel.Sel.Name)
			}
			return true
		})
	}
	if looked < 100 {
		t.Errorf("only %d files were looked at", looked)
	}
	for name := range needsWall {
		if !used[name] {
			t.Errorf("%s has no use of the wall clock any more: take it from the list", name)
		}
	}
}

func isPackage(x ast.Expr, names ...string) bool {
	id, ok := x.(*ast.Ident)
	return ok && slices.Contains(names, id.Name)
}

// isDuration reports whether a call rounds a duration, to one that is named.
func isDuration(call *ast.CallExpr) bool {
	sel := call.Fun.(*ast.SelectorExpr)
	if (sel.Sel.Name != "Round" && sel.Sel.Name != "Truncate") || len(call.Args) != 1 {
		return false
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	return !ok || lit.Value != "0"
}
