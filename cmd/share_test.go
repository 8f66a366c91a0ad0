package cmd_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A least relevance is read alike on every wire: rounded to the nearest millionth, as programs
// state more decimals than they mean, and refused in the same words outside of 0 to 1.
func TestSharesAreReadAlike(t *testing.T) {
	m := newShop(t)
	campaign := func(least string, status int) map[string]any {
		return m.do(
			"PATCH", "/api/campaigns", m.owner.token, `{"id":"`+m.campaign+`","min_relevance":`+least+`}`, status,
		)
	}
	publishing := func(least string, status int) map[string]any {
		return m.do("PUT", "/api/account/publishing", m.publisher.token, `{"min_relevance":`+least+`}`, status)
	}
	rest := func(least string, status int) map[string]any {
		return m.do("POST", "/v1/ad-request", m.key, `{"context":"chess","min_relevance":`+least+`}`, status)
	}
	mcp := func(least string, status int) map[string]any {
		return m.do(
			"POST", "/api/mcp", m.key,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":{"context":"chess","min_relevance":`+least+`}}}`, status,
		)
	}
	const summed, want = "0.30000000000000004", 0.3 // 0.1 + 0.2 of a program
	require.Equal(t, want, campaign(summed, 200)["campaign"].(map[string]any)["min_relevance"])
	require.Equal(t, want, publishing(summed, 200)["min_relevance"])
	rest(summed, 200)
	require.NotContains(t, fmt.Sprint(mcp(summed, 200)), "min_relevance")
	require.Equal(t, 0.0, publishing("1e-7", 200)["min_relevance"])
	for _, wrong := range []string{"1.0000001", "-0.0000001", "1e300"} {
		for wire, call := range map[string]func(string, int) map[string]any{
			"campaign": campaign, "publishing": publishing, "rest": rest,
		} {
			reply := call(wrong, 400)
			require.Equal(t, "min_relevance", reply["field"], "%s %s: %v", wire, wrong, reply)
			require.Contains(t, reply["error"], "must be a number from 0 to 1", "%s %s", wire, wrong)
		}
		require.Contains(t, fmt.Sprint(mcp(wrong, 200)), "min_relevance must be a number from 0 to 1", wrong)
	}
	// A number as a text is read where nothing is stored.
	require.Equal(t, "min_relevance", campaign(`"0.5"`, 400)["field"])
	require.Equal(t, "min_relevance", publishing(`"0.5"`, 400)["field"])
	rest(`"0.5"`, 200)
	require.NotContains(t, fmt.Sprint(mcp(`"0.5"`, 200)), "min_relevance")
}
