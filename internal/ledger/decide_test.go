package ledger_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/day"
	. "adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/stream"
)

func with(e Event, edit func(*Event)) Event {
	edit(&e)
	return e
}

func TestVerdictsOfOneRecord(t *testing.T) {
	paused := Interval{From: noon.Add(-time.Minute), To: noon.Add(time.Minute)}
	cases := []struct {
		name  string
		event func(*Event)
		book  func(*CampaignBook)
		want  Outcome
	}{
		{"valid impression", nil, nil, Outcome{Verdict: OK, Charge: 5_000, Minted: 1}},
		{
			"no publisher known", func(e *Event) { e.DeveloperID = uuid.Nil }, nil,
			Outcome{Verdict: OK, Charge: 5_000, Minted: 0},
		},
		{"forged", func(e *Event) { e.Proof = BadSignature }, nil, Outcome{Verdict: VerdictForged}},
		{"expired", func(e *Event) { e.Proof = Expired }, nil, Outcome{Verdict: VerdictExpired}},
		{"unsigned", func(e *Event) { e.Proof = Unsigned }, nil, Outcome{Verdict: VerdictUnsigned}},
		{"no proof at all", func(e *Event) { e.Proof = "" }, nil, Outcome{Verdict: VerdictUnsigned}},
		{"bot", func(e *Event) { e.InvalidTraffic = "bot" }, nil, Outcome{Verdict: "invalid_traffic:bot"}},
		{"sandbox", func(e *Event) { e.Sandbox = true }, nil, Outcome{Verdict: VerdictSandbox}},
		{
			"sandbox of no campaign", func(e *Event) { e.Sandbox, e.CampaignID = true, uuid.Nil }, nil,
			Outcome{Verdict: VerdictSandbox},
		},
		{"unknown campaign", func(e *Event) { e.CampaignID = testID(99) }, nil, Outcome{Verdict: UnknownCampaign}},
		{"own campaign", func(e *Event) { e.DeveloperID = annaDev }, nil, Outcome{Verdict: SelfServed}},
		{"house ad", func(e *Event) { e.House, e.DeveloperID = true, annaDev }, nil, Outcome{Verdict: VerdictHouse}},
		{
			"house ad that is not its publisher's own, with a price", func(e *Event) { e.House = true }, nil,
			Outcome{Verdict: VerdictHouse},
		},
		{
			"house ad of a paused campaign", func(e *Event) { e.House = true },
			func(b *CampaignBook) { b.Inactive = []Interval{paused} }, Outcome{Verdict: VerdictHouse},
		},
		{
			"own campaign, token says another advertiser",
			func(e *Event) { e.DeveloperID, e.AdvertiserID = annaDev, bert }, nil, Outcome{Verdict: SelfServed},
		},
		{
			"paused is hosted, not charged", nil, func(b *CampaignBook) { b.Inactive = []Interval{paused} },
			Outcome{Verdict: VerdictPaused, Charge: 0},
		},
		{
			"still paused", nil, func(b *CampaignBook) { b.Inactive = []Interval{{From: noon}} },
			Outcome{Verdict: VerdictPaused, Charge: 0},
		},
		{
			"resumed at this instant", nil,
			func(b *CampaignBook) { b.Inactive = []Interval{{From: noon.Add(-time.Hour), To: noon}} },
			Outcome{Verdict: OK, Charge: 5_000, Minted: 1},
		},
		{
			"day is spent", nil, func(b *CampaignBook) { b.SpentOn = map[day.Day]money.Micros{day.Of(noon): 20_000} },
			Outcome{Verdict: OverBudget, Charge: 0},
		},
		{
			"another day is spent", nil,
			func(b *CampaignBook) { b.SpentOn = map[day.Day]money.Micros{day.Of(noon) - 1: 20_000} },
			Outcome{Verdict: OK, Charge: 5_000, Minted: 1},
		},
		{
			"total is spent", nil, func(b *CampaignBook) { b.SpentTotal = 50_000 },
			Outcome{Verdict: OverBudget, Charge: 0},
		},
		{
			"budget was lowered under the spend", nil, func(b *CampaignBook) { b.SpentTotal = 90_000 },
			Outcome{Verdict: OverBudget, Charge: 0},
		},
		{
			"a part is left", nil, func(b *CampaignBook) { b.SpentTotal = 49_999 },
			Outcome{Verdict: OK, Charge: 1, Minted: 1},
		},
		{"click of a cpm campaign", func(e *Event) { e.Type = Click }, nil, Outcome{Verdict: OK}},
		{
			"first click of cpc", func(e *Event) { e.Type, e.BillingModel = Click, campaign.CPC }, nil,
			Outcome{Verdict: OK, Charge: 5_000, Minted: 0},
		},
		{
			"impression of cpc", func(e *Event) { e.BillingModel = campaign.CPC }, nil,
			Outcome{Verdict: OK, Charge: 0, Minted: 1},
		},
		{
			"impression of cpc over budget", func(e *Event) { e.BillingModel = campaign.CPC },
			func(b *CampaignBook) { b.SpentTotal = 50_000 }, Outcome{Verdict: OK, Charge: 0, Minted: 1},
		},
		{
			"conversion without a click", func(e *Event) { e.Type, e.BillingModel = Conversion, campaign.CPA }, nil,
			Outcome{Verdict: VerdictEarly},
		},
		{
			"conversion without the advertiser's word",
			func(e *Event) { e.Type, e.BillingModel, e.Proof = Conversion, campaign.CPA, Unverified }, nil,
			Outcome{Verdict: VerdictUnverified},
		},
		{
			"unverified conversion of no campaign",
			func(e *Event) { e.Type, e.Proof, e.CampaignID = Conversion, Unverified, testID(99) }, nil,
			Outcome{Verdict: VerdictUnverified},
		},
		{
			"sandbox conversion", func(e *Event) { e.Type, e.Sandbox = Conversion, true }, nil,
			Outcome{Verdict: VerdictSandbox},
		},
		{
			"unsigned conversion", func(e *Event) { e.Type, e.Proof = Conversion, UnsignedBillable },
			func(b *CampaignBook) { b.BillingModel = campaign.CPA }, Outcome{Verdict: OK},
		},
		{
			"unsigned, billed by the campaign's bid",
			func(e *Event) { e.Proof, e.Price, e.BillingModel = UnsignedBillable, 77, campaign.CPC }, nil,
			Outcome{Verdict: OK, Charge: 5_000, Minted: 1},
		},
		{
			"negative price earns nobody anything", func(e *Event) { e.Price = -5 }, nil,
			Outcome{Verdict: OK, Charge: 0, Minted: 1},
		},
		{"a view costs and earns nothing", func(e *Event) { e.Type = Viewable }, nil, Outcome{Verdict: OK}},
		{
			"a view that is paid for", func(e *Event) { e.Type, e.BillingModel = Viewable, campaign.VCPM }, nil,
			Outcome{Verdict: OK, Charge: 5_000, Minted: 1},
		},
		{"and its impression", func(e *Event) { e.BillingModel = campaign.VCPM }, nil, Outcome{Verdict: OK}},
		{
			"a view over budget", func(e *Event) { e.Type, e.BillingModel = Viewable, campaign.VCPM },
			func(b *CampaignBook) { b.SpentTotal = 50_000 }, Outcome{Verdict: OverBudget},
		},
		{
			"an unsigned view", func(e *Event) { e.Type, e.Proof = Viewable, UnsignedBillable },
			func(b *CampaignBook) { b.BillingModel = campaign.VCPM }, Outcome{Verdict: OK},
		},
		{
			"an unsigned impression before it", func(e *Event) { e.Proof = UnsignedBillable },
			func(b *CampaignBook) { b.BillingModel = campaign.VCPM }, Outcome{Verdict: OK},
		},
		{"video complete", func(e *Event) { e.Type = VideoComplete }, nil, Outcome{Verdict: OK}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			books := plainBooks()
			if c.book != nil {
				book := books[campaignA1]
				c.book(&book)
				books[campaignA1] = book
			}
			e := impression(1)
			if c.event != nil {
				c.event(&e)
			}
			require.Equal(t, []Outcome{c.want}, newModel(books, nil).single(t, e))
		})
	}
}

func TestSecondEventOfAnAuctionIsDuplicate(t *testing.T) {
	m := newModel(plainBooks(), nil)
	require.Equal(
		t, []Outcome{{Verdict: OK, Charge: 5_000, Minted: 1}, {Verdict: Duplicate}},
		m.single(t, impression(1), impression(1)),
	)
	require.Equal(t, []Outcome{{Verdict: Duplicate}}, m.single(t, impression(1)))
	sandbox := with(impression(2), func(e *Event) { e.Sandbox = true })
	require.Equal(t, []Outcome{{Verdict: VerdictSandbox}, {Verdict: Duplicate}}, m.single(t, sandbox, sandbox))
}

func TestRefusedEventsDoNotUseUpTheKey(t *testing.T) {
	for _, edit := range []func(*Event){
		func(e *Event) { e.Proof = BadSignature }, func(e *Event) { e.Proof = Unsigned },
		func(e *Event) { e.Proof = Expired }, func(e *Event) { e.InvalidTraffic = "prefetch" },
	} {
		m := newModel(plainBooks(), nil)
		out := m.single(t, with(impression(1), edit), impression(1))
		require.Equal(t, Outcome{Verdict: OK, Charge: 5_000, Minted: 1}, out[1])
	}
}

func TestConversionIsBilledOnlyWithItsClick(t *testing.T) {
	click := with(impression(1), func(e *Event) {
		e.Type, e.CampaignID, e.BillingModel, e.Price = Click, campaignB, campaign.CPA, 12_000
	})
	conversion := with(click, func(e *Event) { e.Type = Conversion })
	charged := Outcome{Verdict: OK, Charge: 12_000, Minted: 0}

	require.Equal(
		t, []Outcome{{Verdict: OK}, charged}, newModel(plainBooks(), nil).single(t, click, conversion), "same batch",
	)

	m := newModel(plainBooks(), nil)
	m.single(t, click)
	require.Equal(t, []Outcome{charged}, m.single(t, conversion), "click in an earlier batch")

	unverified := Outcome{Verdict: VerdictUnverified}
	require.Equal(t, []Outcome{
		charged, {Verdict: OK}, {Verdict: Duplicate},
	}, newModel(plainBooks(), nil).single(t, conversion, click, conversion),
		"the order of two requests does not matter")

	invalid := with(click, func(e *Event) { e.InvalidTraffic = "bot" })
	require.Equal(
		t, Outcome{Verdict: VerdictEarly}, newModel(plainBooks(), nil).single(t, invalid, conversion)[1],
		"an invalid click is no click",
	)

	claimed := with(conversion, func(e *Event) { e.Proof = Unverified })
	require.Equal(t, []Outcome{{Verdict: OK}, unverified, {Verdict: Duplicate}, charged, {Verdict: Duplicate}},
		newModel(plainBooks(), nil).single(t, click, claimed, claimed, conversion, conversion),
		"each counts once, and apart")

	goal := func(kind, external string) Event {
		return with(claimed, func(e *Event) { e.Goal = &Goal{Type: kind, External: external} })
	}
	require.Equal(t, []Outcome{
		{Verdict: OK}, unverified, unverified, unverified, unverified, {Verdict: Duplicate}, {Verdict: Duplicate},
		charged,
	}, newModel(plainBooks(), nil).single(
		t, click, goal("sale", "o1"), goal("lead", "o1"), goal("lead", "o2"), claimed, goal("sale", "o1"),
		goal("lead", "o2"), with(goal("sale", "o1"), func(e *Event) { e.Proof = Signed }),
	), "each unverified goal counts once, and uses up no verified one")
}

// The forms of a type are one in deduplication and in charging.
func TestFormsOfAConversionTypeAreOneType(t *testing.T) {
	click := with(impression(1), func(e *Event) {
		e.Type, e.CampaignID, e.BillingModel, e.Price = Click, campaignB, campaign.CPA, 3_000
	})
	sale := func(kind, external string) Event {
		return with(click, func(e *Event) { e.Type, e.Goal = Conversion, &Goal{Type: kind, External: external} })
	}
	for _, paid := range []string{"straße", "Strasse ", "ＳＴＲＡＳＳＥ"} {
		books := plainBooks()
		book := books[campaignB]
		book.ConversionType = paid
		books[campaignB] = book
		got := newModel(books, nil).single(
			t, click, sale("lead", "o1"), sale("STRASSE", "o1"), sale(" straße", "o1"), sale("ｓｔｒａｓｓｅ", "o1"),
			sale("strasse", "o2"),
		)
		require.Equal(t, []Outcome{
			{Verdict: OK}, {Verdict: OK}, {Verdict: OK, Charge: got[2].Charge},
			{Verdict: Duplicate}, {Verdict: Duplicate}, {Verdict: OK},
		}, got)
		require.Positive(t, got[2].Charge, paid)
	}
}

// The cap counts charges: conversions that a budget refuses, or above the cap, take no place.
func TestConversionsAreCappedByTheHour(t *testing.T) {
	sale := func(n int, edit func(*Event)) []Event {
		click := with(impression(n), func(e *Event) {
			e.Type, e.CampaignID, e.BillingModel, e.Price = Click, campaignB, campaign.CPA, 3_000
		})
		if edit != nil {
			edit(&click)
		}
		return []Event{click, with(click, func(e *Event) { e.Type = Conversion })}
	}
	books := plainBooks()
	book := books[campaignB]
	book.DailyBudget, book.TotalBudget = 30_000, 30_000
	books[campaignB] = book
	m := newModel(books, nil)
	m.conversionCap = 2
	verdicts := func(events ...Event) (list []Verdict) {
		for i, o := range m.single(t, events...) {
			if events[i].Type == Conversion {
				list = append(list, o.Verdict)
			}
		}
		return list
	}
	require.Equal(
		t, []Verdict{OK, OK, ConversionCapped}, verdicts(slices.Concat(sale(1, nil), sale(2, nil), sale(3, nil))...),
		"in one batch",
	)
	require.Equal(t, []Verdict{ConversionCapped}, verdicts(sale(4, nil)...), "and in the next")
	require.Equal(
		t, []Verdict{OK}, verdicts(sale(5, func(e *Event) { e.ReceivedAt = noon.Add(time.Hour) })...), "another hour",
	)
	require.Equal(
		t, []Verdict{OK}, verdicts(sale(6, func(e *Event) { e.DeveloperID = another })...), "another publisher",
	)
	require.Equal(
		t, []Verdict{OK}, verdicts(sale(7, func(e *Event) { e.BillingModel = campaign.CPM })...),
		"a conversion that costs nothing",
	)
	m.conversionCap = 0
	require.Equal(t, []Verdict{OK}, verdicts(sale(8, nil)...))
}

func TestPrepaidBalanceLimitsCashAndNotCredits(t *testing.T) {
	events := []Event{impression(1), impression(2)}
	m := newModel(plainBooks(), map[uuid.UUID]money.Micros{anna: 7_000})
	require.Equal(
		t, []Outcome{{Verdict: OK, Charge: 5_000, Minted: 1}, {Verdict: OK, Charge: 2_000, Minted: 1}},
		m.single(t, events...),
	)
	require.Equal(t, []Outcome{{Verdict: OverBalance}}, m.single(t, impression(3)))
	require.Zero(t, m.balances[AdvertiserCash(anna)][USD])

	books := plainBooks()
	book := books[campaignA1]
	book.CreditFunded = true
	books[campaignA1] = book
	m = newModel(books, map[uuid.UUID]money.Micros{anna: 0})
	require.Equal(
		t, []Outcome{{Verdict: OK, Charge: 5_000, Minted: 1}, {Verdict: OK, Charge: 5_000, Minted: 1}},
		m.single(t, events...),
	)
	require.Equal(t, int64(-10_000), m.balances[CreditFunding][USD])
	require.Zero(t, m.balances[AdvertiserCash(anna)][USD])
}

func TestTwoCampaignsShareOneBalance(t *testing.T) {
	m := newModel(plainBooks(), map[uuid.UUID]money.Micros{anna: 7_000})
	click := with(impression(2), func(e *Event) {
		e.Type, e.CampaignID, e.BillingModel, e.Price = Click, campaignA2, campaign.CPC, 9_000
	})
	require.Equal(
		t, []Outcome{{Verdict: OK, Charge: 5_000, Minted: 1}, {Verdict: OK, Charge: 2_000, Minted: 0}},
		m.single(t, impression(1), click),
	)
}

func TestEffectsAreGroupedAndOrdered(t *testing.T) {
	tomorrow := func(e *Event) { e.ReceivedAt = noon.Add(24 * time.Hour) }
	click := func(e *Event) { e.Type, e.CampaignID, e.BillingModel = Click, campaignA2, campaign.CPC }
	run := func(number int32, events ...Event) Run {
		r := Run{Range: stream.Range{
			Partition: stream.Partition{Stream: "topic", Number: number}, First: 10, Next: 10 + int64(len(events)),
		}}
		for _, e := range events {
			r.Records = append(r.Records, Record{Event: e})
		}
		return r
	}
	second := run(1, with(impression(4), func(e *Event) { e.DeveloperID = another }))
	second.Records = append(second.Records, Record{Problem: "not an event", Raw: []byte{1, 2}})
	second.Next++
	b := batchOf(noon, run(0, with(impression(1), click), with(impression(2), tomorrow), impression(3)), second)
	var books Books
	for id, book := range plainBooks() {
		if books.Campaigns == nil {
			books.Campaigns = map[uuid.UUID]*CampaignBook{}
		}
		books.Campaigns[id] = &book
	}
	effects := Decide(b, []bool{true, true, true, true}, books)

	today := day.Of(noon)
	require.Equal(t, []Spend{
		{campaignA1, today, 10_000}, {campaignA1, today + 1, 5_000}, {campaignA2, today, 5_000},
	}, effects.Spend)
	ref := "topic/0:10-13+1"
	require.Equal(t, []Transaction{
		{
			TransactionID(KindCharge, ref, campaignA1), KindCharge, ref, campaignA1, noon,
			[]Entry{{AdvertiserCash(anna), USD, -15_000}, {Revenue, USD, 15_000}}, uuid.Nil,
		},
		{
			TransactionID(KindCharge, ref, campaignA2), KindCharge, ref, campaignA2, noon,
			[]Entry{{AdvertiserCash(anna), USD, -5_000}, {Revenue, USD, 5_000}}, uuid.Nil,
		},
		{
			TransactionID(KindMint, ref, publisher), KindMint, ref, publisher, noon,
			[]Entry{{Mint, Credit, -2}, {PendingCredits(publisher), Credit, 2}}, uuid.Nil,
		},
		{
			TransactionID(KindMint, ref, another), KindMint, ref, another, noon,
			[]Entry{{Mint, Credit, -1}, {PendingCredits(another), Credit, 1}}, uuid.Nil,
		},
	}, effects.Transactions)
	require.Equal(t, []DeadLetter{{second.Partition, 11, "not an event", []byte{1, 2}}}, effects.Dead)
	require.Equal(t, noon, effects.At)
	for range 20 {
		require.Equal(t, effects, Decide(b, []bool{true, true, true, true}, books))
	}
}

func TestNeedNamesOnlyWhatDecidesMoney(t *testing.T) {
	conversion := func(e *Event) { e.Type, e.BillingModel, e.CampaignID = Conversion, campaign.CPA, campaignB }
	claimed := func(e *Event) { e.Type, e.Proof, e.CampaignID = Conversion, Unverified, testID(93) }
	run := Run{Records: []Record{
		{Problem: "poison"},
		{Event: with(impression(1), func(e *Event) { e.Proof, e.CampaignID = BadSignature, testID(90) })},
		{Event: with(impression(2), func(e *Event) { e.Sandbox, e.CampaignID = true, testID(91) })},
		{Event: with(impression(3), func(e *Event) { e.InvalidTraffic, e.CampaignID = "bot", testID(92) })},
		{Event: with(impression(5), conversion)},
		{Event: with(impression(4), conversion)},
		{Event: with(impression(7), claimed)},
		{Event: with(impression(6), func(e *Event) { e.ReceivedAt = noon.Add(-24 * time.Hour) })},
	}}
	b := batchOf(noon, run)
	b.Prepaid, b.ConversionCap = true, 1
	require.Equal(t, Need{
		Campaigns: []uuid.UUID{campaignA1, campaignB}, Days: []day.Day{day.Of(noon) - 1, day.Of(noon)},
		Prepaid: true, Publishers: []uuid.UUID{publisher},
		Conversions: []ConversionHour{{campaignB, publisher, HourOf(noon)}},
	}, NeedOf(b))
	require.Len(t, Candidates(b), 6, "sandbox and invalid events and unverified conversions are deduplicated too")
}

func TestMissingMarkCountsAsRepeat(t *testing.T) {
	run := Run{Range: stream.Range{Next: 1}, Records: []Record{{Event: impression(1)}}}
	book := plainBooks()[campaignA1]
	effects := Decide(batchOf(noon, run), nil, Books{Campaigns: map[uuid.UUID]*CampaignBook{campaignA1: &book}})
	require.Equal(t, Duplicate, effects.Applied[0].Outcomes[0].Verdict)
	require.Empty(t, effects.Transactions)
}

func TestTransactionIDIsFixedAndCollisionFree(t *testing.T) {
	id := TransactionID(KindCharge, "a/0:1-2", campaignB)
	require.Equal(t, id, TransactionID(KindCharge, "a/0:1-2", campaignB))
	require.EqualValues(t, 8, id.Version())
	others := []uuid.UUID{
		TransactionID(KindMint, "a/0:1-2", campaignB), TransactionID(KindCharge, "a/0:1-3", campaignB),
		TransactionID(KindCharge, "a/0:1-2", campaignA1), TransactionID("chargea", "/0:1-2", campaignB),
	}
	require.False(t, slices.Contains(others, id))
}

func BenchmarkDecide(b *testing.B) {
	const n = 5_000
	books := Books{Campaigns: map[uuid.UUID]*CampaignBook{}}
	for i := range 500 {
		books.Campaigns[testID2(i)] = &CampaignBook{
			AdvertiserID: testID(byte(i)), DailyBudget: money.Max, TotalBudget: money.Max,
		}
	}
	run := Run{Range: stream.Range{Next: n}}
	for i := range n {
		e := impression(i)
		e.CampaignID, e.DeveloperID = testID2(i%500), testID2(600+i%50)
		run.Records = append(run.Records, Record{Event: e})
	}
	batch := batchOf(noon, run)
	fresh := make([]bool, n)
	for i := range fresh {
		fresh[i] = i%10 != 0
	}
	b.ReportAllocs()
	for b.Loop() {
		Candidates(batch)
		NeedOf(batch)
		Decide(batch, fresh, books)
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "events/s")
}

func testID2(n int) uuid.UUID { return uuid.UUID{6: 0x40, 8: 0x80, 14: byte(n >> 8), 15: byte(n)} }
