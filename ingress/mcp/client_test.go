package mcp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"adnet/ingress/mcp"
	"adnet/ingress/track"
	"adnet/schemas/event"
)

// wire keeps what the official client sent and got.
type wire struct {
	key  string
	mu   sync.Mutex
	seen []exchanged
}

type exchanged struct {
	method, version, rpc string
	status               int
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.key)
	reply, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = append(
			w.seen,
			exchanged{r.Method, r.Header.Get("Mcp-Protocol-Version"), r.Header.Get("Mcp-Method"), reply.StatusCode},
		)
	}
	return reply, err
}

// connect is the official client in a revision, over a real listener.
func connect(t *testing.T, f *fixture, version, key string) (*sdk.ClientSession, *wire, error) {
	t.Helper()
	return connectAs(t, f, version, key, nil)
}

func connectAs(
	t *testing.T, f *fixture, version, key string, options *sdk.ClientOptions,
) (*sdk.ClientSession, *wire, error) {
	t.Helper()
	server := httptest.NewServer(f.HTTP)
	t.Cleanup(server.Close)
	w := &wire{key: key}
	client := sdk.NewClient(&sdk.Implementation{Name: "official", Version: "1"}, options)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: server.URL + mcp.Path, HTTPClient: &http.Client{Transport: w},
	}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		t.Cleanup(func() { require.NoError(t, session.Close()) })
	}
	return session, w, err
}

func TestOfficialClient(t *testing.T) {
	for _, version := range sdk.SupportedProtocolVersions() {
		t.Run(version, func(t *testing.T) {
			f := newFixture(t, track.UnsignedRecord)
			session, w, err := connect(t, f, version, f.key)
			require.NoError(t, err)
			opened := session.InitializeResult()
			require.Equal(t, version, opened.ProtocolVersion)
			require.Equal(t, "adnet", opened.ServerInfo.Name)
			require.NotNil(t, opened.Capabilities.Tools)
			require.NotEmpty(t, opened.Instructions)

			list, err := session.ListTools(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, list.Tools, 2)
			for _, tool := range list.Tools {
				require.NotEmpty(t, tool.Description)
				require.NotNil(t, tool.InputSchema)
				require.NotNil(t, tool.OutputSchema)
			}

			displayed, err := session.CallTool(
				t.Context(),
				&sdk.CallToolParams{
					Name: "get_sponsored_content", Arguments: map[string]any{"context": "learning chess"},
				},
			)
			require.NoError(t, err)
			require.False(t, displayed.IsError)
			require.Len(t, displayed.Content, 2)
			text := displayed.Content[0].(*sdk.TextContent)
			var ad map[string]any
			require.NoError(t, json.Unmarshal([]byte(text.Text), &ad))
			require.Equal(t, ad, displayed.StructuredContent)
			require.Equal(t, "Chess lessons", ad["headline"])
			people := displayed.Content[1].(*sdk.TextContent)
			require.Equal(t, []sdk.Role{"user"}, people.Annotations.Audience)
			require.Contains(t, people.Text, "Sponsored")
			require.Contains(t, people.Text, ad["tracking"].(map[string]any)["click"])

			taken, err := session.CallTool(
				t.Context(),
				&sdk.CallToolParams{
					Name:      "track_event",
					Arguments: map[string]any{"event": "impression", "auction_id": ad["auction_id"]},
				},
			)
			require.NoError(t, err)
			require.False(t, taken.IsError)
			require.Equal(
				t, map[string]any{"tracked": true, "event": "impression", "campaign_id": campaignID.String()},
				taken.StructuredContent,
			)
			require.Len(t, f.Log.Events, 1)
			require.Equal(t, event.Proof_SIGNED, f.Log.Events[0].Proof)

			wrong, err := session.CallTool(
				t.Context(), &sdk.CallToolParams{Name: "get_sponsored_content", Arguments: map[string]any{}},
			)
			require.NoError(t, err)
			require.True(t, wrong.IsError)
			require.Nil(t, wrong.StructuredContent)

			_, err = session.CallTool(t.Context(), &sdk.CallToolParams{Name: "buy_now"})
			var refused *jsonrpc.Error
			require.ErrorAs(t, err, &refused)
			require.EqualValues(t, jsonrpc.CodeInvalidParams, refused.Code)

			if version < "2026-07-28" {
				require.NoError(t, session.Ping(t.Context(), nil))
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			posts := 0
			for _, x := range w.seen {
				if x.method != http.MethodPost {
					require.Equal(t, http.StatusMethodNotAllowed, x.status, x) // the client's try for a stream
					continue
				}
				posts++
				require.Contains(t, []int{http.StatusOK, http.StatusAccepted}, x.status, x)
				require.Equal(t, version == "2026-07-28", x.rpc != "", x)
			}
			require.GreaterOrEqual(t, posts, 6)
		})
	}
}

// Errors that carry an HTTP status leave the client's connection usable, and reach its caller as
// what they are.
func TestOfficialClientSeesRefusals(t *testing.T) {
	t.Run("a key that does not work", func(t *testing.T) {
		f := newFixture(t, track.UnsignedRecord)
		_, _, err := connect(t, f, "2025-11-25", "pub_live_nonsense")
		require.ErrorContains(t, err, "unknown, revoked or of the wrong kind")
	})
	t.Run("over the rate", func(t *testing.T) {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			f := newFixture(t, track.UnsignedRecord)
			session, _, err := connect(t, f, version, f.key)
			require.NoError(t, err)
			ask := func(ctx context.Context) error {
				_, err := session.CallTool(
					ctx,
					&sdk.CallToolParams{Name: "get_sponsored_content", Arguments: map[string]any{"context": "chess"}},
				)
				return err
			}
			f.limiter.left = 1
			require.NoError(t, ask(t.Context()))
			require.Error(t, ask(t.Context()))
			f.limiter.left = 1
			require.NoError(t, ask(t.Context()), "the connection must survive a 429")
		}
	})
}
