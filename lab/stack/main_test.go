package main

import (
	"os"
	"slices"
	"testing"
)

// TestMain lets the test binary stand in for the launcher: hosts start children from their own
// executable.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"clickhouse-host", "clickhouse-child", "kfake-host"}, os.Args[1]) {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// testStack is a stack in a folder of its own with free ports; nothing runs in it.
func testStack(t *testing.T) *stack {
	t.Helper()
	s, err := openStack(settings{Dir: t.TempDir(), Cache: t.TempDir(), Ports: "free", Kafka: "auto"})
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := s.claim()
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	return s
}
