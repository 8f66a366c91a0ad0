package cmd_test

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prebid/openrtb/v20/openrtb2"
	"github.com/stretchr/testify/require"

	"adnet/internal/money"
	"adnet/internal/testenv"
	"adnet/internal/token"
	"adnet/schemas/event"
)

// market is a node with campaigns of random prices, and whom it is asked by.
type market struct {
	t           *testing.T
	api         client
	ring        *token.Keyring
	exchange    *exchange
	owner, boss login
	publisher   string
	rng         *rand.Rand
	charged     map[string]money.Micros // by campaign, as the tokens of shown ads say
	seen        []priced
	words       []string
}

// priced is an ad that was shown.
type priced struct {
	auction  token.Auction
	bid      money.Micros // on the wire, for 1,000 impressions; 0 where the wire does not say
	receipt  string
	clicked  bool
	campaign string
}

// One number: what an exchange is told, what the token says, what is charged, explained, receipted
// and counted, for random campaigns on every wire. An impression costs the bid that won, a click
// the stated bid.
func TestEveryWireChargesTheBidThatWon(t *testing.T) {
	setting := testenv.Key(t)
	_, base, admin := standalone(t, "--demo=off", "--token-keys", setting, "--click-min-delay=0", "--click-rates=off",
		"--admin-email", "boss@example.com", "--admin-password", "a long password")
	keys, err := token.ParseKeys(setting)
	require.NoError(t, err)
	m := &market{
		t: t, api: client{t, base}, exchange: newExchange(t, base, "boss@example.com", "a long password"),
		rng:     rand.New(rand.NewPCG(3, 5)),
		charged: map[string]money.Micros{}, words: []string{"chess", "postgres", "guitar", "backup", "recipe"},
	}
	m.ring, err = token.NewKeyring(keys)
	require.NoError(t, err)
	m.boss.token = m.api.do(
		"POST", "/api/auth", "", `{"email":"boss@example.com","password":"a long password"}`, 200,
	)["token"].(string)
	m.owner = m.api.register("owner@price.example")
	publisher := m.api.register("pub@price.example")
	m.publisher = m.api.do(
		"POST", "/api/keys", publisher.token, `{"kind":"publisher","name":"bot"}`, 201,
	)["key"].(string)
	var campaigns []string
	for n := range 9 {
		campaigns = append(campaigns, m.campaign(n))
	}
	require.Eventually(t, func() bool {
		ad := m.ask(0)
		if ad != nil {
			m.show(*ad)
		}
		return ad != nil
	}, 20*time.Second, 50*time.Millisecond)
	for n := range 45 {
		if ad := m.ask(n % 3); ad != nil {
			m.show(*ad)
		}
	}
	require.Greater(t, len(m.seen), 30)
	for i := range m.seen {
		m.explained(&m.seen[i])
	}
	for _, id := range campaigns {
		require.Eventually(t, func() bool {
			stats := m.api.do("GET", "/api/stats?type=campaign&campaign_id="+id, m.owner.token, "", 200)
			return micros(stats["spend_usd"]) == m.charged[id]
		}, 20*time.Second, 100*time.Millisecond, "stats of %s: %d", id, m.charged[id])
		got := m.api.do("GET", "/api/campaigns/"+id, m.owner.token, "", 200)
		require.Equal(t, m.charged[id], micros(got["campaign"].(map[string]any)["spent_total"]))
	}
	requireVerified(t, admin)
}

func micros(usd any) money.Micros { return money.Micros(math.Round(usd.(float64) * 1e6)) }

// campaign makes the n-th campaign; bids are such that each model wins now and then.
func (m *market) campaign(n int) string {
	model := []string{"cpm", "cpc", "cpm"}[n%3]
	bid := map[string]float64{"cpm": 0.01 + 20*m.rng.Float64(), "cpc": 0.01 + 2*m.rng.Float64()}[model]
	m.rng.Shuffle(len(m.words), func(i, j int) { m.words[i], m.words[j] = m.words[j], m.words[i] })
	created := m.api.do("POST", "/api/campaigns", m.owner.token,
		fmt.Sprintf(`{"advertiser_id":%q,"headline":"Offer %d","cta_url":"https://price.example.com/%d",
		"billing_model":%q,"bid_amount":%.6f,"pacing":"asap","frequency_cap":0,"daily_budget":10000,"total_budget":100000,"target_intent_tokens":["%s"]}`,
			m.owner.id, n, n, model, bid, strings.Join(m.words[:1+m.rng.IntN(3)], `","`)),
		201)["campaign"].(map[string]any)
	id := created["id"].(string)
	if created["status"] != "active" {
		m.api.do("POST", "/api/campaigns?action=review", m.boss.token, `{"id":"`+id+`","decision":"approved"}`, 200)
	}
	return id
}

// ask asks on a wire; nil without an ad.
func (m *market) ask(wire int) *priced {
	m.t.Helper()
	m.rng.Shuffle(len(m.words), func(i, j int) { m.words[i], m.words[j] = m.words[j], m.words[i] })
	context := strings.Join(m.words[:1+m.rng.IntN(3)], " ")
	switch wire {
	case 0:
		ad, _ := m.api.do(
			"POST", "/v1/ad-request", m.publisher, `{"context":"`+context+`"}`, 200,
		)["ad"].(map[string]any)
		if ad == nil {
			return nil
		}
		return m.read(ad["impression_url"].(string), ad["click_url"].(string), ad["receipt_url"].(string))
	case 1:
		reply := m.api.do(
			"POST", "/api/mcp", m.publisher,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":{"context":"`+context+`"}}}`, 200,
		)
		ad := reply["result"].(map[string]any)["structuredContent"].(map[string]any)
		links, _ := ad["tracking"].(map[string]any)
		if links == nil {
			return nil
		}
		return m.read(links["impression"].(string), links["click"].(string), ad["receipt_url"].(string))
	}
	var r openrtb2.BidResponse
	m.exchange.post(
		"/api/rtb",
		`{"id":"r","ext":{"debug":1},"imp":[{"id":"1","bidfloor":0.001,"native":{"request":"{\"ver\":\"1.2\",\"privacy\":1,\"assets\":[{\"id\":1,\"required\":1,\"title\":{\"len\":90}}],\"eventtrackers\":[{\"event\":1,\"methods\":[1]}]}"},"ext":{"mcp_context":{"intent":"`+context+`"}}}]}`, &r,
	)
	if len(r.SeatBid) == 0 {
		return nil
	}
	bid := r.SeatBid[0].Bid[0]
	links := regexp.MustCompile(`https?://[^"\\]+`).FindAllString(strings.ReplaceAll(bid.AdM, `\u0026`, "&"), -1)
	of := func(part string) string {
		for _, link := range links {
			if strings.Contains(link, part) {
				return link
			}
		}
		require.Fail(m.t, part, bid.AdM)
		return ""
	}
	ad := m.read(of("event=impression"), of("/s/"), of("/r/"))
	ad.bid = micros(bid.Price)
	require.Contains(m.t, string(bid.Ext), `"bid_usd":`+ad.bid.String()+",", "both places of the bid")
	// What an exchange says that it paid changes nothing.
	m.exchange.fire(strings.Replace(bid.NURL, "${AUCTION_PRICE}", "0.000001", 1))
	m.exchange.fire(strings.Replace(bid.BURL, "${AUCTION_PRICE}", "999", 1))
	return ad
}

// read takes what the links of an ad say.
func (m *market) read(impression, click, receipt string) *priced {
	m.t.Helper()
	link, err := url.Parse(impression)
	require.NoError(m.t, err)
	auction, err := m.ring.Verify(token.ForEvent(event.Type_IMPRESSION), link.Query().Get("auction_id"), time.Now())
	require.NoError(m.t, err)
	m.api.get(impression, 200)
	ad := &priced{auction: auction, receipt: receipt, campaign: auction.CampaignID.String()}
	if m.rng.IntN(2) == 0 {
		ad.clicked = true
		m.api.get(click, 302)
	}
	return ad
}

// show notes what an ad that was shown costs.
func (m *market) show(ad priced) {
	m.seen = append(m.seen, ad)
	if ad.auction.BillingModel == "cpm" || ad.clicked {
		m.charged[ad.campaign] += ad.auction.Price
	}
}

// explained compares an ad with its explanation and its receipt.
func (m *market) explained(ad *priced) {
	m.t.Helper()
	price := ad.auction.Price
	charge := price
	if ad.auction.BillingModel == "cpc" && !ad.clicked {
		charge = 0
	}
	var reported map[string]any
	require.Eventually(m.t, func() bool {
		request, err := http.NewRequest(
			"GET", m.api.base+"/api/auctions/"+ad.auction.AuctionID.String()+"/explain", nil,
		)
		require.NoError(m.t, err)
		request.Header.Set("Authorization", "Bearer "+m.boss.token)
		reply, err := http.DefaultClient.Do(request)
		require.NoError(m.t, err)
		require.NoError(m.t, reply.Body.Close())
		if reply.StatusCode != 200 {
			return false
		}
		reported = m.api.do("GET", "/api/auctions/"+ad.auction.AuctionID.String()+"/explain", m.boss.token, "", 200)
		return reported["recorded"] == true && micros(reported["spend_usd"]) == charge
	}, 20*time.Second, 50*time.Millisecond, "charge %d: %v", charge, &reported)
	winner := reported["winner"].(map[string]any)
	require.Equal(m.t, price, micros(winner["price_usd"]))
	ecpm := micros(winner["effective_cpm"])
	if ad.auction.BillingModel == "cpm" {
		require.Equal(m.t, ecpm/1000, price)
	}
	if ad.bid > 0 {
		require.Equal(m.t, ecpm, ad.bid)
	}
	reply, err := http.Get(ad.receipt)
	require.NoError(m.t, err)
	defer reply.Body.Close()
	page, err := io.ReadAll(reply.Body)
	require.NoError(m.t, err)
	require.Contains(m.t, string(page), "<dt>The sponsor pays</dt><dd>for ")
	require.NotContains(m.t, string(page), price.String(), "a reader learns no bid")
}
