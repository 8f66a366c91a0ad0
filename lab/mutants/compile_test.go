package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listed is a package in the output of go list -json.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// A mutant that does not compile proves nothing, and `make mutants` would end there. The compiler's
// front end checks the package of each mutant against the compiled imports.
func TestEveryMutantCompiles(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	packages := compiled(t, root)
	folders := map[string]listed{}
	for _, p := range packages {
		folders[p.Dir] = p
	}
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(packages[path].Export)
	})
	for _, m := range mutants {
		if filepath.Ext(m.file) != ".go" {
			continue
		}
		source, err := m.source(root)
		require.NoError(t, err)
		p, found := folders[filepath.Join(root, filepath.Dir(m.file))]
		require.True(t, found, m.file)
		assert.NoError(t, check(files, imports, p, filepath.Join(root, m.file), source), m.name)
	}
}

// compiled returns the module's packages and all that they import, by import path.
func compiled(t *testing.T, root string) map[string]listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...")
	cmd.Dir = root
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	require.NoError(t, err, problems.String())
	packages := map[string]listed{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		require.NoError(t, err)
		packages[p.ImportPath] = p
	}
}

// check returns the errors of a package of which one file has another source.
func check(files *token.FileSet, imports types.Importer, p listed, file, source string) error {
	var syntax []*ast.File
	var problems error
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		var text any
		if path == file {
			text = source
		}
		parsed, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
		problems = errors.Join(problems, err)
		syntax = append(syntax, parsed)
	}
	if problems != nil {
		return problems
	}
	checker := types.Config{Importer: imports, Sizes: types.SizesFor("gc", "amd64")}
	checker.Error = func(err error) { problems = errors.Join(problems, err) }
	_, _ = checker.Check(p.ImportPath, files, syntax, nil)
	return problems
}
