package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	englishErrors = "web/console/i18n/errors.ts"
	germanErrors  = "web/console/i18n/errors.de.ts"
)

// parsed returns the syntax of the Go files below a folder, without tests.
func parsed(t *testing.T, folder string) (files []*ast.File) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, 0)
		files = append(files, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// constant returns the text of a string literal, or of a sum of them.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == gotoken.STRING
	case *ast.BinaryExpr:
		left, l := constant(e.X)
		right, r := constant(e.Y)
		return left + right, l && r
	}
	return "", false
}

// errorCodes returns the codes of internal/errs.
func errorCodes(t *testing.T) (codes []string) {
	t.Helper()
	for _, file := range parsed(t, "internal/errs") {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, is := n.(*ast.ValueSpec); is {
				if kind, is := spec.Type.(*ast.Ident); is && kind.Name == "Code" {
					code, _ := constant(spec.Values[0])
					codes = append(codes, code)
				}
			}
			return true
		})
	}
	return codes
}

// policyRules returns the rules of findings: constants named rule… or Rule…, and names of policyRule.
func policyRules(t *testing.T) []string {
	t.Helper()
	rules := map[string]bool{}
	for _, file := range parsed(t, "internal/campaign") {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if strings.HasPrefix(strings.ToLower(name.Name), "rule") && i < len(n.Values) {
						if rule, is := constant(n.Values[i]); is {
							rules[rule] = true
						}
					}
				}
			case *ast.KeyValueExpr:
				if key, is := n.Key.(*ast.Ident); is && key.Name == "name" {
					if rule, is := constant(n.Value); is {
						rules[rule] = true
					}
				}
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(rules))
}

// section returns the part of a catalogue between a line and the next one that ends its object.
func section(t *testing.T, file, begin string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), begin)
	part, _, ended := strings.Cut(after, "\n"+strings.Repeat(" ", len(begin)-len(strings.TrimLeft(begin, " ")))+"}")
	if !found || !ended {
		t.Fatalf("%s has no %q", file, begin)
	}
	return part
}

var (
	plainKey  = regexp.MustCompile(`(?m)^ +(\w+):`)
	quotedKey = regexp.MustCompile(`(?m)^    (?:'((?:[^'\\]|\\.)*)'|"([^"]*)"):`)
)

func keysOf(part string) (keys []string) {
	for _, m := range plainKey.FindAllStringSubmatch(part, -1) {
		keys = append(keys, m[1])
	}
	for _, m := range quotedKey.FindAllStringSubmatch(part, -1) {
		keys = append(keys, strings.ReplaceAll(m[1]+m[2], `\'`, `'`))
	}
	slices.Sort(keys)
	return keys
}

func sameNames(t *testing.T, what string, want, got []string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(want, got) {
		t.Errorf("%s: in Go %q, in the catalogue %q", what, want, got)
	}
}

// The German console has words for every error code and every rule of the policy.
func TestEveryCodeAndRuleHasGermanWords(t *testing.T) {
	codes, rules := errorCodes(t), policyRules(t)
	if len(codes) < 20 || len(rules) < 20 {
		t.Fatalf("%d codes, %d rules", len(codes), len(rules))
	}
	sameNames(t, "codes", codes, keysOf(section(t, germanErrors, "  codes: {")))
	sameNames(t, "rules", rules, keysOf(section(t, germanErrors, "  rules: {")))
	var document struct {
		Components struct {
			Schemas struct {
				Violation struct {
					Properties struct{ Rule struct{ Enum []string } }
				}
			}
		}
	}
	text, err := os.ReadFile("schemas/openapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if err = json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	documented := document.Components.Schemas.Violation.Properties.Rule.Enum
	slices.Sort(documented)
	sameNames(t, "rules of openapi.json", rules, documented)
}

// Every translated message exists in Go, and every message about a field of a campaign is translated.
func TestMessagesAreTranslatedByTheirFormat(t *testing.T) {
	literals, required := map[string]bool{}, map[string]bool{}
	for _, file := range append(parsed(t, "internal"), parsed(t, "ingress")...) {
		ast.Inspect(file, func(n ast.Node) bool {
			if e, is := n.(ast.Expr); is {
				if text, is := constant(e); is {
					literals[text] = true
				}
			}
			return true
		})
	}
	formatAt := map[string]int{"invalid": 1, "invalidItem": 2}
	for _, file := range parsed(t, "internal/campaign") {
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			if name, is := call.Fun.(*ast.Ident); is && formatAt[name.Name] > 0 {
				if format, is := constant(call.Args[formatAt[name.Name]]); is {
					required[format] = true
				}
			}
			return true
		})
	}
	if len(required) < 20 {
		t.Fatalf("%d messages about fields of campaigns", len(required))
	}
	translated := keysOf(section(t, germanErrors, "  forms: {"))
	for _, format := range translated {
		if !literals[format] {
			t.Errorf("%s translates a message that Go does not have: %q", germanErrors, format)
		}
	}
	for format := range required {
		if !slices.Contains(translated, format) {
			t.Errorf("%s lacks %q", germanErrors, format)
		}
	}
}

// Fields have labels in both languages.
func TestFieldNamesAreTranslated(t *testing.T) {
	sameNames(
		t, "labels of fields", keysOf(section(t, englishErrors, "export const fieldNames = {")),
		keysOf(section(t, germanErrors, "export const fieldNames: Record<string, string> = {")),
	)
}

// secondWords are German words for which the pages use the first one.
var secondWords = []struct{ use, not string }{
	{"Impression", `(?i)einblendung`},
	{"Conversion", `(?i)konversion|\babschl(uss|üss)`},
	{"Prognose", `(?i)vorhersag`},
	{"Zielgruppe", `(?i)publikum`},
	{"Netzwerk", `(?i)\b(werbe)?netz(e|en|es|s)?\b`},
	{"Protokoll", `Änderungslog|Audit-?[Ll]og`},
	{"Publisher", `(?i)herausgeber|verlag`},
	{"Werbetreibende", `(?i)\binserent|werbekunde`},
}

// German has one word for one thing, in the console and on the receipt.
func TestOneGermanWordForOneThing(t *testing.T) {
	files, err := filepath.Glob("web/console/i18n/*.ts")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "ingress/track/receipt_text.go") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			for _, word := range secondWords {
				if found := regexp.MustCompile(word.not).FindString(line); found != "" {
					t.Errorf("%s:%d: write %s, not %s", file, n+1, word.use, found)
				}
			}
		}
	}
}
