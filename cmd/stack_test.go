package cmd_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/cmd/load"
	"adnet/internal/demo"
	"adnet/internal/testenv"
)

// installation is adnet on real servers, with its own databases, topics and keys.
type installation struct {
	t   testing.TB
	bin string
	env []string
}

func install(t testing.TB) *installation {
	t.Helper()
	prefix := "e2e-" + hex.EncodeToString(testenv.Random(t, 4))
	owner := testenv.Postgres(t)
	var brokers []string
	brokers = append(brokers, testenv.Kafka(t)...)
	return &installation{t: t, bin: testenv.Build(t), env: append(os.Environ(),
		"ADNET_POSTGRES_URL="+testenv.PostgresApp(t, owner), "ADNET_POSTGRES_OWNER_URL="+owner,
		"ADNET_CLICKHOUSE_URL="+testenv.ClickHouse(t),
		"ADNET_REDIS_ADDR="+testenv.Redis(t), "ADNET_REDIS_PREFIX="+prefix,
		"ADNET_KAFKA_BROKERS="+strings.Join(brokers, ","), "ADNET_KAFKA_TOPIC_PREFIX="+prefix+".",
		"ADNET_KAFKA_PARTITIONS=4",
		"ADNET_TOKEN_KEYS="+testenv.Key(t),
		"ADNET_SESSION_KEYS="+testenv.Key(t),
		"ADNET_ADMIN_EMAIL=admin@e2e.example", "ADNET_ADMIN_PASSWORD=e2e admin password",
		"ADNET_VERIFY_EMAIL=off", "ADNET_PREPAID=off", "ADNET_UNREVIEWED=everywhere", "ADNET_LOG_LEVEL=warn",
		// The load client clicks from one address as fast as it can; TestInvalidTrafficOnTwoNodes
		// has the rules on.
		"ADNET_CLICK_MIN_DELAY=0", "ADNET_CLICK_RATES=off",
	)}
}

// run runs a command to its end.
func (i *installation) run(args ...string) (stdout string, err error) {
	i.t.Helper()
	command := exec.Command(i.bin, args...)
	command.Env = i.env
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err = command.Run()
	i.t.Logf("adnet %s\n%s%s", strings.Join(args, " "), out.String(), errs.String())
	return out.String(), err
}

// serve starts a role and waits until it is ready.
func (i *installation) serve(role string) *testenv.Service {
	i.t.Helper()
	return testenv.Serve(i.t, i.bin, role, i.env)
}

// TestRealStack follows impressions through PostgreSQL, Redis, Kafka and ClickHouse with the real
// binary: all demo campaigns and contexts, a tenth of the beacons fired twice, a consumers process
// killed in the middle, and every promise checked at the end.
func TestRealStack(t *testing.T) {
	i := install(t)
	_, err := i.run("migrate")
	require.NoError(t, err)
	_, err = i.run("migrate")
	require.NoError(t, err, "migrate can be repeated")
	consumers := i.serve("consumers")
	ingress, second := i.serve("ingress"), i.serve("ingress")

	// One process is killed while beacons arrive; another takes over.
	killed := make(chan *testenv.Service, 1)
	go func() {
		time.Sleep(4 * time.Second)
		_ = consumers.Process.Kill()
		killed <- i.serve("consumers")
	}()
	text, err := i.run("load", "--url", ingress.Base, "--campaigns", "demo", "--contexts", "demo", "--duplicates",
		"0.1",
		"--clicks", "0.2", "--conversions", "0.05", "--rate", "80", "--settle-wait", "60s", "--json")
	require.NoError(t, err)
	consumers = <-killed

	var report load.Report
	require.NoError(t, json.Unmarshal([]byte(text), &report))
	campaigns, err := demo.Campaigns()
	require.NoError(t, err)
	requests, err := demo.Requests()
	require.NoError(t, err)
	require.EqualValues(t, len(campaigns), report.Campaigns.Imported)
	require.EqualValues(t, len(requests), report.Requests)
	require.Zero(t, report.Failed)
	require.Positive(t, report.Filled)
	require.Equal(t, report.Filled, report.Impressions.Fired)
	require.InDelta(t, 0.1*float64(report.Filled), float64(report.Impressions.Repeated), 0.05*float64(report.Filled))
	require.True(t, report.Settled, "stats account for every answered beacon: %d missing", report.Missing)
	extra := report.Stats.Duplicates - report.DuplicatesSent
	require.GreaterOrEqual(t, extra, int64(0), "every repeat was refused")
	require.LessOrEqual(t, extra, spooled(t, ingress, second), "and nothing else")
	require.Equal(t, report.Impressions.Fired, report.Stats.Impressions)
	require.Equal(t, report.Impressions.Fired, report.Stats.Credits)
	require.Positive(t, report.Stats.Billed)

	checks, err := i.run("verify")
	require.NoError(t, err)
	require.Contains(t, checks, "all clean")
	rolled, err := i.run("rollup", "--date", time.Now().UTC().Format(time.DateOnly))
	require.NoError(t, err)
	require.Regexp(t, `: [1-9][0-9]* rows`, rolled)
	t.Run("pause reaches the other node", func(t *testing.T) { pauseReachesTheOtherNode(t, ingress, second) })
	t.Run("a refused session is refused on the other node", func(t *testing.T) {
		refusedOnTheOtherNode(t, ingress, second)
	})
	ingress.End(t)
	second.End(t)
	consumers.End(t)
	checks, err = i.run("verify")
	require.NoError(t, err)
	require.Contains(t, checks, "all clean")
}

// refusedOnTheOtherNode has a person in need ask one node: within 2 s the other one shows that
// session no ad either, and every other session as before.
func refusedOnTheOtherNode(t *testing.T, here, there *testenv.Service) {
	api, other := client{t, here.Base}, client{t, there.Base}
	publisher := api.register("need-pub@e2e.example")
	key := api.do("POST", "/api/keys", publisher.token, `{"kind":"publisher","name":"bot"}`, 201)["key"].(string)
	need := api.do("POST", "/v1/ad-request", key, `{"context":"I want to kill myself tonight","session_id":"s1"}`, 200)
	require.Equal(t, "unsuitable", need["reason"])
	reason := func(session string) any {
		return other.do("POST", "/v1/ad-request", key,
			`{"context":"what is the weather tomorrow","session_id":"`+session+`"}`, 200)["reason"]
	}
	require.Eventually(t, func() bool { return reason("s1") == "unsuitable" }, 2*time.Second, 20*time.Millisecond)
	require.NotEqual(t, "unsuitable", reason("s2"))
}

// pauseReachesTheOtherNode pauses on one node while the other serves: after the reply that node
// does not serve the campaign either.
func pauseReachesTheOtherNode(t *testing.T, here, there *testenv.Service) {
	api, other := client{t, here.Base}, client{t, there.Base}
	owner, publisher := api.register("pause-owner@e2e.example"), api.register("pause-pub@e2e.example")
	key := api.do("POST", "/api/keys", publisher.token, `{"kind":"publisher","name":"bot"}`, 201)["key"].(string)
	created := api.do("POST", "/api/campaigns", owner.token,
		`{"advertiser_id":"`+owner.id+`","headline":"Zyzzyva field guide",
		"cta_url":"https://zyzzyva.example.com/","pacing":"asap","target_intent_tokens":["zyzzyva"]}`, 201)
	id := created["campaign"].(map[string]any)["id"].(string)
	fills := func() bool {
		ad, _ := other.do("POST", "/v1/ad-request", key, `{"context":"zyzzyva"}`, 200)["ad"].(map[string]any)
		return ad != nil && ad["ad_id"] == id
	}
	require.Eventually(t, fills, 5*time.Second, 20*time.Millisecond)
	for range 20 {
		require.Equal(
			t, true, api.do("POST", "/api/campaigns?action=pause", owner.token, `{"id":"`+id+`"}`, 200)["propagated"],
		)
		require.False(t, fills(), "a paused campaign was served by the other node")
		require.Equal(
			t, true, api.do("POST", "/api/campaigns?action=resume", owner.token, `{"id":"`+id+`"}`, 200)["propagated"],
		)
		// The promise is about pauses. A node that waits for a budget on a busy machine may skip an
		// ad.
		require.Eventually(t, fills, 5*time.Second, 20*time.Millisecond, "a resumed campaign is not served")
	}
}

// TestRolesStartWithoutClickHouse starts and stops both roles during an outage of ClickHouse: they
// must be replaceable then.
func TestRolesStartWithoutClickHouse(t *testing.T) {
	i := install(t)
	_, err := i.run("migrate")
	require.NoError(t, err)
	i.env = append(i.env, "ADNET_CLICKHOUSE_URL=clickhouse://"+testenv.Free(t)+"/adnet")
	i.serve("consumers").End(t)
	i.env = append(i.env, "ADNET_HTTP_LAMEDUCK=1h", "ADNET_STOP_BUDGET=2h")
	ingress := i.serve("ingress")
	require.NoError(t, ingress.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool {
		reply, err := http.Get(ingress.Base + "/readyz")
		require.NoError(t, err, "it serves until balancers have noticed")
		require.NoError(t, reply.Body.Close())
		return reply.StatusCode == http.StatusServiceUnavailable
	}, time.Minute, 10*time.Millisecond)
	ingress.End(t) // a second signal skips the rest of the hour
}

// TestUserCommands checks the operator's commands for accounts, which the API must not offer.
func TestUserCommands(t *testing.T) {
	i := install(t)
	_, err := i.run("migrate")
	require.NoError(t, err)
	i.env = append(i.env, "ADNET_USER_PASSWORD=first password")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"create", "Op@e2e.example", "--role", "admin"}, "created op@e2e.example: role admin"},
		{[]string{"create", "pub@e2e.example"}, "role advertiser"},
		{[]string{"promote", "pub@e2e.example"}, "role admin"},
		{[]string{"promote", "pub@e2e.example", "--role", "advertiser"}, "role advertiser"},
		{[]string{"disable", "pub@e2e.example"}, "disabled true"},
		{[]string{"enable", "pub@e2e.example"}, "disabled false"},
		{[]string{"password", "pub@e2e.example"}, "earlier logins have ended"},
		{[]string{"keys", "pub@e2e.example", "--issue", "seat", "--name", "dsp"}, "seat_live_"},
	} {
		out, err := i.run(append([]string{"user"}, c.args...)...)
		require.NoError(t, err)
		require.Contains(t, out, c.says)
	}
	listed, err := i.run("user", "keys", "pub@e2e.example")
	require.NoError(t, err)
	id := regexp.MustCompile(`[0-9a-f-]{36}`).FindString(listed)
	require.NotEmpty(t, id)
	listed, err = i.run("user", "keys", "pub@e2e.example", "--revoke", id)
	require.NoError(t, err)
	require.NotContains(t, listed, id)
	for _, wrong := range [][]string{
		{"create", "pub@e2e.example"}, {"create", "no-mail"}, {"promote", "nobody@e2e.example"},
		{"keys", "pub@e2e.example", "--revoke", "x"}, {"keys", "nobody@e2e.example"},
	} {
		_, err := i.run(append([]string{"user"}, wrong...)...)
		require.Error(t, err, "%v", wrong)
	}
}

// TestVerifyFindsADifference corrupts the ledger behind the service's back.
func TestVerifyFindsADifference(t *testing.T) {
	i := install(t)
	_, err := i.run("migrate")
	require.NoError(t, err)
	_, err = i.run("verify")
	require.NoError(t, err, "an empty installation is clean")
	url := ""
	for _, setting := range i.env {
		if value, ok := strings.CutPrefix(setting, "ADNET_POSTGRES_URL="); ok {
			url = value
		}
	}
	testenv.Exec(t, url, `INSERT INTO balance (account, asset, amount) VALUES ('house:revenue', 'USD', 1)`)
	out, err := i.run("verify", "--wait", "0s")
	require.Error(t, err)
	require.Contains(t, out, "FAIL")
}

// spooled is the number of events that the nodes wrote to disk because Kafka was slow or away. Each
// of them may be on the log twice and be refused once.
func spooled(t testing.TB, nodes ...*testenv.Service) (n int64) {
	t.Helper()
	for _, node := range nodes {
		n += int64(metric(t, node.Admin, "adnet_spool_records_total"))
	}
	return n
}

// metric reads one value of a process's metrics; -1 while it cannot be read.
func metric(t testing.TB, admin, name string) float64 {
	t.Helper()
	reply, err := http.Get(admin + "/metrics")
	if err != nil {
		return -1
	}
	defer reply.Body.Close()
	lines := bufio.NewScanner(reply.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			number, err := strconv.ParseFloat(value, 64)
			require.NoError(t, err)
			return number
		}
	}
	return -1
}

func quote(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
