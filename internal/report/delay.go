package report

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/day"
)

// MaxDelay is the number of hours after an auction within which conversions are in the delays.
const MaxDelay = 30 * 24

// MaxDelays is the maximum number of rows of a result.
const MaxDelays = 100_000

// Delay counts charged conversions of an advertiser by the time since their auction.
type Delay struct {
	AdvertiserID uuid.UUID
	Hours        int64 // whole ones
	Conversions  int64
}

// DelayQuery selects the conversions of the auctions of days, both included.
type DelayQuery struct{ Since, Until day.Day }

// SortDelays sorts delays by advertiser and hours, and keeps the first [MaxDelays] by number of
// conversions.
func SortDelays(list []Delay) []Delay {
	byAdvertiser := func(a, b Delay) int {
		return cmp.Or(slices.Compare(a.AdvertiserID[:], b.AdvertiserID[:]), cmp.Compare(a.Hours, b.Hours))
	}
	if len(list) > MaxDelays {
		slices.SortFunc(list, func(a, b Delay) int {
			return cmp.Or(cmp.Compare(b.Conversions, a.Conversions), byAdvertiser(a, b))
		})
		list = list[:MaxDelays]
	}
	slices.SortFunc(list, byAdvertiser)
	return list
}
