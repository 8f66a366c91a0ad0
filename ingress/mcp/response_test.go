package mcp_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/ingress/track"
)

func TestResponsesAreAcceptedWithoutAnAnswer(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no"}}`,
		`[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"notifications/initialized"}]`,
		`[{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}]`, `[{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}]`,
	} {
		w := f.do(http.MethodPost, "/api/mcp", body, http.Header{"Authorization": {"Bearer " + f.key}})
		require.Equal(t, http.StatusAccepted, w.Code, "%s: %s", body, w.Body)
		require.Empty(t, w.Body.String(), body)
	}
	w := f.do(
		http.MethodPost, "/api/mcp", `{"jsonrpc":"2.0","id":1}`, http.Header{"Authorization": {"Bearer " + f.key}},
	)
	require.Equal(t, http.StatusBadRequest, w.Code, "neither a request nor a response")
}
