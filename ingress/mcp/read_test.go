package mcp

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/ingress/httpapi"
)

// same holds the reading in one pass to the general decoder; plain says whether it took the body.
func same(t require.TestingT, body []byte) (plain bool) {
	want, refused := decode(body)
	got := new(call)
	if !got.read(string(body)) {
		return false
	}
	require.Nil(t, refused, "what the general decoder refuses was taken: %s", body)
	require.Equal(t, want, got.message, "%s", body)
	var arguments contentArguments
	if got.understood {
		require.NoError(t, httpapi.Unmarshal([]byte(want.params.arguments), &arguments), "%s", body)
		require.Equal(t, arguments, got.content, "%s", body)
	}
	return true
}

// FuzzRead sends any body to both readers.
func FuzzRead(f *testing.F) {
	for _, body := range plainBodies {
		f.Add([]byte(body))
	}
	for _, body := range otherBodies {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { same(t, body) })
}

var plainBodies = []string{
	`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
	` { "jsonrpc" : "2.0" , "id" : "a\u00e9" , "method" : "ping" , "params" : { } } `,
	`{"jsonrpc":"2.0","id":null,"method":"notifications/initialized","x":[1,{"a":[]},-2.5,true,false,null,"\n"]}`,
	`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	`{"jsonrpc":"2.0","id":-7,"method":"tools/call","params":{"arguments":{"context":"a \"b\" é","active_tools":["x","y"],"turn":3,"session_len_min":12.5,"host":null},"name":"get_sponsored_content"}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"track_event","arguments":{"event":"click","auction_id":"x","value":1.5}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":{"context":"x","unknown":{"y":1}}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":{"context":"x","Turn":1}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":[]}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":null,"_meta":{"progressToken":4,` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"a":{}}}}}`,
}

// otherBodies are right or wrong, but not plain.
var otherBodies = []string{
	``, `[]`, `null`, `{}`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":{},"method":"ping"}`,
	`{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}`,
	`{"jsonrpc":"2.0","id":1,"method":"ping","x":{"y":1,"y":2}}`,
	`{"jsonrpc":"2.0","id":1,"method":"ping","x":1,"x":2}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}{}`,
	`{"jsonrpc":"2.0","id":1,"method":"ping",}`,
	`{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`, `{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}`,
	`{"jsonrpc":"2.0","id":1e400,"method":"ping"}`, `{"jsonrpc":"2.0","id":01,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":1.,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":1,"method":"ping","x":"\ud800"}`,
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\xff\"}",
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\n\"}", `{"jsonrpc":"2.0","id":1,"m\u0065thod":"ping"}`,
	`{"jsonrpc":"2.0","id":1,"method":"ping","x":nul}`, `{"jsonrpc":"2.0","id":1,"method":"ping","x":[1 2]}`,
	`{"jsonrpc":"2.0" "id":1,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":1,"method":"ping","x":[[[[[[[[[[]]]]]]]]]]}`, `{"jsonrpc":"2.0","id":-0,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":1,"method":7}`,
}

func TestPlainBodiesAreReadInOnePass(t *testing.T) {
	for _, body := range plainBodies {
		require.True(t, same(t, []byte(body)), body)
	}
	for _, body := range otherBodies {
		require.False(t, same(t, []byte(body)), body)
	}
	understood := new(call)
	require.True(t, understood.read(plainBodies[4]))
	require.True(t, understood.understood)
}

// Each argument of get_sponsored_content is read in one pass.
func TestEachArgumentIsReadInOnePass(t *testing.T) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sponsored_content","arguments":{` +
		`"context_summary":"a","host":"b","user_region":"US","user_language":"en","session_len_min":1.5,` +
		`"developer_api_key":"c","context":"d","messages":[{"role":"user","content":"e"}],"contents":[{"content":"f"}],` +
		`"min_relevance":0.5,"active_tools":["g"],"host_app":"h","surface":"i","session_id":"j","turn":1,` +
		`"first_ad_turn":2,"turns_between_ads":3,"consent":{"gpc":1},"suitability":{"age":"teen"}}}}`
	require.True(t, same(t, []byte(body)))
	got := new(call)
	require.True(t, got.read(body) && got.understood)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[contentArguments]()) {
		require.False(t, reflect.ValueOf(got.content).FieldByIndex(f.Index).IsZero(), f.Name)
	}
}

// Any damage to a plain body is found, or means the same to both readers.
func TestDamagedBodies(t *testing.T) {
	damage := []byte(`"\{}[]:, 0-9.eE+tfnu` + "\x00\x1f\x7f\x80\xff\xc3\n")
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		body := []byte(rapid.SampledFrom(plainBodies).Draw(t, "body"))
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			at := rapid.IntRange(0, len(body)-1).Draw(t, "at")
			switch with := rapid.SampledFrom(damage).Draw(t, "with"); rapid.IntRange(0, 3).Draw(t, "how") {
			case 0:
				body[at] = with
			case 1:
				body = append(body[:at:at], append([]byte{with}, body[at:]...)...)
			case 2:
				body = append(body[:at:at], body[min(len(body), at+1):]...)
			default: // a part comes twice
				end := rapid.IntRange(at, len(body)).Draw(t, "end")
				body = append(body[:end:end], body[at:]...)
			}
			if len(body) == 0 {
				return
			}
		}
		if same(t, body) {
			taken++
		}
	})
	require.Positive(t, taken)
}

// A part of the Markdown is what a JSON encoder makes of it, whichever way it is written.
func TestAppendInert(t *testing.T) {
	plain := func(text string) string {
		quoted, err := json.Marshal(inertText(text))
		require.NoError(t, err)
		return string(quoted[1 : len(quoted)-1])
	}
	for _, text := range []string{
		"", " ", "a", " a b ", "Chess lessons, 50% off: don't wait?", "a\"b", `a\b`, "**", "é ", "1. a", "a\tb", "- a",
		"a -", "\u00a0x",
	} {
		require.Equal(t, plain(text), string(appendInert(nil, text)), "%q", text)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z .,:'"*\\<&\t-]*`)).Draw(t, "text")
		require.Equal(t, plain(text), string(appendInert(nil, text)))
	})
}
