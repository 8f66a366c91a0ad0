package operate_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"adnet/analytics/clickhouse"
	"adnet/internal/kafka"
	"adnet/internal/process/obs"
	"adnet/internal/testenv"
	"adnet/schemas/event"
)

// installation is adnet on real servers with databases, topics and keys of its own.
type installation struct {
	t                  testing.TB
	bin, prefix, redis string // redis: the prefix of its keys
	owner, app, clicks string
	brokers            []string
	keys               []string
}

func install(t testing.TB) *installation {
	t.Helper()
	i := &installation{t: t, bin: testenv.Build(t), prefix: "op-" + hex.EncodeToString(testenv.Random(t, 4))}
	i.brokers = testenv.Kafka(t)
	i.keys = []string{
		"ADNET_TOKEN_KEYS=" + testenv.Key(t),
		"ADNET_SESSION_KEYS=" + testenv.Key(t),
	}
	return i.onEmptyStores()
}

// onEmptyStores is the same installation, with its log, on new databases.
func (i *installation) onEmptyStores() *installation {
	other := *i
	other.owner, other.clicks = testenv.Postgres(i.t), testenv.ClickHouse(i.t)
	other.app = testenv.PostgresApp(i.t, other.owner)
	other.redis = "op-" + hex.EncodeToString(testenv.Random(i.t, 4))
	testenv.Redis(i.t)
	return &other
}

func (i *installation) env() []string {
	return append(append(os.Environ(), i.keys...),
		"ADNET_POSTGRES_OWNER_URL="+i.owner, "ADNET_POSTGRES_URL="+i.app, "ADNET_CLICKHOUSE_URL="+i.clicks,
		"ADNET_REDIS_ADDR="+testenv.Redis(i.t), "ADNET_REDIS_PREFIX="+i.redis,
		"ADNET_KAFKA_BROKERS="+strings.Join(i.brokers, ","), "ADNET_KAFKA_TOPIC_PREFIX="+i.prefix+".",
		"ADNET_KAFKA_PARTITIONS=4",
		"ADNET_ADMIN_EMAIL=admin@op.example", "ADNET_ADMIN_PASSWORD=operator admin password",
		"ADNET_VERIFY_EMAIL=off", "ADNET_PREPAID=off", "ADNET_UNREVIEWED=everywhere", "ADNET_LOG_LEVEL=warn",
	)
}

// run runs a command to its end.
func (i *installation) run(args ...string) (stdout string, err error) {
	i.t.Helper()
	command := exec.Command(i.bin, args...)
	command.Env = i.env()
	var out, reply bytes.Buffer
	command.Stdout, command.Stderr = &out, &reply
	err = command.Run()
	i.t.Logf("adnet %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), reply.String())
	return out.String() + reply.String(), err
}

func (i *installation) must(args ...string) string {
	i.t.Helper()
	out, err := i.run(args...)
	require.NoError(i.t, err, "%s", out)
	return out
}

func (i *installation) serve(role string) *testenv.Service {
	i.t.Helper()
	return testenv.Serve(i.t, i.bin, role, i.env())
}

func (i *installation) load(s *testenv.Service, extra ...string) {
	i.t.Helper()
	i.must(
		append(
			[]string{
				"load", "--url", s.Base, "--duplicates", "0.1", "--clicks", "0.2", "--conversions", "0.05",
				"--settle-wait", "60s", "--json",
			}, extra...,
		)...,
	)
}

// reader is the agent of a person's browser.
const reader = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"

// early follows an ad's link before its impression arrives, and waits until both are archived.
func (i *installation) early(s *testenv.Service) {
	i.t.Helper()
	follows := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	call := func(url, bearer, body string, reply any) {
		i.t.Helper()
		r, err := http.NewRequestWithContext(i.t.Context(), http.MethodGet, url, nil)
		if body != "" {
			r, err = http.NewRequestWithContext(i.t.Context(), http.MethodPost, url, strings.NewReader(body))
		}
		require.NoError(i.t, err)
		r.Header.Set("User-Agent", reader)
		r.Header.Set("Content-Type", "application/json")
		if bearer != "" {
			r.Header.Set("Authorization", "Bearer "+bearer)
		}
		got, err := follows.Do(r)
		require.NoError(i.t, err)
		defer got.Body.Close()
		require.Less(i.t, got.StatusCode, 400, url)
		if reply != nil {
			require.NoError(i.t, json.NewDecoder(got.Body).Decode(reply))
		}
	}
	var owner struct {
		Token string `json:"token"`
	}
	call(
		s.Base+"/api/auth?action=register", "", `{"email":"early@op.example","password":"some words with spaces"}`,
		&owner,
	)
	var publisher struct{ Key string }
	call(s.Base+"/api/keys", owner.Token, `{"kind":"publisher","name":"early"}`, &publisher)
	var sold struct {
		Ad *struct {
			Impression string `json:"impression_url"`
			Click      string `json:"click_url"`
		}
	}
	call(
		s.Base+"/v1/ad-request", publisher.Key,
		`{"context":"How do I cache the dependencies of a monorepo pipeline?"}`, &sold,
	)
	require.NotNil(i.t, sold.Ad)
	time.Sleep(400 * time.Millisecond) // a sooner click is a machine's
	before := i.clickCount()
	call(sold.Ad.Click, "", "", nil)
	time.Sleep(time.Second) // another batch settles the click
	require.Equal(i.t, before, i.clickCount(), "a click before its impression waits")
	call(sold.Ad.Impression, "", "", nil)
	require.Eventually(
		i.t, func() bool { return i.clickCount() == before+1 }, 30*time.Second, 100*time.Millisecond,
	)
}

// clickCount returns the number of archived clicks.
func (i *installation) clickCount() uint64 {
	i.t.Helper()
	store, err := clickhouse.Open(i.t.Context(), clickhouse.Config{URL: i.clicks})
	require.NoError(i.t, err)
	defer func() { require.NoError(i.t, store.Close()) }()
	var rows []struct {
		N uint64 `ch:"n"`
	}
	require.NoError(
		i.t, store.Select(i.t.Context(), &rows, "SELECT count() AS n FROM events WHERE type = 'click'", nil),
	)
	return rows[0].N
}

// analytics runs a statement on ClickHouse.
func (i *installation) analytics(sql string) {
	i.t.Helper()
	store, err := clickhouse.Open(i.t.Context(), clickhouse.Config{URL: i.clicks})
	require.NoError(i.t, err)
	defer func() { require.NoError(i.t, store.Close()) }()
	require.NoError(i.t, store.Exec(i.t.Context(), sql, nil))
}

// cache sends one command to Redis.
func (i *installation) cache(words ...string) string {
	i.t.Helper()
	conn, err := net.Dial("tcp", testenv.Redis(i.t))
	require.NoError(i.t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "*%d\r\n", len(words))
	for _, w := range words {
		require.NoError(i.t, err)
		_, err = fmt.Fprintf(conn, "$%d\r\n%s\r\n", len(w), w)
	}
	require.NoError(i.t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(i.t, err)
	return line
}

// produce writes a record to the events topic, as an ingress of another version could.
func (i *installation) produce(value []byte) {
	i.t.Helper()
	p, err := kafka.NewProducer(
		kafka.Config{Brokers: i.brokers, TopicPrefix: i.prefix + "."}, kafka.Deps{Metrics: obs.NewRegistry()},
	)
	require.NoError(i.t, err)
	done := make(chan error, 1)
	p.Produce(event.TopicEvents, nil, value, func(err error) { done <- err })
	require.NoError(i.t, <-done)
}

var place = regexp.MustCompile(`[0-9a-f]{32}/\d+:\d+`)

// TestDeadLetters sends poison, lists it, "fixes" it, and replays it: it is applied exactly once.
func TestDeadLetters(t *testing.T) {
	i := install(t)
	i.must("migrate")
	consumers := i.serve("consumers")
	i.produce([]byte("\xff\xffno event"))
	var listed string
	require.Eventually(
		t, func() bool { listed = i.must("dlq", "list"); return place.MatchString(listed) }, 30*time.Second,
		200*time.Millisecond,
	)
	id := place.FindString(listed)
	require.Contains(t, listed, "not a protobuf event")

	// Still poison: it comes back as another dead letter, and the first says that it was replayed.
	require.Contains(t, i.must("dlq", "replay", id), "1 replayed, 0 not")
	require.Eventually(
		t, func() bool { return len(place.FindAllString(i.must("dlq", "list"), -1)) == 2 }, 30*time.Second,
		200*time.Millisecond,
	)
	require.NotContains(t, i.must("dlq", "list", "--open"), id)
	out, err := i.run("dlq", "replay", id)
	require.Error(t, err)
	require.Contains(t, out, "--again")
	_, err = i.run("dlq", "replay", "nonsense")
	require.Error(t, err)
	_, err = i.run("dlq", "replay")
	require.Error(t, err)

	// The fix: the bytes decode now.
	m := &event.Event{
		EventId: id16(), Type: event.Type_IMPRESSION, Proof: event.Proof_UNSIGNED, ReceivedAtUs: time.Now().UnixMicro(),
	}
	raw, err := proto.Marshal(m)
	require.NoError(t, err)
	testenv.Exec(t, i.owner, fmt.Sprintf(`UPDATE dlq SET raw = '\x%x' WHERE replays = 0`, raw))
	require.Contains(t, i.must("dlq", "replay", "--all"), "1 replayed, 0 not")
	require.Contains(t, i.must("dlq", "replay", "--all"), "0 replayed, 0 not", "nothing is left to replay")
	require.Eventually(t, func() bool {
		store, err := clickhouse.Open(t.Context(), clickhouse.Config{URL: i.clicks})
		require.NoError(t, err)
		defer func() { _ = store.Close() }()
		totals, err := store.Totals(t.Context())
		return err == nil && totals.ByVerdict["unsigned"] == 1 && totals.ByVerdict["poison"] == 2
	}, 30*time.Second, 200*time.Millisecond)
	var letter struct {
		Replays int    `json:"replays"`
		By      string `json:"replayed_by"`
		Decoded any    `json:"decoded"`
	}
	lines := strings.Split(strings.TrimSpace(i.must("dlq", "list", "--json")), "\n")
	require.Len(t, lines, 2)
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &letter))
	require.Equal(t, 1, letter.Replays)
	require.NotEmpty(t, letter.By)
	require.NotNil(t, letter.Decoded)
	require.Contains(t, i.must("audit", "--kind", "dead_letter"), "adnet dlq replay")
	consumers.End(t)
	require.Contains(t, i.must("verify"), "all clean")
	require.Contains(t, i.must("retention", "--dry-run"), "would remove 0 dedup")
	require.Contains(t, i.must("retention"), "removed 0 deduplication marks")
	_, err = i.run("retention", "--retention-marks-days", "5")
	require.ErrorContains(t, err, "exit status 1")
}

// TestParkedEventsAreDecidedByCommand lists, credits and dismisses payment events.
func TestParkedEventsAreDecidedByCommand(t *testing.T) {
	i := install(t)
	i.must("migrate")
	t.Setenv("ADNET_USER_PASSWORD", "some words with spaces")
	i.must("user", "create", "payer@op.example")
	transfer, odd := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	for id, event := range map[uuid.UUID]string{transfer: "evt_transfer", odd: "evt_odd"} {
		testenv.Exec(t, i.owner, fmt.Sprintf(
			`INSERT INTO payment_parked (id, provider, event_id, payment_id, event_type, kind, amount, reason,
				received_at, shared, count) VALUES ('%s', 'stripe', '%s', 'tr_1', 'treasury.new', '', 12340000,
				'unknown type', now(), false, 1)`, id, event,
		))
	}
	require.Contains(t, i.must("parked", "list"), "2 parked events")
	require.Contains(t, i.must("parked", "list", "--limit", "1", "--offset", "1"), "1 parked events")
	require.Contains(t, i.must("parked", "list", "--offset", "2"), "0 parked events")
	for _, bad := range [][]string{{"--limit", "0"}, {"--offset", "-1"}} {
		_, err := i.run(append([]string{"parked", "list"}, bad...)...)
		require.Error(t, err)
	}
	credit := []string{
		"parked", "credit", transfer.String(), "--account", "payer@op.example", "--reason", "A transfer.",
	}
	out, err := i.run(append(credit, "--amount", "0")...)
	require.Error(t, err)
	require.Contains(t, out, "--amount must be")
	require.Contains(t, i.must(credit...), "of 12.34 USD")
	i.must(credit...) // a repeated decision changes nothing
	out, err = i.run("parked", "debit", transfer.String(), "--account", "payer@op.example", "--reason", "No transfer.")
	require.Error(t, err, "another decision")
	require.NotContains(t, out, "SQL")
	i.must("parked", "dismiss", odd.String(), "--reason", "It moved nothing.")
	require.Contains(t, i.must("parked", "list"), "0 parked events")
	lines := strings.Split(strings.TrimSpace(i.must("parked", "list", "--all", "--json")), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, strings.Join(lines, ""), `"applied":12.34`)
	statement := i.must("statement", "--account", "payer@op.example", "--month", time.Now().UTC().Format("2006-01"))
	require.Equal(t, 1, strings.Count(statement, ",parked_credit,"), statement)
	require.Contains(t, i.must("verify"), "all clean")
}

func id16() []byte {
	id := uuid.Must(uuid.NewV7())
	return id[:]
}

// TestReconcile does every damage and sees it found and repaired.
func TestReconcile(t *testing.T) {
	i := install(t)
	i.must("migrate")
	consumers, ingress := i.serve("consumers"), i.serve("ingress")
	i.load(ingress)
	i.early(ingress)
	ingress.End(t)
	require.Contains(t, i.must("reconcile"), "ok")
	catalog := i.redis + ":{catalog}:"
	today := time.Now().UTC().Format(time.DateOnly)
	i.must("rollup", "--date", today)
	for name, damage := range map[string]func(){
		"a campaign is missing in Redis": func() { i.cache("DEL", catalog+"objects") },
		"an older version in Redis":      func() { i.cache("SET", catalog+"head", "1") },
		"every room is gone":             func() { i.cache("DEL", catalog+"rooms") },
		"a view counts twice": func() {
			i.analytics("INSERT INTO stats_daily SELECT * FROM stats_daily")
		},
		"verdicts per day are gone": func() { i.analytics("TRUNCATE TABLE verdict_daily") },
		"the roll-up is wrong": func() {
			i.analytics("ALTER TABLE stats_rollup UPDATE spend = spend + 1 WHERE 1 SETTINGS mutations_sync = 2")
		},
		"charged events are missing": func() {
			i.analytics("ALTER TABLE events DELETE WHERE charge > 0 SETTINGS mutations_sync = 2")
		},
		"free events are missing": func() {
			i.analytics("ALTER TABLE events DELETE WHERE charge = 0 SETTINGS mutations_sync = 2")
		},
		"events are there twice": func() {
			i.analytics("INSERT INTO events SELECT * FROM events SETTINGS insert_deduplicate = 0")
		},
		"everything is gone": func() {
			for _, table := range []string{"events", "stats_daily", "verdict_daily"} {
				i.analytics("TRUNCATE TABLE " + table)
			}
			i.cache("DEL", catalog+"objects", catalog+"versions", catalog+"head", catalog+"epoch", catalog+"rooms")
		},
	} {
		t.Run(name, func(t *testing.T) {
			i.t = t
			if strings.Contains(name, "Redis") || strings.Contains(name, "room") || strings.Contains(name, "gone") {
				if consumers != nil { // its projection would repair Redis before we look
					consumers.End(t)
					consumers = nil
				}
			}
			damage()
			out, err := i.run("reconcile", "--wait", "1s", "--days", "2")
			require.Error(t, err, "damage was not found")
			require.Contains(t, out, "FAIL")
			out = i.must("reconcile", "--fix", "--wait", "3s", "--days", "2")
			require.Contains(t, out, "repaired")
			require.NotContains(t, out, "FAIL", "--fix compares again at its end")
		})
	}
	i.t = t
	require.Contains(t, i.must("verify"), "all clean")
	require.Contains(t, i.must("audit", "--kind", "store"), "reconcile")
	var report struct {
		OK     bool `json:"ok"`
		Checks []struct {
			Name string `json:"name"`
			OK   bool   `json:"ok"`
		} `json:"checks"`
	}
	require.NoError(t, json.Unmarshal([]byte(i.must("reconcile", "--json")), &report))
	require.True(t, report.OK)
	require.Len(t, report.Checks, 5)
}

// TestBackupUnderTraffic copies both stores while beacons arrive, loses them, restores into empty
// ones, and lets the consumers go on from the log: everything is equal to the ledger, nothing
// doubled, nothing lost.
func TestBackupUnderTraffic(t *testing.T) {
	i := install(t)
	i.must("migrate")
	consumers, ingress := i.serve("consumers"), i.serve("ingress")
	i.load(ingress)
	dir := filepath.Join(t.TempDir(), "backup")
	loaded := make(chan error, 1)
	go func() {
		_, err := i.run(
			"load", "--url", ingress.Base, "--campaigns", "none", "--requests", "1500", "--rate", "150", "--duplicates",
			"0.2", "--settle-wait", "60s",
		)
		loaded <- err
	}()
	time.Sleep(2 * time.Second)
	i.must("backup", "--dir", dir)
	require.NoError(t, <-loaded)
	out, err := i.run("backup", "--dir", dir)
	require.Error(t, err, "a backup is never overwritten")
	require.Contains(t, out, "not empty")
	ingress.End(t)
	require.Contains(t, i.must("verify"), "all clean")
	consumers.End(t)
	want := i.totals()

	restored := i.onEmptyStores()
	require.Contains(t, restored.must("restore", "--dir", dir), "all clean")
	before := restored.totals()
	require.Less(t, before.Rows, want.Rows, "the backup was made while traffic went on")
	out, err = restored.run("restore", "--dir", dir)
	require.Error(t, err, "the stores are not empty any more")
	require.Contains(t, out, "--force")
	consumers = restored.serve("consumers")
	require.Eventually(
		t, func() bool { return restored.totals().Rows == want.Rows }, 60*time.Second, 200*time.Millisecond,
	)
	require.Equal(t, want, restored.totals())
	require.Contains(t, restored.must("verify"), "all clean")
	require.NotContains(t, restored.must("reconcile"), "FAIL")
	consumers.End(t)
	require.Contains(t, restored.must("restore", "--dir", dir, "--force"), "all clean")
	require.Equal(t, before, restored.totals())
	require.Contains(t, restored.must("audit", "--kind", "store"), "restore")

	// A damaged file is noticed before anything is touched.
	file := filepath.Join(dir, "clickhouse.events.gob.gz")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	content[len(content)/2] ^= 1
	require.NoError(t, os.WriteFile(file, content, 0o600))
	out, err = restored.run("restore", "--dir", dir, "--force")
	require.Error(t, err)
	require.Contains(t, out, "damaged")
	require.Contains(t, restored.must("verify"), "all clean")
}

type totals struct {
	Rows, Charge, Minted int64
}

func (i *installation) totals() totals {
	i.t.Helper()
	store, err := clickhouse.Open(i.t.Context(), clickhouse.Config{URL: i.clicks})
	require.NoError(i.t, err)
	defer func() { _ = store.Close() }()
	sum, err := store.Totals(i.t.Context())
	require.NoError(i.t, err)
	return totals{sum.Rows, int64(sum.Charge), int64(sum.Minted)}
}
