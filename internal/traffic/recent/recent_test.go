package recent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/traffic/recent"
)

func TestRepeatsAreKnown(t *testing.T) {
	s, id, other := recent.New(), []byte("0123456789abcdef"), []byte("fedcba9876543210")
	require.False(t, s.Note(id, "win"))
	require.True(t, s.Note(id, "win"))
	require.False(t, s.Note(id, "loss"), "another use")
	require.False(t, s.Note(other, "win"), "another id")
	require.False(t, recent.New().Note(id, "win"), "another set")
}
