package track

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/token"
)

// nearbyFrom returns a click of a reader behind an address of one network.
func nearbyFrom(address, reader byte, at time.Time) NetworkClick {
	return NetworkClick{
		Network: "203.0.113.0/24", Address: token.Pseudonym{address}, Reader: token.Pseudonym{address, reader},
		AddressPeople: addressPeople, Auction: uuid.New(), At: at,
	}
}

func TestNearbyClicks(t *testing.T) {
	near, err := newNearbyClicks([]Rate{{1, time.Minute}, {3, 10 * time.Minute}})
	require.NoError(t, err)
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	click := func(after time.Duration) NetworkClick { return nearbyFrom(1, 1, at.Add(after)) }
	first := click(0)
	require.True(t, near.allow(first))
	require.True(t, near.allow(first), "a repeat is no worse than the first")
	require.False(t, near.allow(click(59*time.Second)))
	require.True(t, near.allow(nearbyFrom(1, 2, at.Add(59*time.Second))), "another reader")
	require.True(t, near.allow(click(time.Minute)))
	near.note(click(3 * time.Minute)) // counted over all nodes
	require.False(t, near.allow(click(5*time.Minute)), "three in ten minutes")
	require.True(t, near.allow(click(11*time.Minute)))
}

// During an outage of the store, invented readers and addresses gain no more than with it.
func TestNearbyClicksOfInventedReaders(t *testing.T) {
	near, err := newNearbyClicks([]Rate{{1, time.Minute}, {3, 10 * time.Minute}})
	require.NoError(t, err)
	at := time.Unix(1_800_000_000, 0)
	passed := func(n int, from func(i int) NetworkClick) (inside int) {
		for i := range n {
			if near.allow(from(i)) {
				inside++
			}
		}
		return inside
	}
	require.Equal(t, 4, passed(100, func(i int) NetworkClick { return nearbyFrom(1, byte(i), at) }))
	require.Equal(t, 12, passed(256, func(i int) NetworkClick { return nearbyFrom(byte(i), 0, at) }), "4 of 16 are used")
	later := at.Add(20 * time.Minute)
	require.Equal(t, 48, passed(600, func(i int) NetworkClick {
		return nearbyFrom(byte(i), byte(i), later.Add(time.Duration(i)*time.Second))
	}), "ten minutes")
	gateway := func(i int) NetworkClick {
		click := nearbyFrom(9, byte(i), at)
		click.Network, click.AddressPeople = "gateway", networkPeople
		return click
	}
	require.Equal(t, 16, passed(100, gateway))
}

func TestNearbyClicksAreBounded(t *testing.T) {
	near, err := newNearbyClicks([]Rate{{1 << 20, time.Hour}})
	require.NoError(t, err)
	stored := func(network string) []nearbyClick {
		list, _ := near.of.Peek(network)
		return list
	}
	for i := range 2 * nearbyMost {
		require.True(t, near.allow(NetworkClick{
			Network: "n", AddressPeople: 1, Auction: uuid.New(), At: time.Unix(int64(i), 0),
		}))
	}
	require.Len(t, stored("n"), nearbyMost)
	require.Equal(t, nearbyMost, near.total)
	for i := range nearbyNetworks + 100 {
		near.note(NetworkClick{Network: fmt.Sprint(i), Auction: uuid.New(), At: time.Unix(0, 0)})
	}
	require.Equal(t, nearbyNetworks, near.of.Len())
	require.Equal(t, nearbyNetworks, near.total, "a network that left takes its clicks with it")
	near.total = nearbyTotal - 10 // as if the networks had more clicks
	for i := range 100 {
		near.note(NetworkClick{Network: "busy", Auction: uuid.New(), At: time.Unix(int64(i), 0)})
	}
	require.Len(t, stored("busy"), 100)
	require.LessOrEqual(t, near.total, nearbyTotal)
	require.Less(t, near.of.Len(), nearbyNetworks)
}
