package layout

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// reckoners are files whose goroutines wait for nothing: they only reckon.
var reckoners = map[string]bool{"world/golden_test.go": true}

// No test waits without an end, which package patient gives. In a bubble of synctest a wait for nothing is a deadlock, and
// is reported as one; what an example does is for its readers.
func TestNoTestWaitsWithoutAnEnd(t *testing.T) {
	looked := 0
	for _, s := range goSources(readTree(t)) {
		helps := strings.HasSuffix(s.dir(), "/shelltest") || strings.HasSuffix(s.dir(), "/storetest")
		if s.isTest() && !reckoners[s.path] || helps {
			looked++
			for _, problem := range checkWaits(s) {
				t.Error(problem)
			}
		}
	}
	if looked < 300 {
		t.Errorf("only %d files were looked at", looked)
	}
}

// checkWaits finds receives that stand in no select, and calls of Wait.
func checkWaits(s source) (problems []string) {
	fset, f, err := s.parse(parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || strings.HasPrefix(fn.Name.Name, "Example") || hasEnd(fn.Body) {
			continue
		}
		chosen := map[ast.Node]bool{} // one case of several
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectStmt:
				for _, c := range n.Body.List {
					if comm := c.(*ast.CommClause).Comm; comm != nil && len(n.Body.List) > 1 {
						ast.Inspect(comm, func(n ast.Node) bool { chosen[n] = true; return true })
					}
				}
			case *ast.CallExpr:
				on, name := callOf(n)
				if on == "synctest" && name == "Test" {
					return false
				}
				if name == "Wait" && len(n.Args) == 0 && on != "synctest" {
					problems = append(problems, fmt.Sprintf("%v: a wait without an end: see package patient", fset.Position(n.Pos())))
				}
			case *ast.UnaryExpr:
				if n.Op == token.ARROW && !chosen[n] && !isClock(n.X) {
					problems = append(problems, fmt.Sprintf("%v: a receive without an end: see package patient", fset.Position(n.Pos())))
				}
			}
			return true
		})
	}
	return problems
}

// callOf returns the two names of a call on.name(), and one if what it is called on has none.
func callOf(call *ast.CallExpr) (on, name string) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if x, ok := f.X.(*ast.Ident); ok {
		on = x.Name
	}
	return on, f.Sel.Name
}

// hasEnd reports whether all of a function has one.
func hasEnd(body ast.Node) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			on, name := callOf(call)
			found = found || on == "patient" && (name == "Test" || name == "End")
		}
		return true
	})
	return found
}

// isClock tells the channels of tickers, and time.After: something comes there.
func isClock(c ast.Expr) bool {
	switch c := c.(type) {
	case *ast.SelectorExpr:
		return c.Sel.Name == "C"
	case *ast.CallExpr:
		on, name := callOf(c)
		return on == "time" && name == "After"
	}
	return false
}

func TestWaitsWithoutAnEndAreFound(t *testing.T) {
	for body, want := range map[string]int{
		"<-done":                              1,
		"x, y := <-a, <-b":                    2,
		"go func() { <-done }()":              1,
		"select { case <-done: }":             1,
		"wg.Wait(); s.cmd.Wait()":             2,
		"patient.Value(done)":                 0,
		"patient.Done(wg.Wait)":               0,
		"patient.Test(t); <-done":             0,
		"<-clock.C; <-time.After(1)":          0,
		"synctest.Wait()":                     0,
		"loop.Wait(ctx); done <- 1":           0,
		"select { case <-a: <-c\ncase <-b: }": 1,
		"synctest.Test(t, func(t *testing.T) { <-done })\n<-done": 1,
	} {
		text := "package x\nfunc f() {\n" + body + "\n}\n"
		if got := checkWaits(source{"x_test.go", text}); len(got) != want {
			t.Errorf("%s: %q, want %d", body, got, want)
		}
	}
}
