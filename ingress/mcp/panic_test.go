package mcp_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/ingress/mcp"
	"adnet/ingress/offer"
	"adnet/ingress/track"
	"adnet/internal/process/obs"
)

// broken panics where ads are made.
type broken struct{}

func (broken) Admit(httpapi.Caller) error { return nil }

func (broken) Answer(context.Context, httpapi.Caller, *offer.Request, *offer.Answer) error {
	panic("secret of the handler")
}

// A client waits for the answer with its id: a panic answers it, says nothing of itself, and is
// logged.
func TestPanicAnswersTheRequest(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	engine, err := httpapi.New(
		httpapi.Config{},
		httpapi.Deps{
			Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Readiness: obs.NewReadiness(),
			Auth: httpapi.NewAuth(httpapi.AuthDeps{Users: f.Store.Accounts, Keys: f.Store.Accounts, Now: f.Clock}),
		},
	)
	require.NoError(t, err)
	endpoint, err := mcp.New(mcp.Config{}, mcp.Deps{
		Log: f.Logger, Metrics: prometheus.NewRegistry(), Ads: broken{},
	})
	require.NoError(t, err)
	endpoint.Mount(engine)
	ask := func(body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, mcp.Path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+f.key)
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, r)
		f.Contract.Check(t, r, w)
		return w
	}
	const call = `"method":"tools/call","params":{"name":"get_sponsored_content","arguments":{"context":"chess"}}}`
	for _, id := range []string{`7`, `"seven"`} {
		w := ask(`{"jsonrpc":"2.0","id":` + id + `,` + call)
		require.Equal(t, http.StatusOK, w.Code)
		require.JSONEq(
			t,
			`{"jsonrpc":"2.0","id":`+id+
				`,"error":{"code":-32603,"message":"internal error","data":{"code":"internal"}}}`, w.Body.String(),
		)
	}
	require.Contains(t, f.lines.String(), "secret of the handler")
	require.Equal(
		t, http.StatusOK, ask(`{"jsonrpc":"2.0","id":8,"method":"ping"}`).Code,
		"the workspace of a panic is not used again half-written",
	)
}
