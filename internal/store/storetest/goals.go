package storetest

import (
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/money"
)

// Goals stores the progress of campaigns' goals.
type Goals interface {
	PursuedGoals(ctx context.Context) ([]campaign.GoalRecord, error)
	KeepGoals(ctx context.Context, changes []campaign.GoalChange) error
}

// goalsCase: the progress of a goal is stored with the campaign, raises its version, and yields to
// the owner's change.
func goalsCase(t *testing.T, s Stores) {
	goals := s.Goals
	owner := AddUser(t, s).ID
	add := func(status campaign.Status, change func(*campaign.Campaign)) campaign.Campaign {
		c := NewCampaign(t, owner)
		c.Status, c.BillingModel, c.Pursuit, c.PolicyViolations = status, campaign.CPM, campaign.Pursuit{}, nil
		change(&c)
		created, err := s.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{Campaign: c})
		require.NoError(t, err)
		return created
	}
	c := add(campaign.Active, func(*campaign.Campaign) {})
	require.Equal(
		t, campaign.Pursuit{GoalStatus: campaign.GoalLearning, GoalMultiplier: money.USD, GoalPrice: c.TargetCPA},
		c.Pursuit,
	)
	add(campaign.Paused, func(*campaign.Campaign) {})
	add(campaign.Active, func(c *campaign.Campaign) { c.BillingModel = campaign.CPA })
	add(campaign.Active, func(c *campaign.Campaign) { c.Goal = campaign.GoalManual })
	pursued := func() campaign.GoalRecord {
		list, err := goals.PursuedGoals(t.Context())
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{c.ID}, slices.Collect(func(yield func(uuid.UUID) bool) {
			for i := range list {
				yield(list[i].Campaign.ID)
			}
		}))
		return list[0]
	}
	require.Nil(t, pursued().State)
	keep := func(change campaign.GoalChange) {
		change.CampaignID = c.ID
		require.NoError(t, goals.KeepGoals(t.Context(), []campaign.GoalChange{change}))
	}
	keep(campaign.GoalChange{Seen: c.ConfigVersion, State: []byte(`{"at": 1}`)})
	require.JSONEq(t, `{"at": 1}`, string(pursued().State))
	require.Equal(t, c, get(t, s, c.ID), "a state alone is no news")

	next := campaign.Pursuit{GoalMultiplier: 1_300_000, GoalPrice: c.TargetCPA, GoalConversions: 11}
	keep(campaign.GoalChange{Seen: c.ConfigVersion, State: []byte(`{"at": 2}`), Pursuit: &next})
	got := get(t, s, c.ID)
	next.GoalStatus = campaign.GoalActive
	require.Equal(t, next, got.Pursuit)
	require.Greater(t, got.ConfigVersion, c.ConfigVersion)
	changed, head, err := s.Changes.ChangedCampaigns(t.Context(), c.ConfigVersion, 100)
	require.NoError(t, err)
	require.Equal(t, got.ConfigVersion, head)
	require.Equal(t, got, changed[len(changed)-1], "the projection hears of it")

	keep(campaign.GoalChange{
		Seen: c.ConfigVersion, State: []byte(`{"at": 3}`), Pursuit: &campaign.Pursuit{GoalMultiplier: 4 * money.USD},
	})
	require.Equal(t, next, get(t, s, c.ID).Pursuit, "it was made for an older state of the campaign")
	require.JSONEq(t, `{"at": 3}`, string(pursued().State))

	named, err := s.Campaigns.UpdateCampaign(t.Context(), c.ID, func(e *campaign.Campaign) error {
		e.Name, e.Pursuit = "other", campaign.Pursuit{GoalMultiplier: 9, GoalConversions: 99}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, next, named.Pursuit, "no edit sets it")
	aimed, err := s.Campaigns.UpdateCampaign(t.Context(), c.ID, func(e *campaign.Campaign) error {
		e.TargetCPA = 3 * money.USD
		return nil
	})
	require.NoError(t, err)
	want := campaign.Pursuit{
		GoalStatus: campaign.GoalActive, GoalMultiplier: money.USD, GoalPrice: 3 * money.USD, GoalConversions: 11,
	}
	require.Equal(t, want, aimed.Pursuit, "another goal begins anew")
	require.Equal(t, want, get(t, s, c.ID).Pursuit)
}
