// Command build bundles the browser code of adnet for the server to embed: the script of
// publishers' pages from web/sdk into ingress/web/snippet/dist, the card of MCP Apps from web/mcp into
// ingress/mcp, the ad previews from web/preview into ingress/api/preview/dist, and the console from
// web/console into ingress/web/console/dist. The console consists of modules and a style sheet with
// hashes in their names, and a page that loads them. The command needs web/node_modules (npm ci in
// web). deploy/web.sh installs them, generates the client's types and runs the command. With
// --sizes it builds nothing and only checks the committed files and the imports of the npm package
// against their size limits, without Node.
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Size limits of the built files, in bytes of gzip.
const (
	maxSnippet = 5000     // the script on publishers' pages
	maxInitial = 60 << 10 // JavaScript before the first screen
	maxScript  = 180_000  // all JavaScript
	maxStyle   = 15 << 10
)

const (
	source = "web/console"
	dist   = "ingress/web/console/dist"

	snippet = "ingress/web/snippet/dist/adnet.js"
	manual  = "docs/integrating.md" // contains the script's integrity in a line to copy
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "web/build:", err)
		os.Exit(1)
	}
}

func run() error {
	if slices.Contains(os.Args[1:], "--sizes") {
		return checkSizes()
	}
	if err := buildSnippet(); err != nil {
		return err
	}
	if err := buildCard(); err != nil {
		return err
	}
	if err := buildPreview(); err != nil {
		return err
	}
	return buildConsole()
}

// buildSnippet builds the script that publishers put into their pages: one file that imports
// nothing.
func buildSnippet() error {
	engines, err := oldest()
	if err != nil {
		return err
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{"web/sdk/adnet.ts"}, Bundle: true, Format: api.FormatIIFE, Outfile: snippet,
		MinifyIdentifiers: true, MinifySyntax: true, MinifyWhitespace: true, LegalComments: api.LegalCommentsNone,
		Engines: engines, TsconfigRaw: "{}", LogLevel: api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return fmt.Errorf("%d errors", len(result.Errors))
	}
	script := result.OutputFiles[0].Contents
	zipped, err := measured(snippet, script)
	if err != nil {
		return err
	}
	fmt.Printf("adnet.js: %d bytes as gzip (at most %d)\n", zipped, maxSnippet)
	if zipped > maxSnippet {
		return errors.New("adnet.js exceeds its size limit")
	}
	return state(script)
}

// stated matches the script's name and integrity in a document.
var stated = regexp.MustCompile(`/sdk/adnet\.[0-9a-f]{16}\.js"(\s+)integrity="[^"]*"`)

// state writes the name and integrity of the script into the manual. Package ingress/web/snippet
// computes the same values.
func state(script []byte) error {
	page, err := os.ReadFile(manual)
	if err != nil {
		return err
	}
	hash, integrity := sha256.Sum256(script), sha512.Sum384(script)
	line := fmt.Sprintf(
		`/sdk/adnet.%x.js"${1}integrity="sha384-%s"`, hash[:8], base64.StdEncoding.EncodeToString(integrity[:]),
	)
	if !stated.Match(page) {
		return fmt.Errorf("%s contains no line with the integrity of adnet.js", manual)
	}
	return os.WriteFile(manual, stated.ReplaceAll(page, []byte(line)), 0o644)
}

func buildConsole() error {
	if _, err := os.Stat("web/node_modules/preact"); err != nil {
		return errors.New("web/node_modules is missing: run deploy/web.sh")
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{source + "/main.tsx"}, Bundle: true, Splitting: true, Format: api.FormatESModule,
		Outdir: dist + "/assets", EntryNames: "[name]-[hash]", ChunkNames: "[name]-[hash]", AssetNames: "[name]-[hash]",
		MinifyIdentifiers: true, MinifySyntax: true, MinifyWhitespace: true, LegalComments: api.LegalCommentsNone,
		Target: api.ES2022, JSX: api.JSXAutomatic, JSXImportSource: "preact", Metafile: true,
		Define:   map[string]string{"process.env.NODE_ENV": `"production"`},
		LogLevel: api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return fmt.Errorf("%d errors", len(result.Errors))
	}
	var meta metafile
	if err := json.Unmarshal([]byte(result.Metafile), &meta); err != nil {
		return err
	}
	return write(result.OutputFiles, &meta)
}

// located matches a line of app.tsx with the path of a screen and its module.
var located = regexp.MustCompile(`\['([^']+)', lazy\(\(\) => import\('\./(screens/\w+)'\)\)\],`)

// screen holds the path of a screen below /console/ and its modules beyond the initial ones.
type screen struct {
	Path    string   `json:"path"` // a segment that begins with a colon is a parameter
	Modules []string `json:"modules"`
}

// screens returns the screens of app.tsx with their modules.
func (m *metafile) screens() (list []screen, err error) {
	app, err := os.ReadFile(source + "/app.tsx")
	if err != nil {
		return nil, err
	}
	initial, found := m.loaded(source+"/main.tsx"), located.FindAllSubmatch(app, -1)
	if len(found) != bytes.Count(app, []byte("import('./screens/")) {
		return nil, errors.New("app.tsx has a screen without a path on its line")
	}
	for _, at := range found {
		s := screen{Path: string(at[1])}
		for _, name := range m.loaded(source + "/" + string(at[2]) + ".tsx") {
			if !slices.Contains(initial, name) {
				s.Modules = append(s.Modules, filepath.Base(name))
			}
		}
		if len(s.Modules) == 0 {
			return nil, fmt.Errorf("the screen of %s has no separate module", s.Path)
		}
		list = append(list, s)
	}
	return list, nil
}

// metafile is esbuild's description of its outputs.
type metafile struct {
	Outputs map[string]struct {
		Entry   string `json:"entryPoint"`
		Imports []struct{ Path, Kind string }
	} `json:"outputs"`
}

// loaded returns the modules loaded with an entry: the entry and its static imports, without
// dynamic imports.
func (m *metafile) loaded(entry string) (names []string) {
	var follow func(name string)
	follow = func(name string) {
		if slices.Contains(names, name) {
			return
		}
		names = append(names, name)
		for _, i := range m.Outputs[name].Imports {
			if i.Kind == "import-statement" {
				follow(i.Path)
			}
		}
	}
	for name, output := range m.Outputs {
		if output.Entry == entry && strings.HasSuffix(name, ".js") {
			follow(name)
		}
	}
	return names
}

// write replaces the built files if they are within their limits.
func write(files []api.OutputFile, meta *metafile) error {
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	if err := os.MkdirAll(dist+"/assets", 0o755); err != nil {
		return err
	}
	icon, err := os.ReadFile(source + "/icon.svg")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(icon)
	iconName := "icon-" + strings.ToUpper(hex.EncodeToString(sum[:4])) + ".svg"
	initial, sizes, style := meta.loaded(source+"/main.tsx"), size{}, ""
	all := append(files, api.OutputFile{Path: dist + "/assets/" + iconName, Contents: icon})
	for _, file := range all {
		name := filepath.Base(file.Path)
		zipped, err := measured(dist+"/assets/"+name, file.Contents)
		if err != nil {
			return err
		}
		switch filepath.Ext(name) {
		case ".js":
			sizes.script += zipped
			if slices.Contains(initial, dist+"/assets/"+name) {
				sizes.initial += zipped
			}
		case ".css":
			sizes.style += zipped
			style = name
		}
	}
	page, err := os.ReadFile(source + "/index.html")
	if err != nil {
		return err
	}
	if err := os.WriteFile(dist+"/index.html", linked(page, initial, style, iconName), 0o644); err != nil {
		return err
	}
	if err := writeScreens(meta); err != nil {
		return err
	}
	return sizes.check()
}

// writeScreens writes the modules of each screen for the server.
func writeScreens(meta *metafile) error {
	list, err := meta.screens()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(dist+"/screens.json", append(text, '\n'), 0o644)
}

// linked puts the names of the built files into the page.
func linked(page []byte, initial []string, style, icon string) []byte {
	const assets = "%BASE%/console/assets/"
	var modules strings.Builder
	for _, name := range initial[1:] {
		fmt.Fprintf(&modules, "<link rel=\"modulepreload\" href=\"%s%s\">\n", assets, filepath.Base(name))
	}
	fmt.Fprintf(&modules, "<script type=\"module\" src=\"%s%s\"></script>", assets, filepath.Base(initial[0]))
	return []byte(
		strings.NewReplacer(
			"%STYLE%", assets+style, "%ICON%", assets+icon, "%SCRIPTS%", modules.String(),
		).Replace(string(page)),
	)
}

// measured writes a file and returns its length as gzip.
func measured(path string, content []byte) (int, error) {
	zipped, err := weight(content)
	return zipped, cmp.Or(err, os.WriteFile(path, content, 0o644))
}

// weight returns the length of a text as gzip. The server compresses it in the same way.
func weight(content []byte) (int, error) {
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		return 0, err
	}
	_, err = w.Write(content)
	err = cmp.Or(err, w.Close())
	return zipped.Len(), err
}

// size holds the sizes of a build in bytes of gzip.
type size struct{ initial, script, style int }

func (s size) check() error {
	fmt.Printf("console: %d bytes of JavaScript at first (at most %d), %d in all (%d), %d of CSS (%d), as gzip\n",
		s.initial, maxInitial, s.script, maxScript, s.style, maxStyle)
	if s.initial == 0 || s.style == 0 || s.initial > maxInitial || s.script > maxScript || s.style > maxStyle {
		return errors.New("the console exceeds its size limits or is incomplete")
	}
	return nil
}
