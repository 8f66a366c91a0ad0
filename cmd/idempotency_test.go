package cmd_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/ingress/ingresstest/endpoints"
)

// TestEveryMutatingRouteHonoursTheKey calls each route whose policy says that it takes an
// Idempotency-Key twice under one key, then with another body. A mutating route whose policy does
// not say whether it takes one cannot be mounted.
func TestEveryMutatingRouteHonoursTheKey(t *testing.T) {
	_, base, _ := standalone(t, "--demo=off")
	owner := client{t, base}.register("owner@keys.example")
	tried := 0
	for _, route := range endpoints.Routes(t) {
		if route.Policy.Idempotent != httpapi.Yes {
			continue
		}
		t.Run(route.Method+" "+route.Path+" "+route.Value, func(t *testing.T) {
			key := uuid.NewString()
			send := func(body string) (int, string, http.Header) {
				url := base + strings.ReplaceAll(route.Path, ":id", uuid.Nil.String())
				if route.Value != "" {
					url += "?" + route.Param + "=" + route.Value
				}
				r, err := http.NewRequest(route.Method, url, strings.NewReader(body))
				require.NoError(t, err)
				if route.Policy.Auth&httpapi.Anyone == 0 {
					r.Header.Set("Authorization", "Bearer "+owner.token)
				}
				r.Header.Set("Idempotency-Key", key)
				reply, err := http.DefaultClient.Do(r)
				require.NoError(t, err)
				defer reply.Body.Close()
				text, err := io.ReadAll(reply.Body)
				require.NoError(t, err)
				return reply.StatusCode, string(text), reply.Header
			}
			body := `{"advertiser_id":"` + owner.id + `","email":"` + uuid.NewString() +
				`@keys.example","password":"correct horse",
				"kind":"publisher","name":"n","headline":"Chess","cta_url":"https://chess.example.com/","bid_amount":1,"id":"` + uuid.Nil.String() + `"}`
			status, first, _ := send(body)
			again, second, header := send(body)
			other, _, _ := send(strings.Replace(body, "correct", "another", 1))
			// an administrator's, or not in this mode: nothing to keep
			if status == http.StatusUnauthorized || status >= 500 {
				require.Equal(t, status, again)
				require.NotContains(t, second, "replayed")
				return
			}
			require.Equal(t, status, again)
			require.Equal(t, "true", header.Get("Idempotency-Replayed"))
			require.JSONEq(t, strings.TrimSuffix(first, "}")+`,"replayed":true}`, second)
			require.Equal(t, http.StatusConflict, other)
			tried++
		})
	}
	require.Greater(t, tried, 10)
}

// TestAuditOverHTTP follows what an owner did, from the routes to the log.
func TestAuditOverHTTP(t *testing.T) {
	_, base, _ := standalone(t, "--demo=off")
	api := client{t, base}
	owner, stranger := api.register("audited@keys.example"), api.register("stranger@keys.example")
	created := api.do(
		"POST", "/api/campaigns", owner.token,
		`{"advertiser_id":"`+owner.id+`","headline":"Chess","cta_url":"https://chess.example.com/","bid_amount":1}`,
		201,
	)
	id := created["campaign"].(map[string]any)["id"].(string)
	api.do("PATCH", "/api/campaigns/"+id, owner.token, `{"daily_budget":77}`, 200)
	api.do("POST", "/api/campaigns?action=pause", owner.token, `{"id":"`+id+`"}`, 200)
	key := api.do("POST", "/api/keys", owner.token, `{"kind":"publisher","name":"bot"}`, 201)
	api.do("DELETE", "/api/keys/"+key["id"].(string), owner.token, ``, 200)
	page := api.do("GET", "/api/audit?limit=3", owner.token, "", 200)
	first := page["entries"].([]any)
	require.Len(t, first, 3)
	rest := api.do("GET", "/api/audit?before="+jsonNumber(page["next"]), owner.token, "", 200)["entries"].([]any)
	var actions []string
	for _, e := range append(first, rest...) {
		entry := e.(map[string]any)
		who := entry["actor"].(map[string]any)
		actions = append(actions, who["action"].(string))
		require.Equal(t, owner.id, entry["owner_id"])
		require.Equal(t, "127.0.0.0/24", who["network"])
		if who["action"] != "POST /api/auth?action=register" {
			require.Equal(t, owner.id, who["account_id"])
		}
	}
	require.Equal(t, []string{
		"DELETE /api/keys/:id", "POST /api/keys", "POST /api/campaigns?action=pause", "PATCH /api/campaigns/:id",
		"POST /api/campaigns",
		"POST /api/auth?action=register",
	}, actions)
	changes := rest[0].(map[string]any)["changes"].(map[string]any)
	require.Equal(t, 77.0, changes["daily_budget"].(map[string]any)["after"])
	require.Len(t, changes, 1)
	raw, err := json.Marshal(append(first, rest...))
	require.NoError(t, err)
	require.NotContains(t, string(raw), key["key"])
	api.do("GET", "/api/audit?owner_id="+owner.id, stranger.token, "", 403)
	require.Len(t, api.do("GET", "/api/audit", stranger.token, "", 200)["entries"], 1)
}

func jsonNumber(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}
