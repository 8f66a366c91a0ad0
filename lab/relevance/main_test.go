package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A row that misses its required value makes the command fail, and the error names it.
func TestMissedRowsFail(t *testing.T) {
	rows := []row{{Name: "enough", Value: 0.5, Must: 0.5}, {Name: "none", AtMost: true}}
	require.NoError(t, missed(rows))
	rows = append(rows, row{Name: "too few", Value: 0.49, Must: 0.5}, row{Name: "too many", Value: 0.01, AtMost: true})
	require.EqualError(t, missed(rows), "missed: too few; too many")
}
