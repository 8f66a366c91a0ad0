package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProductNamesNoLab checks that no package of the product imports or names the laboratory, a
// module that an image of adnet does not contain. The tests of this folder are about both.
func TestProductNamesNoLab(t *testing.T) {
	named := regexp.MustCompile(`\blab/[a-z]`)
	files := 0
	for name, text := range texts(t, ".go") {
		if strings.HasPrefix(name, "lab/") || filepath.Dir(name) == "." {
			continue
		}
		files++
		if found := named.FindString(text); found != "" {
			t.Errorf("%s names %s…: the product must not know the laboratory", name, found)
		}
	}
	require.Greater(t, files, 500)
}

// TestModulesAgree checks that the laboratory measures the versions that the product is built with.
func TestModulesAgree(t *testing.T) {
	product, lab := required(t, "go.mod"), required(t, "lab/go.mod")
	require.NotContains(t, product, "adnet/lab")
	require.Contains(t, lab, "adnet")
	shared := 0
	for module, version := range product {
		if other, both := lab[module]; both {
			shared++
			if other != version {
				t.Errorf("the product has %s %s, and lab/go.mod %s", module, version, other)
			}
		}
	}
	require.Greater(t, shared, 20)
}

// required returns the versions of the modules that a go.mod requires.
func required(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(?:\t|require )(\S+) (v\S+)`).FindAllStringSubmatch(string(text), -1) {
		found[m[1]] = m[2]
	}
	return found
}
