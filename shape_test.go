package main

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// field is one field of a component's dependencies.
type field struct{ at, name, kind string }

// component describes the shape of the components of a package.
type component struct {
	fields []field  // of its Deps
	clocks bool     // it calls schedule.Clock
	panics []string // where it calls MustRegister
}

// shapes reads the components of the product, without tests and the laboratory.
func shapes(t *testing.T) map[string]*component {
	t.Helper()
	found := map[string]*component{}
	set := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (path == "lab" || strings.HasPrefix(entry.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if found[dir] == nil {
			found[dir] = &component{}
		}
		found[dir].read(set, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (c *component) read(set *token.FileSet, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if s, is := n.Type.(*ast.StructType); is && strings.HasSuffix(n.Name.Name, "Deps") {
				c.add(set, s)
			}
		case *ast.SelectorExpr:
			switch {
			case n.Sel.Name == "MustRegister":
				c.panics = append(c.panics, set.Position(n.Pos()).String())
			case n.Sel.Name == "Clock" && text(set, n.X) == "schedule":
				c.clocks = true
			}
		}
		return true
	})
}

func (c *component) add(set *token.FileSet, s *ast.StructType) {
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			c.fields = append(
				c.fields, field{at: set.Position(name.Pos()).String(), name: name.Name, kind: text(set, f.Type)},
			)
		}
	}
}

func text(set *token.FileSet, n ast.Node) string {
	var b strings.Builder
	_ = printer.Fprint(&b, set, n)
	return b.String()
}

// TestComponentsHaveOneShape holds the names of what every component needs: Log is a logger,
// Metrics the registry, Now the time, and Records a topic's reader. A nil Now is the clock, and
// registering a metric never panics.
func TestComponentsHaveOneShape(t *testing.T) {
	called := map[string]string{"*slog.Logger": "Log", "prometheus.Registerer": "Metrics", "func() time.Time": "Now"}
	kinds := map[string]string{}
	for kind, name := range called {
		kinds[name] = kind
	}
	components := 0
	for dir, c := range shapes(t) {
		for _, at := range c.panics {
			if dir != "internal/process/obs" { // the registry's own collectors, once per process
				t.Errorf("%s: use obs.Register: a metric must not end the process", at)
			}
		}
		for _, f := range c.fields {
			components++
			if name := called[f.kind]; name != "" && name != f.name {
				t.Errorf("%s: a %s is called %s here, not %s", f.at, f.kind, name, f.name)
			}
			if kind := kinds[f.name]; kind != "" && kind != f.kind {
				t.Errorf("%s: %s is a %s everywhere else, not a %s", f.at, f.name, kind, f.kind)
			}
			if f.name == "Now" && !c.clocks {
				t.Errorf("%s: a nil Now is the clock: set it by schedule.Clock", f.at)
			}
		}
	}
	if components < 80 {
		t.Fatalf("only %d dependencies found: are they read?", components)
	}
}
