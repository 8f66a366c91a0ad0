package cmd

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/cmd/backends"
	"adnet/cmd/cli"
	"adnet/ingress/httpapi"
	"adnet/ingress/httpapi/apitest"
	"adnet/internal/account"
	"adnet/internal/campaign/subject"
	"adnet/internal/day"
	"adnet/internal/report"
	"adnet/internal/store/postgres"
	"adnet/internal/testenv"
	"adnet/internal/token"
	"adnet/schemas/openapi"
)

// wired is all of in-memory mode as the command assembles it, so that these tests cover every
// present and future route. It runs over the broker and the cache of in-memory mode.
type wired struct {
	*ingressRole
	contract *apitest.Contract
	bearer   map[string]string // by security scheme
	user     account.User
	campaign string // of the user's
	callers  int
}

func wire(t *testing.T, change func(*backends.All), flags ...string) *wired {
	t.Helper()
	var line commands
	parser, err := kong.New(&line)
	require.NoError(t, err)
	_, err = parser.Parse(append([]string{
		"standalone", "--demo", "off", "--http-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--http-drain",
		"1s",
	}, flags...))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	created, err := line.Standalone.build(
		cli.Process{Ctx: ctx, Stdout: io.Discard, Stderr: io.Discard, Log: slog.New(slog.DiscardHandler)}, change,
	)
	require.NoError(t, err)
	var failure error
	ended := make(chan struct{})
	go func() {
		failure = created.run()
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		created.close()
		require.NoError(t, failure)
	})
	select {
	case <-created.role.http.Ready():
	case <-ended:
		require.NoError(t, failure)
	}
	w := &wired{ingressRole: created.role, contract: apitest.Load(t), bearer: map[string]string{}}
	w.login(t)
	return w
}

// open opens a session of the administrator.
func (w *wired) open(t *testing.T) {
	t.Helper()
	user, err := w.Stores.Accounts.User(t.Context(), w.user.ID)
	require.NoError(t, err)
	session := account.Session{
		ID: uuid.New(), UserID: user.ID, Version: user.TokenVersion, CreatedAt: time.Now(),
		ExpiresAt: time.Now().Add(token.SessionLife),
	}
	require.NoError(t, w.Stores.Logins.CreateSession(t.Context(), session))
	w.bearer["userToken"], _, err = w.inputs.Sessions.Issue(token.Claims{
		UserID: user.ID, SessionID: session.ID, Role: string(user.Role), Email: user.Email, Version: user.TokenVersion,
	}, time.Now())
	require.NoError(t, err)
}

// login makes an administrator, who may call every route, with a key of each kind.
func (w *wired) login(t *testing.T) {
	t.Helper()
	user, err := w.accounts.CreateAdmin(t.Context(), "admin@example.com", "a long password")
	require.NoError(t, err)
	w.user = user
	w.open(t)
	for scheme, kind := range map[string]account.KeyKind{
		"publisherKey": account.KindPublisher, "seatKey": account.KindSeat, "seatPathKey": account.KindSeatPath,
	} {
		key, err := w.accounts.CreateKey(t.Context(), user, account.KeyRequest{Kind: kind})
		require.NoError(t, err)
		w.bearer[scheme] = key.Plain
	}
	reply := w.send(t, request{method: "POST", path: "/api/campaigns", scheme: "userToken", body: fmt.Sprintf(
		`{"advertiser_id":%q,"headline":"Query a database","cta_url":"https://example.com/"}`, user.ID)})
	require.Equal(t, 201, reply.Code, reply.Body)
	var created struct {
		Campaign struct {
			ID string `json:"id"`
		} `json:"campaign"`
	}
	require.NoError(t, json.Unmarshal(reply.Body.Bytes(), &created))
	w.campaign = created.Campaign.ID
}

type request struct {
	method, path, scheme, body string
	header                     map[string]string
}

// send calls the role from a fresh address, so that the route answers and not the limits by
// address.
func (w *wired) send(t *testing.T, q request) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(q.method, q.path, strings.NewReader(q.body))
	w.callers++
	r.RemoteAddr = fmt.Sprintf("10.%d.%d.1:4000", w.callers/250%250, w.callers%250)
	if q.scheme != "" {
		require.NotEmpty(t, w.bearer[q.scheme], "this test has no credentials for %s", q.scheme)
		r.Header.Set("Authorization", "Bearer "+w.bearer[q.scheme])
	}
	if q.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range q.header {
		r.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	w.http.ServeHTTP(recorder, r)
	return recorder
}

// endpoint is one logical endpoint: an operation and a value of its selector.
type endpoint struct {
	name         string
	method, path string
	scheme       string
	locked       bool // nothing happens without credentials
	takesJSON    bool
}

var pathParameter = regexp.MustCompile(`\{\w+\}`)

// endpoints lists all mounted endpoints by the route table. One that openapi.json does not describe
// fails the test.
func (w *wired) endpoints(t *testing.T) (all []endpoint) {
	t.Helper()
	documented := map[string]apitest.Operation{}
	for _, op := range w.contract.Describe() {
		documented[op.Method+" "+op.Path] = op
	}
	colon := regexp.MustCompile(`:(\w+)`)
	// A key in the path is a credential; the other parameters are ids.
	inPath := strings.NewReplacer("/rtb/{key}", "/rtb/"+w.bearer["seatPathKey"])
	for _, route := range w.http.Routes() {
		name := route.Method + " " + colon.ReplaceAllString(route.Path, "{$1}")
		op, known := documented[name]
		require.True(t, known, "%s is not in openapi.json", name)
		values := []string{route.Value}
		if route.Param == "" && len(op.Values) > 0 {
			values = op.Values // chosen by the handler
		}
		for _, value := range values {
			e := endpoint{
				name: name, method: route.Method,
				path:      pathParameter.ReplaceAllString(inPath.Replace(op.Path), w.campaign),
				takesJSON: op.Body && value != "engine-status", // which has none
				scheme:    schemeOf(route.Policy.Auth),
				locked:    route.Policy.Auth&(httpapi.Anyone|httpapi.SeatPathKey) == 0,
			}
			if value != "" {
				e.name += " " + value
				e.path += "?" + op.Selector + "=" + value
			}
			all = append(all, e)
		}
	}
	require.Greater(t, len(all), 30)
	return all
}

// schemeOf is the security scheme that a caller of a route uses here. A token does no harm where
// none is needed.
func schemeOf(callers httpapi.Access) string {
	switch {
	case callers&(httpapi.Anyone|httpapi.UserToken|httpapi.AdminToken) != 0:
		return "userToken"
	case callers&httpapi.PublisherKey != 0:
		return "publisherKey"
	}
	return "seatKey"
}

// refusal fails unless the answer is an error in the form of its wire, without internal details.
func refusal(t *testing.T, e endpoint, reply *httptest.ResponseRecorder) {
	t.Helper()
	text := reply.Body.String()
	if reply.Code < 400 || e.method == "HEAD" || len(text) == 0 {
		return
	}
	for _, word := range internals {
		require.NotContains(t, strings.ToLower(text), word, e.name)
	}
	require.True(t, jsontext.Value(text).IsValid() && text[0] == '{', "%s answered %d %s", e.name, reply.Code, text)
}

// internals lists what must never stand in an error: words of SQL, of drivers, of Go, and
// addresses.
var internals = []string{
	"sqlstate", "select ", "insert into", "relation", "pgx", "pgconn", "postgres", "clickhouse", "redis", "kafka",
	"kgo",
	"goroutine", "panic", "runtime error", ".go:", "adnet/", "/work", "dial tcp", "connection refused", "127.0.0.1",
	"user=", "unknown table", "gin-gonic",
}

// nested returns n nested arrays.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// SECURITY.md 23: no text causes a 500, and every route that takes JSON refuses invalid JSON.
func TestHostileJSON(t *testing.T) {
	w := wire(t, nil)
	fields := bodyFields(t)
	tried := 0
	for _, e := range w.endpoints(t) {
		if !e.takesJSON {
			continue
		}
		tried++
		t.Run(e.name, func(t *testing.T) {
			w.open(t) // another endpoint may have ended the session
			for what, body := range map[string]string{
				"10,001 levels":          `{"x":` + nested(10_001) + `}`,
				"100,001 brackets":       strings.Repeat("[", 30_000),
				"levels of objects":      strings.Repeat(`{"a":`, 10_001) + "1" + strings.Repeat("}", 10_001),
				"NaN":                    `{"x":NaN}`,
				"Infinity":               `{"x":-Infinity}`,
				"cut":                    `{"x":"`,
				"two values":             `{} {}`,
				"raw NUL":                "{\"x\":\"a\x00b\"}",
				"lone quote":             `"`,
				"bytes":                  "\xff\xfe{}",
				"comment":                `{/* */}`,
				"single quotes":          `{'x':1}`,
				"text":                   `hello`,
				"leading zero":           `{"x":01}`,
				"NUL name and duplicate": `{"a":1,"a":2`,
			} {
				reply := w.send(t, request{method: e.method, path: e.path, scheme: e.scheme, body: body})
				want := []int{400, 410} // retired whatever the body is
				if len(body) > 32<<10 {
					want = append(want, 413)
				}
				require.Contains(t, want, reply.Code, "%s: %s", what, reply.Body)
				refusal(t, e, reply)
			}
			for what, body := range map[string]string{
				"1e400":          `{"x":1e400}`,
				"NUL":            `{"x":"a\u0000b","id":"\u0000"}`,
				"lone surrogate": `{"x":"\ud800"}`,
				"invalid UTF-8":  "{\"x\":\"\xff\"}",
				"duplicate":      `{"x":1,"x":2}`,
				"null":           `null`, "number": `1`, "array": `[]`, "batch": `[{},{}]`, "empty object": `{}`,
				"empty":        ` `,
				"9,999 levels": `{"x":` + nested(9_990) + `}`,
			} {
				reply := w.send(t, request{method: e.method, path: e.path, scheme: e.scheme, body: body})
				require.Less(t, reply.Code, 500, "%s: %s", what, reply.Body)
				refusal(t, e, reply)
			}
			for name := range fields[e.method+" "+templateOf(e)] {
				for _, value := range []string{
					`1e400`, `-1e400`, `1e-400`, `"a\u0000b"`, `"\ud800"`, `{}`, `[[]]`, `null`, `true`, `-1`, `1e18`,
					`0.1`, `"` + strings.Repeat("x", 20_000) + `"`,
				} {
					reply := w.send(
						t,
						request{
							method: e.method, path: e.path, scheme: e.scheme, body: `{"` + name + `":` + value + `}`,
						},
					)
					require.Less(t, reply.Code, 500, "%s: %s: %s", name, value, reply.Body)
					refusal(t, e, reply)
				}
			}
		})
	}
	require.Greater(t, tried, 12)
}

// readsTwice lists the routes about money and accounts, which refuse a field that occurs twice or
// in another case.
func readsTwice(path string) bool {
	return slices.ContainsFunc(
		[]string{"/api/auth", "/api/keys", "/api/campaigns", "/api/billing", "/v1/"},
		func(p string) bool { return strings.HasPrefix(path, p) },
	)
}

// SECURITY.md 23, the part on money and accounts: two readers of one body never see different
// amounts.
func TestFieldsThatOccurTwice(t *testing.T) {
	w := wire(t, nil)
	fields := bodyFields(t)
	tried := 0
	for _, e := range w.endpoints(t) {
		if !e.takesJSON || !readsTwice(e.path) || strings.Contains(e.path, "webhook") ||
			strings.Contains(e.path, "payout") {
			continue
		}
		names := fields[e.method+" "+templateOf(e)]
		require.NotEmpty(t, names, e.name)
		for name := range names {
			tried++
			reply := w.send(
				t,
				request{
					method: e.method, path: e.path, scheme: e.scheme, body: `{"` + name + `":"1","` + name + `":"1"}`,
				},
			)
			require.Equal(t, 400, reply.Code, "%s: %s twice: %s", e.name, name, reply.Body)
		}
	}
	require.Greater(t, tried, 50)
}

func templateOf(e endpoint) string {
	_, rest, _ := strings.Cut(e.name, " ")
	path, _, _ := strings.Cut(rest, " ")
	return path
}

// bodyFields returns the top-level fields of each operation's body, from openapi.json.
func bodyFields(t *testing.T) map[string]map[string]bool {
	t.Helper()
	var doc map[string]any
	require.NoError(t, json.Unmarshal(openapi.Document, &doc))
	all := map[string]map[string]bool{}
	for path, item := range doc["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			if op, is := op.(map[string]any); is {
				names := map[string]bool{}
				collect(doc, op["requestBody"], names, 0)
				all[strings.ToUpper(method)+" "+path] = names
			}
		}
	}
	return all
}

// collect finds the properties of a schema, or of a request body, through references and unions.
func collect(doc map[string]any, n any, names map[string]bool, depth int) {
	object, is := n.(map[string]any)
	if !is || depth > 12 {
		return
	}
	if ref, is := object["$ref"].(string); is {
		var target any = doc
		for _, part := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			target = target.(map[string]any)[part]
		}
		collect(doc, target, names, depth+1)
	}
	if properties, is := object["properties"].(map[string]any); is {
		for name := range properties {
			names[name] = true
		}
	}
	for _, union := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := object[union].([]any)
		for _, part := range list {
			collect(doc, part, names, depth+1)
		}
	}
	content, _ := object["content"].(map[string]any)
	for _, media := range content {
		collect(doc, media.(map[string]any)["schema"], names, depth+1)
	}
}

// SECURITY.md 22: a body over the limit gets 413, and 100 KB of gzip that expand to 100 MiB are
// stopped early on routes that take gzip; to the other routes the bytes are not valid JSON.
func TestLargeBodies(t *testing.T) {
	w := wire(t, nil)
	plain := `{"x":"` + strings.Repeat("a", 1<<20) + `"}`
	var bomb bytes.Buffer
	packer, err := gzip.NewWriterLevel(&bomb, gzip.BestCompression)
	require.NoError(t, err)
	_, err = packer.Write([]byte(`{"x":"`))
	require.NoError(t, err)
	chunk := bytes.Repeat([]byte("a"), 1<<20)
	for range 100 {
		_, err = packer.Write(chunk)
		require.NoError(t, err)
	}
	require.NoError(t, packer.Close())
	require.Less(t, bomb.Len(), 256<<10, "it passes the limit of compressed bytes")
	unpacked := 0
	for _, e := range w.endpoints(t) {
		if !e.takesJSON {
			continue
		}
		reply := w.send(t, request{method: e.method, path: e.path, scheme: e.scheme, body: plain})
		// A route may refuse a body before reading it.
		if !strings.Contains(e.name, "webhook") && !strings.Contains(e.name, "payout") {
			require.Equal(t, 413, reply.Code, "%s: %s", e.name, reply.Body)
		}
		require.Less(t, reply.Code, 500)
		refusal(t, e, reply)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		reply = w.send(
			t,
			request{
				method: e.method, path: e.path, scheme: e.scheme, body: bomb.String(),
				header: map[string]string{"Content-Encoding": "gzip"},
			},
		)
		runtime.ReadMemStats(&after)
		require.Contains(t, []int{400, 410, 413, 415}, reply.Code, "%s: %s", e.name, reply.Body)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(24<<20), "%s unpacked it", e.name)
		refusal(t, e, reply)
		if reply.Code == 413 && bomb.Len() > 64<<10 && strings.HasPrefix(e.path, "/api/rtb") {
			unpacked++
		}
	}
	require.Positive(t, unpacked, "no route takes gzip: then this test proves nothing about unpacking")
}

// SECURITY.md 25: 500 connections that stop sending do not delay a normal request, and are closed.
func TestSlowConnections(t *testing.T) {
	w := wire(t, nil)
	var slow []net.Conn
	defer func() {
		for _, conn := range slow {
			_ = conn.Close()
		}
	}()
	for i := range 500 {
		conn, err := net.Dial("tcp", w.http.Addr())
		require.NoError(t, err)
		slow = append(slow, conn)
		_, err = io.WriteString(
			conn,
			[]string{
				"", "G", "GET /v1/ad-request HTTP/1.1\r\nHost: x\r\n",
				"POST /v1/ad-request HTTP/1.1\r\nHost: x\r\nX-Slow: ",
			}[i%4],
		)
		require.NoError(t, err)
	}
	client := &http.Client{Timeout: 30 * time.Second}
	for range 20 {
		r, err := http.NewRequestWithContext(
			t.Context(), http.MethodPost, w.http.BaseURL()+"/v1/ad-request",
			strings.NewReader(`{"context":"postgres"}`),
		)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+account.PublicSandboxKey)
		reply, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, reply.Body.Close())
		require.Equal(t, 200, reply.StatusCode)
	}
	client.CloseIdleConnections()
	var closed sync.WaitGroup
	stored := make([]bool, len(slow))
	for i, conn := range slow {
		closed.Go(func() {
			_ = conn.SetReadDeadline(time.Now().Add(12 * time.Second)) // the server's limit is 4 s, its next one 15 s
			_, err := io.ReadAll(conn)
			var timeout net.Error
			stored[i] = errors.As(err, &timeout) && timeout.Timeout()
		})
	}
	closed.Wait()
	require.NotContains(t, stored, true, "the server keeps a stalled connection")
}

// SECURITY.md 29: no route sets a cookie or obeys one, and none lets a page of another origin read
// its answers.
func TestNoCookiesAndNoForeignOrigins(t *testing.T) {
	w := wire(t, nil)
	for _, e := range w.endpoints(t) {
		for _, origin := range []string{"https://evil.example", "null", ""} {
			header := map[string]string{
				"Cookie": "token=" + w.bearer["userToken"] + "; session=" +
					w.bearer["userToken"],
				"Access-Control-Request-Method": "POST",
			}
			if origin != "" {
				header["Origin"] = origin
			}
			reply := w.send(t, request{method: e.method, path: e.path, header: header})
			require.Empty(t, reply.Header().Values("Set-Cookie"), e.name)
			for name := range reply.Header() {
				require.False(
					t, strings.HasPrefix(name, "Access-Control-Allow"), "%s allows %s by %s", e.name, origin, name,
				)
			}
			if e.locked {
				require.Contains(t, []int{401, 403}, reply.Code, "%s: a cookie is no login: %s", e.name, reply.Body)
			}
			refusal(t, e, reply)
		}
	}
}

var errRaw = errors.New(
	`code: 60, message: Unknown table expression identifier 'adnet.events' in scope SELECT sum(charge) FROM adnet.events (clickhouse 127.0.0.1:9000)`,
)

// brokenAnalytics answers every question with a server's raw error text.
type brokenAnalytics struct{}

func (brokenAnalytics) Requests(context.Context, report.Places) ([]report.Won, error) {
	return nil, errRaw
}

func (brokenAnalytics) Refusals(context.Context, report.RefusalQuery) ([]report.RefusalDay, error) {
	return nil, errRaw
}
func (brokenAnalytics) Costs(context.Context, uuid.UUID, day.Day) (map[subject.ID]report.SubjectCost, error) {
	return nil, errRaw
}
func (brokenAnalytics) RefusedAt(context.Context, report.Places) ([]report.RefusedPlaces, error) {
	return nil, errRaw
}
func (brokenAnalytics) Stats(context.Context, report.Query) (report.Result, error) {
	return report.Result{}, errRaw
}
func (brokenAnalytics) Paid(context.Context, report.PaidQuery) ([]report.Paid, error) {
	return nil, errRaw
}
func (brokenAnalytics) Terms(context.Context, report.Query) ([]report.TermCounts, error) {
	return nil, errRaw
}
func (brokenAnalytics) WithTerms(context.Context, report.Query, []uint32) (report.Counts, error) {
	return report.Counts{}, errRaw
}
func (brokenAnalytics) Demand(context.Context, report.DemandQuery) (report.Demand, error) {
	return report.Demand{}, errRaw
}
func (brokenAnalytics) Converted(context.Context, report.Query) (report.Conversions, error) {
	return report.Conversions{}, errRaw
}

func (brokenAnalytics) Delays(context.Context, report.DelayQuery) ([]report.Delay, error) {
	return nil, errRaw
}
func (brokenAnalytics) Aggregate(context.Context, day.Day) (int, error) { return 0, errRaw }
func (brokenAnalytics) Auction(context.Context, uuid.UUID, time.Time) (report.Auction, error) {
	return report.Auction{}, errRaw
}
func (brokenAnalytics) AuctionEvents(context.Context, uuid.UUID, uuid.UUID, time.Time) ([]report.Row, error) {
	return nil, errRaw
}
func (brokenAnalytics) Delivery(context.Context, uuid.UUID, time.Time, time.Time) (report.Delivery, error) {
	return report.Delivery{}, errRaw
}

// cable forwards connections to PostgreSQL until it is cut.
type cable struct {
	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cable{listener: listener}
	t.Cleanup(c.cut)
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				_ = near.Close()
				continue
			}
			c.mu.Lock()
			c.conns = append(c.conns, near, far)
			c.mu.Unlock()
			go func() { _, _ = io.Copy(far, near); _ = far.Close() }()
			go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
		}
	}()
	return c
}

func (c *cable) cut() {
	_ = c.listener.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

// SECURITY.md 29: with PostgreSQL gone and ClickHouse failing, every route answers its own form of
// error, without any text of the servers or drivers.
func TestErrorsOfBrokenStoresSayNothing(t *testing.T) {
	address, err := url.Parse(testenv.Postgres(t))
	require.NoError(t, err)
	require.NoError(t, postgres.Migrate(t.Context(), address.String(), func(string) {}))
	line := newCable(t, address.Host)
	address.Host = line.listener.Addr().String()
	store, err := postgres.Open(t.Context(), postgres.Config{URL: address.String(), MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	w := wire(t, func(b *backends.All) {
		b.Stores, b.Rooms = backends.InPostgres(store), backends.RoomsOf(store, backends.Money{})
		b.Stats, b.Rollup, b.Past = brokenAnalytics{}, brokenAnalytics{}, brokenAnalytics{}
	})
	all := w.endpoints(t)
	for _, e := range all { // so that keys and users are cached when the store goes
		w.send(t, request{method: "GET", path: "/api/keys", scheme: e.scheme})
	}
	w.send(t, request{method: "POST", path: "/v1/ad-request", scheme: "publisherKey", body: `{"context":"x"}`})
	line.cut()
	failed := map[string]int{}
	for _, e := range all {
		for _, body := range []string{
			"", `{}`, `{"id":"` + w.campaign + `"}`,
			`{"email":"admin@example.com","password":"a long password","kind":"publisher","amount":5,"decision":"approved","id":"` + w.campaign + `","name":"x"}`,
			`{"headline":"New","advertiser_id":"` + uuid.NewString() + `","cta_url":"https://example.com/"}`,
		} {
			if body != "" && !e.takesJSON {
				continue
			}
			reply := w.send(t, request{method: e.method, path: e.path, scheme: e.scheme, body: body})
			refusal(t, e, reply)
			if reply.Code >= 500 {
				failed[e.name] = reply.Code
			}
			separator := "?"
			if strings.Contains(e.path, "?") {
				separator = "&"
			}
			reply = w.send(
				t,
				request{
					method: e.method, path: e.path + separator + "campaign_id=" + w.campaign + "&id=" + w.campaign,
					scheme: e.scheme, body: body,
				},
			)
			refusal(t, e, reply)
			if reply.Code >= 500 {
				failed[e.name] = reply.Code
			}
		}
	}
	t.Logf("%d of %d endpoints failed: %v", len(failed), len(all), failed)
	require.Greater(t, len(failed), 15, "the stores were not asked")
	require.Contains(t, failed, "GET /api/stats overview")
}
