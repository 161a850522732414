package layout

import (
	"go/ast"
	"go/parser"
	"strings"
	"testing"

	"parley/internal/promise"
)

// readers are the packages that read what strangers send.
var readers = []string{"internal/wire", "internal/reliable", "internal/stream", "internal/datagram", "internal/udp", "protocol/"}

// T37: nothing that reads a stranger's bytes calls itself, so that no depth of nesting can use up the stack. Lists in
// lists are read by loops, of as many levels as the layout has.
func TestReadersDoNotRecurse(t *testing.T) {
	looked := 0
	for _, s := range readTree(t) {
		if s.isTest() || !strings.HasSuffix(s.path, ".go") || !isReader(s.dir()) {
			continue
		}
		files, f, err := s.parse(parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				looked++
				if at := ownCall(fn); at != nil {
					t.Errorf("%v: %s calls itself", files.Position(at.Pos()), fn.Name.Name)
				}
			}
		}
	}
	promise.Keeps(t, "T37", "functions of readers", looked)
	if looked < 500 {
		t.Errorf("only %d functions were looked at", looked)
	}
}

func isReader(dir string) bool {
	for _, r := range readers {
		if dir == r || strings.HasSuffix(r, "/") && strings.HasPrefix(dir, r) {
			return true
		}
	}
	return false
}

// ownCall returns a call of a function by itself: by its name, or of a method by its receiver's.
func ownCall(fn *ast.FuncDecl) (found ast.Node) {
	receiver := ""
	if fn.Recv != nil && len(fn.Recv.List[0].Names) > 0 {
		receiver = fn.Recv.List[0].Names[0].Name
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			if fn.Recv == nil && f.Name == fn.Name.Name {
				found = call
			}
		case *ast.SelectorExpr:
			if x, ok := f.X.(*ast.Ident); ok && receiver != "" && x.Name == receiver && f.Sel.Name == fn.Name.Name {
				found = call
			}
		}
		return true
	})
	return found
}

func TestOwnCallsAreFound(t *testing.T) {
	for text, want := range map[string]bool{
		"func f(n int) { f(n - 1) }":         true,
		"func (r *R) f() { r.f() }":          true,
		"func (r *R) f() { r.b.f() }":        false,
		"func (r *R) f() { f() }":            false,
		"func f() { g(); func() { h() }() }": false,
	} {
		_, f, err := source{"x.go", "package x\n" + text}.parse(parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := ownCall(f.Decls[0].(*ast.FuncDecl)) != nil; got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
