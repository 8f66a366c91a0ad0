package track

import (
	"context"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"adnet/ingress/ingresstest"
	"adnet/ingress/limits"
	"adnet/internal/day"
	"adnet/internal/token"
	"adnet/internal/traffic"
	"adnet/schemas/event"
)

const browser = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 " +
	"Safari/537.36"

// counter is a shared count of clicks with configurable replies.
type counter struct {
	allow   bool
	err     error
	lookups []NetworkClick
	rates   []Rate
}

func (c *counter) Allow(_ context.Context, click NetworkClick, rates []Rate) (bool, error) {
	c.lookups, c.rates = append(c.lookups, click), rates
	return c.allow, c.err
}

// guarded is a fixture with the rules of production.
func guarded(t *testing.T, change ...func(*Config)) (*fixture, *counter) {
	t.Helper()
	clicks := &counter{allow: true}
	f := newFixture(t, append([]func(*Config){func(c *Config) {
		c.Traffic = TrafficConfig{
			Agents: "on", ClickDelay: 300 * time.Millisecond, ViewDelay: time.Second, ClickRates: "1/1m,3/10m,10/1h,25/24h",
		}
	}}, change...)...)
	f.tracker.traffic.clicks = clicks
	views, err := limits.New(limits.Config{Views: 5}, limits.Deps{Now: func() time.Time { return f.Now }})
	require.NoError(t, err)
	f.tracker.traffic.views = views
	return f, clicks
}

// ad is a token of the integration method, made age ago.
func (f *fixture) ad(method string, age time.Duration) string {
	a := auction(f.Now.Add(-age))
	a.IntegrationMethod = method
	return f.Ring.Sign(token.PurposeReport, a)
}

// clickPath is the path of the click link of an ad of the integration method, made age ago.
func (f *fixture) clickPath(method string, age time.Duration) string {
	a := auction(f.Now.Add(-age))
	a.IntegrationMethod = method
	return "/s/" + f.Ring.Sign(token.PurposeClick, a)
}

// fire sends a request from an address with headers, and returns the rule that the recorded event
// broke.
func (f *fixture) fire(
	method, target, body, address string, header ...string,
) (rule string, w *httptest.ResponseRecorder) {
	f.T.Helper()
	before := len(f.Log.Requests())
	r := ingresstest.Request(method, target, body, header...)
	r.RemoteAddr = address
	w = f.Send(f.T, r)
	require.Len(f.T, f.Log.Requests(), before+1, "every event is recorded")
	return f.last().InvalidTraffic, w
}

func beacon(kind, auction string) string {
	return "/api/track?event=" + kind + "&campaign_id=" + campaignID.String() + "&auction_id=" + auction
}

// SECURITY.md.
func TestWhoSendsABrowsersBeacon(t *testing.T) {
	f, _ := guarded(t)
	for _, c := range []struct {
		name   string
		header []string
		want   string
		server bool // may be a publisher's server
	}{
		{"a browser", []string{"User-Agent", browser}, "", true},
		{
			"a listed robot",
			[]string{"User-Agent", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"},
			traffic.RuleBot, false,
		},
		{
			"a link preview", []string{"User-Agent", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"},
			traffic.RuleBot, false,
		},
		{"a tool", []string{"User-Agent", "python-requests/2.32"}, traffic.RuleBot, true},
		{"nobody", nil, traffic.RuleNoAgent, true},
		{"spaces", []string{"User-Agent", "   "}, traffic.RuleNoAgent, true},
		{
			"a prefetch", []string{"User-Agent", browser, "Sec-Purpose", "prefetch;prerender"}, traffic.RulePrefetch,
			false,
		},
		{"an old prefetch", []string{"User-Agent", browser, "Purpose", "Prefetch"}, traffic.RulePrefetch, false},
		{"a tool's prefetch", []string{"User-Agent", "curl/8.7.1", "Purpose", "Prefetch"}, traffic.RulePrefetch, false},
	} {
		for method, reader := range map[string]bool{
			"js_snippet": true, "npm_sdk": true, "openrtb": true, "mcp": false, "rest": false,
		} {
			for _, kind := range []string{"impression", "viewable", "close", "video_complete"} {
				want := c.want
				if !reader && c.server {
					want = ""
				}
				f.Now = f.Now.Add(time.Minute)
				rule, w := f.fire("GET", beacon(kind, f.ad(method, time.Second)), "", "192.0.2.1:1", c.header...)
				require.Equal(t, want, rule, "%s, %s, %s", c.name, method, kind)
				require.Equal(t, http.StatusOK, w.Code)
				require.Len(t, w.Body.Bytes(), 43, "answered like any other")
			}
		}
	}
	off, _ := guarded(t, func(c *Config) { c.Traffic.Agents = "off" })
	rule, _ := off.fire("GET", beacon("impression", off.ad("js_snippet", time.Second)), "", "192.0.2.1:1")
	require.Empty(t, rule)
	// No browser reports through a tool. Conversions never come from browsers.
	for kind, want := range map[string]string{"impression": traffic.RuleNoAgent, "conversion": ""} {
		_, err := f.tracker.Take(t.Context(), &Report{Event: kind, AuctionID: f.ad("js_snippet", time.Second)})
		require.NoError(t, err)
		require.Equal(t, want, f.last().InvalidTraffic, kind)
	}
}

// The follower of a link counts as the reader, whatever integration the publisher reports: chat
// applications fetch every link with GET to show a preview of it.
func TestLinkClicksComeFromTheReader(t *testing.T) {
	f, clicks := guarded(t)
	for _, method := range []string{"rest", "mcp", "js_snippet", "npm_sdk", "openrtb"} {
		for _, c := range []struct {
			header []string
			want   string
		}{
			{[]string{"User-Agent", browser}, ""},
			{[]string{"User-Agent", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"}, traffic.RuleBot},
			{
				[]string{"User-Agent", "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)"},
				traffic.RuleBot,
			},
			{[]string{"User-Agent", "TelegramBot (like TwitterBot)"}, traffic.RuleBot},
			{[]string{"User-Agent", "WhatsApp/2.23.20.0 A"}, traffic.RuleBot},
			{[]string{"User-Agent", "curl/8.7.1"}, traffic.RuleBot},
			{nil, traffic.RuleNoAgent},
			{[]string{"User-Agent", browser, "Sec-Purpose", "prefetch"}, traffic.RulePrefetch},
		} {
			f.Now = f.Now.Add(time.Hour)
			rule, w := f.fire("GET", f.clickPath(method, time.Second), "", "192.0.2.1:1", c.header...)
			require.Equal(t, c.want, rule, "%s %s", method, c.header)
			require.Equal(t, http.StatusFound, w.Code)
			require.Equal(
				t, landing, f.withoutClickID(w.Header().Get("Location")), "a preview shows where the ad leads",
			)
		}
	}
	require.Len(t, clicks.lookups, 5, "what no person follows is not counted for its sender")
	before := len(f.Log.Requests())
	for _, target := range []string{f.clickPath("rest", time.Second)} {
		require.Equal(t, http.StatusFound, f.Do(http.MethodHead, target, "").Code)
	}
	require.Len(t, f.Log.Requests(), before, "HEAD is no click")
}

// No parameter turns a server's beacon into a reader's: otherwise a stranger could make it invalid.
func TestParametersDoNotChangeTheRules(t *testing.T) {
	f, _ := guarded(t)
	ad := f.ad("rest", time.Second)
	rule, _ := f.fire(
		"GET", beacon("impression", ad)+"&integration_method=js_snippet", "", "192.0.2.1:1", "User-Agent", "curl/8.7.1",
	)
	require.Empty(t, rule)
	rule, _ = f.fire(
		"POST", "/api/track",
		`{"event":"impression","campaign_id":"`+campaignID.String()+`","auction_id":"`+ad+
			`","integration_method":"npm_sdk"}`, "192.0.2.1:1",
	)
	require.Empty(t, rule)
}

// A server may report clicks, but no more than readers of other publishers make.
func TestReportedClicksAboveTheNetworksRate(t *testing.T) {
	f, _ := guarded(t)
	counts, err := limits.New(limits.Config{PostedClickRate: 0.01}, limits.Deps{Now: func() time.Time { return f.Now }})
	require.NoError(t, err)
	f.tracker.traffic.posted = counts
	for range 49 {
		counts.Sold(developerID, f.Now)
	}
	var ads, reports []string
	for range 49 {
		ads = append(ads, f.ad("rest", time.Second))
		reports = append(
			reports, `{"event":"click","campaign_id":"`+campaignID.String()+`","auction_id":"`+ads[len(ads)-1]+`"}`,
		)
	}
	held := func() (n int) {
		w := f.Do(http.MethodPost, "/api/track?action=batch", `{"events":[`+strings.Join(reports, ",")+`]}`)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		events := f.Log.Requests()
		for _, e := range events[len(events)-49:] {
			if e.InvalidTraffic != "" {
				require.Equal(t, traffic.RulePostedRate, e.InvalidTraffic)
				n++
			}
		}
		return n
	}
	require.Equal(t, 37, held(), "10, and 2 that chance explains")
	require.Equal(t, 37, held(), "a repeat uses nothing up and is judged as before")
	auction := uuid.Must(uuid.NewV7())
	house := &event.Event{
		Type: event.Type_CLICK, Proof: event.Proof_SIGNED, House: true, AuctionId: auction[:],
		DeveloperId: developerID[:],
	}
	require.True(t, f.tracker.traffic.judge(t.Context(), house, Origin{posted: true}, f.Now))
	require.Empty(t, house.InvalidTraffic, "a click on a house ad is none of the network's")
	_, err = f.tracker.Take(t.Context(), &Report{Event: "click", AuctionID: f.ad("mcp", time.Second)})
	require.NoError(t, err)
	require.Equal(t, traffic.RulePostedRate, f.last().InvalidTraffic, "a tool's report is one, too")
	rule, _ := f.fire("GET", f.clickPath("rest", time.Second), "", "192.0.2.1:1", "User-Agent", browser)
	require.Empty(t, rule, "a reader's click is another matter")
}

// SECURITY.md, as far as a request shows it; settlement does the rest.
func TestClickTooFast(t *testing.T) {
	f, clicks := guarded(t)
	for age, want := range map[time.Duration]string{
		0: traffic.RuleClickTooFast, 299 * time.Millisecond: traffic.RuleClickTooFast, 300 * time.Millisecond: "",
		time.Hour: "",
	} {
		f.Now = f.Now.Add(time.Hour)
		ad := f.ad("rest", age)
		rule, w := f.fire("GET", f.clickPath("rest", age), "", "192.0.2.1:1", "User-Agent", browser)
		require.Equal(t, want, rule, "%s", age)
		require.Equal(t, http.StatusFound, w.Code)
		require.Equal(t, landing, f.withoutClickID(w.Header().Get("Location")), "the reader gets where the ad leads")
		rule, _ = f.fire("GET", beacon("click", ad), "", "192.0.2.1:1")
		require.Equal(t, want, rule, "a server's pixel")
		rule, _ = f.fire(
			"POST", "/api/track",
			`{"event_type":"click","campaign_id":"`+campaignID.String()+`","auction_id":"`+ad+`"}`, "192.0.2.1:1",
		)
		require.Equal(t, want, rule)
	}
	for _, lookups := range clicks.lookups {
		issued, _ := day.TimeOfUUID(lookups.Auction)
		require.GreaterOrEqual(t, f.Now.Sub(issued), 300*time.Millisecond, "an invalid click is not counted")
	}
	rule, _ := f.fire("GET", beacon("impression", f.ad("rest", 0)), "", "192.0.2.1:1")
	require.Empty(t, rule, "an impression may be at once")
	sandbox := auction(f.Now)
	sandbox.Sandbox = true
	rule, _ = f.fire("GET", "/s/"+f.Ring.Sign(token.PurposeClick, sandbox), "", "192.0.2.1:1")
	require.Empty(t, rule, "a sandbox click has its own verdict")
}

// SECURITY.md: which events count, and by which key.
func TestClicksAreCountedByNetwork(t *testing.T) {
	f, clicks := guarded(t)
	for address, want := range map[string]string{
		"203.0.113.77:1": "203.0.113.0/24", "[2001:db8:1:2ff::1]:1": "2001:db8:1:200::/56",
		"[::ffff:203.0.113.9]:1": "203.0.113.0/24",
	} {
		f.fire("GET", f.clickPath("rest", time.Second), "", address, "User-Agent", browser)
		require.Equal(t, want, clicks.lookups[len(clicks.lookups)-1].Network)
	}
	require.Equal(
		t, []Rate{{1, time.Minute}, {3, 10 * time.Minute}, {10, time.Hour}, {25, 24 * time.Hour}}, clicks.rates,
	)
	n := len(clicks.lookups)
	report := func(method string) string {
		rule, _ := f.fire(
			"POST", "/api/track",
			`{"event_type":"click","campaign_id":"`+campaignID.String()+`","auction_id":"`+f.ad(method,
				time.Second)+`"}`, "203.0.113.77:1", "User-Agent", browser,
		)
		return rule
	}
	clicks.allow = false
	require.Empty(t, report("rest"), "a server reports many people's clicks")
	require.Len(t, clicks.lookups, n)
	require.Equal(t, traffic.RuleClickRate, report("js_snippet"))
	for _, target := range []string{f.clickPath("mcp", time.Second), beacon("click", f.ad("rest", time.Second))} {
		rule, w := f.fire("GET", target, "", "203.0.113.77:1", "User-Agent", browser)
		require.Equal(t, traffic.RuleClickRate, rule)
		require.Less(t, w.Code, 400)
	}
	// After an error the store is not called for a moment. Meanwhile clicks are judged by the
	// clicks of this node, which had one from this network.
	clicks.err = ingresstest.ErrDown
	n = len(clicks.lookups)
	for _, want := range []string{traffic.RuleClickRate, traffic.RuleClickRate} {
		rule, _ := f.fire("GET", f.clickPath("rest", time.Second), "", "203.0.113.77:1", "User-Agent", browser)
		require.Equal(t, want, rule)
	}
	for _, want := range []string{"", traffic.RuleClickRate} {
		rule, _ := f.fire("GET", f.clickPath("rest", time.Second), "", "203.0.113.78:1", "User-Agent", browser)
		require.Equal(t, want, rule, "another reader")
	}
	require.Len(t, clicks.lookups, n+1)
	clicks.err, f.Now = nil, f.Now.Add(2*time.Second)
	rule, _ := f.fire("GET", f.clickPath("rest", time.Second), "", "203.0.113.77:1", "User-Agent", browser)
	require.Equal(t, traffic.RuleClickRate, rule)
}

// An emptied shared count lifts no rate on a node: SECURITY.md.
func TestEmptiedCountsLiftNoRate(t *testing.T) {
	f, clicks := guarded(t)
	for _, want := range []string{"", traffic.RuleClickRate, traffic.RuleClickRate} {
		rule, _ := f.fire("GET", f.clickPath("rest", time.Second), "", "203.0.113.77:1", "User-Agent", browser)
		require.Equal(t, want, rule)
	}
	require.Len(t, clicks.lookups, 3)
}

// Settlement counts the clicks of networks, and not those that servers report.
func TestClicksForSettlement(t *testing.T) {
	f, _ := guarded(t, func(c *Config) { c.Traffic.SharedNetworks = []string{"198.51.100.0/24"} })
	click := func(address string) *event.Event {
		f.Now = f.Now.Add(time.Minute)
		f.fire("GET", f.clickPath("rest", time.Second), "", address, "User-Agent", browser)
		require.False(t, f.last().Reported)
		return f.last()
	}
	require.Equal(t, click("203.0.113.77:1").NetworkMark, click("203.0.113.78:1").NetworkMark)
	require.Equal(t, click("198.51.100.1:1").NetworkMark, click("198.51.100.1:2").NetworkMark)
	require.NotEqual(
		t, click("198.51.100.1:1").NetworkMark, click("198.51.100.2:1").NetworkMark, "a gateway's address is a network",
	)
	f.fire("GET", beacon("click", f.ad("rest", time.Second)), "", "203.0.113.99:1", "User-Agent", browser)
	require.False(t, f.last().Reported, "a pixel")
	for method, reported := range map[string]bool{"rest": true, "js_snippet": false} {
		_, err := f.tracker.Take(t.Context(), &Report{Event: "click", AuctionID: f.ad(method, time.Second)})
		require.NoError(t, err)
		require.Equal(t, reported, f.last().Reported, method)
	}
}

func TestNetworkClicksOfADay(t *testing.T) {
	for rates, want := range map[string]int64{
		"1/1m,3/10m,10/1h,25/24h": 400, "1/24h": 16, "2/1m": 2 * 16 * 1440, "3/7h": 3 * 16 * 4, "off": 0,
	} {
		got, err := TrafficConfig{ClickRates: rates}.NetworkClicks()
		require.NoError(t, err)
		require.Equal(t, want, got, rates)
	}
	_, err := TrafficConfig{ClickRates: "x"}.NetworkClicks()
	require.ErrorContains(t, err, "ADNET_CLICK_RATES")
}

func TestViewsAboveTheRate(t *testing.T) {
	f, _ := guarded(t)
	view := func(method, address string) string {
		rule, w := f.fire("GET", beacon("impression", f.ad(method, time.Second)), "", address, "User-Agent", browser)
		require.Equal(t, http.StatusOK, w.Code)
		return rule
	}
	for range 5 {
		require.Empty(t, view("js_snippet", "203.0.113.1:1"))
	}
	require.Equal(t, traffic.RuleViewRate, view("js_snippet", "203.0.113.200:1"), "one network")
	require.Empty(t, view("js_snippet", "203.0.114.1:1"), "another network")
	for range 20 {
		require.Empty(t, view("rest", "203.0.113.1:1"), "a server shows many people's")
	}
	f.Now = f.Now.Add(62 * time.Second)
	require.Empty(t, view("js_snippet", "203.0.113.1:1"))
}

func TestTrafficSettings(t *testing.T) {
	for _, bad := range []string{"1", "0/1m", "2000000000000/1m", "x/1m", "1/1ms", "1/25h", "1/1m,", "-1/1m"} {
		_, err := TrafficConfig{ClickRates: bad}.rates()
		require.ErrorContains(t, err, "ADNET_CLICK_RATES", bad)
	}
	none, err := TrafficConfig{ClickRates: "off"}.rates()
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = newScreening(TrafficConfig{ClickDelay: -1}, Deps{})
	require.ErrorContains(t, err, "ADNET_CLICK_MIN_DELAY")
}

// No event contains an address, in whole or in part.
func TestEventsHoldNoAddress(t *testing.T) {
	f, _ := guarded(t)
	for _, target := range []string{
		beacon("impression", f.ad("js_snippet", time.Second)), f.clickPath("rest", time.Second),
	} {
		f.fire("GET", target, "", "203.0.113.77:4711", "User-Agent", browser, "X-Forwarded-For", "203.0.113.78")
		raw, err := proto.Marshal(f.last())
		require.NoError(t, err)
		require.NotContains(t, string(raw), "203.0.113")
		require.NotContains(t, string(raw), string([]byte{203, 0, 113}))
		require.NotContains(t, string(raw), browser)
	}
}

// Learning counts one click of a network a campaign and day, and cannot tell networks of campaigns
// or days apart.
func TestNetworkMarks(t *testing.T) {
	f, _ := guarded(t)
	mark := func(address string) uint32 {
		f.fire("GET", f.clickPath("rest", time.Second), "", address, "User-Agent", browser)
		return f.last().NetworkMark
	}
	first := mark("203.0.113.77:1")
	require.NotZero(t, first)
	require.Equal(t, first, mark("203.0.113.78:1"))
	require.NotEqual(t, first, mark("203.0.114.77:1"))
	f.Now = f.Now.AddDate(0, 0, 1)
	require.NotEqual(t, first, mark("203.0.113.77:1"))
	want := f.Ring.Network(token.NetworkOfClick, campaignID, day.Of(f.Now), "203.0.113.0/24")
	require.Equal(t, uint32(binary.BigEndian.Uint16(want[:]))+1, mark("203.0.113.77:1"))
}

// Settlement can name every rule that ingress writes.
func TestRulesAreAClosedList(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range traffic.InvalidRules() {
		require.Regexp(t, `^[a-z0-9_]{1,64}$`, rule)
		require.False(t, seen[rule])
		seen[rule] = true
	}
	require.Len(t, seen, 11)
}
