package quarantine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/store/memory"
	"adnet/internal/traffic"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// days is a store with given publisher days.
type days struct {
	*memory.Publishers
	list []traffic.PublisherDay

	readers []traffic.PublisherDay
	err     error

	ads          []traffic.ShownAds
	owners       map[uuid.UUID]uuid.UUID
	since, until time.Time // of the last call of ShownAds
	away         error     // of the analytics store

	young    map[uuid.UUID]uuid.UUID
	models   map[uuid.UUID]campaign.BillingModel
	held     map[ledger.Acts]int64
	shownAt  []traffic.AdCount
	campaign []traffic.AdCount
}

func (d *days) YoungPublishers(context.Context, time.Time) (map[uuid.UUID]uuid.UUID, error) {
	return d.young, d.err
}

func (d *days) PerActCampaigns(context.Context) (map[uuid.UUID]campaign.BillingModel, error) {
	return d.models, d.err
}

func (d *days) HeldActs(context.Context) (map[ledger.Acts]int64, error) { return d.held, d.err }

func (d *days) CampaignCounts(context.Context, day.Day) ([]traffic.AdCount, error) {
	return slices.Clone(d.campaign), d.away
}

func (d *days) PublisherCounts(_ context.Context, _ day.Day, of []uuid.UUID) (list []traffic.AdCount, err error) {
	for _, c := range d.shownAt {
		if slices.Contains(of, c.DeveloperID) {
			list = append(list, c)
		}
	}
	return list, d.away
}

func (d *days) ShownAds(_ context.Context, since, until time.Time) ([]traffic.ShownAds, error) {
	d.since, d.until = since, until
	return slices.Clone(d.ads), d.away
}

func (d *days) FamilyOwners(context.Context) (map[uuid.UUID]uuid.UUID, error) { return d.owners, d.err }

func (d *days) PublisherDays(context.Context, day.Day, day.Day) ([]traffic.PublisherDay, error) {
	return d.list, d.err
}

func (d *days) ReaderSums(context.Context, day.Day, day.Day, int64) ([]traffic.PublisherDay, error) {
	return d.readers, d.err
}

func newDetector(t *testing.T, store *days, now func() time.Time) *Detector {
	t.Helper()
	d, err := New(Config{Every: time.Minute, MinEvents: 100, CTR: 0.5, InvalidShare: 0.5, Surge: 10, Readers: 1000},
		Deps{Store: store, Ads: store, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Now: now})
	require.NoError(t, err)
	return d
}

func TestJudge(t *testing.T) {
	now := noon
	today := day.Of(noon)
	honest, clicker := uuid.UUID{1}, uuid.UUID{2}
	store := &days{Publishers: memory.New(func() time.Time { return now }).Publishers, list: []traffic.PublisherDay{
		{DeveloperID: honest, Day: today - 1, Impressions: 100, Clicks: 100}, // a day that is over is not judged
		{DeveloperID: honest, Day: today, Impressions: 1000, Clicks: 20, Minted: 1000},
		{DeveloperID: clicker, Day: today, Impressions: 200, Clicks: 150, Minted: 200},
	}}
	d := newDetector(t, store, func() time.Time { return now })
	judge := func(want int) {
		t.Helper()
		opened, err := d.Judge(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, opened)
	}
	cases := func() []ledger.Quarantine {
		list, err := store.Quarantines(t.Context(), ledger.QuarantineQuery{Limit: 10})
		require.NoError(t, err)
		return list
	}
	end := func(d ledger.QuarantineDecision) {
		_, err := store.EndQuarantine(
			t.Context(), ledger.QuarantineVerdict{Case: cases()[0].ID, Decision: d, By: uuid.UUID{9}, At: now},
		)
		require.NoError(t, err)
		now = now.Add(time.Minute)
	}
	judge(1)
	judge(0)
	list := cases()
	require.Len(t, list, 1)
	require.Equal(t, clicker, list[0].DeveloperID)
	require.Equal(
		t, traffic.Evidence{Rule: traffic.QuarantineCTR, Value: 0.75, Threshold: 0.5, Today: store.list[2]},
		list[0].Evidence,
	)

	end(ledger.QuarantineClawback)
	judge(1) // the pattern goes on
	end(ledger.QuarantineRelease)
	judge(0) // this day was reviewed
	now = noon.AddDate(0, 0, 1)
	judge(0) // today is another day, of which there is nothing
	store.list[2].Day++
	judge(1)
	require.Len(t, cases(), 3)
	store.err = errors.New("away")
	_, err := d.Judge(t.Context())
	require.ErrorIs(t, err, store.err)
}

// A family that shows nothing has a case, whether or not it has a day in the ledger. Its ads of the
// last hour can still be shown. Without the analytics store other rules still apply.
func TestJudgeShownAds(t *testing.T) {
	now := noon.Add(30 * time.Minute)
	store := &days{
		Publishers: memory.New(func() time.Time { return now }).Publishers,
		owners:     map[uuid.UUID]uuid.UUID{{2}: {1}},
		ads: []traffic.ShownAds{
			{DeveloperID: uuid.UUID{1}, Method: traffic.MethodREST, Sold: 60},
			{DeveloperID: uuid.UUID{2}, Method: traffic.MethodREST, Sold: 60},
		},
	}
	for n := range byte(5) {
		store.ads = append(
			store.ads, traffic.ShownAds{DeveloperID: uuid.UUID{9, n}, Method: traffic.MethodREST, Sold: 500, Counted: 400},
		)
	}
	d := newDetector(t, store, func() time.Time { return now })
	d.cfg.Network = "on"
	opened, err := d.Judge(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, opened, "together they have enough ads")
	require.Equal(t, day.Of(noon).Time(), store.since)
	require.Equal(t, noon.Add(-time.Hour), store.until)
	list, err := store.Quarantines(t.Context(), ledger.QuarantineQuery{Limit: 10})
	require.NoError(t, err)
	for _, c := range list {
		require.Equal(t, traffic.QuarantineShown, c.Evidence.Rule)
	}
	opened, err = d.Judge(t.Context())
	require.NoError(t, err)
	require.Zero(t, opened, "the cases are open")

	store.away = errors.New("away")
	store.list = []traffic.PublisherDay{
		{DeveloperID: uuid.UUID{5}, Day: day.Of(noon), Impressions: 200, Clicks: 150, Minted: 200},
	}
	opened, err = d.Judge(t.Context())
	require.ErrorIs(t, err, store.away)
	require.Equal(t, 1, opened)
	now, store.since = day.Of(noon).Time().Add(59*time.Minute), time.Time{}
	store.away = nil
	_, err = d.Judge(t.Context())
	require.NoError(t, err)
	require.Zero(t, store.since, "no hour of this day has passed long enough ago")
}

// An owner of many small seats, none of which is judged alone, beside an honest one and a stranger.
func TestJudgeSumsAnOwnersSeats(t *testing.T) {
	today, owner := day.Of(noon), uuid.UUID{1}
	store := &days{Publishers: memory.New(func() time.Time { return noon }).Publishers}
	for n := range byte(5) {
		store.list = append(
			store.list,
			traffic.PublisherDay{
				DeveloperID: uuid.UUID{2, n}, OwnerID: owner, Day: today, Impressions: 20, Clicks: 15, Minted: 20,
			},
		)
	}
	store.list = append(store.list,
		traffic.PublisherDay{
			DeveloperID: uuid.UUID{3}, OwnerID: owner, Day: today, Impressions: 5000, Clicks: 50, Minted: 5000,
		},
		traffic.PublisherDay{DeveloperID: uuid.UUID{4}, Day: today, Impressions: 90, Clicks: 80, Minted: 90})
	d := newDetector(t, store, func() time.Time { return noon })
	for _, want := range []int{5, 0} {
		opened, err := d.Judge(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, opened)
	}
	list, err := store.Quarantines(t.Context(), ledger.QuarantineQuery{Limit: 10})
	require.NoError(t, err)
	var held []uuid.UUID
	for _, c := range list {
		held = append(held, c.DeveloperID)
		require.Equal(t, 0.75, c.Evidence.Value)
		require.EqualValues(t, 20, c.Evidence.Today.Impressions, "its own day")
		require.Equal(
			t, "the sum of 5 publishers of one family: impressions 100, clicks 75, invalid 0, redeemed 0, minted 100",
			c.Evidence.Note,
		)
	}
	require.ElementsMatch(t, []uuid.UUID{{2, 0}, {2, 1}, {2, 2}, {2, 3}, {2, 4}}, held)
}

// A person approves a publisher without readers once. A ring that was released is judged by the
// days after that.
func TestApprovalOfAPublisherWithoutReadersIsForEver(t *testing.T) {
	now := noon
	ringer, silent := uuid.UUID{1}, uuid.UUID{2}
	store := &days{Publishers: memory.New(func() time.Time { return now }).Publishers}
	d := newDetector(t, store, func() time.Time { return now })
	judge := func(want int, why string) {
		t.Helper()
		opened, err := d.Judge(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, opened, why)
	}
	end := func(d ledger.QuarantineDecision) {
		open, err := store.Quarantines(t.Context(), ledger.QuarantineQuery{Open: true, Limit: 10})
		require.NoError(t, err)
		for _, c := range open {
			_, err := store.EndQuarantine(
				t.Context(), ledger.QuarantineVerdict{Case: c.ID, Decision: d, By: uuid.UUID{9}, At: now},
			)
			require.NoError(t, err)
		}
	}
	show := func(clicks int64) {
		store.list = nil
		for n := range byte(5) {
			store.list = append(store.list, traffic.PublisherDay{
				DeveloperID: uuid.UUID{8, n}, Day: day.Of(now), Impressions: 5000, Clicks: 50,
			})
		}
		store.list = append(
			store.list, traffic.PublisherDay{DeveloperID: ringer, Day: day.Of(now), Impressions: 90, Clicks: clicks},
		)
	}
	store.readers = []traffic.PublisherDay{{DeveloperID: silent, Impressions: 1000}}
	judge(1, "no readers")
	judge(0, "once")
	end(ledger.QuarantineClawback)
	judge(1, "nobody approved it")
	end(ledger.QuarantineRelease)
	now = now.AddDate(0, 1, 0)
	judge(0, "approved for ever")

	store.readers = nil
	show(20)
	judge(1, "clicks far above the network's rate")
	end(ledger.QuarantineRelease)
	judge(0, "released")
	before := store.list[5]
	now = now.AddDate(0, 0, 1)
	show(1)
	store.list = append(store.list[:5], before, store.list[5])
	judge(0, "the week has the released day")
	store.list[6].Clicks = 20
	judge(1, "a new day")
}

func TestRunGoesOnAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &days{Publishers: memory.New(time.Now).Publishers, err: errors.New("away")}
		d := newDetector(t, store, time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx) }()
		time.Sleep(90 * time.Second)
		store.err, store.list = nil, []traffic.PublisherDay{{
			DeveloperID: uuid.UUID{1}, Day: day.Of(time.Now()), Invalid: 1000,
		}}
		time.Sleep(time.Minute)
		list, err := store.Quarantines(t.Context(), ledger.QuarantineQuery{Limit: 10})
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, traffic.QuarantineInvalid, list[0].Evidence.Rule)
		cancel()
		require.NoError(t, <-ended)
	})
}

func TestConfigIsChecked(t *testing.T) {
	for _, bad := range []Config{{Every: -1}, {MinEvents: -1}, {CTR: -1}, {InvalidShare: 1.1}, {Surge: -1}} {
		_, err := New(bad, Deps{Store: &days{}, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()})
		require.Error(t, err)
	}
}
