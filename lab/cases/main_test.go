package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestResultsAreReadFromLines(t *testing.T) {
	run := func(script string) ([]result, error) {
		return command{t.TempDir(), nil, []string{"sh", "-c", script}}.run(t.Context(), &bytes.Buffer{})
	}
	got, err := run("echo 'ok    a 1'; echo 'FAULT b'; echo 'PASS c'; echo 'FAIL d'; echo 'FAULT: e'; echo ok; echo okay; exit 1")
	require.NoError(t, err)
	var passed []bool
	for _, r := range got {
		passed = append(passed, r.ok)
	}
	require.Equal(t, []bool{true, false, true, false, false, true}, passed)
	_, err = run("echo nothing")
	require.ErrorIs(t, err, errNoResult)
}

func TestDecisionsAndFailuresMatch(t *testing.T) {
	before := decided
	t.Cleanup(func() { decided = before })
	first, other := result{"a.py", "FAULT one | x", false}, result{"a.py", "ok one", true}
	decided = nil
	require.NoError(t, judge([]result{other}, &bytes.Buffer{}))
	require.Error(t, judge([]result{first, other}, &bytes.Buffer{}))
	decided = []decision{{line: "one |", reason: "a reason"}}
	require.NoError(t, judge([]result{first, other}, &bytes.Buffer{}))
	require.Error(t, judge([]result{other}, &bytes.Buffer{}), "a decision that nothing needs")
	decided[0].luck = true
	require.NoError(t, judge([]result{other}, &bytes.Buffer{}))
}

func TestAbsentCasesAreAnErrorOnlyWhereRequired(t *testing.T) {
	c := config{Folder: filepath.Join(t.TempDir(), "cases")}
	t.Setenv("ADNET_SHARED", "")
	var out bytes.Buffer
	require.NoError(t, c.replay(t.Context(), &out))
	require.Contains(t, out.String(), "is absent")
	t.Setenv("ADNET_SHARED", "required")
	require.ErrorIs(t, c.replay(t.Context(), &out), os.ErrNotExist)
}
