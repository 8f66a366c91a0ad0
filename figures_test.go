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
	// figureOf reads an id from an object of the file, whose values are all ids.
	figureOf = regexp.MustCompile(`\bid=\{(\w+)\[\w+\]\}`)
	valueIDs = regexp.MustCompile(`'([a-z0-9-]+)'`)
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
			figures += checkFigure(t, name, source, tag, defined)
		}
	}
	require.Greater(t, figures, 30)
}

// checkFigure reads the id or ids that begin the attributes of a figure, and counts them.
func checkFigure(t *testing.T, file, source, tag string, defined map[string]bool) int {
	attributes, _, _ := strings.Cut(tag, "name=")
	ids := figureID.FindAllStringSubmatch(attributes, 1)
	if of := figureOf.FindStringSubmatch(attributes); of != nil {
		_, object, _ := strings.Cut(source, "const "+of[1]+" = {")
		object, _, _ = strings.Cut(object, "}")
		ids = valueIDs.FindAllStringSubmatch(object, -1)
	}
	if len(ids) == 0 {
		t.Errorf("%s: a figure without an id before its name has no definition: %.60q", file, tag)
	}
	for _, id := range ids {
		if !defined[id[1]] {
			t.Errorf("%s: docs/figures.md has no heading for the figure %s; then run go generate ./lab/guide", file, id[1])
		}
	}
	return len(ids)
}
