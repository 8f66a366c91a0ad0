package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

const (
	card = "ingress/mcp/card.html"

	npm      = "web/sdk"           // the package @adnet/sdk
	npmSizes = npm + "/sizes.json" // size limit of each of its imports, in bytes of gzip
)

// checkSizes checks the committed build files, and each import of the npm package, against their
// size limits. It needs neither Node nor npm packages. make check runs it.
func checkSizes() error {
	zipped, err := weigh(snippet)
	if err == nil && zipped > maxSnippet {
		err = errors.New("adnet.js exceeds its size limit")
	}
	fmt.Printf("adnet.js %d of %d, ", zipped, maxSnippet)
	return cmp.Or(err, consoleSizes(), npmImports())
}

// consoleSizes checks the committed console. Its page names the initial modules.
func consoleSizes() error {
	page, err := os.ReadFile(dist + "/index.html")
	if err != nil {
		return err
	}
	names, err := filepath.Glob(dist + "/assets/*.[jc]s*")
	if err != nil {
		return err
	}
	var s size
	for _, name := range names {
		zipped, err := weigh(name)
		if err != nil {
			return err
		}
		switch first := bytes.Contains(page, []byte("/"+filepath.Base(name)+`"`)); {
		case filepath.Ext(name) == ".css":
			s.style += zipped
		case first:
			s.initial += zipped
			fallthrough
		default:
			s.script += zipped
		}
	}
	return s.check()
}

// weigh returns the size of a built file as gzip.
func weigh(path string) (int, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return weight(content)
}

// npmImports measures each import of the npm package with its dependencies except React.
func npmImports() error {
	text, err := os.ReadFile(npmSizes)
	if err != nil {
		return err
	}
	var limits map[string]int
	if err := json.Unmarshal(text, &limits); err != nil {
		return fmt.Errorf("%s: %w", npmSizes, err)
	}
	var large []string
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		limit := limits[name]
		entry := npm + "/src/" + cmp.Or(strings.TrimPrefix(name, "./"), "index") + ".ts"
		switch name {
		case ".":
			entry = npm + "/src/index.ts"
		case "./react":
			entry += "x"
		case "./element":
			entry = npm + "/adnet.ts"
		}
		weight, err := bundled(entry)
		if err != nil {
			return fmt.Errorf("%s of the npm package: %w", name, err)
		}
		fmt.Printf("%s %d of %d, ", name, weight, limit)
		if weight > limit {
			large = append(large, fmt.Sprintf("%s of the npm package has %d bytes, at most %d", name, weight, limit))
		}
	}
	fmt.Println("bytes as gzip")
	if len(large) > 0 {
		return errors.New(strings.Join(large, "; "))
	}
	return nil
}

// generated provides the modules of the npm package that its build generates from other files of
// the repository.
var generated = api.Plugin{Name: "generated", Setup: func(b api.PluginBuild) {
	b.OnResolve(api.OnResolveOptions{
		Filter: `/(card|viewable)\.gen\.js$`,
	}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		return api.OnResolveResult{Path: a.Path, Namespace: "generated"}, nil
	})
	b.OnLoad(api.OnLoadOptions{Filter: "card", Namespace: "generated"}, func(api.OnLoadArgs) (api.OnLoadResult, error) {
		page, err := os.ReadFile(card)
		if err != nil {
			return api.OnLoadResult{}, err
		}
		quoted, err := json.Marshal(string(page))
		text := "export const card = " + string(quoted)
		return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, err
	})
	b.OnLoad(api.OnLoadOptions{Filter: "viewable", Namespace: "generated"}, func(api.OnLoadArgs) (api.OnLoadResult, error) {
		page, err := os.ReadFile("web/shared/viewable.ts")
		text := string(page)
		return api.OnLoadResult{Contents: &text, Loader: api.LoaderTS}, err
	})
}}

// bundled returns the gzip size of a module with all its imports.
func bundled(entry string) (int, error) {
	engines, err := oldest()
	if err != nil {
		return 0, err
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{entry}, Bundle: true, Format: api.FormatESModule, Engines: engines,
		JSX:               api.JSXAutomatic,
		MinifyIdentifiers: true, MinifySyntax: true, MinifyWhitespace: true, TsconfigRaw: "{}",
		External: []string{"react", "react/jsx-runtime"}, Plugins: []api.Plugin{generated}, LogLevel: api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return 0, fmt.Errorf("%d errors", len(result.Errors))
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(result.OutputFiles[0].Contents); err != nil {
		return 0, err
	}
	err = w.Close()
	return zipped.Len(), err
}
