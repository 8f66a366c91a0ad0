package storetest

import (
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

var creditCases = []testCase{
	{"FundsOrRefuses", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		n := campaignFor(NewCampaign(t, u.ID), 40)
		if s.Credits == nil {
			_, err := s.Campaigns.CreateCampaign(t.Context(), n)
			requireCode(t, err, errs.DemoMode)
			requireNoCampaigns(t, s)
			return
		}
		requireInsufficient(t, s, n, 0)
		requireNoCampaigns(t, s)
		require.NoError(t, s.Credits.Grant(t.Context(), u.DeveloperID, 39))
		requireInsufficient(t, s, n, 39)
		require.NoError(t, s.Credits.Grant(t.Context(), u.DeveloperID, 11))
		c, err := s.Campaigns.CreateCampaign(t.Context(), n)
		require.NoError(t, err)
		require.True(t, c.CreditFunded)
		require.True(t, get(t, s, c.ID).CreditFunded)
		requireBalance(t, s, ledger.DeveloperCredits(u.DeveloperID), 10)
		requireBalance(t, s, ledger.CreditSpent, 40)
		written, err := s.Credits.Transactions(t.Context(), ledger.KindCreditFund)
		require.NoError(t, err)
		require.Len(t, written, 1)
		require.Equal(t, c.ID.String(), written[0].Ref)
		require.Equal(t, c.ID, written[0].Subject)
		require.ElementsMatch(t, []ledger.Entry{
			{Account: ledger.DeveloperCredits(u.DeveloperID), Asset: ledger.Credit, Amount: -40},
			{Account: ledger.CreditSpent, Asset: ledger.Credit, Amount: 40},
		}, written[0].Entries)
	}},
	{"NegativeValueIsRefused", func(t *testing.T, s Stores) {
		_, err := s.Campaigns.CreateCampaign(
			t.Context(), campaign.NewCampaign{Campaign: NewCampaign(t, AddUser(t, s).ID), CreditValue: -1},
		)
		requireCode(t, err, errs.InvalidRequest)
		requireNoCampaigns(t, s)
	}},
	{"FailedCreationKeepsTheCredits", func(t *testing.T, s Stores) {
		if s.Credits == nil {
			return // refused before anything could be deducted: see FundsOrRefuses
		}
		u := AddUser(t, s)
		require.NoError(t, s.Credits.Grant(t.Context(), u.DeveloperID, 100))
		c := AddCampaign(t, s, u.ID, campaign.Active)
		n := NewCampaign(t, u.ID)
		n.ID = c.ID // taken
		_, err := s.Campaigns.CreateCampaign(t.Context(), campaignFor(n, 30))
		requireCode(t, err, errs.Conflict)
		requireBalance(t, s, ledger.DeveloperCredits(u.DeveloperID), 100)
		written, err := s.Credits.Transactions(t.Context(), ledger.KindCreditFund)
		require.NoError(t, err)
		require.Empty(t, written)
	}},
	{"ParallelSpendsNeverGoBelowZero", func(t *testing.T, s Stores) {
		if s.Credits == nil {
			return // nothing can be spent: see FundsOrRefuses
		}
		u, other := AddUser(t, s), AddUser(t, s)
		for _, developer := range []uuid.UUID{u.DeveloperID, other.DeveloperID} {
			require.NoError(t, s.Credits.Grant(t.Context(), developer, 100))
		}
		var funded, refused atomic.Int32
		together(20, func(i int) {
			owner := []uuid.UUID{u.ID, other.ID}[i%2]
			_, err := s.Campaigns.CreateCampaign(t.Context(), campaignFor(NewCampaign(t, owner), 30))
			switch {
			case err == nil:
				funded.Add(1)
			case errs.Is(err, errs.InsufficientCredit):
				refused.Add(1)
			}
		})
		require.EqualValues(t, 6, funded.Load())
		require.EqualValues(t, 14, refused.Load())
		requireBalance(t, s, ledger.DeveloperCredits(u.DeveloperID), 10)
		requireBalance(t, s, ledger.DeveloperCredits(other.DeveloperID), 10)
		requireBalance(t, s, ledger.CreditSpent, 180)
		_, total, err := s.Campaigns.Campaigns(t.Context(), campaign.Filter{})
		require.NoError(t, err)
		require.Equal(t, 6, total)
	}},
}

func requireInsufficient(t *testing.T, s Stores, n campaign.NewCampaign, available int64) {
	t.Helper()
	_, err := s.Campaigns.CreateCampaign(t.Context(), n)
	requireCode(t, err, errs.InsufficientCredit)
	require.Equal(
		t, map[string]any{"available": available, "requested": int64(n.Campaign.TotalBudget / n.CreditValue)},
		errs.Of(err).Extra,
	)
}

func requireBalance(t *testing.T, s Stores, account ledger.Account, want money.Credits) {
	t.Helper()
	got, err := s.Credits.Balance(t.Context(), account)
	require.NoError(t, err)
	require.Equal(t, want, got, "%s", account)
}

func requireNoCampaigns(t *testing.T, s Stores) {
	t.Helper()
	_, total, err := s.Campaigns.Campaigns(t.Context(), campaign.Filter{})
	require.NoError(t, err)
	require.Zero(t, total)
	_, head, err := s.Changes.ChangedCampaigns(t.Context(), 0, 1)
	require.NoError(t, err)
	require.Equal(t, FirstHead, head)
}
