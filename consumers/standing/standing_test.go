package standing

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/account/family"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/ledger/owed"
	"adnet/internal/ledger/standing"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/internal/store/memory"
	"adnet/internal/traffic"
	"adnet/schemas/event"
)

// placed are events of a campaign at a publisher.
type placed struct {
	at                              day.Day
	advertiser, campaign, developer uuid.UUID
	counts                          report.Counts
}

// world is an in-memory store with charges and counters of its own.
type world struct {
	*testing.T
	*memory.Campaigns
	stores   *memory.Stores
	now      time.Time
	charged  map[day.Day][]standing.Charge
	days     map[day.Day]map[uuid.UUID]report.Counts
	places   []placed
	delays   []report.Delay
	delaysOf report.DelayQuery
	failure  error // of Delays
	funded   map[uuid.UUID]bool
	families map[uuid.UUID]family.Member
	judged   owed.Input
	inputs   []owed.Input // all of the last turn
	demo     []uuid.UUID
	results  map[uuid.UUID]owed.Result
	writes   int
	readings int
}

func (w *world) Voters(ctx context.Context) ([]standing.Account, error) {
	list, err := w.Campaigns.Voters(ctx)
	for i := range list {
		list[i].Funded = w.funded[list[i].ID]
	}
	return list, err
}

func (w *world) BackedCharges(_ context.Context, since, until day.Day) (list []standing.Charge, err error) {
	for d, charges := range w.charged {
		if since <= d && d <= until {
			list = append(list, charges...)
		}
	}
	return list, nil
}

func (w *world) KeepStandings(ctx context.Context, changes []campaign.StandingChange) error {
	w.writes += len(changes)
	return w.Campaigns.KeepStandings(ctx, changes)
}

func (w *world) Delays(_ context.Context, q report.DelayQuery) ([]report.Delay, error) {
	w.readings++
	w.delaysOf = q
	return w.delays, w.failure
}

func (w *world) Stats(_ context.Context, q report.Query) (report.Result, error) {
	w.readings++
	sums := map[uuid.UUID]report.Counts{}
	if q.Breakdown == report.ByPublisher || len(q.Families) > 0 {
		return w.placed(q)
	}
	for d, of := range w.days {
		for id, counts := range of {
			if q.Since <= d && d <= q.Until {
				sum := sums[id]
				sum.Add(counts)
				sums[id] = sum
			}
		}
	}
	result := report.Result{}
	for id, counts := range sums {
		result.Groups = append(result.Groups, report.Group{Key: id.String(), Counts: counts})
	}
	return result, nil
}

// placed answers from the events of which the publisher is known.
func (w *world) placed(q report.Query) (result report.Result, err error) {
	if err := q.Check(); err != nil {
		return result, err
	}
	for _, e := range w.places {
		if e.at < q.Since || e.at > q.Until {
			continue
		}
		if q.Breakdown == report.ByPublisher {
			result.Groups = append(result.Groups, report.Group{Key: e.developer.String(), Counts: e.counts})
			continue
		}
		for _, f := range q.Families {
			if slices.Contains(f.Advertisers, e.advertiser) && slices.Contains(f.Developers, e.developer) {
				result.Groups = append(result.Groups, report.Group{Key: e.campaign.String(), Counts: e.counts})
			}
		}
	}
	return result, nil
}

func (w *world) PublisherCounts(
	_ context.Context, since day.Day, developers []uuid.UUID,
) (list []traffic.AdCount, err error) {
	w.readings++
	for _, e := range w.places {
		if e.at >= since && slices.Contains(developers, e.developer) {
			list = append(list, traffic.AdCount{
				CampaignID: e.campaign, DeveloperID: e.developer, Impressions: e.counts.Events[event.Type_IMPRESSION],
				Clicks: e.counts.Events[event.Type_CLICK], Conversions: e.counts.Events[event.Type_CONVERSION],
			})
		}
	}
	return list, nil
}

// place adds events of a campaign at a publisher on a day.
func counted(impressions, clicks, conversions int64) report.Events {
	return report.Events{
		event.Type_IMPRESSION: impressions, event.Type_CLICK: clicks, event.Type_CONVERSION: conversions,
	}
}

func (w *world) place(d day.Day, c campaign.Campaign, publisher account.User, counts report.Counts) {
	w.places = append(w.places, placed{d, c.AdvertiserID, c.ID, publisher.DeveloperID, counts})
	if w.days[d] == nil {
		w.days[d] = map[uuid.UUID]report.Counts{}
	}
	sum := w.days[d][c.ID]
	sum.Add(counts)
	w.days[d][c.ID] = sum
}

func (w *world) Families(context.Context) (map[uuid.UUID]family.Member, error) {
	return w.families, nil
}

func newWorld(t *testing.T) (*world, *Standings) {
	w := &world{
		T: t, now: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC), charged: map[day.Day][]standing.Charge{},
		days: map[day.Day]map[uuid.UUID]report.Counts{}, funded: map[uuid.UUID]bool{},
		families: map[uuid.UUID]family.Member{},
	}
	w.stores = memory.New(func() time.Time { return w.now })
	w.Campaigns = w.stores.Campaigns
	return w, w.process()
}

// process returns another process on the same store.
func (w *world) process() *Standings {
	return New(Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Source: w, Ads: w, Cases: w.stores.Publishers,
		Store: w, Families: w,
		Judge: func(in owed.Input) map[uuid.UUID]owed.Result {
			w.judged, w.inputs = in, append(w.inputs, in)
			return w.results
		},
		Demo: func() []uuid.UUID { return w.demo },
		Now:  func() time.Time { return w.now },
	})
}

func (w *world) turn(s *Standings) {
	w.Helper()
	w.now, w.inputs = w.now.Add(time.Minute), nil
	require.NoError(w, s.Turn(w.Context()))
}

func (w *world) user(parent uuid.UUID) account.User {
	w.Helper()
	u := account.User{
		ID: uuid.New(), DeveloperID: uuid.New(), Email: uuid.NewString() + "@example.com", PasswordHash: "x",
		Role: account.RoleAdvertiser, TokenVersion: 1, CreatedAt: w.now, ParentID: parent,
	}
	if parent != uuid.Nil {
		u.Role = account.RoleSeat
	}
	require.NoError(w, w.stores.Accounts.CreateUser(w.Context(), u))
	return u
}

func (w *world) campaign(owner uuid.UUID, change func(*campaign.Campaign)) campaign.Campaign {
	w.Helper()
	c := campaign.Campaign{
		ID: uuid.New(), AdvertiserID: owner, Name: "n", Status: campaign.Active,
		Creative:     campaign.Creative{Format: campaign.Native},
		BillingModel: campaign.CPM, BidAmount: money.USD, DailyBudget: money.USD, TotalBudget: 100 * money.USD,
		Goal: campaign.GoalManual,
	}
	if change != nil {
		change(&c)
	}
	c, err := w.CreateCampaign(w.Context(), campaign.NewCampaign{Campaign: c})
	require.NoError(w, err)
	return c
}

func (w *world) standing(c campaign.Campaign) campaign.Standing {
	w.Helper()
	got, err := w.Campaign(w.Context(), c.ID)
	require.NoError(w, err)
	return got.Standing
}

func (w *world) charge(payer, publisher uuid.UUID, amount money.Micros) {
	today := day.Of(w.now)
	w.charged[today] = append(w.charged[today], standing.Charge{Payer: payer, Publisher: publisher, Amount: amount})
}

func approve(c *campaign.Campaign) {
	c.Review = &campaign.Review{Decision: "approved", ReviewerID: uuid.New(), At: time.Unix(1e9, 0)}
}

func TestChargesGiveVotesForThirtyDays(t *testing.T) {
	w, s := newWorld(t)
	payer, publisher := w.user(uuid.Nil), w.user(uuid.Nil)
	seat := w.user(publisher.ID)
	c := w.campaign(payer.ID, nil)
	paused := w.campaign(payer.ID, func(c *campaign.Campaign) { c.Status = campaign.Paused })
	w.turn(s)
	require.Zero(t, w.standing(c))
	require.Zero(t, w.writes, "an account that was never charged causes no write")
	w.charge(payer.ID, seat.ID, 1_249_999)
	w.turn(s)
	require.EqualValues(t, 200_000, w.standing(c).Vote, "whole steps")
	require.Zero(t, w.standing(paused))
	votes, err := w.PublisherVotes(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID]int64{publisher.DeveloperID: 200_000, seat.DeveloperID: 200_000}, votes)
	before := w.writes
	for range 100 {
		w.turn(s)
	}
	require.Equal(t, before, w.writes, "a minute without news writes nothing")
	_, err = w.UpdateCampaign(t.Context(), paused.ID, func(c *campaign.Campaign) error {
		c.Status = campaign.Active
		return nil
	})
	require.NoError(t, err)
	w.turn(s)
	require.EqualValues(t, 200_000, w.standing(paused).Vote)
	w.now = w.now.Truncate(24 * time.Hour).Add(30*24*time.Hour - 2*time.Minute)
	w.turn(s)
	require.EqualValues(t, 200_000, w.standing(c).Vote)
	w.turn(s)
	require.Zero(t, w.standing(c).Vote, "the charge is older than 30 days")
	votes, err = w.PublisherVotes(t.Context())
	require.NoError(t, err)
	require.Empty(t, votes)
}

func TestReviewAndBalanceGiveVotesInASmallNetwork(t *testing.T) {
	w, s := newWorld(t)
	honest, poor, unseen, other := w.user(uuid.Nil), w.user(uuid.Nil), w.user(uuid.Nil), w.user(uuid.Nil)
	w.funded[honest.ID], w.funded[unseen.ID] = true, true
	c := w.campaign(honest.ID, approve)
	second := w.campaign(honest.ID, nil)
	list := []campaign.Campaign{
		w.campaign(poor.ID, approve), w.campaign(unseen.ID, nil),
		w.campaign(other.ID, func(c *campaign.Campaign) {
			c.Review = &campaign.Review{Decision: "rejected", ReviewerID: uuid.New()}
		}),
	}
	w.turn(s)
	require.EqualValues(t, 1_000_000, w.standing(c).Vote)
	require.EqualValues(t, 1_000_000, w.standing(second).Vote, "the vote is the family's")
	for _, c := range list {
		require.Zero(t, w.standing(c))
	}
	for range 4 {
		w.charge(uuid.New(), other.ID, 5*money.USD)
	}
	w.turn(s)
	require.EqualValues(t, 800_000, w.standing(c).Vote)
	w.families[poor.ID] = family.Member{Family: honest.ID}
	w.turn(s)
	require.Equal(t, campaign.Standing{Family: honest.ID, Vote: 800_000}, w.standing(list[0]))
}

func TestReviewGivesVotesWhereNobodyDeposits(t *testing.T) {
	w, s := newWorld(t)
	c := w.campaign(w.user(uuid.Nil).ID, approve)
	w.turn(s)
	require.Zero(t, w.standing(c).Vote, "it has no balance")
	s.deps.Postpaid = true
	w.turn(s)
	require.EqualValues(t, 1_000_000, w.standing(c).Vote)
}

func TestOwedPartIsStoredWithTheVotes(t *testing.T) {
	w, s := newWorld(t)
	owner, older := w.user(uuid.Nil), uuid.New()
	w.families[owner.ID] = family.Member{Family: owner.ID, BoundTo: older}
	c := w.campaign(owner.ID, func(c *campaign.Campaign) {
		c.BillingModel, c.BidAmount = campaign.CPA, 40*money.USD
		approve(c)
	})
	gone := w.campaign(owner.ID, func(c *campaign.Campaign) {
		c.BillingModel, c.Status = campaign.CPC, campaign.Archived
	})
	paid := w.campaign(owner.ID, nil)
	_, err := w.UpdateCampaign(t.Context(), c.ID, func(c *campaign.Campaign) error {
		c.BidAmount = money.USD
		return nil
	})
	require.NoError(t, err)
	today := day.Of(w.now)
	for d, counts := range map[day.Day]report.Counts{
		today:       {Events: counted(100, 4, 1), Billed: 1, Spend: 40 * money.USD},
		today - 1:   {Events: counted(50, 2, 0)},
		today - 300: {Events: counted(1000, 9, 0)},
	} {
		w.days[d] = map[uuid.UUID]report.Counts{
			c.ID: counts, gone.ID: {Events: counted(7, 0, 0)}, paid.ID: {Events: counted(10, 0, 0), Spend: 50_000},
		}
	}
	want := owed.Result{ClickRate: 900_000, ConvertRate: 1_100_000, Ceiling: money.USD, Bound: campaign.Behind}
	w.results = map[uuid.UUID]owed.Result{c.ID: want}
	w.turn(s)
	require.Equal(t, campaign.Standing{
		ClickRate: 900_000, ConvertRate: 1_100_000, Ceiling: money.USD, Bound: campaign.Behind,
	}, w.standing(c))
	require.Equal(t, 5*money.USD, w.judged.Median)
	require.Equal(t, map[uuid.UUID]owed.Family{
		owner.ID: {BoundTo: older, Since: owner.CreatedAt, Reviewed: true},
	}, w.judged.Families)
	byID := map[uuid.UUID]owed.Campaign{}
	for _, of := range w.judged.Campaigns {
		byID[of.ID] = of
	}
	minute := time.Minute
	require.Equal(t, owed.Campaign{
		ID: c.ID, Family: owner.ID, Billing: campaign.CPA, Bid: 40 * money.USD, Impressions: 1150, Clicks: 15,
		Conversions: 1, Acts: 1, Charged: 40 * money.USD, Billed: 1,
		Former: []owed.Former{{Billing: campaign.CPA, Bid: 40 * money.USD}},
		Recent: []owed.Recent{
			{Age: (12*time.Hour + minute) / 2, Impressions: 100, Clicks: 4},
			{Age: 24*time.Hour + minute, Impressions: 50, Clicks: 2},
		},
	}, byID[c.ID], "the highest bid counts")
	require.EqualValues(t, 21, byID[gone.ID].Impressions, "a removed campaign is still owed for")
	require.Zero(t, byID[paid.ID].Acts)

	readings := w.readings
	w.turn(s)
	require.Equal(t, 2*recentSpans, w.readings-readings, "older days are read once an hour")
	// A late event of an old day is counted within the hour, and every event once.
	w.days[today-300][c.ID] = report.Counts{Events: counted(1001, 0, 0)}
	for range 61 {
		w.turn(s)
	}
	for _, of := range w.judged.Campaigns {
		if of.ID == c.ID {
			require.EqualValues(t, 1151, of.Impressions)
		}
	}
	w.now = w.now.Add(13 * time.Hour) // another day
	w.turn(s)
	for _, of := range w.judged.Campaigns {
		if of.ID == c.ID {
			require.EqualValues(t, 1151, of.Impressions)
		}
	}
}

// Two processes, each behind the other's writes, end with the same standings.
func TestProcessesAgree(t *testing.T) {
	w, s := newWorld(t)
	other := w.process()
	payer := w.user(uuid.Nil)
	c := w.campaign(payer.ID, nil)
	w.turn(s)
	w.turn(other)
	w.charge(payer.ID, uuid.New(), 5*money.USD)
	w.turn(s)
	first, err := w.Campaign(t.Context(), c.ID)
	require.NoError(t, err)
	w.turn(other)
	w.turn(s)
	again, err := w.Campaign(t.Context(), c.ID)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.EqualValues(t, campaign.FullVote, again.Standing.Vote)
}

// Acts and impressions at publishers of the advertiser's own family prove nothing: neither those of
// its own account, which are never charged, nor charged ones of another account of the family.
func TestOwnFamilysPublishersDoNotCount(t *testing.T) {
	w, s := newWorld(t)
	thief, other, seat, stranger := w.user(uuid.Nil), w.user(uuid.Nil), account.User{}, w.user(uuid.Nil)
	seat = w.user(other.ID)
	w.families[other.ID] = family.Member{Family: thief.ID}
	byClick := func(c *campaign.Campaign) { c.BillingModel = campaign.CPC }
	c := w.campaign(thief.ID, byClick)
	theirs := w.campaign(stranger.ID, byClick)
	paid := w.campaign(other.ID, nil)
	today := day.Of(w.now)
	acts := report.Counts{Events: counted(100, 7, 2), Billed: 7, Spend: 7 * money.USD}
	for _, d := range []day.Day{today, today - 1, today - 12, today - 200} {
		w.place(d, c, thief, report.Counts{Events: counted(30, 3, 1)})
		w.place(d, c, other, acts)
		w.place(d, c, seat, acts)
		w.place(d, c, stranger, report.Counts{Events: counted(1000, 2, 0), Billed: 1, Spend: money.USD})
		w.place(d, theirs, thief, acts)
		w.place(d, theirs, stranger, report.Counts{Events: counted(5, 5, 0)})
		w.place(d, paid, thief, acts)
	}
	w.turn(s)
	byID := map[uuid.UUID]owed.Campaign{}
	for _, of := range w.judged.Campaigns {
		byID[of.ID] = of
	}
	got := byID[c.ID]
	require.EqualValues(t, []int64{4000, 8, 0, 4}, []int64{got.Impressions, got.Clicks, got.Conversions, got.Acts})
	require.Equal(t, 4*money.USD, got.Charged)
	for _, r := range got.Recent {
		require.EqualValues(t, 1000, r.Impressions)
	}
	require.Len(t, got.Recent, 3)
	got = byID[theirs.ID]
	require.EqualValues(t, []int64{400, 28, 28}, []int64{got.Impressions, got.Clicks, got.Acts}, "what strangers show counts")
	require.Zero(t, byID[paid.ID].Impressions)
	require.Equal(t, money.USD, w.judged.Median, "the thief's own charges set no price")
}

// The counters at publishers with an open case about the campaign's acts are in doubt, until it ends.
func TestActsWithAnOpenCaseAreInDoubt(t *testing.T) {
	w, s := newWorld(t)
	owner, thief, honest, member := w.user(uuid.Nil), w.user(uuid.Nil), w.user(uuid.Nil), w.user(uuid.Nil)
	w.families[member.ID] = family.Member{Family: owner.ID}
	byClick := func(c *campaign.Campaign) { c.BillingModel = campaign.CPC }
	c, other := w.campaign(owner.ID, byClick), w.campaign(honest.ID, byClick)
	today := day.Of(w.now)
	for _, d := range []day.Day{today, today - 20} {
		for _, at := range []account.User{thief, honest, member} {
			w.place(d, c, at, report.Counts{Events: counted(50, 20, 1), Billed: 20, Spend: money.USD})
			w.place(d, other, at, report.Counts{Events: counted(7, 0, 0)})
		}
	}
	read := 0
	doubted := func(id uuid.UUID) owed.Doubted {
		before := w.readings
		w.turn(s)
		read = w.readings - before
		at := slices.IndexFunc(w.judged.Campaigns, func(c owed.Campaign) bool { return c.ID == id })
		return w.judged.Campaigns[at].Doubted
	}
	require.Zero(t, doubted(c.ID))
	require.Zero(t, doubted(c.ID))
	usual := read
	open := func(at account.User) uuid.UUID {
		of := ledger.Quarantine{ID: uuid.New(), DeveloperID: at.DeveloperID, OpenedAt: w.now, Evidence: traffic.Evidence{
			Rule: traffic.QuarantineActs, Campaign: c.ID,
			Today: traffic.PublisherDay{DeveloperID: at.DeveloperID, Day: today},
		}}
		opened, err := w.stores.Publishers.OpenQuarantine(t.Context(), of)
		require.NoError(t, err)
		require.True(t, opened)
		return of.ID
	}
	held := open(thief)
	require.Equal(t, owed.Doubted{Impressions: 100, Clicks: 40, Conversions: 2}, doubted(c.ID))
	require.Equal(t, usual+1, read)
	require.Zero(t, doubted(other.ID), "of another campaign")
	require.Equal(t, usual, read, "they are read when cases change")
	open(member)
	require.EqualValues(t, 100, doubted(c.ID).Impressions, "the own family's do not count anyway")
	open(honest)
	require.EqualValues(t, 200, doubted(c.ID).Impressions)
	_, err := w.stores.Publishers.EndQuarantine(t.Context(), ledger.QuarantineVerdict{
		Case: held, Decision: ledger.QuarantineRelease, By: uuid.New(), Note: "readers", At: w.now,
	})
	require.NoError(t, err)
	require.EqualValues(t, 100, doubted(c.ID).Impressions, "a released publisher is in no doubt")
}

// Credits that were charged at the own family's publishers are spent nevertheless.
func TestOwnFamilysChargesSpendCredits(t *testing.T) {
	w, s := newWorld(t)
	owner := w.user(uuid.Nil)
	c := w.campaign(owner.ID, nil)
	w.place(day.Of(w.now), c, owner, report.Counts{Events: counted(10, 0, 0), Billed: 10, Spend: 10 * money.USD})
	w.turn(s)
	for credits, funded := range map[money.Micros]bool{10 * money.USD: false, 11 * money.USD: true} {
		k := s.campaigns.all[c.ID]
		k.credits = credits
		s.campaigns.all[c.ID] = k
		ballot := standing.Ballot{Funded: map[uuid.UUID]bool{}}
		s.addCredits(&ballot, w.now)
		require.Equal(t, funded, ballot.Funded[owner.ID], credits)
	}
}

func TestLargeFamilyIsReadInParts(t *testing.T) {
	large, small := &report.Relatives{}, &report.Relatives{}
	for range report.MaxRelatives + 1 {
		large.Advertisers, large.Developers = append(large.Advertisers, uuid.New()), append(large.Developers, uuid.New())
	}
	small.Advertisers, small.Developers = []uuid.UUID{uuid.New()}, []uuid.UUID{uuid.New(), uuid.New()}
	families := map[uuid.UUID]*report.Relatives{uuid.New(): large, uuid.New(): small}
	for range report.MaxRelatives {
		families[uuid.New()] = small
	}
	pairs := map[[2]uuid.UUID]int{}
	for _, query := range batches(families) {
		require.NoError(t, (&report.Query{Families: query}).Check())
		for _, f := range query {
			if len(f.Developers) > 2 {
				require.Len(t, query, 1, "an account is in one family of a query")
			}
			for _, a := range []uuid.UUID{f.Advertisers[0], f.Advertisers[len(f.Advertisers)-1]} {
				for _, d := range f.Developers {
					pairs[[2]uuid.UUID{a, d}]++
				}
			}
		}
	}
	last := len(large.Advertisers) - 1
	for _, d := range large.Developers {
		require.NotZero(t, pairs[[2]uuid.UUID{large.Advertisers[0], d}])
		require.NotZero(t, pairs[[2]uuid.UUID{large.Advertisers[last], d}])
	}
	require.NotZero(t, pairs[[2]uuid.UUID{small.Advertisers[0], small.Developers[1]}])
}

func TestCurveIsLearntFromFamiliesThatPay(t *testing.T) {
	w, s := newWorld(t)
	payers := make([]account.User, 10)
	for i := range payers {
		payers[i] = w.user(uuid.Nil)
		w.charge(payers[i].ID, uuid.New(), 5*money.USD)
		w.delays = append(w.delays, report.Delay{AdvertiserID: payers[i].ID, Hours: 2, Conversions: 1000})
	}
	for range 50 { // accounts that were charged next to nothing
		w.delays = append(w.delays, report.Delay{AdvertiserID: w.user(uuid.Nil).ID, Hours: 700, Conversions: 100_000})
	}
	w.turn(s)
	today := day.Of(w.now)
	require.Equal(t, report.DelayQuery{Since: today - 90, Until: today - 31}, w.delaysOf)
	require.Less(t, w.judged.Curve.Due(time.Hour), owed.Same/100)
	require.Greater(t, w.judged.Curve.Due(6*time.Hour), owed.Same*99/100, "most within two hours, and no one else counts")

	learnt := w.judged.Curve
	w.failure, w.delays = errors.New("unavailable"), nil
	w.now = w.now.Add(restEvery)
	w.turn(s)
	require.Equal(t, learnt, w.judged.Curve, "after an error the last one stays")
	w.failure = nil
	w.turn(s)
	require.Equal(t, learnt, w.judged.Curve, "read once an hour")
	w.now = w.now.Add(restEvery)
	w.turn(s)
	require.Equal(t, owed.FirstCurve, w.judged.Curve)
}

// A change of what a campaign pays for neither removes a debt nor turns charged impressions into
// acts.
func TestChangeOfBillingKeepsTheDebt(t *testing.T) {
	w, s := newWorld(t)
	s.deps.Judge = owed.Judge
	thief, honest := w.user(uuid.Nil), w.user(uuid.Nil)
	perAct := func(c *campaign.Campaign) { c.BillingModel, c.BidAmount = campaign.CPC, money.USD }
	perImpression := func(c *campaign.Campaign) error {
		c.BillingModel, c.BidAmount = campaign.CPM, 10_000
		return nil
	}
	today := day.Of(w.now)
	change := func(c campaign.Campaign, how func(*campaign.Campaign) error) {
		_, err := w.UpdateCampaign(t.Context(), c.ID, how)
		require.NoError(t, err)
	}
	used, paid := w.campaign(thief.ID, perAct), w.campaign(honest.ID, perAct)
	w.days[today] = map[uuid.UUID]report.Counts{
		used.ID: {Events: counted(1000, 0, 0)},
		paid.ID: {Events: counted(1000, 17, 0), Billed: 17, Spend: 17 * money.USD},
	}
	change(used, perImpression)
	change(paid, perImpression)
	next, honestNext := w.campaign(thief.ID, perAct), w.campaign(honest.ID, perAct)
	w.turn(s)
	require.Equal(t, campaign.Unproven, w.standing(next).Bound)
	require.Empty(t, w.standing(honestNext).Bound, "it was charged for clicks")

	byClick, early := w.user(uuid.Nil), w.user(uuid.Nil)
	clicks, clicked := w.campaign(byClick.ID, perAct), w.campaign(early.ID, perAct)
	w.days[today][clicks.ID] = report.Counts{Events: counted(1000, 0, 0)}
	w.days[today][clicked.ID] = report.Counts{Events: counted(1000, 15, 0)}
	for _, c := range []campaign.Campaign{clicks, clicked} {
		change(c, func(c *campaign.Campaign) error {
			c.BillingModel, c.BidAmount = campaign.CPA, 10_000
			return nil
		})
	}
	s.highest = nil
	w.turn(s)
	require.Equal(t, campaign.Unproven, w.standing(clicks).Bound, "conversions are not expected so soon, but clicks were")
	require.Empty(t, w.standing(clicked).Bound, "it had its clicks")

	other := w.user(uuid.Nil)
	turned := w.campaign(other.ID, nil)
	w.days[today][turned.ID] = report.Counts{Events: counted(1000, 0, 0), Billed: 1000, Spend: 10_000}
	change(turned, func(c *campaign.Campaign) error {
		c.BillingModel, c.BidAmount = campaign.CPC, money.USD
		return nil
	})
	w.turn(s)
	require.Equal(t, campaign.Unproven, w.standing(turned).Bound, "impressions are no clicks")
}
