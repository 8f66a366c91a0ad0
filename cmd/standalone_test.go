package cmd_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/cmd"
	"adnet/cmd/load/visitor"
	"adnet/internal/testenv"
)

// program is a run of cmd.Main, the same code as the binary's.
type program struct {
	out, err *testenv.Output
	stop     context.CancelFunc
	status   chan int
}

func start(t *testing.T, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &program{out: new(testenv.Output), err: new(testenv.Output), stop: cancel, status: make(chan int, 1)}
	go func() { p.status <- cmd.Main(ctx, cmd.Invocation{Args: args, Stdout: p.out, Stderr: p.err}) }()
	t.Cleanup(cancel)
	return p
}

// ends waits for the exit status.
func (p *program) ends(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case status := <-p.status:
		return status
	case <-time.After(within):
		t.Fatalf("still running after %s\n%s", within, p.err)
		return 0
	}
}

// says waits until standard output holds text.
func (p *program) says(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(p.out.String(), text) }, 30*time.Second,
		20*time.Millisecond,
		"stdout: %s\nstderr: %s", p.out, p.err)
}

func standalone(t *testing.T, args ...string) (p *program, base, admin string) {
	t.Helper()
	httpAddr, adminAddr := testenv.Free(t), testenv.Free(t)
	p = start(
		t,
		append(
			[]string{"standalone", "--http-addr", httpAddr, "--admin-addr", adminAddr, "--log-level", "warn"}, args...,
		)...,
	)
	p.says(t, "http://"+httpAddr)
	return p, "http://" + httpAddr, "http://" + adminAddr
}

// TestGreetingLinesWorkWhenPasted plays the newcomer: the four printed lines go to a shell as they
// are, and three seconds later the impression and its Credit are in the stats that the last line
// shows.
func TestGreetingLinesWorkWhenPasted(t *testing.T) {
	p, base, admin := standalone(t, "--demo-requests=0") // so that the stats have these events alone
	p.says(t, "Ctrl-C")
	require.Positive(t, metric(t, admin, `adnet_standing_votes{side="advertiser"}`),
		"the demo's advertisers vote before the greeting, not at the next computation")
	var lines []string
	for line := range strings.Lines(p.out.String()) {
		if strings.Contains(line, "curl ") {
			lines = append(lines, line)
		}
	}
	require.Len(t, lines, 4)
	out, err := exec.Command("sh", "-c", strings.Join(lines, "")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	text := string(out)
	require.Contains(t, text, `"impression_url":"`+base+`/api/track?`)
	require.Contains(t, text, "impression: HTTP 200")
	require.Contains(t, text, "click: HTTP 302 to https://")
	require.Contains(t, text, `"impressions":1,"clicks":1`)
	require.Contains(t, text, `"credits":1`)

	requireVerified(t, admin)
	p.stop()
	require.Zero(t, p.ends(t, 5*time.Second), "Ctrl-C stops it cleanly: %s", p.err)
	_, err = net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	require.Error(t, err, "the port is free again")
}

func requireVerified(t *testing.T, admin string) {
	t.Helper()
	var body []byte
	require.Eventually(t, func() bool {
		reply, err := http.Get(admin + "/internal/verify")
		if err != nil {
			return false
		}
		defer reply.Body.Close()
		body, _ = io.ReadAll(reply.Body)
		return reply.StatusCode == http.StatusOK
	}, 10*time.Second, 100*time.Millisecond)
	var answer struct {
		OK     bool `json:"ok"`
		Checks []struct {
			Name string `json:"name"`
			OK   bool   `json:"ok"`
		} `json:"checks"`
	}
	require.NoError(t, json.Unmarshal(body, &answer))
	require.True(t, answer.OK)
	require.Greater(t, len(answer.Checks), 15)
}

func TestBadStartsSayWhyInOneLine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	addr := taken.Addr().String()
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"port taken": {
			[]string{"standalone", "--http-addr", addr, "--admin-addr", "127.0.0.1:0", "--demo=off"},
			[]string{addr, "ADNET_HTTP_ADDR"},
		},
		"admin port taken": {
			[]string{"standalone", "--http-addr", "127.0.0.1:0", "--admin-addr", addr, "--demo=off"},
			[]string{addr, "ADNET_ADMIN_ADDR"},
		},
		"bad enum": {
			[]string{"standalone", "--unsigned-beacons=perhaps"}, []string{"unsigned-beacons", "perhaps"},
		},
		"bad URL": {
			[]string{"standalone", "--admin-addr", "127.0.0.1:0", "--base-url=ads.example"}, []string{"ADNET_BASE_URL"},
		},
		"bad amount": {
			[]string{"standalone", "--admin-addr", "127.0.0.1:0", "--credit-value-usd=-1"},
			[]string{"ADNET_CREDIT_VALUE_USD"},
		},
		"bad keys": {
			[]string{"standalone", "--admin-addr", "127.0.0.1:0", "--token-keys=k1:short"},
			[]string{"ADNET_TOKEN_KEYS", "k1"},
		},
		"bad trades": {
			[]string{"standalone", "--admin-addr", "127.0.0.1:0", "--trades=wine=off"},
			[]string{"ADNET_TRADES", "wine=off", "alcohol"},
		},
		"half an admin": {
			[]string{"standalone", "--http-addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0", "--admin-email=a@b.example"},
			[]string{"ADNET_ADMIN_PASSWORD"},
		},
		"unknown command": {[]string{"serve"}, []string{"serve"}},
		"no server": {
			[]string{"verify", "--postgres-url=postgres://u:hunter2@127.0.0.1:1/x"}, []string{"ADNET_POSTGRES_URL"},
		},
		"no mail server": {
			[]string{
				"ingress", "--token-keys=k1:" + strings.Repeat("A", 43) + "=",
				"--session-keys=k1:" + strings.Repeat("A", 43) + "=",
			},
			[]string{"ADNET_VERIFY_EMAIL", "ADNET_SMTP_HOST"},
		},
		"no keys": {[]string{"ingress"}, []string{"ADNET_TOKEN_KEYS"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, c.args...)
			require.Equal(t, 1, p.ends(t, 60*time.Second))
			reply := strings.TrimSpace(p.err.String())
			require.Equal(t, 1, len(strings.Split(reply, "\n")), reply)
			for _, word := range c.says {
				require.Contains(t, reply, word)
			}
			require.NotContains(t, reply, "hunter2")
		})
	}
}

func TestPrintConfigShowsSettingsAndNoSecrets(t *testing.T) {
	for _, setting := range os.Environ() {
		if name, _, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "ADNET_") {
			t.Setenv(name, "") // remembers it for after the test
			require.NoError(t, os.Unsetenv(name))
		}
	}
	t.Setenv("ADNET_POSTGRES_URL", "postgres://ad:hunter2@db.example/adnet")
	t.Setenv("ADNET_TOKEN_KEYS", "k1:"+strings.Repeat("hunter2", 7))
	t.Setenv("ADNET_ADMIN_PASSWORD", "hunter2")
	t.Setenv("ADNET_REDIS_PASSWORD", "hunter2")
	p := start(t, "ingress", "--print-config")
	require.Zero(t, p.ends(t, 5*time.Second), p.err)
	require.NotContains(t, p.out.String(), "hunter2")
	for _, want := range []string{
		"ADNET_HTTP_ADDR=127.0.0.1:8080", "ADNET_UNSIGNED_BEACONS=record", "ADNET_VERIFY_EMAIL=required",
		"ADNET_PREPAID=required", "db.example/adnet",
	} {
		require.Contains(t, p.out.String(), want)
	}
	p = start(t, "standalone", "--print-config")
	require.Zero(t, p.ends(t, 5*time.Second))
	for _, want := range []string{
		"ADNET_UNSIGNED_BEACONS=bill", "ADNET_VERIFY_EMAIL=off", "ADNET_PREPAID=off", "ADNET_DEMO=still",
	} {
		require.Contains(t, p.out.String(), want)
	}
}

// TestPauseStopsDeliveryAndCharging pauses a campaign under requests: after the reply to the pause
// no request is served the campaign, and an impression of an ad served before is hosted but not
// charged.
func TestPauseStopsDeliveryAndCharging(t *testing.T) {
	_, base, admin := standalone(t, "--demo=off", "--click-min-delay=0")
	api := client{t, base}
	owner := api.register("owner@shop.example")
	publisher := api.register("pub@bot.example")
	key := api.do("POST", "/api/keys", publisher.token, `{"kind":"publisher","name":"bot"}`, 201)["key"].(string)
	created := api.do("POST", "/api/campaigns?action=create", owner.token,
		`{"advertiser_id":"`+owner.id+`","headline":"Chess lessons",
		"cta_url":"https://chess.example.com/start","bid_amount":100,"target_intent_tokens":["chess"]}`, 201)
	id := created["campaign"].(map[string]any)["id"].(string)
	require.Equal(t, true, created["auto_approved"])

	var ad map[string]any
	require.Eventually(t, func() bool {
		ad, _ = api.do("POST", "/v1/ad-request", key, `{"context":"teach me chess"}`, 200)["ad"].(map[string]any)
		return ad != nil
	}, 5*time.Second, 20*time.Millisecond)
	api.get(ad["impression_url"].(string), 200)
	served := api.do("POST", "/v1/ad-request", key, `{"context":"teach me chess"}`, 200)["ad"].(map[string]any)

	paused := api.do("POST", "/api/campaigns?action=pause", owner.token, `{"id":"`+id+`"}`, 200)
	require.Equal(t, true, paused["propagated"])
	nothing := api.do("POST", "/v1/ad-request", key, `{"context":"teach me chess"}`, 200)
	require.Nil(t, nothing["ad"])
	require.Equal(t, "no_campaigns", nothing["reason"])
	api.get(served["impression_url"].(string), 200)
	api.get(served["click_url"].(string), 302)

	var stats map[string]any
	require.Eventually(t, func() bool {
		stats = api.do(
			"GET", "/api/stats?type=campaign&campaign_id="+id+"&breakdown=integration_method", owner.token, "", 200,
		)
		return stats["impressions"] == 2.0 && stats["clicks"] == 1.0
	}, 10*time.Second, 100*time.Millisecond)
	require.Positive(t, stats["spend_usd"])
	require.LessOrEqual(t, stats["spend_usd"], 0.1, "one impression, at most at the stated bid")
	require.Equal(t, 1.0, stats["billed"])
	require.Equal(t, 1.0, stats["credits"], "a paused campaign mints nothing")
	require.Equal(t, "rest", stats["breakdown"].([]any)[0].(map[string]any)["key"])
	requireVerified(t, admin)
}

// client is a user of the API.
type client struct {
	t    testing.TB
	base string
}

type login struct{ token, id string }

func (c client) register(email string) login {
	c.t.Helper()
	reply := c.do("POST", "/api/auth?action=register", "", `{"email":"`+email+`","password":"correct horse"}`, 201)
	return login{token: reply["token"].(string), id: reply["user"].(map[string]any)["id"].(string)}
}

// readers follow no redirect.
var readers = visitor.NewHTTP(time.Minute)

// send makes one request, as a server unless r has an agent.
func (c client) send(r visitor.Request) visitor.Reply {
	c.t.Helper()
	as := visitor.Client{Base: visitor.Of(c.base), HTTP: readers, Agent: "Go-http-client/1.1"}
	reply, err := as.Send(context.Background(), r)
	require.NoError(c.t, err)
	return reply
}

// object requires a status, and returns the object of a reply.
func (c client) object(r visitor.Request, status int) (out map[string]any) {
	c.t.Helper()
	reply := c.send(r)
	require.Equal(c.t, status, reply.Status, "%s %s: %s", r.Method, r.Path, reply.Body)
	require.NoError(c.t, json.Unmarshal(reply.Body, &out), "%s", reply.Body)
	return out
}

func (c client) do(method, path, bearer, body string, status int) map[string]any {
	c.t.Helper()
	return c.object(visitor.Request{Method: method, Path: path, Bearer: bearer, Body: []byte(body)}, status)
}

func (c client) get(url string, status int) {
	c.t.Helper()
	c.getAs(url, "Mozilla/5.0", status)
}

// getAs follows a link of an ad as the user agent does.
func (c client) getAs(url, agent string, status int) {
	c.t.Helper()
	require.Equal(c.t, status, c.send(visitor.Request{Method: "GET", Path: url, Agent: agent}).Status, url)
}
