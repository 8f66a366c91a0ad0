package manage_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/account"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/report"
)

// event is one decided event, as the archive consumer hands it over.
func event(kind ledger.EventType, at time.Time, charge money.Micros) report.Row {
	return report.Row{
		EventID: uuid.New(), Type: kind, Verdict: ledger.OK, ReceivedAt: at, Charge: charge, AuctionID: uuid.New(),
		Format: "image", IntegrationMethod: "rest", HostApp: "discord",
	}
}

// happens archives events of a campaign of advertiser's, hosted by publisher.
func (w *world) happens(t *testing.T, advertiser, publisher *person, id string, rows ...report.Row) {
	t.Helper()
	for i := range rows {
		rows[i].CampaignID, rows[i].AdvertiserID, rows[i].DeveloperID = uuid.MustParse(id), advertiser.ID,
			publisher.DeveloperID
	}
	require.NoError(t, w.Reports.Insert(t.Context(), uuid.NewString(), rows))
}

// 4 impressions (one on the day before) and 1 click at 3.1 USD together, one duplicate.
func (w *world) busy(t *testing.T, advertiser, publisher *person, id string) {
	t.Helper()
	yesterday := w.Now.AddDate(0, 0, -1)
	other, duplicate := event(ledger.Impression, w.Now, 0), event(ledger.Impression, w.Now, 0)
	other.Format, other.HostApp, other.IntegrationMethod = "native", "slack", "mcp"
	duplicate.Verdict = ledger.Duplicate
	w.happens(t, advertiser, publisher, id,
		event(ledger.Impression, yesterday, money.USD), event(ledger.Impression, w.Now, money.USD),
		event(ledger.Impression, w.Now, money.USD),
		other, duplicate, event(ledger.Click, w.Now, money.USD/10))
}

func TestStatsReply(t *testing.T) {
	w := newWorld(t)
	me, publisher := w.advertiser(t), w.advertiser(t)
	id := me.creates(t)
	w.busy(t, me, publisher, id)
	body := me.Get(t, "/api/stats").As(200)
	for field, want := range map[string]any{
		"type": "overview", "since": "2026-02-09", "until": "2026-03-10", "timezone": "UTC", "impressions": 4.0,
		"clicks":    1.0,
		"spend_usd": 3.1, "ctr": 0.25, "ecpm": 775.0, "billed": 4.0, "duplicates": 1.0, "conversions": 0.0,
		"as_of": "2026-03-10T12:00:00Z",
	} {
		require.Equal(t, want, body[field], field)
	}
	require.Len(t, body["daily"], 2)
	for day, want := range []object{
		{"date": "2026-03-09", "impressions": 1.0, "clicks": 0.0, "spend_usd": 1.0, "ctr": 0.0, "ecpm": 1000.0},
		{"date": "2026-03-10", "impressions": 3.0, "clicks": 1.0, "spend_usd": 2.1, "ctr": 1.0 / 3, "ecpm": 700.0},
	} {
		for field, value := range want {
			require.Equal(t, value, at(body, "daily", day, field), field)
		}
	}
	require.NotContains(t, body, "breakdown")

	empty := w.advertiser(t).Get(t, "/api/stats?breakdown=format").As(200)
	require.Equal(t, []any{0.0, 0.0, 0.0}, []any{empty["impressions"], empty["ctr"], empty["ecpm"]})
	require.Equal(t, []any{}, empty["daily"])
	require.Equal(t, []any{}, empty["breakdown"])
}

func TestStatsBreakdown(t *testing.T) {
	w := newWorld(t)
	me, publisher := w.advertiser(t), w.advertiser(t)
	id := me.creates(t)
	w.busy(t, me, publisher, id)
	for by, want := range map[string][]string{
		"campaign": {id}, "format": {"image", "native"}, "host_app": {"discord", "slack"},
		"integration_method": {"rest", "mcp"},
		"day":                {"2026-03-10", "2026-03-09"},
	} {
		body := me.Get(t, "/api/stats?breakdown="+by).As(200)
		var keys []string
		impressions := 0.0
		for _, group := range body["breakdown"].([]any) {
			keys = append(keys, at(group, "key").(string))
			impressions += at(group, "impressions").(float64)
		}
		require.Equal(t, want, keys, "larger spend first")
		require.Equal(t, body["impressions"], impressions)
		require.Equal(t, by, body["breakdown_by"])
	}
	hours := me.Get(t, "/api/stats?breakdown=hour").As(200)
	require.Len(t, hours["breakdown"], 2, "in the order of time")
	require.Less(t, at(hours, "breakdown", 0, "key"), at(hours, "breakdown", 1, "key"))
	require.Equal(
		t, publisher.DeveloperID.String(),
		at(me.Get(t, "/api/stats?breakdown=publisher").As(200), "breakdown", 0, "key"),
	)
	require.Equal(
		t, "since", me.Get(t, "/api/stats?breakdown=hour&since=2026-01-01").Fails(400, "invalid_request")["field"],
	)
	table := me.Get(t, "/api/stats?breakdown=host_app&format=csv")
	require.Equal(t, 200, table.Code)
	lines := strings.Split(strings.TrimSpace(table.Text), "\n")
	require.Len(t, lines, 3)
	require.True(t, strings.HasPrefix(lines[0], "host_app,impressions,clicks,"), lines[0])
	require.Equal(t, strings.Count(lines[0], ","), strings.Count(lines[1], ","))
	require.True(t, strings.HasPrefix(lines[1], "discord,"), lines[1])
	require.True(t, strings.HasPrefix(me.Get(t, "/api/stats?format=csv").Text, "day,impressions,"))
	for _, by := range []string{
		"Hour", "Campaign", "day,day", "day,format,hour", "day,", "reason", "day;format", "1;DROP TABLE events",
	} {
		got := me.Get(t, "/api/stats?breakdown="+url.QueryEscape(by)).Fails(400, "invalid_request")
		require.Equal(t, "breakdown", got["field"], by)
	}
	twice := me.Get(t, "/api/stats?breakdown=day&breakdown=format").Fails(400, "invalid_request")
	require.Equal(t, "breakdown", twice["field"])
}

// Requests of a publisher are its own, with the reasons why there was no ad.
func TestRequests(t *testing.T) {
	w := newWorld(t)
	me, other := w.advertiser(t), w.advertiser(t)
	requests := func(who *person, at time.Time, reason string) report.Auction {
		return report.Auction{AuctionID: uuid.Must(uuid.NewV7()), At: at, DeveloperID: who.DeveloperID, Reason: reason}
	}
	require.NoError(t, w.Reports.InsertAuctions(t.Context(), "a", []report.Auction{
		requests(me, w.Now, ""), requests(me, w.Now.Add(time.Second), "no_match"), requests(me, w.Now, "no_match"),
		requests(me, w.Now, "paced"), requests(other, w.Now, ""),
		requests(me, w.Now.AddDate(0, 0, -40), ""),
	}))
	got := me.Get(t, "/api/stats/requests").As(200)
	require.Equal(t, object{
		"since": "2026-02-09", "until": "2026-03-10", "requests": 4.0, "filled": 1.0, "fill_rate": 0.25,
		"last_at": "2026-03-10T12:00:01Z",
		"no_fill": []any{object{"reason": "no_match", "requests": 2.0}, object{"reason": "paced", "requests": 1.0}},
	}, got)
	placed := requests(me, w.Now.AddDate(0, 0, -60), "")
	placed.Surface = "welcome"
	unfilled := placed
	unfilled.AuctionID, unfilled.Reason = uuid.Must(uuid.NewV7()), "no_match"
	require.NoError(t, w.Reports.InsertAuctions(t.Context(), "b", []report.Auction{placed, unfilled}))
	by := me.Get(t, "/api/stats/requests?since=2026-01-09&until=2026-01-09&breakdown=surface").As(200)
	require.Equal(t, "surface", by["breakdown_by"])
	require.Equal(t, []any{object{"key": "welcome", "requests": 2.0, "filled": 1.0, "fill_rate": 0.5}}, by["breakdown"])
	table := me.Get(t, "/api/stats/requests?since=2026-01-09&until=2026-01-09&breakdown=surface&format=csv")
	require.Equal(t, "surface,requests,filled,fill_rate\nwelcome,2,1,0.5\n", table.Text)
	require.Contains(t, table.Header.Get("Content-Disposition"), "adnet-requests-2026-01-09-2026-01-09-surface.csv")
	require.Equal(t, "reason,requests\n,1\nno_match,2\npaced,1\n", me.Get(t, "/api/stats/requests?format=csv").Text)
	require.Equal(
		t, "breakdown", me.Get(t, "/api/stats/requests?breakdown=campaign").Fails(400, "invalid_request")["field"],
	)
	none := other.Get(t, "/api/stats/requests?since=2026-03-01&until=2026-03-02").As(200)
	require.Nil(t, none["last_at"])
	require.Empty(t, none["no_fill"])
	me.Get(t, "/api/stats/requests?developer_id="+other.DeveloperID.String()).Fails(403, "forbidden")
	w.admin(t).Get(t, "/api/stats/requests?developer_id="+other.DeveloperID.String()).As(200)
	boss := w.admin(t)
	all := boss.Get(t, "/api/admin/requests").As(200)
	require.Equal(t, 5.0, all["requests"], "of all publishers")
	require.Equal(t, got["no_fill"], all["no_fill"])
	me.Get(t, "/api/admin/requests").Fails(403, "forbidden")
	boss.Get(t, "/api/admin/requests?since=2026-01-01&until=2026-03-01").Fails(400, "invalid_request")
	me.Get(t, "/api/stats/requests?since=x").Fails(400, "invalid_request")
	w.nobody().Get(t, "/api/stats/requests").Fails(401, "invalid_token")
}

func TestStatsRange(t *testing.T) {
	w := newWorld(t)
	me, publisher := w.advertiser(t), w.advertiser(t)
	w.busy(t, me, publisher, me.creates(t))
	for query, want := range map[string]float64{
		"since=2026-03-10":                  3,
		"since=2026-03-09&until=2026-03-09": 1,
		"until=2026-03-09":                  1,
		"until=2026-03-08":                  0,
		"since=2026-03-10&until=2027-01-01": 3,
		"until=2027-01-01":                  4,
		"since=2024-02-29":                  4,
	} {
		require.Equal(t, want, me.Get(t, "/api/stats?"+query).As(200)["impressions"], query)
	}
	for _, query := range []string{
		"since=2026-03-11", "since=2026-03-10&until=2026-03-09", "since=2020-01-01", "since=yesterday",
		"since=2026-02-30", "since=2026-3-1",
		"until=2026-03-10T00:00:00Z", "until=10.03.2026", "since=1999-12-31&until=2000-01-01", "until=99999-01-01",
		"since=" + url.QueryEscape("2026-03-01' OR 1=1 --"),
	} {
		me.Get(t, "/api/stats?"+query).Fails(400, "invalid_request")
	}
	me.Get(t, "/api/stats?type=everything").Fails(400, "invalid_request")
}

func TestStatsOwners(t *testing.T) {
	w := newWorld(t)
	me, publisher, other, admin := w.advertiser(t), w.advertiser(t), w.advertiser(t), w.admin(t)
	id := me.creates(t)
	w.busy(t, me, publisher, id)
	key, err := w.accounts.CreateKey(t.Context(), publisher.User, account.KeyRequest{Kind: account.KindPublisher})
	require.NoError(t, err)
	seat, err := w.accounts.CreateKey(t.Context(), admin.User, account.KeyRequest{Kind: account.KindSeat})
	require.NoError(t, err)
	// A sandbox key with a valid checksum that any caller can compute: it was never issued.
	const orphan = "pub_test_YXtiwHsy1PJG1zRthC7O8ta71dRosY4VIrig"
	bearer := func(text string) *person { return w.caller(text) }
	dev := publisher.DeveloperID.String()

	for name, tc := range map[string]struct {
		who         *person
		query       string
		status      int
		impressions float64
	}{
		"overview of the advertiser":    {me, "", 200, 4},
		"overview of another":           {other, "type=overview", 200, 0},
		"overview of everybody":         {admin, "type=overview", 200, 4},
		"overview with a publisher key": {bearer(key.Plain), "", 401, 0},
		"own campaign":                  {me, "type=campaign&campaign_id=" + id, 200, 4},
		"campaign as admin":             {admin, "type=campaign&campaign_id=" + id, 200, 4},
		"another's campaign":            {other, "type=campaign&campaign_id=" + id, 403, 0},
		"unknown campaign":              {me, "type=campaign&campaign_id=" + uuid.NewString(), 404, 0},
		"nil campaign":                  {me, "type=campaign&campaign_id=" + uuid.Nil.String(), 404, 0},
		"no campaign":                   {me, "type=campaign", 400, 0},
		"no id":                         {me, "type=campaign&campaign_id=x", 400, 0},
		"own publisher side":            {publisher, "type=developer", 200, 4},
		"own publisher side by id":      {publisher, "type=developer&developer_id=" + dev, 200, 4},
		"own publisher side by key=":    {publisher, "type=developer&key=" + dev, 200, 4},
		"publisher key":                 {bearer(key.Plain), "type=developer", 200, 4},
		"publisher key with key=":       {bearer(key.Plain), "type=developer&key=" + dev, 200, 4},
		"publisher key, another's id": {
			bearer(key.Plain), "type=developer&key=" + other.DeveloperID.String(), 403, 0,
		},
		"publisher as admin":             {admin, "type=developer&key=" + dev, 200, 4},
		"another publisher":              {other, "type=developer&developer_id=" + dev, 403, 0},
		"every publisher":                {other, "type=developer&developer_id=" + uuid.Nil.String(), 403, 0},
		"the advertiser is no publisher": {me, "type=developer", 200, 0},
		"seat key":                       {bearer(seat.Plain), "type=developer", 401, 0},
		"public sandbox key":             {bearer(account.PublicSandboxKey), "type=developer", 401, 0},
		"sandbox key of nobody":          {bearer(orphan), "type=developer", 401, 0},
		"sandbox key of nobody, nil id":  {bearer(orphan), "type=developer&key=" + uuid.Nil.String(), 401, 0},
		"no login":                       {w.nobody(), "", 401, 0},
		"no login, campaign":             {w.nobody(), "type=campaign&campaign_id=" + id, 401, 0},
		"no login, developer":            {w.nobody(), "type=developer&key=" + dev, 401, 0},
	} {
		t.Run(name, func(t *testing.T) {
			body := tc.who.Get(t, "/api/stats?"+tc.query).As(tc.status)
			if tc.status == 200 {
				require.Equal(t, tc.impressions, body["impressions"])
			}
		})
	}
}

// A publisher reads what Credits are worth, beside what advertisers paid for the same impressions.
func TestWorthOfCredits(t *testing.T) {
	w := newWorld(t)
	me, publisher := w.advertiser(t), w.advertiser(t)
	earned, unpaid := event(ledger.Impression, w.Now, money.USD), event(ledger.Impression, w.Now, money.USD)
	earned.Minted = 1
	w.happens(t, me, publisher, me.creates(t), earned, unpaid)
	body := publisher.Get(t, "/api/stats?type=developer").As(200)
	require.Equal(t, 0.005, body["credit_value_usd"])
	require.Equal(t, 2.5, body["publisher_ecpm"], "one Credit of two impressions")
	require.Equal(t, 1000.0, body["ecpm"])
	none := me.Get(t, "/api/stats?type=developer").As(200)
	require.Equal(t, 0.0, none["publisher_ecpm"])
	require.NotContains(t, me.Get(t, "/api/stats").As(200), "credit_value_usd")
}

func TestAggregate(t *testing.T) {
	w := newWorld(t)
	me, admin := w.advertiser(t), w.admin(t)
	w.busy(t, me, me, me.creates(t))
	for range 2 { // idempotent
		require.Equal(
			t, object{"aggregated": true, "rows": 1.0, "date": "2026-03-09"},
			admin.Post(t, "/api/stats?type=aggregate", nil).As(200), "yesterday by default",
		)
		require.Equal(
			t, object{"aggregated": true, "rows": 2.0, "date": "2026-03-10"},
			admin.Post(t, "/api/stats?type=aggregate&date=2026-03-10", nil).As(200),
		)
		require.EqualValues(t, 0, admin.Post(t, "/api/stats?type=aggregate&date=2026-01-01", nil).As(200)["rows"])
	}
	for _, date := range []string{"2026-03-11", "tomorrow", "2026-3-1"} {
		admin.Post(t, "/api/stats?type=aggregate&date="+date, nil).Fails(400, "invalid_request")
	}
	for _, query := range []string{"", "?type=overview"} {
		admin.Post(t, "/api/stats"+query, nil).Fails(400, "invalid_request")
	}
	for _, p := range []*person{me, w.nobody()} {
		p.Post(t, "/api/stats?type=aggregate", nil).Fails(401, "invalid_token")
	}
}
