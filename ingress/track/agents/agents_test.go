package agents

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36"

func newList(t testing.TB) *List {
	t.Helper()
	l, err := New()
	require.NoError(t, err)
	return l
}

func TestListed(t *testing.T) {
	l := newList(t)
	require.Greater(t, l.Len(), 1000)
	for agent, want := range map[string]bool{
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": true,
		"Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)":  true,
		"curl/8.7.1":             true,
		"python-requests/2.32.3": true,
		"Go-http-client/1.1":     true,
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/124.0.0.0 Safari/537.36": true,
		"Wget/1.21": true,
		chrome:      false,
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1": false,
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 14.4; rv:125.0) Gecko/20100101 Firefox/125.0":                                                     false,
		"": false,
	} {
		for range 2 { // found, then remembered
			require.Equal(t, want, l.Listed(agent), agent)
		}
	}
	require.False(t, l.Listed(strings.Repeat("x", 1<<20)), "a long one is cut, not kept")
}

// The index finds what trying every pattern finds.
func TestSameAsEveryPattern(t *testing.T) {
	l := newList(t)
	var all []*regexp.Regexp
	for line := range strings.Lines(patterns) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, regexp.MustCompile(line))
		}
	}
	require.Len(t, all, l.Len())
	parts := append(strings.Fields(strings.ReplaceAll(patterns, `\`, "")), chrome, "; ", "/", "(", ")", "bo", "t", " ")
	rapid.Check(t, func(t *rapid.T) {
		agent := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 4).Draw(t, "parts"), rapid.SampledFrom([]string{"", " "}).Draw(t, "join"))
		if len(agent) > maxAgent {
			agent = agent[:maxAgent]
		}
		want := false
		for _, re := range all {
			want = want || re.MatchString(agent)
		}
		require.Equal(t, want, l.Listed(agent), "%q", agent)
	})
}

func BenchmarkListed(b *testing.B) {
	l := newList(b)
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l.Listed(chrome)
		}
	})
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			l.match(chrome)
		}
	})
}
