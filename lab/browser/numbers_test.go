package browser_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"adnet/cmd"
	"adnet/internal/testenv"
	"adnet/lab/browser"
	"adnet/schemas/event"
)

// person is an account of a test, signed in as a program and in a tab.
type person struct {
	token, id, developer string
	tab                  *browser.Tab
}

const passphrase = "some words with spaces"

// joins makes an account.
func (w *world) joins(t *testing.T, name string) person {
	t.Helper()
	email := fmt.Sprintf("%s@numbers-%d.example", name, time.Now().UnixNano()) // a family of its own
	w.post(t, "", "/api/auth/register", map[string]any{"email": email, "password": passphrase})
	return w.enters(t, email, passphrase)
}

// enters signs an account in.
func (w *world) enters(t *testing.T, email, password string) person {
	t.Helper()
	var created struct {
		Token string
		User  struct {
			ID        string
			Developer string `json:"developer_id"`
		}
	}
	require.NoError(
		t, json.Unmarshal(w.post(t, "", "/api/auth", map[string]any{"email": email, "password": password}), &created),
	)
	tab := w.tab(t, "", desk)
	require.NoError(t, tab.Open(w.base+"/console/security"))
	require.NoError(
		t,
		tab.Do(
			chromedp.SendKeys(`input[name=email]`, email, chromedp.ByQuery),
			chromedp.SendKeys(`input[name=password]`, password+"\r", chromedp.ByQuery),
		),
	)
	require.NoError(t, tab.Await(`!!document.querySelector('[data-form=password]')`))
	return person{created.Token, created.User.ID, created.User.Developer, tab}
}

// answer is a reply of the API with its numbers as they were written.
type answer map[string]any

func (w *world) ask(t *testing.T, p person, path string) (a answer) {
	t.Helper()
	from := json.NewDecoder(strings.NewReader(string(w.send(t, http.MethodGet, p.token, path, nil))))
	from.UseNumber()
	require.NoError(t, from.Decode(&a))
	return a
}

// number is a field as an exact number; fields of objects are after a point.
func (a answer) number(t *testing.T, field string) *big.Rat {
	t.Helper()
	var at any = map[string]any(a)
	for part := range strings.SplitSeq(field, ".") {
		at = at.(map[string]any)[part]
	}
	n, ok := new(big.Rat).SetString(fmt.Sprint(at))
	require.True(t, ok, "%s is %v", field, at)
	return n
}

var written = regexp.MustCompile(`^(-?)\$?([0-9,]+(\.[0-9]+)?)(%?)$`)

// reads is what a text of the console says, as an exact number.
func reads(t *testing.T, text string) *big.Rat {
	t.Helper()
	m := written.FindStringSubmatch(strings.TrimSpace(text))
	require.NotNil(t, m, "%q is not one number", text)
	n, ok := new(big.Rat).SetString(m[1] + strings.ReplaceAll(m[2], ",", ""))
	require.True(t, ok)
	if m[4] != "" {
		n.Quo(n, big.NewRat(100, 1))
	}
	return n
}

// same says that a text of the console is a number, rounded to the decimals that it is shown with.
func same(t *testing.T, what, text string, decimals int, want *big.Rat) {
	t.Helper()
	if strings.HasSuffix(text, "%") {
		decimals += 2
	}
	require.Equal(
		t, want.FloatString(decimals), reads(t, text).FloatString(decimals), "%s: the page says %s", what, text,
	)
}

// traffic is what TestNumbers… brings about: of one campaign of its own on one publisher's page.
const (
	seenTimes    = 9
	clickedTimes = 2
)

// numbers drives traffic from two new accounts to each other, and holds every number of the screens
// that count money and events to the API's, and the API's to what sql says (nil where the stores
// are memory).
func numbers(t *testing.T, w *world, admin person, sql *sources) {
	owner, publisher := w.joins(t, "owner"), w.joins(t, "publisher")
	word := fmt.Sprintf("xylograph%d", time.Now().UnixNano()%1000)
	var created struct{ Campaign struct{ ID string } }
	require.NoError(t, json.Unmarshal(w.post(t, owner.token, "/api/campaigns", map[string]any{
		"advertiser_id": owner.id, "headline": word + " tools", "cta_url": "https://" + word + ".example/",
		"bid_amount": 3.654321, "frequency_cap": 0, "pacing": "asap", "target_intent_tokens": []string{word},
	}), &created))
	var key struct{ Key string }
	require.NoError(
		t,
		json.Unmarshal(
			w.post(t, publisher.token, "/api/keys", map[string]any{"kind": "publisher", "name": "numbers"}), &key,
		),
	)
	type ad struct {
		ID         string `json:"ad_id"`
		Impression string `json:"impression_url"`
		Click      string `json:"click_url"`
	}
	var refused struct{ Reason string }
	first := func() (got ad) {
		var reply struct {
			Ad     *ad
			Reason string
		}
		require.NoError(
			t,
			json.Unmarshal(
				w.post(t, key.Key, "/v1/ad-request", map[string]any{"context": word, "host_app": "chat"}), &reply,
			),
		)
		if refused.Reason = reply.Reason; reply.Ad == nil || reply.Ad.ID != created.Campaign.ID {
			return ad{}
		}
		return *reply.Ad
	}
	require.Eventually(
		t, func() bool { return first().ID != "" }, time.Minute, 100*time.Millisecond, "the campaign is served: %+v",
		&refused,
	)
	var clicks []string
	for i := range seenTimes {
		var a ad
		require.Eventually(t, func() bool { a = first(); return a.ID != "" }, time.Minute, 50*time.Millisecond)
		follow(t, a.Impression)
		if i < clickedTimes {
			clicks = append(clicks, a.Click)
		}
	}
	time.Sleep(2 * time.Second) // who clicks at once is a robot
	for _, click := range clicks {
		follow(t, click)
	}
	month := time.Now().UTC().Format("2006-01")
	since := time.Now().UTC().AddDate(0, 0, -29).Format(time.DateOnly)
	mine, theirs := "&advertiser_id="+owner.id, "developer_id="+publisher.developer
	campaignStats := "/api/stats?type=campaign&campaign_id=" + created.Campaign.ID + "&since=" + since
	var s answer
	require.Eventually(t, func() bool {
		s = w.ask(t, owner, campaignStats)
		return s.number(t, "impressions").Cmp(big.NewRat(seenTimes, 1)) == 0 &&
			new(big.Rat).Add(
				s.number(t, "clicks"), s.number(t, "invalid_clicks"),
			).Cmp(big.NewRat(clickedTimes, 1)) == 0 &&
			s.number(t, "spend_usd").Cmp(w.ask(t, owner, "/api/campaigns/"+created.Campaign.ID).number(
				t, "campaign.spent_total",
			)) == 0
	}, 2*time.Minute, 300*time.Millisecond, "everything that was reported is counted")

	figures := func(p person, path string, api func() map[string]display) {
		t.Helper()
		texts := map[string]string{}
		want := rests(t, api, func(want map[string]display) {
			require.NoError(t, p.tab.Open(w.base+path))
			for id, s := range want {
				name, part := id, "dd"
				if s.noteOf != "" {
					name, part = s.noteOf, "dd.note"
				}
				var text string
				require.NoError(
					t,
					p.tab.Do(chromedp.Evaluate(
						`document.querySelector('`+s.within+`[data-figure="`+name+`"] `+part+`').textContent`, &text,
					)),
				)
				texts[id] = text
			}
		})
		for id, s := range want {
			text := texts[id]
			if s.noteOf != "" { // a sentence that begins with the number
				text, _, _ = strings.Cut(text, " ")
			}
			same(t, path+" "+id, text, s.decimals, s.is)
		}
	}
	var overview answer
	balance := w.ask(t, owner, "/api/billing/balance?"+mine[1:])
	campaign := w.ask(t, owner, campaignStats)
	spent := campaign.number(t, "spend_usd")
	require.Equal(t, 1, spent.Sign())
	figures(owner, "/console/overview", func() map[string]display {
		overview = w.ask(t, owner, "/api/stats?type=overview&since="+since)
		return map[string]display{
			"spend-today": {is: spent, decimals: 6}, "spend-month": {is: spent, decimals: 6},
			"balance":     {is: balance.number(t, "balance"), decimals: 6},
			"impressions": {is: overview.number(t, "impressions")}, "ctr": {is: overview.number(t, "ctr"), decimals: 2},
		}
	})
	figures(owner, "/console/campaigns/"+created.Campaign.ID, func() map[string]display {
		campaign = w.ask(t, owner, campaignStats)
		return map[string]display{
			"impressions": {is: campaign.number(t, "impressions")}, "clicks": {is: campaign.number(t, "clicks")},
			"ctr":   {is: campaign.number(t, "ctr"), decimals: 2},
			"spend": {is: spent, decimals: 6}, "ecpm": {is: campaign.number(t, "ecpm"), decimals: 6},
			"conversions": {is: campaign.number(t, "conversions")},
			"invalid": {is: new(big.Rat).Add(
				campaign.number(t, "invalid_impressions"), campaign.number(t, "invalid_clicks"),
			)},
		}
	})
	remaining := w.ask(t, owner, "/api/campaigns/"+created.Campaign.ID)
	require.Equal(t, spent, remaining.number(t, "campaign.spent_total"), "the books and the counts")
	require.NoError(t, owner.tab.Open(w.base+"/console/campaigns"))
	var cells []string
	require.NoError(
		t,
		owner.tab.Do(chromedp.Evaluate(
			`[...document.querySelector('tr[data-id="`+created.Campaign.ID+`"]').cells].map((c) => c.textContent)`, &cells,
		)),
	)
	same(t, "campaigns: spent", cells[4], 6, spent)
	same(t, "campaigns: ctr", cells[5], 2, campaign.number(t, "ctr"))
	same(t, "campaigns: ecpm", cells[6], 6, campaign.number(t, "ecpm"))
	figures(owner, "/console/billing", func() map[string]display {
		balance = w.ask(t, owner, "/api/billing/balance?"+mine[1:]) // what is reserved is let go in its own time
		return map[string]display{
			"balance":   {is: balance.number(t, "balance"), decimals: 6},
			"available": {is: balance.number(t, "available"), decimals: 6},
			"credits":   {is: balance.number(t, "credits")},
		}
	})
	w.historyAddsUp(t, owner, balance.number(t, "balance"))

	var counted, network answer
	figures(publisher, "/console/publisher", func() map[string]display {
		counted = w.ask(t, publisher, "/api/stats?type=developer&"+theirs+"&since="+since)
		earned := w.ask(t, publisher, "/api/billing/earnings?"+theirs+"&since="+since)
		requested, waiting := w.ask(
			t, publisher, "/api/stats/requests?"+theirs+"&since="+since,
		), w.ask(t, publisher, "/api/billing/credits?"+theirs)
		return map[string]display{
			"requests":    {is: requested.number(t, "requests")},
			"fill":        {is: requested.number(t, "fill_rate"), decimals: 2, noteOf: "requests"},
			"impressions": {is: counted.number(t, "impressions")}, "clicks": {is: counted.number(t, "clicks")},
			"credits":   {is: counted.number(t, "credits")},
			"available": {is: earned.number(t, "available")}, "held": {is: earned.number(t, "held")},
			"pending": {is: waiting.number(t, "credits_pending")}, "ecpm": {is: counted.number(t, "ecpm"), decimals: 6},
			"own-ecpm": {is: counted.number(t, "publisher_ecpm"), decimals: 6},
		}
	})
	require.Equal(t, big.NewRat(seenTimes, 1), counted.number(t, "impressions"))

	const whole = "[data-part=month] "
	figures(admin, "/console/network", func() map[string]display {
		network = w.ask(t, admin, "/api/stats?type=overview&since="+month+"-01")
		requests := w.ask(t, admin, "/api/admin/requests?since="+month+"-01")
		return map[string]display{
			"requests":    {is: requests.number(t, "requests"), within: whole},
			"fill":        {is: requests.number(t, "fill_rate"), decimals: 2, within: whole},
			"impressions": {is: network.number(t, "impressions"), within: whole},
			"clicks":      {is: network.number(t, "clicks"), within: whole},
			"spend":       {is: network.number(t, "spend_usd"), decimals: 6, within: whole},
			"credits":     {is: network.number(t, "credits"), within: whole},
			"invalid":     {is: network.number(t, "invalid_traffic"), within: whole},
		}
	})
	looks, places := party{owner, created.Campaign.ID}, party{person: publisher}
	w.chartsShowTheAPIs(t, looks, places, sql)
	w.breakdownsShowTheAPIs(t, looks, places, sql)
	if sql != nil {
		micros := new(big.Rat).Mul(spent, big.NewRat(1_000_000, 1))
		require.Equal(t, stored{
			Impressions: seenTimes, Clicks: campaign.number(t, "clicks").Num().Int64(), Charged: micros.Num().Int64(),
			Minted:  counted.number(t, "credits").Num().Int64(),
			Balance: new(big.Rat).Mul(balance.number(t, "balance"), big.NewRat(1_000_000, 1)).Num().Int64(),
			Spent:   micros.Num().Int64(),
			Network: network.number(t, "impressions").Num().Int64(),
		}, sql.stored(created.Campaign.ID, owner.id))
	}

	// Pending are the Credits that charges do not back, and what waits to be released; what a
	// publisher in quarantine earns is held.
	waits := func() map[string]display {
		earned, waiting := w.ask(
			t, publisher, "/api/billing/earnings?"+theirs+"&since="+since,
		), w.ask(t, publisher, "/api/billing/credits?"+theirs)
		return map[string]display{
			"available": {is: earned.number(t, "available")}, "held": {is: earned.number(t, "held")},
			"pending": {is: waiting.number(t, "credits_pending")},
		}
	}
	require.Equal(t, 1, waits()["pending"].is.Sign(), "the bid backs some of the Credits only")
	w.post(
		t, admin.token, "/api/billing/quarantine",
		map[string]any{"decision": "hold", "developer_id": publisher.developer, "note": "A test holds."},
	)
	var a ad
	require.Eventually(t, func() bool { a = first(); return a.ID != "" }, time.Minute, 50*time.Millisecond)
	follow(t, a.Impression)
	require.Eventually(
		t, func() bool { return waits()["held"].is.Sign() == 1 }, time.Minute, 200*time.Millisecond,
		"what is earned now is held",
	)
	figures(publisher, "/console/publisher", waits)
	var sum int64
	var ofRows []string
	var inBooks [2]int64
	now := rests(t, waits, func(map[string]display) {
		require.NoError(t, publisher.tab.Open(w.base+"/console/publisher"))
		require.NoError(
			t,
			publisher.tab.Do(chromedp.Evaluate(
				`[...document.querySelectorAll('tr[data-wait]')].map((r) => r.cells[0].textContent)`, &ofRows,
			)),
		)
		if sql != nil {
			inBooks = sql.waiting(publisher.developer)
		}
	})
	for _, text := range ofRows {
		sum += reads(t, text).Num().Int64()
	}
	require.Equal(
		t, new(big.Rat).Add(now["held"].is, now["pending"].is).Num().Int64(), sum, "each Credit that waits has a row",
	)
	if sql != nil {
		require.Equal(
			t, [2]int64{now["pending"].is.Num().Int64(), now["held"].is.Num().Int64()}, inBooks, "pending and held",
		)
	}
}

// display is a number, and with how many decimals at most a page has it.
type display struct {
	is       *big.Rat
	decimals int
	within   string
	noteOf   string // it stands below this figure
}

// sources read the stores themselves.
type sources struct {
	stored func(campaign, advertiser string) stored
	// campaign, earned and asked count by the values of a breakdown, or by date or hour:
	// impressions, clicks, micro-USD and Credits of a campaign or of a publisher, requests and
	// filled ones of a publisher.
	campaign func(campaign, by string) map[string][4]int64
	earned   func(developer, by string) map[string][4]int64
	requests func(developer, by string) map[string][2]int64
	// waiting are the pending and the held Credits of a publisher with one case.
	waiting func(developer string) [2]int64
}

// stored is what the stores themselves have, in micro-USD and whole events and Credits.
type stored struct{ Impressions, Clicks, Charged, Minted, Balance, Spent, Network int64 }

// historyAddsUp says that the rows of the ledger on the page are the API's, and their sum is the
// balance.
func (w *world) historyAddsUp(t *testing.T, p person, balance *big.Rat) {
	t.Helper()
	var amounts [][2]string
	require.NoError(t, p.tab.Await(`document.querySelectorAll('table.rows tbody tr').length > 0`))
	require.NoError(
		t,
		p.tab.Do(chromedp.Evaluate(
			`[...document.querySelectorAll('table.rows tbody tr')].map((r) => [r.cells[3].textContent, r.cells[4].textContent])`, &amounts,
		)),
	)
	entries := w.ask(t, p, "/api/billing/history?asset=USD&limit=50&advertiser_id="+p.id)["entries"].([]any)
	require.Len(t, amounts, len(entries))
	sum := new(big.Rat)
	for i, e := range entries {
		entry := answer(e.(map[string]any))
		same(t, "history: amount", amounts[i][0], 6, entry.number(t, "amount"))
		same(t, "history: balance", amounts[i][1], 6, entry.number(t, "balance"))
		sum.Add(sum, reads(t, amounts[i][0]))
	}
	require.Equal(t, balance, sum, "the rows add up to the balance")
}

// follow fetches a link as a reader's browser does.
func follow(t *testing.T, link string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	require.NoError(t, err)
	r.Header.Set("User-Agent", browser.Agent)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	reply, err := client.Do(r)
	require.NoError(t, err)
	_ = reply.Body.Close()
	require.Less(t, reply.StatusCode, 400, link)
}

// Every number of the console is the API's: with both stores in memory.
func TestNumbersInMemory(t *testing.T) {
	w := shared
	token, _ := w.login(t, "admin")
	numbers(t, w, person{token: token, tab: w.tab(t, "admin", desk)}, nil)
}

// And with PostgreSQL and ClickHouse, where both are what SQL finds in the tables; there a record
// that cannot be decoded waits for an administrator.
func TestNumbersOnTheStack(t *testing.T) {
	owner, counts := testenv.Postgres(t), testenv.ClickHouse(t)
	prefix := fmt.Sprintf("numbers-%x", testenv.Random(t, 4))
	addr, err := testenv.FreeAddr()
	require.NoError(t, err)
	for name, value := range map[string]string{
		"ADNET_POSTGRES_URL": testenv.PostgresApp(t, owner), "ADNET_POSTGRES_OWNER_URL": owner,
		"ADNET_CLICKHOUSE_URL": counts, "ADNET_REDIS_ADDR": testenv.Redis(t), "ADNET_REDIS_PREFIX": prefix,
		"ADNET_KAFKA_BROKERS": strings.Join(testenv.Kafka(t), ","), "ADNET_KAFKA_TOPIC_PREFIX": prefix + ".",
		"ADNET_KAFKA_PARTITIONS": "4", "ADNET_TOKEN_KEYS": testenv.Key(t), "ADNET_SESSION_KEYS": testenv.Key(t),
		"ADNET_ADMIN_EMAIL": "admin@numbers.example", "ADNET_ADMIN_PASSWORD": passphrase, "ADNET_VERIFY_EMAIL": "off",
		"ADNET_PREPAID": "off", "ADNET_UNREVIEWED": "everywhere", "ADNET_LOG_LEVEL": "warn",
		"ADNET_BASE_URL": "http://" + addr, "ADNET_SPOOL_DIR": t.TempDir(), "ADNET_RATE_OPEN": "0",
		"ADNET_RATE_STATS": "0", "ADNET_RATE_READS": "0", "ADNET_CLICK_RATES": "off",
	} {
		t.Setenv(name, value)
	}
	ctx, stop := context.WithCancel(t.Context())
	var errs strings.Builder
	require.Zero(t, cmd.Main(ctx, cmd.Invocation{Args: []string{"migrate"}, Stdout: io.Discard, Stderr: &errs}), &errs)
	ended := make(chan int, 2)
	for _, args := range [][]string{
		{"consumers", "--admin-addr", "127.0.0.1:0"}, {"ingress", "--http-addr", addr, "--admin-addr", "127.0.0.1:0"},
	} {
		go func() { ended <- cmd.Main(ctx, cmd.Invocation{Args: args, Stdout: io.Discard, Stderr: io.Discard}) }()
	}
	t.Cleanup(func() { stop(); <-ended; <-ended })
	w := &world{base: "http://" + addr, browser: shared.browser, axe: shared.axe}
	require.Eventually(t, func() bool {
		reply, err := http.Get(w.base + "/api/info")
		if err != nil {
			return false
		}
		_ = reply.Body.Close()
		return reply.StatusCode == http.StatusOK
	}, 60*time.Second, 100*time.Millisecond)
	admin := w.enters(t, "admin@numbers.example", passphrase)
	numbers(t, w, admin, readers(t, owner, counts))
	log, err := kgo.NewClient(kgo.SeedBrokers(testenv.Kafka(t)...))
	require.NoError(t, err)
	defer log.Close()
	deadLetters(t, w, admin, log, prefix+"."+event.TopicEvents)
}

// readers read PostgreSQL and ClickHouse.
func readers(t *testing.T, ledger, archive string) *sources {
	t.Helper()
	books := testenv.Reader(t, ledger)
	options, err := clickhouse.ParseDSN(archive)
	require.NoError(t, err)
	conn, err := clickhouse.Open(options)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	// The others are named as their columns.
	columns := map[string]string{
		"publisher": "developer_id", "date": "day",
		"hour": "formatDateTime(toStartOfHour(received_at), '%Y-%m-%dT%H:00:00Z')",
	}
	of := &sources{}
	of.stored = func(campaign, advertiser string) (s stored) {
		require.NoError(t, conn.QueryRow(t.Context(),
			`SELECT toInt64(countIf(type = 'impression' AND class = 'counted')), toInt64(countIf(type = 'click' AND class = 'counted')), sum(charge), sum(minted)
			FROM events WHERE campaign_id = ?`, campaign).Scan(&s.Impressions, &s.Clicks, &s.Charged, &s.Minted))
		require.NoError(
			t,
			conn.QueryRow(
				t.Context(), `SELECT toInt64(countIf(type = 'impression' AND class = 'counted')) FROM events`,
			).Scan(&s.Network),
		)
		s.Balance = books(
			`SELECT sum(amount)::bigint FROM ledger_entry WHERE asset = 'USD' AND account = 'advertiser:' || $1::text`,
			advertiser,
		)[0][0].(int64)
		s.Spent = books(
			`SELECT sum(amount)::bigint FROM ledger_entry e JOIN ledger_transaction t ON t.id = e.transaction_id WHERE asset = 'USD' AND account = 'house:revenue' AND t.kind = 'charge'`,
		)[0][0].(int64)
		return s
	}
	events := func(whose, id, by string) map[string][4]int64 {
		found := map[string][4]int64{}
		list, err := conn.Query(t.Context(),
			`SELECT toString(`+cmp.Or(columns[by],
				by)+
				`), toInt64(countIf(type = 'impression' AND class = 'counted')), toInt64(countIf(type = 'click' AND class = 'counted')), sum(charge), sum(minted)
			FROM events WHERE `+whose+` = ? GROUP BY 1`, id)
		require.NoError(t, err)
		defer list.Close()
		for list.Next() {
			var key string
			var n [4]int64
			require.NoError(t, list.Scan(&key, &n[0], &n[1], &n[2], &n[3]))
			found[key] = n
		}
		require.NoError(t, list.Err())
		return found
	}
	of.campaign = func(campaign, by string) map[string][4]int64 { return events("campaign_id", campaign, by) }
	of.earned = func(developer, by string) map[string][4]int64 { return events("developer_id", developer, by) }
	of.requests = func(developer, by string) map[string][2]int64 {
		found := map[string][2]int64{}
		list, err := conn.Query(
			t.Context(),
			`SELECT toString(`+by+
				`), toInt64(uniqExact(auction_id)), toInt64(uniqExactIf(auction_id, reason = '')) FROM auctions WHERE developer_id = ? GROUP BY 1`, developer,
		)
		require.NoError(t, err)
		defer list.Close()
		for list.Next() {
			var key string
			var n [2]int64
			require.NoError(t, list.Scan(&key, &n[0], &n[1]))
			found[key] = n
		}
		require.NoError(t, list.Err())
		return found
	}
	of.waiting = func(developer string) [2]int64 {
		sum := func(account string) int64 {
			return books(
				`SELECT coalesce(sum(amount), 0)::bigint FROM ledger_entry WHERE asset = 'CREDIT' AND account LIKE $1::text`, account,
			)[0][0].(int64)
		}
		return [2]int64{sum("developer-pending:" + developer), sum("developer-held:"+developer) + sum("held:%")}
	}
	return of
}
