package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A dialect shows its users this much at most. The codec and the core, for those who want them, are in its package core.
const (
	maxNames       = 30  // of the package
	maxInsideNames = 137 // with methods and fields
)

// TestDialectsShowASmallFace counts what a user of a dialect can see.
func TestDialectsShowASmallFace(t *testing.T) {
	api := loadAPI(t)
	for _, dialect := range []string{"replica", "stamp", "realm", "relay", "duplex"} {
		names := exportedNames(api["parley/protocol/"+dialect].Scope())
		all := slices.Clone(names)
		for _, name := range names {
			for _, m := range members(api["parley/protocol/"+dialect].Scope().Lookup(name)) {
				all = append(all, name+"."+m.Name())
			}
		}
		t.Logf("%s: %d names, %d with methods and fields", dialect, len(names), len(all))
		if len(names) > maxNames || len(all) > maxInsideNames {
			t.Errorf("%s shows %d names, and %d with methods and fields; at most %d and %d are allowed:\n%s",
				dialect, len(names), len(all), maxNames, maxInsideNames, strings.Join(all, " "))
		}
	}
}

// maxClientNames is how many names package client shows its users: those of the package, and the methods of its types.
const maxClientNames = 40

// TestTheClientShowsASmallFace counts what a user of package client can see.
func TestTheClientShowsASmallFace(t *testing.T) {
	scope := loadAPI(t)["parley/client"].Scope()
	var all []string
	for _, name := range exportedNames(scope) {
		all = append(all, name)
		for _, m := range members(scope.Lookup(name)) {
			if _, isMethod := m.(*types.Func); isMethod {
				all = append(all, name+"."+m.Name())
			}
		}
	}
	t.Logf("%d names", len(all))
	if len(all) > maxClientNames {
		t.Errorf("package client shows %d names, and at most %d are allowed:\n%s", len(all), maxClientNames, strings.Join(all, " "))
	}
}

// TestPublicFaceNamesNoInternalType finds exported functions, methods, fields and variables whose type a user cannot name.
func TestPublicFaceNamesNoInternalType(t *testing.T) {
	api := loadAPI(t)
	named := publicNames(api)
	for _, path := range slices.Sorted(maps.Keys(api)) {
		scope := api[path].Scope()
		for _, name := range exportedNames(scope) {
			o := scope.Lookup(name)
			for _, part := range append(members(o), o) {
				if hidden := internalType(part, named); hidden != "" {
					t.Errorf("%s.%s: %s mentions %s", path, name, part.Name(), hidden)
				}
			}
		}
	}
}

// publicNames are the internal types that have a name in a public package, too: an alias.
func publicNames(api map[string]*types.Package) map[string]bool {
	named := map[string]bool{}
	for _, p := range api {
		for _, name := range exportedNames(p.Scope()) {
			if o, ok := p.Scope().Lookup(name).(*types.TypeName); ok && o.IsAlias() {
				if n, ok := types.Unalias(o.Type()).(*types.Named); ok && n.Obj().Pkg() != nil {
					named[n.Obj().Pkg().Path()+"."+n.Obj().Name()] = true
				}
			}
		}
	}
	return named
}

// exportedNames returns the names that a package shows.
func exportedNames(s *types.Scope) []string {
	return slices.DeleteFunc(s.Names(), func(n string) bool { return !token.IsExported(n) })
}

// members returns the exported methods and fields of a type, promoted ones too.
func members(o types.Object) []types.Object {
	name, ok := o.(*types.TypeName)
	if !ok {
		return nil
	}
	var all []types.Object
	typ := types.Unalias(name.Type())
	if i, ok := typ.Underlying().(*types.Interface); ok {
		for m := range i.Methods() {
			all = append(all, m)
		}
	} else {
		for m := range types.NewMethodSet(types.NewPointer(typ)).Methods() {
			all = append(all, m.Obj())
		}
	}
	all = append(all, fields(typ)...)
	return slices.DeleteFunc(all, func(o types.Object) bool { return !o.Exported() })
}

// fields returns the fields of a struct and of the structs embedded in it.
func fields(typ types.Type) (all []types.Object) {
	if p, ok := types.Unalias(typ).(*types.Pointer); ok {
		typ = p.Elem()
	}
	s, ok := typ.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	for f := range s.Fields() {
		all = append(all, f)
		if f.Embedded() {
			all = append(all, fields(f.Type())...)
		}
	}
	return all
}

// internalType returns an internal type that an object's type mentions by name and that has no public name.
func internalType(o types.Object, public map[string]bool) string {
	seen := map[types.Type]bool{}
	var look func(t types.Type) string
	tuple := func(list *types.Tuple) string {
		for v := range list.Variables() {
			if h := look(v.Type()); h != "" {
				return h
			}
		}
		return ""
	}
	named := func(n *types.TypeName, args *types.TypeList) string {
		if n.Pkg() != nil && strings.Contains(n.Pkg().Path()+"/", "/internal/") && strings.HasPrefix(n.Pkg().Path(), modulePath+"/") &&
			!public[n.Pkg().Path()+"."+n.Name()] {
			return n.Pkg().Path() + "." + n.Name()
		}
		for a := range args.Types() {
			if h := look(a); h != "" {
				return h
			}
		}
		return ""
	}
	look = func(t types.Type) string {
		if t == nil || seen[t] {
			return ""
		}
		seen[t] = true
		switch t := t.(type) {
		case *types.Alias:
			return named(t.Obj(), t.TypeArgs())
		case *types.Named:
			return named(t.Obj(), t.TypeArgs())
		case *types.Signature:
			if h := tuple(t.Params()); h != "" {
				return h
			}
			return tuple(t.Results())
		case *types.Map:
			if h := look(t.Key()); h != "" {
				return h
			}
			return look(t.Elem())
		case interface{ Elem() types.Type }: // pointers, slices, arrays and channels
			return look(t.Elem())
		case *types.Struct:
			for f := range t.Fields() {
				if h := look(f.Type()); h != "" && f.Exported() {
					return h
				}
			}
		}
		return ""
	}
	if n, ok := o.(*types.TypeName); ok {
		if n.IsAlias() {
			return "" // the name itself is what makes the type one that users can name
		}
		if s, ok := n.Type().Underlying().(*types.Signature); ok {
			return look(s)
		}
		return "" // its parts are looked at one by one
	}
	return look(o.Type())
}

// loadAPI returns the packages that others may import, by path. They are read once for all tests.
func loadAPI(t *testing.T) map[string]*types.Package {
	t.Helper()
	api, err := readAPI()
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// readAPI has the go command say where the compiled packages are. It compiles them if need be.
var readAPI = sync.OnceValues(func() (map[string]*types.Package, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Name,Export,Standard", "./...")
	list.Dir = "../.."
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	files, ours := map[string]string{}, []string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Name, Export string
			Standard                 bool
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		files[p.ImportPath] = p.Export
		public := p.ImportPath == modulePath || strings.HasPrefix(p.ImportPath, modulePath+"/")
		if public && p.Name != "main" && !strings.Contains(p.ImportPath, "/internal/") {
			ours = append(ours, p.ImportPath)
		}
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(files[path])
	})
	api := map[string]*types.Package{}
	for _, path := range ours {
		p, err := from.Import(path)
		if err != nil {
			return nil, err
		}
		api[path] = p
	}
	return api, nil
})
