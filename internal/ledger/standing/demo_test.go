package standing_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/ledger/standing"
	"adnet/internal/money"
)

// TestTheDemoVotesAmongItself: the votes of others are those without the demo, and the other way
// round.
func TestTheDemoVotesAmongItself(t *testing.T) {
	demo := map[uuid.UUID]bool{}
	others := standing.Ballot{
		Charges:  []standing.Charge{{Payer: id(1), Publisher: id(2), Amount: 2 * money.USD}},
		Reviewed: map[uuid.UUID]bool{id(1): true, id(3): true}, Funded: map[uuid.UUID]bool{id(1): true, id(3): true},
	}
	shown := standing.Ballot{Reviewed: map[uuid.UUID]bool{}, Funded: map[uuid.UUID]bool{}}
	both := standing.Ballot{
		Reviewed: map[uuid.UUID]bool{id(1): true, id(3): true}, Funded: map[uuid.UUID]bool{id(1): true, id(3): true},
		Demo: demo,
	}
	for _, c := range charged(25) {
		demo[c.Payer], demo[id(500)] = true, true
		c.Publisher = id(500)
		shown.Charges = append(shown.Charges, c)
	}
	both.Charges = append(append(both.Charges, others.Charges...), shown.Charges...)
	between := standing.Charge{Payer: id(1), Publisher: id(500), Amount: 100 * money.USD}
	both.Charges = append(both.Charges, between, standing.Charge{Payer: id(1000), Publisher: id(2), Amount: between.Amount})

	got, alone, apart := both.Count(), others.Count(), shown.Count()
	require.Positive(t, alone.Advertisers[id(3)], "few were charged, so a reviewed family votes")
	for family, vote := range alone.Advertisers {
		require.Equal(t, vote, got.Advertisers[family])
	}
	for family, vote := range apart.Advertisers {
		require.Equal(t, vote, got.Advertisers[family])
	}
	require.Len(t, got.Advertisers, len(alone.Advertisers)+len(apart.Advertisers))
	require.Equal(t, alone.Publishers[id(2)], got.Publishers[id(2)])
	require.Equal(t, apart.Publishers[id(500)], got.Publishers[id(500)])
}
