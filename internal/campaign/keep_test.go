package campaign

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestPageStaysInsideLimits(t *testing.T) {
	for _, c := range []struct{ limit, offset, wantLimit, wantOffset int }{
		{0, 0, MaxPage, 0}, {1, 7, 1, 7}, {MaxPage, -1, MaxPage, 0}, {MaxPage + 1, 0, MaxPage, 0}, {-3, 2, MaxPage, 2},
	} {
		limit, offset := Filter{Limit: c.limit, Offset: c.offset}.Page()
		require.Equal(t, c.wantLimit, limit)
		require.Equal(t, c.wantOffset, offset)
	}
}

func TestKeepRestoresWhatNoEditMayChange(t *testing.T) {
	before := Campaign{
		ID: uuid.New(), AdvertiserID: uuid.New(), CreditFunded: true, CreatedAt: time.Unix(10, 0), ConfigVersion: 3,
		SettingsVersion: 2, SpentToday: 1, SpentTotal: 2,
	}
	before.Normalize()
	edited := before.Clone()
	edited.ID, edited.AdvertiserID, edited.CreditFunded = uuid.New(), uuid.New(), false
	edited.CreatedAt, edited.UpdatedAt = time.Unix(99, 0), time.Unix(99, 0)
	edited.ConfigVersion, edited.SettingsVersion, edited.SpentToday, edited.SpentTotal = 9, 9, 9, 9
	edited.Keywords = nil // an empty list in another form does not count as a change
	require.False(t, Keep(&before, &edited))
	require.Equal(t, before, edited)

	edited.Headline = "changed"
	require.True(t, Keep(&before, &edited))
	require.Equal(t, "changed", edited.Headline)
}

func TestNormalizeCutsTimesToMicroseconds(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.FixedZone("x", 3600))
	c := Campaign{CreatedAt: at, Review: &Review{At: at}}
	c.Normalize()
	require.Equal(t, time.Date(2026, 1, 2, 2, 4, 5, 123456000, time.UTC), c.CreatedAt)
	require.Equal(t, c.CreatedAt, c.Review.At)
	require.NotNil(t, c.Regions)
	require.NotNil(t, c.PolicyViolations)
}

func TestNewDecision(t *testing.T) {
	r1, r2 := Review{Decision: "approved"}, Review{Decision: "rejected"}
	same := r1
	require.Nil(t, NewDecision(&Campaign{}, &Campaign{}))
	require.Nil(t, NewDecision(&Campaign{Review: &r1}, &Campaign{Review: &same}))
	require.Nil(t, NewDecision(&Campaign{Review: &r1}, &Campaign{}))
	require.Equal(t, &r2, NewDecision(&Campaign{Review: &r1}, &Campaign{Review: &r2}))
	require.Equal(t, &r1, NewDecision(&Campaign{}, &Campaign{Review: &r1}))
}
