package browser_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"adnet/lab/browser"
)

// The chat of the examples, with an adnet and a key put in: each question has an answer and an ad.
func TestExampleChat(t *testing.T) {
	w := shared
	var key string
	put := func(text string) string {
		return strings.NewReplacer("https://ads.example.com", w.base, "pk_live_YOUR_KEY", key).Replace(text)
	}
	lines := 0
	mux := http.NewServeMux()
	for path, name := range map[string]string{
		"GET /{$}": "index.html", "GET /chat.css": "chat.css", "GET /chat.js": "chat.js",
	} {
		text, err := os.ReadFile("../../examples/chat/" + name)
		require.NoError(t, err)
		lines += strings.Count(string(text), "\n")
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, name, time.Time{}, strings.NewReader(put(string(text))))
		})
	}
	require.LessOrEqual(t, lines, 75)
	server := httptest.NewServer(mux)
	defer server.Close()
	key, _ = w.pageKey(t, server.URL)
	tab := w.reader(t, server.URL+"/")
	ask := func(question string) {
		require.NoError(t, tab.Do(chromedp.SendKeys(`#question`, question+"\r", chromedp.ByQuery)))
	}
	ask("How do I cache a monorepo pipeline?")
	require.NoError(
		t, tab.Await(`seen.events.includes('filled') && document.querySelector('adnet-ad').offsetHeight > 0`), "%+v",
		noted(t, tab),
	)
	ask("Explain the Sicilian opening in chess")
	require.NoError(t, tab.Await(`document.querySelectorAll('.assistant').length === 2 && seen.events.length >= 2`))
	for _, v := range []browser.View{desk, {Width: phone.Width, Height: phone.Height, Dark: true}} {
		require.NoError(t, tab.Look(v))
		w.examine(t, tab, v)
	}
	n := noted(t, tab)
	require.Empty(t, n.Policy)
	require.Empty(t, n.Errors)
}

// docs/tour.md ends with a file that shows the ad in a page.
func TestTourShowsAnAdInAPage(t *testing.T) {
	w := shared
	text, err := os.ReadFile("../../docs/tour.md")
	require.NoError(t, err)
	tour := ""
	for i, block := range strings.Split(string(text), "```") {
		if commands, shell := strings.CutPrefix(block, "sh\n"); shell && i%2 == 1 {
			tour += commands
		}
	}
	dir := t.TempDir()
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/favicon.ico" { // browsers ask for it, and the tour has none
			rw.WriteHeader(http.StatusNoContent)
			return
		}
		files.ServeHTTP(rw, r)
	}))
	defer server.Close()
	require.Contains(t, tour, `"origins":["http://localhost:8000"]`)
	shell := exec.CommandContext(
		t.Context(), "sh", "-euc",
		// On a server that others used, a family and a text of its own: copies wait for a reviewer.
		strings.NewReplacer(
			"http://127.0.0.1:8080", w.base, "http://localhost:8000", server.URL, "shop.example", "masters.example",
			"Chess lessons for curious beginners", "Openings taught in person by masters",
		).Replace(tour),
	)
	shell.Dir = dir
	out, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", out)
	tab := w.reader(t, server.URL+"/ad.html")
	require.NoError(
		t,
		tab.Await(
			`document.querySelector('adnet-ad')?.shadowRoot?.textContent.includes('Openings taught in person by masters')`,
		),
	)
	require.Empty(t, noted(t, tab).Errors)
}
