package cmd_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/analytics/clickhouse"
	"adnet/auction/lexicon"
	"adnet/internal/ledger"
	"adnet/internal/report"
	"adnet/internal/testenv"
)

// subjects are what ads and requests of TestTrain are about, and their terms.
var subjects = [][2]string{
	{"zyzzyva", "zyzzyva"}, {"okapi", "okapi"}, {"quokka", "quokka"}, {"axolotl", "axolotl"},
	{"tardigrade", "tardigrad"},
}

// visits stores a day on which readers click on ads of what they ask about, and view one in three.
func visits(t *testing.T, store *clickhouse.Store, campaigns []uuid.UUID, day time.Time) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(day.Unix()), 1))
	var auctions []report.Auction
	var events []report.Row
	for n := range 6000 {
		ad, requests := rng.IntN(len(subjects)), rng.IntN(len(subjects))
		a := report.Auction{
			AuctionID: uuid.New(), At: day.Add(time.Hour), DeveloperID: uuid.UUID{5, byte(n % 30)},
			CampaignID: campaigns[ad],
			Outcome: report.Outcome{
				Terms: []uint32{lexicon.TermID(subjects[requests][1])}, SessionMark: int64(1 + n%65_000), PClick: 20_000,
			},
		}
		auctions = append(auctions, a)
		event := report.Row{
			EventID: uuid.New(), ReceivedAt: a.At, Type: ledger.Impression, Verdict: ledger.OK, AuctionID: a.AuctionID,
			CampaignID:   a.CampaignID,
			AdvertiserID: uuid.UUID{8, byte(ad)}, DeveloperID: a.DeveloperID,
			IntegrationMethod: "js_snippet", // of a page: only these report views that readers had
		}
		events = append(events, event)
		if n/30%3 == 0 { // of each publisher
			viewed := event
			viewed.EventID, viewed.Type = uuid.New(), ledger.Viewable
			events = append(events, viewed)
		}
		rate := 0.05
		if ad == requests {
			rate = 0.8
		}
		if rng.Float64() < rate {
			event.EventID, event.Type, event.NetworkMark = uuid.New(), ledger.Click, int64(1+n)
			events = append(events, event)
		}
	}
	// The first block makes the words known, and is not kept itself.
	require.NoError(t, store.InsertAuctions(t.Context(), "first "+day.String(), auctions[:500]))
	require.NoError(t, store.InsertAuctions(t.Context(), "rest "+day.String(), auctions[500:]))
	require.NoError(t, store.Insert(t.Context(), day.String(), events))
}

// TestTrain trains on the clicks of two days, sees why a version is refused, brings one to decide
// all auctions, and rolls it back on a node that serves.
func TestTrain(t *testing.T) {
	i := install(t)
	_, err := i.run("migrate")
	require.NoError(t, err)
	out, err := i.run("train", "--explain")
	require.NoError(t, err)
	require.Contains(t, out, "nothing has been learnt yet")
	_, err = i.run("train", "--rollback")
	require.Error(t, err, "there is nothing to roll back")
	_, err = i.run("train", "--date", "yesterday")
	require.Error(t, err)

	i.env = append(i.env, "ADNET_TRAIN=off")
	i.serve("consumers")
	node := i.serve("ingress")
	api := client{t, node.Base}
	publisher := api.register("train-pub@e2e.example")
	key := api.do(
		"POST", "/api/keys", publisher.token, `{"kind":"publisher","name":"bot"}`, http.StatusCreated,
	)["key"].(string)
	var campaigns []uuid.UUID
	for _, subject := range subjects {
		// Of a family of its own, so that its first campaign is live at once.
		owner := api.register(subject[0] + "@" + subject[0] + ".example")
		created := api.do("POST", "/api/campaigns", owner.token,
			fmt.Sprintf(`{"advertiser_id":%q,"headline":"The %s in pictures","cta_url":"https://%s.example/","bid_amount":5}`,
				owner.id, subject[0], subject[0]), http.StatusCreated)
		campaigns = append(campaigns, uuid.MustParse(created["campaign"].(map[string]any)["id"].(string)))
	}
	today := time.Now().UTC().Truncate(24 * time.Hour)
	out, err = i.run("train")
	require.NoError(t, err)
	require.Contains(t, out, "version 1: refused")
	require.Contains(t, out, "0 clicks on the day that judges: at least 1000 are needed")
	out, err = i.run("train", "--explain")
	require.NoError(t, err)
	require.Contains(t, out, "version 1: refused since")
	require.Contains(t, out, "at least 1000 are needed")
	require.Contains(
		t, out, "0 conversions of 0 clicks; log loss 0.000, in force 0.000; rates in force kept: too few conversions",
	)

	store, err := clickhouse.Open(t.Context(), clickhouse.Config{URL: i.setting("ADNET_CLICKHOUSE_URL")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	const nights, before = 9, 4
	for back := nights + before; back > 0; back-- {
		visits(t, store, campaigns, today.AddDate(0, 0, -back))
	}
	var done struct {
		Version int64
		Stage   string
		Report  struct {
			Why []string

			Ratio float64 `json:"predicted_observed"`
		}
	}
	// Five campaigns and as many words are few to calibrate on: the gate refuses some nights'
	// tables.
	for back := nights; back > 0 && done.Stage != "shadow"; back-- {
		out, err = i.run("train", "--json", "--date", today.AddDate(0, 0, -back).Format(time.DateOnly))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal([]byte(out), &done))
		require.EqualValues(t, 2+nights-back, done.Version)
	}
	require.Equal(t, "shadow", done.Stage, done.Report.Why)
	live := strconv.FormatInt(done.Version, 10)
	require.InDelta(t, 1, done.Report.Ratio, 0.1)
	out, err = i.run("train")
	require.NoError(t, err)
	require.Contains(t, out, "version "+live+": shadow", "the day before the shadow does not judge it")

	model := func() string {
		return api.do("POST", "/api/benna?op=engine-status", "", "", http.StatusOK)["model_version"].(string)
	}
	view := func() any {
		return api.do(
			"POST", "/api/benna?op=engine-status", "", "", http.StatusOK,
		)["weights"].(map[string]any)["p_view"]
	}
	first := model()
	require.Equal(t, 0.5, view())
	require.Regexp(t, `^benna-2\.[0-9a-f]{8}$`, first)
	testenv.Exec(t, i.setting("ADNET_POSTGRES_URL"), `UPDATE ranking_weights SET stage = 'all' WHERE number = `+live)
	require.Eventually(t, func() bool { return model() == first+"-"+live }, 2*time.Second, 50*time.Millisecond)
	require.InDelta(t, 1./3, view(), 0.02, "one impression in three is viewed")
	ad := api.do(
		"POST", "/v1/ad-request", key, `{"context":"where does the okapi live"}`, http.StatusOK,
	)["ad"].(map[string]any)
	require.Equal(t, campaigns[1].String(), ad["ad_id"])

	out, err = i.run("train", "--rollback")
	require.NoError(t, err)
	require.Contains(t, out, "version "+live+": refused since")
	require.Eventually(
		t, func() bool { return model() == first }, 2*time.Second, 50*time.Millisecond, "a rollback takes 2 s",
	)
	require.Equal(t, 0.5, view())
	audit, err := i.run("audit")
	require.NoError(t, err)
	require.Contains(t, audit, "ranking_weights")
}
