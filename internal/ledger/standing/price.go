package standing

import (
	"math/bits"
	"slices"

	"adnet/internal/money"
)

// Delivered is what a campaign was shown and charged.
type Delivered struct {
	Impressions int64
	Charged     money.Micros
}

// price returns the charge for 1,000 impressions.
func (s Delivered) price() money.Micros {
	high, low := bits.Mul64(uint64(max(0, s.Charged)), 1000)
	if high >= uint64(s.Impressions) {
		return 1<<63 - 1
	}
	price, _ := bits.Div64(high, low, uint64(s.Impressions))
	return money.Micros(min(price, 1<<63-1))
}

// MedianPrice returns the median charge for 1,000 impressions, each campaign weighted by its
// impressions; 0 if nothing was charged. Campaigns that were never charged do not count.
func MedianPrice(of []Delivered) money.Micros {
	charged := make([]Delivered, 0, len(of))
	all := int64(0)
	for _, s := range of {
		if s.Impressions > 0 && s.Charged > 0 {
			charged = append(charged, s)
			all += s.Impressions
		}
	}
	slices.SortFunc(charged, func(a, b Delivered) int { return int(min(1, max(-1, a.price()-b.price()))) })
	below := int64(0)
	for _, s := range charged {
		if below += s.Impressions; below >= all-below {
			return s.price()
		}
	}
	return 0
}
