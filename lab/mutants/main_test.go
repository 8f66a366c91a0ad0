package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The list follows the code: every text is in its file once, and every mutant differs from it.
func TestEveryMutantApplies(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range mutants {
		require.False(t, seen[m.name], m.name)
		seen[m.name] = true
		source, err := m.source("../..")
		require.NoError(t, err)
		raw, err := os.ReadFile(filepath.Join("../..", m.file))
		require.NoError(t, err)
		require.NotEqual(t, string(raw), source, m.name)
		require.NotEmpty(t, m.tests)
		require.NotEmpty(t, m.protects)
		for _, folder := range m.tests {
			require.DirExists(t, filepath.Join("../..", folder), m.name)
		}
	}
}

func TestAMutantWhoseTextIsGoneIsAnError(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "f"), []byte("a b a"), 0o600))
	for _, m := range []mutant{{file: "f", old: "c"}, {file: "f", old: "a"}, {file: "g", old: "a"}} {
		_, err := m.source(root)
		require.Error(t, err)
	}
	source, err := mutant{file: "f", old: "b", new: "x"}.source(root)
	require.NoError(t, err)
	require.Equal(t, "a x a", source)
}

func TestJudge(t *testing.T) {
	failure := errors.New("exit status 1")
	for name, tc := range map[string]struct {
		out     string
		failure error
		want    result
		note    string
	}{
		"nobody noticed": {"ok  \tadnet/x\t1s\n", nil, survived, "1s"},
		"a test noticed": {"--- FAIL: TestA (0.00s)\n    a_test.go:1: x\nFAIL\n", failure, killed, "TestA"},
		"one of many":    {"ok  \tadnet/y\t1s\n    --- FAIL: TestA/b (0.00s)\nFAIL\n", failure, killed, "TestA/b"},
		"a panic":        {"panic: x\n\ngoroutine 1\nFAIL\n", failure, killed, "panic"},
		"does not compile": {
			"# adnet/x\nx.go:1: undefined: y\nFAIL\tadnet/x [build failed]\n--- FAIL: TestB (0s)\n", failure, untrusted,
			"",
		},
		"no such package":     {"FAIL\tadnet/x [setup failed]\n", failure, untrusted, ""},
		"ended by something":  {"signal: killed\n", failure, untrusted, ""},
		"no tests were found": {"?   \tadnet/x\t[no test files]\n", nil, untrusted, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, note, err := judge(tc.out, tc.failure, time.Second)
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.want == untrusted, err != nil)
			if err == nil {
				require.Equal(t, tc.note, note)
			}
		})
	}
}

func TestChosen(t *testing.T) {
	require.NotEmpty(t, selected(nil))
	for _, m := range selected(nil) {
		require.False(t, m.nightly, m.name)
	}
	require.Len(t, selected([]string{"all"}), len(mutants))
	require.Empty(t, selected([]string{"no such thing"}))
	for _, m := range selected([]string{"mac", "fence"}) {
		require.Regexp(t, "mac|fence", m.name)
	}
}
