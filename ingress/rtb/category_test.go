package rtb

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/campaign"
)

// A campaign obeys bcat and acat with what its owner says that it is about.
func TestCategoriesOfACampaign(t *testing.T) {
	for name, c := range map[string]struct {
		ours           []string // of the operator, in taxonomy 1
		of, bcat, acat []string
		tax            int64
		refused        bool
	}{
		"nothing is asked":            {of: []string{"IAB7-39"}},
		"blocked":                     {of: []string{"IAB19", "IAB7-39"}, bcat: []string{"IAB7-39"}, refused: true},
		"below a blocked one":         {of: []string{"IAB7-39"}, bcat: []string{"iab7"}, refused: true},
		"above a blocked one":         {of: []string{"IAB7"}, bcat: []string{"IAB7-39"}},
		"beside a blocked one":        {of: []string{"IAB7-3"}, bcat: []string{"IAB7-39", "IAB1", "IAB17"}},
		"of no category":              {bcat: []string{"IAB7"}},
		"allowed":                     {of: []string{"IAB7-39"}, acat: []string{"IAB7"}},
		"not allowed":                 {of: []string{"IAB19"}, acat: []string{"IAB7"}, refused: true},
		"allowed as all are":          {ours: []string{"IAB7-1"}, of: []string{"IAB19"}, acat: []string{"IAB7"}},
		"of no category, nor allowed": {acat: []string{"IAB7"}, refused: true},
		"another taxonomy":            {of: []string{"IAB19"}, bcat: []string{"150"}, tax: 7, refused: true},
		"none in another taxonomy":    {bcat: []string{"150"}, tax: 7},
		"allowed in another taxonomy": {of: []string{"IAB19"}, acat: []string{"150"}, tax: 7, refused: true},
		"what is no category": {
			of:   []string{"IAB19"},
			bcat: []string{"", "IAB", "IAB0", "IAB27", "IAB19-", "IAB19-0", "IAB19-100", "IAB019", "BSW1"},
		},
		"an id of an unknown taxonomy":      {of: []string{"IAB19"}, bcat: []string{"IAB25", "19"}, refused: true},
		"none of an unknown taxonomy":       {bcat: []string{"19"}},
		"the operator's, of an unknown one": {ours: []string{"IAB19"}, acat: []string{"19"}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := bidSession{Server: &Server{cfg: Config{Categories: c.ours, CatTax: 1}}}
			s.in.BCat, s.in.ACat = listOf(c.bcat...), listOf(c.acat...)
			if c.tax > 0 {
				s.in.CatTax = whole{readable, c.tax}
			}
			s.readCategories()
			require.Equal(t, c.refused, s.wishes.refused(&campaign.Campaign{Categories: c.of}))
		})
	}
}

// listOf is a list of names as the reader returns it.
func listOf(list ...string) (n names) {
	if len(list) > 0 {
		n = names{readable, list}
	}
	return n
}

// The set says the same as the comparison of texts that the operator's categories have.
func TestCategorySet(t *testing.T) {
	category := rapid.StringMatching(`IAB([1-9]|1[0-9]|2[0-6])(-[1-9][0-9]?)?`)
	rapid.Check(t, func(t *rapid.T) {
		outer, inner := category.Draw(t, "outer"), category.Draw(t, "inner")
		if rapid.Bool().Draw(t, "below") {
			inner = outer[:4] + inner[4:]
		}
		var set categorySet
		set.add(outer)
		require.Equal(t, covers(outer, inner), set.covers(inner), "%s %s", outer, inner)
	})
}

// By the whole endpoint: a bid says what its campaign is about, and none is made where that is not
// wanted.
func TestBidsOfCategories(t *testing.T) {
	f := newFixtureOf(t, defaults(), "")
	games := shelfOf("image")[0]
	games.Categories = []string{"IAB9-30", "IAB19"}
	f.Shelf.Put(games)
	bid := f.bids(with(`"bcat":["IAB7"],"acat":["IAB9"]`))[0]
	require.Equal(t, []string{"IAB9-30", "IAB19"}, bid.Cat)
	require.EqualValues(t, 1, bid.CatTax)
	for _, wish := range []string{
		`"bcat":["IAB9"]`, `"bcat":["IAB19"],"acat":["IAB9"]`, `"acat":["IAB7"]`, `"bcat":["150"],"cattax":7`,
	} {
		require.Equal(t, "category", f.none(with(wish)), wish)
	}
}

func TestCategoriesOfABid(t *testing.T) {
	s := bidSession{Server: &Server{cfg: Config{Categories: []string{"IAB19"}, CatTax: 1}}}
	list, tax := s.categories(&campaign.Campaign{Categories: []string{"IAB7", "IAB19"}})
	require.Equal(t, []string{"IAB19", "IAB7"}, list)
	require.EqualValues(t, 1, tax)
	s.cfg.CatTax, s.cfg.Categories = 7, []string{"150"}
	list, tax = s.categories(&campaign.Campaign{Categories: []string{"IAB7"}})
	require.Equal(t, []string{"IAB7"}, list)
	require.EqualValues(t, 1, tax)
	list, tax = s.categories(&campaign.Campaign{})
	require.Equal(t, []string{"150"}, list)
	require.EqualValues(t, 7, tax)
	list, tax = s.categories(&campaign.Campaign{Trades: []string{"dating"}})
	require.Equal(t, []string{"IAB14-1"}, list, "a trade is of a category")
	require.EqualValues(t, 1, tax)
}

// A restricted trade is blocked by its category, whatever categories its campaign states.
func TestTradesAreCategories(t *testing.T) {
	wine := &campaign.Campaign{Categories: []string{"IAB19"}, Trades: []string{"alcohol"}}
	for bcat, refused := range map[string]bool{"IAB8-5": true, "IAB8": true, "IAB8-6": false, "IAB19": true} {
		s := bidSession{Server: &Server{cfg: Config{CatTax: 1}}}
		s.in.BCat = listOf(bcat)
		s.readCategories()
		require.Equal(t, refused, s.wishes.refused(wine), bcat)
	}
}
