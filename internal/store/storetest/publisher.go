package storetest

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
	"adnet/internal/traffic"
)

// Publishers holds the methods that invalid-traffic control needs of a store.
type Publishers interface {
	PublisherDays(ctx context.Context, since, last day.Day) ([]traffic.PublisherDay, error)
	FamilyOwners(ctx context.Context) (map[uuid.UUID]uuid.UUID, error)
	ReaderSums(ctx context.Context, since, last day.Day, impressions int64) ([]traffic.PublisherDay, error)
	OpenQuarantine(ctx context.Context, c ledger.Quarantine) (bool, error)
	Quarantines(ctx context.Context, q ledger.QuarantineQuery) ([]ledger.Quarantine, error)
	EndQuarantine(ctx context.Context, v ledger.QuarantineVerdict) (ledger.Quarantine, error)
	Reversals(ctx context.Context, transaction uuid.UUID) ([]ledger.Reversal, error)
	SetMintCap(ctx context.Context, c ledger.MintCap) error
	ActCases
}

var publisherCases = []ledgerCase{
	{"ClickNeedsImpression", clickNeedsImpression},
	{"InvalidCountsOnce", invalidCountsOnce},
	{"Unproven", unprovenCounts},
	{"UnreadClicks", unreadClicks},
	{"MintCap", mintCap},
	{"MintCapAtOnce", mintCapAtOnce},
	{"PublisherDays", publisherDays},
	{"QuarantineReleased", quarantineReleased},
	{"QuarantineClawedBack", quarantineClawedBack},
	{"ClawbackNamesWhatItTakesBack", clawbackNames},
	{"ClawbackReopensBudgets", clawbackReopens},
	{"ClawbackUnderLoad", clawbackUnderLoad},
	{"QuarantineOnce", quarantineOnce},
	{"QuarantineEndsUnderLoad", quarantineEndsUnderLoad},
	{"SeatsOfOneOwner", ownersTraffic},
	{"FamiliesOwnTraffic", familyTraffic},
	{"SeatQuarantine", seatQuarantine},
	{"SeatMintCap", seatMintCap},
	{"DaysOfOneOwner", ownersDays},
	{"DaysOfAFamily", familyDays},
	{"Readers", readers},
}

// impressions returns n impressions of a developer, settled as the next batch of partition 0.
func impressions(
	t *testing.T, l Ledger, developer uuid.UUID, limit money.Credits, first int64, records ...ledger.Record,
) []ledger.Outcome {
	t.Helper()
	b := batchOf(partition(0), first, records...)
	b.MintCap = limit
	effects, err := apply(t.Context(), l.Settler, b)
	require.NoError(t, err)
	return effects.Applied[len(effects.Applied)-1].Outcomes
}

// creditsOf returns a publisher's Credits by state.
func creditsOf(t *testing.T, l Ledger, developer uuid.UUID) ledger.CreditBalance {
	t.Helper()
	b, err := l.Accounts.CreditBalance(t.Context(), developer)
	require.NoError(t, err)
	days, err := l.Deposits.WaitingDays(t.Context(), developer)
	require.NoError(t, err)
	sums := map[ledger.WaitReason]int64{}
	for _, w := range ledger.Waits(days) {
		sums[w.Reason] += w.Credits
	}
	require.Equal(t, [3]money.Credits{b.Pending, b.Held, b.Quarantined}, [3]money.Credits{
		money.Credits(sums[ledger.WaitUnbacked]), money.Credits(sums[ledger.WaitHold] + sums[ledger.WaitConcentration]),
		money.Credits(sums[ledger.WaitCase]),
	}, "what waits is told with a reason")
	return b
}

// requireCredits requires a publisher to have so many Credits, pending, held or spendable.
func requireCredits(t *testing.T, l Ledger, developer uuid.UUID, want money.Credits) {
	t.Helper()
	b := creditsOf(t, l, developer)
	require.Equal(t, want, b.Pending+b.Held+b.Spendable)
}

func clickNeedsImpression(t *testing.T, l Ledger) {
	c := priced(t, l, AddUser(t, l.Stores), money.USD, 10*money.USD)
	developer := newID(t)
	view := eventOf(t, c, developer, ledger.Impression)
	click := view
	click.Event.Type = ledger.Click
	lonely := ledger.Verdict("invalid_traffic:click_without_impression")
	verdict := func(first int64, records ...ledger.Record) (got []ledger.Verdict) {
		for _, o := range impressions(t, l, developer, 0, first, records...) {
			got = append(got, o.Verdict)
		}
		return got
	}
	const early, repeat = ledger.VerdictEarly, ledger.Duplicate
	six := slices.Repeat([]ledger.Record{click}, 6)
	require.Equal(
		t, []ledger.Verdict{early, early, early, early, lonely, repeat}, verdict(0, six...), "it counts once",
	)
	first := view
	view.Event.AuctionID = newID(t)
	click.Event.AuctionID = view.Event.AuctionID
	robot := click
	robot.Event.InvalidTraffic = traffic.RuleBot
	require.Equal(
		t, []ledger.Verdict{ledger.InvalidTraffic + traffic.RuleBot, ledger.OK, ledger.OK, repeat, repeat},
		verdict(6, robot, click, view, click, click), "what was invalid used up no key",
	)
	require.Equal(t, []ledger.Verdict{ledger.OK}, verdict(11, first))
	require.Equal(t, []ledger.Verdict{ledger.Duplicate}, verdict(12, click))
	other := eventOf(t, c, developer, ledger.Impression)
	require.Equal(t, []ledger.Verdict{ledger.OK}, verdict(13, other))
	other.Event.Type = ledger.Click
	require.Equal(t, []ledger.Verdict{ledger.OK}, verdict(14, other), "the impression is in an earlier batch")
	requireClean(t, l, ledger.VerifyOptions{})
}

// invalidCountsOnce simulates a stranger with the links of a publisher's ads: the stranger's
// repeats, and events beside the reader's, count against neither publisher nor reader.
func invalidCountsOnce(t *testing.T, l Ledger) {
	c := priced(t, l, AddUser(t, l.Stores), money.USD, 10*money.USD)
	developer := newID(t)
	next := int64(0)
	verdicts := func(records ...ledger.Record) (got []ledger.Verdict) {
		for _, o := range impressions(t, l, developer, 0, next, records...) {
			got = append(got, o.Verdict)
		}
		next += int64(len(records))
		return got
	}
	robots := func(r ledger.Record) ledger.Record { r.Event.InvalidTraffic = traffic.RuleBot; return r }
	invalid, repeat := ledger.InvalidTraffic+traffic.RuleBot, ledger.Duplicate
	seen, late, alone := eventOf(
		t, c, developer, ledger.Impression,
	), eventOf(t, c, developer, ledger.Impression), eventOf(t, c, developer, ledger.Impression)
	both, click := eventOf(t, c, developer, ledger.Impression), seen
	click.Event.Type = ledger.Click

	require.Equal(
		t, []ledger.Verdict{ledger.OK, repeat, repeat}, verdicts(seen, robots(seen), robots(seen)),
		"beside the reader, in its batch",
	)
	require.Equal(t, []ledger.Verdict{repeat}, verdicts(robots(seen)), "and later")
	require.Equal(
		t, []ledger.Verdict{invalid, repeat, ledger.OK}, verdicts(robots(late), robots(late), late),
		"before the reader, in its batch",
	)
	require.Equal(t, []ledger.Verdict{invalid, repeat}, verdicts(robots(alone), robots(alone)))
	require.Equal(
		t, []ledger.Verdict{repeat, ledger.OK, repeat}, verdicts(robots(alone), alone, robots(alone)),
		"before the reader, in a batch of its own",
	)
	require.Equal(
		t, []ledger.Verdict{invalid, ledger.OK, repeat}, verdicts(robots(click), click, robots(click)),
		"types are counted apart",
	)
	require.Equal(t, []ledger.Verdict{invalid}, verdicts(robots(both)))
	page := func() ledger.Record {
		r := eventOf(t, c, developer, ledger.Impression)
		r.Event.Browser = true
		return r
	}
	viewed, stolen := page(), page()
	clicked := viewed
	clicked.Event.Type = ledger.Click
	require.Equal(
		t, []ledger.Verdict{invalid, ledger.OK, ledger.OK, invalid},
		verdicts(robots(viewed), viewed, clicked, robots(stolen)), "of a browser key's ads",
	)
	var sum traffic.PublisherDay
	days, err := l.Publishers.PublisherDays(t.Context(), day.Of(now), day.Of(now))
	require.NoError(t, err)
	for _, d := range days {
		if d.DeveloperID == developer {
			sum = d
		}
	}
	require.Equal(t, traffic.PublisherDay{
		DeveloperID: developer, Day: day.Of(now), Minted: 4, Impressions: 4, Clicks: 2, Invalid: 3, Redeemed: 2,
		BrowserMinted: 1, BrowserImpressions: 1, BrowserClicks: 1, BrowserInvalid: 2,
	}, sum, "of four auctions one has no valid impression; those of browser keys are apart")
	requireClean(t, l, ledger.VerifyOptions{})
}

// Unproven holds the counts of unverified events.
type Unproven interface {
	AddUnproven(ctx context.Context, counts []traffic.Unproven) error
	Unproven(ctx context.Context, campaign uuid.UUID, since, until day.Day) (map[string]int64, error)
	UnreadClicks(ctx context.Context, advertiser, campaign uuid.UUID, since, until day.Day) (map[day.Day]int64, error)
}

// Conversions whose click id cannot be read are counted by day, for a campaign and its owner.
func unreadClicks(t *testing.T, l Ledger) {
	store := l.Unproven
	owner := AddUser(t, l.Stores)
	c := priced(t, l, owner, money.USD, 10*money.USD)
	sibling := priced(t, l, owner, money.USD, 10*money.USD)
	stranger := priced(t, l, AddUser(t, l.Stores), money.USD, 10*money.USD)
	today, minute := day.Of(now), day.MinuteOf(now)
	add := func(campaign uuid.UUID, reason string, at day.Minute, events int64) {
		t.Helper()
		require.NoError(t, store.AddUnproven(t.Context(), []traffic.Unproven{
			{CampaignID: campaign, Reason: reason, Minute: at, Events: events},
		}))
	}
	add(c.ID, traffic.ReasonClickID, minute, 2)
	add(c.ID, traffic.ReasonClickID, minute+1, 3)
	add(c.ID, traffic.ReasonForged, minute, 7)
	add(c.ID, traffic.ReasonClickID, minute-24*60, 11)
	add(sibling.ID, traffic.ReasonClickID, minute, 13)
	add(stranger.ID, traffic.ReasonClickID, minute, 17)
	for name, q := range map[string]struct {
		advertiser, campaign uuid.UUID
		since                day.Day
		want                 map[day.Day]int64
	}{
		"a campaign":       {uuid.Nil, c.ID, today, map[day.Day]int64{today: 5}},
		"two days":         {uuid.Nil, c.ID, today - 1, map[day.Day]int64{today - 1: 11, today: 5}},
		"its owner":        {c.AdvertiserID, uuid.Nil, today, map[day.Day]int64{today: 18}},
		"another account":  {stranger.AdvertiserID, uuid.Nil, today, map[day.Day]int64{today: 17}},
		"nobody's account": {newID(t), uuid.Nil, today, map[day.Day]int64{}},
	} {
		got, err := store.UnreadClicks(t.Context(), q.advertiser, q.campaign, q.since, today)
		require.NoError(t, err)
		require.Equal(t, q.want, got, name)
	}
	all, err := store.UnreadClicks(t.Context(), uuid.Nil, uuid.Nil, today, today)
	require.NoError(t, err)
	require.GreaterOrEqual(t, all[today], int64(35))
}

func unprovenCounts(t *testing.T, l Ledger) {
	store := l.Unproven
	mine, other := newID(t), newID(t)
	minute := day.MinuteOf(now)
	add := func(campaign uuid.UUID, reason string, at day.Minute, events int64) {
		t.Helper()
		require.NoError(t, store.AddUnproven(t.Context(), []traffic.Unproven{
			{
				CampaignID: campaign, Reason: reason, Minute: at, Events: events,
				Sample: &traffic.Sample{At: now, Type: "click", Developer: other},
			},
			{CampaignID: other, Reason: reason, Minute: at, Events: 1},
		}))
	}
	read := func(since, until day.Day) map[string]int64 {
		t.Helper()
		sums, err := store.Unproven(t.Context(), mine, since, until)
		require.NoError(t, err)
		return sums
	}
	today := day.Of(now)
	require.Empty(t, read(0, today))
	together(8, func(int) { add(mine, traffic.ReasonForged, minute, 5) })
	add(mine, traffic.ReasonUnsigned, minute+1, 2)
	add(mine, traffic.ReasonUnsigned, minute-24*60, 7)
	require.Equal(t, map[string]int64{traffic.ReasonForged: 40, traffic.ReasonUnsigned: 2}, read(today, today))
	require.Equal(t, map[string]int64{traffic.ReasonForged: 40, traffic.ReasonUnsigned: 9}, read(today-1, today))
	add(mine, traffic.ReasonForged, minute+(traffic.UnprovenDays+1)*24*60, 1)
	require.Empty(t, read(0, today), "old counts leave")
}

func mintCap(t *testing.T, l Ledger) {
	p := l.Publishers
	c := priced(t, l, AddUser(t, l.Stores), money.USD, 10*money.USD)
	developer := newID(t)
	view := func() ledger.Record { return eventOf(t, c, developer, ledger.Impression) }
	plain := ledger.Outcome{Verdict: ledger.OK, Charge: 10_000, Minted: 1}
	capped := ledger.Outcome{Verdict: ledger.OK, Charge: 10_000, Credit: ledger.CreditCapped}
	require.Equal(t, []ledger.Outcome{plain, plain}, impressions(t, l, developer, 3, 0, view(), view()))
	require.Equal(
		t, []ledger.Outcome{plain, capped, capped}, impressions(t, l, developer, 3, 2, view(), view(), view()),
		"counted over batches",
	)
	requireCredits(t, l, developer, 3)
	own := money.Credits(4)
	set := ledger.MintCap{DeveloperID: developer, Cap: &own, By: newID(t), Note: "trusted", At: now}
	require.NoError(t, p.SetMintCap(t.Context(), set))
	require.Equal(t, []ledger.Outcome{plain, capped}, impressions(t, l, developer, 3, 5, view(), view()))
	set.Cap = nil
	require.NoError(t, p.SetMintCap(t.Context(), set))
	require.Equal(t, []ledger.Outcome{capped}, impressions(t, l, developer, 3, 7, view()), "the installation's again")
	tomorrow := view()
	tomorrow.Event.ReceivedAt = now.AddDate(0, 0, 1)
	require.Equal(t, []ledger.Outcome{plain}, impressions(t, l, developer, 3, 8, tomorrow))
	requireCredits(t, l, developer, 5)
	// The store records the decision as it was made.
	plan := nextPlan(t, l, 100, everything(partition(0))...)
	require.Equal(t, capped, plan[0].Outcomes[7])
	requireClean(t, l, ledger.VerifyOptions{})
}

// seatMintCap: each seat of an owner has its own cap, counted separately: a capped exchange takes
// nothing from another, nor from its owner.
func seatMintCap(t *testing.T, l Ledger) {
	p := l.Publishers
	owner := AddUser(t, l.Stores)
	capped, _ := addSeat(t, l.Stores, owner)
	other, _ := addSeat(t, l.Stores, owner)
	c := priced(t, l, AddUser(t, l.Stores), money.USD, 10*money.USD)
	least := money.Credits(1)
	require.NoError(
		t,
		p.SetMintCap(
			t.Context(), ledger.MintCap{DeveloperID: capped.DeveloperID, Cap: &least, By: owner.ID, Note: "new", At: now},
		),
	)
	var records []ledger.Record
	for _, developer := range []uuid.UUID{capped.DeveloperID, other.DeveloperID, owner.DeveloperID} {
		for range 4 {
			records = append(records, eventOf(t, c, developer, ledger.Impression))
		}
	}
	outcomes := impressions(t, l, uuid.Nil, 3, 0, records...)
	minted := make([]int, 3)
	for i := range outcomes {
		require.EqualValues(t, 10_000, outcomes[i].Charge, "advertisers pay all the same")
		minted[i/4] += int(outcomes[i].Minted)
	}
	require.Equal(t, []int{1, 3, 3}, minted)
	requireCredits(t, l, capped.DeveloperID, 1)
	requireCredits(t, l, other.DeveloperID, 3)
	requireCredits(t, l, owner.DeveloperID, 3)
	requireClean(t, l, ledger.VerifyOptions{})
}

// mintCapAtOnce mints for one publisher from several partitions concurrently: the cap is exact to
// the Credit.
func mintCapAtOnce(t *testing.T, l Ledger) {
	c := priced(t, l, AddUser(t, l.Stores), 100*money.USD, 100*money.USD)
	developers := []uuid.UUID{newID(t), newID(t)}
	batches := make([]ledger.Batch, 8)
	for i := range batches {
		var records []ledger.Record
		for n := range 10 {
			r := eventOf(t, c, developers[(n+i)%2], ledger.Impression)
			if n == 3 {
				r.Event.InvalidTraffic = traffic.RuleBot
			}
			records = append(records, r)
		}
		batches[i] = batchOf(partition(int32(i)), 0, records...)
		batches[i].MintCap = 13
	}
	together(len(batches), func(i int) {
		_, err := apply(t.Context(), l.Settler, batches[i])
		require.NoError(t, err)
	})
	for _, developer := range developers {
		requireCredits(t, l, developer, 13)
	}
	days, err := l.Publishers.PublisherDays(t.Context(), 0, day.Of(now))
	require.NoError(t, err)
	require.Len(t, days, 2)
	var sum traffic.PublisherDay
	for _, d := range days {
		sum.Add(d)
	}
	require.Equal(t, traffic.PublisherDay{Minted: 26, Capped: 46, Impressions: 72, Invalid: 8}, sum)
	requireClean(t, l, ledger.VerifyOptions{})
}

func publisherDays(t *testing.T, l Ledger) {
	owner := AddUser(t, l.Stores)
	c := priced(t, l, owner, money.USD, 10*money.USD)
	developer, other := newID(t), newID(t)
	view := eventOf(t, c, developer, ledger.Impression)
	click, before := view, eventOf(t, c, developer, ledger.Impression)
	click.Event.Type = ledger.Click
	before.Event.ReceivedAt = now.AddDate(0, 0, -2)
	robot, sandbox, own := eventOf(
		t, c, developer, ledger.Impression,
	), eventOf(t, c, developer, ledger.Impression), eventOf(
		t, c, owner.DeveloperID, ledger.Impression,
	)
	robot.Event.InvalidTraffic, sandbox.Event.Sandbox = traffic.RuleBot, true
	old := eventOf(t, c, other, ledger.Impression)
	old.Event.ReceivedAt = now.AddDate(0, 0, -1)
	impressions(t, l, developer, 0, 0, view, click, click, before, robot, sandbox, own, old)
	date := day.Of(now)
	p := l.Publishers
	read := func(since, last day.Day) (mine []traffic.PublisherDay) {
		days, err := p.PublisherDays(t.Context(), since, last)
		require.NoError(t, err)
		for _, d := range days { // rows without a number are allowed
			if d != (traffic.PublisherDay{DeveloperID: d.DeveloperID, Day: d.Day}) {
				mine = append(mine, d)
			}
		}
		return mine
	}
	today := traffic.PublisherDay{DeveloperID: developer, Day: date, Minted: 1, Impressions: 1, Clicks: 1, Invalid: 1}
	require.Contains(t, read(date-1, date), today)
	require.Contains(
		t, read(date-2, date), traffic.PublisherDay{DeveloperID: developer, Day: date - 2, Minted: 1, Impressions: 1},
	)
	require.NotContains(
		t, read(date-1, date), traffic.PublisherDay{DeveloperID: developer, Day: date - 2, Minted: 1, Impressions: 1},
	)
	for _, d := range read(date-2, date) {
		require.NotEqual(t, owner.DeveloperID, d.DeveloperID, "self-served ads are in no number")
	}
}

// inQuarantine opens a case and settles two impressions into it.
func inQuarantine(t *testing.T, l Ledger) (c ledger.Quarantine, advertiser uuid.UUID) {
	t.Helper()
	owner := AddUser(t, l.Stores)
	k := priced(t, l, owner, money.USD, 10*money.USD)
	developer := newID(t)
	view := func() ledger.Record { return eventOf(t, k, developer, ledger.Impression) }
	impressions(t, l, developer, 0, 0, view())
	c = ledger.Quarantine{
		ID: ledger.QuarantineID(developer, day.Of(now), 0), DeveloperID: developer, OpenedAt: now,
		Evidence: traffic.Evidence{
			Rule: traffic.QuarantineCTR, Value: 0.9, Threshold: 0.3,
			Today: traffic.PublisherDay{DeveloperID: developer, Day: day.Of(now), Clicks: 9},
		},
	}
	p := l.Publishers
	opened, err := p.OpenQuarantine(t.Context(), c)
	require.NoError(t, err)
	require.True(t, opened)
	held := ledger.Outcome{Verdict: ledger.OK, Charge: 10_000, Minted: 1, Credit: ledger.CreditHeld}
	require.Equal(t, []ledger.Outcome{held, held}, impressions(t, l, developer, 0, 1, view(), view()))
	requireCredits(t, l, developer, 1)
	require.EqualValues(t, 2, creditsOf(t, l, developer).Quarantined)
	c.Held, c.Charged = 2, 20_000
	list, err := p.Quarantines(t.Context(), ledger.QuarantineQuery{Developer: developer, Open: true, Limit: 10})
	require.NoError(t, err)
	require.Equal(t, []ledger.Quarantine{c}, list)
	requireClean(t, l, ledger.VerifyOptions{})
	return c, owner.ID
}

func decide(t *testing.T, c ledger.Quarantine, d ledger.QuarantineDecision) ledger.QuarantineVerdict {
	t.Helper()
	return ledger.QuarantineVerdict{Case: c.ID, Decision: d, By: newID(t), Note: "looked at it", At: now.Add(time.Hour)}
}

func quarantineReleased(t *testing.T, l Ledger) {
	c, advertiser := inQuarantine(t, l)
	p := l.Publishers
	v := decide(t, c, ledger.QuarantineRelease)
	ended, err := p.EndQuarantine(t.Context(), v)
	require.NoError(t, err)
	c.Decision, c.DecidedAt, c.DecidedBy, c.Note = v.Decision, v.At, v.By, v.Note
	require.Equal(t, c, ended)
	requireCredits(t, l, c.DeveloperID, 3)
	requireCash(t, l, advertiser, -30_000)
	again, err := p.EndQuarantine(t.Context(), decide(t, c, ledger.QuarantineRelease))
	require.NoError(t, err)
	require.Equal(t, c, again, "the same decision again changes nothing, not even who decided")
	requireCredits(t, l, c.DeveloperID, 3)
	_, err = p.EndQuarantine(t.Context(), decide(t, c, ledger.QuarantineClawback))
	requireCode(t, err, errs.Conflict)
	require.Zero(t, creditsOf(t, l, c.DeveloperID).Quarantined)
	requireClean(t, l, ledger.VerifyOptions{})
}

func quarantineClawedBack(t *testing.T, l Ledger) {
	c, advertiser := inQuarantine(t, l)
	p := l.Publishers
	requireCash(t, l, advertiser, -30_000)
	for range 2 {
		ended, err := p.EndQuarantine(t.Context(), decide(t, c, ledger.QuarantineClawback))
		require.NoError(t, err)
		require.Equal(t, ledger.QuarantineClawback, ended.Decision)
		requireCredits(t, l, c.DeveloperID, 1)
		requireCash(t, l, advertiser, -10_000)
	}
	requireClean(t, l, ledger.VerifyOptions{})
}

// quarantined opens a case of a publisher.
func quarantined(t *testing.T, l Ledger, developer uuid.UUID) ledger.Quarantine {
	t.Helper()
	c := ledger.Quarantine{ID: ledger.QuarantineID(developer, day.Of(now), 0), DeveloperID: developer, OpenedAt: now}
	opened, err := l.Publishers.OpenQuarantine(t.Context(), c)
	require.NoError(t, err)
	require.True(t, opened)
	return c
}

// clawbackNames ends a case with charges and mints of two batches, beside an uninvolved publisher.
func clawbackNames(t *testing.T, l Ledger) {
	owner := AddUser(t, l.Stores)
	k := priced(t, l, owner, money.USD, 10*money.USD)
	developer, other, p := newID(t), newID(t), l.Publishers
	c := quarantined(t, l, developer)
	var charges, mints []uuid.UUID
	for first := range int64(2) {
		effects, err := apply(t.Context(), l.Settler, batchOf(partition(0), 3*first,
			eventOf(t, k, developer, ledger.Impression), eventOf(t, k, developer, ledger.Impression),
			eventOf(t, k, other, ledger.Impression)))
		require.NoError(t, err)
		for _, written := range effects.Transactions {
			switch {
			case written.Kind == ledger.KindCharge:
				charges = append(charges, written.ID)
			case written.Subject == developer:
				mints = append(mints, written.ID)
			}
		}
	}
	v := decide(t, c, ledger.QuarantineClawback)
	_, err := p.EndQuarantine(t.Context(), v)
	require.NoError(t, err)
	for kind, want := range map[ledger.Kind]struct {
		subject uuid.UUID
		of      []uuid.UUID
		amount  int64
	}{
		ledger.KindMintClawback: {developer, mints, 2}, ledger.KindTrafficRefund: {k.ID, charges, 20_000},
	} {
		back := ledger.TransactionID(kind, c.ID.String(), want.subject)
		named, err := p.Reversals(t.Context(), back)
		require.NoError(t, err)
		require.ElementsMatch(t, []ledger.Reversal{
			{Transaction: back, Reverses: want.of[0], Amount: want.amount},
			{Transaction: back, Reverses: want.of[1], Amount: want.amount},
		}, named)
	}
	lines, err := l.Deposits.History(t.Context(), ledger.HistoryQuery{Advertiser: owner.ID, Limit: 10})
	require.NoError(t, err)
	require.Equal(t, ledger.KindTrafficRefund, lines[0].Kind)
	require.Equal(t, charges[0], lines[0].Reverses, "the first of them")
	requireClean(t, l, ledger.VerifyOptions{})
}

// clawbackReopens spends a campaign's budgets on traffic that is clawed back: they can be spent
// again, on the charged day and in total, and never more.
func clawbackReopens(t *testing.T, l Ledger) {
	k := priced(t, l, AddUser(t, l.Stores), 30_000, 50_000)
	developer, other := newID(t), newID(t)
	c := quarantined(t, l, developer)
	at := func(developer uuid.UUID, days int) ledger.Record {
		r := eventOf(t, k, developer, ledger.Impression)
		r.Event.ReceivedAt = now.AddDate(0, 0, days)
		return r
	}
	charges := func(first int64, records ...ledger.Record) (got []money.Micros) {
		for _, o := range impressions(t, l, developer, 0, first, records...) {
			got = append(got, o.Charge)
		}
		return got
	}
	require.Equal(
		t, []money.Micros{10_000, 10_000, 10_000, 0},
		charges(0, at(developer, 0), at(developer, 0), at(other, 0), at(developer, 0)),
	)
	require.Equal(
		t, []money.Micros{10_000, 10_000, 0}, charges(4, at(developer, 1), at(other, 1), at(other, 1)),
		"the total is spent",
	)
	_, before, err := roomOf(t, l, k.ID)
	require.NoError(t, err)
	_, err = l.Publishers.EndQuarantine(t.Context(), decide(t, c, ledger.QuarantineClawback))
	require.NoError(t, err)
	requireClean(t, l, ledger.VerifyOptions{})
	room, after, err := roomOf(t, l, k.ID)
	require.NoError(t, err)
	require.EqualValues(t, 30_000, room.Total)
	require.Greater(t, after, before, "the nodes are told")
	require.Equal(
		t, []money.Micros{10_000, 10_000, 0}, charges(7, at(other, 0), at(other, 0), at(other, 0)),
		"two of the day's three came back",
	)
	require.Equal(
		t, []money.Micros{10_000, 0}, charges(10, at(other, 1), at(other, 1)),
		"and one of the next day's, and of the total",
	)
	requireClean(t, l, ledger.VerifyOptions{})
}

// roomOf returns a campaign's room and its version.
func roomOf(t *testing.T, l Ledger, id uuid.UUID) (reserve.Room, int64, error) {
	t.Helper()
	rooms, _, err := l.Rooms(reserve.RoomOptions{}).Rooms(t.Context(), 0)
	for _, r := range rooms {
		if r.CampaignID == id {
			return r, r.Version, err
		}
	}
	t.Fatal("no room")
	return reserve.Room{}, 0, err
}

// clawbackUnderLoad claws back while further campaigns are charged for the case.
func clawbackUnderLoad(t *testing.T, l Ledger) {
	developer, p := newID(t), l.Publishers
	owner := AddUser(t, l.Stores)
	c := quarantined(t, l, developer)
	const appliers, rounds = 3, 12
	batches := make([][]ledger.Batch, appliers)
	for i := range batches {
		for n := range rounds {
			k := priced(t, l, owner, money.USD, money.USD)
			batches[i] = append(
				batches[i], batchOf(partition(int32(i)), int64(n), eventOf(t, k, developer, ledger.Impression)),
			)
		}
	}
	together(appliers+1, func(i int) {
		if i == appliers {
			_, err := p.EndQuarantine(t.Context(), decide(t, c, ledger.QuarantineClawback))
			require.NoError(t, err)
			return
		}
		for _, b := range batches[i] {
			_, err := apply(t.Context(), l.Settler, b)
			require.NoError(t, err)
		}
	})
	requireClean(t, l, ledger.VerifyOptions{})
}

func quarantineOnce(t *testing.T, l Ledger) {
	p := l.Publishers
	developer := newID(t)
	var opened atomic.Int32
	together(8, func(i int) {
		ok, err := p.OpenQuarantine(
			t.Context(),
			ledger.Quarantine{ID: ledger.QuarantineID(developer, 1, i%3), DeveloperID: developer, OpenedAt: now},
		)
		require.NoError(t, err)
		if ok {
			opened.Add(1)
		}
	})
	require.EqualValues(t, 1, opened.Load())
	_, err := p.EndQuarantine(
		t.Context(), ledger.QuarantineVerdict{Case: newID(t), Decision: ledger.QuarantineRelease, At: now},
	)
	requireCode(t, err, errs.NotFound)
	list, err := p.Quarantines(t.Context(), ledger.QuarantineQuery{Since: now.Add(time.Second), Limit: 10})
	require.NoError(t, err)
	require.Empty(t, list)
}

// quarantineEndsUnderLoad decides while impressions are settled: no Credit stays in the case's
// account.
func quarantineEndsUnderLoad(t *testing.T, l Ledger) {
	k := priced(t, l, AddUser(t, l.Stores), 100*money.USD, 100*money.USD)
	developer, p := newID(t), l.Publishers
	c := ledger.Quarantine{ID: ledger.QuarantineID(developer, 1, 0), DeveloperID: developer, OpenedAt: now}
	_, err := p.OpenQuarantine(t.Context(), c)
	require.NoError(t, err)
	const appliers, rounds = 4, 10
	batches := make([][]ledger.Batch, appliers)
	for i := range batches {
		for n := range rounds {
			batches[i] = append(
				batches[i], batchOf(partition(int32(i)), int64(n), eventOf(t, k, developer, ledger.Impression)),
			)
		}
	}
	together(appliers+1, func(i int) {
		if i == appliers {
			_, err := p.EndQuarantine(t.Context(), decide(t, c, ledger.QuarantineRelease))
			require.NoError(t, err)
			return
		}
		for _, b := range batches[i] {
			_, err := apply(t.Context(), l.Settler, b)
			require.NoError(t, err)
		}
	})
	requireCredits(t, l, developer, appliers*rounds)
	requireClean(t, l, ledger.VerifyOptions{})
}

// familyDays checks that the days of accounts of a family, with their seats, stand together and name
// the publisher of its oldest account.
func familyDays(t *testing.T, l Ledger) {
	oldest, newer, stranger := AddUser(t, l.Stores), AddUser(t, l.Stores), AddUser(t, l.Stores)
	seat, _ := addSeat(t, l.Stores, newer)
	for _, member := range []uuid.UUID{oldest.ID, newer.ID} {
		require.NoError(t, l.Join(t.Context(), member, oldest.ID))
	}
	k := priced(t, l, AddUser(t, l.Stores), money.USD, 10*money.USD)
	var records []ledger.Record
	members := []uuid.UUID{oldest.DeveloperID, newer.DeveloperID, seat.DeveloperID}
	for _, developer := range append(members, stranger.DeveloperID) {
		records = append(records, eventOf(t, k, developer, ledger.Impression))
	}
	impressions(t, l, oldest.DeveloperID, 0, 0, records...)
	days, err := l.Publishers.PublisherDays(t.Context(), day.Of(now), day.Of(now))
	require.NoError(t, err)
	var family []uuid.UUID
	var places []int
	for i, d := range days {
		if d.Family() == oldest.DeveloperID {
			family, places = append(family, d.DeveloperID), append(places, i)
			require.Equal(t, d.DeveloperID == oldest.DeveloperID, d.OwnerID == uuid.Nil)
		}
		require.False(t, d.DeveloperID == stranger.DeveloperID && d.OwnerID != uuid.Nil)
	}
	require.ElementsMatch(t, members, family)
	require.Equal(t, 2, places[2]-places[0], "they stand together")
	owners, err := l.Publishers.FamilyOwners(t.Context())
	require.NoError(t, err)
	require.Equal(t, oldest.DeveloperID, owners[newer.DeveloperID])
	require.Equal(t, oldest.DeveloperID, owners[seat.DeveloperID])
	require.NotContains(t, owners, oldest.DeveloperID)
	require.NotContains(t, owners, stranger.DeveloperID)
}

// readers checks the sums of events that readers sent, the approval of a publisher without them, and
// the reason why its Credits wait.
func readers(t *testing.T, l Ledger) {
	p := l.Publishers
	oldest, newer := AddUser(t, l.Stores), AddUser(t, l.Stores)
	require.NoError(t, l.Join(t.Context(), newer.ID, oldest.ID))
	silent, seen := newID(t), newID(t)
	k := priced(t, l, AddUser(t, l.Stores), money.USD, 10*money.USD)
	event := func(developer uuid.UUID, daysAgo int, fromReader bool) ledger.Record {
		r := eventOf(t, k, developer, ledger.Impression)
		r.Event.ReceivedAt, r.Event.FromReader = now.AddDate(0, 0, -daysAgo), fromReader
		return r
	}
	invalid, page := event(silent, 0, true), event(silent, 0, false)
	invalid.Event.InvalidTraffic, page.Event.Browser = traffic.RuleBot, true
	impressions(
		t, l, silent, 0, 0, event(silent, 0, false), event(silent, 1, false), event(silent, 9, true), invalid, page,
		event(seen, 0, true), event(seen, 1, false), event(oldest.DeveloperID, 1, false),
		event(newer.DeveloperID, 0, false),
	)
	read := func(least int64) map[uuid.UUID]traffic.PublisherDay {
		sums, err := p.ReaderSums(t.Context(), day.Of(now)-2, day.Of(now), least)
		require.NoError(t, err)
		found := make(map[uuid.UUID]traffic.PublisherDay)
		for _, s := range sums {
			found[s.DeveloperID] = s
		}
		return found
	}
	alone := traffic.PublisherDay{DeveloperID: silent, Impressions: 3, BrowserImpressions: 1}
	require.Equal(t, map[uuid.UUID]traffic.PublisherDay{
		silent:             alone,
		oldest.DeveloperID: {DeveloperID: oldest.DeveloperID, Impressions: 1},
		newer.DeveloperID:  {DeveloperID: newer.DeveloperID, OwnerID: oldest.DeveloperID, Impressions: 1},
	}, read(2))
	require.Empty(t, read(3))

	c := ledger.Quarantine{
		ID: newID(t), DeveloperID: silent, OpenedAt: now, Evidence: traffic.Evidence{Rule: traffic.QuarantineReaders},
	}
	opened, err := p.OpenQuarantine(t.Context(), c)
	require.NoError(t, err)
	require.True(t, opened)
	impressions(t, l, silent, 0, 9, event(silent, 0, false))
	days, err := l.Deposits.WaitingDays(t.Context(), silent)
	require.NoError(t, err)
	for _, w := range ledger.Waits(days) {
		require.Equal(t, ledger.WaitReaders, w.Reason)
		require.Zero(t, w.Until, "nothing expires and nothing is released before a decision")
		require.EqualValues(t, 5, w.Credits, "pending ones and those of the case")
	}
	require.Contains(t, read(2), silent, "an open case is no approval")
	_, err = p.EndQuarantine(t.Context(), ledger.QuarantineVerdict{
		Case: c.ID, Decision: ledger.QuarantineRelease, By: newID(t), At: now,
	})
	require.NoError(t, err)
	require.NotContains(t, read(2), silent, "approved")
	days, err = l.Deposits.WaitingDays(t.Context(), silent)
	require.NoError(t, err)
	for _, w := range ledger.Waits(days) {
		require.Equal(t, ledger.WaitUnbacked, w.Reason)
	}
	requireClean(t, l, ledger.VerifyOptions{})
}
