package memory

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Stores { return storesOf(New(time.Now)) })
}

func storesOf(s *Stores) storetest.Stores {
	return storetest.Stores{
		Users: s.Accounts, Keys: s.Accounts, Blocks: s.Accounts, Publish: s.Accounts, Logins: s.Logins,
		Campaigns: s.Campaigns, Changes: s.Campaigns, Goals: s.Campaigns, Standings: s.Campaigns, Books: s.Ledger,
		Payments: s.Payments, Publishers: s.Publishers, Audit: s.Audit, AdReports: s.AdReports, Unproven: s.Traffic,
		Journal: s.Journal, Retention: s.Retention, Inside: inside{s},
	}
}

func personsOf(s *Stores) storetest.Persons {
	return storetest.Persons{
		Accounts: s.Accounts, Logins: s.Logins, Store: s.Campaigns, Books: s.Ledger, Audit: s.Audit,
		Payments: s.Payments, Publishers: s.Publishers,
	}
}

// inside shows the suite state of a store beyond its interfaces.
type inside struct{ s *Stores }

func (i inside) HighestBids(ctx context.Context) ([]ledger.HighestBid, error) {
	return i.s.Campaigns.HighestBids(ctx)
}

func (i inside) Inactive(_ context.Context, id uuid.UUID) ([]ledger.Interval, error) {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	return slices.Clone(i.s.campaigns[id].inactive), nil
}

func (i inside) Reviews(_ context.Context, id uuid.UUID) ([]campaign.Review, error) {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	return slices.Clone(i.s.campaigns[id].reviews), nil
}

func (i inside) Spend(_ context.Context, spend ledger.Spend) error {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	k := i.s.campaigns[spend.CampaignID]
	i.s.ledger.addSpend(spend, k.DailyBudget, k.TotalBudget)
	return nil
}

// handClock is a clock that only moves when a test moves it.
type handClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *handClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *handClock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

func TestSpentTodayIsAnUTCDay(t *testing.T) {
	clock := &handClock{at: time.Date(2026, 3, 1, 23, 59, 59, 0, time.UTC)}
	s := storesOf(New(clock.now))
	c := storetest.AddCampaign(t, s, storetest.AddUser(t, s).ID, campaign.Active)
	require.NoError(
		t, s.Inside.Spend(t.Context(), ledger.Spend{CampaignID: c.ID, Day: day.Of(clock.now()), Amount: 70}),
	)
	got, err := s.Campaigns.Campaign(t.Context(), c.ID)
	require.NoError(t, err)
	require.EqualValues(t, 70, got.SpentToday)

	clock.set(clock.now().Add(time.Second))
	got, err = s.Campaigns.Campaign(t.Context(), c.ID)
	require.NoError(t, err)
	require.Zero(t, got.SpentToday)
	require.EqualValues(t, 70, got.SpentTotal)
}

func TestIntervalSurvivesAClockThatIsSetBack(t *testing.T) {
	clock := &handClock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	s := storesOf(New(clock.now))
	c := storetest.AddCampaign(t, s, storetest.AddUser(t, s).ID, campaign.Paused)
	clock.set(clock.now().Add(-time.Hour))
	_, err := s.Campaigns.UpdateCampaign(t.Context(), c.ID, func(e *campaign.Campaign) error {
		e.Status = campaign.Active
		return nil
	})
	require.NoError(t, err)
	intervals, err := s.Inside.Inactive(t.Context(), c.ID)
	require.NoError(t, err)
	require.Equal(t, []ledger.Interval{{From: c.UpdatedAt, To: c.UpdatedAt}}, intervals)
}

func TestLogStaysWithinTwiceTheCampaigns(t *testing.T) {
	store := New(time.Now)
	s := storesOf(store)
	c := storetest.AddCampaign(t, s, storetest.AddUser(t, s).ID, campaign.Active)
	for range 1000 {
		_, err := s.Campaigns.UpdateCampaign(t.Context(), c.ID, func(e *campaign.Campaign) error {
			e.BidAmount++
			return nil
		})
		require.NoError(t, err)
	}
	require.LessOrEqual(t, len(store.changes), 2+16)
}
