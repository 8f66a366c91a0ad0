package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The list follows the code: every text is in its file once.
func TestEveryCureCanBeTakenOut(t *testing.T) {
	require.GreaterOrEqual(t, len(breaks), 5)
	for name, item := range breaks {
		require.NotEmpty(t, item.without, name)
		require.NotEmpty(t, item.breach, name)
		for _, r := range item.without {
			require.NoError(t, r.Fits("../.."), name)
			require.NotEqual(t, r.Old, r.New, name)
		}
	}
}

func TestNoticedIsTheBreachOfTheCure(t *testing.T) {
	first := cure{breach: "a thief has"}
	require.True(t, first.noticed([]string{"slow", "a thief has 3 Credits"}))
	require.False(t, first.noticed([]string{"honest p99 is 900 ms"}))
	require.False(t, first.noticed(nil))
}
