package train

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// folds is the number of parts of the last day. Each part is predicted by a model that was not
// trained on it, because predictions of training data are too good.
const folds = 4

// all leaves out no part.
const all = -1

// request is a request with the ads shown for it. Impressions for equal requests are summed up,
// whatever their order.
type request struct {
	features  []feature
	exposures []exposure // ascending by campaign
	order     uint32
	key       string
}

// exposure counts the impressions and clicks of a campaign, in total and in each part of the last
// day.
type exposure struct {
	campaign uint32
	total    counts
	parts    [folds]counts
}

// counts holds units of 1/unit: sums of integers do not depend on their order.
type counts struct{ impressions, clicks int64 }

// unit is the count of an impression of full weight.
const unit = 1 << 20

func (c *counts) add(weight int64, clicked bool) {
	c.impressions += weight
	if clicked {
		c.clicks += weight
	}
}

func (c counts) of() (impressions, clicks float64) {
	return float64(c.impressions) / unit, float64(c.clicks) / unit
}

// without returns the counts without those of a part.
func (s *exposure) without(part int) (impressions, clicks float64) {
	if part == all {
		return s.total.of()
	}
	c := s.parts[part]
	return counts{s.total.impressions - c.impressions, s.total.clicks - c.clicks}.of()
}

// gather collects the impressions of campaigns that run together. Impressions of the last day also
// count in their parts.
func (p *prior) gather(log, last []Sample) []request {
	log, last = p.known(log), p.known(last)
	weights := Weigh(slices.Concat(log, last))
	numbers := map[string]int{}
	var list []request
	var key []byte
	put := func(s *Sample) (weight int64, at *exposure) {
		campaign := p.numbers[s.Campaign]
		key = binary.BigEndian.AppendUint32(key[:0], uint32(p.audiences.of[campaign]))
		for _, term := range s.Terms {
			key = binary.BigEndian.AppendUint32(key, term)
		}
		number, known := numbers[string(key)]
		if !known {
			number = len(list)
			text := string(key)
			numbers[text] = number
			list = append(list, request{features: p.read(nil, s.Terms), order: mixed(s.Terms), key: text})
		}
		weight = int64(math.Round(weights[s.Publisher] * unit))
		at = list[number].of(campaign)
		at.total.add(weight, s.Clicked)
		return weight, at
	}
	for i := range log {
		put(&log[i])
	}
	for i := range last {
		s := &last[i]
		weight, at := put(s)
		at.parts[s.hash()%folds].add(weight, s.Clicked)
	}
	slices.SortFunc(list, func(a, b request) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.key, b.key))
	})
	return list
}

// of returns the counts of a campaign.
func (a *request) of(campaign uint32) *exposure {
	at, found := slices.BinarySearchFunc(
		a.exposures, campaign, func(s exposure, to uint32) int { return cmp.Compare(s.campaign, to) },
	)
	if !found {
		a.exposures = slices.Insert(a.exposures, at, exposure{campaign: campaign})
	}
	return &a.exposures[at]
}

// clicked reports whether any of the ads shown was clicked.
func (a *request) clicked(without int) bool {
	for i := range a.exposures {
		if _, clicked := a.exposures[i].without(without); clicked > 0 {
			return true
		}
	}
	return false
}

// mixed returns a hash of terms, which spreads the requests of a campaign over the order.
func mixed(terms []uint32) (h uint32) {
	for _, t := range terms {
		h = (h ^ t) * 0x9e3779b1
	}
	h ^= h >> 15
	h *= 0x85ebca6b
	return h ^ h>>13
}
