package report

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/money"
)

func market(rivals int, requests int64, steps ...int) (won []Won) {
	for i := range rivals {
		won = append(won, Won{Advertiser: uuid.UUID{byte(i + 1)}, Step: steps[i%len(steps)], Requests: requests})
	}
	return won
}

// Nobody learns a rival's bid: what is told is told of several, in steps, and neither a small
// market nor a large rival shows.
func TestForecastsTellOfNobody(t *testing.T) {
	caller := uuid.UUID{99}
	first := Step(money.USD)
	open := ForecastOf(caller, 5*money.USD, market(6, 1000, first, first+3), 28)
	require.Equal(t, []money.Micros{money.USD, money.USD, 10 * money.USD}, open.Prices)
	require.Equal(t, 0.5, open.Share)
	require.EqualValues(t, 210, open.Requests)
	for name, won := range map[string][]Won{
		"four rivals":        market(4, 1000, first),
		"five, four of size": append(market(4, 1000, first), Won{Advertiser: uuid.UUID{50}, Step: first, Requests: 9}),
		"one is the market":  append(market(6, 10, first), Won{Advertiser: uuid.UUID{50}, Step: first, Requests: 100}),
		"only the caller":    {{Advertiser: caller, Step: first, Requests: 5000}},
	} {
		got := ForecastOf(caller, 5*money.USD, won, 28)
		require.Nil(t, got.Prices, name)
		require.Negative(t, got.Share, name)
	}
	require.Zero(t, ForecastOf(caller, money.USD, market(6, 10, first), 28).Requests, "too few requests")
	// Bids within one step have one answer.
	for bid := money.USD; bid < 2*money.USD; bid += money.USD / 7 {
		require.Equal(
			t, ForecastOf(caller, money.USD, market(9, 77, first-1, first, first+1), 28),
			ForecastOf(caller, bid, market(9, 77, first-1, first, first+1), 28),
		)
	}
}

func TestStepsAndPlaces(t *testing.T) {
	require.Equal(t, money.USD/100, PriceSteps[Step(0)])
	require.Equal(t, 5*money.USD, PriceSteps[Step(2*money.USD+1)])
	require.Equal(t, len(PriceSteps)-1, Step(money.Max))
	require.True(t, Covers(nil, "x"))
	require.True(t, Covers([]string{"de", "us"}, "US_CA"))
	require.False(t, Covers([]string{"us-ca"}, "US"))
	require.False(t, Covers([]string{"u"}, "US"))
	require.False(t, Covers([]string{"us"}, ""))
}
