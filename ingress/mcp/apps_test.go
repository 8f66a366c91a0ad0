package mcp_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"adnet/ingress/mcp"
	"adnet/ingress/track"
)

const extension = "io.modelcontextprotocol/ui"

// A host that announces MCP Apps finds the card with the tool and with each ad; any other gets what
// it got before there was one.
func TestApps(t *testing.T) {
	announced := &sdk.ClientCapabilities{Extensions: map[string]any{extension: map[string]any{"mimeTypes": []string{
		"text/html;profile=mcp-app",
	}}}}
	other := &sdk.ClientCapabilities{Extensions: map[string]any{extension: map[string]any{
		"mimeTypes": []string{"text/plain"},
	}}}
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		for name, abilities := range map[string]*sdk.ClientCapabilities{
			"announced": announced, "other": other, "none": nil,
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				f := newFixture(t, track.UnsignedRecord)
				session, _, err := connectAs(t, f, version, f.key, &sdk.ClientOptions{Capabilities: abilities})
				require.NoError(t, err)
				ask := func(least float64) *sdk.CallToolResult {
					displayed, err := session.CallTool(t.Context(), &sdk.CallToolParams{
						Name:      "get_sponsored_content",
						Arguments: map[string]any{"context": "learning chess", "min_relevance": least},
					})
					require.NoError(t, err)
					require.False(t, displayed.IsError)
					return displayed
				}
				ad, none := ask(0), ask(1)
				require.Nil(t, none.Meta["ui"], "no ad, no card")
				require.Len(t, ad.Content, 2, "the text stays what it is")
				require.Equal(t, name == "announced", session.InitializeResult().Capabilities.Resources != nil)
				if name != "announced" {
					require.Nil(t, ad.Meta["ui"])
					return
				}
				require.Equal(t, map[string]any{"resourceUri": "ui://adnet/ad"}, ad.Meta["ui"])
				readsCard(t, session)
			})
		}
	}
}

// readsCard reads the card as a host does.
func readsCard(t *testing.T, session *sdk.ClientSession) {
	t.Helper()
	tools, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, "ui://adnet/ad", tools.Tools[0].Meta["ui"].(map[string]any)["resourceUri"])
	require.Equal(t, []any{"app"}, tools.Tools[1].Meta["ui"].(map[string]any)["visibility"])

	templates, err := session.ListResourceTemplates(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, templates.ResourceTemplates)
	listed, err := session.ListResources(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, listed.Resources, 1)
	require.Equal(t, "ui://adnet/ad", listed.Resources[0].URI)
	read, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: listed.Resources[0].URI})
	require.NoError(t, err)
	require.Len(t, read.Contents, 1)
	page := read.Contents[0]
	require.Equal(t, "text/html;profile=mcp-app", page.MIMEType)
	require.True(t, strings.HasPrefix(page.Text, "<!doctype html>"))
	require.Contains(t, page.Text, `data-media="https://ads.example"`)
	require.NotContains(t, page.Text, "ADNET_")
	require.Equal(t, map[string]any{
		"csp":           map[string]any{"connectDomains": []any{}, "resourceDomains": []any{"https://ads.example"}},
		"prefersBorder": false,
	}, page.Meta["ui"])

	_, err = session.ReadResource(context.WithoutCancel(t.Context()), &sdk.ReadResourceParams{URI: "ui://adnet/other"})
	var refused *jsonrpc.Error
	require.ErrorAs(t, err, &refused)
	require.Contains(t, []int64{-32002, jsonrpc.CodeInvalidParams}, refused.Code)
}

// Strict clients want every list to be there.
func TestEmptyLists(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	w := f.post(`{"jsonrpc":"2.0","id":1,"method":"resources/templates/list"}`)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"resourceTemplates":[]}}`, w.Body.String())
}

// Capabilities of any shape are no reason to fail.
func TestAnyCapabilities(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	for _, capabilities := range []string{
		`{"extensions":{"io.modelcontextprotocol/ui":7}}`, `{"extensions":["io.modelcontextprotocol/ui"]}`,
		`"io.modelcontextprotocol/ui"`,
		`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":"text/html;profile=mcp-app"}}}`, `null`,
		`{"a":{"b":[1,{"io.modelcontextprotocol/ui":null}]}}`,
	} {
		w := f.post(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` +
				capabilities + `}}`,
		)
		require.Equal(t, http.StatusOK, w.Code, capabilities)
		require.Contains(t, w.Body.String(), `"capabilities":{"tools":{}}`, capabilities)
		require.Empty(t, w.Header().Get("Mcp-Session-Id"), capabilities)
	}
}

// Only a session id that this installation gave to a host with the extension shows the card.
func TestForgedSessionsShowNoCard(t *testing.T) {
	f := newFixture(t, track.UnsignedRecord)
	w := f.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` +
		`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}}}`)
	listed := w.Header().Get("Mcp-Session-Id")
	require.NotEmpty(t, listed)
	id, seal, _ := strings.Cut(listed, ".")
	for session, visible := range map[string]bool{
		listed: true, id: false, id + ".": false, id + "1." + seal: false, "apps-1." + seal: false,
		listed + "A": false, "apps-": false, "": false,
	} {
		header := http.Header{
			"Authorization": {"Bearer " + f.key}, "Mcp-Session-Id": {session}, "Mcp-Protocol-Version": {"2025-11-25"},
		}
		w := f.do(http.MethodPost, mcp.Path, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":`+
			`"get_sponsored_content","arguments":{"context":"learning chess"}}}`, header)
		require.Equal(t, http.StatusOK, w.Code, session)
		require.Equal(t, visible, strings.Contains(w.Body.String(), "ui://adnet/ad"), "%q", session)
	}
}
