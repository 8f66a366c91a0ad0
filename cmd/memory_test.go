package cmd

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGrowthLeavesTheSameRoomUntilTheHeapIsLarge(t *testing.T) {
	require.Equal(t, 100, growth(0))
	require.Equal(t, 100, growth(16<<20))
	require.Equal(t, 32, growth(50<<20))
	require.Equal(t, 40, growth(40<<20))
	require.Equal(t, 25, growth(500<<20))
}
