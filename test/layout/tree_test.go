package layout

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// A source is one file of the tree: its path from the module's root, with
// slashes, and its text.
type source struct {
	path, text string
}

func (s source) dir() string  { return path.Dir(s.path) }
func (s source) isGo() bool   { return strings.HasSuffix(s.path, ".go") }
func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// parse returns the syntax tree, or the problem that there is none.
func (s source) parse(mode parser.Mode) (*token.FileSet, *ast.File, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, s.path, s.text, mode|parser.SkipObjectResolution)
	return fset, f, err
}

// maxTextBytes is the size from which a file is taken for data.
const maxTextBytes = 1 << 20

// readTree reads every text file of the module that belongs to the project:
// no hidden directories but .ci and .github, no fuzz corpora, no built programs.
func readTree(t *testing.T) []source {
	t.Helper()
	root := moduleRoot(t)
	var sources []source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name != root { // as in readText
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if isForeignDir(rel) {
				return fs.SkipDir
			}
			return nil
		}
		if rel == ".git" { // of a second worktree
			return nil
		}
		text, err := readText(name, d)
		if text != "" {
			sources = append(sources, source{rel, text})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// readText returns a file's text, or nothing if it is not text. A file that
// has just gone is none: tests of other packages may run beside this one.
func readText(name string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxTextBytes) {
		return "", nil
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) || bytes.ContainsRune(text, 0) {
		return "", nil
	}
	return string(text), err
}

func isForeignDir(rel string) bool {
	hidden := strings.HasPrefix(path.Base(rel), ".") && rel != "." && rel != ".ci" && rel != ".github"
	return hidden || rel == "bin" || path.Base(rel) == "dist" || path.Base(rel) == "node_modules" || strings.HasSuffix(rel, "testdata/fuzz")
}

// moduleRoot is the directory of go.mod, at or above the test's own.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = parent
	}
}

// goSources are the Go files of this module: those of modules inside it (the
// benchmarks against others, say) have rules of their own.
func goSources(tree []source) []source {
	var modules []string
	for _, s := range tree {
		if path.Base(s.path) == "go.mod" && s.path != "go.mod" {
			modules = append(modules, s.dir()+"/")
		}
	}
	var out []source
next:
	for _, s := range tree {
		if !s.isGo() || strings.Contains("/"+s.path, "/testdata/") {
			continue
		}
		for _, m := range modules {
			if strings.HasPrefix(s.path, m) {
				continue next
			}
		}
		out = append(out, s)
	}
	return out
}
