package analytics

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/report"
)

// convertedKey is the key of the counts of conversions.
type convertedKey struct {
	date                 day.Day
	advertiser, campaign uuid.UUID
	kind                 string
}

// convert counts one conversion by its type; the caller holds r.mu.
func (r *Store) convert(date day.Day, row *report.Row) {
	key := convertedKey{date, row.AdvertiserID, row.CampaignID, row.ConversionType}
	c := r.converted[key]
	if c == nil {
		key.kind = strings.Clone(key.kind) // it may be part of a decoded record
		c = &report.Converted{CampaignID: row.CampaignID, Type: key.kind}
		r.converted[key] = c
	}
	c.Conversions++
	if row.Currency == "" || row.Currency == "USD" {
		c.ValueUSD = c.ValueUSD.AddSaturated(row.ConversionValue)
	}
	if at := row.ReceivedAt.UTC().Truncate(time.Microsecond); at.After(c.Last) {
		c.Last = at
	}
}

// Converted counts the conversions of q by campaign and type; see [report.SortConverted].
func (r *Store) Converted(_ context.Context, q report.Query) (report.Conversions, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	type of struct {
		campaign uuid.UUID
		kind     string
	}
	found := make(map[of]report.Converted)
	for key, c := range r.converted {
		if key.date < q.Since || key.date > q.Until || q.AdvertiserID != uuid.Nil && q.AdvertiserID != key.advertiser ||
			q.CampaignID != uuid.Nil && q.CampaignID != key.campaign {
			continue
		}
		sum, some := found[of{key.campaign, key.kind}]
		if !some {
			sum = *c
		} else {
			sum.Conversions += c.Conversions
			sum.ValueUSD = sum.ValueUSD.AddSaturated(c.ValueUSD)
			if c.Last.After(sum.Last) {
				sum.Last = c.Last
			}
		}
		found[of{key.campaign, key.kind}] = sum
	}
	rows := make([]report.Converted, 0, len(found))
	for _, c := range found {
		rows = append(rows, c)
	}
	return report.Conversions{Rows: report.SortConverted(rows), AsOf: r.until}, nil
}
