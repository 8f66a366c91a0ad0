// Package recipes follows the recipes of docs/development.md in a copy of the tree.
package recipes

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// change adds a text to a file, in front of a text that the file has. An empty before makes the
// file.
type change struct {
	step                int // of the recipe, from 1; 0 stands for the text above all recipes
	file, before, added string
}

// TestRecipes follows three recipes in one copy, so that the packages are built once: a text of the
// creative, an event type, and an endpoint with data of a store.
//
// The text of a recipe is what it follows: each step without an "If" has a change or a command, each
// changed file is named by its step, the commands that the steps name are run, and the recipe states
// the most files that it may change, which a constant here repeats. Generated files do not count,
// documents (CHANGELOG.md) and tests do.
func TestRecipes(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds most packages")
	}
	tree := t.TempDir()
	texts := map[string]string{}
	copyTree(t, "../..", tree, texts)
	manual, err := os.ReadFile("../../docs/development.md")
	require.NoError(t, err)
	for _, r := range []struct {
		title   string
		most    int
		changes []change
	}{
		{"Add a campaign field", 10, fieldChanges},
		{"Add an event type", 9, eventChanges(t, texts["schemas/clickhouse/0001_baseline.sql"])},
		{"Add an endpoint", 7, endpointChanges},
	} {
		steps := recipe(t, string(manual), r.title)
		require.Contains(t, strings.Join(strings.Fields(section(t, string(manual), r.title)), " "),
			fmt.Sprintf("at most %d files", r.most), r.title)
		follow(t, tree, steps, r.changes)
		changed := changedFiles(t, tree, texts)
		t.Log(r.title, len(changed), changed)
		require.LessOrEqual(t, len(changed), r.most, "%s: %s", r.title, changed)
	}
	requireBuilt(t, tree)
}

// section returns the text below a heading of the manual.
func section(t *testing.T, manual, title string) string {
	t.Helper()
	_, rest, found := strings.Cut(manual, "# "+title+"\n")
	require.True(t, found, "the manual has no section %q", title)
	text, _, _ := strings.Cut(rest, "\n#")
	return text
}

var (
	stepStart = regexp.MustCompile(`(?m)^\d+\. `)
	migration = "(#add-a-migration)" // a step that links to it names what it names
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	command   = regexp.MustCompile("`(go generate [^`]+)`")
)

// recipe returns the steps of a recipe, in front of them the text above all recipes.
func recipe(t *testing.T, manual, title string) []string {
	t.Helper()
	steps := stepStart.Split(section(t, manual, title), -1)
	steps[0] = section(t, manual, "Recipes")
	for i, step := range steps {
		if step = strings.Join(strings.Fields(step), " "); strings.Contains(step, migration) {
			step += section(t, manual, "Add a migration")
		}
		steps[i] = step
	}
	return steps
}

// follow makes the changes and runs the commands of a recipe.
func follow(t *testing.T, tree string, steps []string, changes []change) {
	t.Helper()
	done := make([]bool, len(steps))
	for _, c := range changes {
		require.True(t, names(steps[c.step], c.file), "step %d does not name %s: %s", c.step, c.file, steps[c.step])
		done[c.step] = true
		c.apply(t, tree)
	}
	for i, step := range steps {
		if command.MatchString(step) && (done[i] || !strings.HasPrefix(step, "If ")) {
			done[i] = true
			run(t, tree, strings.Fields(command.FindStringSubmatch(step)[1])...)
		}
		require.True(t, done[i] || i == 0 || strings.HasPrefix(step, "If "), "step %d is not followed: %s", i, step)
	}
}

// names reports whether a step names a file, its folder, or a document beside the manual.
func names(step, file string) bool {
	dir := path.Dir(file)
	for _, name := range []string{file, "`" + dir + "`", "`" + dir + "/`"} {
		if strings.Contains(step, name) {
			return true
		}
	}
	return dir == "docs" && strings.Contains(step, "("+path.Base(file))
}

func (c change) apply(t *testing.T, tree string) {
	t.Helper()
	name := filepath.Join(tree, c.file)
	if c.before == "" {
		require.NoFileExists(t, name)
		require.NoError(t, os.WriteFile(name, []byte(c.added), 0o644))
		return
	}
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	head, rest, found := bytes.Cut(text, []byte(c.before))
	require.True(t, found, "%s has no %q", c.file, c.before)
	text = bytes.Join([][]byte{head, []byte(c.added), []byte(c.before), rest}, nil)
	require.NoError(t, os.WriteFile(name, text, 0o644))
}

func run(t *testing.T, tree string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "ADNET_SHARED=") // other people's data lies beside the tree, not beside the copy
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", command, out)
	return string(out)
}

// walk calls do with each file of a tree that the Go command reads, and each document.
func walk(t *testing.T, tree string, do func(name string, text []byte)) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(tree, path)
		switch {
		case err != nil:
			return err
		case entry.Name() == "node_modules" || entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			do(name, text)
		}
		return err
	}))
}

// copyTree copies a tree, and records its texts.
func copyTree(t *testing.T, from, to string, texts map[string]string) {
	t.Helper()
	walk(t, from, func(name string, text []byte) {
		texts[name] = string(text)
		require.NoError(t, os.MkdirAll(filepath.Join(to, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(to, name), text, 0o644))
	})
}

// changedFiles lists the files that differ from texts, without generated ones, and updates texts.
func changedFiles(t *testing.T, tree string, texts map[string]string) (changed []string) {
	t.Helper()
	walk(t, tree, func(name string, text []byte) {
		if texts[name] != string(text) && !generated.Match(text) {
			changed = append(changed, name)
		}
		texts[name] = string(text)
	})
	return changed
}

// requireBuilt runs what shows that the field, the event and the endpoint work: the tests that go by
// the tables and the new ones, and a node that counts the event and answers the path. PostgreSQL is
// skipped where there is none.
func requireBuilt(t *testing.T, tree string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(tree, "cmd/recipes_test.go"), []byte(nodeTest), 0o644))
	run(t, tree, "go", "test", "-vet=off", "./internal/campaign", "./schemas/...")
	ran := run(t, tree, "go", "test", "-vet=off", "-v", "./cmd", "./internal/store/memory", "./internal/store/postgres", "./ingress/api/manage",
		"./ingress/mcp", "./ingress/ingresstest/endpoints", "-run", strings.Join([]string{
			"TestRecipes", "TestAuditEntriesAreCounted", "TestRoutesAndDocumentAgree", "TestExchanges/tools",
			"TestConformance/Campaigns/(Every|Update)", "TestOperationsConformance/AuditQueries", "TestReports/Types",
		}, "|"))
	for _, name := range []string{"TestRecipes", "TestAuditEntriesAreCounted", "TestRoutesAndDocumentAgree"} {
		require.Contains(t, ran, "--- PASS: "+name)
	}
}
