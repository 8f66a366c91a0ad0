// Package recipes follows the recipes of docs/development.md in a copy of the tree.
package recipes

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const mostFiles = 10 // that a campaign field may change, without the console's screens

// TestCampaignField adds a text to the creative and counts the files that it changes. The documents
// (CHANGELOG.md, docs/integrating.md) and the migration are among them.
func TestCampaignField(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds several packages")
	}
	tree := t.TempDir()
	before := copyTree(t, "../..", tree)
	for _, edit := range []struct{ file, before, added string }{
		{
			"internal/campaign/unreviewed.go", "	CTALabel  string `json:\"cta_label\"`\n",
			"	Tagline   string `json:\"tagline\"`\n",
		},
		{
			"internal/campaign/validate.go", "	CTALabel          *string       `json:\"cta_label\"`\n",
			"	Tagline           *string       `json:\"tagline\"`\n",
		},
		{
			"internal/campaign/fields.go", "	{Spec{Name: \"cta_label\"",
			"	{Spec{Name: \"tagline\", Kind: Text, Max: 30}, func(v *Creative) any { return &v.Tagline }},\n",
		},
		{"docs/integrating.md", "- `pacing`: ", "- `tagline`: a line below the headline\n"},
		{"CHANGELOG.md", "#", "\n"},
	} {
		text, err := os.ReadFile(filepath.Join(tree, edit.file))
		require.NoError(t, err)
		head, rest, found := bytes.Cut(text, []byte(edit.before))
		require.True(t, found, "%s has no %q", edit.file, edit.before)
		text = bytes.Join([][]byte{head, []byte(edit.added), []byte(edit.before), rest}, nil)
		require.NoError(t, os.WriteFile(filepath.Join(tree, edit.file), text, 0o644))
	}
	require.NoError(t, os.WriteFile(
		filepath.Join(tree, "schemas/postgres/9999_tagline.sql"),
		[]byte("ALTER TABLE campaign ADD COLUMN tagline text NOT NULL DEFAULT '';\n"), 0o644,
	))
	run(t, tree, "go", "generate", "./internal/campaign")
	document, err := os.ReadFile(filepath.Join(tree, "schemas/openapi/openapi.json"))
	require.NoError(t, err)
	require.Equal(t, 3, bytes.Count(document, []byte("\n          \"tagline\": {")), "in each schema of a campaign")
	run(t, tree, "go", "test", "./internal/campaign")
	// PostgreSQL is skipped where there is none.
	run(t, tree, "go", "test", "./internal/memory", "./internal/postgres", "-run", "Conformance/Campaigns/(Every|Update)")

	changed := changedFiles(t, before, tree)
	require.LessOrEqual(t, len(changed), mostFiles, "%s", changed)
	t.Log(changed)
}

func run(t *testing.T, tree string, command ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "ADNET_SHARED=") // other people's data lies beside the tree, not beside the copy
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// copyTree copies what the Go command reads, and the documents. It returns their texts.
func copyTree(t *testing.T, from, to string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	require.NoError(t, filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		texts[name] = string(text)
		return os.WriteFile(filepath.Join(to, name), text, 0o644)
	}))
	return texts
}

func changedFiles(t *testing.T, before map[string]string, tree string) (changed []string) {
	t.Helper()
	for name, text := range copyTree(t, tree, t.TempDir()) {
		if before[name] != text {
			changed = append(changed, name)
		}
	}
	return changed
}
