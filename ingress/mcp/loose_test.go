package mcp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/ingress/track"
)

// Models and PHP write arguments in other kinds. They get an ad.
func TestArgumentsOfAnotherKindAreRead(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	for _, arguments := range []string{
		`{"context":7,"context_summary":"chess"}`, `{"context":"chess","active_tools":"board, clock"}`,
		`{"context":"chess","active_tools":[null,"board"]}`, `{"context":"chess","turn":"3","session_len_min":"12"}`,
		`{"context":"chess","min_relevance":"0.01"}`, `{"context":"chess","consent":"{\"gpc\":true}"}`,
		`{"context":"chess","consent":[],"suitability":[],"turn":null}`, `"{\"context\":\"chess\"}"`,
		`{"context":"chess cut \ud83d","host":"cut\"}`, "{\"context\":\"chess\xe2\x99\"}",
		`{"messages":[{"role":"user","content":[{"type":"input_text","text":"chess"}]},` +
			`{"role":"model","parts":[{"text":"Openings?"}]},{"role":"developer","content":null}]}`,
	} {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":` +
			arguments + `}}`
		w := f.do(http.MethodPost, "/api/mcp", body, http.Header{"Authorization": {"Bearer " + f.key}})
		require.Equal(t, 200, w.Code, w.Body)
		require.Contains(t, w.Body.String(), `"isError":false`, arguments)
		require.Contains(t, w.Body.String(), `"structuredContent":{"campaign_id"`, arguments)
	}
}

// A consent in a text refuses as one in an object does.
func TestConsentInATextIsHeeded(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	for consent, unsaid := range map[string]bool{`"{\"coppa\":true}"`: false, `{"coppa":true}`: false, `[]`: true} {
		w := f.do(
			http.MethodPost, "/api/mcp",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":`+
				`{"context":"chess","consent":`+consent+`}}}`, http.Header{"Authorization": {"Bearer " + f.key}},
		)
		require.Equal(t, unsaid, strings.Contains(w.Body.String(), `"isError":false,`) || strings.Contains(
			w.Body.String(), `"structuredContent":{"campaign_id"`), consent)
	}
}
