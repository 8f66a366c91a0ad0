package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// believed is how long after an account's suspension a node may still take what is the account's.
const believed = 2 * time.Second

// way is one that an account comes in by: a request, and how its reply looks while the account
// works.
type way struct {
	name   string
	ask    func() (status int, body string)
	works  func(status int, body string) bool
	ending bool // a session, which ends for good
}

// stops asks by each way, over and over, until none works, and returns how long after decided the
// last request that worked was sent. A request that is sent later than [believed] must not work.
func stops(t *testing.T, decided time.Time, ways []way) map[string]time.Duration {
	t.Helper()
	last := make([]time.Duration, len(ways))
	var all sync.WaitGroup
	for i, w := range ways {
		all.Go(func() {
			for time.Since(decided) < believed+500*time.Millisecond {
				sent := time.Since(decided)
				if w.works(w.ask()) {
					last[i] = max(last[i], sent)
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	all.Wait()
	lasted := map[string]time.Duration{}
	for i, w := range ways {
		lasted[w.name] = last[i]
	}
	return lasted
}

// TestSuspensionReachesTheOtherNode suspends an account on one node while everything that is the
// account's is in use on another, which therefore remembers it: two seconds after the reply that
// node takes no key and no session of it, and shows no ad of its campaigns. Restoring brings back
// all but the sessions.
func TestSuspensionReachesTheOtherNode(t *testing.T) {
	i := install(t)
	_, err := i.run("migrate")
	require.NoError(t, err)
	i.serve("consumers")
	here, there := i.serve("ingress"), i.serve("ingress")
	api := client{t, here.Base}
	boss := api.do(
		"POST", "/api/auth", "", `{"email":"admin@e2e.example","password":"e2e admin password"}`, 200,
	)["token"].(string)
	owner, publisher := api.register("suspended@e2e.example"), api.register("other-pub@e2e.example")
	issue := func(who login, body string) string {
		return api.do("POST", "/api/keys", who.token, body, 201)["key"].(string)
	}
	const origin = "https://page.e2e.example"
	mine, page := issue(owner, `{"kind":"publisher","name":"app"}`), issue(
		owner, `{"kind":"browser","name":"page","origins":["`+origin+`"]}`,
	)
	bySeat := func(kind string) string { // the operator gives these
		reply, err := i.run("user", "keys", "suspended@e2e.example", "--issue", kind)
		require.NoError(t, err)
		return regexp.MustCompile(kind + `_live_[0-9A-Za-z_-]+`).FindString(reply)
	}
	seat, path, conversion := bySeat("seat"), bySeat("seatpath"), issue(owner, `{"kind":"conversion"}`)
	others := issue(publisher, `{"kind":"publisher","name":"bot"}`)
	created := api.do("POST", "/api/campaigns", owner.token,
		`{"advertiser_id":"`+owner.id+`","headline":"Wombat field guide",
		"cta_url":"https://wombat.example.com/","bid_amount":1000,"daily_budget":100000,"total_budget":1000000,"target_intent_tokens":["wombat"],"pacing":"asap"}`, 201)
	campaign := created["campaign"].(map[string]any)["id"].(string)

	ask := func(method, path, body string, header ...string) func() (int, string) {
		return func() (int, string) { return askAs(t, there.Base, method, path, body, header...) }
	}
	bearer := func(key string) []string { return []string{"Authorization", "Bearer " + key} }
	ok := func(status int, _ string) bool { return status < 300 }
	shows := func(status int, body string) bool { return status == 200 && strings.Contains(body, campaign) }
	bid := `{"id":"r","imp":[{"id":"1","banner":{"w":300,"h":250},"ext":{"mcp_context":{"intent":"nothing xyzzy"}}}]}`
	anAd := `{"context":"nothing that anybody sells, xyzzy"}`
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	cookie := consoleCookie(t, here.Base, `{"email":"suspended@e2e.example","password":"correct horse","cookie":true}`)
	ways := []way{
		{"publisher key", ask("POST", "/v1/ad-request", anAd, bearer(mine)...), ok, false},
		{
			"publisher key on MCP",
			ask("POST", "/api/mcp", call, append(bearer(mine), "Accept", "application/json, text/event-stream")...), ok,
			false,
		},
		{"browser key", ask("POST", "/v1/ad-request", anAd, append(bearer(page), "Origin", origin)...), ok, false},
		{"seat key", ask("POST", "/api/rtb", bid, bearer(seat)...), ok, false},
		{"seatpath key", ask("POST", "/api/rtb/"+path, bid), ok, false},
		{
			"conversion key",
			ask(
				"POST", "/api/track/check", `{"event":"conversion","click_id":"x","conversion_type":"purchase"}`,
				bearer(conversion)...,
			), ok, false,
		},
		{
			"preflight",
			ask("OPTIONS", "/v1/ad-request", "", "Origin", origin, "Access-Control-Request-Method", "POST"), ok, false,
		},
		{"session", ask("GET", "/api/campaigns", "", bearer(owner.token)...), ok, true},
		{
			"console",
			ask("GET", "/api/campaigns", "", "Cookie", cookie, "X-Adnet-Console", "1", "Sec-Fetch-Site", "same-origin"),
			ok, true,
		},
		{"campaign", ask("POST", "/v1/ad-request", `{"context":"wombat"}`, bearer(others)...), shows, false},
	}
	waits := ""
	working := func(ways []way) func() bool {
		return func() bool {
			for _, w := range ways {
				if status, body := w.ask(); !w.works(status, body) {
					waits = fmt.Sprint(w.name, " ", status, " ", body)
					return false
				}
			}
			return true
		}
	}
	require.Eventually(t, working(ways), 20*time.Second, 100*time.Millisecond, "%s", &waits)
	require.True(t, working(ways)(), "the node remembers all of it: %s", waits)

	api.do("POST", "/api/admin/users/"+owner.id+"/suspend", boss, `{"reason":"Cards that were not theirs."}`, 200)
	for name, lasted := range stops(t, time.Now(), ways) {
		t.Logf("%-22s worked for %v", name, lasted.Round(time.Millisecond))
		require.Less(t, lasted, believed, "%s after the suspension", name)
	}
	for _, w := range ways {
		status, body := w.ask()
		require.False(t, w.works(status, body), "%s: %d %s", w.name, status, body)
		require.Less(t, status, 500, "%s: %s", w.name, body)
	}

	api.do("POST", "/api/admin/users/"+owner.id+"/restore", boss, `{"reason":"They were theirs."}`, 200)
	lasting := slices.DeleteFunc(slices.Clone(ways), func(w way) bool { return w.ending })
	require.Eventually(t, working(lasting), believed+3*time.Second, 50*time.Millisecond, "%s", &waits)
	for _, w := range ways {
		if w.ending {
			status, body := w.ask()
			require.Equal(t, 401, status, "%s ended for good: %s", w.name, body)
		}
	}
	owner.token = api.do(
		"POST", "/api/auth", "", `{"email":"suspended@e2e.example","password":"correct horse"}`, 200,
	)["token"].(string)
	t.Run("names", func(t *testing.T) { namesReachTheOtherNode(t, api, there.Base, boss, owner, others) })
	t.Run("health", func(t *testing.T) { healthOfAll(t, client{t, there.Base}, boss) })
}

// namesReachTheOtherNode has administrators and the owner of a campaign decide on one node how its
// ads name who paid, while readers ask another, which hears of it by Redis: within two seconds of
// each decision its ads say the approved name, another one, or none.
func namesReachTheOtherNode(t *testing.T, api client, there, boss string, owner login, key string) {
	t.Helper()
	says := func() (advertiser any, visible bool) { // a node that is behind shows no ad
		_, body := askAs(t, there, "POST", "/v1/ad-request", `{"context":"wombat"}`, "Authorization", "Bearer "+key)
		var reply struct{ Ad map[string]any }
		err := json.Unmarshal([]byte(body), &reply)
		return reply.Ad["advertiser"], err == nil && reply.Ad != nil
	}
	called := func(name string) { api.do("PATCH", "/api/account/profile", owner.token, `{"company":"`+name+`"}`, 200) }
	rule := func(body string) { api.do("POST", "/api/admin/users/"+owner.id+"/name", boss, body, 200) }
	for _, step := range []struct {
		what   string
		decide func()
		want   any
	}{
		{"nobody has looked at it", func() { called("Wombat Ltd") }, nil},
		{
			"approved", func() { rule(`{"name":"Wombat Ltd","decision":"approved"}`) },
			map[string]any{"name": "Wombat Ltd", "verified": false},
		},
		{
			"verified", func() { rule(`{"name":"Wombat Ltd","decision":"approved","verified":true}`) },
			map[string]any{"name": "Wombat Ltd", "verified": true},
		},
		{"withdrawn", func() { rule(`{"name":"Wombat Ltd","decision":"rejected","reason":"It is another's."}`) }, nil},
		{
			"another one", func() { called("Wombat House"); rule(`{"name":"Wombat House","decision":"approved"}`) },
			map[string]any{"name": "Wombat House", "verified": false},
		},
		{"called otherwise", func() { called("Wombat Bank") }, nil},
	} {
		step.decide()
		decided, last := time.Now(), time.Duration(0)
		require.Eventually(t, func() bool {
			sent := time.Since(decided)
			advertiser, visible := says()
			if visible && !reflect.DeepEqual(advertiser, step.want) {
				last = sent
				return false
			}
			return visible
		}, 20*time.Second, 20*time.Millisecond, "%s: %v", step.what, step.want)
		t.Logf("%-24s said otherwise for %v", step.what, last.Round(time.Millisecond))
		require.Less(t, last, believed, step.what)
	}
}

// healthOfAll reads on one node what every process of the installation says of itself.
func healthOfAll(t *testing.T, api client, boss string) {
	seen := api.do("GET", "/api/admin/health", boss, "", 200)
	names, roles := map[string]bool{}, []string{}
	for _, each := range seen["processes"].([]any) {
		p := each.(map[string]any)
		names[p["name"].(string)] = true
		roles = append(roles, p["role"].(string))
		require.NotEmpty(t, p["version"])
		began, err := time.Parse(time.RFC3339, p["started_at"].(string))
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), began, 5*time.Minute)
		serving, serves := p["serving"].(map[string]any)
		require.Equal(t, p["role"] == "ingress", serves)
		if serves {
			require.GreaterOrEqual(t, serving["campaigns"], 0.0)
			require.Contains(t, serving["model"], "benna-2")
			require.Equal(
				t, []any{0.0, 0.0, 0.0, ""},
				[]any{serving["spool_bytes"], serving["spool_events"], serving["trial"], serving["stage"]},
			)
		}
	}
	require.Len(t, names, 3)
	require.ElementsMatch(t, []string{"ingress", "ingress", "consumers"}, roles)
	jobs := map[string]map[string]any{}
	for _, each := range seen["jobs"].([]any) {
		j := each.(map[string]any)
		jobs[j["name"].(string)] = j
		require.NotNil(t, j["next"], j["name"])
	}
	require.Len(t, jobs, 6, "goals, retention, rollup, standing, train, verify: %v", jobs)
	require.Equal(t, false, jobs["rollup"]["failed"])
	require.NotNil(t, jobs["rollup"]["ended_at"], "it runs at the start of consumers")
}

// askAs sends a request with pairs of header names and values.
func askAs(t *testing.T, base, method, path, body string, header ...string) (int, string) {
	request, err := http.NewRequest(method, base+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n < len(header); n += 2 {
		request.Header.Set(header[n], header[n+1])
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer reply.Body.Close()
	var text bytes.Buffer
	if _, err := io.Copy(&text, reply.Body); err != nil {
		t.Error(err)
	}
	return reply.StatusCode, text.String()
}

// consoleCookie signs in as a page of the console does.
func consoleCookie(t *testing.T, base, login string) string {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, base+"/api/auth", strings.NewReader(login))
	require.NoError(t, err)
	request.Header.Set("X-Adnet-Console", "1")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	reply, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer reply.Body.Close()
	var says json.RawMessage
	require.NoError(t, json.NewDecoder(reply.Body).Decode(&says))
	require.Equal(t, 200, reply.StatusCode, "%s", says)
	require.Len(t, reply.Cookies(), 1)
	return reply.Cookies()[0].Name + "=" + reply.Cookies()[0].Value
}
