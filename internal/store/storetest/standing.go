package storetest

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/ledger/standing"
	"adnet/internal/money"
)

// Standings holds the store methods of consumers/standing.
type Standings interface {
	Voters(ctx context.Context) ([]standing.Account, error)
	BackedCharges(ctx context.Context, since, until day.Day) ([]standing.Charge, error)
	KeepStandings(ctx context.Context, changes []campaign.StandingChange) error
	KeepPublisherVotes(ctx context.Context, votes map[uuid.UUID]int64) error
	PublisherVotes(ctx context.Context) (map[uuid.UUID]int64, error)
}

// standingsCase: the standings of many campaigns are stored at once, each under a version of its own,
// except for those of a campaign that changed meanwhile.
func standingsCase(t *testing.T, s Stores, owner account.User) {
	const many = 600 // more than a transaction writes
	var changes []campaign.StandingChange
	for i := range many {
		c, err := s.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{Campaign: NewCampaign(t, owner.ID)})
		require.NoError(t, err)
		changes = append(changes, campaign.StandingChange{
			CampaignID: c.ID, Seen: c.ConfigVersion, Standing: campaign.Standing{Family: owner.ID, Vote: int64(i + 1)},
		})
	}
	before := get(t, s, changes[7].CampaignID)
	changes[7].Seen--
	from := changes[many-1].Seen
	require.NoError(t, s.Standings.KeepStandings(t.Context(), append(changes, campaign.StandingChange{
		CampaignID: newID(t), Seen: 1,
	})))
	versions := map[int64]bool{}
	for i := range changes {
		got := get(t, s, changes[i].CampaignID)
		if i == 7 {
			require.Equal(t, before, got)
			continue
		}
		require.Equal(t, changes[i].Standing, got.Standing)
		require.Greater(t, got.ConfigVersion, from)
		versions[got.ConfigVersion] = true
	}
	require.Len(t, versions, many-1)
	changed, head, err := s.Changes.ChangedCampaigns(t.Context(), from, many)
	require.NoError(t, err)
	require.Len(t, changed, many-1)
	require.Equal(t, from+many-1, head)
}

// standingCase: the standing is stored with the campaign, raises its version, and yields to the
// owner's change.
func standingCase(t *testing.T, s Stores) {
	store := s.Standings
	owner := AddUser(t, s)
	fresh := NewCampaign(t, owner.ID)
	fresh.Standing = campaign.Standing{Vote: 7, Bound: campaign.Behind}
	c, err := s.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{Campaign: fresh})
	require.NoError(t, err)
	require.Zero(t, c.Standing, "no creation sets it")
	require.Equal(t, c, get(t, s, c.ID))

	want := campaign.Standing{
		Family: newID(t), Vote: 350_000, ClickRate: 1_200_000, ConvertRate: 5, Ceiling: 2 * money.USD,
		Bound: campaign.Unproven,
	}
	keep := func(id uuid.UUID, seen int64, standing campaign.Standing) {
		require.NoError(t, store.KeepStandings(t.Context(), []campaign.StandingChange{
			{CampaignID: id, Seen: seen, Standing: standing},
		}))
	}
	keep(newID(t), 1, want) // unknown
	keep(c.ID, c.ConfigVersion, want)
	got := get(t, s, c.ID)
	require.Equal(t, want, got.Standing)
	require.Greater(t, got.ConfigVersion, c.ConfigVersion)
	require.Equal(t, c.SettingsVersion, got.SettingsVersion, "no person changed it")
	require.True(t, got.At(c.ConfigVersion) && got.At(got.ConfigVersion))
	changed, head, err := s.Changes.ChangedCampaigns(t.Context(), c.ConfigVersion, 100)
	require.NoError(t, err)
	require.Equal(t, got.ConfigVersion, head)
	require.Equal(t, got, changed[len(changed)-1], "the projection reads it")

	keep(c.ID, c.ConfigVersion, campaign.Standing{Bound: campaign.Behind})
	require.Equal(t, got, get(t, s, c.ID), "it was computed for an older state of the campaign")
	named, err := s.Campaigns.UpdateCampaign(t.Context(), c.ID, func(e *campaign.Campaign) error {
		e.Name, e.Standing = "other", campaign.Standing{}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, want, named.Standing, "no edit sets it")
	require.Equal(t, named.ConfigVersion, named.SettingsVersion)
	require.False(t, named.At(got.ConfigVersion) || named.At(c.ConfigVersion))
	same, err := s.Campaigns.UpdateCampaign(t.Context(), c.ID, func(e *campaign.Campaign) error {
		e.Standing = campaign.Standing{}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, named, same)
	require.Equal(t, want, get(t, s, c.ID).Standing)

	for _, model := range []campaign.BillingModel{campaign.CPC, campaign.CPA, campaign.CPM} {
		next := NewCampaign(t, owner.ID)
		next.BillingModel, next.ConversionType = model, ""
		c, err := s.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{Campaign: next})
		require.NoError(t, err)
		first := campaign.Standing{}
		if model != campaign.CPM {
			first.Ceiling = want.Ceiling
		}
		require.Equal(t, first, c.Standing, "%s has a ceiling from its first auction", model)
		require.Equal(t, c, get(t, s, c.ID))
	}

	standingsCase(t, s, owner)
	publisherVotesCase(t, s, store)
}

func publisherVotesCase(t *testing.T, s Stores, store Standings) {
	t.Helper()
	requireVotes := func(want map[uuid.UUID]int64) {
		got, err := store.PublisherVotes(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	a, b := AddUser(t, s), AddUser(t, s)
	keep := func(votes map[uuid.UUID]int64) {
		require.NoError(t, store.KeepPublisherVotes(t.Context(), votes))
	}
	requireVotes(map[uuid.UUID]int64{})
	keep(map[uuid.UUID]int64{a.ID: 50_000, newID(t): 5})
	requireVotes(map[uuid.UUID]int64{a.DeveloperID: 50_000})
	keep(map[uuid.UUID]int64{a.ID: 100_000, b.ID: 1_000_000})
	requireVotes(map[uuid.UUID]int64{a.DeveloperID: 100_000, b.DeveloperID: 1_000_000})
	keep(map[uuid.UUID]int64{b.ID: 1_000_000})
	requireVotes(map[uuid.UUID]int64{b.DeveloperID: 1_000_000})
	keep(nil)
	requireVotes(map[uuid.UUID]int64{})
}

// chargesOfVotes: charges count by payer and publisher, without claw-backs and debts.
func chargesOfVotes(t *testing.T, l Ledger) {
	m := &market{T: t, l: l}
	store := l.Standings
	payer, other, publisher, second := AddUser(t, l.Stores), AddUser(t, l.Stores), AddUser(t, l.Stores),
		AddUser(t, l.Stores)
	today := day.Of(now)
	charges := func(since, until day.Day) map[[2]uuid.UUID]money.Micros {
		list, err := store.BackedCharges(t.Context(), since, until)
		require.NoError(t, err)
		sums := map[[2]uuid.UUID]money.Micros{}
		for _, c := range list {
			sums[[2]uuid.UUID{c.Payer, c.Publisher}] = c.Amount
		}
		require.Len(t, sums, len(list), "each pair once")
		return sums
	}
	require.Empty(t, charges(today-40, today))
	m.paysIn(payer, "pi_1", money.USD)
	funded := map[uuid.UUID]bool{}
	voters, err := store.Voters(t.Context())
	require.NoError(t, err)
	for _, v := range voters {
		funded[v.ID] = v.Funded
		if v.ID == payer.ID {
			require.Equal(t, standing.Account{
				ID: payer.ID, Developer: payer.DeveloperID, Created: payer.CreatedAt, Funded: true,
			}, v)
		}
	}
	require.Subset(t, funded, map[uuid.UUID]bool{payer.ID: true, other.ID: false})

	c := priced(t, l, payer, 10*money.USD, 10*money.USD)
	d := priced(t, l, other, 10*money.USD, 10*money.USD)
	m.views(c, publisher.DeveloperID, 100)
	m.views(c, second.DeveloperID, 10)
	m.views(d, publisher.DeveloperID, 5)
	m.views(d, newID(t), 5)                                                                // an erased or unknown publisher
	m.views(priced(t, l, publisher, 10*money.USD, 10*money.USD), publisher.DeveloperID, 7) // its own ad
	want := map[[2]uuid.UUID]money.Micros{
		{payer.ID, publisher.ID}: money.USD, {payer.ID, second.ID}: money.USD / 10,
		{other.ID, publisher.ID}: money.USD / 20,
	}
	require.Equal(t, want, charges(today-29, today))
	require.Equal(t, want, charges(today, today))
	require.Empty(t, charges(today-29, today-1))

	// The payment is reversed: what the payer owes does not count.
	applyNotice(
		t, l,
		ledger.Notice{
			Provider: ledger.Stripe, EventID: "e1", Kind: ledger.NoticeRefundedTo, PaymentID: "pi_1", Amount: money.USD,
			At: now,
		}, ledger.NoticeReversed,
	)
	release(t, l, unheld)
	got := charges(today, today)
	require.Equal(t, money.USD/10, got[[2]uuid.UUID{payer.ID, publisher.ID}]+got[[2]uuid.UUID{payer.ID, second.ID}])
	require.Equal(t, money.USD/20, got[[2]uuid.UUID{other.ID, publisher.ID}])

	open := quarantined(t, l, second.DeveloperID)
	m.views(d, second.DeveloperID, 10)
	require.Equal(t, money.USD/10, charges(today, today)[[2]uuid.UUID{other.ID, second.ID}])
	_, err = l.Publishers.EndQuarantine(t.Context(), decide(t, open, ledger.QuarantineClawback))
	require.NoError(t, err)
	require.NotContains(t, charges(today, today), [2]uuid.UUID{other.ID, second.ID}, "it was clawed back")
}
