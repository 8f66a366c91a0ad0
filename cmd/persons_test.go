package cmd_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/analytics/clickhouse"
	"adnet/internal/kafka"
	"adnet/internal/testenv"
)

// persons are ids of people, marked so that one that is found anywhere has leaked, and the texts of
// their consent.
func persons() canaries {
	return canaries{
		"session of REST": "canary-session-rest", "session of MCP": "canary-session-mcp",
		"session of OpenRTB":  "canary-session-rtb",
		"session of a report": "canary-session-said", "session of a click": "canary-session-click",
		"order":   "canary-order-17",
		"user.id": "canary-user-id", "buyeruid": "canary-buyer-uid", "ifa": "canary-ifa", "eid": "canary-eid",
		"US privacy text": "1YN-canary", "GPP text": "DBABTA~canary", "TC string": "CcanaryCanaryCanary",
	}
}

// visit sends every id over every wire that has it, with and without an ad that proves the event.
func (c canaries) visit(t *testing.T, api client, publisher, seat string) {
	t.Helper()
	request := `{"context":"chess","session_id":` + quote(c["session of REST"]) + `}`
	var ad map[string]any
	require.Eventually(t, func() bool {
		ad, _ = api.do("POST", "/v1/ad-request", publisher, request, 200)["ad"].(map[string]any)
		return ad != nil
	}, 10*time.Second, 50*time.Millisecond)
	require.NotContains(t, ad["impression_url"], c["session of REST"])
	api.get(ad["impression_url"].(string), 200)
	api.do(
		"POST", "/v1/ad-request", publisher,
		`{"context":"chess","consent":{"tcf":`+quote(c["TC string"])+`,"gpp":`+quote(c["GPP text"])+`,"us_privacy":`+
			quote(c["US privacy text"])+`}}`, 200,
	)
	mcp := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":{"context":"chess","session_id":` + quote(c["session of MCP"]) + `}}}`
	api.do("POST", "/api/mcp", publisher, mcp, 200)
	api.do("POST", "/api/rtb", seat,
		`{"id":"r","imp":[{"id":"1","banner":{"w":300,"h":250},"ext":{"mcp_context":{"intent":"chess","session_id":`+
			quote(c["session of OpenRTB"])+`}}}],
		"ext":{"debug":1},"user":{"id":`+quote(c["user.id"])+`,"buyeruid":`+quote(c["buyeruid"])+`,"eids":[{"source":"x","uids":[{"id":`+quote(c["eid"])+`}]}]},"device":{"ifa":`+quote(c["ifa"])+`}}`, 200)
	token := quote(ad["auction_id"].(string))
	campaign := quote(ad["ad_id"].(string))
	for _, proof := range []string{`,"auction_id":` + token, `,"auction_id":"forged"`, ``} {
		api.do(
			"POST", "/api/track", "",
			`{"event":"skip","campaign_id":`+campaign+`,"session":`+quote(c["session of a report"])+proof+`}`, 200,
		)
	}
	for _, proof := range []string{token, `"forged"`} {
		api.do(
			"POST", "/api/track", "",
			`{"event":"conversion","campaign_id":`+campaign+`,"auction_id":`+proof+`,"external_id":`+quote(c["order"])+
				`}`, 200,
		)
	}
	api.get(
		api.base+"/api/track?event=close&auction_id="+url.QueryEscape(
			ad["auction_id"].(string),
		)+"&session="+c["session of a report"], 200,
	)
	direct := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	reply, err := direct.Get(ad["click_url"].(string) + "&session=" + c["session of a click"])
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
	require.Equal(t, http.StatusFound, reply.StatusCode)
}

// sell registers an account with a campaign, and gives a publisher's key and a seat's.
func (c canaries) sell(t *testing.T, api client, admin string) (publisher, seat string) {
	t.Helper()
	user := api.do(
		"POST", "/api/auth?action=register", "", `{"email":"someone@canary.example","password":"a long password 17"}`,
		201,
	)
	login, id := user["token"].(string), user["user"].(map[string]any)["id"].(string)
	api.do(
		"POST", "/api/campaigns", login,
		`{"advertiser_id":"`+id+`","headline":"Chess","cta_url":"https://chess.example.com/","total_budget":1000}`, 201,
	)
	return api.do("POST", "/api/keys", login, `{"kind":"publisher","name":"k"}`, 201)["key"].(string),
		api.do("POST", "/api/keys", admin, `{"kind":"seat","name":"s"}`, 201)["key"].(string)
}

// TestIDsOfPeopleStayInside sends marked ids over every wire of one process and searches what it
// wrote down.
func TestIDsOfPeopleStayInside(t *testing.T) {
	t.Setenv("ADNET_ADMIN_EMAIL", "admin@canary.example")
	t.Setenv("ADNET_ADMIN_PASSWORD", "a long admin password")
	port := testenv.Free(t)
	p, base, _ := standalone(
		t, "--demo=off", "--log-level=debug", "--embedded-kafka-port="+port[strings.LastIndex(port, ":")+1:],
	)
	ids, api := persons(), client{t, base}
	admin := api.do(
		"POST", "/api/auth", "", `{"email":"admin@canary.example","password":"a long admin password"}`, 200,
	)["token"].(string)
	publisher, seat := ids.sell(t, api, admin)
	ids.visit(t, api, publisher, seat)
	ids.absent(t, "the log of events", records(t, kafka.Config{Brokers: []string{port}}))
	p.stop()
	require.Zero(t, p.ends(t, 10*time.Second), p.err)
	ids.absent(t, "the program's log", p.err.String())
}

// TestIDsOfPeopleStayInsideOnServers does the same on the real servers: every topic, table and key.
func TestIDsOfPeopleStayInsideOnServers(t *testing.T) {
	i := install(t)
	i.env = append(i.env, "ADNET_LOG_LEVEL=debug")
	_, err := i.run("migrate")
	require.NoError(t, err)
	consumers, ingress := i.serve("consumers"), i.serve("ingress")
	ids, api := persons(), client{t, ingress.Base}
	admin := api.do(
		"POST", "/api/auth", "", `{"email":"admin@e2e.example","password":"e2e admin password"}`, 200,
	)["token"].(string)
	publisher, seat := ids.sell(t, api, admin)
	ids.visit(t, api, publisher, seat)

	store, rows := i.clickhouse()
	require.Eventually(
		t, func() bool { return strings.Count(rows("events"), `"type":"conversion"`) > 0 && rows("auctions") != "" },
		30*time.Second, 100*time.Millisecond,
	)
	require.Regexp(t, `"session":"[A-Za-z0-9_-]{22}"`, rows("events"), "what stands for a session is there")
	require.Regexp(t, `"external_id":"[A-Za-z0-9_-]{22}"`, rows("events"))
	var tables []struct {
		Name string `ch:"name"`
	}
	require.NoError(
		t,
		store.Select(
			t.Context(), &tables,
			"SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'", nil,
		),
	)
	for _, table := range tables {
		if text := rows(table.Name); text != "" {
			ids.absent(t, "ClickHouse's "+table.Name, text)
		}
	}
	ids.absent(
		t, "the topics",
		records(
			t,
			kafka.Config{
				Brokers:     strings.Split(i.setting("ADNET_KAFKA_BROKERS"), ","),
				TopicPrefix: i.setting("ADNET_KAFKA_TOPIC_PREFIX"),
			},
		),
	)
	ids.absent(t, "Redis", testenv.RedisText(t, i.setting("ADNET_REDIS_ADDR"), i.setting("ADNET_REDIS_PREFIX")))
	ingress.End(t)
	consumers.End(t)
	ids.absent(t, "PostgreSQL", testenv.PostgresText(t, i.setting("ADNET_POSTGRES_OWNER_URL")))
	ids.absent(t, "the log of ingress", ingress.Log.String())
	ids.absent(t, "the log of consumers", consumers.Log.String())
}

// clickhouse opens the analytics store; rows is every row of a table, as text.
func (i *installation) clickhouse() (store *clickhouse.Store, rows func(table string) string) {
	store, err := clickhouse.Open(i.t.Context(), clickhouse.Config{URL: i.setting("ADNET_CLICKHOUSE_URL")})
	require.NoError(i.t, err)
	i.t.Cleanup(func() { require.NoError(i.t, store.Close()) })
	return store, func(table string) string {
		var lines []struct {
			Line string `ch:"line"`
		}
		require.NoError(
			i.t, store.Select(i.t.Context(), &lines, "SELECT formatRow('JSONEachRow', *) AS line FROM "+table, nil),
		)
		var all strings.Builder
		for _, l := range lines {
			all.WriteString(l.Line)
		}
		return all.String()
	}
}
