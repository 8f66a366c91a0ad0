package ledger_test

import (
	"maps"
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

// The fixed cast of the tests: two advertisers, three campaigns (two of the first advertiser), two
// publishers.
var (
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

	anna, bert         = testID(1), testID(2)
	annaDev, bertDev   = testID(11), testID(12)
	publisher, another = testID(13), testID(14)
	campaignA1         = testID(21)
	campaignA2         = testID(22)
	campaignB          = testID(23)
)

func testID(n byte) uuid.UUID {
	id := uuid.UUID{15: n}
	id[6], id[8] = 0x40, 0x80
	return id
}

// auctionID is a UUIDv7 of the given number, made at noon.
func auctionID(n int) uuid.UUID {
	ms := noon.UnixMilli()
	id := uuid.UUID{byte(ms >> 40), byte(ms >> 32), byte(ms >> 24), byte(ms >> 16), byte(ms >> 8), byte(ms)}
	id[6], id[8] = 0x70, 0x80
	id[14], id[15] = byte(n>>8), byte(n)
	return id
}

// model is a store in memory that keeps the promises of Tx and nothing more.
type model struct {
	prepaid   bool
	next      map[stream.Partition]int64
	seen      map[Key]bool
	campaigns map[uuid.UUID]CampaignBook
	balances  map[Account]map[Asset]int64
	ids       map[uuid.UUID]bool
	outcomes  map[stream.Partition][]Outcome
	dead      []DeadLetter

	conversionCap int64
	conversions   map[ConversionHour]int64
}

func newModel(books map[uuid.UUID]CampaignBook, deposits map[uuid.UUID]money.Micros) *model {
	m := &model{
		next: map[stream.Partition]int64{}, seen: map[Key]bool{}, campaigns: maps.Clone(books),
		balances: map[Account]map[Asset]int64{}, ids: map[uuid.UUID]bool{}, outcomes: map[stream.Partition][]Outcome{},
		conversions: map[ConversionHour]int64{},
	}
	for id, amount := range deposits {
		m.prepaid = true
		m.move(Entry{Account: AdvertiserCash(id), Asset: USD, Amount: int64(amount)})
		m.move(Entry{Account: Deposits, Asset: USD, Amount: -int64(amount)})
	}
	return m
}

func (m *model) move(e Entry) {
	if m.balances[e.Account] == nil {
		m.balances[e.Account] = map[Asset]int64{}
	}
	m.balances[e.Account][e.Asset] += e.Amount
}

// apply runs one batch through the steps of a Tx behind [Batch.Screen].
func (m *model) apply(t require.TestingT, b Batch) Effects {
	b.Prepaid = m.prepaid
	for _, run := range b.Runs {
		require.Equal(t, m.next[run.Partition], run.First, "claim")
		m.next[run.Partition] = run.Next
	}
	b.ConversionCap = m.conversionCap
	keys := Candidates(b)
	fresh := make([]bool, len(keys))
	for i, key := range keys {
		fresh[i] = !m.seen[key]
		m.seen[key] = true
	}
	effects := Decide(b, fresh, m.books(NeedOf(b)))
	m.write(t, b, effects)
	return effects
}

func (m *model) books(need Need) Books {
	books := Books{
		Campaigns: map[uuid.UUID]*CampaignBook{}, Balances: map[uuid.UUID]money.Micros{},
		Conversions: map[ConversionHour]int64{},
	}
	for _, id := range need.Campaigns {
		book, ok := m.campaigns[id]
		if !ok {
			continue
		}
		spent := map[day.Day]money.Micros{}
		for _, date := range need.Days {
			spent[date] = book.SpentOn[date]
		}
		book.SpentOn = spent
		books.Campaigns[id] = &book
		if need.Prepaid {
			books.Balances[book.AdvertiserID] = money.Micros(m.balances[AdvertiserCash(book.AdvertiserID)][USD])
		}
	}
	for _, hour := range need.Conversions {
		books.Conversions[hour] = m.conversions[hour]
	}
	return books
}

// write applies effects and checks the invariants of every batch.
func (m *model) write(t require.TestingT, b Batch, effects Effects) {
	for _, c := range effects.Conversions {
		m.conversions[c.ConversionHour] += c.Charged
		require.Positive(t, c.Charged)
		if m.conversionCap > 0 {
			require.LessOrEqual(t, m.conversions[c.ConversionHour], m.conversionCap)
		}
	}
	require.Len(t, effects.Applied, len(b.Runs))
	var charged, spent, paid money.Micros
	var minted, issued int64
	for i, applied := range effects.Applied {
		require.Equal(t, b.Runs[i].Range, applied.Range)
		require.Len(t, applied.Outcomes, int(applied.Next-applied.First), "one outcome for every record")
		for _, o := range applied.Outcomes {
			require.NotEmpty(t, o.Verdict)
			charged, minted = charged+o.Charge, minted+int64(o.Minted)
		}
		m.outcomes[applied.Partition] = append(m.outcomes[applied.Partition], applied.Outcomes...)
	}
	for _, s := range effects.Spend {
		require.Positive(t, s.Amount)
		book := m.campaigns[s.CampaignID]
		book.SpentOn = maps.Clone(book.SpentOn)
		if book.SpentOn == nil {
			book.SpentOn = map[day.Day]money.Micros{}
		}
		book.SpentOn[s.Day] += s.Amount
		book.SpentTotal += s.Amount
		m.campaigns[s.CampaignID] = book
		spent += s.Amount
	}
	for _, tr := range effects.Transactions {
		require.False(t, m.ids[tr.ID], "transaction ids are unique")
		m.ids[tr.ID] = true
		sums := map[Asset]int64{}
		for _, e := range tr.Entries {
			sums[e.Asset] += e.Amount
			m.move(e)
		}
		for asset, sum := range sums {
			require.Zero(t, sum, "%s of %s sums to zero", asset, tr.Kind)
		}
		switch tr.Kind {
		case KindCharge:
			paid += money.Micros(tr.Entries[1].Amount)
		case KindMint:
			issued += tr.Entries[1].Amount
		}
	}
	require.Equal(t, charged, spent, "spend rows equal outcomes")
	require.Equal(t, charged, paid, "charge transactions equal outcomes")
	require.Equal(t, minted, issued, "mint transactions equal outcomes")
	m.dead = append(m.dead, effects.Dead...)
}

// within checks that no budget and no balance was passed.
func (m *model) within(t require.TestingT) {
	for id, book := range m.campaigns {
		require.LessOrEqual(t, book.SpentTotal, book.TotalBudget, "total budget of %s", id)
		for date, spent := range book.SpentOn {
			require.LessOrEqual(t, spent, book.DailyBudget, "daily budget of %s on %s", id, date)
		}
		if m.prepaid {
			require.GreaterOrEqual(t, m.balances[AdvertiserCash(book.AdvertiserID)][USD], int64(0), "prepaid balance")
		}
	}
}

// batchOf makes a batch of runs.
func batchOf(at time.Time, runs ...Run) Batch { return Batch{At: at, Runs: runs} }

// single applies events as one batch of partition 0 and gives their outcomes.
func (m *model) single(t *testing.T, events ...Event) []Outcome {
	t.Helper()
	p := stream.Partition{Stream: "s"}
	run := Run{Range: stream.Range{Partition: p, First: m.next[p], Next: m.next[p] + int64(len(events))}}
	for _, e := range events {
		run.Records = append(run.Records, Record{Event: e})
	}
	b, impressions, clicks := batchOf(noon, run), map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	for _, e := range events {
		click := Event{AuctionID: e.AuctionID, Type: Click}
		impressions[e.AuctionID], clicks[e.AuctionID] = true, m.seen[click.Key()]
	}
	b.Screen(impressions, clicks)
	m.apply(t, b)
	return slices.Clone(m.outcomes[p][run.First:])
}

func plainBooks() map[uuid.UUID]CampaignBook {
	return map[uuid.UUID]CampaignBook{
		campaignA1: {
			AdvertiserID: anna, DeveloperID: annaDev, BillingModel: campaign.CPM, Bid: 5_000_000, DailyBudget: 20_000,
			TotalBudget: 50_000,
		},
		campaignA2: {
			AdvertiserID: anna, DeveloperID: annaDev, BillingModel: campaign.CPC, Bid: 9_000, DailyBudget: 20_000,
			TotalBudget: 30_000,
		},
		campaignB: {
			AdvertiserID: bert, DeveloperID: bertDev, BillingModel: campaign.CPA, Bid: 12_000, DailyBudget: 30_000,
			TotalBudget: 40_000,
		},
	}
}

func impression(n int) Event {
	return Event{
		Type: Impression, Proof: Signed, ReceivedAt: noon, AuctionID: auctionID(n), CampaignID: campaignA1,
		AdvertiserID: anna, DeveloperID: publisher, Price: 5_000, BillingModel: campaign.CPM,
	}
}
