package ledger_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

func TestTakenBackIsSummedByPublisher(t *testing.T) {
	rules := ledger.CreditRules{Value: 5_000}
	move := func(developer uuid.UUID, on day.Day, refunded, unbacked money.Micros) ledger.CreditMoves {
		return rules.Move(ledger.CreditDay{
			DeveloperID: developer, Day: on, Minted: 10,
			Sources: []ledger.CreditSource{{Charged: 50_000, Refunded: refunded, Unbacked: unbacked}},
			Lots:    []ledger.CreditLot{{Value: 5_000, Amount: 10, Left: 10}},
		})
	}
	first, second := uuid.New(), uuid.New()
	var list []ledger.TakenBack
	for _, m := range []ledger.CreditMoves{
		move(first, 5, 0, 10_000), move(first, 6, 0, 0), move(first, 7, 0, 25_000),
		move(second, 4, 50_000, 0), // a claw-back of its own case
		move(second, 9, 0, 1),
	} {
		list = m.AddTakenBack(list)
	}
	require.Equal(t, []ledger.TakenBack{
		{DeveloperID: first, Credits: 7, First: 5, Last: 7}, {DeveloperID: second, Credits: 1, First: 9, Last: 9},
	}, list)
}

func TestFurtherNoticesAreOfMore(t *testing.T) {
	noticed := int64(0)
	notices := 0
	for range 1_000 {
		if one := (ledger.TakenBack{Credits: 3}); one.NeedsNotice(noticed) {
			noticed += one.Credits
			notices++
		}
	}
	require.Equal(t, 1, notices)
	require.True(t, ledger.TakenBack{Credits: 4}.NeedsNotice(noticed))
}
