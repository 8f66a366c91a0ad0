package train

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// folds is in how many parts the last day is cut: each is asked about by a model that did not see
// it, as what was learnt from is foretold too well.
const folds = 4

// all leaves nothing out.
const all = -1

// asked is a request with what was shown for it: impressions for requests that say the same count
// together, in whatever order they came.
type asked struct {
	features []feature
	shown    []shown // ascending by campaign
	order    uint32
	key      string
}

// shown is how often a campaign was shown, and clicked: in all, and in each part of the last day.
type shown struct {
	campaign uint32
	total    counts
	parts    [folds]counts
}

// counts are in units of 1/unit: sums of integers do not depend on their order.
type counts struct{ impressions, clicks int64 }

// unit is what an impression of full weight counts.
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

// without is what was seen but for a part.
func (s *shown) without(part int) (impressions, clicks float64) {
	if part == all {
		return s.total.of()
	}
	c := s.parts[part]
	return counts{s.total.impressions - c.impressions, s.total.clicks - c.clicks}.of()
}

// gather brings the impressions of campaigns that run together; those of the last day count in
// parts, too.
func (p *prior) gather(log, last []Sample) []asked {
	log, last = p.known(log), p.known(last)
	weights := Weigh(slices.Concat(log, last))
	numbers := map[string]int{}
	var list []asked
	var key []byte
	put := func(s *Sample) (weight int64, at *shown) {
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
			list = append(list, asked{features: p.read(nil, s.Terms), order: mixed(s.Terms), key: text})
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
	slices.SortFunc(list, func(a, b asked) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.key, b.key))
	})
	return list
}

// of is what is known of a campaign.
func (a *asked) of(campaign uint32) *shown {
	at, found := slices.BinarySearchFunc(
		a.shown, campaign, func(s shown, to uint32) int { return cmp.Compare(s.campaign, to) },
	)
	if !found {
		a.shown = slices.Insert(a.shown, at, shown{campaign: campaign})
	}
	return &a.shown[at]
}

// clicked says whether something of what was shown was clicked.
func (a *asked) clicked(without int) bool {
	for i := range a.shown {
		if _, clicked := a.shown[i].without(without); clicked > 0 {
			return true
		}
	}
	return false
}

// mixed is a hash of terms, so that no campaign comes in one piece.
func mixed(terms []uint32) (h uint32) {
	for _, t := range terms {
		h = (h ^ t) * 0x9e3779b1
	}
	h ^= h >> 15
	h *= 0x85ebca6b
	return h ^ h>>13
}
