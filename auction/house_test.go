package auction_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/auction/words"
	"adnet/internal/money"
)

// A house ad is the owner's best match regardless of its bid. Only its own floor, filters and
// blocks restrict it.
func TestHouse(t *testing.T) {
	owner := id(100)
	own := func(n int, headline string, edit ...func(*auction.Campaign)) auction.Campaign {
		c := auction.Campaign{
			ID: id(n), Advertiser: owner, Bid: money.USD, LandingDomain: "shop.example", Headline: headline,
		}
		for _, e := range edit {
			e(&c)
		}
		return c
	}
	hosting, garden := own(1, "Postgres hosting"), own(
		2, "Garden tools", func(c *auction.Campaign) { c.Bid = 90 * money.USD },
	)
	foreign := own(3, "Postgres hosting and support", func(c *auction.Campaign) { c.Advertiser = id(200) })
	german := own(
		4, "Postgres hosting support",
		func(c *auction.Campaign) { c.Targeting = &auction.Targeting{Languages: []string{"de"}} },
	)
	proud := own(5, "Cake", func(c *auction.Campaign) { c.MinRelevance = 900_000 })
	later := own(6, "Postgres support", func(c *auction.Campaign) { c.Start = 1_000 })
	viewed := own(7, "Sailing", func(c *auction.Campaign) { c.Billing = ranker.VCPM })
	s := snapshot(hosting, garden, foreign, german, proud, later, viewed)
	answer := func(text string, edit ...func(*auction.Request)) *auction.Request {
		var r words.Reader
		r.ReadContext(text)
		req := auction.Request{
			ID: id(9), At: 10, Language: "en", Words: r.Terms(), MinRelevance: ranker.Certain,
			SilentFloor: ranker.Certain,
		}
		for _, e := range edit {
			e(&req)
		}
		return &req
	}
	refusing := func(n int) auction.Gate {
		return auction.GateFunc(func(c *auction.Campaign, cpm auction.Valuation) auction.Reason {
			require.Zero(t, cpm)
			if c.ID == id(n) {
				return auction.FrequencyCapped
			}
			return ""
		})
	}
	for _, c := range []struct {
		name string
		req  *auction.Request
		ids  []int
		gate auction.Gate
		want int // 0 for none
	}{
		{"the best match, not the highest bid", answer("postgres hosting"), []int{2, 1}, nil, 1},
		{"nothing that fits better is needed", answer("cheap flights"), []int{2}, nil, 2},
		{"without words", answer(""), []int{2}, nil, 2},
		{"never another account's", answer("postgres hosting and support"), []int{3}, nil, 0},
		{"its targeting holds", answer("postgres hosting support"), []int{4}, nil, 0},
		{"and lets it pass", answer("postgres", func(r *auction.Request) { r.Language = "de" }), []int{4}, nil, 4},
		{"its own floor holds", answer("cheap flights"), []int{5}, nil, 0},
		{"its dates hold", answer("postgres support"), []int{6}, nil, 0},
		{"and let it pass", answer("postgres support", func(r *auction.Request) { r.At = 1_000 }), []int{6}, nil, 6},
		{"nobody pays for its view", answer("sailing"), []int{7}, nil, 7},
		{
			"a blocked domain",
			answer("postgres", func(r *auction.Request) { r.BlockedDomains = []string{"shop.example"} }), []int{1, 2},
			nil, 0,
		},
		{
			"a blocked advertiser",
			answer("postgres", func(r *auction.Request) { r.BlockedAdvertisers = []auction.ID{owner} }), []int{1}, nil, 0,
		},
		{"the gate refuses the best", answer("postgres hosting"), []int{1, 2}, refusing(1), 2},
		{"the gate refuses the only one", answer("postgres hosting"), []int{1}, refusing(1), 0},
		{"one that is gone", answer("postgres hosting"), []int{77}, nil, 0},
		{"none", answer("postgres hosting"), nil, nil, 0},
	} {
		var ids []auction.ID
		for _, n := range c.ids {
			ids = append(ids, id(n))
		}
		got := auction.House(c.req, s, owner, ids, c.gate)
		if c.want == 0 {
			require.Nil(t, got, c.name)
			continue
		}
		require.NotNil(t, got, c.name)
		require.Equal(t, id(c.want), got.ID, c.name)
	}
}
