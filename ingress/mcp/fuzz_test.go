package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"adnet/ingress/mcp"
	"adnet/ingress/track"
)

// FuzzMessage sends any body: it never panics or fails with a server error; an answer is one
// JSON-RPC object that echoes the id byte for byte, or nothing for a notification.
func FuzzMessage(f *testing.F) {
	files, err := filepath.Glob("../testdata/*/mcp-*.json")
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		var x exchange
		require.NoError(f, json.Unmarshal(text, &x))
		for _, step := range x.Steps {
			body := []byte(step.Request.Raw)
			if step.Request.Body != nil {
				body, err = json.Marshal(step.Request.Body)
				require.NoError(f, err)
			}
			f.Add(
				body, step.Request.Headers["MCP-Protocol-Version"], step.Request.Headers["Mcp-Method"],
				step.Request.Headers["Mcp-Name"],
			)
		}
	}
	for _, suitability := range []string{
		`{"flags":["S11"],"age":"adult"}`, `{"flags":[1e400,"x"],"age":9}`, `"adult"`, `{"x":[[[[[[[[[[1]]]]]]]]]]}`,
		`{"age":"adult","age":"child"}`,
	} {
		f.Add(
			[]byte(
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":{"context":"chess","suitability":`+suitability+`}}}`,
			), "", "", "",
		)
	}
	w := newFixture(f, track.UnsignedRecord)
	f.Fuzz(func(t *testing.T, body []byte, version, method, name string) {
		r := httptest.NewRequest(http.MethodPost, mcp.Path, strings.NewReader(string(body)))
		r.Header = http.Header{"Authorization": {"Bearer " + w.key}}
		for header, value := range map[string]string{
			"Mcp-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name,
		} {
			if value != "" {
				r.Header[header] = []string{value}
			}
		}
		reply := httptest.NewRecorder()
		w.HTTP.ServeHTTP(reply, r)
		if reply.Code == http.StatusAccepted {
			require.Empty(t, reply.Body.String())
			return
		}
		require.Less(t, reply.Code, 500)
		require.True(t, utf8.Valid(reply.Body.Bytes()))
		type answer struct {
			ID     jsontext.Value `json:"id"`
			Result jsontext.Value `json:"result"`
			Error  jsontext.Value `json:"error"`
		}
		var got, sent answer
		if reply.Body.Bytes()[0] == '[' {
			var batch []answer
			require.NoError(t, json.Unmarshal(reply.Body.Bytes(), &batch), reply.Body)
			for _, item := range batch {
				require.True(t, (item.Result == nil) != (item.Error == nil), reply.Body)
			}
			return
		}
		require.NoError(t, json.Unmarshal(reply.Body.Bytes(), &got), reply.Body)
		require.True(t, (got.Result == nil) != (got.Error == nil), reply.Body)
		if got.Result == nil {
			return
		}
		if json.Unmarshal(body, &sent, json.RejectUnknownMembers(false)) == nil {
			require.Equal(t, string(sent.ID), string(got.ID))
		} else { // its texts were mended
			require.Contains(t, string(body), string(got.ID))
		}
		w.Log.Auctions, w.Log.Events = nil, nil
	})
}
