package rtb

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/prebid/openrtb/v20/openrtb2"
	"github.com/stretchr/testify/require"

	"adnet/auction"
	"adnet/internal/campaign"
	"adnet/internal/money"
)

// With nothing known of a request the effective CPM is the bid: of "image" 5 USD, of "deal" 4 USD.
func TestDeals(t *testing.T) {
	image, deal := catalogue()["image"].ID.String(), catalogue()["deal"].ID.String()
	for name, tc := range map[string]struct {
		imp, pmp string
		settings func(*Config)
		crid     string // who bids; empty for no bid
		deal     string
		price    float64
		reason   string
	}{
		"open, without deals":     {crid: image, price: 5},
		"open, a deal for nobody": {pmp: `"deals":[{"id":"x"}]`, crid: image, price: 5},
		"open, the open bid is higher": {
			pmp: `"deals":[{"id":"fixed","bidfloor":1.25}]`, crid: image, price: 5,
		},
		"open, the floor keeps the others out": {
			imp: `"bidfloor":7.5,`, pmp: `"deals":[{"id":"fixed","bidfloor":3.75}]`, crid: deal, deal: "fixed",
			price: 4,
		},
		"open, nobody reaches any floor": {
			imp: `"bidfloor":7.5,`, pmp: `"deals":[{"id":"fixed","bidfloor":4.25}]`, reason: "below_floor",
		},
		"open, an unreadable floor and a deal's own": {
			imp: `"bidfloor":"x",`, pmp: `"deals":[{"id":"fixed","bidfloor":2.5}]`, crid: deal, deal: "fixed", price: 4,
		},
		"open, a deal without a floor has the imp's": {
			imp: `"bidfloor":7.5,`, pmp: `"deals":[{"id":"fixed"}]`, reason: "below_floor",
		},
		"open, a floor of zero is one": {
			imp: `"bidfloor":7.5,`, pmp: `"deals":[{"id":"fixed","bidfloor":0}]`, crid: deal, deal: "fixed", price: 4,
		},
		"private": {
			pmp: `"private_auction":1,"deals":[{"id":"fixed"}]`, crid: deal, deal: "fixed", price: 4,
		},
		"private, no deals": {pmp: `"private_auction":1`, reason: "private_auction"},
		"private, only a deal for nobody": {
			pmp: `"private_auction":1,"deals":[{"id":"x"}]`, reason: "private_auction",
		},
		"private, the id has its case": {
			pmp: `"private_auction":1,"deals":[{"id":"FIXED"}]`, reason: "private_auction",
		},
		"private, the imp's floor is above the bid": {
			imp: `"bidfloor":5,`, pmp: `"private_auction":1,"deals":[{"id":"fixed"}]`, reason: "below_floor",
		},
		"private, the deal's floor stands in for it": {
			imp: `"bidfloor":5,`, pmp: `"private_auction":1,"deals":[{"id":"fixed","bidfloor":4}]`, crid: deal,
			deal: "fixed", price: 4,
		},
		"private, the deal's floor is above the bid": {
			pmp: `"private_auction":1,"deals":[{"id":"fixed","bidfloor":4.025}]`, reason: "below_floor",
		},
		"private, a floor in euros without a rate": {
			pmp:    `"private_auction":1,"deals":[{"id":"fixed","bidfloor":2.5,"bidfloorcur":"EUR"}]`,
			reason: "private_auction",
		},
		"private, a floor in euros": {
			pmp:      `"private_auction":1,"deals":[{"id":"fixed","bidfloor":2.5,"bidfloorcur":"EUR","at":3}]`,
			settings: func(c *Config) { c.Rates = map[string]string{"EUR": "1.25"} }, crid: deal, deal: "fixed",
			price: 3.125,
		},
		"fixed price": {
			pmp: `"private_auction":1,"deals":[{"id":"fixed","bidfloor":3,"at":3}]`, crid: deal, deal: "fixed",
			price: 3,
		},
		"fixed price above the bid": {
			pmp: `"private_auction":1,"deals":[{"id":"fixed","bidfloor":6.25,"at":3}]`, reason: "below_floor",
		},
		"fixed price without a price": {
			pmp: `"private_auction":1,"deals":[{"id":"fixed","at":3}]`, reason: "private_auction",
		},
		"second price is our first": {
			pmp: `"private_auction":1,"deals":[{"id":"fixed","bidfloor":2.5,"at":2}]`, crid: deal, deal: "fixed",
			price: 4,
		},
		"of two deals the dearer": {
			pmp: `"private_auction":1,"deals":[{"id":"fixed","bidfloor":3,"at":3},{"id":"quay-7","bidfloor":3.5,"at":3}]`, crid: deal, deal: "quay-7", price: 3.5,
		},
		"of a fixed and an open price the dearer": {
			pmp:  `"private_auction":1,"deals":[{"id":"quay-7","bidfloor":3,"at":3},{"id":"fixed","bidfloor":3}]`,
			crid: deal, deal: "fixed", price: 4,
		},
		"of two deals the one whose terms hold": {
			pmp:  `"private_auction":1,"deals":[{"id":"fixed","bidfloor":3},{"id":"quay-7","bidfloor":4.25}]`,
			crid: deal, deal: "fixed", price: 4,
		},
		"our seat": {
			pmp: `"private_auction":1,"deals":[{"id":"fixed","wseat":["x","adnet"]}]`, crid: deal, deal: "fixed",
			price: 4,
		},
		"another seat": {
			pmp: `"private_auction":1,"deals":[{"id":"fixed","wseat":["x"]}]`, reason: "private_auction",
		},
		"our advertiser": {
			pmp: `"private_auction":1,"deals":[{"id":"fixed","wadomain":["x.example","SHOP.example"]}]`, crid: deal,
			deal: "fixed", price: 4,
		},
		"our advertiser's parent domain": {
			pmp: `"private_auction":1,"deals":[{"id":"fixed","wadomain":["https://www.shop.example/"]}]`, crid: deal,
			deal: "fixed", price: 4,
		},
		"another advertiser": {
			pmp: `"private_auction":1,"deals":[{"id":"fixed","wadomain":["hop.example"]}]`, reason: "private_auction",
		},
		"our markup": {
			pmp: `"private_auction":1,"deals":[{"id":"fixed","mtype":[2,1]}]`, crid: deal, deal: "fixed", price: 4,
		},
		"another markup": {
			pmp: `"private_auction":1,"deals":[{"id":"fixed","mtype":[2]}]`, reason: "private_auction",
		},
		"odd entries are no deals": {
			pmp: `"private_auction":1,"deals":[null,7,{},{"id":5},{"id":"fixed","bidfloor":{}},{"id":"quay-7","bidfloor":"2.75","at":"3"}]`, crid: deal, deal: "quay-7", price: 2.75,
		},
		"the first of a repeated id": {
			pmp: `"private_auction":1,"deals":[{"id":"fixed","bidfloor":2.75,"at":3},{"id":"fixed","bidfloor":3.25,"at":3}]`, crid: deal, deal: "fixed", price: 2.75,
		},
		"open, of an advertiser that others shut out": {
			imp: `"bidfloor":2.5,`, pmp: `"deals":[{"id":"fixed","wadomain":["x.example"]}]`, crid: image, price: 5,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := defaults()
			if tc.settings != nil {
				tc.settings(&cfg)
			}
			f := newFixtureOf(t, cfg, "")
			f.Shelf.Put(shelfOf("image", "deal")...)
			body := `{"id":"r","imp":[{"id":"1",` + tc.imp + `"banner":{"w":300,"h":250},"pmp":{` + tc.pmp + `}}]}`
			if tc.crid == "" {
				require.Equal(t, tc.reason, f.none(body))
				return
			}
			b := f.bids(body)[0]
			require.Equal(t, tc.crid, b.CrID)
			require.Equal(t, tc.deal, b.DealID)
			require.InDelta(t, tc.price, b.Price, 1e-9)
			require.Equal(t, money.Micros(tc.price*1e6+0.5), f.bidToken(b.NURL).Price, "what the notices may say")
		})
	}
}

// Whoever agreed on a price per thousand pays it; clicks and conversions are paid as ever.
func TestFixedPriceIsCharged(t *testing.T) {
	private := `{"id":"r","imp":[{"id":"1","banner":{},"pmp":{"private_auction":1,"deals":[{"id":"fixed","bidfloor":%s,"at":3}]}}]}`
	f := newFixture(t)
	f.Shelf.Put(shelfOf("deal")...)
	agreed := f.bids(fmt.Sprintf(private, "1.2"))[0]
	require.Equal(t, money.USD*12/10_000, f.adToken(agreed.AdM).Price)
	require.Contains(t, string(agreed.Ext), `"bid_usd":1.2,`)
	require.Equal(t, int64(1_200), f.Log.Auctions[0].PriceMicros)
	require.Equal(t, int64(1_200_000), f.Log.Auctions[0].EcpmMicros)
	open := f.bids(simple)[0]
	require.Equal(t, money.Micros(open.Price*1e6+0.5)/1000, f.adToken(open.AdM).Price, "in the open its own bid")
	click := catalogue()["click"]
	click.Deals = []string{"fixed"}
	f.Shelf.Put(click)
	b := f.bids(fmt.Sprintf(private, "0.01"))[0]
	require.InDelta(t, 0.01, b.Price, 1e-9)
	require.Equal(t, click.BidAmount, f.adToken(b.AdM).Price)
}

// A deal is found among any number of campaigns that have none, at any effective CPM, and its terms
// stop no other campaign.
func TestDealsAmongManyCampaigns(t *testing.T) {
	f := newFixture(t)
	many := []campaign.Campaign{catalogue()["deal"], catalogue()["tiny"]}
	for i := range 3 * patience {
		k := catalogue()["image"]
		k.ID = uuid.UUID{0: 1, 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)}
		many = append(many, k)
	}
	many[1].Deals = []string{"low"}
	f.Shelf.Put(many...)
	deals := `{"id":"r","imp":[{"id":"1","bidfloor":%s,"banner":{},"pmp":{"private_auction":%d,"deals":[{"id":"low","bidfloor":0.001},{"id":"fixed","bidfloor":1}]}}]}`
	require.Equal(t, "fixed", f.bids(fmt.Sprintf(deals, "0", 1))[0].DealID)
	require.Equal(t, "fixed", f.bids(fmt.Sprintf(deals, "9", 0))[0].DealID)
	require.Empty(t, f.bids(fmt.Sprintf(deals, "0", 0))[0].DealID)
	f.Shelf.Check = func(c *auction.Campaign) auction.Reason {
		if uuid.UUID(c.ID) == many[1].ID {
			return ""
		}
		return auction.Budget
	}
	require.Equal(t, "low", f.bids(fmt.Sprintf(deals, "9", 0))[0].DealID)
	require.Equal(t, "low", f.bids(fmt.Sprintf(deals, "0", 1))[0].DealID)
	require.Equal(
		t, "budget", f.none(strings.Replace(fmt.Sprintf(deals, "0", 1), `{"id":"low","bidfloor":0.001},`, "", 1)),
	)
}

// The markup that a deal allows is what comes: a native would fit too.
func TestDealOfAMarkup(t *testing.T) {
	f := newFixture(t)
	f.Shelf.Put(shelfOf("deal", "dealvideo")...)
	imp := `{"id":"r","imp":[{"id":"1","banner":{},"video":{"mimes":["video/mp4"]},"native":{"request":"{\"assets\":[{\"id\":1,\"title\":{}}]}"},"pmp":{"private_auction":1,"deals":[%s]}}]}`
	for deals, want := range map[string]openrtb2.MarkupType{
		`{"id":"fixed"}`: openrtb2.MarkupNative, `{"id":"fixed","mtype":[1]}`: openrtb2.MarkupBanner,
		`{"id":"fixed","mtype":[4]}`:                    openrtb2.MarkupNative,
		`{"id":"fixed"},{"id":"video"}`:                 openrtb2.MarkupVideo,
		`{"id":"fixed"},{"id":"video","bidfloor":10.1}`: openrtb2.MarkupNative,
	} {
		require.Equal(t, want, f.bids(fmt.Sprintf(imp, deals))[0].MType, deals)
	}
	require.Equal(t, "private_auction", f.none(fmt.Sprintf(imp, `{"id":"fixed","mtype":[2]}`)))
}

// A failure of our own has the standard's form, and so has a panic.
func TestPanicIsATechnicalError(t *testing.T) {
	f := newFixture(t)
	f.Contract = nil // 500 is not a documented reply
	f.Shelf.Check = func(*auction.Campaign) auction.Reason { panic("a mistake of ours") }
	w := f.send([]byte(simple))
	require.Equal(t, http.StatusInternalServerError, w.Code)
	var e struct {
		NBR         int
		Error, Code string
	}
	known(t, w.Body.Bytes(), &e)
	require.Equal(t, 1, e.NBR)
	require.Equal(t, "internal", e.Code)
	require.NotContains(t, w.Body.String(), "mistake")
	f.Shelf.Check = nil
	require.Equal(t, http.StatusOK, f.send([]byte(simple)).Code, "and the next request is answered")
}
