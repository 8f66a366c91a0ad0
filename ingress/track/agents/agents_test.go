package agents

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 " +
	"Safari/537.36"

func newList(t testing.TB) *List {
	t.Helper()
	l, err := New()
	require.NoError(t, err)
	return l
}

func TestListed(t *testing.T) {
	l := newList(t)
	require.Greater(t, l.Len(), 1000)
	const iphone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
	for agent, want := range map[string]Kind{
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": Robot,
		"Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)":  Robot,
		"curl/8.7.1":                        Tool,
		"python-requests/2.32.3":            Tool,
		"Go-http-client/1.1":                Tool,
		"node-fetch":                        Tool,
		"axios/1.7.2":                       Tool,
		"okhttp/4.12.0":                     Tool,
		"Wget/1.21":                         Tool,
		"Scrapy/2.11 (+https://scrapy.org)": Robot,
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/124.0.0.0 Safari/537.36": Robot,
		chrome: Unlisted,
		iphone + "Version/17.4 Mobile/15E148 Safari/604.1":                                    Unlisted,
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 14.4; rv:125.0) Gecko/20100101 Firefox/125.0": Unlisted,
		// Readers inside of applications.
		iphone +
			"Mobile/15E148 [FBAN/FBIOS;FBAV/450.0.0;FBBV/1;FBDV/iPhone14,2]": Unlisted,
		iphone + "Mobile/15E148 [LinkedInApp]/9.29":                         Unlisted,
		iphone + "Mobile/15E148 Instagram 320.0.0.0 (iPhone14,2; iOS 17_4)": Unlisted,
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Slack/4.36.140 " +
			"Chrome/120.0 Electron/28.1.3 Safari/537.36": Unlisted,
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) discord/1.0.9031 " +
			"Chrome/108.0 Electron/22.3.26 Safari/537.36": Unlisted,
		"": Unlisted,
	} {
		for range 2 { // found, then remembered
			require.Equal(t, want, l.Kind(agent), agent)
		}
	}
	require.Equal(t, Unlisted, l.Kind(strings.Repeat("x", 1<<20)), "a long one is cut, not kept")
}

// A fetcher of link previews is never a person's click.
func TestLinkPreviews(t *testing.T) {
	l := newList(t)
	for _, agent := range []string{
		"Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "Slackbot 1.0 (+https://api.slack.com/robots)",
		"Slack-ImgProxy (+https://api.slack.com/robots)",
		"Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
		"TelegramBot (like TwitterBot)", "WhatsApp/2.23.20.0 A", "WhatsApp/2", "Twitterbot/1.0",
		"Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com",
		"Mozilla/5.0 (compatible; MicrosoftPreview/2.0; +https://aka.ms/MicrosoftPreview)",
		"facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
		"facebookexternalhit/1.1;line-poker/1.0", "facebookexternalhit/1.1; kakaotalk-scrap/1.0",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 " +
			"Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0",
		"LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)",
		"http.rb/5.1.1 (Mastodon/4.2.1; +https://mastodon.example/)",
		"Mastodon/4.3.0 (http.rb/5.2.0; +https://mastodon.example/) Bot",
		"Synapse (bot; +https://github.com/matrix-org/synapse)", "Iframely/1.3.1 (+https://iframely.com/docs/about)",
		"Mozilla/5.0 (compatible; redditbot/1.0; +http://www.reddit.com/feedback)", "Mattermost-Bot/1.1", "Viber/20.0",
		"Mozilla/5.0 (compatible; ZulipURLPreview/9.0; +https://zulip.example)", "Rocket.Chat",
		"Mozilla/5.0 (compatible; Bluesky Cardyb/1.1; +mailto:support@bsky.app)",
		"Embedly/0.2 (+http://support.embed.ly/)",
		"Snap URL Preview Service; bot; snapchat; https://developers.snap.com/robots", "Wire LinkPreview Bot",
	} {
		require.Equal(t, Robot, l.Kind(agent), agent)
	}
}

// The index finds the same as trying every pattern.
func TestSameAsEveryPattern(t *testing.T) {
	l := newList(t)
	var all []*regexp.Regexp
	robots := 0
	for line := range strings.Lines(patterns) {
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == toolsBegin:
			robots = len(all)
		case line != "" && !strings.HasPrefix(line, "#"):
			all = append(all, regexp.MustCompile(line))
		}
	}
	tools := all[robots:]
	all = all[:robots:robots]
	for _, pattern := range previews {
		all = append(all, regexp.MustCompile(pattern))
	}
	require.Len(t, append(tools, all...), l.Len())
	parts := append(strings.Fields(strings.ReplaceAll(patterns, `\`, "")), chrome, "; ", "/", "(", ")", "bo", "t", " ")
	rapid.Check(t, func(t *rapid.T) {
		agent := strings.Join(
			rapid.SliceOfN(rapid.SampledFrom(parts), 0, 4).Draw(t, "parts"),
			rapid.SampledFrom([]string{"", " "}).Draw(t, "join"),
		)
		if len(agent) > maxAgent {
			agent = agent[:maxAgent]
		}
		want := Unlisted
		matches := func(re *regexp.Regexp) bool { return re.MatchString(agent) }
		switch {
		case slices.ContainsFunc(all, matches):
			want = Robot
		case slices.ContainsFunc(tools, matches):
			want = Tool
		}
		require.Equal(t, want, l.listed(agent), "%q", agent)
	})
}

func BenchmarkListed(b *testing.B) {
	l := newList(b)
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l.Kind(chrome)
		}
	})
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l.match(chrome)
		}
	})
	b.Run("form", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			form(chrome)
		}
	})
}
