package track

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"adnet/ingress/track/agents"
	"adnet/schemas/event"
)

// What a program posts with the publisher's key, and what servers fetch, proves no reader.
func TestEventsFromReaders(t *testing.T) {
	const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Safari/537.36"
	list, err := agents.New()
	require.NoError(t, err)
	for _, c := range []struct {
		name   string
		origin Origin
		method string
		header http.Header
		want   bool
	}{
		{"a link", Origin{link: true}, "rest", http.Header{"User-Agent": {chrome}}, true},
		{"a pixel", Origin{}, "mcp", http.Header{"User-Agent": {chrome}}, true},
		{"a pixel of a page", Origin{}, "js_snippet", http.Header{"User-Agent": {chrome}}, true},
		{"a pixel that a tool fetched", Origin{}, "rest", http.Header{"User-Agent": {"curl/8.5.0"}}, false},
		{"a pixel without an agent", Origin{}, "rest", http.Header{}, false},
		{"a link that a robot followed", Origin{link: true}, "rest", http.Header{"User-Agent": {"Googlebot/2.1"}}, false},
		{"a posted report", Origin{posted: true}, "rest", http.Header{"User-Agent": {chrome}}, false},
		{
			"a posted report that calls itself a page's", Origin{posted: true}, "js_snippet",
			http.Header{"User-Agent": {chrome}}, false,
		},
		{
			"a page's report", Origin{posted: true}, "js_snippet",
			http.Header{"User-Agent": {chrome}, "Origin": {"https://app.example"}}, true,
		},
		{
			"a page's report with a browser key", Origin{posted: true}, "js_snippet", http.Header{
				"User-Agent": {chrome}, "Sec-Fetch-Site": {"cross-site"}, "Authorization": {"Bearer pk_live_x"},
			}, true,
		},
		{
			"a report with the server's key", Origin{posted: true}, "js_snippet", http.Header{
				"User-Agent": {chrome}, "Origin": {"https://app.example"}, "Authorization": {"Bearer sk_live_x"},
			}, false,
		},
	} {
		for _, screen := range []*screening{{agents: list}, {}} {
			if screen.agents == nil && c.header.Get("User-Agent") != chrome {
				continue // ADNET_INVALID_AGENTS=off
			}
			gone, _ := gin.CreateTestContext(httptest.NewRecorder())
			gone.Request = httptest.NewRequest(http.MethodGet, "/", nil)
			gone.Request.Header = c.header
			c.origin.request = gone
			e := &event.Event{
				Type: event.Type_IMPRESSION, Proof: event.Proof_SIGNED,
				Placement: &event.Placement{IntegrationMethod: c.method}, AuctionId: make([]byte, 16),
			}
			screen.judge(t.Context(), e, c.origin, time.Now())
			require.Equal(t, c.want, e.FromReader, c.name)
		}
	}
	e := &event.Event{AuctionId: make([]byte, 16),
		Type: event.Type_IMPRESSION, Proof: event.Proof_SIGNED, Placement: &event.Placement{IntegrationMethod: "mcp"},
	}
	(&screening{agents: list}).judge(t.Context(), e, Origin{}, time.Now())
	require.False(t, e.FromReader, "the report of a tool call")
}
