package mcp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/ingress/mcp"
	"adnet/ingress/track"
	"adnet/internal/account"
	"adnet/internal/token"
)

type failure struct {
	ID    any `json:"id"`
	Error struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	} `json:"error"`
}

func failureOf(t *testing.T, body string) failure {
	t.Helper()
	var got failure
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.NotContains(t, body, `"result"`)
	return got
}

func TestBodyLimit(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	ask := func(n int) string {
		head := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`
		return head + strings.Repeat("x", n-len(head)-3) + `"}}`
	}
	require.Equal(t, http.StatusOK, f.post(ask(64<<10)).Code)
	w := f.post(ask(64<<10 + 1))
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
	got := failureOf(t, w.Body.String())
	require.Equal(t, http.StatusRequestEntityTooLarge, got.Error.Code)
	require.Equal(t, "payload_too_large", got.Error.Data["code"])
	require.Nil(t, got.ID)
}

// Whatever is sent, the answer is a JSON-RPC object and no server error.
func TestOddBodies(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	arguments := func(a string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":` +
			a + `}}`
	}
	for name, body := range map[string]string{
		"deep": `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat(`{"a":`,
			10_001) + "1" + strings.Repeat("}", 10_002),
		"deep arguments": arguments(
			`{"context":"x","y":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
		),
		"bad utf-8":      arguments(`{"context":"` + "\xff\xfe" + `"}`),
		"half surrogate": arguments(`{"context":"\ud800"}`),
		"NUL":            arguments(`{"context":"a\u0000b"}`),
		"NUL in a tool":  arguments(`{"context":"a","active_tools":["\u0000"]}`),
		"NUL in surface": arguments(`{"context":"a","surface":"\u0000"}`),
		"huge number":    arguments(`{"context":"a","session_len_min":1e400}`),
		"NaN":            arguments(`{"context":"a","session_len_min":NaN}`),
		"array":          arguments(`[]`),
		"long id":        `{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 60_000) + `","method":"ping"}`,
		"huge id":        `{"jsonrpc":"2.0","id":1e99999,"method":"ping"}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := f.post(body)
			require.Less(t, w.Code, 500, w.Body)
			require.True(t, strings.HasPrefix(w.Body.String(), `{"`), w.Body)
		})
	}
}

// Nothing that a caller may not know, and none of its own secrets, is in an answer or in the log.
func TestNothingLeaks(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	f.Log.Err = nil
	canary := "pub_live_CANARYcanaryCANARYcanary123456"
	bodies := []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":{"context":"x","developer_api_key":"` + canary + `"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":{"context":"x","developer_api_key":["` + canary + `"]}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + canary + `"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"` + canary + `"}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":"` + canary + `"}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","` + canary + `":1,"` + canary + `":2}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping` + canary,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"track_event","arguments":{"event":"` + canary +
			`","campaign_id":"` + canary + `"}}}`,
	}
	for _, body := range bodies {
		for _, key := range []string{f.key, canary} {
			w := f.do(
				http.MethodPost, mcp.Path, body,
				http.Header{"Authorization": {"Bearer " + key}, "Mcp-Method": {canary}},
			)
			require.NotContains(t, w.Body.String(), canary)
			require.NotContains(t, w.Body.String(), f.key)
			require.NotContains(t, w.Body.String(), "goroutine")
		}
	}
	require.NotContains(t, f.lines.String(), canary)
	require.NotContains(t, f.lines.String(), f.key)
}

// A failure of ours is an internal error without its cause, which is in the log, once.
func TestInternalFailure(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	master, err := token.NewKey("k1")
	require.NoError(t, err)
	sessions, err := token.NewSessions([]token.Key{master})
	require.NoError(t, err)
	s, err := httpapi.New(httpapi.Config{}, httpapi.Deps{
		Log: f.Logger, Metrics: prometheus.NewRegistry(),
		Auth: httpapi.NewAuth(httpapi.AuthDeps{
			Users: f.Store.Accounts, Keys: brokenStore{}, Sessions: sessions, Now: f.Clock,
		}),
	})
	require.NoError(t, err)
	endpoint, err := mcp.New(mcp.Config{}, mcp.Deps{Log: f.Logger, Metrics: prometheus.NewRegistry()})
	require.NoError(t, err)
	endpoint.Mount(s)
	f.HTTP = s
	w := f.post(`{"jsonrpc":"2.0","id":"q","method":"ping"}`)
	require.Equal(t, http.StatusOK, w.Code)
	got := failureOf(t, w.Body.String())
	require.Equal(t, -32603, got.Error.Code)
	require.Equal(t, "q", got.ID)
	require.NotContains(t, w.Body.String(), "db-17")
	require.Equal(t, 1, strings.Count(f.lines.String(), "db-17"))
}

func TestSandboxKeysOfAnAccountNameTheirDeveloper(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	for _, key := range []string{"sk_test_anything", "pub_test_sandbox", f.Key(account.KindPublisher)} {
		w := f.do(http.MethodPost, mcp.Path,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":{"context":"x"}}}`,
			http.Header{"Authorization": {"Bearer " + key}})
		var got struct {
			Result struct {
				StructuredContent struct {
					AuctionID string `json:"auction_id"`
					Sandbox   bool   `json:"sandbox"`
				} `json:"structuredContent"`
			} `json:"result"`
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		signed, err := f.Ring.Verify(token.PurposeReport.Only(), got.Result.StructuredContent.AuctionID, f.Now)
		require.NoError(t, err)
		sandbox := account.IsSandbox(key)
		require.Equal(t, sandbox, signed.Sandbox)
		require.Equal(t, sandbox, got.Result.StructuredContent.Sandbox)
		require.Equal(t, "mcp", signed.IntegrationMethod)
		require.Equal(t, !sandbox, signed.DeveloperID == developerID)
	}
}

func TestOriginsAreChecked(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	for _, origin := range []string{
		"*", "app.example", "https://app.example/", "https://app.example/x", "https://", "ftp://app.example", "null",
		"https://u@app.example", "",
	} {
		_, err := mcp.New(
			mcp.Config{Origins: []string{origin}}, mcp.Deps{Log: f.Logger, Metrics: prometheus.NewRegistry()},
		)
		require.ErrorContains(t, err, "ADNET_MCP_ORIGINS", origin)
	}
	_, err := mcp.New(
		mcp.Config{Origins: []string{"https://app.example:8443", "http://localhost:3000"}},
		mcp.Deps{Log: f.Logger, Metrics: prometheus.NewRegistry()},
	)
	require.NoError(t, err)
}

// Two values of a header that must repeat the body could be read differently by what routes on
// them.
func TestRepeatedHeaders(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":{"context":"x"},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	good := http.Header{
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"get_sponsored_content"},
		"Authorization": {"Bearer " + f.key},
	}
	require.Equal(t, http.StatusOK, f.do(http.MethodPost, mcp.Path, body, good).Code)
	for _, name := range []string{"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"} {
		twice := good.Clone()
		twice.Add(name, twice.Get(name))
		w := f.do(http.MethodPost, mcp.Path, body, twice)
		require.Equal(t, http.StatusBadRequest, w.Code, name)
		require.Equal(t, -32020, failureOf(t, w.Body.String()).Error.Code, name)
	}
}
