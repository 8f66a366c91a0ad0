package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/report"
	"adnet/internal/stream"
	"adnet/internal/traffic"
)

// ActCases holds the methods for cases about acts.
type ActCases interface {
	YoungPublishers(ctx context.Context, now time.Time) (map[uuid.UUID]uuid.UUID, error)
	PerActCampaigns(ctx context.Context) (map[uuid.UUID]campaign.BillingModel, error)
	HeldActs(ctx context.Context) (map[ledger.Acts]int64, error)
	OpenActCases(ctx context.Context) (map[uuid.UUID][]uuid.UUID, error)
}

var actsCases = []ledgerCase{
	{"WaitForTheDecision", actsWait},
	{"AreRejected", actsRejected},
	{"AreSettledAsWithoutACase", actsInAnyOrder},
	{"OfYoungPublishers", actsOfYoungPublishers},
	{"EndAfter28Days", actsEnd},
	{"AreBounded", actsBounded},
	{"AreSettledOnceBySeveralSettlers", actsAtOnce},
	{"CaseHoldsNoCredits", actsCaseHoldsNoCredits},
	{"YoungPublishers", youngPublishers},
}

const (
	actWaits    = ledger.VerdictEarly
	actRejected = ledger.InvalidTraffic + traffic.RuleManyActs
)

// publisherSince adds a publisher that registered at a time and returns its developer id.
func publisherSince(t *testing.T, l Ledger, at time.Time) account.User {
	t.Helper()
	id := newID(t)
	u := account.User{
		ID: id, DeveloperID: newID(t), Email: fmt.Sprintf("%s@example.com", id), PasswordHash: "$argon2id$x",
		Role: account.RoleAdvertiser, TokenVersion: 1, CreatedAt: at,
	}
	require.NoError(t, l.Users.CreateUser(t.Context(), u))
	return u
}

// actCase opens a case about the log's campaign at a publisher.
func (s *earlyLog) actCase(developer uuid.UUID) ledger.Quarantine {
	s.t.Helper()
	acts := ledger.Acts{CampaignID: s.c.ID, DeveloperID: developer}
	c := ledger.Quarantine{
		ID: ledger.ActsCaseID(acts, day.Of(now), len(s.outcomes)), DeveloperID: developer, OpenedAt: s.written,
		Evidence: traffic.Evidence{
			Rule: traffic.QuarantineActs, Campaign: s.c.ID, Value: 1, Threshold: 0.1,
			Today: traffic.PublisherDay{DeveloperID: developer, Day: day.Of(now)},
		},
	}
	opened, err := s.l.Publishers.OpenQuarantine(s.t.Context(), c)
	require.NoError(s.t, err)
	require.True(s.t, opened)
	return c
}

// end decides a case a minute after the last record.
func (s *earlyLog) end(c ledger.Quarantine, d ledger.QuarantineDecision) {
	s.t.Helper()
	v := decide(s.t, c, d)
	v.At = s.written.Add(time.Minute)
	for range 2 { // again changes nothing
		ended, err := s.l.Publishers.EndQuarantine(s.t.Context(), v)
		require.NoError(s.t, err)
		require.Equal(s.t, d, ended.Decision)
		require.Zero(s.t, ended.Held)
	}
	s.written = s.written.Add(10 * time.Minute)
}

// sweep settles without records and returns the verdicts on what waited.
func (s *earlyLog) sweep() (verdicts []ledger.Verdict) {
	s.t.Helper()
	for _, a := range s.apply(ledger.Batch{Idle: []stream.Partition{partition(0), partition(1)}}).Applied {
		for _, o := range a.Outcomes {
			verdicts = append(verdicts, o.Verdict)
		}
	}
	return verdicts
}

func (s *earlyLog) charged() int64 {
	var totals ledger.Totals
	totals.Add(s.outcomes)
	return int64(totals.Charge)
}

func (s *earlyLog) held() int64 {
	s.t.Helper()
	held, err := s.l.Publishers.HeldActs(s.t.Context())
	require.NoError(s.t, err)
	return held[ledger.Acts{CampaignID: s.c.ID, DeveloperID: s.first.Event.DeveloperID}]
}

func actsWait(t *testing.T, l Ledger) {
	s := newEarlyLog(t, l, campaign.CPC)
	c := s.actCase(s.first.Event.DeveloperID)
	ok, waits, repeat := ledger.OK, actWaits, ledger.Duplicate
	require.Equal(t, []ledger.Verdict{ok, waits, repeat},
		s.settle(partition(0), s.event(ledger.Impression), s.event(ledger.Click), s.event(ledger.Click)))
	require.Equal(t, []ledger.Verdict{repeat}, s.settle(partition(1), s.event(ledger.Click)), "also elsewhere")
	require.Equal(t, []ledger.Verdict{waits}, s.settle(partition(0), s.conversion("sale", "1")), "of a held click")
	require.EqualValues(t, 1, s.held())
	require.Zero(t, s.charged())

	// A click that overtakes its impression waits for it first.
	s.auction()
	require.Equal(t, []ledger.Verdict{waits, waits},
		s.settle(partition(0), s.event(ledger.Click), s.event(ledger.Click)))
	require.Equal(t, []ledger.Verdict{ok}, s.settle(partition(0), s.event(ledger.Impression)))
	require.EqualValues(t, 2, s.held())
	s.books()

	s.written = s.written.Add(2 * ledger.EarlyFor)
	require.Empty(t, s.sweep(), "they do not end like early events")
	s.end(c, ledger.QuarantineRelease)
	require.Equal(t, []ledger.Verdict{ok, ok, ok}, s.sweep())
	require.EqualValues(t, 40_000, s.charged())
	require.Zero(t, s.held())
	require.Empty(t, s.sweep())
	require.Equal(t, []ledger.Verdict{repeat}, s.settle(partition(0), s.event(ledger.Click)))
	s.auction()
	require.Equal(
		t, []ledger.Verdict{ok, ok}, s.settle(partition(0), s.event(ledger.Impression), s.event(ledger.Click)),
	)
	s.books()
}

func actsRejected(t *testing.T, l Ledger) {
	s := newEarlyLog(t, l, campaign.CPC)
	s.first.Event.AuctionID = laterAuction(t, s.written)
	c := s.actCase(s.first.Event.DeveloperID)
	s.settle(partition(0), s.event(ledger.Impression), s.event(ledger.Click), s.conversion("sale", "1"))
	rejected := s.first
	s.end(c, ledger.QuarantineClawback)
	require.Equal(t, []ledger.Verdict{actRejected, ledger.VerdictUnverified}, s.sweep())
	require.Equal(t, []ledger.Verdict{ledger.Duplicate}, s.settle(partition(0), s.event(ledger.Click)),
		"a repeat of a rejected act is not charged")

	// A later case has a decision of its own.
	s.first.Event.AuctionID = laterAuction(t, s.written)
	c = s.actCase(s.first.Event.DeveloperID)
	require.Equal(t, []ledger.Verdict{ledger.OK, actWaits},
		s.settle(partition(0), s.event(ledger.Impression), s.event(ledger.Click)))
	s.end(c, ledger.QuarantineRelease)
	require.Equal(t, []ledger.Verdict{ledger.OK}, s.sweep())
	s.first = rejected
	require.Equal(t, []ledger.Verdict{ledger.Duplicate}, s.settle(partition(0), s.event(ledger.Click)))
	require.EqualValues(t, 20_000, s.charged())
	s.books()
}

// laterAuction returns the id of an auction at a time.
func laterAuction(t *testing.T, at time.Time) uuid.UUID {
	t.Helper()
	id := newID(t)
	ms := uint64(at.UnixMilli())
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id
}

// Whatever the order and the batches, a released case leaves the same books as none.
func actsInAnyOrder(t *testing.T, l Ledger) {
	offsets := map[stream.Partition]int64{}
	for _, model := range []campaign.BillingModel{campaign.CPM, campaign.CPC, campaign.CPA, campaign.VCPM} {
		want := ""
		for _, withCase := range []bool{false, true} {
			s := newEarlyLog(t, l, model)
			s.offsets = offsets
			kinds := []func() ledger.Record{
				func() ledger.Record { return s.event(ledger.Impression) },
				func() ledger.Record { return s.event(ledger.Click) },
				func() ledger.Record { return s.event(ledger.Click) },
				func() ledger.Record { return s.conversion("sale", "order-1") },
			}
			for nr, order := range orders(len(kinds)) {
				for _, cut := range [][]int{{4}, {1, 1, 1, 1}, {2, 2}} {
					s.first.Event.AuctionID, s.first.Event.DeveloperID = laterAuction(t, s.written), newID(t)
					before := len(s.outcomes)
					var c ledger.Quarantine
					if withCase {
						c = s.actCase(s.first.Event.DeveloperID)
					}
					var log []ledger.Record
					for _, i := range order {
						log = append(log, kinds[i]())
					}
					for i, n := range cut {
						s.settle(partition(int32((nr+i)%3)), log[:n]...)
						log = log[n:]
					}
					if withCase {
						if model == campaign.CPC || model == campaign.CPA {
							require.NotZero(t, s.held(), "%s: order %v, batches %v", model, order, cut)
						}
						s.end(c, ledger.QuarantineRelease)
						s.sweep()
						require.Zero(t, s.held())
					}
					var got ledger.Totals
					got.Add(s.outcomes[before:])
					books := fmt.Sprint(got.Charge, got.Minted, got.ByVerdict)
					if want == "" {
						want = books
					}
					require.Equal(t, want, books, "%s: case %t, order %v, batches %v", model, withCase, order, cut)
				}
			}
			s.books()
		}
	}
}

// While one publisher's acts of a campaign are in question, those at other young publishers wait;
// elsewhere and of other campaigns they do not.
func actsOfYoungPublishers(t *testing.T, l Ledger) {
	s := newEarlyLog(t, l, campaign.CPC)
	thief := publisherSince(t, l, now.AddDate(0, 0, -1))
	young := publisherSince(t, l, now.AddDate(0, 0, -29))
	old := publisherSince(t, l, now.AddDate(0, 0, -31))
	member := publisherSince(t, l, now.AddDate(0, 0, -1))
	require.NoError(t, l.Join(t.Context(), old.ID, old.ID))
	require.NoError(t, l.Join(t.Context(), member.ID, old.ID))
	click := func(developer uuid.UUID) ledger.Verdict {
		s.first.Event.AuctionID, s.first.Event.DeveloperID = laterAuction(t, s.written), developer
		return s.settle(partition(0), s.event(ledger.Impression), s.event(ledger.Click))[1]
	}
	require.Equal(t, ledger.OK, click(thief.DeveloperID), "no case")
	c := s.actCase(thief.DeveloperID)
	open, err := l.Publishers.OpenActCases(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID][]uuid.UUID{s.c.ID: {thief.DeveloperID}}, open)
	require.Equal(t, actWaits, click(thief.DeveloperID))
	require.Equal(t, actWaits, click(young.DeveloperID))
	require.Equal(t, ledger.OK, click(old.DeveloperID))
	require.Equal(t, ledger.OK, click(member.DeveloperID), "of an old family")
	require.Equal(t, ledger.OK, click(newID(t)), "of no known publisher")
	other := newEarlyLog(t, l, campaign.CPC)
	other.offsets, other.first.Event.DeveloperID = s.offsets, thief.DeveloperID
	require.Equal(t, []ledger.Verdict{ledger.OK, ledger.OK},
		other.settle(partition(0), other.event(ledger.Impression), other.event(ledger.Click)), "of another campaign")

	// The decision about one publisher rejects no other's acts.
	s.end(c, ledger.QuarantineClawback)
	require.Equal(t, []ledger.Verdict{actRejected, ledger.OK}, s.sweep())
	require.Equal(t, ledger.OK, click(young.DeveloperID))

	// A released publisher is not held by the case of another.
	c = s.actCase(young.DeveloperID)
	s.end(c, ledger.QuarantineRelease)
	s.actCase(thief.DeveloperID)
	require.Equal(t, ledger.OK, click(young.DeveloperID))
	require.Equal(t, actWaits, click(thief.DeveloperID))
	require.EqualValues(t, 7*20_000, s.charged())
	s.books()
}

func actsEnd(t *testing.T, l Ledger) {
	s := newEarlyLog(t, l, campaign.CPA)
	s.actCase(s.first.Event.DeveloperID)
	require.Equal(t, []ledger.Verdict{ledger.OK, ledger.OK, actWaits}, s.settle(
		partition(0), s.event(ledger.Impression), s.event(ledger.Click), s.conversion("sale", "1"),
	), "clicks cost nothing")
	start := s.written
	s.written = start.Add(ledger.ActsFor - time.Second)
	require.Empty(t, s.sweep())
	s.written = start.Add(ledger.ActsFor)
	require.Equal(t, []ledger.Verdict{actRejected}, s.sweep())
	require.Zero(t, s.charged())
	s.books()
}

func actsBounded(t *testing.T, l Ledger) {
	s := newEarlyLog(t, l, campaign.CPC)
	s.actCase(s.first.Event.DeveloperID)
	var log []ledger.Record
	for range ledger.MaxHeldActs + 1 {
		s.auction()
		log = append(log, s.event(ledger.Impression), s.event(ledger.Click))
	}
	first := len(log) / 2
	first -= first % 2
	s.settle(partition(0), log[:first]...)
	verdicts := s.settle(partition(1), log[first:]...)
	require.Equal(t, []ledger.Verdict{actWaits, ledger.OK, actRejected}, verdicts[len(verdicts)-3:])
	require.EqualValues(t, ledger.MaxHeldActs, s.held())
	s.books()
}

func actsAtOnce(t *testing.T, l Ledger) {
	s := newEarlyLog(t, l, campaign.CPC)
	c := s.actCase(s.first.Event.DeveloperID)
	var clicks []ledger.Record
	for range 8 {
		s.auction()
		s.settle(partition(0), s.event(ledger.Impression), s.event(ledger.Click))
		clicks = append(clicks, s.event(ledger.Click))
	}
	s.end(c, ledger.QuarantineRelease)
	var all [4][]ledger.Outcome
	together(len(all), func(i int) {
		b := batchOf(partition(int32(i+1)), 0, clicks...) // repeats, beside the sweep of all
		b.At = s.written
		if i == 0 {
			b = ledger.Batch{At: s.written, Idle: []stream.Partition{partition(0)}}
		}
		effects, err := apply(t.Context(), l.Settler, b)
		if err != nil {
			t.Error(err)
		}
		for _, a := range effects.Applied {
			all[i] = append(all[i], a.Outcomes...)
		}
	})
	var totals ledger.Totals
	for _, outcomes := range all {
		totals.Add(outcomes)
	}
	require.EqualValues(t, len(clicks), totals.ByVerdict[ledger.OK])
	require.EqualValues(t, 3*len(clicks), totals.ByVerdict[ledger.Duplicate])
	require.EqualValues(t, 20_000*len(clicks), totals.Charge)
	require.Zero(t, s.held())
	requireClean(t, l, ledger.VerifyOptions{})
}

// A case about acts is beside one about Credits: neither opens, holds nor ends the other.
func actsCaseHoldsNoCredits(t *testing.T, l Ledger) {
	c, _ := inQuarantine(t, l)
	s := newEarlyLog(t, l, campaign.CPC)
	s.first.Event.DeveloperID = c.DeveloperID
	s.offsets[partition(0)] = 2
	before := creditsOf(t, l, c.DeveloperID)
	acts := s.actCase(c.DeveloperID)
	again, err := l.Publishers.OpenQuarantine(t.Context(), ledger.Quarantine{
		ID: newID(t), DeveloperID: c.DeveloperID, OpenedAt: now, Evidence: acts.Evidence,
	})
	require.NoError(t, err)
	require.False(t, again)
	s.end(acts, ledger.QuarantineClawback)
	require.Equal(t, before, creditsOf(t, l, c.DeveloperID))
	list, err := l.Publishers.Quarantines(
		t.Context(), ledger.QuarantineQuery{Developer: c.DeveloperID, Open: true, Limit: 10},
	)
	require.NoError(t, err)
	require.Equal(t, []ledger.Quarantine{c}, list)
	requireClean(t, l, ledger.VerifyOptions{})
}

func youngPublishers(t *testing.T, l Ledger) {
	s := newEarlyLog(t, l, campaign.CPC)
	young, old := publisherSince(t, l, now.AddDate(0, 0, -29)), publisherSince(t, l, now.AddDate(0, 0, -31))
	second, idle := publisherSince(t, l, now.AddDate(0, 0, -2)), publisherSince(t, l, now.AddDate(0, 0, -2))
	member := publisherSince(t, l, now.AddDate(0, 0, -1))
	for _, u := range []account.User{young, second} {
		require.NoError(t, l.Join(t.Context(), u.ID, young.ID))
	}
	for _, u := range []account.User{old, member} {
		require.NoError(t, l.Join(t.Context(), u.ID, old.ID))
	}
	for _, u := range []account.User{young, old, second, member} {
		s.auction()
		s.first.Event.DeveloperID = u.DeveloperID
		s.settle(partition(0), s.event(ledger.Impression))
	}
	got, err := l.Publishers.YoungPublishers(t.Context(), now)
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID]uuid.UUID{
		young.DeveloperID: young.DeveloperID, second.DeveloperID: young.DeveloperID,
	}, got, "%s has no events", idle.DeveloperID)

	perClick := NewCampaign(t, old.ID)
	perClick.BillingModel = campaign.CPC
	perClick, err = l.Campaigns.CreateCampaign(t.Context(), campaign.NewCampaign{
		Campaign: perClick, Admit: func(bool) campaign.Status { return campaign.Active },
	})
	require.NoError(t, err)
	models, err := l.Publishers.PerActCampaigns(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID]campaign.BillingModel{perClick.ID: campaign.CPC}, models)
}

// ReportActs counts the events of campaigns' ads.
type ReportActs interface {
	CampaignCounts(ctx context.Context, since day.Day) ([]traffic.AdCount, error)
	PublisherCounts(ctx context.Context, since day.Day, developers []uuid.UUID) ([]traffic.AdCount, error)
}

func reportsActs(t *testing.T, s Reports) {
	acts, is := s.Counted.(ReportActs)
	require.True(t, is)
	today := day.Of(now)
	first, two, other := uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3}
	var rows []report.Row
	add := func(of, developer uuid.UUID, kind ledger.EventType, verdict ledger.Verdict, on day.Day, n int) {
		for range n {
			rows = append(rows, report.Row{
				EventID: newID(t), ReceivedAt: on.Time(), Type: kind, Verdict: verdict, AuctionID: newID(t),
				CampaignID: of, DeveloperID: developer, IntegrationMethod: "rest",
			})
		}
	}
	a, b := uuid.UUID{8}, uuid.UUID{9}
	add(a, first, ledger.Impression, ledger.OK, today-29, 5)
	add(a, first, ledger.Impression, ledger.OK, today-30, 50)
	add(a, first, ledger.Click, ledger.OverBudget, today, 2)
	add(a, first, ledger.Click, actRejected, today, 9)
	add(a, two, ledger.Impression, ledger.OK, today, 3)
	add(b, two, ledger.Conversion, ledger.OK, today, 1)
	add(b, two, ledger.Conversion, ledger.VerdictUnverified, today, 1)
	add(b, other, ledger.Impression, ledger.OK, today, 4)
	require.NoError(t, s.Writer.Insert(t.Context(), "acts", rows))
	all, err := acts.CampaignCounts(t.Context(), today-29)
	require.NoError(t, err)
	require.ElementsMatch(t, []traffic.AdCount{
		{CampaignID: a, Impressions: 8, Clicks: 2}, {CampaignID: b, Impressions: 4, Conversions: 1},
	}, all)
	developers := []uuid.UUID{first, two}
	for range 1500 { // more than one query has
		developers = append(developers, newID(t))
	}
	at, err := acts.PublisherCounts(t.Context(), today-29, developers)
	require.NoError(t, err)
	require.ElementsMatch(t, []traffic.AdCount{
		{CampaignID: a, DeveloperID: first, Impressions: 5, Clicks: 2}, {CampaignID: a, DeveloperID: two, Impressions: 3},
		{CampaignID: b, DeveloperID: two, Conversions: 1},
	}, at)
}
