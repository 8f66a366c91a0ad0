package offer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func opened(t *testing.T, c TradeConfig, age Age, region string) []string {
	t.Helper()
	rules, err := c.trades()
	require.NoError(t, err)
	return rules.open(age, region).Names()
}

// What the settings leave as it is: adults only where that is the trade's nature, no politics.
func TestTradesByDefault(t *testing.T) {
	var c TradeConfig
	require.Equal(t, []string{"health", "credit", "crypto"}, opened(t, c, AgeUnknown, "US"))
	require.Equal(
		t, []string{"alcohol", "gambling", "dating", "health", "weight_loss", "credit", "crypto", "weapons", "tobacco"},
		opened(t, c, AgeAdult, ""),
	)
	require.Empty(t, opened(t, c, AgeTeen, ""))
	require.Empty(t, opened(t, c, AgeChild, ""))
	c.Political = "on"
	require.Contains(t, opened(t, c, AgeUnknown, ""), "politics")
	require.Empty(t, opened(t, c, AgeTeen, ""))
	c.Trades = []string{"politics@DE=off"}
	require.NotContains(t, opened(t, c, AgeAdult, "DE-BY"), "politics")
}

func TestTradesByRegion(t *testing.T) {
	c := TradeConfig{Trades: []string{
		"gambling=off", "gambling@gb=adults", " alcohol@US-CA=all", "crypto@US=adults", "credit=all", "credit=off",
	}}
	for _, item := range []struct {
		trade, region string
		unknown       bool
		adult         bool
	}{
		{"gambling", "", false, false}, {"gambling", "US", false, false}, {"gambling", "GB", false, true},
		{"gambling", "gb-eng", false, true}, {"gambling", "GBR", false, true}, {"gambling", "GBR-ENG", false, true},
		{"alcohol", "US", false, true}, {"alcohol", "US-CA", true, true}, {"alcohol", "USA-CA", true, true},
		{"alcohol", "US-NY", false, true},
		{"crypto", "US-CA", false, true}, {"crypto", "US", false, true}, {"crypto", "DE", true, true},
		{"crypto", "", true, true}, {"crypto", "ZZZ", true, true},
		{"credit", "DE", false, false}, {"health", "GB", true, true},
	} {
		require.Equal(t, item.unknown, containsTrade(opened(t, c, AgeUnknown, item.region), item.trade), "%v", item)
		require.Equal(t, item.adult, containsTrade(opened(t, c, AgeAdult, item.region), item.trade), "%v", item)
	}
	spelt := TradeConfig{Trades: []string{"gambling@GBR=all", "alcohol@us_ca=all"}}
	require.Contains(t, opened(t, spelt, AgeUnknown, "GB-ENG"), "gambling")
	require.Contains(t, opened(t, spelt, AgeUnknown, "US-CA"), "alcohol")
	later := TradeConfig{Trades: []string{"gambling@GB=all", "gambling=off"}}
	require.NotContains(t, opened(t, later, AgeAdult, "GB"), "gambling", "the last that applies counts")
}

func containsTrade(list []string, trade string) bool {
	for _, item := range list {
		if item == trade {
			return true
		}
	}
	return false
}

func TestTradesThatCannotBeRead(t *testing.T) {
	for entry, says := range map[string]string{
		"wine=off": "with a trade of alcohol, gambling", "gambling": "must be off, adults or all",
		"gambling=no": "must be off, adults or all", "gambling@=off": "ISO 3166",
		"gambling@USSR=off": "ISO 3166", "gambling@UK=off": "ISO 3166", "gambling@EU=off": "ISO 3166",
		"gambling@Texas=off": "ISO 3166", "": "trade=rule", "=off": "trade=rule",
		"politics=adults": "ADNET_POLITICAL=on",
	} {
		err := (&TradeConfig{Trades: []string{"credit=off", entry}}).Check()
		require.ErrorContains(t, err, "ADNET_TRADES", entry)
		require.ErrorContains(t, err, says, entry)
	}
	require.NoError(t, (&TradeConfig{Trades: []string{"politics=off"}}).Check())
}
