package goal

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/schemas/event"
)

// world is a store with one campaign and the events of its days.
type world struct {
	record   campaign.GoalRecord
	days     map[day.Day]report.Counts
	now      time.Time
	reported int
}

func (w *world) PursuedGoals(context.Context) ([]campaign.GoalRecord, error) {
	return []campaign.GoalRecord{w.record}, nil
}

func (w *world) KeepGoals(_ context.Context, changes []campaign.GoalChange) error {
	for _, change := range changes {
		w.record.State = change.State
		if change.Pursuit != nil {
			w.reported++
			w.record.Campaign.Pursuit = *change.Pursuit
			w.record.Campaign.Normalize()
		}
	}
	return nil
}

func (w *world) Stats(_ context.Context, q report.Query) (report.Result, error) {
	group := report.Group{Key: w.record.Campaign.ID.String()}
	for d, counts := range w.days {
		if q.Since <= d && d <= q.Until {
			group.Add(counts)
		}
	}
	return report.Result{Groups: []report.Group{
		{Key: uuid.NewString(), Counts: report.Counts{Events: report.Events{event.Type_CONVERSION: 1000}}}, group,
	}}, nil
}

// happens adds events to the day of now.
func (w *world) happens(spend money.Micros, conversions int64, value money.Micros) {
	counts := w.days[day.Of(w.now)]
	counts.Add(report.Counts{
		Events: report.Events{event.Type_CONVERSION: conversions}, Spend: spend, ConversionUSD: value,
	})
	w.days[day.Of(w.now)] = counts
	w.record.Campaign.SpentToday += spend
	w.record.Campaign.SpentTotal += spend
}

func newWorld(goal campaign.Goal, target money.Micros) (*world, *Steering) {
	w := &world{days: map[day.Day]report.Counts{}, now: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)}
	w.record.Campaign = campaign.Campaign{
		ID: uuid.New(), Status: campaign.Active, BillingModel: campaign.CPM, Goal: goal, TargetCPA: target,
		TargetROAS: &target,
		BidAmount:  campaign.MaxBid, DailyBudget: 100 * money.USD, TotalBudget: 10_000 * money.USD,
	}
	w.record.Campaign.Normalize()
	return w, New(Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Source: w, Store: w,
		Now: func() time.Time { return w.now },
	})
}

// minutes runs turns.
func (w *world) minutes(t *testing.T, s *Steering, n int) {
	t.Helper()
	for range n {
		w.now = w.now.Add(time.Minute)
		require.NoError(t, s.Turn(t.Context()))
	}
}

func TestSpendWithoutConversionsLowersBids(t *testing.T) {
	w, s := newWorld(campaign.GoalTargetCPA, 10*money.USD)
	w.happens(500*money.USD, 0, 0) // before there was a goal
	w.minutes(t, s, 600)
	require.Equal(t, money.USD, w.record.Campaign.GoalMultiplier, "what was before is not held against it")
	w.happens(50*money.USD, 0, 0)
	w.minutes(t, s, 1)
	require.Greater(t, w.record.Campaign.GoalMultiplier, 900_000*money.Micros(1), "its conversions may still come")
	w.minutes(t, s, 600)
	low := w.record.Campaign.GoalMultiplier
	require.Less(t, low, money.USD/2)
	require.Equal(t, campaign.GoalLearning, w.record.Campaign.GoalStatus)
	w.happens(0, 20, 0)
	w.minutes(t, s, 5)
	require.Greater(t, w.record.Campaign.GoalMultiplier, money.USD)
	require.Equal(t, campaign.GoalActive, w.record.Campaign.GoalStatus)
	require.EqualValues(t, 20, w.record.Campaign.GoalConversions)
}

// Each event counts once: over repeated turns, midnights, the weekly change of the window, and a
// time in which no process lived.
func TestEventsCountOnce(t *testing.T) {
	w, s := newWorld(campaign.GoalTargetCPA, 10*money.USD)
	w.minutes(t, s, 1)
	const days = 30
	for range days {
		w.happens(10*money.USD, 1, 0)
		for range 3 {
			w.now = w.now.Add(8 * time.Hour)
			require.NoError(t, s.Turn(t.Context()))
			require.NoError(t, s.Turn(t.Context()))
		}
	}
	require.GreaterOrEqual(t, w.record.Campaign.GoalConversions, int64(campaign.GoalLearns))
	w.happens(10*money.USD, 1, 0)
	w.now = w.now.Add(20 * 24 * time.Hour)
	w.minutes(t, s, 3)
	var state State
	require.NoError(t, json.Unmarshal(w.record.State, &state))
	require.EqualValues(t, days+1, state.All.Conversions)
	require.Equal(t, (days+1)*10*money.USD, state.All.Spend)
}

func TestNodesHearOfNewsOnly(t *testing.T) {
	w, s := newWorld(campaign.GoalTargetCPA, 10*money.USD)
	w.record.Campaign.GoalConversions = 1000
	w.record.Campaign.Normalize()
	for range 500 {
		w.happens(money.USD/10, 0, 0)
		w.minutes(t, s, 1)
		if w.now.Minute()%50 == 0 {
			w.happens(0, 1, 0)
		}
	}
	require.Less(t, w.reported, 40, "not every minute is a new version")
}

func TestROASLearnsWhatAConversionIsWorth(t *testing.T) {
	w, s := newWorld(campaign.GoalTargetROAS, 4*money.USD)
	w.minutes(t, s, 1)
	w.happens(5*money.USD, 5, 400*money.USD)
	w.minutes(t, s, 1)
	bid, aim := w.record.Campaign.AuctionBid()
	require.Equal(t, campaign.DefaultBid, bid)
	require.Zero(t, aim, "five values say little")
	w.happens(5*money.USD, 5, 400*money.USD)
	w.minutes(t, s, 1)
	require.Equal(t, 20*money.USD, w.record.Campaign.GoalPrice, "80 USD a conversion ÷ 4")
	w.happens(0, 5, math.MaxInt64/2)
	w.minutes(t, s, 1)
	require.LessOrEqual(t, w.record.Campaign.GoalPrice, campaign.MaxTotalBudget, "whatever they state")
}

// max_conversions bids more while the budget would last beyond midnight, and less while it would
// not.
func TestMaxConversionsSpendsWhatIsLeft(t *testing.T) {
	w, s := newWorld(campaign.GoalMaxConversions, 0)
	w.minutes(t, s, 1)
	w.happens(20*money.USD, 10, 0)
	w.minutes(t, s, 1)
	require.Equal(t, 2*money.USD, w.record.Campaign.GoalPrice, "what a conversion cost while it learnt")
	before := w.record.Campaign.GoalMultiplier
	w.minutes(t, s, 120)
	high := w.record.Campaign.GoalMultiplier
	require.Greater(t, high, before, "nothing was spent")
	for range 60 {
		w.happens(money.USD, 0, 0)
		w.minutes(t, s, 1)
	}
	require.Less(t, w.record.Campaign.GoalMultiplier, high)
}

// Whatever happens, and whatever is stored, bids are multiplied by ¼ to 4.
func TestMultiplierIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		target := money.Micros(rapid.Int64Range(1, int64(campaign.MaxTotalBudget)).Draw(t, "target"))
		c := campaign.Campaign{
			BillingModel: campaign.CPM, TargetCPA: target, TargetROAS: &target, DailyBudget: money.USD,
			TotalBudget: 1000 * money.USD,
			Goal: rapid.SampledFrom([]campaign.Goal{
				campaign.GoalTargetCPA, campaign.GoalTargetROAS, campaign.GoalMaxConversions,
			}).Draw(t, "goal"),
		}
		at := time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)
		s := Begin(&c, at)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			at = at.Add(time.Duration(rapid.Int64Range(-1e9, 1e14).Draw(t, "pause")))
			amount := rapid.Int64Range(0, math.MaxInt64/128)
			came := Totals{
				Spend:       money.Micros(amount.Draw(t, "spend")),
				Conversions: rapid.Int64Range(0, 1_000_000).Draw(t, "conversions"),
				Value:       money.Micros(amount.Draw(t, "value")),
			}
			var got campaign.Pursuit
			s, got = s.Step(&c, came, at)
			require.GreaterOrEqual(t, got.GoalMultiplier, campaign.MinMultiplier)
			require.LessOrEqual(t, got.GoalMultiplier, campaign.MaxMultiplier)
			require.GreaterOrEqual(t, got.GoalPrice, money.Micros(0))
			require.False(t, math.IsNaN(s.Debt) || math.IsNaN(s.Foretold) || math.IsInf(s.Foretold, 0))
		}
	})
}
