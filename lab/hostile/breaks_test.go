package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The list follows the code: every text is in its file once.
func TestEveryCureCanBeTakenOut(t *testing.T) {
	require.GreaterOrEqual(t, len(breaks), 5)
	require.NoError(t, breaks.Fit("../.."))
}
