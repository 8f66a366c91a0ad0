package campaign

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
)

// Ids are kept once and in the order of their list, so that equal sets are equal lists.
func TestSubjectsAndTradesAreKeptInOrder(t *testing.T) {
	c, err := apply(
		t,
		`{"sensitive_contexts":["alcohol","health","alcohol"],"exclude_contexts":["disasters","suicide"],"trades":["tobacco","alcohol"]}`,
	)
	require.NoError(t, err)
	require.Equal(t, []string{"health", "alcohol"}, c.SensitiveContexts)
	require.Equal(t, []string{"suicide", "disasters"}, c.ExcludeContexts)
	require.Equal(t, []string{"alcohol", "tobacco"}, c.Trades)
	was := c.Trades
	require.NoError(t, (&Fields{Trades: []string{}, ExcludeContexts: []string{}}).apply(&c))
	require.Empty(t, c.Trades)
	require.Empty(t, c.ExcludeContexts)
	require.Equal(t, []string{"health", "alcohol"}, c.SensitiveContexts, "what was not given stays")
	require.Equal(t, []string{"alcohol", "tobacco"}, was)
}

func TestAnUnknownIDNamesThoseThatExist(t *testing.T) {
	_, err := apply(t, `{"sensitive_contexts":["suicide"]}`)
	require.Equal(t, "sensitive_contexts", errs.Of(err).Extra["field"])
	require.ErrorContains(t, err, "health, mental_health")
	require.ErrorContains(t, err, `"suicide" is not one of them`)
	_, err = apply(t, `{"trades":["wine"]}`)
	require.Equal(t, "trades", errs.Of(err).Extra["field"])
	require.ErrorContains(t, err, "alcohol, gambling")
}

func TestACampaignIsOfTheCategoriesOfItsTrades(t *testing.T) {
	require.Equal(t, []string{"IAB19"}, (&Campaign{Categories: []string{"IAB19"}}).AllCategories())
	c := Campaign{Categories: []string{"IAB8-5", "IAB19"}, Trades: []string{"alcohol", "gambling"}}
	require.Equal(t, []string{"IAB8-5", "IAB19", "IAB9-7"}, c.AllCategories())
	require.Len(t, c.Categories, 2)
}
