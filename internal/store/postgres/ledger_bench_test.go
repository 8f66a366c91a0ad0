package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/store/postgres/books"
	"adnet/internal/store/storetest"
	"adnet/internal/stream"
)

const benchBatch = 5000

// benchBatches makes n batches of new impressions, a tenth of them repeats, spread over 200
// campaigns, 50 publishers and 4 partitions, as one poll brings them.
func benchBatches(b *testing.B, s *Stores, n int) []ledger.Batch {
	b.Helper()
	var campaigns []campaign.Campaign
	for range 200 {
		owner := uuid.Must(uuid.NewV7())
		_, err := s.Pool.Exec(
			b.Context(), `INSERT INTO app_user VALUES ($1, $2, $3, 'x', 'advertiser', false, 1, now())`, owner,
			uuid.New(), owner.String(),
		)
		require.NoError(b, err)
		c := storetest.NewCampaign(&testing.T{}, owner)
		c.BillingModel, c.BidAmount, c.DailyBudget, c.TotalBudget = campaign.CPM, 5*money.USD, money.Max, money.Max
		c, err = s.Campaigns.CreateCampaign(
			b.Context(),
			campaign.NewCampaign{Campaign: c, Admit: func(bool) campaign.Status { return campaign.Active }},
		)
		require.NoError(b, err)
		campaigns = append(campaigns, c)
	}
	var developers [50]uuid.UUID
	for i := range developers {
		developers[i] = uuid.New()
	}
	batches := make([]ledger.Batch, n)
	for i := range batches {
		now := time.Now().UTC()
		batches[i] = ledger.Batch{At: now, Runs: make([]ledger.Run, 4)}
		for p := range batches[i].Runs {
			run := &batches[i].Runs[p]
			const size = benchBatch / 4
			run.Range = stream.Range{
				Partition: stream.Partition{Stream: "bench", Number: int32(p)}, First: int64(i) * size,
				Next: int64(i+1) * size,
			}
			run.Records = make([]ledger.Record, size)
			for j := range run.Records {
				c := &campaigns[(j*7+p)%len(campaigns)]
				run.Records[j].Event = ledger.Event{
					Type: ledger.Impression, Proof: ledger.Signed, ReceivedAt: now, AuctionID: uuid.Must(uuid.NewV7()),
					CampaignID:   c.ID,
					AdvertiserID: c.AdvertiserID, DeveloperID: developers[j%len(developers)], Price: 5000,
					BillingModel: campaign.CPM,
				}
				if j%10 == 9 {
					run.Records[j] = run.Records[j-5]
				}
			}
		}
	}
	return batches
}

// BenchmarkApply is the whole transaction of a poll, decision included, on one applier.
func BenchmarkApply(b *testing.B) {
	for _, prepaid := range []bool{false, true} {
		b.Run(fmt.Sprintf("prepaid=%v", prepaid), func(b *testing.B) {
			s := openStore(b)
			batches := benchBatches(b, s, b.N)
			b.ResetTimer()
			for i := range batches {
				batch := batches[i]
				batch.Prepaid = prepaid
				err := s.Ledger.InTx(b.Context(), func(tx ledger.Tx) error {
					ranges := make([]stream.Range, len(batch.Runs))
					for i := range batch.Runs {
						ranges[i] = batch.Runs[i].Range
					}
					if err := tx.AdvanceOffsets(b.Context(), ranges); err != nil {
						return err
					}
					fresh, err := tx.MarkFirst(b.Context(), ledger.Candidates(batch))
					if err != nil {
						return err
					}
					books, err := tx.Books(b.Context(), ledger.NeedOf(batch))
					if err != nil {
						return err
					}
					return tx.Write(b.Context(), ledger.Decide(batch, fresh, books))
				})
				require.NoError(b, err)
			}
			b.ReportMetric(float64(benchBatch*b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkMarkFirst is the deduplication alone, in a transaction of its own.
func BenchmarkMarkFirst(b *testing.B) {
	s := openStore(b)
	batches := make([][]ledger.Key, b.N)
	for i := range batches {
		batches[i] = make([]ledger.Key, benchBatch)
		for j := range batches[i] {
			id := uuid.Must(uuid.NewV7())
			batches[i][j] = ledger.Key{Day: day.OfUUID(id), Auction: id, Type: ledger.Impression}
		}
	}
	b.ResetTimer()
	for _, keys := range batches {
		require.NoError(b, s.Ledger.InTx(b.Context(), func(tx ledger.Tx) error {
			_, err := tx.MarkFirst(b.Context(), keys)
			return err
		}))
	}
	b.ReportMetric(float64(benchBatch*b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkOutcomes packs and unpacks a range, and tells its size.
func BenchmarkOutcomes(b *testing.B) {
	outcomes := make([]ledger.Outcome, benchBatch)
	for i := range outcomes {
		outcomes[i] = ledger.Outcome{Verdict: ledger.OK, Charge: money.Micros(3000 + i*7%50*100), Minted: 1}
		if i%10 == 9 {
			outcomes[i] = ledger.Outcome{Verdict: ledger.Duplicate}
		}
	}
	var packed []byte
	var got []ledger.Outcome
	for b.Loop() {
		packed = books.EncodeOutcomes(packed[:0], outcomes)
		var err error
		if got, err = books.DecodeOutcomes(got[:0], packed); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(packed))/benchBatch, "bytes/record")
}
