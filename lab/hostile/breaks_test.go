package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The list follows the code: every text is in its file once.
func TestEveryCureCanBeTakenOut(t *testing.T) {
	require.GreaterOrEqual(t, len(breaks), 5)
	for name, one := range breaks {
		require.NotEmpty(t, one.without, name)
		require.NotEmpty(t, one.breach, name)
		for _, r := range one.without {
			require.NoError(t, r.Fits("../.."), name)
			require.NotEqual(t, r.Old, r.New, name)
		}
	}
}

func TestNoticedIsTheBreachOfTheCure(t *testing.T) {
	one := cure{breach: "a thief has"}
	require.True(t, one.noticed([]string{"slow", "a thief has 3 Credits"}))
	require.False(t, one.noticed([]string{"honest p99 is 900 ms"}))
	require.False(t, one.noticed(nil))
}
