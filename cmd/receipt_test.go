package cmd_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The receipt of an ad says the words that request and ad share, on real servers from the request
// to the page: once enough people have said them, and no word of a request that the ad does not
// say.
func TestReceiptSaysSharedWords(t *testing.T) {
	i := install(t)
	_, err := i.run("migrate")
	require.NoError(t, err)
	i.serve("consumers")
	api := client{t, i.serve("ingress").Base}
	owner := api.register("owner@receipts.example")
	api.do("POST", "/api/campaigns", owner.token,
		`{"advertiser_id":"`+owner.id+
			`","headline":"Chess lessons for everybody","cta_url":"https://chess.example.com/",
		"bid_amount":10,"pacing":"asap","frequency_cap":0,"daily_budget":1000,"total_budget":10000,"target_intent_tokens":["chess"]}`, 201)
	keys := make([]string, 3) // of as many publishers as a word needs
	for n := range keys {
		publisher := api.register(fmt.Sprintf("pub-%d@receipts.example", n))
		keys[n] = api.do("POST", "/api/keys", publisher.token, `{"kind":"publisher","name":"bot"}`, 201)["key"].(string)
	}
	var receipts []string
	ask := func(n int) {
		ad, _ := api.do(
			"POST", "/v1/ad-request", keys[n%len(keys)],
			fmt.Sprintf(`{"context":"who teaches chess, perhaps canarysaturday","session_id":"s-%d"}`, n), 200,
		)["ad"].(map[string]any)
		if ad != nil {
			receipts = append(receipts, ad["receipt_url"].(string))
		}
	}
	require.Eventually(t, func() bool { ask(0); return len(receipts) > 0 }, 20*time.Second, 50*time.Millisecond)
	page := func(receipt string) string {
		reply, err := http.Get(receipt)
		require.NoError(t, err)
		defer reply.Body.Close()
		text, err := io.ReadAll(reply.Body)
		require.NoError(t, err)
		require.Equal(t, 200, reply.StatusCode)
		require.NotContains(t, string(text), "canarysaturday")
		return string(text)
	}
	require.Contains(t, page(receipts[0]), "rare and sensitive words")
	for n := range 60 {
		ask(n)
	}
	receipts = nil
	for n := 60; len(receipts) < 60; n++ { // what is known is read again every few seconds
		ask(n)
		for _, receipt := range receipts {
			if strings.Contains(page(receipt), "words that the request and the ad share: chess") {
				return
			}
		}
		time.Sleep(time.Second)
	}
	t.Fatal(page(receipts[len(receipts)-1]))
}
