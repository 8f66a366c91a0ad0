package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	figureTag = regexp.MustCompile(`<Figure\s`)
	figureID  = regexp.MustCompile(`\bid="([a-z0-9-]+)"`)
)

// TestFiguresAreDefined checks that every figure of the console has a definition, to which its name
// links (Figure in web/console/ui/page.tsx).
func TestFiguresAreDefined(t *testing.T) {
	text, err := os.ReadFile("docs/figures.md")
	require.NoError(t, err)
	defined, figures := anchors(string(text)), 0
	for name, source := range texts(t, ".tsx") {
		if !strings.HasPrefix(name, "web/console/") {
			continue
		}
		for _, tag := range figureTag.Split(source, -1)[1:] {
			figures += checkFigure(t, name, tag, defined)
		}
	}
	require.Greater(t, figures, 30)
}

// checkFigure reads the id that begins the attributes of a figure, and counts it.
func checkFigure(t *testing.T, file, tag string, defined map[string]bool) int {
	attributes, _, _ := strings.Cut(tag, "name=")
	found := figureID.FindStringSubmatch(attributes)
	if found == nil {
		t.Errorf("%s: a figure without an id before its name has no definition: %.60q", file, tag)
		return 0
	}
	if !defined[found[1]] {
		t.Errorf("%s: docs/figures.md has no heading for the figure %s; then run go generate ./lab/guide", file, found[1])
	}
	return 1
}
