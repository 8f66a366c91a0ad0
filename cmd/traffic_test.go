package cmd_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/internal/testenv"
)

// TestInvalidTrafficOnTwoNodes is the protections of SECURITY.md on the real servers: one
// impression 100 times at once over two ingress nodes while the consumers process is killed, then
// invalid traffic of four kinds.
func TestInvalidTrafficOnTwoNodes(t *testing.T) {
	i := install(t)
	i.env = append(i.env, "ADNET_CLICK_MIN_DELAY=300ms", "ADNET_CLICK_RATES=1/1m,3/10m,10/1h,25/24h")
	_, err := i.run("migrate")
	require.NoError(t, err)
	consumers := i.serve("consumers")
	nodes := []*testenv.Service{i.serve("ingress"), i.serve("ingress")}
	api := client{t, nodes[0].Base}
	owner, publisher := api.register("traffic-owner@e2e.example"), api.register("traffic-pub@e2e.example")
	key := api.do("POST", "/api/keys", publisher.token, `{"kind":"publisher","name":"bot"}`, 201)["key"].(string)
	created := api.do("POST", "/api/campaigns", owner.token,
		`{"advertiser_id":"`+owner.id+`","headline":"Quokka field guide",
		"cta_url":"https://quokka.example.com/","bid_amount":1000,"target_intent_tokens":["quokka"],"pacing":"asap"}`, 201)
	id := created["campaign"].(map[string]any)["id"].(string)
	ad := func(method string) (ad map[string]any) {
		t.Helper()
		require.Eventually(t, func() bool {
			ad, _ = api.do(
				"POST", "/v1/ad-request", key, `{"context":"quokka","integration_method":"`+method+`"}`, 200,
			)["ad"].(map[string]any)
			return ad != nil
		}, 20*time.Second, 50*time.Millisecond)
		return ad
	}
	noRedirect := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	fire := func(node int, link any, agent string) (int, []byte) {
		u, err := url.Parse(link.(string))
		require.NoError(t, err)
		request, err := http.NewRequest("GET", nodes[node].Base+u.RequestURI(), nil)
		require.NoError(t, err)
		request.Header.Set("User-Agent", agent)
		reply, err := noRedirect.Do(request)
		require.NoError(t, err)
		defer reply.Body.Close()
		body, err := io.ReadAll(reply.Body)
		require.NoError(t, err)
		return reply.StatusCode, body
	}

	first := ad("rest")
	var all sync.WaitGroup
	replies := make([]string, 100)
	for n := range replies {
		all.Go(func() {
			status, body := fire(n%2, first["impression_url"], "x")
			replies[n] = fmt.Sprint(status, " ", len(body))
		})
		if n == 50 {
			require.NoError(t, consumers.Process.Kill())
		}
	}
	all.Wait()
	consumers = i.serve("consumers")
	require.Equal(t, strings.Repeat("200 43,", 100), strings.Join(replies, ",")+",")

	click := func(node int, ad map[string]any) {
		status, _ := fire(node, ad["click_url"], "Mozilla/5.0")
		require.Equal(t, 302, status)
	}
	robot := ad("js_snippet")
	fire(0, robot["impression_url"], "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)")
	fire(0, robot["impression_url"], "curl/8.7.1") // counts once
	fire(1, ad("js_snippet")["impression_url"], "")
	lonely := ad("rest")
	time.Sleep(400 * time.Millisecond)
	click(0, lonely) // waits for its impression; counts for its network
	click(1, first)  // the second of the minute, on the other node
	var stats map[string]any
	whole := func(n any) int64 { return int64(n.(float64)) }
	require.Eventually(t, func() bool {
		stats = api.do("GET", "/api/stats?type=campaign&campaign_id="+id, owner.token, "", 200)
		more := spooled(t, nodes...)
		refused, invalid := whole(stats["duplicates"])-100, whole(stats["invalid_traffic"])-3
		// The reasons come from a query of their own, which may be some milliseconds older than the
		// counts.
		return stats["impressions"] == 1.0 && refused >= 0 && invalid >= 0 && refused+invalid <= more &&
			len(stats["invalid_by_reason"].([]any)) == 3
	}, 60*time.Second, 100*time.Millisecond, "%v", &stats)
	require.Equal(t, 1.0, stats["credits"])
	require.Equal(t, 1.0, stats["billed"])
	require.Equal(t, 0.0, stats["clicks"])
	reasons := map[string]float64{}
	for _, r := range stats["invalid_by_reason"].([]any) {
		entry := r.(map[string]any)
		reasons[entry["reason"].(string)] = entry["impressions"].(float64) + entry["clicks"].(float64)
	}
	more := float64(spooled(t, nodes...)) // 0 as a rule: then each reason is there once
	for _, reason := range []string{"bot_user_agent", "empty_user_agent", "click_rate"} {
		require.GreaterOrEqual(t, reasons[reason], 1.0, reason)
		require.LessOrEqual(t, reasons[reason], 1+more, reason)
		delete(reasons, reason)
	}
	require.Empty(t, reasons)
	require.Eventually(t, func() bool { _, err := i.run("verify"); return err == nil }, 30*time.Second, time.Second)
	consumers.End(t)
}
