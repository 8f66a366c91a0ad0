package cmd_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/kafka"
	"adnet/internal/testenv"
	"adnet/schemas/event"
)

// canaries are secrets by their kind. Each is unmistakable, so that finding one proves a leak.
type canaries map[string]string

// settings gives every secret that is a setting a known value.
func (c canaries) settings() (env []string) {
	key := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%-32s", text))) }
	c["admin e-mail"], c["admin password"] = "canary-admin@canary.example", "canary-admin-password"
	c["token key"], c["session key"] = key("canary token key"), key("canary session key")
	c["token key, raw"], c["session key, raw"] = "canary token key", "canary session key"
	c["Stripe key"], c["Stripe secret"] = "sk_live_canaryStripeKey", "whsec_canaryWebhookSecret"
	return []string{
		"ADNET_ADMIN_EMAIL=" + c["admin e-mail"], "ADNET_ADMIN_PASSWORD=" + c["admin password"],
		"ADNET_TOKEN_KEYS=k1:" + c["token key"], "ADNET_SESSION_KEYS=k1:" + c["session key"],
		"ADNET_STRIPE_KEY=" + c["Stripe key"], "ADNET_STRIPE_WEBHOOK_SECRET=" + c["Stripe secret"],
		"ADNET_STRIPE_BASE_URL=http://127.0.0.1:1", "ADNET_RATE_REFUSED=0", "ADNET_RATE_OPEN=0",
		"ADNET_RTB_PER_SECOND=1",
	}
}

// absent fails for each secret that text contains, in any form in which it may be written down.
func (c canaries) absent(t *testing.T, where, text string) {
	t.Helper()
	require.NotEmpty(t, text, "nothing to look into: %s", where)
	for what, secret := range c {
		quoted, err := json.Marshal(secret)
		require.NoError(t, err)
		for _, form := range []string{
			secret, strings.Trim(string(quoted), `"`), url.QueryEscape(secret),
			base64.StdEncoding.EncodeToString([]byte(secret)),
		} {
			if at := strings.Index(text, form); at >= 0 {
				t.Errorf("%s has the %s: …%s…", where, what, text[max(0, at-80):min(len(text), at+len(form)+20)])
			}
		}
	}
}

// suite uses every secret both where it belongs and where it does not, and returns the bodies of
// all error answers.
func (c canaries) suite(t *testing.T, base string) (refusals string) {
	t.Helper()
	api := client{t, base}
	c["e-mail"], c["password"], c["wrong password"] = "canary-user@canary.example", "canary-user-password",
		"canary-wrong-password"
	credentials := func(email, password string) string {
		return `{"email":` + quote(email) + `,"password":` + quote(password) + `}`
	}
	user := api.do("POST", "/api/auth?action=register", "", credentials(c["e-mail"], c["password"]), 201)
	admin := api.do("POST", "/api/auth", "", credentials(c["admin e-mail"], c["admin password"]), 200)
	c["access token"], c["admin token"] = user["token"].(string), admin["token"].(string)
	c["signature of a token"] = c["access token"][strings.LastIndex(c["access token"], ".")+1:]
	c["publisher key"] = api.do(
		"POST", "/api/keys", c["access token"], `{"kind":"publisher","name":"k"}`, 201,
	)["key"].(string)
	c["seat key"] = api.do("POST", "/api/keys", c["admin token"], `{"kind":"seat","name":"s"}`, 201)["key"].(string)
	c["seatpath key"] = api.do(
		"POST", "/api/keys", c["admin token"], `{"kind":"seatpath","name":"p"}`, 201,
	)["key"].(string)
	c["conversion key"] = api.do(
		"POST", "/api/keys", c["access token"], `{"kind":"conversion","name":"c"}`, 201,
	)["key"].(string)
	unknown, _, err := account.GenerateKey(account.KindSeatPath)
	require.NoError(t, err)
	c["unknown seatpath key"], c["misspelt seatpath key"] = unknown, c["seatpath key"][:len(c["seatpath key"])-1]+"_"
	id := user["user"].(map[string]any)["id"].(string)
	api.do(
		"POST", "/api/campaigns", c["access token"],
		`{"advertiser_id":"`+id+`","headline":"Chess","cta_url":"https://chess.example.com/","total_budget":1000}`, 201,
	)
	var ad map[string]any
	require.Eventually(t, func() bool {
		ad, _ = api.do("POST", "/v1/ad-request", c["publisher key"], `{"context":"chess"}`, 200)["ad"].(map[string]any)
		return ad != nil
	}, 10*time.Second, 50*time.Millisecond)
	api.get(ad["impression_url"].(string), 200)

	var bodies strings.Builder
	direct := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	send := func(method, path, body string, header ...string) {
		request, err := http.NewRequest(method, base+path, strings.NewReader(body))
		require.NoError(t, err)
		for i := 0; i < len(header); i += 2 {
			request.Header.Set(header[i], header[i+1])
		}
		reply, err := direct.Do(request)
		require.NoError(t, err)
		defer reply.Body.Close()
		text, err := io.ReadAll(reply.Body)
		require.NoError(t, err)
		if reply.StatusCode >= 400 {
			fmt.Fprintf(&bodies, "%d %v %s\n", reply.StatusCode, reply.Header, text)
		}
	}
	send("POST", "/api/auth", credentials(c["e-mail"], c["wrong password"]))
	send("POST", "/api/auth", credentials("nobody-"+c["e-mail"], c["password"]))
	send("POST", "/api/auth?action=register", credentials(c["e-mail"], c["password"]))
	send("POST", "/api/auth?action=register", `{"email":`+quote(c["e-mail"])+`,"password":`+quote(c["password"])+`,`)
	send(
		"POST", "/api/auth?action=register",
		`{"email":[`+quote(c["e-mail"])+`],"password":{"x":`+quote(c["password"])+`}}`,
	)
	send("POST", "/api/auth?action="+url.QueryEscape(c["password"]), credentials(c["e-mail"], c["password"]))
	mcp := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":{"context":"chess","developer_api_key":%s}}}`
	for what, secret := range c {
		if strings.Contains(what, "e-mail") {
			continue // an address is not a credential: it can only be sent where addresses belong
		}
		q := url.QueryEscape(secret)
		for _, scheme := range []string{"Bearer ", "Basic ", ""} {
			for _, route := range [][2]string{
				{"GET", "/api/campaigns"}, {"POST", "/v1/ad-request"}, {"GET", "/api/keys"}, {"GET", "/api/stats"},
				{"POST", "/api/mcp"}, {"POST", "/api/rtb"},
				{"POST", "/api/stats?type=aggregate"}, {"POST", "/api/campaigns?action=review"},
				{"POST", "/api/billing?action=balance"},
				{"GET", "/api/auctions/x/explain"}, {"GET", "/api/campaigns/x/diagnose"}, {"POST", "/api/rtb/x"},
			} {
				send(route[0], route[1], `{"context":7,"id":"x"}`, "Authorization", scheme+secret+"x")
			}
		}
		send("GET", "/api/stats?type="+q, "", "Authorization", "Bearer "+c["access token"])
		send("GET", "/api/stats?type=developer&key="+q, "", "Authorization", "Bearer "+c["access token"])
		send("GET", "/api/campaigns/"+url.PathEscape(secret), "", "Authorization", "Bearer "+c["access token"])
		send("DELETE", "/api/keys/"+url.PathEscape(secret), "", "Authorization", "Bearer "+c["access token"])
		send(
			"GET", "/api/auctions/"+url.PathEscape(secret)+"/explain", "", "Authorization",
			"Bearer "+c["publisher key"],
		)
		send("GET", "/s/"+url.PathEscape(secret), "")
		send("GET", "/r/"+url.PathEscape(secret), "")
		send("GET", "/"+url.PathEscape(secret), "")
		send("GET", "/api/track?event=impression&campaign_id="+q, "")
		send("GET", "/api/track?event="+q+"&campaign_id=x", "")
		send("GET", "/api/track?event=conversion&click_id=null&key="+q, "")
		send(
			"GET", "/api/track?event=conversion&click_id=x&key="+q+"&campaign_id="+ad["ad_id"].(string), "",
			"Referer", "https://x.example/?key="+q,
		)
		send("GET", "/api/track?event=conversion&click_id="+q+"&key="+q+"&campaign_id=x&value="+q, "")
		send("HEAD", "/api/track?event=conversion&click_id=x&key="+q, "")
		send(
			"POST", "/api/track", "event=conversion&click_id=x&key="+q, "Content-Type", "application/x-www-form-urlencoded",
		)
		send(
			"POST", "/api/campaigns", `{"advertiser_id":`+quote(secret)+`}`, "Authorization",
			"Bearer "+c["access token"],
		)
		send("POST", "/api/billing?action=webhook", `{"id":`+quote(secret)+`}`, "Stripe-Signature", "t=1,v1="+secret)
		send("POST", "/api/benna", `{"context":{"session_len":`+quote(secret)+`},"campaign":{}}`)
		send("POST", "/api/mcp", fmt.Sprintf(mcp, quote(secret+"x")), "Authorization", "Bearer "+c["publisher key"])
		send("POST", "/api/rtb", `{"id":[`+quote(secret)+`]}`, "Authorization", "Bearer "+c["seat key"])
		send(
			"POST", "/v1/ad-request", `{"context":"c","format":`+quote(secret)+`}`, "Authorization",
			"Bearer "+c["publisher key"],
		)
	}
	for _, what := range []string{
		"seatpath key", "unknown seatpath key", "misspelt seatpath key", "seat key", "access token",
	} {
		path := "/api/rtb/" + c[what]
		for _, body := range []string{
			strings.Repeat(" ", 300<<10), `{"id":"r","imp":[{"id":"1","banner":{"w":300,"h":250}}]}`, `{"id":[]}`, `{`,
		} {
			send("POST", path, body) // 401, 400, 413, and 429 above one a second
			send("POST", path, body, "X-Forwarded-For", c[what])
			send("POST", "/api/rtb", body, "Authorization", "Bearer "+c[what])
		}
		for _, method := range []string{"GET", "PUT", "DELETE", "HEAD", "BREW"} {
			send(method, path+"?op=win", "")
			send(method, path+"/more", "")
		}
		send("POST", strings.Replace(path, "_", "%5F", 1), "{")
		send("POST", "/api/rtb//"+c[what], "{")
		for _, request := range []string{
			"POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", "POST " + path + " HTTP/9\r\n\r\n",
			"POST " + path + "%zz HTTP/1.1\r\nHost: x\r\n\r\n", "POST " + path + "\r\nbad header\r\n\r\n",
			path + "\r\n\r\n",
			"POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n",
		} {
			bodies.WriteString(raw(t, base, request))
		}
	}
	require.Greater(t, strings.Count(bodies.String(), "\n"), 100)
	for _, status := range []string{"401", "404", "405", "413", "429"} {
		require.True(t, strings.Contains(bodies.String(), "\n"+status+" "), "no %s", status)
	}
	page, err := json.Marshal(api.do("GET", "/api/audit?limit=500", c["admin token"], "", 200))
	require.NoError(t, err)
	require.Contains(t, string(page), "seatpath")
	secrets := canaries{} // of accounts the log has the e-mail
	for what, secret := range c {
		if !strings.Contains(what, "e-mail") {
			secrets[what] = secret
		}
	}
	secrets.absent(t, "the audit log", string(page))
	return bodies.String()
}

// raw sends a text as it is and gives what comes back.
func raw(t *testing.T, base, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(300*time.Millisecond)))
	_, err = conn.Write([]byte(text))
	require.NoError(t, err)
	reply, _ := io.ReadAll(conn) // ends by the deadline where the server waits for more
	return string(reply)
}

// records reads everything in the topics, until nothing more comes.
func records(t *testing.T, cfg kafka.Config) string {
	t.Helper()
	var all strings.Builder
	for _, topic := range []string{event.TopicEvents, event.TopicAuctions, event.TopicNotices} {
		group, err := kafka.NewGroup(cfg, kafka.GroupConfig{Group: "canary-search", Topic: topic}, kafka.Deps{})
		require.NoError(t, err)
		for wait := 5 * time.Second; ; wait = time.Second {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			found, err := group.Poll(ctx, 10_000)
			cancel()
			if err != nil || len(found) == 0 {
				break
			}
			for _, r := range found {
				all.Write(r.Key)
				all.Write(r.Value)
			}
			require.NoError(t, group.Done(t.Context()))
		}
		group.Close(t.Context())
	}
	return all.String()
}

// TestSecretsStayInside is line 18 of SECURITY.md: known secrets go through the whole API, then
// everything written down is searched for them.
func TestSecretsStayInside(t *testing.T) {
	secrets := canaries{}
	for _, setting := range secrets.settings() {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
	port := testenv.Free(t)
	p, base, admin := standalone(
		t, "--demo=off", "--log-level=debug", "--embedded-kafka-port="+port[strings.LastIndex(port, ":")+1:],
	)
	refusals := secrets.suite(t, base)
	secrets.absent(t, "a refusal", refusals)
	log := records(t, kafka.Config{Brokers: []string{port}})
	require.Contains(t, log, "rest", "the records are readable as they are")
	secrets.absent(t, "the log of events", log)
	reply, err := http.Get(admin + "/metrics")
	require.NoError(t, err)
	metrics, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
	secrets.absent(t, "the metrics", string(metrics))
	p.stop()
	require.Zero(t, p.ends(t, 10*time.Second), p.err)
	secrets.absent(t, "standard output", p.out.String())
	require.Contains(t, p.err.String(), `"level":"DEBUG"`)
	secrets.absent(t, "the program's log", p.err.String())
}

// TestSecretsStayInsideOnServers does the same on the real servers, including ClickHouse's rows.
func TestSecretsStayInsideOnServers(t *testing.T) {
	i := install(t)
	secrets := canaries{}
	i.env = append(append(i.env, secrets.settings()...), "ADNET_LOG_LEVEL=debug")
	_, err := i.run("migrate")
	require.NoError(t, err)
	consumers, ingress := i.serve("consumers"), i.serve("ingress")
	secrets.absent(t, "a refusal", secrets.suite(t, ingress.Base))
	_, rows := i.clickhouse()
	for _, table := range []string{"events", "auctions", "stats_daily", "candidate_minutes"} {
		require.Eventually(t, func() bool { return rows(table) != "" }, 20*time.Second, 100*time.Millisecond, table)
		secrets.absent(t, "ClickHouse's "+table, rows(table))
	}
	log := records(
		t,
		kafka.Config{
			Brokers:     strings.Split(i.setting("ADNET_KAFKA_BROKERS"), ","),
			TopicPrefix: i.setting("ADNET_KAFKA_TOPIC_PREFIX"),
		},
	)
	secrets.absent(t, "the log of events", log)
	ingress.End(t)
	consumers.End(t)
	secrets.absent(t, "the log of ingress", ingress.Log.String())
	secrets.absent(t, "the log of consumers", consumers.Log.String())
}
