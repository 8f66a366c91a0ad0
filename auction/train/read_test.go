package train

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction/index"
	"adnet/auction/lexicon"
	"adnet/auction/ranker"
)

// A term that a word only resembles teaches less than a word of the request, as it counts less in
// an auction.
func TestLikenessTeachesLess(t *testing.T) {
	p := newPrior(Network{Index: index.Build(
		ranker.Version2(), []index.Campaign{{ID: index.ID{15: 1}, Headline: "zebra okapi"}},
	)})
	zebra, okapi := lexicon.TermID("zebra"), lexicon.TermID("okapi")
	both := p.read(nil, []uint32{zebra, okapi})
	require.Len(t, both, 2)
	require.Equal(t, both[0].share, both[1].share)
	alike := p.read(nil, []uint32{zebra, lexicon.LikeID(okapi), 1})
	require.Len(t, alike, 2, "what no campaign says teaches nothing")
	require.Equal(t, okapi, alike[1].term)
	require.Less(t, alike[1].share, alike[0].share/2)
}

// Campaigns without a common language are not compared.
func TestLanguagesSeparateAudiences(t *testing.T) {
	var a audiences
	for _, languages := range [][]string{{"de"}, {"fr-CA", "EN"}, nil, {"de-AT"}, {"fr"}} {
		a.add(&index.Campaign{Targeting: &index.Targeting{Languages: languages}})
	}
	a.add(&index.Campaign{})
	for item, row := range []string{"101101", "011011", "111111", "101101", "011011", "111111"} {
		for other, meets := range row {
			require.Equal(t, meets == '1', a.meet(uint32(item), uint32(other)), "%d %d", item, other)
		}
	}
	for i := range 2 * mostLists {
		a.add(&index.Campaign{Targeting: &index.Targeting{Languages: []string{"x" + strconv.Itoa(i)}}})
	}
	require.LessOrEqual(t, len(a.lists), mostLists)
	require.True(t, a.meet(0, uint32(len(a.of)-1)), "of too many lists the last are every language")
}
