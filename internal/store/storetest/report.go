package storetest

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/internal/traffic"
	"adnet/schemas/event"
)

// Reports is the analytics store under test, empty. One value may fill all fields.
type Reports struct {
	Writer ReportWriter
	Audit  ReportAudit
	Reader interface {
		Stats(ctx context.Context, q report.Query) (report.Result, error)
		Converted(ctx context.Context, q report.Query) (report.Conversions, error)
		Delays(ctx context.Context, q report.DelayQuery) ([]report.Delay, error)
		Paid(ctx context.Context, q report.PaidQuery) ([]report.Paid, error)
		Terms(ctx context.Context, q report.Query) ([]report.TermCounts, error)
		WithTerms(ctx context.Context, q report.Query, terms []uint32) (report.Counts, error)
	}
	Rollup interface {
		Aggregate(ctx context.Context, date day.Day) (rows int, err error)
	}
	Explain ReportExplainer
	// Forecast counts requests by winner.
	Forecast interface {
		Requests(ctx context.Context, p report.Places) ([]report.Won, error)
	}
	Refusals ReportRefusals
	Counted  ReportShown
}

// ReportWriter inserts blocks, each under a token that makes a repeat harmless.
type ReportWriter interface {
	Insert(ctx context.Context, token string, rows []report.Row) error
	InsertAuctions(ctx context.Context, token string, rows []report.Auction) error
	InsertNotices(ctx context.Context, token string, rows []report.Notice) error
}

// ReportAudit shows the stored rows.
type ReportAudit interface {
	Totals(ctx context.Context) (ledger.Totals, error)
	Billable(ctx context.Context) (ledger.Billable, error)
	HighestCharges(ctx context.Context) ([]ledger.HighestCharge, error)
	Auctions(ctx context.Context) (int64, error)
	Notices(ctx context.Context) (int64, error)
}

// RunReports runs every case of the analytics store. open returns an empty store that is closed by
// the test's own clean-up.
func RunReports(t *testing.T, open func(t *testing.T) Reports) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, s Reports)
	}{
		{"Empty", reportsEmpty},
		{"VerdictClasses", reportsVerdicts},
		{"Traffic", reportsTraffic},
		{"Types", reportsTypes},
		{"Conversions", reportsConversions},
		{"ConversionsSaturate", reportsSaturate},
		{"ConversionTypes", reportsConverted},
		{"Breakdowns", reportsBreakdowns},
		{"UnknownBreakdown", reportsUnknownBreakdown}, {"BreakdownsAreBounded", reportsBreakdownsAreBounded},
		{"TwoBreakdowns", reportsPairs},
		{"TwoBreakdownsAreBounded", reportsPairsAreBounded},
		{"TwoBreakdownsOfRequests", reportsAskedPairs},
		{"AdvertisersOfAPublisher", reportsPaid},
		{"Terms", reportsTerms},
		{"Ranges", reportsRanges},
		{"Filters", reportsFilters},
		{"FamiliesSelectTheirOwnTraffic", reportsFamilies},
		{"DelaysOfChargedConversions", reportsDelays},
		{"Billable", reportsBillable},
		{"HighestCharges", reportsHighestCharges},
		{"RepeatedToken", reportsRepeatedToken},
		{"ConcurrentToken", reportsConcurrentToken},
		{"SameRowsOtherToken", reportsOtherToken},
		{"BlockOfManyMonths", reportsManyMonths},
		{"Rollup", reportsRollup},
		{"RollupsAtOnce", reportsRollupsAtOnce},
		{"LateEvents", reportsLate},
		{"Auctions", reportsAuctions},
		{"Notices", reportsNotices},
		{"ExplainAuction", reportsExplain},
		{"Delivery", reportsDelivery},
		{"Forecast", reportsForecast},
		{"Asked", reportsAsked},
		{"Refusals", reportsRefusals},
		{"RefusalsAreInNoOtherCount", reportsRefusalsApart},
		{"ShownAds", reportsShown},
		{"Acts", reportsActs},
		{"AsOf", reportsAsOf},
		{"OddValues", reportsOdd},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

// noon of a fixed day: nothing here depends on the clock.
var (
	reportDay  = day.Of(time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC))
	reportNoon = reportDay.Time().Add(12 * time.Hour)
)

// reportRow returns an accepted impression of 2,000 micro-USD.
func reportRow(edit ...func(*report.Row)) report.Row {
	r := report.Row{
		EventID: uuid.Must(uuid.NewV7()), ReceivedAt: reportNoon, Type: ledger.Impression, Verdict: ledger.OK,
		Charge: 2000, Minted: 1,
		AuctionID: uuid.Must(uuid.NewV7()), CampaignID: uuid.UUID{1}, AdvertiserID: uuid.UUID{2},
		DeveloperID:  uuid.UUID{3},
		BillingModel: "cpm", Format: "text", IntegrationMethod: "rest", Surface: "chat", Region: "US", Language: "en",
		HostApp: "app",
		Session: "s",
	}
	for _, e := range edit {
		e(&r)
	}
	return r
}

func withVerdict(v ledger.Verdict) func(*report.Row) {
	return func(r *report.Row) {
		r.Verdict = v
		if v != ledger.OK {
			r.Charge = 0
			r.Minted = 0
		}
	}
}

func onDay(d day.Day) func(*report.Row) {
	return func(r *report.Row) { r.ReceivedAt = d.Time().Add(12 * time.Hour) }
}

func insertRows(t *testing.T, s Reports, token string, rows ...report.Row) {
	t.Helper()
	require.NoError(t, s.Writer.Insert(t.Context(), token, rows))
}

// stats queries every day around reportDay unless q names a range.
func stats(t *testing.T, s Reports, q report.Query) report.Result {
	t.Helper()
	if q.Since == 0 && q.Until == 0 {
		q.Since, q.Until = reportDay-400, reportDay+400
	}
	r, err := s.Reader.Stats(t.Context(), q)
	require.NoError(t, err)
	return r
}

func reportsEmpty(t *testing.T, s Reports) {
	require.NoError(t, s.Writer.Insert(t.Context(), "none", nil))
	require.Equal(t, report.Result{}, stats(t, s, report.Query{}))
	require.Equal(t, report.Result{}, stats(t, s, report.Query{Breakdown: report.ByCampaign}))
	totals, err := s.Audit.Totals(t.Context())
	require.NoError(t, err)
	require.Equal(t, ledger.Totals{ByVerdict: map[ledger.Verdict]int64{}}, totals)
	require.True(t, stats(t, s, report.Query{}).AsOf.IsZero())
	rows, err := s.Rollup.Aggregate(t.Context(), reportDay)
	require.NoError(t, err)
	require.Zero(t, rows)
	require.Error(t, s.Writer.Insert(t.Context(), "", []report.Row{reportRow()}))
	require.Error(t, s.Writer.InsertAuctions(t.Context(), "", []report.Auction{{}}))
}

// The value of unique charged events ignores repeats and overcharges, which reveals both.
func reportsBillable(t *testing.T, s Reports) {
	row := func(auction byte, price, charge money.Micros) report.Row {
		r := reportRow()
		r.AuctionID, r.Price, r.Charge = uuid.UUID{auction, 15: 9}, price, charge
		return r
	}
	click := row(1, 7, 7)
	click.Type = ledger.Click
	require.NoError(
		t,
		s.Writer.Insert(t.Context(), "a", []report.Row{row(1, 2000, 2000), click, row(2, 2000, 500), row(3, 2000, 0)}),
	)
	billable, err := s.Audit.Billable(t.Context())
	require.NoError(t, err)
	require.Equal(t, ledger.Billable{Worth: 2507, Cut: 1}, billable)

	require.NoError(t, s.Writer.Insert(t.Context(), "b", []report.Row{row(1, 2000, 2000), row(4, 10, 11)}))
	billable, err = s.Audit.Billable(t.Context())
	require.NoError(t, err)
	require.Equal(t, ledger.Billable{Worth: 2517, Cut: 1}, billable)
}

// The most expensive event of each campaign and model counts.
func reportsHighestCharges(t *testing.T, s Reports) {
	row := func(auction, campaign byte, model string, charge money.Micros) report.Row {
		r := reportRow()
		r.AuctionID, r.CampaignID, r.BillingModel, r.Charge = uuid.UUID{auction, 15: 9}, uuid.UUID{campaign}, model,
			charge
		return r
	}
	require.NoError(t, s.Writer.Insert(t.Context(), "a", []report.Row{
		row(1, 1, "cpm", 20), row(2, 1, "cpm", 30), row(3, 1, "cpm", 10), row(4, 1, "cpc", 7), row(5, 2, "", 5),
		row(6, 3, "cpm", 0),
	}))
	charges, err := s.Audit.HighestCharges(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []ledger.HighestCharge{
		{CampaignID: uuid.UUID{1}, BillingModel: "cpm", Charge: 30},
		{CampaignID: uuid.UUID{1}, BillingModel: "cpc", Charge: 7},
		{CampaignID: uuid.UUID{2}, Charge: 5},
	}, charges)
}

// Every verdict is counted in exactly one place.
func reportsVerdicts(t *testing.T, s Reports) {
	one := report.Events{event.Type_IMPRESSION: 1}
	cases := []struct {
		verdict ledger.Verdict
		want    report.Counts
	}{
		{ledger.OK, report.Counts{Events: one, Spend: 2000, Credits: 1, Billed: 1}},
		{ledger.VerdictPaused, report.Counts{Events: one}},
		{ledger.OverBudget, report.Counts{Events: one}},
		{ledger.OverBalance, report.Counts{Events: one}},
		{ledger.SelfServed, report.Counts{Events: one}},
		{ledger.VerdictHouse, report.Counts{}},
		{ledger.Duplicate, report.Counts{Duplicates: 1}},
		{ledger.VerdictExpired, report.Counts{Rejected: 1}},
		{ledger.VerdictUnsigned, report.Counts{Rejected: 1}},
		{ledger.VerdictForged, report.Counts{Rejected: 1}},
		{ledger.UnknownCampaign, report.Counts{Rejected: 1}},
		{ledger.Poison, report.Counts{Rejected: 1}},
		{ledger.VerdictSandbox, report.Counts{Sandbox: 1}},
		{ledger.InvalidTraffic + "bot", report.Counts{Invalid: 1}},
		{ledger.InvalidTraffic + "prefetch", report.Counts{Invalid: 1}},
	}
	want := ledger.Totals{ByVerdict: map[ledger.Verdict]int64{}}
	var all report.Counts
	for i, c := range cases {
		campaign := uuid.UUID{9, byte(i)}
		insertRows(
			t, s, string(c.verdict), reportRow(withVerdict(c.verdict), func(r *report.Row) { r.CampaignID = campaign }),
		)
		require.Equal(t, c.want, stats(t, s, report.Query{CampaignID: campaign}).Counts, c.verdict)
		all.Add(c.want)
		want.Add([]ledger.Outcome{{Verdict: c.verdict, Charge: c.want.Spend, Minted: c.want.Credits}})
	}
	require.Equal(t, all, stats(t, s, report.Query{}).Counts)
	totals, err := s.Audit.Totals(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, totals)
}

// Reasons for unpaid traffic are reported once per token, and filtered like the counts.
func reportsTraffic(t *testing.T, s Reports) {
	first, other := uuid.UUID{7, 1}, uuid.UUID{7, 2}
	of := func(id uuid.UUID, v ledger.Verdict, kind ledger.EventType, note ledger.CreditNote) report.Row {
		return reportRow(withVerdict(v), func(r *report.Row) { r.CampaignID, r.Type, r.Credit = id, kind, note })
	}
	bot, fast := ledger.InvalidTraffic+traffic.RuleBot, ledger.InvalidTraffic+traffic.RuleClickTooFast
	for range 2 { // the second is rejected
		insertRows(t, s, "traffic",
			of(first, bot, ledger.Impression, 0), of(first, bot, ledger.Impression, 0), of(first, bot, ledger.Click, 0),
			of(other, bot, ledger.Close, 0),
			of(first, fast, ledger.Click, 0), of(other, ledger.SelfServed, ledger.Impression, 0),
			of(first, ledger.VerdictHouse, ledger.Impression, 0), of(first, ledger.VerdictHouse, ledger.Click, 0),
			of(first, ledger.OK, ledger.Impression, ledger.CreditCapped),
			of(first, ledger.OK, ledger.Impression, ledger.CreditHeld), of(first, ledger.OK, ledger.Impression, 0),
			of(first, ledger.Duplicate, ledger.Impression, 0))
	}
	require.Equal(t, []report.Traffic{
		{Reason: traffic.RuleBot, Impressions: 2, Clicks: 1, Other: 1}, {Reason: traffic.RuleClickTooFast, Clicks: 1},
		{Reason: report.TrafficHouse, Impressions: 1, Clicks: 1}, {Reason: report.TrafficCapped, Impressions: 1},
		{Reason: report.TrafficHeld, Impressions: 1}, {Reason: report.TrafficSelfServed, Impressions: 1},
	}, stats(t, s, report.Query{}).Traffic)
	require.Equal(t, []report.Traffic{
		{Reason: traffic.RuleBot, Other: 1}, {Reason: report.TrafficSelfServed, Impressions: 1},
	},
		stats(t, s, report.Query{CampaignID: other}).Traffic)
	require.Empty(t, stats(t, s, report.Query{Since: reportDay + 1, Until: reportDay + 2}).Traffic)
}

func reportsTypes(t *testing.T, s Reports) {
	for _, k := range event.Kinds() {
		var counts report.Counts
		counts.Events[k.Type] = 1
		kind := ledger.EventType(k.Name)
		campaign := uuid.NewSHA1(uuid.Nil, []byte(kind))
		of := func(v ledger.Verdict) report.Row {
			return reportRow(
				withVerdict(v), func(r *report.Row) { r.Type, r.CampaignID, r.Charge, r.Minted = kind, campaign, 0, 0 },
			)
		}
		insertRows(
			t, s, string(kind), of(ledger.OK), of(ledger.Duplicate), of(ledger.VerdictSandbox),
			of(ledger.VerdictForged),
		)
		counts.Duplicates, counts.Sandbox, counts.Rejected = 1, 1, 1
		require.Equal(t, counts, stats(t, s, report.Query{CampaignID: campaign}).Counts, kind)
	}
}

func reportsConversions(t *testing.T, s Reports) {
	conversion := func(v ledger.Verdict, currency string, value money.Micros) report.Row {
		return reportRow(withVerdict(v), func(r *report.Row) {
			r.Type, r.Currency, r.ConversionValue, r.ConversionType, r.ExternalID = ledger.Conversion, currency, value,
				"signup", "o-1"
		})
	}
	insertRows(t, s, "c", conversion(ledger.OK, "USD", 5*money.USD), conversion(ledger.OverBudget, "", money.USD),
		conversion(ledger.OK, "EUR", 100*money.USD), conversion(ledger.Duplicate, "USD", 100*money.USD),
		conversion(ledger.ConversionCapped, "USD", 2*money.USD),
		conversion(ledger.VerdictUnverified, "USD", 100*money.USD))
	got := stats(t, s, report.Query{}).Counts
	require.Equal(t, int64(4), got.Conversions())
	require.Equal(t, 8*money.USD, got.ConversionUSD)
	require.Equal(t, int64(1), got.Unverified)
	require.Zero(t, got.Rejected)
}

// Types of conversions count valid conversions: with the amounts in USD and the newest receipt, of
// one account, one campaign and the requested days.
func reportsConverted(t *testing.T, s Reports) {
	first, other := reportRow(), reportRow()
	other.CampaignID, other.AdvertiserID = newID(t), newID(t)
	conversion := func(
		of report.Row, v ledger.Verdict, kind, currency string, value money.Micros, at time.Duration,
	) report.Row {
		r := reportRow(withVerdict(v))
		r.CampaignID, r.AdvertiserID, r.ReceivedAt = of.CampaignID, of.AdvertiserID, of.ReceivedAt.Add(at)
		r.Type, r.ConversionType, r.Currency, r.ConversionValue = ledger.Conversion, kind, currency, value
		return r
	}
	insertRows(t, s, "types", conversion(first, ledger.OK, "signup", "USD", 5*money.USD, 0), conversion(
		first, ledger.ConversionCapped, "signup", "EUR", 7*money.USD, time.Second,
	),
		conversion(first, ledger.OK, "sale", "", 3*money.USD, 0),
		conversion(first, ledger.Duplicate, "sale", "", money.USD, time.Minute),
		conversion(first, ledger.VerdictUnverified, "a stranger's", "USD", money.USD, 0),
		conversion(other, ledger.OK, "signup", "USD", money.USD, 0))
	at := first.ReceivedAt.UTC().Truncate(time.Microsecond)
	mine := []report.Converted{
		{
			CampaignID: first.CampaignID, Type: "signup", Conversions: 2, ValueUSD: 5 * money.USD,
			Last: at.Add(time.Second),
		},
		{CampaignID: first.CampaignID, Type: "sale", Conversions: 1, ValueUSD: 3 * money.USD, Last: at},
	}
	date := day.Of(at)
	for _, q := range []report.Query{{AdvertiserID: first.AdvertiserID}, {CampaignID: first.CampaignID}} {
		q.Since, q.Until = date, date
		got, err := s.Reader.Converted(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, mine, got.Rows)
		require.False(t, got.AsOf.Before(at.Add(time.Minute)), "everything received is counted")
		q.Since, q.Until = date+1, date+9
		got, err = s.Reader.Converted(t.Context(), q)
		require.NoError(t, err)
		require.Empty(t, got.Rows)
	}
	got, err := s.Reader.Converted(t.Context(), report.Query{Since: date, Until: date})
	require.NoError(t, err)
	require.Len(t, got.Rows, 3)
}

// Sums of advertisers' amounts end at the largest amount, in the live counters, in rolled days and
// over days that fit individually.
func reportsSaturate(t *testing.T, s Reports) {
	worth := func(date day.Day, value money.Micros) report.Row {
		return reportRow(
			onDay(date),
			func(r *report.Row) { r.Type, r.Currency, r.ConversionValue = ledger.Conversion, "USD", value },
		)
	}
	const half = math.MaxInt64/2 + 1
	insertRows(t, s, "one", worth(reportDay, half), worth(reportDay, half), worth(reportDay, report.MaxConversionValue))
	insertRows(t, s, "two", worth(reportDay, half), worth(reportDay, half)) // merged in the background
	insertRows(t, s, "days", worth(reportDay+1, half), worth(reportDay+2, half))
	for _, roll := range []bool{false, true} {
		if roll {
			for date := reportDay; date <= reportDay+2; date++ {
				_, err := s.Rollup.Aggregate(t.Context(), date)
				require.NoError(t, err)
			}
		}
		for _, until := range []day.Day{reportDay, reportDay + 2} {
			got := stats(t, s, report.Query{Since: reportDay, Until: until, Breakdown: report.ByCampaign})
			require.Equal(t, money.Micros(math.MaxInt64), got.Counts.ConversionUSD, "rolled up: %v", roll)
			require.Equal(t, money.Micros(math.MaxInt64), got.Groups[0].Counts.ConversionUSD)
		}
		alone := stats(t, s, report.Query{Since: reportDay + 1, Until: reportDay + 1})
		require.Equal(t, money.Micros(half), alone.Counts.ConversionUSD)
	}
}

// spread inserts rows that differ in every dimension: dimension value i has i+1 rows.
func spread(t *testing.T, s Reports) {
	t.Helper()
	var rows []report.Row
	for i := range 3 {
		for range i + 1 {
			rows = append(rows, reportRow(onDay(reportDay+day.Day(i)), func(r *report.Row) {
				r.CampaignID, r.AdvertiserID, r.DeveloperID = uuid.UUID{0xc, byte(i)}, uuid.UUID{0xa, byte(i)},
					uuid.UUID{0xd, byte(i)}
				r.Surface, r.Region, r.Language = fmt.Sprintf("s%d", i), fmt.Sprintf("r%d", i), fmt.Sprintf("l%d", i)
				r.Format, r.HostApp, r.IntegrationMethod = fmt.Sprintf("f%d", i), fmt.Sprintf("h%d", i),
					fmt.Sprintf("m%d", i)
			}))
		}
	}
	insertRows(t, s, "spread", rows...)
}

func keysOf(groups []report.Group) (names []string) {
	for _, g := range groups {
		names = append(names, g.Key)
	}
	return names
}

// An answer has a bounded number of groups, however many texts publishers send: those with the
// largest spend, and one that counts the rest.
func reportsBreakdownsAreBounded(t *testing.T, s Reports) {
	const more = 7
	var rows []report.Row
	for i := range report.MaxGroups + more {
		rows = append(rows, reportRow(onDay(reportDay+day.Day(i%2)), func(r *report.Row) {
			name := fmt.Sprintf("x%04d", i)
			r.HostApp, r.Language, r.Region, r.Surface = name, name, name, name
			if i >= report.MaxGroups {
				r.Charge = 1
			}
		}))
	}
	insertRows(t, s, "many", rows...)
	for _, by := range []report.Breakdown{report.ByHostApp, report.ByLanguage, report.ByRegion, report.BySurface} {
		got := stats(t, s, report.Query{Since: reportDay, Until: reportDay + 1, Breakdown: by})
		require.Len(t, got.Groups, report.MaxGroups+1, by)
		others, sum := got.Groups[report.MaxGroups], report.Counts{}
		for _, g := range got.Groups {
			sum.Add(g.Counts)
		}
		require.Equal(t, report.OthersKey, others.Key, by)
		require.EqualValues(t, more, others.Impressions(), by)
		require.EqualValues(t, more, others.Spend, "the smallest")
		require.Equal(t, got.Counts, sum, "no event is missing")
		require.Len(t, got.Daily, 2, by)
	}
	q := report.Query{Since: reportDay, Until: reportDay + 1, Breakdown: report.ByHostApp, AllGroups: true}
	require.Len(t, stats(t, s, q).Groups, report.MaxGroups+more, "jobs need all")
	q.Breakdown = report.ByDay
	require.Len(t, stats(t, s, q).Groups, 2)
}

func reportsBreakdowns(t *testing.T, s Reports) {
	spread(t, s)
	key := map[report.Breakdown]func(i int) string{
		report.ByCampaign:          func(i int) string { return uuid.UUID{0xc, byte(i)}.String() },
		report.ByAdvertiser:        func(i int) string { return uuid.UUID{0xa, byte(i)}.String() },
		report.ByFormat:            func(i int) string { return fmt.Sprintf("f%d", i) },
		report.ByHostApp:           func(i int) string { return fmt.Sprintf("h%d", i) },
		report.ByIntegrationMethod: func(i int) string { return fmt.Sprintf("m%d", i) },
		report.ByDay:               func(i int) string { return (reportDay + day.Day(i)).String() },
		report.ByPublisher:         func(i int) string { return uuid.UUID{0xd, byte(i)}.String() },
		report.BySurface:           func(i int) string { return fmt.Sprintf("s%d", i) },
		report.ByRegion:            func(i int) string { return fmt.Sprintf("r%d", i) },
		report.ByLanguage:          func(i int) string { return fmt.Sprintf("l%d", i) },
	}
	for by, name := range key {
		got := stats(t, s, report.Query{Breakdown: by})
		var want []report.Group
		for _, i := range []int{2, 1, 0} { // by spend
			n := int64(i + 1)
			want = append(want, report.Group{Key: name(i), Counts: report.Counts{
				Events: report.Events{event.Type_IMPRESSION: n}, Billed: n, Spend: money.Micros(2000 * n),
				Credits: money.Credits(n),
			}})
		}
		require.Equal(t, want, got.Groups, by)
		require.Equal(
			t, []string{reportDay.String(), (reportDay + 1).String(), (reportDay + 2).String()}, keysOf(got.Daily), by,
		)
		require.Equal(t, int64(6), got.Impressions(), by)
	}
	require.Nil(t, stats(t, s, report.Query{}).Groups)
	days := report.Query{Since: reportDay, Until: reportDay + 2, Breakdown: report.ByHour}
	hours := stats(t, s, days)
	require.Equal(
		t, []string{"2026-03-10T12:00:00Z", "2026-03-11T12:00:00Z", "2026-03-12T12:00:00Z"}, keysOf(hours.Groups),
		"by time",
	)
	require.EqualValues(t, 3, hours.Groups[2].Impressions())
	days.AdvertiserID = uuid.UUID{0xa, 1}
	require.Equal(t, []string{"2026-03-11T12:00:00Z"}, keysOf(stats(t, s, days).Groups))
	days = report.Query{DeveloperID: uuid.UUID{0xd, 2}, Breakdown: report.ByRegion}
	require.Equal(t, []string{"r2"}, keysOf(stats(t, s, days).Groups))
	_, err := s.Reader.Stats(
		t.Context(), report.Query{Since: reportDay, Until: reportDay + report.MaxHourly, Breakdown: report.ByHour},
	)
	require.True(t, errs.Is(err, errs.InvalidRequest), "%v", err)
	// Equal spend: by key.
	insertRows(t, s, "more", reportRow(onDay(reportDay), func(r *report.Row) { r.HostApp = "a"; r.Charge = 6000 }))
	require.Equal(
		t, []string{"a", "h2", "h1", "h0"}, keysOf(stats(t, s, report.Query{Breakdown: report.ByHostApp}).Groups),
	)
}

func reportsUnknownBreakdown(t *testing.T, s Reports) {
	_, err := s.Reader.Stats(t.Context(), report.Query{Until: reportDay, Breakdown: "session; DROP TABLE events"})
	require.True(t, errs.Is(err, errs.InvalidRequest), "%v", err)
}

func reportsRanges(t *testing.T, s Reports) {
	at := func(d day.Day, offset time.Duration) report.Row {
		return reportRow(func(r *report.Row) { r.ReceivedAt = d.Time().Add(offset) })
	}
	insertRows(t, s, "r",
		// the day before, twice the day
		at(reportDay, -time.Microsecond), at(reportDay, 0), at(reportDay+1, -time.Microsecond),
		at(reportDay+2, -time.Microsecond), at(reportDay+2, 0)) // the last instant of the next day, the first after it
	for _, c := range []struct {
		since, until day.Day
		want         []int64
	}{
		{reportDay, reportDay, []int64{2}},
		{reportDay, reportDay + 1, []int64{2, 1}},
		{reportDay - 1, reportDay, []int64{1, 2}},
		{reportDay - 1, reportDay + 2, []int64{1, 2, 1, 1}},
		{reportDay + 3, reportDay + 30, nil},
		{reportDay + 1, reportDay, nil},
		{-5_000_000, 5_000_000, []int64{1, 2, 1, 1}},
		{5_000_000, 6_000_000, nil},
	} {
		got := stats(t, s, report.Query{Since: c.since, Until: c.until})
		var days []int64
		var sum int64
		for _, d := range got.Daily {
			days = append(days, d.Impressions())
			sum += d.Impressions()
		}
		require.Equal(t, c.want, days, "%v", c)
		require.Equal(t, sum, got.Impressions(), "%v", c)
	}
}

func reportsFilters(t *testing.T, s Reports) {
	var rows []report.Row
	for i := range byte(8) {
		for range 1 << i {
			rows = append(rows, reportRow(func(r *report.Row) {
				r.AdvertiserID, r.CampaignID, r.DeveloperID = uuid.UUID{0xa, i & 1}, uuid.UUID{0xc, i >> 1 & 1},
					uuid.UUID{0xd, i >> 2}
			}))
		}
	}
	insertRows(t, s, "f", rows...)
	id := func(kind byte, choice int) uuid.UUID {
		if choice < 0 {
			return uuid.Nil
		}
		return uuid.UUID{kind, byte(choice)}
	}
	for a := -1; a < 2; a++ {
		for c := -1; c < 2; c++ {
			for d := -1; d < 2; d++ {
				var want int64
				for i := range 8 {
					if (a < 0 || i&1 == a) && (c < 0 || i>>1&1 == c) && (d < 0 || i>>2 == d) {
						want += 1 << i
					}
				}
				q := report.Query{
					AdvertiserID: id(0xa, a), CampaignID: id(0xc, c), DeveloperID: id(0xd, d),
					Breakdown: report.ByFormat,
				}
				got := stats(t, s, q)
				require.Equal(t, want, got.Impressions(), "%v", q)
				require.Len(t, got.Groups, 1)
				require.Equal(t, want, got.Groups[0].Impressions())
			}
		}
	}
	require.Empty(t, stats(t, s, report.Query{CampaignID: uuid.UUID{0xff}}).Daily)
}

// unchanged runs do and requires that every readable result stays the same.
func unchanged(t *testing.T, s Reports, do func()) {
	t.Helper()
	read := func() (seen []any) {
		for _, by := range []report.Breakdown{report.ByCampaign, report.ByDay, report.ByHostApp} {
			seen = append(seen, stats(t, s, report.Query{Breakdown: by}))
		}
		totals, err := s.Audit.Totals(t.Context())
		require.NoError(t, err)
		return append(seen, totals)
	}
	before := read()
	do()
	require.Equal(t, before, read())
}

// After a lost reply the block is sent again, with three identical sends in all.
func reportsRepeatedToken(t *testing.T, s Reports) {
	rows := make([]report.Row, 0, 500)
	for i := range cap(rows) {
		rows = append(rows, reportRow(func(r *report.Row) { r.CampaignID = uuid.UUID{1, byte(i % 7)} }))
	}
	insertRows(t, s, "stream/3:0-500", rows...)
	require.Equal(t, int64(500), stats(t, s, report.Query{}).Impressions())
	unchanged(t, s, func() {
		insertRows(t, s, "stream/3:0-500", rows...)
		insertRows(t, s, "stream/3:0-500", rows...)
	})
	insertRows(t, s, "stream/3:500-501", reportRow())
	unchanged(t, s, func() { insertRows(t, s, "stream/3:0-500", rows...) })
	require.Equal(t, int64(501), stats(t, s, report.Query{}).Impressions())
}

// Two archivers that both consider themselves the owner of a partition.
func reportsConcurrentToken(t *testing.T, s Reports) {
	rows := make([]report.Row, 200)
	for i := range rows {
		rows[i] = reportRow()
	}
	var wg sync.WaitGroup
	failed := make(chan error, 6)
	for range cap(failed) {
		wg.Go(func() { failed <- s.Writer.Insert(t.Context(), "one", rows) })
	}
	wg.Wait()
	close(failed)
	for err := range failed {
		require.NoError(t, err)
	}
	require.Equal(t, int64(200), stats(t, s, report.Query{}).Impressions())
	totals, err := s.Audit.Totals(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(200), totals.Rows)
}

// Equal rows under different tokens are different events: only the token decides.
func reportsOtherToken(t *testing.T, s Reports) {
	row := reportRow()
	insertRows(t, s, "a", row, row)
	insertRows(t, s, "b", row, row)
	require.Equal(t, int64(4), stats(t, s, report.Query{}).Impressions())
	require.Equal(t, money.Micros(8000), stats(t, s, report.Query{}).Spend)
}

// A block across months is stored in several parts, each rejected individually when repeated.
func reportsManyMonths(t *testing.T, s Reports) {
	var rows []report.Row
	for i := range day.Day(6) {
		rows = append(rows, reportRow(onDay(reportDay+30*i)))
	}
	insertRows(t, s, "m", rows...)
	require.Len(t, stats(t, s, report.Query{}).Daily, 6)
	unchanged(t, s, func() { insertRows(t, s, "m", rows...) })
}

func reportsRollup(t *testing.T, s Reports) {
	spread(t, s)
	insertRows(t, s, "mixed",
		reportRow(withVerdict(ledger.Duplicate)), reportRow(withVerdict(ledger.VerdictSandbox)),
		reportRow(withVerdict(ledger.VerdictExpired)),
		reportRow(withVerdict(ledger.InvalidTraffic+"bot")), reportRow(withVerdict(ledger.SelfServed)))
	for _, k := range event.Kinds() {
		insertRows(t, s, k.Name, reportRow(func(r *report.Row) {
			r.Type, r.ConversionValue = ledger.EventType(k.Name), 7
		}))
	}
	unchanged(t, s, func() {
		for range 3 {
			rows, err := s.Rollup.Aggregate(t.Context(), reportDay)
			require.NoError(t, err)
			require.Equal(t, 2, rows) // spread's key and that of reportRow
		}
		rows, err := s.Rollup.Aggregate(t.Context(), reportDay+2)
		require.NoError(t, err)
		require.Equal(t, 1, rows)
		rows, err = s.Rollup.Aggregate(t.Context(), reportDay+50)
		require.NoError(t, err)
		require.Zero(t, rows)
	})
	_, err := s.Rollup.Aggregate(t.Context(), -1)
	require.True(t, errs.Is(err, errs.InvalidRequest), "%v", err)
}

func reportsRollupsAtOnce(t *testing.T, s Reports) {
	spread(t, s)
	unchanged(t, s, func() {
		var wg sync.WaitGroup
		failed := make(chan error, 4)
		for range cap(failed) {
			wg.Go(func() {
				rows, err := s.Rollup.Aggregate(t.Context(), reportDay)
				if err == nil && rows != 1 {
					err = fmt.Errorf("%d rows", rows)
				}
				failed <- err
			})
		}
		wg.Wait()
		close(failed)
		for err := range failed {
			require.NoError(t, err)
		}
	})
}

func reportsLate(t *testing.T, s Reports) {
	spread(t, s)
	aggregate := func() {
		_, err := s.Rollup.Aggregate(t.Context(), reportDay)
		require.NoError(t, err)
	}
	aggregate()
	late := reportRow(withVerdict(ledger.OverBudget), func(r *report.Row) { r.Format = "late" })
	insertRows(t, s, "late", late)
	got := stats(t, s, report.Query{Since: reportDay, Until: reportDay, Breakdown: report.ByFormat})
	require.Equal(t, int64(2), got.Impressions())
	require.Equal(t, []string{"f0", "late"}, keysOf(got.Groups))
	// A repeat of the late block after the next roll-up adds nothing.
	unchanged(t, s, func() {
		aggregate()
		insertRows(t, s, "late", late)
	})
}

func reportsAuctions(t *testing.T, s Reports) {
	rows := []report.Auction{
		{
			AuctionID: uuid.Must(uuid.NewV7()), At: reportNoon, CampaignID: uuid.UUID{1}, Price: 2000,
			ECPM: 2 * money.USD, Format: "text", Took: time.Millisecond,
		},
		{AuctionID: uuid.Must(uuid.NewV7()), At: reportNoon, Reason: "no_match", Sandbox: true},
	}
	for range 3 {
		require.NoError(t, s.Writer.InsertAuctions(t.Context(), "a", rows))
	}
	require.NoError(t, s.Writer.InsertAuctions(t.Context(), "none", nil))
	n, err := s.Audit.Auctions(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(2), n)
	// A token of events and one of auctions are independent.
	insertRows(t, s, "a", reportRow())
	require.Equal(t, int64(1), stats(t, s, report.Query{}).Impressions())
}

func reportsNotices(t *testing.T, s Reports) {
	id := uuid.Must(uuid.NewV7())
	win := report.Notice{
		AuctionID: id, At: reportNoon, Kind: "win", Proof: "signed", CampaignID: uuid.UUID{1}, Price: 2 * money.USD,
		Reason: -1,
	}
	loss := report.Notice{AuctionID: id, At: reportNoon, Kind: "loss", Proof: "signed", Reason: 0, Sandbox: true}
	for range 3 {
		require.NoError(t, s.Writer.InsertNotices(t.Context(), "n", []report.Notice{win, loss}))
	}
	require.NoError(t, s.Writer.InsertNotices(t.Context(), "none", nil))
	// An exchange that repeats itself later, and an impostor.
	win.At = win.At.Add(time.Second)
	forged := report.Notice{
		AuctionID: id, At: reportNoon, Kind: "win", Proof: "bad_signature", Reason: -1, ImpressionID: "'); -- \x00",
	}
	require.NoError(t, s.Writer.InsertNotices(t.Context(), "n2", []report.Notice{win, forged}))
	require.Error(t, s.Writer.InsertNotices(t.Context(), "", []report.Notice{win}))
	n, err := s.Audit.Notices(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(3), n)
	require.Zero(t, stats(t, s, report.Query{}).Impressions())
}

func reportsAsOf(t *testing.T, s Reports) {
	newest := reportNoon.Add(123456 * time.Microsecond)
	insertRows(t, s, "1", reportRow(func(r *report.Row) { r.ReceivedAt = newest }))
	insertRows(t, s, "2", reportRow(onDay(reportDay-40)), reportRow())
	require.Equal(t, newest, stats(t, s, report.Query{}).AsOf)
	// Also if the range does not hold the newest event, or nothing at all.
	require.Equal(t, newest, stats(t, s, report.Query{Since: reportDay - 60, Until: reportDay - 30}).AsOf)
	require.Equal(t, newest, stats(t, s, report.Query{Since: 2, Until: 1}).AsOf)
}

// An undecodable record has only a verdict; texts come from strangers.
func reportsOdd(t *testing.T, s Reports) {
	hostile := "'); DROP TABLE events; -- \\ \x00 \xff é\n"
	insertRows(t, s, hostile, report.Row{Verdict: ledger.Poison}, reportRow(func(r *report.Row) {
		r.HostApp, r.Format, r.Session, r.ExternalID = hostile, hostile, hostile, hostile
	}))
	got := stats(t, s, report.Query{Since: 0, Until: reportDay, Breakdown: report.ByHostApp})
	require.Equal(t, int64(1), got.Impressions())
	require.Equal(t, int64(1), got.Rejected)
	require.Equal(t, []string{hostile, ""}, keysOf(got.Groups))
	require.Equal(t, []string{"1970-01-01", reportDay.String()}, keysOf(got.Daily))
	unchanged(t, s, func() { insertRows(t, s, hostile, report.Row{Verdict: ledger.Poison}) })
}
