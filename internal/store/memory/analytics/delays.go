package analytics

import (
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/report"
)

// delayKey is the key of the counts of charged conversions.
type delayKey struct {
	date       day.Day // of the auction
	advertiser uuid.UUID
	hours      int64
}

// delay counts a charged conversion by the time since its auction, which the id of the auction has.
// The caller holds r.mu.
func (r *Store) delay(row *report.Row) {
	if row.AuctionID.Version() != 7 {
		return
	}
	at := time.Unix(row.AuctionID.Time().UnixTime()).UTC().Truncate(time.Millisecond)
	hours := int64(row.ReceivedAt.Sub(at) / time.Hour)
	if !row.ReceivedAt.Before(at) && hours < report.MaxDelay {
		r.delays[delayKey{day.Of(at), row.AdvertiserID, hours}]++
	}
}

// Delays counts the charged conversions of auctions by advertiser and time since the auction.
func (r *Store) Delays(_ context.Context, q report.DelayQuery) ([]report.Delay, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	sums := map[report.Delay]int64{}
	for key, n := range r.delays {
		if q.Since <= key.date && key.date <= q.Until {
			sums[report.Delay{AdvertiserID: key.advertiser, Hours: key.hours}] += n
		}
	}
	list := make([]report.Delay, 0, len(sums))
	for of, n := range sums {
		of.Conversions = n
		list = append(list, of)
	}
	return report.SortDelays(list), nil
}
