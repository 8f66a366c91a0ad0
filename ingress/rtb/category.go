package rtb

import (
	"slices"
	"strings"

	"adnet/internal/campaign"
)

// iabTaxonomy is the code of the IAB's Content Taxonomy 1.0 (AdCOM, Category Taxonomies). It is the
// default of requests, and the taxonomy of the categories that campaigns state.
const iabTaxonomy = 1

// The bits of a [categorySet]: one for each category of the taxonomy and each possible subcategory;
// IAB7 is 700 and IAB7-39 is 739.
const (
	tiers  = 27
	within = 100
)

// categorySet is a set of categories of the IAB's Content Taxonomy 1.0. A request may name tens of
// thousands, and a set lets each be read only once.
type categorySet [tiers*within/64 + 1]uint64

// placeOf returns the bit of a category; false for any other text.
func placeOf(category string) (place int, ok bool) {
	if len(category) < 4 || !strings.EqualFold(category[:3], "IAB") {
		return 0, false
	}
	tier, rest, below := strings.Cut(category[3:], "-")
	first, ok := small(tier, tiers)
	if !ok || !below {
		return first * within, ok
	}
	second, ok := small(rest, within)
	return first*within + second, ok
}

// small parses a number from 1 to below top.
func small(text string, top int) (n int, ok bool) {
	if len(text) == 0 || len(text) > 2 {
		return 0, false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = n*10 + int(text[i]-'0')
	}
	return n, n > 0 && n < top
}

func (s *categorySet) add(category string) {
	if at, ok := placeOf(category); ok {
		s[at/64] |= 1 << (at % 64)
	}
}

// covers reports whether s contains category or its parent: IAB7 is the parent of IAB7-39.
func (s *categorySet) covers(category string) bool {
	at, ok := placeOf(category)
	above := at - at%within
	return ok && (s[at/64]&(1<<(at%64)) != 0 || s[above/64]&(1<<(above%64)) != 0)
}

// wishes holds the bcat and acat of a request.
type wishes struct {
	blocks, allows   bool // set if there are any
	blocked, allowed categorySet
	comparable       bool // they use the taxonomy of campaigns
	ours             bool // acat contains a category of the operator, so all campaigns have it
}

// readCategories reads the wishes of the request.
func (s *bidSession) readCategories() {
	w := &s.wishes
	w.blocks, w.allows = s.in.BCat.state != absent, s.in.ACat.state != absent
	if !w.blocks && !w.allows {
		return
	}
	tax := s.catTax()
	w.comparable = tax == iabTaxonomy && !slices.ContainsFunc(s.in.BCat.list, ofNumbers)
	if tax == iabTaxonomy {
		for _, category := range s.in.BCat.list {
			w.blocked.add(category)
		}
		for _, category := range s.in.ACat.list {
			w.allowed.add(category)
		}
	}
	w.ours = tax == s.cfg.CatTax && slices.ContainsFunc(s.cfg.Categories, func(ours string) bool {
		return slices.ContainsFunc(s.in.ACat.list, func(wanted string) bool { return covers(wanted, ours) })
	})
}

// refused reports whether a request rejects a campaign because of its categories. Categories of
// another taxonomy cannot be compared; for brand safety they count as rejected.
func (w *wishes) refused(c *campaign.Campaign) bool {
	if !w.blocks && !w.allows {
		return false
	}
	categories := c.AllCategories()
	if w.blocks && len(categories) > 0 && !w.comparable {
		return true
	}
	if w.blocks && slices.ContainsFunc(categories, w.blocked.covers) {
		return true
	}
	return w.allows && !w.ours && !slices.ContainsFunc(categories, w.allowed.covers)
}

// catTax returns the taxonomy of bcat and acat.
func (s *bidSession) catTax() int64 {
	switch tax := s.in.CatTax; {
	case tax.state == unreadable:
		return unknownTaxonomy
	case tax.n > 0:
		return tax.n
	}
	return iabTaxonomy
}

// unknownTaxonomy is none of the taxonomies.
const unknownTaxonomy = -1

// ofNumbers reports whether a category is of a taxonomy whose ids are numbers.
func ofNumbers(category string) bool {
	return category != "" && strings.Trim(category, "0123456789") == ""
}

// categoryBlocked reports whether bcat is unreadable or blocks a category of the operator, which all
// campaigns have.
func (s *bidSession) categoryBlocked() bool {
	same := s.catTax() == s.cfg.CatTax
	return s.in.BCat.blocks(func(blocked string) bool {
		other := !same || s.cfg.CatTax == iabTaxonomy && ofNumbers(blocked)
		return slices.ContainsFunc(s.cfg.Categories, func(ours string) bool { return other || covers(blocked, ours) })
	})
}

// covers reports whether category equals outer or is below it, as IAB7-39 is below IAB7.
func covers(outer, category string) bool {
	outer, category = upper(outer), upper(category)
	return outer == category || strings.HasPrefix(category, outer+"-")
}

// categories returns the categories that a bid of a campaign states, and their taxonomy: those of
// campaign and operator if both use one taxonomy, else the campaign's, which are more specific.
func (s *bidSession) categories(c *campaign.Campaign) (list []string, tax int64) {
	own := c.AllCategories()
	switch {
	case len(own) == 0:
		return s.cfg.Categories, s.cfg.CatTax
	case s.cfg.CatTax != iabTaxonomy || len(s.cfg.Categories) == 0:
		return own, iabTaxonomy
	}
	list = slices.Clone(s.cfg.Categories)
	for _, category := range own {
		if !slices.Contains(list, category) {
			list = append(list, category)
		}
	}
	return list, iabTaxonomy
}
