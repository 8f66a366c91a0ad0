// Command guide renders the documents that readers of an installation need into
// ingress/api/docs/guide: go generate ./lab/guide. The product serves the result at /docs/guide, so
// it needs no renderer of Markdown.
package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

//go:generate go run . ../../docs ../../ingress/api/docs/guide

// documents are the pages of the guide, in the order of its contents: files of docs/.
var documents = []string{
	"integrating.md", "relevance.md", "suitability.md", "concepts.md", "figures.md", "data.md", "operate/README.md",
	"operate/install.md", "operate/configure.md", "settings.md", "operate/links.md", "operate/scale.md",
	"operate/upgrade.md", "operate/monitor.md", "operate/alerts.md", "operate/verify.md", "operate/backup.md",
	"operate/money.md",
	"operate/accounts.md", "operate/abuse.md", "operate/suitability.md", "operate/learning.md", "operate/outages.md",
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: guide DOCS INTO")
		os.Exit(2)
	}
	if err := write(os.DirFS(os.Args[1]), os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "guide:", err)
		os.Exit(1)
	}
}

// write replaces the folder into with the rendered guide.
func write(docs fs.FS, into string) error {
	files, err := render(docs)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(into); err != nil {
		return err
	}
	for name, content := range files {
		file := filepath.Join(into, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// render returns the files of the guide by name: a body of HTML for each page, and pages.json, which
// lists them.
func render(docs fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	list := make([]page, 0, len(documents))
	for _, name := range documents {
		source, err := fs.ReadFile(docs, name)
		if err != nil {
			return nil, err
		}
		p, body, err := convert(name, source)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[p.Path+".html"] = body
		list = append(list, p)
	}
	index, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return nil, err
	}
	files["pages.json"] = append(index, '\n')
	return files, nil
}

// address returns the path of a document's page below /docs/guide/, empty if it has none.
func address(document string) string {
	for _, name := range documents {
		if name != document {
			continue
		}
		if path.Base(name) == "README.md" {
			return path.Dir(name)
		}
		return name[:len(name)-len(".md")]
	}
	return ""
}
