package cmd

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// advice is a command line that adnet, its tools or its documents tell people to run.
type advice struct{ where, line string }

// TestAdvisedCommandsParse passes every command line that our texts mention to the command-line
// parser: texts of the code (errors, logs, help, greetings) and code in the documents.
func TestAdvisedCommandsParse(t *testing.T) {
	var line commands
	parser, err := kong.New(&line, kong.Exit(func(int) {}))
	require.NoError(t, err)
	var names []string
	for _, command := range parser.Model.Children {
		names = append(names, command.Name)
	}
	// In texts of the code the program may be a %s: a path.
	named := regexp.MustCompile("(?:\\badnet|%s) ((?:" + strings.Join(names, "|") + ")\\b[^`;:,|#&<>\n]*)")
	all := append(advised(t, named), documented(t, named)...)
	require.Greater(t, len(all), 15, "is it read right?")
	for _, a := range all {
		args := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(a.line)) // optional arguments are included
		_, err := parser.Parse(args)
		if err != nil {
			t.Errorf("%s advises: adnet %s: %v", a.where, a.line, err)
		}
	}
}

// TestAdvisedSettingsExist checks that every flag and variable in a text of the product belongs to
// a command.
func TestAdvisedSettingsExist(t *testing.T) {
	known := map[string]bool{"--help": true}
	for _, setting := range settings(t) {
		known["--"+setting.Name] = true
		for _, variable := range setting.Envs {
			known[variable], known[variable+secretFile] = true, holdsSecret(setting)
		}
	}
	named := regexp.MustCompile(`(?:^|[ (])(--[a-z][a-z-]+)|\b(ADNET_[A-Z0-9_]+[A-Z0-9])(?:[^A-Z0-9_]|$)`)
	found := 0
	texts(t, []string{
		".", "operate", "load", "backends", "../consumers",
	}, func(where, text string) {
		for _, match := range named.FindAllStringSubmatch(text, -1) {
			found++
			if name := match[1] + match[2]; !known[name] {
				t.Errorf("%s names %s, which no command has", where, name)
			}
		}
	})
	require.Greater(t, found, 20)
}

// settings are the flags of all commands.
func settings(t *testing.T) (all []*kong.Flag) {
	t.Helper()
	parser, err := kong.New(new(commands))
	require.NoError(t, err)
	require.NoError(t, kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if flag, is := node.(*kong.Flag); is {
			all = append(all, flag)
		}
		return next(nil)
	}))
	return all
}

func advised(t *testing.T, named *regexp.Regexp) (all []advice) {
	texts(t, []string{".."}, func(where, text string) {
		for _, match := range named.FindAllStringSubmatch(text, -1) {
			all = append(all, advice{where, match[1]})
		}
	})
	return all
}

// documented finds commands in the code of documents: between backticks, and in indented lines. A
// command's name alone is a mention.
func documented(t *testing.T, named *regexp.Regexp) (all []advice) {
	t.Helper()
	files, err := filepath.Glob("../*.md")
	require.NoError(t, err)
	more, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	deeper, err := filepath.Glob("../docs/*/*.md")
	require.NoError(t, err)
	words := regexp.MustCompile(`"[^"\n]*"`)
	continued := regexp.MustCompile(`\\\n\s*`)
	code := regexp.MustCompile("`[^`\n]+`|(?m)^    .*$")
	for _, file := range slices.Concat(files, more, deeper) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, part := range code.FindAllString(continued.ReplaceAllString(string(text), " "), -1) {
			part = words.ReplaceAllString(part, "WORDS")
			if match := named.FindStringSubmatch(strings.TrimSpace(strings.Trim(part, "`"))); match != nil &&
				strings.Contains(match[1], " ") {
				all = append(all, advice{file, match[1]})
			}
		}
	}
	return all
}

// texts calls see with every string literal of the Go files in folders, except tests.
func texts(t *testing.T, folders []string, see func(where, text string)) {
	t.Helper()
	for _, folder := range folders {
		require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				literal, is := n.(*ast.BasicLit)
				if !is || literal.Kind != token.STRING {
					return true
				}
				if text, err := strconv.Unquote(literal.Value); err == nil {
					see(files.Position(literal.Pos()).String(), text)
				}
				return true
			})
			return nil
		}))
	}
}
