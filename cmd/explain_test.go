package cmd_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/internal/testenv"
)

// explained follows one impression and then looks at it as each of its two sides can.
func explained(t *testing.T, base, suffix string) {
	api := client{t, base}
	// Two families: other domains of mail and other sites.
	other := "@rival-" + suffix[1:]
	owner, rival, publisher := api.register("owner"+suffix), api.register("rival"+other), api.register("pub"+suffix)
	key := api.do("POST", "/api/keys", publisher.token, `{"kind":"publisher","name":"bot"}`, 201)["key"].(string)
	create := func(who login, bid string) string {
		created := api.do("POST", "/api/campaigns", who.token,
			`{"advertiser_id":"`+who.id+`","headline":"Quokka watching","cta_url":"https://quokka`+bid+`.example/",
			"bid_amount":`+bid+`,"target_intent_tokens":["quokka"]}`, 201)
		return created["campaign"].(map[string]any)["id"].(string)
	}
	winner, loser := create(owner, "9"), create(rival, "3")
	var ad map[string]any
	ask := func() bool {
		ad, _ = api.do("POST", "/v1/ad-request", key, `{"context":"the quokka"}`, 200)["ad"].(map[string]any)
		return ad != nil && ad["ad_id"] == winner
	}
	require.Eventually(t, ask, 10*time.Second, 50*time.Millisecond)
	// The catalog now has both, so the next request is an auction between the two.
	require.Eventually(t, func() bool {
		return api.do("GET", "/api/campaigns/"+loser+"/diagnose", rival.token, "", 200)["delivers"] == true
	}, 10*time.Second, 50*time.Millisecond)
	require.True(t, ask())
	api.get(ad["impression_url"].(string), 200)
	api.get(ad["impression_url"].(string), 200)

	path := "/api/auctions/" + ad["auction_id"].(string) + "/explain"
	var seen map[string]any
	require.Eventually(t, func() bool {
		seen = api.do("GET", path, owner.token, "", 200)
		return seen["recorded"] == true && len(seen["events"].([]any)) == 2
	}, 30*time.Second, 100*time.Millisecond)
	require.Equal(t, seen["winner"].(map[string]any)["price_usd"], seen["spend_usd"])
	require.LessOrEqual(t, seen["spend_usd"], 0.009)
	require.Equal(t, 1.0, seen["credits"])
	verdicts := []any{}
	for _, e := range seen["events"].([]any) {
		verdicts = append(verdicts, e.(map[string]any)["verdict"])
	}
	require.Equal(t, []any{"ok", "duplicate"}, verdicts)
	results := []any{}
	for _, c := range seen["candidates"].([]any) {
		results = append(results, c.(map[string]any)["result"])
	}
	require.Equal(t, []any{"won"}, results)
	require.Equal(t, []any{map[string]any{"result": "outbid", "count": 1.0}}, seen["others"])
	require.Equal(t, 2.0, seen["request"].(map[string]any)["intent_tokens"], "how many, and nothing of what they are")
	require.Equal(
		t, seen["auction_id"], api.do("GET", path, key, "", 200)["auction_id"], "the publisher's key opens it too",
	)
	lost := api.do("GET", path, rival.token, "", 200)
	require.Equal(t, "outbid", lost["candidates"].([]any)[0].(map[string]any)["result"])
	require.Equal(t, seen["winner"].(map[string]any)["price_usd"], lost["winner"].(map[string]any)["price_usd"])
	require.Nil(t, lost["winner"].(map[string]any)["campaign_id"])
	require.Empty(t, lost["events"])

	// A request that got no ad names the campaigns that explain it.
	none := api.do("POST", "/v1/ad-request", key, `{"context":"nothing that anybody sells, xyzzy"}`, 200)
	require.Nil(t, none["ad"])
	require.Eventually(t, func() bool {
		request, err := http.NewRequest("GET", base+"/api/auctions/"+none["auction_id"].(string)+"/explain", nil)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+key)
		reply, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, reply.Body.Close())
		return reply.StatusCode == http.StatusOK
	}, 30*time.Second, 100*time.Millisecond)
	reported := api.do("GET", "/api/auctions/"+none["auction_id"].(string)+"/explain", key, "", 200)
	require.Equal(t, false, reported["filled"])
	require.Equal(t, none["reason"], reported["reason"])
	api.do("GET", "/api/auctions/"+none["auction_id"].(string)+"/explain", rival.token, "", 403)

	cause := func(who login, id string) (first string, count any) {
		d := api.do("GET", "/api/campaigns/"+id+"/diagnose", who.token, "", 200)
		c := d["causes"].([]any)[0].(map[string]any)
		return c["cause"].(string), c["count"]
	}
	require.Eventually(t, func() bool {
		first, count := cause(rival, loser)
		return first == "outbid" && count.(float64) >= 1
	}, 30*time.Second, 100*time.Millisecond)
	first, _ := cause(owner, winner)
	require.Equal(t, "ok", first)
	api.do("POST", "/api/campaigns?action=pause", rival.token, `{"id":"`+loser+`"}`, 200)
	first, _ = cause(rival, loser)
	require.Equal(t, "not_active", first)

	status := api.do("POST", "/api/benna?op=engine-status", "", "", 200)
	require.GreaterOrEqual(t, status["diagnostics"].(map[string]any)["filled"], 2.0)
}

func TestExplain(t *testing.T) {
	_, base, _ := standalone(t, "--demo=off")
	explained(t, base, "@explain.example")
}

// TestLimitsOverTwoNodes asks the same questions on the real servers, for a publisher whose
// requests go to two nodes: both count towards one minute. The address that the publisher states
// changes nothing.
func TestLimitsOverTwoNodes(t *testing.T) {
	i := install(t)
	i.env = append(i.env, "ADNET_RATE_PER_MINUTE=100", "ADNET_RATE_BURST=0")
	_, err := i.run("migrate")
	require.NoError(t, err)
	i.serve("consumers")
	nodes := []*testenv.Service{i.serve("ingress"), i.serve("ingress")}
	t.Run("explain", func(t *testing.T) { explained(t, nodes[1].Base, "@two.example") })

	api := client{t, nodes[0].Base}
	publisher := api.register("busy@two.example")
	key := api.do("POST", "/api/keys", publisher.token, `{"kind":"publisher","name":"bot"}`, 201)["key"].(string)
	ask := func(node int) *http.Response {
		request, err := http.NewRequest("POST", nodes[node].Base+"/v1/ad-request", strings.NewReader(`{"context":"x"}`))
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("X-Forwarded-For", "198.51.100.1")
		reply, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, reply.Body.Close())
		return reply
	}
	passed := 0
	for n := range 60 {
		if ask(n%2).StatusCode == http.StatusOK {
			passed++
		}
	}
	require.Equal(t, 60, passed)
	// Once one node has heard of the other's half, requests go to it alone, and it counts both.
	require.Eventually(t, func() bool {
		passed++
		return ask(1).Header.Get("RateLimit-Remaining") == strconv.Itoa(100-passed)
	}, 10*time.Second, 500*time.Millisecond)
	for range 60 {
		if ask(1).StatusCode == http.StatusOK {
			passed++
		}
	}
	require.Equal(t, 100, passed)
	require.Eventually(
		t, func() bool { return ask(0).StatusCode == http.StatusTooManyRequests }, 5*time.Second, 200*time.Millisecond,
	)
	refused := ask(1)
	require.Equal(t, http.StatusTooManyRequests, refused.StatusCode)
	require.NotEmpty(t, refused.Header.Get("Retry-After"))
}
