package standing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account/family"
	"adnet/internal/day"
	"adnet/internal/ledger/owed"
	"adnet/internal/process/obs"
	"adnet/internal/report"
)

// The auctions from whose conversions the delay is learnt are of these days before today: all their
// conversions were reported, the late ones as well.
const (
	delaysSince = 90
	delaysUntil = 31
)

// delays holds the delays of the network's conversions, which change slowly.
type delays struct {
	source Source
	at     time.Time
	list   []report.Delay
}

// read brings the delays up to date once in an hour. After an error the last ones stay.
func (d *delays) read(ctx context.Context, now time.Time, log *obs.LimitedLogger) {
	if !d.at.IsZero() && now.Sub(d.at) < restEvery && !now.Before(d.at) {
		return
	}
	d.at = now
	today := day.Of(now)
	list, err := d.source.Delays(ctx, report.DelayQuery{Since: today - delaysSince, Until: today - delaysUntil})
	if err != nil {
		log.Warn(ctx, "the delay of conversions was not read: the last one stays", "error", err)
		return
	}
	d.list = list
}

// curve returns the network's curve. A family counts by its vote, as accounts cost nothing.
func (d *delays) curve(families map[uuid.UUID]family.Member, votes map[uuid.UUID]int64) owed.Curve {
	of := map[uuid.UUID]owed.Delays{}
	for _, row := range d.list {
		id := family.Of(families, row.AdvertiserID).Family
		// The middle of the hour.
		at, ok := owed.Bucket(time.Duration(row.Hours)*time.Hour + 30*time.Minute)
		if !ok || votes[id] <= 0 {
			continue
		}
		sum := of[id]
		sum.Weight = votes[id]
		sum.Conversions[at] += row.Conversions
		of[id] = sum
	}
	list := make([]owed.Delays, 0, len(of))
	for _, sum := range of {
		list = append(list, sum)
	}
	return owed.NetworkCurve(list)
}
