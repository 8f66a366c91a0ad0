package reserve_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

func TestRoomLeft(t *testing.T) {
	r := reserve.Room{Day: 10, Daily: 100, Today: 30, Total: 80, Balance: 1_000}
	require.Equal(t, money.Micros(30), r.Left(10))
	require.Equal(t, money.Micros(80), r.Left(11), "a new day frees the daily budget, never the total")
	r.Balance = -5
	require.Zero(t, r.Left(11))
}
