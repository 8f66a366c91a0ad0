package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityTableIsTrue checks that the tests in SECURITY.md's tables exist.
func TestSecurityTableIsTrue(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "## Protections and tests")
	if !found {
		t.Fatal("SECURITY.md has no section Protections and tests")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	rows, tests := 0, 0
	for line := range strings.Lines(section) {
		columns := strings.Split(line, "|")
		if len(columns) != 4 || !strings.Contains(columns[2], "Test") || strings.TrimSpace(columns[2]) == "Tests" {
			continue
		}
		rows++
		for _, part := range strings.Split(columns[2], ";") {
			match := regexp.MustCompile("^ *`([^`]+)` (.+)$").FindStringSubmatch(strings.TrimRight(part, " "))
			if match == nil {
				t.Errorf("cannot be read: %q", part)
				continue
			}
			for _, name := range strings.Split(match[2], ", ") {
				tests++
				if !hasTest(t, match[1], name) {
					t.Errorf("%s has no %s", match[1], name)
				}
			}
		}
	}
	if rows < 11 || tests < 25 {
		t.Errorf("the table has %d rows and %d tests: is it read right?", rows, tests)
	}
}

func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
