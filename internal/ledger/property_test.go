package ledger_test

import (
	"hash/fnv"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/campaign"
	. "adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/stream"
)

const partitions = 3

// scenario is a set of auctions with everything that happened to each, in the order it happened.
// Kafka keeps the order inside an auction (one key, one partition) and no other.
type scenario struct {
	books    map[uuid.UUID]CampaignBook
	deposits map[uuid.UUID]money.Micros // nil: not prepaid
	auctions [][]Record
}

func drawScenario(t *rapid.T) scenario {
	budget := rapid.Int64Range(1, 60_000)
	s := scenario{books: plainBooks()}
	for _, id := range []uuid.UUID{campaignA1, campaignA2, campaignB} {
		book := s.books[id]
		book.DailyBudget, book.TotalBudget = money.Micros(budget.Draw(t, "daily")),
			money.Micros(budget.Draw(t, "total"))
		book.CreditFunded = rapid.IntRange(0, 4).Draw(t, "credit funded") == 0
		if rapid.Bool().Draw(t, "paused") {
			from := noon.Add(time.Duration(rapid.IntRange(-30, 30).Draw(t, "from")) * time.Hour)
			book.Inactive = []Interval{{From: from, To: from.Add(3 * time.Hour)}}
		}
		s.books[id] = book
	}
	if rapid.Bool().Draw(t, "prepaid") {
		s.deposits = map[uuid.UUID]money.Micros{
			anna: money.Micros(budget.Draw(t, "anna")), bert: money.Micros(budget.Draw(t, "bert")),
		}
	}
	for n := range rapid.IntRange(1, 25).Draw(t, "auctions") {
		s.auctions = append(s.auctions, drawAuction(t, n))
	}
	return s
}

func drawAuction(t *rapid.T, n int) []Record {
	base := Event{
		AuctionID: auctionID(n),
		CampaignID: rapid.SampledFrom([]uuid.UUID{
			campaignA1, campaignA2, campaignB, campaignA1, campaignB, testID(99),
		}).Draw(t, "campaign"),
		DeveloperID: rapid.SampledFrom([]uuid.UUID{
			publisher, another, annaDev, uuid.Nil, publisher,
		}).Draw(t, "developer"),
		Price: money.Micros(rapid.Int64Range(0, 15_000).Draw(t, "price")),
		BillingModel: rapid.SampledFrom([]campaign.BillingModel{
			campaign.CPM, campaign.CPC, campaign.CPA, campaign.VCPM,
		}).Draw(t, "model"),
		Sandbox: rapid.IntRange(0, 9).Draw(t, "sandbox") == 0,
	}
	proofs := []Proof{Signed, Signed, Signed, Signed, UnsignedBillable, Expired, Unsigned, BadSignature}
	types := []EventType{Impression, Impression, Click, Click, Conversion, Close, Skip, VideoComplete, Viewable}
	events := make([]Record, rapid.IntRange(1, 5).Draw(t, "events"))
	for i := range events {
		e := base
		e.Type, e.Proof = rapid.SampledFrom(types).Draw(t, "type"), rapid.SampledFrom(proofs).Draw(t, "proof")
		e.ReceivedAt = noon.Add(time.Duration(rapid.IntRange(-30, 30).Draw(t, "hours")) * time.Hour)
		if e.Type == Conversion && rapid.IntRange(0, 4).Draw(t, "unverified") == 0 {
			e.Proof = Unverified
		}
		if rapid.IntRange(0, 9).Draw(t, "invalid") == 0 {
			e.InvalidTraffic = "bot"
		}
		events[i] = Record{Event: e}
		if rapid.IntRange(0, 19).Draw(t, "poison") == 0 {
			events[i] = Record{Problem: "poison"}
		}
	}
	return events
}

// interleave draws a global order that keeps the order inside each auction.
func interleave(t *rapid.T, auctions [][]Record) []Record {
	rest := slices.Clone(auctions)
	var order []Record
	for len(rest) > 0 {
		i := rapid.IntRange(0, len(rest)-1).Draw(t, "next auction")
		order = append(order, rest[i][0])
		rest[i] = rest[i][1:]
		if len(rest[i]) == 0 {
			rest = slices.Delete(rest, i, i+1)
		}
	}
	return order
}

// settle applies the records in order, in batches of drawn sizes; a batch holds a run for every
// partition that has records in it. Inside a batch runs are applied one after the other.
func settle(t *rapid.T, m *model, order []Record, maxBatch int) {
	m.settle(t, order, drawBatches(t, len(order), maxBatch))
}

// drawBatches cuts so many records into batches.
func drawBatches(t *rapid.T, records, maxBatch int) (sizes []int) {
	for records > 0 {
		n := min(rapid.IntRange(1, maxBatch).Draw(t, "batch"), records)
		sizes, records = append(sizes, n), records-n
	}
	return sizes
}

func (m *model) settle(t *rapid.T, order []Record, batches []int) {
	for _, n := range batches {
		m.apply(t, m.cut(order[:n]))
		order = order[n:]
	}
	m.within(t)
}

func (m *model) cut(records []Record) Batch {
	runs := make([]Run, partitions)
	for i := range runs {
		p := stream.Partition{Stream: "topic", Number: int32(i)}
		runs[i].Range = stream.Range{Partition: p, First: m.next[p], Next: m.next[p]}
	}
	for _, r := range records {
		h := fnv.New32a()
		_, _ = h.Write(r.Event.AuctionID[:])
		run := &runs[h.Sum32()%partitions]
		run.Records = append(run.Records, r)
		run.Next++
	}
	return batchOf(noon, slices.DeleteFunc(runs, func(r Run) bool { return len(r.Records) == 0 })...)
}

// sums must not depend on the order: per campaign when every campaign has its own limits, per
// advertiser when campaigns share a balance. Credits are per developer.
func (m *model) sums() (perCampaign map[uuid.UUID]money.Micros, perAdvertiser map[Account]int64, credits map[Account]int64) {
	perCampaign, perAdvertiser, credits = map[uuid.UUID]money.Micros{}, map[Account]int64{}, map[Account]int64{}
	for id, book := range m.campaigns {
		perCampaign[id] = book.SpentTotal
	}
	for account, assets := range m.balances {
		if assets[USD] != 0 {
			perAdvertiser[account] = assets[USD]
		}
		credits[account] = assets[Credit]
	}
	return perCampaign, perAdvertiser, credits
}

// With one partition order is total, so nothing at all may depend on where it is cut.
func TestPropertyCutsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		order := interleave(t, s.auctions)
		whole, cut := newModel(s.books, s.deposits), newModel(s.books, s.deposits)
		whole.conversionCap = rapid.Int64Range(0, 2).Draw(t, "conversion cap")
		cut.conversionCap = whole.conversionCap
		apply := func(m *model, records []Record) {
			p := stream.Partition{Stream: "topic"}
			first := m.next[p]
			m.apply(
				t,
				batchOf(
					noon,
					Run{
						Range:   stream.Range{Partition: p, First: first, Next: first + int64(len(records))},
						Records: records,
					},
				),
			)
		}
		apply(whole, order)
		for rest := order; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			apply(cut, rest[:n])
			rest = rest[n:]
		}
		require.Equal(t, whole.outcomes, cut.outcomes)
		require.Equal(t, whole.campaigns, cut.campaigns)
		require.Equal(t, whole.balances, cut.balances)
		require.Equal(t, whole.dead, cut.dead)
		whole.within(t)
	})
}

func TestPropertyOrderBetweenAuctionsChangesNoSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		first, two := newModel(s.books, s.deposits), newModel(s.books, s.deposits)
		settle(t, first, interleave(t, s.auctions), 40)
		settle(t, two, interleave(t, s.auctions), 7)
		campaignsOne, cashOne, _ := first.sums()
		campaignsTwo, cashTwo, _ := two.sums() // Credits follow the impressions that found a budget
		if s.deposits == nil {
			require.Equal(t, campaignsOne, campaignsTwo)
		}
		require.Equal(t, cashOne, cashTwo)
	})
}

func TestPropertyRepeatsAndReplaysMoveNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		once, often := newModel(s.books, s.deposits), newModel(s.books, s.deposits)
		order := interleave(t, s.auctions)
		// Of two partitions in a batch the first finds the budget, so both get the same batches.
		batches := drawBatches(t, len(order), 20)
		once.settle(t, order, batches)
		often.settle(t, order, batches)

		// A replay of the whole log, and single records again in any order: the producer's retries,
		// a restored topic, a browser that fires a pixel twice.
		again := slices.Concat(
			interleave(t, s.auctions), rapid.SliceOfN(rapid.SampledFrom(order), 0, 10).Draw(t, "again"),
		)
		settle(t, often, again, 20)
		_, cash, credits := once.sums()
		_, cashAgain, creditsAgain := often.sums()
		require.Equal(t, cash, cashAgain)
		require.Equal(t, credits, creditsAgain)
		total := 0
		for _, outcomes := range often.outcomes {
			total += len(outcomes)
		}
		require.Equal(t, len(order)+len(again), total, "every record has exactly one outcome")
	})
}

// The fewest words for the second promise: however much is delivered, never above a limit, and the
// limit is used up when the demand is there.
func TestPropertyBindingBudgetIsSpentExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		book := plainBooks()[campaignA1]
		book.DailyBudget = money.Micros(rapid.Int64Range(1, 40_000).Draw(t, "daily"))
		book.TotalBudget = money.Micros(rapid.Int64Range(1, 40_000).Draw(t, "total"))
		deposit := money.Micros(rapid.Int64Range(1, 40_000).Draw(t, "deposit"))
		m := newModel(map[uuid.UUID]CampaignBook{campaignA1: book}, map[uuid.UUID]money.Micros{anna: deposit})
		var order []Record
		var demand money.Micros
		for n := range rapid.IntRange(1, 30).Draw(t, "impressions") {
			e := impression(n)
			e.Price = money.Micros(rapid.Int64Range(1, 9_000).Draw(t, "price"))
			demand += e.Price
			order = append(order, Record{Event: e})
		}
		settle(t, m, order, 10)
		require.Equal(t, min(demand, book.DailyBudget, book.TotalBudget, deposit), m.campaigns[campaignA1].SpentTotal)
		charged := 0
		for _, outcomes := range m.outcomes {
			for _, o := range outcomes {
				if o.Charge > 0 {
					charged++
				}
			}
		}
		require.EqualValues(
			t, charged, m.balances[PendingCredits(publisher)][Credit], "what is shown for nothing earns nothing",
		)
	})
}
