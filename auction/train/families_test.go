package train

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction/index"
	"adnet/auction/ranker"
)

func number(kind byte, n int) (id index.ID) {
	id[0], id[15] = kind, byte(n)
	return id
}

// Ten accounts of a family use up one allowance of impressions together. Strangers with as many each
// keep theirs.
func TestNewCampaignsOfAFamilyShareTheirExploration(t *testing.T) {
	var list []index.Campaign
	var log []Sample
	for n := range 20 {
		c := index.Campaign{
			ID: number('c', n), Advertiser: number('a', n), Headline: string(rune('a' + n)),
		}
		if n < 10 {
			c.Family = number('f', 0)
		}
		list = append(list, c)
		for range 400 {
			log = append(log, Sample{Campaign: c.ID, Advertiser: c.Advertiser})
		}
	}
	_, families := experience(log, Network{Index: index.Build(ranker.Version2(), list)})
	require.Equal(t, map[[16]byte]bool{number('f', 0): true}, families)
}

// A family has one part in the network's rate of conversions, with however many accounts it reports
// them.
func TestAFamilyHasOneConversionRate(t *testing.T) {
	rate := func(family bool) float64 {
		var list []follow
		for n := range 40 {
			f := follow{Sample: &Sample{}, family: number('a', n), weight: 1, predicted: 0.1}
			liar := n >= 20
			if liar && family {
				f.family = number('f', 0)
			}
			for i := range 100 {
				click := f
				click.Sample = &Sample{Converted: liar || i%10 == 0}
				list = append(list, click)
			}
		}
		return networkRate(list)
	}
	require.Less(t, rate(true), 1.25)
	require.Greater(t, rate(false), 2.0)
}
