package train_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/auction/ranker"
	"adnet/auction/train"
)

// viewed returns impressions of publishers over a week, of which so many of 1,000 were viewed.
func viewed(publishers int, perDay, perMille int64) (list []train.Seen) {
	for day := range int32(7) {
		for i := range publishers {
			list = append(
				list,
				train.Seen{Publisher: id('p', i), Day: -day, Impressions: perDay, Views: perDay * perMille / 1000},
			)
		}
	}
	return list
}

// views returns p(view) and its report after so many versions on the same views.
func views(versions int, list []train.Seen) (ranker.Table, *train.Views) {
	n := payers(1)
	table := ranker.Version2()
	var got train.Trained
	for range versions {
		got = train.Train(train.Task{Network: n, Incumbent: table, Views: list})
		table = table.With(got.Learnt)
	}
	return table, got.Report.Views
}

func TestViewsAreLearnt(t *testing.T) {
	table, report := views(1, viewed(30, 1000, 300))
	require.Equal(t, ranker.Certain/3, table.PView(), "a step of a version from a half")
	require.Equal(
		t,
		&train.Views{
			Impressions: 210_000, Views: 63_000, PView: 0.333333, LogLoss: report.LogLoss, Incumbent: report.Incumbent,
		}, report,
	)
	require.Less(t, report.LogLoss, report.Incumbent)
	table, _ = views(2, viewed(30, 1000, 300))
	require.EqualValues(t, 300_948, table.PView(), "1,000 impressions at a half weigh beside 210,000")
	table, _ = views(9, viewed(30, 1000, 10))
	require.Equal(t, ranker.LeastView, table.PView())
	table, _ = views(9, viewed(30, 100_000, 1000))
	require.Less(t, table.PView(), ranker.Certain)
	require.Greater(t, table.PView(), ranker.Certain*99/100)
}

func TestTooFewViewsKeepTheRate(t *testing.T) {
	for why, list := range map[string][]train.Seen{
		"too few views":                    viewed(1, 1000, 142),
		"views of one day only":            viewed(30, 1000, 300)[:30],
		"it predicts the newest day worse": append(viewed(30, 1000, 900)[:30], viewed(30, 1000, 300)[30:]...),
	} {
		table, report := views(1, list)
		require.Equal(t, why, report.Reason)
		require.Zero(t, table.Learnt.View)
		require.Equal(t, ranker.FirstView, table.PView())
	}
	table, report := views(1, nil)
	require.Equal(t, "too few views", report.Reason)
	require.Zero(t, table.Learnt.View)
}

// A publisher that reports views of everything, or of nothing, moves p(view) by its share alone,
// however many impressions it has.
func TestOneMovesViewsLittle(t *testing.T) {
	honest, _ := views(3, viewed(30, 1000, 400))
	for _, perMille := range []int64{1, 1000} {
		list := viewed(30, 1000, 400)
		for day := range int32(7) {
			list = append(
				list, train.Seen{Publisher: id('p', 99), Day: -day, Impressions: 1_000_000, Views: 1000 * perMille},
			)
		}
		got, report := views(3, list)
		require.Empty(t, report.Reason)
		require.InDelta(
			t, float64(honest.PView()), float64(got.PView()), 0.032*float64(ranker.Certain), "5 %% of the impressions",
		)
	}
}

// Whatever is reported, p(view) stays within its bounds, moves one step per version, and survives
// encoding unchanged.
func TestViewsHaveBounds(t *testing.T) {
	n := payers(1)
	rapid.Check(t, func(t *rapid.T) {
		table := ranker.Version2()
		for range 4 {
			list := viewed(
				rapid.IntRange(0, 30).Draw(t, "publishers"), rapid.Int64Range(0, 3000).Draw(t, "impressions"),
				rapid.Int64Range(0, 1000).Draw(t, "viewed"),
			)
			got := train.Train(train.Task{Network: n, Incumbent: table, Views: list})
			next := table.With(got.Learnt)
			require.GreaterOrEqual(t, next.PView(), ranker.LeastView)
			require.LessOrEqual(t, next.PView(), ranker.Certain)
			require.LessOrEqual(t, next.PView(), table.PView()*3/2+1)
			require.GreaterOrEqual(t, next.PView()+1, table.PView()*2/3)
			got.Learnt.Version = 1
			data, err := train.Encode(got.Learnt)
			require.NoError(t, err)
			back, err := train.Decode(data)
			require.NoError(t, err)
			require.Equal(t, got.Learnt.View, back.View)
			table = next
		}
	})
	for _, p := range []ranker.PPM{ranker.LeastView - 1, ranker.Certain + 1, -1} {
		data, err := train.Encode(&ranker.Learnt{Version: 1, Clicks: flat(), View: p})
		require.NoError(t, err)
		_, err = train.Decode(data)
		require.ErrorContains(t, err, "probability of a view")
	}
}
