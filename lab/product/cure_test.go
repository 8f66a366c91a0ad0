package product

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNoticedIsTheBreachOfTheCure(t *testing.T) {
	cures := Cures{"credits": {Breach: "a thief has"}}
	require.True(t, cures.Noticed("credits", []string{"slow", "a thief has 3 Credits"}))
	require.False(t, cures.Noticed("credits", []string{"honest p99 is 900 ms"}))
	require.False(t, cures.Noticed("credits", nil))
	require.False(t, cures.Noticed("", []string{"a thief has 3 Credits"}))
	without, err := cures.Without("")
	require.NoError(t, err)
	require.Empty(t, without)
	_, err = cures.Without("other")
	require.ErrorContains(t, err, "no protection")
	require.Error(t, cures.Fit("."), "it replaces nothing")
}
