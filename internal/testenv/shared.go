package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// Shared returns the path of a file or folder of ../shared, beside the repository, for data too
// large or too foreign to be part of adnet, which is not published. If it is absent the test is
// skipped, or fails where ADNET_SHARED is "required", which make test sets in CI if the folder is
// there.
func Shared(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(root(t), "..", "shared", filepath.FromSlash(name))
	if _, err := os.Stat(path); err == nil {
		return path
	} else if !os.IsNotExist(err) {
		t.Fatalf("%s: %v", path, err)
	}
	const how = "%s is absent: the folder shared belongs beside the repository"
	if os.Getenv("ADNET_SHARED") == "required" {
		t.Fatalf(how+" (ADNET_SHARED=required)", path)
	}
	t.Skipf(how, path)
	return ""
}

// root returns the folder of go.work: tests run in the folder of their package, somewhere below.
func root(t testing.TB) string {
	t.Helper()
	at, err := os.Getwd()
	if err != nil {
		t.Fatalf("working directory: %v", err)
	}
	for dir := at; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("no go.work above %s", at)
		}
	}
}
