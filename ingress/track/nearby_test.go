package track

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestNearbyClicks(t *testing.T) {
	near, err := newNearbyClicks([]Rate{{1, time.Minute}, {3, 10 * time.Minute}})
	require.NoError(t, err)
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	click := func(after time.Duration) NetworkClick {
		return NetworkClick{Network: "203.0.113.0/24", Auction: uuid.New(), At: at.Add(after)}
	}
	first := click(0)
	require.True(t, near.allow(first))
	require.True(t, near.allow(first), "a repeat is no worse than the first")
	require.False(t, near.allow(click(59*time.Second)))
	other := click(59 * time.Second)
	other.Network = "203.0.114.0/24"
	require.True(t, near.allow(other))
	require.True(t, near.allow(click(time.Minute)))
	near.note(click(3 * time.Minute)) // counted over all nodes
	require.False(t, near.allow(click(5*time.Minute)), "three in ten minutes")
	require.True(t, near.allow(click(11*time.Minute)))
}

func TestNearbyClicksAreBounded(t *testing.T) {
	near, err := newNearbyClicks([]Rate{{1 << 20, time.Hour}})
	require.NoError(t, err)
	for i := range 10 * nearbyMost {
		require.True(t, near.allow(NetworkClick{Network: "n", Auction: uuid.New(), At: time.Unix(int64(i), 0)}))
	}
	kept, _ := near.of.Get("n")
	require.Len(t, kept, nearbyMost)
	for i := range nearbyNetworks + 100 {
		near.note(NetworkClick{Network: fmt.Sprint(i), Auction: uuid.New(), At: time.Unix(0, 0)})
	}
	require.Equal(t, nearbyNetworks, near.of.Len())
}
