package cmd_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/ingress/httpapi/apitest"
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
			body := bodyFor(t, route, map[string]any{
				"advertiser_id": owner.id, "email": uuid.NewString() + "@keys.example", "password": "correct horse",
				"kind": "publisher", "name": "n", "headline": "Chess", "cta_url": "https://chess.example.com/",
				"bid_amount": 1, "id": uuid.Nil,
			})
			status, first, _ := send(body)
			again, second, header := send(body)
			other, _, _ := send(body + " ")
			// An administrator's, not in this mode, or a stranger's mistake: nothing to keep.
			open := route.Policy.Auth&httpapi.Anyone != 0
			if route.Policy.Auth == httpapi.AdminToken || status >= 500 || open && status/100 != 2 {
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

// keyed are the routes that honour an Idempotency-Key, with a body that most of them accept and a
// random key.
func keyed(t *testing.T, each func(t *testing.T, route httpapi.Route, path, key, body string)) {
	for _, route := range endpoints.Routes(t) {
		if route.Policy.Idempotent != httpapi.Yes {
			continue
		}
		path := strings.ReplaceAll(route.Path, ":id", uuid.Nil.String())
		if route.Value != "" {
			path += "?" + route.Param + "=" + route.Value
		}
		t.Run(route.Method+" "+path, func(t *testing.T) {
			each(t, route, path, uuid.NewString(), bodyFor(t, route, map[string]any{
				"email": uuid.NewString() + "@keys.example", "password": "correct horse", "kind": "publisher",
				"name": "n", "id": uuid.Nil,
			}))
		})
	}
}

var pathParameter = regexp.MustCompile(`:(\w+)`)

// document is openapi.json, loaded once.
var document struct {
	sync.Once
	*apitest.Contract
}

// bodyFor returns the fields that a route takes by openapi.json.
func bodyFor(t *testing.T, route httpapi.Route, fields map[string]any) string {
	t.Helper()
	path := pathParameter.ReplaceAllString(route.Path, "{$1}")
	if route.Param == "action" && route.Value != "" {
		path += "/" + route.Value
	}
	document.Do(func() { document.Contract = apitest.Load(t) })
	known := document.Fields(route.Method, path)
	maps.DeleteFunc(fields, func(name string, _ any) bool { return !known[name] })
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	return string(text)
}

// sender is a caller of the routes with a key, and its header: a bearer token, or the console's
// cookie.
type sender struct {
	name   string
	header http.Header
}

func (s sender) send(t *testing.T, method, url, key, body string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(t, err)
	if s.header != nil {
		r.Header = s.header.Clone()
	}
	r.Header.Set("Idempotency-Key", key)
	reply, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	return reply.StatusCode, reply.Header, string(text)
}

func bearer(name, token string) sender {
	return sender{name, http.Header{"Authorization": {"Bearer " + token}}}
}

// console signs an account in as the console's pages do.
func console(t *testing.T, base, email, password string) sender {
	t.Helper()
	page := http.Header{"X-Adnet-Console": {"1"}, "Sec-Fetch-Site": {"same-origin"}}
	status, reply, text := sender{header: page}.send(
		t, "POST", base+"/api/auth", uuid.NewString(),
		`{"email":"`+email+`","password":"`+password+`","cookie":true}`,
	)
	require.Equal(t, http.StatusOK, status, text)
	cookie, _, _ := strings.Cut(reply.Get("Set-Cookie"), ";")
	page.Set("Cookie", cookie)
	return sender{email, page}
}

// All callers share an address, a key and a request. On every route, each of them gets a reply of
// its own, and an account the same one by bearer and by cookie.
func TestNoTwoCallersShareAKey(t *testing.T) {
	_, base, _ := standalone(t, "--demo=off", "--admin-email=root@keys.example", "--admin-password=battery staple")
	api := client{t, base}
	ann, bob := api.register("ann@keys.example"), api.register("bob@keys.example")
	callers := []sender{
		console(t, base, "root@keys.example", "battery staple"),
		console(t, base, "ann@keys.example", "correct horse"),
		bearer("bob", bob.token), {name: "nobody"}, bearer("mallory", "garbage"),
	}
	keys, replays := map[string]bool{}, 0
	keyed(t, func(t *testing.T, route httpapi.Route, path, key, body string) {
		for i, caller := range callers {
			if caller.name == "mallory" && route.Policy.Auth&httpapi.Anyone != 0 {
				continue // on a route that asks for no token, an invalid one is nobody's
			}
			status, header, text := caller.send(t, route.Method, base+path, key, body)
			require.Empty(t, header.Get("Idempotency-Replayed"), "%s: %d %s", caller.name, status, text)
			require.NotContains(t, text, "replayed", caller.name)
			if i > 0 && route.Policy.Auth == httpapi.AdminToken {
				require.GreaterOrEqual(t, status, 400, caller.name)
			}
			var made struct{ Key string }
			if json.Unmarshal([]byte(text), &made) == nil && made.Key != "" {
				require.False(t, keys[made.Key], "%s has the key of another", caller.name)
				keys[made.Key] = true
			}
		}
		_, header, text := bearer("ann", ann.token).send(t, route.Method, base+path, key, body)
		if header.Get("Idempotency-Replayed") != "" {
			replays++
		}
		if path == "/api/keys" && route.Method == http.MethodPost {
			require.Contains(t, text, `"replayed":true`, "the console's key is the account's")
		}
	})
	require.Len(t, keys, 3)
	require.Greater(t, replays, 10)
}

// Strangers of an account's own address send keys to all routes, by hundreds and with success too.
// The account has all of its keys, and no stranger stops another.
func TestStrangersSpendNoKeysOfAnAccount(t *testing.T) {
	const most = 20
	_, base, admin := standalone(
		t, "--demo=off", "--idempotency-keys=20", "--rate-open=0", "--rate-refused=0", "--rate-register=0",
	)
	ann := client{t, base}.register("ann@keys.example")
	page, nobody := console(t, base, "ann@keys.example", "correct horse"), sender{}
	keyed(t, func(t *testing.T, route httpapi.Route, path, _, _ string) {
		for range 2 * most {
			status, header, text := nobody.send(t, route.Method, base+path, uuid.NewString(), `{}`)
			require.GreaterOrEqual(t, status, 400)
			require.NotEqual(t, http.StatusTooManyRequests, status, text)
			require.Empty(t, header.Get("Idempotency-Replayed"))
		}
	})
	for range most + 5 {
		status, _, text := nobody.send(
			t, "POST", base+"/api/auth?action=register", uuid.NewString(),
			`{"email":"`+uuid.NewString()+`@keys.example","password":"correct horse"}`,
		)
		require.Equal(t, http.StatusCreated, status, text)
	}
	require.Positive(t, metric(t, admin, `adnet_idempotency_total{result="unkept"}`))
	for i := range most {
		caller := page
		if i%2 == 0 {
			caller = bearer("ann", ann.token)
		}
		status, _, text := caller.send(
			t, "POST", base+"/api/keys", uuid.NewString(), `{"kind":"publisher","name":"n"}`,
		)
		require.Equal(t, http.StatusCreated, status, text)
	}
	status, _, _ := page.send(t, "POST", base+"/api/keys", uuid.NewString(), `{"kind":"publisher","name":"n"}`)
	require.Equal(t, http.StatusTooManyRequests, status, "the account's own bound")
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
