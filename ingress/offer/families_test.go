package offer

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/traffic"
)

// The ads of a family's accounts, and of their browser keys, are held against one publisher. A
// stranger's are not.
func TestAccountsOfAFamilyHoldTogether(t *testing.T) {
	oldest, newer, stranger := uuid.New(), uuid.New(), uuid.New()
	held := func(p Place) uint32 {
		var g unseen
		g.begin(nil, &Auction{Terms: Terms{Place: p}})
		return g.held.Publisher
	}
	first := held(Place{Developer: oldest})
	require.Equal(t, traffic.PublisherMark(oldest), first)
	require.Equal(t, first, held(Place{Developer: newer, Family: oldest}))
	require.Equal(t, first, held(Place{Developer: newer, Family: oldest, Browser: Browser{Asks: true, Key: 7}}))
	require.NotEqual(t, first, held(Place{Developer: stranger}))
}
