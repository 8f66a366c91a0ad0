package report

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/money"
)

// MaxConverted is the most rows of an answer about types of conversions.
const MaxConverted = 1000

// Converted is the counted conversions of one type of a campaign.
type Converted struct {
	CampaignID  uuid.UUID    `json:"campaign_id"`
	Type        string       `json:"conversion_type"` // as the advertiser names it, "" where it did not
	Conversions int64        `json:"conversions"`
	ValueUSD    money.Micros `json:"value_usd"` // stated in USD; ends at the largest amount
	Last        time.Time    `json:"last_received_at"`
}

// Conversions answers a query for conversions by campaign and type.
type Conversions struct {
	Rows []Converted // the most frequent first, at most [MaxConverted]
	// AsOf is the time up to which events are included: all received before it are counted.
	AsOf time.Time
}

// SortConverted brings rows into their order, the most frequent first, and keeps [MaxConverted].
func SortConverted(rows []Converted) []Converted {
	slices.SortFunc(rows, func(a, b Converted) int {
		return cmp.Or(
			cmp.Compare(b.Conversions, a.Conversions), bytes.Compare(a.CampaignID[:], b.CampaignID[:]),
			cmp.Compare(a.Type, b.Type),
		)
	})
	return rows[:min(len(rows), MaxConverted)]
}
