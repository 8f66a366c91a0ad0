package fuzz_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFuzzTellsAFindFromTheEndOfItsTime runs fuzz.sh with a go command that prints, run after run,
// what the real one was seen to print.
func TestFuzzTellsAFindFromTheEndOfItsTime(t *testing.T) {
	const (
		pass = "PASS\nok  \tadnet/auction\t5.214s"
		// https://go.dev/issue/75804, from a run of CI.
		end = "fuzz: elapsed: 5s, execs: 57358 (14270/sec), new interesting: 3 (total: 322)\n--- FAIL: FuzzMessage " +
			"(5.17s)\n    context deadline exceeded\nFAIL\nexit status 1"
		find = "--- FAIL: FuzzMessage (0.62s)\n    --- FAIL: FuzzMessage (0.00s)\n        fuzz_test.go:9: Post: " +
			"context deadline exceeded\n    \n    Failing input written to " +
			"testdata/fuzz/FuzzMessage/771e938e4458e983\nFAIL\nexit status 1"
		// A find whose own text is that of the race, on the line that follows the test's name.
		alike = "--- FAIL: FuzzMessage (0.62s)\n    --- FAIL: FuzzMessage (0.00s)\n    context deadline exceeded\n  " +
			"  \n    Failing input written to testdata/fuzz/FuzzMessage/771e938e4458e983\nFAIL"
		seed = "failure while testing seed corpus entry: FuzzMessage/seed#0\n--- FAIL: FuzzMessage (0.02s)\n    " +
			"--- FAIL: FuzzMessage (0.00s)\n        fuzz_test.go:9: wrong\nFAIL"
		build = "# adnet/ingress/mcp\nmcp.go:9:2: undefined: x\nFAIL\tadnet/ingress/mcp [build failed]"
	)
	for _, test := range []struct {
		name   string
		prints []string // of the runs, one after the other; the last one again and again
		runs   int
		passes bool
	}{
		{"a pass", []string{pass}, 1, true},
		{"the end of the time, then a pass", []string{end, pass}, 2, true},
		{"the end of the time whenever it runs", []string{end}, 3, false},
		{"a find", []string{find, pass}, 1, false},
		{"a find that reads like the end of the time", []string{alike, pass}, 1, false},
		{"a seed that fails", []string{seed, pass}, 1, false},
		{"the end of the time, then a find", []string{end, find, pass}, 2, false},
		{"no build", []string{build, pass}, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for i, text := range test.prints {
				write(t, filepath.Join(dir, fmt.Sprintf("print%d", i+1)), text+"\n", 0o644)
			}
			write(t, filepath.Join(dir, "go"), fmt.Sprintf(`#!/bin/sh
cd %q
echo run >>runs
n=$(wc -l <runs)
[ -f "print$n" ] || n=%d
cat "print$n"
[ "$(head -n 1 "print$n")" = PASS ]
`, dir, len(test.prints)), 0o755)

			fuzz := exec.Command("./fuzz.sh")
			fuzz.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "FUZZ=FuzzMessage")
			out, err := fuzz.CombinedOutput()
			if passes := err == nil; passes != test.passes {
				t.Errorf("fuzz.sh passes: %t, want %t\n%s", passes, test.passes, out)
			}
			if !test.passes && !strings.Contains(string(out), "failed: ./ingress/mcp FuzzMessage\n") {
				t.Errorf("the failed target is not named:\n%s", out)
			}
			runs, err := os.ReadFile(filepath.Join(dir, "runs"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(string(runs), "run"); got != test.runs {
				t.Errorf("%d runs, want %d\n%s", got, test.runs, out)
			}
		})
	}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
