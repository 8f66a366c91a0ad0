package report

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/money"
)

// MaxConverted is the maximum number of rows in a reply about types of conversions.
const MaxConverted = 1000

// Converted counts the conversions of one type of a campaign.
type Converted struct {
	CampaignID  uuid.UUID    `json:"campaign_id"`
	Type        string       `json:"conversion_type"` // as the advertiser names it, "" without a name
	Conversions int64        `json:"conversions"`
	ValueUSD    money.Micros `json:"value_usd"` // stated in USD; capped at the largest amount
	Last        time.Time    `json:"last_received_at"`
}

// Conversions answers a query for conversions by campaign and type.
type Conversions struct {
	Rows []Converted // the most frequent first, at most [MaxConverted]
	// AsOf is the time up to which events are included: all received before it are counted.
	AsOf time.Time
}

// SortConverted sorts rows, the most frequent first, and returns at most [MaxConverted].
func SortConverted(rows []Converted) []Converted {
	slices.SortFunc(rows, func(a, b Converted) int {
		return cmp.Or(
			cmp.Compare(b.Conversions, a.Conversions), bytes.Compare(a.CampaignID[:], b.CampaignID[:]),
			cmp.Compare(a.Type, b.Type),
		)
	})
	return rows[:min(len(rows), MaxConverted)]
}
