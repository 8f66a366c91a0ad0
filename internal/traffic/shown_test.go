package traffic_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/traffic"
)

// seller returns the ads of a publisher; family 0 is none.
func seller(n, family byte, method string, sold, views int64) traffic.ShownAds {
	a := traffic.ShownAds{DeveloperID: uuid.UUID{1, family, n}, Method: method, Sold: sold, Counted: views}
	if family != 0 && n != 0 {
		a.OwnerID = uuid.UUID{1, family, 0}
	}
	return a
}

// sellers returns publishers of a method that show so many of 100 ads.
func sellers(n byte, method string, share int64) (ads []traffic.ShownAds) {
	for i := range n {
		ads = append(ads, seller(200-i, 0, method, 2000, 20*share))
	}
	return ads
}

func TestShownAdsAreComparedWithTheNetwork(t *testing.T) {
	type ads = []traffic.ShownAds
	ring := func(n byte, sold, views int64) (list ads) {
		for i := range n {
			list = append(list, seller(i, 7, traffic.MethodREST, sold, views))
		}
		return list
	}
	for _, c := range []struct {
		name string
		ads  ads
		held int
	}{
		{"nothing shown", ads{seller(1, 0, traffic.MethodREST, 1000, 0)}, 1},
		{"a tenth shown", ads{seller(1, 0, traffic.MethodREST, 5000, 500)}, 1},
		{"a family of 20", ring(20, 60, 3), 20},
		{"a family beside an honest site of its own", append(ring(5, 900, 0), seller(99, 7, traffic.MethodREST, 9000, 8000)), 5},
		{"both methods", ads{seller(1, 0, traffic.MethodREST, 1000, 0), seller(1, 0, traffic.MethodMCP, 1000, 0)}, 1},
		{"mcp against mcp", ads{seller(1, 0, traffic.MethodMCP, 2000, 0)}, 1},
		{"mcp as others of mcp", ads{seller(1, 0, traffic.MethodMCP, 2000, 200)}, 0},
		{"a third of the network's share", ads{seller(1, 0, traffic.MethodREST, 5000, 1500)}, 0},
		{"too few ads", ads{seller(1, 0, traffic.MethodREST, 999, 0)}, 0},
		{"more shown than sold", ads{seller(1, 0, traffic.MethodREST, 1000, 5000)}, 0},
		{"nothing sold", ads{seller(1, 0, traffic.MethodREST, 0, 50)}, 0},
		{"bids", ads{seller(1, 0, traffic.MethodRTB, 5000, 0)}, 0},
		{"pages", ads{seller(1, 0, traffic.MethodSnippet, 5000, 0)}, 0},
	} {
		all := append(append(c.ads, sellers(10, traffic.MethodREST, 90)...), sellers(10, traffic.MethodMCP, 15)...)
		found := traffic.QuarantineRules{Network: true, MinEvents: 1000}.FewShown(compared, all)
		require.Len(t, found, c.held, c.name)
		for _, e := range found {
			require.Equal(t, traffic.QuarantineShown, e.Rule, c.name)
			require.Equal(t, compared, e.Today.Day, c.name)
			require.Contains(t, e.Note, "ads shown of", c.name)
			require.Less(t, e.Value, e.Threshold, c.name)
		}
		require.Empty(t, traffic.QuarantineRules{MinEvents: 1000}.FewShown(compared, all), "off")
	}
	few := append(sellers(2, traffic.MethodREST, 90), seller(1, 0, traffic.MethodREST, 5000, 0))
	require.Empty(t, traffic.QuarantineRules{Network: true}.FewShown(compared, few), "two others are no network")
}
