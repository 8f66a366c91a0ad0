package manage_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/auction/lexicon"
	"adnet/auction/words"
	"adnet/internal/account"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/report"
)

// called gives p's account an approved name.
func (w *world) called(t *testing.T, p *person, name string) {
	t.Helper()
	_, err := w.Store.Accounts.UpdateUser(t.Context(), p.ID, func(u *account.User) error {
		u.Company, u.Approved = name, account.Sponsor{Name: name}
		return nil
	})
	require.NoError(t, err)
}

func (w *world) impressions(price money.Micros, n int) (rows []report.Row) {
	for range n {
		row := event(ledger.Impression, w.Now.AddDate(0, 0, -1), price)
		row.Price = price
		rows = append(rows, row)
	}
	return rows
}

// Two dimensions are one call, with the names that the reader may see, in JSON and CSV.
func TestTwoBreakdowns(t *testing.T) {
	w := newWorld(t)
	me, publisher, boss := w.advertiser(t), w.advertiser(t), w.admin(t)
	w.called(t, me, "Acme Ltd")
	id := me.creates(t)
	w.busy(t, me, publisher, id)
	body := boss.Get(t, "/api/stats?breakdown=advertiser,day").As(200)
	require.Equal(t, "advertiser", body["breakdown_by"])
	require.Equal(t, "day", body["second_by"])
	require.Len(t, body["breakdown"], 2)
	first := at(body, "breakdown", 0).(object)
	require.Equal(
		t, []any{me.ID.String(), "Acme Ltd", "2026-03-10", 2.1},
		[]any{first["key"], first["name"], first["second"], first["spend_usd"]},
	)
	require.NotContains(t, first, "second_name")
	table := boss.Get(t, "/api/stats?breakdown=day,publisher&format=csv")
	require.True(t, strings.HasPrefix(table.Text, "day,publisher,publisher_name,impressions,"), table.Text)
	require.Contains(
		t, table.Header.Get("Content-Disposition"), "adnet-stats-2026-02-09-2026-03-10-day-publisher.csv",
	)
	require.Contains(t, table.Text, publisher.DeveloperID.String()+","+publisher.Email+",")
	mine := me.Get(t, "/api/stats?breakdown=campaign,publisher").As(200)
	row := at(mine, "breakdown", 0).(object)
	require.Equal(
		t, []any{id, "Query Postgres in plain English", publisher.DeveloperID.String(), ""},
		[]any{row["key"], row["name"], row["second"], row["second_name"]}, "a name that was not approved stays hidden",
	)
	w.called(t, publisher, "Chat Co")
	mine = me.Get(t, "/api/stats?breakdown=publisher").As(200)
	require.Equal(t, "Chat Co", at(mine, "breakdown", 0, "name"))
}

// A publisher reads what its advertisers paid on closed days, in sums that state no bid.
func TestPublishersAdvertisers(t *testing.T) {
	w := newWorld(t)
	big, small, publisher := w.advertiser(t), w.advertiser(t), w.advertiser(t)
	w.called(t, big, "Acme Ltd")
	w.called(t, small, "Tiny Ltd")
	w.happens(t, big, publisher, big.creates(t), w.impressions(2000, 100)...)
	w.happens(t, big, publisher, big.creates(t), w.impressions(3000, 50)...)
	w.happens(t, small, publisher, small.creates(t), w.impressions(1000, 150)...)
	other := w.advertiser(t)
	w.happens(t, other, publisher, other.creates(t), w.impressions(5000, 20)...)
	today := w.impressions(7000, 1)
	today[0].ReceivedAt = w.Now
	w.happens(t, small, publisher, small.creates(t), today...)

	const path = "/api/stats?type=developer&breakdown="
	for _, by := range []string{"advertiser", "advertiser,day", "day,advertiser"} {
		body := publisher.Get(t, path+by).As(200)
		require.Equal(t, "2026-03-09", body["until"], "closed days")
		rows := body["breakdown"].([]any)
		require.Len(t, rows, 2, by)
		impressions, spend := 0.0, 0.0
		for _, r := range rows {
			impressions += at(r, "impressions").(float64)
			spend += at(r, "spend_usd").(float64)
		}
		require.Equal(t, []any{320.0, 0.6}, []any{impressions, money2(spend)}, "the rows add up")
		require.Equal(t, body["impressions"], impressions)
	}
	rows := publisher.Get(t, path+"advertiser").As(200)["breakdown"].([]any)
	require.Equal(
		t, []any{big.ID.String(), "Acme Ltd", 0.35, "others", "", 0.25},
		[]any{
			at(rows[0], "key"), at(rows[0], "name"), at(rows[0], "spend_usd"), at(rows[1], "key"), at(rows[1], "name"),
			at(rows[1], "spend_usd"),
		},
	)
	require.NotContains(t, publisher.Get(t, path+"advertiser").Text, small.ID.String())
	for query, field := range map[string]string{
		"&until=2026-03-10": "until", "&since=2025-01-01": "since",
	} {
		require.Equal(t, field, publisher.Get(t, path+"advertiser"+query).Fails(400, "invalid_request")["field"])
	}
	for _, by := range []string{
		"campaign", "campaign,day", "advertiser,host_app", "hour,advertiser", "advertiser,campaign",
	} {
		require.Equal(t, "breakdown", publisher.Get(t, path+by).Fails(403, "forbidden")["field"], by)
	}
	boss := w.admin(t)
	all := boss.Get(t, path+"advertiser&developer_id="+publisher.DeveloperID.String()).As(200)
	require.Len(t, all["breakdown"], 3, "an administrator sees all")
	boss.Get(t, path+"campaign&developer_id="+publisher.DeveloperID.String()).As(200)
}

func money2(amount float64) float64 { return float64(int(amount*1e6+0.5)) / 1e6 }

// The requests of all publishers are an administrator's, by publisher, day and reason.
func TestRequestsByPublisher(t *testing.T) {
	w := newWorld(t)
	me, other, boss := w.advertiser(t), w.advertiser(t), w.admin(t)
	w.called(t, me, "Chat Co")
	var rows []report.Auction
	for who, reasons := range map[*person][]string{me: {"", "no_match"}, other: {"paced"}} {
		for _, reason := range reasons {
			rows = append(rows, report.Auction{
				AuctionID: uuid.Must(uuid.NewV7()), At: w.Now, DeveloperID: who.DeveloperID, Reason: reason,
			})
		}
	}
	require.NoError(t, w.Reports.InsertAuctions(t.Context(), "a", rows))
	for _, path := range []string{"/api/stats/requests", "/api/admin/requests"} {
		body := boss.Get(t, path+"?breakdown=publisher").As(200)
		require.Equal(t, []any{
			object{
				"key": me.DeveloperID.String(), "name": "Chat Co", "requests": 2.0, "filled": 1.0, "fill_rate": 0.5,
			},
			object{
				"key": other.DeveloperID.String(), "name": other.Email, "requests": 1.0, "filled": 0.0, "fill_rate": 0.0,
			},
		}, body["breakdown"])
		require.Equal(
			t, "since", boss.Get(t, path+"?breakdown=publisher&since=2026-01-01").Fails(400, "invalid_request")["field"],
		)
	}
	mine := me.Get(t, "/api/stats/requests?breakdown=publisher,reason").As(200)
	require.Len(t, mine["breakdown"], 2, "its own")
	require.NotContains(t, me.Get(t, "/api/stats/requests?breakdown=publisher").Text, other.DeveloperID.String())
	table := boss.Get(t, "/api/admin/requests?breakdown=reason,day&format=csv")
	require.Equal(
		t, "reason,day,requests,filled,fill_rate\n,2026-03-10,1,1,1\nno_match,2026-03-10,1,0,0\npaced,2026-03-10,1,0,0\n",
		table.Text,
	)
	require.Contains(t, table.Header.Get("Content-Disposition"), "-reason-day.csv")
}

// An advertiser reads the words of its own campaigns that enough people used, and a publisher none.
func TestTerms(t *testing.T) {
	w := newWorld(t)
	me, other, publisher := w.advertiser(t), w.advertiser(t), w.advertiser(t)
	id := me.creates(t)
	known, foreign := lexicon.TermID(term(t, "Postgres")), lexicon.TermID(term(t, "holidays"))
	var asked []report.Auction
	for i := range int64(50) {
		asked = append(asked, report.Auction{
			AuctionID: uuid.Must(uuid.NewV7()), At: w.Now, DeveloperID: uuid.UUID{byte(i % 3), 1},
			Outcome: report.Outcome{Terms: sorted(known, foreign), SessionMark: i + 1, PClick: 1},
		})
	}
	require.NoError(t, w.Reports.InsertAuctions(t.Context(), "a", asked))
	seen, plain := event(ledger.Impression, w.Now, 3000), event(ledger.Impression, w.Now, 1000)
	seen.AuctionID = asked[0].AuctionID
	w.happens(t, me, publisher, id, seen, plain)
	for _, path := range []string{
		"/api/stats?breakdown=term", "/api/stats?type=campaign&breakdown=term&campaign_id=" + id,
	} {
		body := me.Get(t, path).As(200)
		rows := body["breakdown"].([]any)
		require.Len(t, rows, 2, path)
		require.Equal(
			t, []any{"postgres", 0.003, "others", 0.001},
			[]any{at(rows[0], "key"), at(rows[0], "spend_usd"), at(rows[1], "key"), at(rows[1], "spend_usd")},
		)
	}
	none := other.Get(t, "/api/stats?breakdown=term").As(200)
	require.Empty(t, none["breakdown"])
	require.Equal(
		t, "breakdown", publisher.Get(t, "/api/stats?type=developer&breakdown=term").Fails(403, "forbidden")["field"],
	)
	for query, field := range map[string]string{"term,day": "breakdown", "term&since=2026-01-01": "since"} {
		require.Equal(t, field, me.Get(t, "/api/stats?breakdown="+query).Fails(400, "invalid_request")["field"])
	}
}

// term returns the term of a word as campaigns state it.
func term(t *testing.T, word string) string {
	t.Helper()
	var r words.Reader
	r.ReadStated(word, words.Unit)
	require.Len(t, r.Terms(), 1)
	return r.Terms()[0].Text
}

func sorted(ids ...uint32) []uint32 {
	slices.Sort(ids)
	return ids
}
