package campaign

import (
	"math"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/errs"
	"adnet/internal/money"
)

// created is a campaign that fields make: a new one, or a change of one that is stored.
func created(t *testing.T, stored *Campaign, change func(*Fields)) (Campaign, error) {
	t.Helper()
	c, f := defaults(), Fields{}
	headline, link := "Headline", "https://example.com/"
	if f.Headline, f.CTAURL = &headline, &link; stored != nil {
		c = *stored
		c.ID = uuid.New()
	}
	change(&f)
	err := f.apply(&c)
	c.Normalize()
	return c, err
}

func dollars(usd float64) *money.Micros {
	m := money.Micros(usd * float64(money.USD))
	return &m
}

func aims(goal Goal, target *money.Micros) func(*Fields) {
	return func(f *Fields) {
		f.Goal = &goal
		if goal == GoalTargetCPA {
			f.TargetCPA = target
		} else if goal == GoalTargetROAS {
			f.TargetROAS = Ratio{Set: true, Value: target}
		}
	}
}

func TestGoalsNeedImpressionsAndATarget(t *testing.T) {
	for _, billing := range []BillingModel{CPC, CPA} {
		for _, goal := range []Goal{GoalTargetCPA, GoalTargetROAS, GoalMaxConversions} {
			_, err := created(t, nil, func(f *Fields) {
				aims(goal, dollars(2))(f)
				f.BillingModel = &billing
			})
			require.True(t, errs.Is(err, errs.InvalidRequest))
			require.ErrorContains(t, err, string(goal)+" needs billing_model cpm")
		}
	}
	_, err := created(t, nil, aims(GoalTargetCPA, nil))
	require.ErrorContains(t, err, "target_cpa must be above 0")
	_, err = created(t, nil, aims(GoalTargetROAS, nil))
	require.ErrorContains(t, err, "target_roas must be above 0")
	c, err := created(t, nil, aims(GoalMaxConversions, nil))
	require.NoError(t, err)
	require.True(t, c.Pursues())
}

func TestCapIsNotUsedAsBid(t *testing.T) {
	c, err := created(t, nil, aims(GoalTargetCPA, dollars(3)))
	require.NoError(t, err)
	require.Equal(t, MaxBid, c.BidAmount, "a goal without bid_amount has the cap 1,000")
	require.Equal(t, GoalLearning, c.GoalStatus)
	back, err := created(t, &c, aims(GoalManual, nil))
	require.NoError(t, err)
	require.Equal(t, DefaultBid, back.BidAmount, "the cap was never meant as a bid")
	stated, err := created(t, nil, func(f *Fields) {
		aims(GoalTargetCPA, dollars(3))(f)
		f.BidAmount = dollars(7)
	})
	require.NoError(t, err)
	require.Equal(t, 7*money.USD, stated.BidAmount)
	later, err := created(t, &back, aims(GoalTargetCPA, dollars(3)))
	require.NoError(t, err)
	require.Equal(t, DefaultBid, later.BidAmount, "a bid that is there stays the cap")
}

func TestWhatAGoalOffers(t *testing.T) {
	c, err := created(t, nil, aims(GoalTargetCPA, dollars(30)))
	require.NoError(t, err)
	bid, aim := c.AuctionBid()
	require.Equal(t, DefaultBid, bid, "while it learns it bids at most the default")
	require.Equal(t, 30*money.USD, aim)
	c.GoalConversions, c.GoalMultiplier = GoalLearns, 1_500_000
	bid, aim = c.AuctionBid()
	require.Equal(t, MaxBid, bid)
	require.Equal(t, 45*money.USD, aim)
	c.Goal, c.GoalPrice = GoalMaxConversions, 0
	bid, aim = c.AuctionBid()
	require.Equal(t, DefaultBid, bid, "nothing is known to bid by")
	require.Zero(t, aim)
	rapid.Check(t, func(t *rapid.T) {
		c := Campaign{
			BillingModel: CPM,
			Goal:         rapid.SampledFrom([]Goal{GoalMaxConversions, GoalManual, GoalTargetCPA}).Draw(t, "goal"),
			TargetCPA:    1,
			BidAmount:    money.Micros(rapid.Int64Range(int64(MinBid), int64(MaxBid)).Draw(t, "bid")),
			Pursuit: Pursuit{
				GoalMultiplier:  money.Micros(rapid.Int64().Draw(t, "multiplier")),
				GoalPrice:       money.Micros(rapid.Int64().Draw(t, "price")),
				GoalConversions: rapid.Int64Range(0, 20).Draw(t, "conversions"),
			},
		}
		bid, aim := c.AuctionBid()
		require.LessOrEqual(t, bid, c.BidAmount)
		require.GreaterOrEqual(t, aim, money.Micros(0))
		if price := c.GoalPrice; aim > 0 && price < math.MaxInt64/8 {
			require.LessOrEqual(t, aim, 4*price)
			require.GreaterOrEqual(t, aim, min(price, MaxTotalBudget)/4)
		}
	})
}
