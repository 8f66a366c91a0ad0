// Command mutants removes adnet's protections one at a time, and fails unless a test fails each
// time.
//
//	go run ./lab/mutants            those that CI runs
//	go run ./lab/mutants all        all of them, as make nightly does
//	go run ./lab/mutants fence mac  those whose names hold one of the words
//
// A protection is removed with `go test -overlay`: the tree never changes. A mutant is an error if
// its text does not occur exactly once in its file or if it does not compile: the list in list.go
// follows the code. Tests that need a server must have it, because a skipped test notices nothing,
// and a test that fails without its server would notice everything: `make mutants` starts the
// stack. For the same reason the tests first run without a change.
//
// Exit status: 0 all killed, 1 a survivor, 2 the check itself cannot be trusted.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// mutant is a protection and the change that removes it.
type mutant struct {
	name     string
	nightly  bool     // too slow for CI: its tests take long to build or to run
	protects string   // the promise
	file     string   // relative to the module
	old, new string   // old occurs in file exactly once
	tests    []string // packages with a test that must fail
	run      string   // go test -run pattern for these tests; empty for all
	servers  []string // environment variables required by these tests
}

// result is the outcome of a mutant.
type result int

const (
	killed result = iota
	survived
	untrusted
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	status, err := run(ctx, selected(os.Args[1:]))
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		status = untrusted
	}
	os.Exit(int(status))
}

// selected returns the mutants whose names contain one of the words. Without words it returns the
// mutants for CI.
func selected(words []string) []mutant {
	switch {
	case len(words) == 0:
		return slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return m.nightly })
	case slices.Equal(words, []string{"all"}):
		return mutants
	}
	return slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(m.name, w) })
	})
}

func run(ctx context.Context, list []mutant) (result, error) {
	if len(list) == 0 {
		return untrusted, errors.New("no mutant has a matching name")
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return untrusted, err
	}
	baseline := map[string]bool{}
	for _, m := range list {
		if _, err := m.source(root); err != nil {
			return untrusted, err
		}
		for _, variable := range m.servers {
			if os.Getenv(variable) == "" {
				return untrusted, fmt.Errorf("%s needs %s: run `make mutants`", m.name, variable)
			}
		}
		key := m.run + " of " + strings.Join(m.tests, " ")
		if baseline[key] {
			continue
		}
		baseline[key] = true
		fmt.Printf("%-9s %s, as it is\n", "test", strings.TrimPrefix(key, " of "))
		if out, err := test(ctx, root, m.tests, "-run", m.run); err != nil {
			return untrusted, fmt.Errorf("the tests fail on unchanged code: %w\n%s", err, out)
		}
	}
	worst := killed
	for _, m := range list {
		outcome, out, err := m.try(ctx, root)
		if err != nil {
			return untrusted, fmt.Errorf("%s: %w\n%s", m.name, err, out)
		}
		word := map[result]string{killed: "killed", survived: "SURVIVED"}[outcome]
		fmt.Printf("%-9s %-22s %s (%s)\n", word, m.name, m.protects, out)
		worst = max(worst, outcome)
	}
	return worst, nil
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// source returns the file without the protection.
func (m mutant) source(root string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.name, err)
	}
	if n := strings.Count(string(raw), m.old); n != 1 {
		return "", fmt.Errorf(
			"%s: its text occurs %d times in %s instead of once: update lab/mutants/list.go", m.name, n, m.file,
		)
	}
	return strings.Replace(string(raw), m.old, m.new, 1), nil
}

// try runs the tests without the protection. note is the failed test, or the problem.
func (m mutant) try(ctx context.Context, root string) (outcome result, note string, err error) {
	source, err := m.source(root)
	if err != nil {
		return untrusted, "", err
	}
	dir, err := os.MkdirTemp("", "adnet-mutant-")
	if err != nil {
		return untrusted, "", err
	}
	defer os.RemoveAll(dir)
	changed, overlay := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	plan, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, m.file): changed}})
	if err != nil {
		return untrusted, "", err
	}
	if err := errors.Join(
		os.WriteFile(changed, []byte(source), 0o600), os.WriteFile(overlay, plan, 0o600),
	); err != nil {
		return untrusted, "", err
	}
	started := time.Now()
	out, failure := test(ctx, root, m.tests, "-count=1", "-failfast", "-run", m.run, "-overlay", overlay)
	return judge(out, failure, time.Since(started))
}

// judge reads the outcome of a test run. Only a failed test kills a mutant. A failed build or an
// aborted run proves nothing.
func judge(out string, failure error, took time.Duration) (result, string, error) {
	switch {
	case failure == nil && (strings.Contains(out, "[no test files]") || strings.Contains(out, "[no tests to run]")):
		return untrusted, out, errors.New("no test covers it")
	case failure == nil:
		return survived, took.Round(time.Second).String(), nil
	case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		return untrusted, out, errors.New("it does not compile")
	}
	for line := range strings.Lines(out) {
		if name, is := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); is {
			name, _, _ = strings.Cut(name, " ")
			return killed, name, nil
		}
	}
	if strings.Contains(out, "\npanic: ") || strings.HasPrefix(out, "panic: ") {
		return killed, "panic", nil
	}
	return untrusted, out, fmt.Errorf("no test failed, but: %w", failure)
}

// test runs the tests of packages.
func test(ctx context.Context, root string, packages []string, flags ...string) (string, error) {
	// CI vets the code already. Vet would check it again for each mutant.
	args := append([]string{"test", "-vet=off", "-timeout", "5m"}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, packages...)...)
	cmd.Dir = root
	// A failed property test would leave its case in the tree, where it would fail again.
	cmd.Env = append(os.Environ(), "RAPID_NOFAILFILE=true")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return string(out), err
}
