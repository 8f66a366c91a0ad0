package main

import (
	"bytes"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// page is an entry of pages.json.
type page struct {
	Path        string    `json:"path"` // below /docs/guide/
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Sections    []section `json:"sections"`
}

// section is the text below a heading. Words are those that a search finds it by.
type section struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Words string `json:"words"`
}

// The documents name an installation by these addresses. The product replaces base by its own
// address, and root by the path of it.
var placed = strings.NewReplacer(
	"https://ads.example.com", base, "http://127.0.0.1:8080", base,
	"<pre>", `<pre tabindex="0">`, // for the keyboard, which scrolls it
	"<th></th>", "<td></td>", // a table without a name for its first column
	"<table>", `<div class="wide" tabindex="0"><table>`, "</table>", "</table></div>",
)

const (
	base = "ADNET.BASE"
	root = "ADNET.ROOT"
)

// markdown reads the documents as their hosts on the web do. Raw HTML stays, since they are ours.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe()),
)

// convert renders a document.
func convert(name string, source []byte) (p page, body []byte, err error) {
	context := parser.NewContext(parser.WithIDs(anchors{}))
	tree := markdown.Parser().Parse(text.NewReader(source), parser.WithContext(context))
	relink(name, tree)
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, source, tree); err != nil {
		return p, nil, err
	}
	p = page{Path: address(name), Sections: sections(tree, source)}
	if len(p.Sections) == 0 {
		return p, nil, errors.New("it has no heading")
	}
	p.Title, p.Description = p.Sections[0].Title, summary(tree, source)
	return p, []byte(placed.Replace(out.String())), nil
}

// anchors are the ids of headings, as TestDocumentsNameFilesThatExist expects them.
type anchors map[string]bool

func (a anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', r >= '0' && r <= '9', r >= 'a' && r <= 'z', r > 127:
			return r
		}
		return -1
	}, strings.ToLower(string(value)))
	for a[id] {
		id += "-"
	}
	a[id] = true
	return []byte(id)
}

func (a anchors) Put(value []byte) { a[string(value)] = true }

// relink makes links between documents links between pages, takes the other links to files of the
// repository away, and the pictures too.
func relink(name string, tree ast.Node) {
	var found []ast.Node
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if kind := n.Kind(); entering && (kind == ast.KindLink || kind == ast.KindImage) {
			found = append(found, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range found {
		if n.Kind() == ast.KindImage {
			n.Parent().RemoveChild(n.Parent(), n)
			continue
		}
		link := n.(*ast.Link)
		target, anchor, _ := strings.Cut(string(link.Destination), "#")
		switch own := address(path.Join(path.Dir(name), target)); {
		case target == "", strings.Contains(target, ":"):
		case own != "":
			link.Destination = []byte(root + "/docs/guide/" + own)
			if anchor != "" {
				link.Destination = append(link.Destination, "#"+anchor...)
			}
		default:
			unwrap(link)
		}
	}
}

// unwrap replaces a node by its children.
func unwrap(n ast.Node) {
	parent := n.Parent()
	for child := n.FirstChild(); child != nil; child = n.FirstChild() {
		parent.InsertBefore(parent, n, child)
	}
	parent.RemoveChild(parent, n)
}

// sections returns the parts of a document, the first of which has its title.
func sections(tree ast.Node, source []byte) (list []section) {
	var words []string
	finish := func() {
		if len(list) > 0 {
			slices.Sort(words)
			list[len(list)-1].Words = strings.Join(slices.Compact(words), " ")
		}
		words = nil
	}
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		if heading, is := n.(*ast.Heading); is {
			finish()
			id, _ := heading.AttributeString("id")
			anchor, _ := id.([]byte)
			list = append(list, section{ID: string(anchor), Title: plain(n, source)})
			continue
		}
		words = append(words, wordsOf(plain(n, source))...)
	}
	finish()
	return list
}

// plain returns the text of a node without its marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
				if n.SoftLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		default:
			if n.Type() == ast.TypeBlock && !entering {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// wordsOf returns the words that a reader may search for: those of four letters or more.
func wordsOf(s string) (words []string) {
	for _, word := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	}) {
		if len(word) >= 4 && len(word) <= 40 {
			words = append(words, word)
		}
	}
	return words
}

var sentence = regexp.MustCompile(`^.{40,155}?[.:](?: |$)`)

// summary returns the first sentences of a document, for search engines.
func summary(tree ast.Node, source []byte) string {
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() != ast.KindParagraph && n.Kind() != ast.KindList {
			continue
		}
		said := strings.Join(strings.Fields(plain(n, source)), " ")
		if found := sentence.FindString(said); found != "" {
			return strings.TrimRight(found, " :.") + "."
		}
		if letters := []rune(said); len(letters) > 150 {
			return string(letters[:150]) + " …"
		}
		if said != "" {
			return said
		}
	}
	return ""
}
