package redis

import (
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/ledger/reserve"
)

func TestRoomsAreReadAsWritten(t *testing.T) {
	first := room{
		CampaignID: uuid.New(), Advertiser: uuid.New(), Version: math.MaxInt64, Day: math.MinInt32,
		Daily: 1, Today: -2, Total: 3, Balance: int64(reserve.Unlimited),
		Open: 4,
	}
	for _, want := range []room{first, {}} {
		text, err := json.Marshal(want)
		require.NoError(t, err)
		got, ok := readOwnRoom(string(text))
		require.True(t, ok, "what this build writes needs no general decoder")
		require.Equal(t, want, got)
	}
	text, err := json.Marshal(first)
	require.NoError(t, err)
	for name, other := range map[string]string{
		"a field more": strings.Replace(string(text), `"day":`, `"new":[],"day":`, 1),
		"white space":  strings.Replace(string(text), `,"day":`, ` , "day" : `, 1),
	} {
		_, ok := readOwnRoom(other)
		require.False(t, ok, name)
		got, err := readRoom(other)
		require.NoError(t, err, name)
		require.Equal(t, first, got, name)
	}
	for _, broken := range []string{
		"", "{}}", string(text[:len(text)-1]), strings.Replace(string(text), "-2147483648", "-2147483649", 1),
		strings.Replace(string(text), first.Advertiser.String(), "x", 1),
	} {
		_, err := readRoom(broken)
		require.Error(t, err, broken)
	}
}
