package standing_test

import (
	"encoding/binary"
	"maps"
	"math"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/account/family"
	"adnet/internal/campaign"
	"adnet/internal/ledger/standing"
	"adnet/internal/money"
)

func id(n int) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n)+1)
	return id
}

func TestVoteIsExactAtItsEdges(t *testing.T) {
	for charged, want := range map[money.Micros]int64{
		math.MinInt64: 0, -1: 0, 0: 0, 4: 0, 5: 1, 9: 1, 10: 2, 2_500_000: 500_000, 4_999_999: 999_999,
		4_999_994: 999_998, 5_000_000: 1_000_000, 5_000_001: 1_000_000, math.MaxInt64: 1_000_000,
	} {
		require.Equal(t, want, standing.Vote(charged), "%d", charged)
	}
	for vote, want := range map[int64]int64{
		0: 0, 49_999: 0, 50_000: 50_000, 99_999: 50_000, 999_999: 950_000, 1_000_000: 1_000_000,
	} {
		require.Equal(t, want, standing.Rounded(vote), "%d", vote)
	}
}

func TestChargesOfAFamilyAreOneVote(t *testing.T) {
	b := standing.Ballot{
		Families: map[uuid.UUID]family.Member{id(2): {Family: id(1)}, id(8): {Family: id(7)}},
		Charges: []standing.Charge{
			{Payer: id(1), Publisher: id(7), Amount: 2 * money.USD},
			{Payer: id(2), Publisher: id(8), Amount: 2 * money.USD},
			{Payer: id(1), Publisher: id(2), Amount: 100 * money.USD}, // for its own traffic
			{Payer: id(3), Publisher: id(9), Amount: 50 * money.USD},
			{Payer: id(4), Publisher: id(9), Amount: -money.USD},
		},
	}
	got := b.Count()
	require.Equal(t, map[uuid.UUID]int64{id(1): 800_000, id(3): 1_000_000}, got.Advertisers)
	require.Equal(t, map[uuid.UUID]int64{id(7): 800_000, id(9): 1_000_000}, got.Publishers)
}

// charged returns charges of n families, each the price of a whole vote.
func charged(n int) (list []standing.Charge) {
	for i := range n {
		list = append(list, standing.Charge{Payer: id(1000 + i), Publisher: id(1), Amount: standing.Price})
	}
	return list
}

func TestReviewedFamiliesVoteWhileFewAreCharged(t *testing.T) {
	a, b, c := id(10), id(11), id(12)
	for charges, want := range map[int]int64{0: 1_000_000, 1: 950_000, 10: 500_000, 19: 50_000, 20: 0, 25: 0} {
		ballot := standing.Ballot{
			Charges: charged(charges), Reviewed: map[uuid.UUID]bool{a: true, b: true},
			Funded: map[uuid.UUID]bool{a: true, c: true},
		}
		got := ballot.Count()
		require.Equal(t, want, got.Advertisers[a], "%d full votes", charges)
		require.Zero(t, got.Advertisers[b], "it has no balance")
		require.Zero(t, got.Advertisers[c], "nobody looked at it")
	}
	almost := standing.Ballot{
		Charges:  append(charged(19), standing.Charge{Payer: a, Publisher: b, Amount: standing.Price - 5}),
		Reviewed: map[uuid.UUID]bool{c: true}, Funded: map[uuid.UUID]bool{c: true},
	}
	require.Zero(t, almost.Count().Advertisers[c], "1 ÷ 20 of a millionth is below the unit")
	seat := standing.Ballot{
		Families: map[uuid.UUID]family.Member{b: {Family: a}},
		Reviewed: map[uuid.UUID]bool{b: true}, Funded: map[uuid.UUID]bool{a: true},
	}
	require.Equal(t, map[uuid.UUID]int64{a: 1_000_000}, seat.Count().Advertisers, "one family did both")
}

func drawBallot(t *rapid.T) standing.Ballot {
	account := func(label string) uuid.UUID { return id(rapid.IntRange(0, 30).Draw(t, label)) }
	b := standing.Ballot{
		Families: map[uuid.UUID]family.Member{}, Reviewed: map[uuid.UUID]bool{}, Funded: map[uuid.UUID]bool{},
	}
	for range rapid.IntRange(0, 40).Draw(t, "charges") {
		b.Charges = append(b.Charges, standing.Charge{
			Payer: account("payer"), Publisher: account("publisher"),
			Amount: money.Micros(rapid.OneOf(
				rapid.Int64Range(0, 10_000_000), rapid.Just(int64(math.MaxInt64)),
			).Draw(t, "amount")),
		})
	}
	for range rapid.IntRange(0, 10).Draw(t, "facts") {
		member := id(20 + rapid.IntRange(0, 10).Draw(t, "member"))
		b.Families[member] = family.Member{Family: id(rapid.IntRange(0, 5).Draw(t, "of"))}
		b.Reviewed[account("reviewed")] = true
		b.Funded[account("funded")] = true
	}
	return b
}

// No number of families that were never charged and have no balance changes any vote, whatever
// people approve of them and whoever they show or bind themselves to.
func TestUnpaidFamiliesChangeNoVote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBallot(t)
		before := b.Count()
		more := standing.Ballot{
			Families: maps.Clone(b.Families), Charges: b.Charges, Reviewed: maps.Clone(b.Reviewed), Funded: b.Funded,
		}
		for i := range rapid.IntRange(1, 200).Draw(t, "thieves") {
			thief := id(5000 + i)
			more.Families[thief] = family.Member{
				Family:  id(5000 + i/rapid.IntRange(1, 3).Draw(t, "size")),
				BoundTo: id(rapid.IntRange(0, 30).Draw(t, "bound")),
			}
			more.Reviewed[thief] = rapid.Bool().Draw(t, "reviewed thief")
			more.Charges = append(more.Charges, standing.Charge{Payer: thief, Publisher: id(i % 30)})
		}
		require.Equal(t, before, more.Count())
	})
}

func TestVotesAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBallot(t)
		v := b.Count()
		for _, votes := range []map[uuid.UUID]int64{v.Advertisers, v.Publishers} {
			for _, vote := range votes {
				require.Positive(t, vote)
				require.LessOrEqual(t, vote, campaign.FullVote)
			}
		}
	})
}

func TestNodesHearOfNewsOnly(t *testing.T) {
	known := campaign.Standing{Vote: 50_000, ClickRate: 1_000_000, Ceiling: 2 * money.USD}
	for name, c := range map[string]struct {
		change func(*campaign.Standing)
		want   bool
	}{
		"nothing":        {func(*campaign.Standing) {}, false},
		"a little":       {func(s *campaign.Standing) { s.ClickRate, s.Ceiling = 1_050_000, 1_900_000 }, false},
		"a rate":         {func(s *campaign.Standing) { s.ClickRate = 1_050_001 }, true},
		"a new rate":     {func(s *campaign.Standing) { s.ConvertRate = 1 }, true},
		"no ceiling":     {func(s *campaign.Standing) { s.Ceiling = 0 }, true},
		"a vote":         {func(s *campaign.Standing) { s.Vote = 100_000 }, true},
		"a bound":        {func(s *campaign.Standing) { s.Bound = campaign.Behind }, true},
		"another family": {func(s *campaign.Standing) { s.Family = id(3) }, true},
	} {
		next := known
		c.change(&next)
		require.Equal(t, c.want, standing.Differs(&known, &next), name)
	}
}

func TestMedianPrice(t *testing.T) {
	require.Zero(t, standing.MedianPrice(nil))
	require.Zero(t, standing.MedianPrice([]standing.Delivered{{Impressions: 1000}, {Charged: 5}}))
	require.Equal(t, 3*money.USD, standing.MedianPrice([]standing.Delivered{
		{Impressions: 1000, Charged: money.USD}, {Impressions: 5000, Charged: 15 * money.USD},
		{Impressions: 1000, Charged: 900 * money.USD}, {Impressions: 1_000_000},
	}), "those that paid, by their impressions")
	require.Equal(t, money.Micros(math.MaxInt64), standing.MedianPrice([]standing.Delivered{{1, math.MaxInt64}}))
}
