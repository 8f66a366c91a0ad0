package storetest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

var campaignCases = []testCase{
	{"EveryFieldReadsBack", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		n := NewCampaign(t, u.ID)
		// the store's business
		n.CreditFunded, n.SpentToday, n.SpentTotal, n.ConfigVersion, n.GoalConversions = true, 5, 6, 77, 99
		created, err := s.Campaigns.CreateCampaign(
			t.Context(), campaign.NewCampaign{Campaign: n, Admit: func(bool) campaign.Status { return campaign.Draft }},
		)
		require.NoError(t, err)
		require.False(t, created.CreatedAt.IsZero())
		require.Equal(t, created.CreatedAt, created.UpdatedAt)
		want := NewCampaign(t, u.ID)
		want.ID, want.Status, want.ConfigVersion, want.SettingsVersion = n.ID, campaign.Draft, FirstHead+1, FirstHead+1
		want.CreatedAt, want.UpdatedAt = created.CreatedAt, created.CreatedAt
		require.Equal(t, want, created)
		require.Equal(t, want, get(t, s, n.ID))
	}},
	{"ConcurrentCreationsShareOneRoom", func(t *testing.T, s Stores) {
		u, room := AddUser(t, s), campaign.Room{Campaigns: 3, Targeting: 1 << 20}
		var created atomic.Int32
		var wait sync.WaitGroup
		for range 12 {
			n := campaign.NewCampaign{Campaign: NewCampaign(t, u.ID), Room: room}
			wait.Go(func() {
				switch _, err := s.Campaigns.CreateCampaign(t.Context(), n); {
				case err == nil:
					created.Add(1)
				case !errs.Is(err, errs.Conflict):
					t.Error(err)
				}
			})
		}
		wait.Wait()
		require.EqualValues(t, 3, created.Load())
	}},
	{"RoomForTargetingIsChecked", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		n := campaign.NewCampaign{Campaign: NewCampaign(t, u.ID)}
		size := n.Campaign.TargetingSize()
		n.Room = campaign.Room{Campaigns: 3, Targeting: 2*size - 1}
		_, err := s.Campaigns.CreateCampaign(t.Context(), n)
		require.NoError(t, err)
		n.Campaign.ID = newID(t)
		_, err = s.Campaigns.CreateCampaign(t.Context(), n)
		require.True(t, errs.Is(err, errs.Conflict), err)
		n.Room.Targeting++
		_, err = s.Campaigns.CreateCampaign(t.Context(), n)
		require.NoError(t, err)
	}},
	{"EmptyListsAndGivenTimesReadBack", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		at := time.Date(2026, 2, 3, 4, 5, 6, 123456789, time.FixedZone("x", 7200))
		created, err := s.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{Campaign: campaign.Campaign{
			ID: newID(t), AdvertiserID: u.ID, Status: campaign.Active,
			Creative:     campaign.Creative{Format: campaign.Native},
			BillingModel: campaign.CPM, CreatedAt: at,
		}})
		require.NoError(t, err)
		require.Equal(t, campaign.Active, created.Status, "without Admit the status is the campaign's")
		require.Equal(t, time.Date(2026, 2, 3, 2, 5, 6, 123456000, time.UTC), created.CreatedAt)
		got := get(t, s, created.ID)
		require.Equal(t, created, got)
		require.Empty(t, got.Keywords)
		require.Equal(t, []string{}, got.Deals)
		require.Nil(t, got.TargetROAS)
		require.Nil(t, got.Review)
	}},
	{"HighestBidIsKept", func(t *testing.T, s Stores) {
		c := AddCampaign(t, s, AddUser(t, s).ID, campaign.Active)
		first := c.BidAmount
		set := func(model campaign.BillingModel, bid money.Micros) {
			_, err := s.Campaigns.UpdateCampaign(t.Context(), c.ID, func(c *campaign.Campaign) error {
				c.BillingModel, c.BidAmount = model, bid
				return nil
			})
			require.NoError(t, err)
		}
		set(c.BillingModel, 3*first)
		set(c.BillingModel, first/2)
		set(campaign.CPA, 2*first)
		set(campaign.CPA, first)
		set(c.BillingModel, 2*first)
		bids, err := s.Inside.HighestBids(t.Context())
		require.NoError(t, err)
		require.NotEqual(t, campaign.CPA, c.BillingModel)
		require.ElementsMatch(t, []ledger.HighestBid{
			{CampaignID: c.ID, BillingModel: c.BillingModel, Bid: 3 * first},
			{CampaignID: c.ID, BillingModel: campaign.CPA, Bid: 2 * first},
		}, slices.DeleteFunc(bids, func(b ledger.HighestBid) bool { return b.CampaignID != c.ID }))
	}},
	{"UnknownIsNotFound", func(t *testing.T, s Stores) {
		_, err := s.Campaigns.Campaign(t.Context(), newID(t))
		requireCode(t, err, errs.NotFound)
		_, err = s.Campaigns.UpdateCampaign(t.Context(), newID(t), func(*campaign.Campaign) error { return nil })
		requireCode(t, err, errs.NotFound)
		_, err = s.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{Campaign: NewCampaign(t, newID(t))})
		requireCode(t, err, errs.NotFound)
	}},
	{"IDIsUnique", func(t *testing.T, s Stores) {
		c := AddCampaign(t, s, AddUser(t, s).ID, campaign.Active)
		n := NewCampaign(t, c.AdvertiserID)
		n.ID = c.ID
		_, err := s.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{Campaign: n})
		requireCode(t, err, errs.Conflict)
		require.Equal(t, c, get(t, s, c.ID))
	}},
	{"ParallelCreationsHaveOneFirst", func(t *testing.T, s Stores) {
		a, b := AddUser(t, s), AddUser(t, s)
		var failed atomic.Int32
		firsts := map[uuid.UUID]*atomic.Int32{a.ID: {}, b.ID: {}}
		together(12, func(i int) {
			owner := []uuid.UUID{a.ID, b.ID}[i%2]
			c := NewCampaign(t, owner)
			if owner == b.ID { // a copy of an older account's ad is no first campaign
				c.Headline, c.Subtext = "Walk further", "Boots of leather for wet hills"
			}
			_, err := s.Campaigns.CreateCampaign(t.Context(),
				campaign.NewCampaign{Campaign: c, Admit: func(first bool) campaign.Status {
					time.Sleep(5 * time.Millisecond) // lets the others start, unless they are blocked
					if first {
						firsts[owner].Add(1)
						return campaign.Active
					}
					return campaign.InReview
				}})
			if err != nil {
				failed.Add(1)
			}
		})
		require.Zero(t, failed.Load())
		for _, owner := range []uuid.UUID{a.ID, b.ID} {
			require.EqualValues(t, 1, firsts[owner].Load())
			_, active, err := s.Campaigns.Campaigns(
				t.Context(), campaign.Filter{AdvertiserID: owner, Status: campaign.Active},
			)
			require.NoError(t, err)
			require.Equal(t, 1, active)
			_, all, err := s.Campaigns.Campaigns(t.Context(), campaign.Filter{AdvertiserID: owner})
			require.NoError(t, err)
			require.Equal(t, 6, all)
		}
	}},
	{"UpdateKeepsTheResult", func(t *testing.T, s Stores) {
		c := AddCampaign(t, s, AddUser(t, s).ID, campaign.Active)
		edit := func(e *campaign.Campaign) {
			for i := range campaign.Table {
				if f := &campaign.Table[i]; f.By == campaign.ByOwner {
					change(t, f, e)
				}
			}
			e.Status, e.BillingModel, e.BillingEvent = campaign.Paused, campaign.CPA, campaign.OnImpression
			e.Goal, e.FrequencyCap, e.ConversionType, e.StartAt = campaign.GoalManual, 0, "", nil
			e.Keywords, e.ExcludeContexts = []string{}, []string{}
			e.PolicyViolations = []campaign.Violation{}
		}
		want := c.Clone()
		edit(&want)
		got, err := s.Campaigns.UpdateCampaign(t.Context(), c.ID, func(e *campaign.Campaign) error {
			require.Equal(t, c, *e)
			edit(e)
			e.ID, e.AdvertiserID, e.CreditFunded = newID(t), newID(t), true
			e.CreatedAt, e.UpdatedAt, e.ConfigVersion, e.SpentToday, e.SpentTotal = time.Time{}, time.Time{}, 99, 99, 99
			return nil
		})
		require.NoError(t, err)
		require.False(t, got.UpdatedAt.Before(c.UpdatedAt))
		want.ConfigVersion, want.SettingsVersion, want.UpdatedAt = FirstHead+2, FirstHead+2, got.UpdatedAt
		require.Equal(t, want, got)
		require.Equal(t, want, get(t, s, c.ID))
	}},
	{"FailedEditChangesNothing", func(t *testing.T, s Stores) {
		c := AddCampaign(t, s, AddUser(t, s).ID, campaign.Active)
		_, err := s.Campaigns.UpdateCampaign(t.Context(), c.ID, func(e *campaign.Campaign) error {
			e.Status, e.Keywords[0], e.Review = campaign.Paused, "changed", &campaign.Review{Decision: "rejected"}
			return errEdit
		})
		require.ErrorIs(t, err, errEdit)
		require.Equal(t, c, get(t, s, c.ID))
		requireIntervals(t, s, c.ID)
		requireReviews(t, s, c.ID)
		_, head, err := s.Changes.ChangedCampaigns(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Equal(t, FirstHead+1, head)
	}},
	{"EditWithoutChangeRaisesNoVersion", func(t *testing.T, s Stores) {
		c := AddCampaign(t, s, AddUser(t, s).ID, campaign.Active)
		got, err := s.Campaigns.UpdateCampaign(t.Context(), c.ID, func(e *campaign.Campaign) error {
			e.Keywords = slices.Clone(e.Keywords)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, c, got)
		require.Equal(t, c, get(t, s, c.ID))
	}},
	{"NothingIsShared", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		n := NewCampaign(t, u.ID)
		created, err := s.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{Campaign: n})
		require.NoError(t, err)
		want := created.Clone()
		n.Keywords[0], created.Regions[0], *created.TargetROAS = "x", "x", 1
		require.Equal(t, want, get(t, s, n.ID))
		var held *campaign.Campaign
		updated, err := s.Campaigns.UpdateCampaign(t.Context(), n.ID, func(e *campaign.Campaign) error {
			held, e.Name = e, "new"
			return nil
		})
		require.NoError(t, err)
		want = updated.Clone()
		held.Keywords[0], updated.Regions[0] = "y", "y"
		require.Equal(t, want, get(t, s, n.ID))
		list, _, err := s.Campaigns.Campaigns(t.Context(), campaign.Filter{})
		require.NoError(t, err)
		list[0].Keywords[0] = "z"
		require.Equal(t, want, get(t, s, n.ID))
	}},
	{"ParallelUpdatesLoseNothing", func(t *testing.T, s Stores) {
		c := AddCampaign(t, s, AddUser(t, s).ID, campaign.Active)
		var failed atomic.Int32
		together(20, func(int) {
			_, err := s.Campaigns.UpdateCampaign(t.Context(), c.ID, func(e *campaign.Campaign) error {
				e.BidAmount++
				return nil
			})
			if err != nil {
				failed.Add(1)
			}
		})
		require.Zero(t, failed.Load())
		require.Equal(t, c.BidAmount+20, get(t, s, c.ID).BidAmount)
	}},
	{"OfWritersToOneVersionOneWins", func(t *testing.T, s Stores) {
		owner := AddUser(t, s)
		c := AddCampaign(t, s, owner.ID, campaign.Active)
		service := campaign.NewService(campaign.Deps{Store: s.Campaigns, Announcer: silent{}})
		seen := service.If(campaign.Versions{c.ConfigVersion})
		var won, refused atomic.Int32
		together(12, func(i int) {
			budget := money.Micros(10+i) * money.USD
			goal := campaign.GoalManual
			edit := campaign.Edit{Fields: campaign.Fields{DailyBudget: &budget, Goal: &goal}}
			switch _, err := seen.Update(t.Context(), owner, c.ID, edit); {
			case err == nil:
				won.Add(1)
			case errs.Is(err, errs.PreconditionFailed):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
		require.EqualValues(t, 1, won.Load())
		require.EqualValues(t, 11, refused.Load())
		now := get(t, s, c.ID)
		_, err := seen.Pause(t.Context(), owner, c.ID)
		require.True(t, errs.Is(err, errs.PreconditionFailed), "%v", err)
		stale := errs.Of(err).Extra["campaign"]
		present, err := service.Get(t.Context(), owner, c.ID)
		require.NoError(t, err)
		require.Equal(t, present, stale, "the present state, as it is read")
		require.Equal(t, now, get(t, s, c.ID))
		both := service.If(campaign.Versions{1, now.ConfigVersion})
		_, err = both.If(campaign.Versions{}).Pause(t.Context(), owner, c.ID)
		require.True(t, errs.Is(err, errs.PreconditionFailed), "no version is named: %v", err)
		_, err = both.If(nil).Pause(t.Context(), owner, c.ID)
		require.NoError(t, err)
	}},
	{"InactiveIntervalsFollowEveryTransition", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		all := []campaign.Status{
			campaign.Draft, campaign.InReview, campaign.Active, campaign.Paused, campaign.Rejected, campaign.Archived,
		}
		for _, from := range all {
			for _, to := range all {
				c := AddCampaign(t, s, u.ID, from)
				var want []ledger.Interval
				if from != campaign.Active {
					want = append(want, ledger.Interval{From: c.UpdatedAt})
				}
				requireIntervals(t, s, c.ID, want...)
				changed := setStatus(t, s, c.ID, to)
				switch {
				case from == campaign.Active && to != campaign.Active:
					want = append(want, ledger.Interval{From: changed.UpdatedAt})
				case from != campaign.Active && to == campaign.Active:
					want[0].To = changed.UpdatedAt
				}
				requireIntervals(t, s, c.ID, want...)
			}
		}
	}},
	{"InactiveIntervalsAddUp", func(t *testing.T, s Stores) {
		c := AddCampaign(t, s, AddUser(t, s).ID, campaign.Draft)
		want := []ledger.Interval{{From: c.UpdatedAt}}
		_, err := s.Campaigns.UpdateCampaign(t.Context(), c.ID, func(e *campaign.Campaign) error {
			e.Headline = "no change of state"
			return nil
		})
		require.NoError(t, err)
		for _, status := range []campaign.Status{
			campaign.InReview, campaign.Active, campaign.Paused, campaign.Archived, campaign.Active, campaign.Rejected,
		} {
			active := get(t, s, c.ID).Status == campaign.Active
			at := setStatus(t, s, c.ID, status).UpdatedAt
			switch {
			case status == campaign.Active:
				want[len(want)-1].To = at
			case active:
				want = append(want, ledger.Interval{From: at})
			}
		}
		require.Len(t, want, 3)
		requireIntervals(t, s, c.ID, want...)
	}},
	{"ReviewsAreAppended", func(t *testing.T, s Stores) {
		c := AddCampaign(t, s, AddUser(t, s).ID, campaign.InReview)
		requireReviews(t, s, c.ID)
		first := campaign.Review{Decision: "rejected", Notes: "too loud", ReviewerID: newID(t), At: keyTime}
		second := campaign.Review{Decision: "approved", ReviewerID: newID(t), At: keyTime.Add(time.Hour)}
		for _, r := range []campaign.Review{first, second} {
			got, err := s.Campaigns.UpdateCampaign(t.Context(), c.ID, func(e *campaign.Campaign) error {
				e.Review = &r
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, &r, got.Review)
			require.Equal(t, &r, get(t, s, c.ID).Review)
		}
		setStatus(t, s, c.ID, campaign.Active) // the same review is not a new decision
		requireReviews(t, s, c.ID, first, second)
	}},
	{"GoalsArePursued", goalsCase},
	{"StandingsAreKept", standingCase},
	{"RecordIsOfTheAdvertiser", recordCase},
	{"WaitingIsForReviewers", waitingCase},
	{"UnreviewedAreFound", unreviewedCase},
	{"SpendIsFilledFromTheLedger", func(t *testing.T, s Stores) {
		c := AddCampaign(t, s, AddUser(t, s).ID, campaign.Active)
		today := day.Of(c.UpdatedAt) // the store's clock
		for _, spend := range []ledger.Spend{
			{CampaignID: c.ID, Day: today, Amount: 300}, {CampaignID: c.ID, Day: today - 1, Amount: 50},
			{CampaignID: c.ID, Day: today, Amount: 7},
		} {
			require.NoError(t, s.Inside.Spend(t.Context(), spend))
		}
		want := c.Clone()
		want.SpentToday, want.SpentTotal = 307, 357
		require.Equal(t, want, get(t, s, c.ID))
		list, _, err := s.Campaigns.Campaigns(t.Context(), campaign.Filter{})
		require.NoError(t, err)
		require.Equal(t, []campaign.Campaign{want}, list)
		changed, _, err := s.Changes.ChangedCampaigns(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Equal(t, []campaign.Campaign{want}, changed)
		updated := setStatus(t, s, c.ID, campaign.Paused)
		require.Equal(t, want.SpentTotal, updated.SpentTotal)
	}},
	{"ListFiltersPagesAndCounts", listCase},
}

// recordCase: reviews of all campaigns of the same advertiser count, once a campaign, and no
// others.
func recordCase(t *testing.T, s Stores) {
	u := AddUser(t, s)
	record := func(id uuid.UUID) campaign.Record {
		got, err := s.Campaigns.Record(t.Context(), id)
		require.NoError(t, err)
		return got
	}
	require.Zero(t, record(newID(t)))
	first, second, foreign := AddCampaign(
		t, s, u.ID, campaign.InReview,
	), AddCampaign(t, s, u.ID, campaign.InReview), AddCampaign(
		t, s, AddUser(t, s).ID, campaign.InReview,
	)
	review := func(id uuid.UUID, decision string, at time.Time) {
		_, err := s.Campaigns.UpdateCampaign(t.Context(), id, func(e *campaign.Campaign) error {
			e.Review = &campaign.Review{Decision: decision, ReviewerID: u.ID, At: at, Creative: "digest"}
			return nil
		})
		require.NoError(t, err)
	}
	review(foreign.ID, "approved", keyTime)
	size := first.TargetingSize() + second.TargetingSize()
	require.Equal(t, campaign.Record{Since: first.CreatedAt, Targeting: size}, record(second.ID))
	review(first.ID, "approved", keyTime)
	review(first.ID, "rejected", keyTime.Add(2*time.Hour))
	review(first.ID, "approved", keyTime.Add(3*time.Hour))
	review(second.ID, "rejected", keyTime.Add(time.Hour))
	_, err := s.Campaigns.UpdateCampaign(t.Context(), second.ID, func(e *campaign.Campaign) error {
		e.Keywords, e.Deals = append(e.Keywords, "brötchen"), append(e.Deals, "deal")
		return nil
	})
	require.NoError(t, err)
	size += len("brötchen") + len("deal") + 2
	want := campaign.Record{Approved: 1, Refused: keyTime.Add(2 * time.Hour), Since: first.CreatedAt, Targeting: size}
	require.Equal(t, want, record(first.ID))
	require.Equal(t, want, record(second.ID))
	require.Equal(t, "digest", get(t, s, first.ID).Review.Creative)

	// An administrator's pause counts as a refusal while it is in force, at the campaign's last
	// change.
	find := func(found ...campaign.Violation) time.Time {
		updated, err := s.Campaigns.UpdateCampaign(
			t.Context(), second.ID, func(e *campaign.Campaign) error { e.PolicyViolations = found; return nil },
		)
		require.NoError(t, err)
		return updated.UpdatedAt
	}
	for _, rule := range []string{campaign.RuleStopped, campaign.RuleBarred} {
		want.Refused = find(campaign.Violation{Rule: "other"}, campaign.Violation{Rule: rule, Holds: true})
		require.Equal(t, want, record(first.ID))
	}
	find(campaign.Violation{Rule: "other"})
	want.Refused = keyTime.Add(2 * time.Hour)
	require.Equal(t, want, record(first.ID))
}

func unreviewedCase(t *testing.T, s Stores) {
	u := AddUser(t, s)
	before := campaign.Creative{
		Format: campaign.Image, Headline: "Before", Subtext: "text", CTALabel: "Buy", CTAURL: "https://a.example/",
		MediaURL: "https://a.example/m", PosterURL: "https://a.example/p", LogoURL: "https://a.example/l",
	}
	var want []uuid.UUID
	for _, status := range []campaign.Status{
		campaign.Draft, campaign.Active, campaign.Paused, campaign.Rejected, campaign.Archived,
	} {
		for _, reviewed := range []bool{false, true} {
			c := AddCampaign(t, s, u.ID, status)
			got, err := s.Campaigns.UpdateCampaign(t.Context(), c.ID, func(e *campaign.Campaign) error {
				e.Reviewed, e.Approved, e.Reach = reviewed, &before, campaign.Pages
				e.PolicyViolations = nil
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, &before, got.Approved)
			require.Empty(t, got.Reach, "no store has it")
			require.Equal(t, got, get(t, s, c.ID))
			if got.Unreviewed() {
				want = append(want, c.ID)
			}
		}
	}
	require.Len(t, want, 2)
	page, total, err := s.Campaigns.Campaigns(t.Context(), campaign.Filter{Waiting: true})
	require.NoError(t, err)
	require.ElementsMatch(t, want, ids(page))
	require.Equal(t, len(want), total)
	for _, c := range page {
		require.Equal(t, campaign.QueuedUnreviewed, c.Queued)
		require.Empty(t, get(t, s, c.ID).Queued, "it is not stored")
	}
}

func waitingCase(t *testing.T, s Stores) {
	u := AddUser(t, s)
	var want []uuid.UUID
	for _, status := range []campaign.Status{
		campaign.Draft, campaign.InReview, campaign.Active, campaign.Paused, campaign.Rejected, campaign.Archived,
	} {
		for _, found := range [][]campaign.Violation{
			{}, {{Rule: "private_host", Holds: true}}, {{Rule: "private_host", Holds: true}, {Rule: "markup"}},
		} {
			n := NewCampaign(t, u.ID)
			n.Status, n.PolicyViolations = status, found
			c, err := s.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{Campaign: n})
			require.NoError(t, err)
			require.Equal(t, found, get(t, s, c.ID).PolicyViolations)
			if c.Waits() {
				want = append(want, c.ID)
			}
		}
	}
	require.Len(t, want, 3+1+1)
	page, _, err := s.Campaigns.Campaigns(t.Context(), campaign.Filter{Waiting: true})
	require.NoError(t, err)
	var pending []uuid.UUID
	for _, c := range page {
		if c.Queued == campaign.QueuedPending {
			pending = append(pending, c.ID)
		}
	}
	require.ElementsMatch(t, want, pending)
	require.Equal(t, pending, ids(page[:len(want)]), "the pending ones come first")
	only, total, err := s.Campaigns.Campaigns(
		t.Context(), campaign.Filter{Waiting: true, Queued: campaign.QueuedPending, Limit: 1, Offset: 1},
	)
	require.NoError(t, err)
	require.Equal(t, len(want), total)
	require.Equal(t, pending[1:2], ids(only))
}

func listCase(t *testing.T, s Stores) {
	a, b := AddUser(t, s), AddUser(t, s)
	statuses := []campaign.Status{campaign.Active, campaign.InReview, campaign.Paused}
	var all []campaign.Campaign
	for i := range 30 {
		n := NewCampaign(t, []uuid.UUID{a.ID, b.ID}[i%2])
		// Not in order of creation, and with ties to be broken by the id.
		n.CreatedAt = keyTime.Add(time.Duration(i*7%10) * time.Minute)
		c, err := s.Campaigns.CreateCampaign(
			t.Context(), campaign.NewCampaign{Campaign: n, Admit: func(bool) campaign.Status { return statuses[i%3] }},
		)
		require.NoError(t, err)
		all = append(all, c)
	}
	slices.SortFunc(all, func(x, y campaign.Campaign) int {
		if c := y.CreatedAt.Compare(x.CreatedAt); c != 0 {
			return c
		}
		return slices.Compare(y.ID[:], x.ID[:])
	})
	for _, f := range []campaign.Filter{
		{}, {AdvertiserID: a.ID}, {Status: campaign.Paused}, {AdvertiserID: b.ID, Status: campaign.InReview},
		{AdvertiserID: newID(t)}, {Status: campaign.Archived},
	} {
		want := slices.DeleteFunc(slices.Clone(all), func(c campaign.Campaign) bool {
			return f.AdvertiserID != uuid.Nil && c.AdvertiserID != f.AdvertiserID ||
				f.Status != "" && c.Status != f.Status
		})
		for _, f.Limit = range []int{0, 1, 4, len(want), campaign.MaxPage} {
			for _, f.Offset = range []int{0, 1, len(want), 1000} {
				page, total, err := s.Campaigns.Campaigns(t.Context(), f)
				require.NoError(t, err)
				require.Equal(t, len(want), total)
				rest := want[min(f.Offset, len(want)):]
				if f.Limit > 0 {
					rest = rest[:min(f.Limit, len(rest))]
				}
				require.NotNil(t, page)
				require.Equal(t, ids(rest), ids(page), "%+v", f)
			}
		}
	}
}

var changeCases = []testCase{
	{"EmptyStore", func(t *testing.T, s Stores) {
		changed, head, err := s.Changes.ChangedCampaigns(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Empty(t, changed)
		require.Equal(t, FirstHead, head)
	}},
	{"OrderLimitAndHead", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		var c []campaign.Campaign
		for range 5 {
			c = append(c, AddCampaign(t, s, u.ID, campaign.Active))
		}
		c[1] = setStatus(t, s, c[1].ID, campaign.Paused) // version 6; 2 is gone
		feed := []campaign.Campaign{c[0], c[2], c[3], c[4], c[1]}
		for _, want := range []struct {
			since   int64
			limit   int
			changed []campaign.Campaign
			head    int64
		}{
			{0, 10, feed, 6}, {0, 2, feed[:2], 3}, {3, 2, feed[2:4], 5}, {5, 2, feed[4:], 6}, {5, 1, feed[4:], 6},
			{1, 10, feed[1:], 6}, {2, 1, feed[1:2], 3}, {6, 10, nil, 6}, {100, 10, nil, 6}, {0, 0, feed[:1], 1},
		} {
			want.since, want.head = FirstHead+want.since, FirstHead+want.head
			changed, head, err := s.Changes.ChangedCampaigns(t.Context(), want.since, want.limit)
			require.NoError(t, err)
			require.Equal(t, want.head, head, "%+v", want)
			require.Equal(t, ids(want.changed), ids(changed))
			if len(changed) > 0 {
				require.Equal(t, want.changed, changed)
			}
		}
	}},
	{"LogOfManyChangesStaysRight", func(t *testing.T, s Stores) {
		u := AddUser(t, s)
		a, b := AddCampaign(t, s, u.ID, campaign.Active), AddCampaign(t, s, u.ID, campaign.Active)
		for i := range 100 {
			_, err := s.Campaigns.UpdateCampaign(t.Context(), a.ID, func(e *campaign.Campaign) error {
				e.Name = strconv.Itoa(i)
				return nil
			})
			require.NoError(t, err)
			changed, head, err := s.Changes.ChangedCampaigns(t.Context(), 0, 10)
			require.NoError(t, err)
			require.Equal(t, FirstHead+3+int64(i), head)
			require.Equal(t, []uuid.UUID{b.ID, a.ID}, ids(changed))
			require.Equal(t, strconv.Itoa(i), changed[1].Name)
		}
	}},
	{"ReaderMissesNothingWhileWritersWrite", followCase},
}

// followCase reads the feed in small pages while eight writers create, edit and fail. The reader
// must end with the content of the store, and the versions must be 1 to n without a gap.
func followCase(t *testing.T, s Stores) {
	const writers, rounds = 8, 12
	owners := []uuid.UUID{AddUser(t, s).ID, AddUser(t, s).ID, AddUser(t, s).ID}
	var mu sync.Mutex
	var versions []int64
	var failures []error
	note := func(c campaign.Campaign, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failures = append(failures, err)
			return
		}
		versions = append(versions, c.ConfigVersion)
	}
	seen := map[uuid.UUID]int64{}
	var since int64
	read := func() (progress bool) {
		changed, head, err := s.Changes.ChangedCampaigns(t.Context(), since, 3)
		require.NoError(t, err)
		last := since
		for _, c := range changed {
			require.Greater(t, c.ConfigVersion, last)
			last = c.ConfigVersion
			seen[c.ID] = c.ConfigVersion
		}
		require.GreaterOrEqual(t, head, last)
		progress = head > since
		since = head
		return progress
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		together(writers, func(i int) {
			var mine []uuid.UUID
			for round := range rounds {
				n := NewCampaign(t, owners[i%len(owners)])
				c, err := s.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{Campaign: n})
				note(c, err)
				mine = append(mine, n.ID)
				note(s.Campaigns.UpdateCampaign(t.Context(), mine[round/2], func(e *campaign.Campaign) error {
					e.BidAmount++
					return nil
				}))
				_, err = s.Campaigns.UpdateCampaign(t.Context(), mine[0], func(e *campaign.Campaign) error {
					e.BidAmount++
					return errEdit
				})
				if err == nil {
					note(campaign.Campaign{}, errs.New(errs.Internal, "a failed edit was kept"))
				}
			}
		})
	}()
	for writing := true; writing; {
		select {
		case <-done:
			writing = false
		default:
			read()
		}
	}
	for read() {
	}
	require.Empty(t, failures)
	slices.Sort(versions)
	for i, version := range versions {
		require.Equal(t, FirstHead+1+int64(i), version)
	}
	require.Equal(t, FirstHead+int64(len(versions)), since)
	list, total, err := s.Campaigns.Campaigns(t.Context(), campaign.Filter{})
	require.NoError(t, err)
	require.Equal(t, writers*rounds, total)
	want := map[uuid.UUID]int64{}
	for _, c := range list {
		want[c.ID] = c.ConfigVersion
	}
	require.Equal(t, want, seen)
}

func get(t *testing.T, s Stores, id uuid.UUID) campaign.Campaign {
	t.Helper()
	c, err := s.Campaigns.Campaign(t.Context(), id)
	require.NoError(t, err)
	return c
}

func setStatus(t *testing.T, s Stores, id uuid.UUID, status campaign.Status) campaign.Campaign {
	t.Helper()
	c, err := s.Campaigns.UpdateCampaign(t.Context(), id, func(e *campaign.Campaign) error {
		e.Status = status
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, status, c.Status)
	return c
}

func requireIntervals(t *testing.T, s Stores, id uuid.UUID, want ...ledger.Interval) {
	t.Helper()
	got, err := s.Inside.Inactive(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, want[i], got[i])
		require.False(t, !got[i].To.IsZero() && got[i].To.Before(got[i].From))
	}
}

func requireReviews(t *testing.T, s Stores, id uuid.UUID, want ...campaign.Review) {
	t.Helper()
	got, err := s.Inside.Reviews(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, want[i], got[i])
	}
}

func ids(list []campaign.Campaign) []uuid.UUID {
	out := make([]uuid.UUID, len(list))
	for i := range list {
		out[i] = list[i].ID
	}
	return out
}

// silent is an announcer without nodes.
type silent struct{}

func (silent) Announce(context.Context, campaign.Campaign) (bool, error) { return true, nil }

// queueOfReviewers: of pending campaigns, and after them of live ones, those of advertisers with
// money come first, then bound ones. A thousand free accounts do not move them.
func queueOfReviewers(t *testing.T, l Ledger) {
	store, ok := l.Campaigns.(Standings)
	require.True(t, ok)
	pays := func(amount money.Micros) uuid.UUID {
		u := AddUser(t, l.Stores)
		if amount > 0 {
			require.NoError(t, l.Deposit(t.Context(), u.ID, amount))
		}
		return u.ID
	}
	add := func(owner uuid.UUID, status campaign.Status, bound campaign.Bound) uuid.UUID {
		fresh := NewCampaign(t, owner)
		fresh.PolicyViolations = nil
		c, err := l.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{
			Campaign: fresh, Admit: func(bool) campaign.Status { return status },
		})
		require.NoError(t, err)
		if bound != "" {
			require.NoError(t, store.KeepStandings(t.Context(), []campaign.StandingChange{
				{CampaignID: c.ID, Seen: c.ConfigVersion, Standing: campaign.Standing{Bound: bound}},
			}))
		}
		return c.ID
	}
	rich, poor, none := pays(9*money.USD), pays(money.USD), pays(0)
	want := []uuid.UUID{
		add(poor, campaign.InReview, ""), add(none, campaign.InReview, campaign.Behind),
		add(rich, campaign.Paused, campaign.Behind), add(poor, campaign.Active, campaign.Unproven),
		add(rich, campaign.Active, ""), add(poor, campaign.Active, ""),
		add(none, campaign.Active, campaign.Unproven),
	}
	reasons := []campaign.Queued{
		campaign.QueuedPending, campaign.QueuedPending, campaign.QueuedBound, campaign.QueuedBound,
		campaign.QueuedUnreviewed, campaign.QueuedUnreviewed, campaign.QueuedBound,
	}
	add(rich, campaign.Draft, "")
	add(rich, campaign.Rejected, campaign.Unproven)
	reviewed := add(rich, campaign.Active, campaign.Unproven)
	_, err := l.Campaigns.UpdateCampaign(t.Context(), reviewed, func(c *campaign.Campaign) error {
		c.Reviewed = true
		return nil
	})
	require.NoError(t, err)
	free := []uuid.UUID{}
	for range 5 {
		free = append(free, add(pays(0), campaign.Active, ""))
	}

	page := func(f campaign.Filter) (list []campaign.Campaign, total int) {
		f.Waiting = true
		list, total, err := l.Campaigns.Campaigns(t.Context(), f)
		require.NoError(t, err)
		return list, total
	}
	list, total := page(campaign.Filter{})
	all := ids(list)
	require.Equal(t, want, all[:len(want)])
	require.ElementsMatch(t, free, all[len(want):])
	require.Equal(t, len(all), total)
	for i, reason := range reasons {
		require.Equal(t, reason, list[i].Queued, i)
		stored := get(t, l.Stores, list[i].ID)
		stored.Queued = reason
		require.Equal(t, stored, list[i])
	}
	for offset := range all {
		list, total := page(campaign.Filter{Limit: 2, Offset: offset})
		require.Equal(t, all[offset:min(len(all), offset+2)], ids(list))
		require.Equal(t, len(all), total)
	}
	list, total = page(campaign.Filter{Queued: campaign.QueuedBound, Limit: 2, Offset: 1})
	require.Equal(t, []uuid.UUID{want[3], want[6]}, ids(list))
	require.Equal(t, 3, total)
	list, _ = page(campaign.Filter{AdvertiserID: poor})
	require.Equal(t, []uuid.UUID{want[0], want[3], want[5]}, ids(list))
	list, total = page(campaign.Filter{Offset: len(all)})
	require.NotNil(t, list)
	require.Empty(t, list)
	require.Equal(t, len(all), total)
}
