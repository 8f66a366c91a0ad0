package mcp_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/ingress/track"
)

// A page of our own may call, without being listed; no other page may.
func TestOwnOriginMayCall(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	for from, status := range map[string]int{
		f.HTTP.BaseURL(): http.StatusOK, f.HTTP.BaseURL() + ".evil.example": http.StatusForbidden,
		"null": http.StatusForbidden, "https://evil.example": http.StatusForbidden,
	} {
		w := f.Do(
			http.MethodPost, "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Authorization", "Bearer "+f.key,
			"Origin", from,
		)
		require.Equal(t, status, w.Code, from)
	}
}
