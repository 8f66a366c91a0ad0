package browser_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/evanw/esbuild/pkg/api"
	"github.com/stretchr/testify/require"
)

// appHost serves a host of MCP Apps, made of the reference's packages, and keeps what it sends to
// adnet.
type appHost struct {
	*httptest.Server
	mu   sync.Mutex
	sent []map[string]any
}

func newAppHost(t *testing.T, w *world) *appHost {
	t.Helper()
	if _, err := os.Stat("../../web/node_modules/@modelcontextprotocol/ext-apps"); err != nil {
		require.NotEqual(
			t, "true", os.Getenv("CI"), "the reference host of MCP Apps is not installed: run deploy/web.sh",
		)
		t.Skip("the reference host of MCP Apps is not installed: run deploy/web.sh")
	}
	built := api.Build(api.BuildOptions{
		EntryPoints: []string{"testdata/apps.ts"}, Bundle: true, Format: api.FormatESModule, Target: api.ES2022,
		NodePaths: []string{"../../web/node_modules"}, TsconfigRaw: "{}",
	})
	require.Empty(t, built.Errors)
	to, err := url.Parse(w.base)
	require.NoError(t, err)
	h := &appHost{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Header.Del("Origin") // a host's server asks, not its page
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(
			w,
			`<!doctype html><html lang="en"><title>host</title><link rel="icon" href="data:,"><main><h1>Host</h1><p id="before" style="height:var(--before,0)"></p></main><script type="module" src="/host.js"></script>`,
		)
	})
	mux.HandleFunc("/host.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write(built.OutputFiles[0].Contents)
	})
	mux.HandleFunc("POST /api/mcp", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var message map[string]any
		if err == nil && json.Unmarshal(body, &message) == nil {
			h.mu.Lock()
			h.sent = append(h.sent, message)
			h.mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	})
	mux.HandleFunc(
		"/api/mcp", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) },
	)
	h.Server = httptest.NewServer(mux)
	t.Cleanup(h.Close)
	return h
}

// events lists the events that the card had the host report.
func (h *appHost) events() (list []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.sent {
		params, _ := m["params"].(map[string]any)
		arguments, _ := params["arguments"].(map[string]any)
		if event, ok := arguments["event"].(string); ok {
			list = append(list, event)
		}
	}
	return list
}

// named sells to everybody who asks for word an ad of an account whose name an administrator
// approved.
func (w *world) named(t *testing.T, name, word string) {
	t.Helper()
	token, id := w.registered(t, "named")
	boss, _ := w.login(t, "admin")
	reply, err := json.Marshal(map[string]any{"company": name})
	require.NoError(t, err)
	w.send(t, http.MethodPatch, token, "/api/account/profile", bytes.NewReader(reply))
	w.post(t, boss, "/api/admin/users/"+id+"/name", map[string]any{"name": name, "decision": "approved"})
	w.post(t, token, "/api/campaigns", map[string]any{
		"advertiser_id": id, "headline": "Lessons in " + word, "subtext": "For beginners, with a coach.",
		"cta_url": "https://named-shop.example/", "bid_amount": 20, "pacing": "asap", "frequency_cap": 0,
		"target_intent_tokens": []string{word},
	})
	time.Sleep(2 * time.Second) // every node has it by then
}

// The card in a host of the reference: it is drawn with its label, told apart by the reader's
// programs, reports what was seen, and leaves links to the host.
func TestMCPApps(t *testing.T) {
	w := shared
	token, _ := w.login(t, "publisher")
	var key struct{ Key string }
	require.NoError(
		t, json.Unmarshal(w.post(t, token, "/api/keys", map[string]any{"kind": "publisher", "name": "host"}), &key),
	)
	const word = "zithercraft"
	w.named(t, "Chess & Sons", word)
	for _, theme := range []string{"light", "dark"} {
		t.Run(theme, func(t *testing.T) {
			h := newAppHost(t, w)
			tab := w.tab(t, "", desk)
			tab.Expect(`405 .*/api/mcp`) // of a stream, which every client tries
			query := url.Values{"key": {key.Key}, "context": {word}, "theme": {theme}, "least": {"0"}}
			require.NoError(t, tab.Do(chromedp.Navigate(h.URL+"/?"+query.Encode())))
			require.NoError(t, tab.Await(`window.report && report.height > 60`), "%q", tab.Problems())
			card, err := tab.Frame("")
			require.NoError(t, err)
			var text, scheme string
			require.NoError(
				t,
				card.Do(
					chromedp.Evaluate(`document.body.innerText`, &text),
					chromedp.Evaluate(`document.documentElement.style.colorScheme`, &scheme),
				),
			)
			require.True(t, strings.HasPrefix(text, "Sponsored · Chess & Sons"), text)
			require.Contains(t, text, "Why this ad?")
			require.Equal(t, theme, scheme)
			w.examine(t, card, desk)
			require.Eventually(t, func() bool { return len(h.events()) >= 2 }, 10*time.Second, 50*time.Millisecond)
			require.Equal(t, []string{"impression", "viewable"}, h.events())

			require.NoError(
				t, card.Do(chromedp.Evaluate(`document.querySelectorAll('a').forEach((a) => a.click())`, nil)),
			)
			require.NoError(t, tab.Await(`report.opened.length === 2`))
			var opened []string
			require.NoError(t, tab.Do(chromedp.Evaluate(`report.opened`, &opened)))
			require.Contains(t, opened[0], "/r/")
			require.Contains(t, opened[1], "/s/")
			require.NoError(t, card.Do(chromedp.Evaluate(`document.querySelector('button').click()`, nil)))
			require.NoError(t, tab.Await(`report.height === 0`))
			// The card shrinks when it has asked the host, which is before the host has asked
			// adnet.
			all := []string{"impression", "viewable", "close"}
			require.Eventually(
				t, func() bool { return len(h.events()) >= len(all) }, 10*time.Second, 50*time.Millisecond,
			)
			require.Equal(t, all, h.events())
			require.Empty(t, card.Problems())
		})
	}
	t.Run("no ad", func(t *testing.T) {
		h := newAppHost(t, w)
		tab := w.tab(t, "", desk)
		tab.Expect(`405 .*/api/mcp`) // of a stream, which every client tries
		query := url.Values{
			"key": {key.Key}, "context": {"learning chess openings with a coach"}, "theme": {"light"}, "least": {"1"},
		}
		require.NoError(t, tab.Do(chromedp.Navigate(h.URL+"/?"+query.Encode())))
		require.NoError(t, tab.Await(`document.querySelector('iframe')`))
		time.Sleep(1500 * time.Millisecond)
		require.NoError(t, tab.Await(`report.height === 0`))
		require.Empty(t, h.events())
	})
}
