package agents

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/ingress/track/agents/corpus"
)

func TestPersonIsNeverHit(t *testing.T) {
	l := newList(t)
	for _, agent := range corpus.People() {
		require.Equal(t, Unlisted, l.Kind(agent.Text), "%s: %s", agent.Class, agent.Text)
	}
}

func TestRobotIsHit(t *testing.T) {
	l := newList(t)
	for _, agent := range corpus.Robots() {
		require.NotEqual(t, Unlisted, l.Kind(agent.Text), "%s: %s", agent.Class, agent.Text)
	}
}

// Another pattern must not hide a pattern that hits people, so each is tried by itself.
func TestNoPatternMatchesAPerson(t *testing.T) {
	for line := range strings.Lines(patterns + strings.Join(previews[:], "\n")) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		re := regexp.MustCompile(line)
		for _, agent := range corpus.People() {
			require.False(t, re.MatchString(agent.Text), "narrow %q in narrowed.txt: it matches %q", line, agent.Text)
		}
	}
}

func TestNarrowedPatternIsNotInTheList(t *testing.T) {
	narrowed, err := os.ReadFile("narrowed.txt")
	require.NoError(t, err)
	inList := make(map[string]bool)
	for line := range strings.Lines(patterns) {
		inList[strings.TrimSuffix(line, "\n")] = true
	}
	for line := range strings.Lines(string(narrowed)) {
		pattern, ours, found := strings.Cut(strings.TrimSuffix(line, "\n"), " =>")
		if !found || strings.HasPrefix(line, "#") {
			continue
		}
		require.False(t, inList[pattern], "run go generate: %q is narrowed", pattern)
		if ours != "" {
			require.True(t, inList[strings.TrimPrefix(ours, " ")], "run go generate: %q is missing", ours)
		}
	}
}

func TestFormFindsWhatNoListNames(t *testing.T) {
	l := newList(t)
	for agent, want := range map[string]Kind{
		"Mozilla/5.0": Unlisted, "Mozilla/5.0 (compatible)": Robot, "${jndi:ldap://x.example/a}": Robot, "{{user_agent}}": Robot, "() { :; }; echo": Robot,
		"Dart/3.5 (dart:io)": Tool, "Java/21.0.2": Tool, "hackney/1.20.1": Tool, "Javascript": Unlisted,
		"Zorgle/1.0 (+http://zorgle.example)":           Tool,     // perhaps a publisher's server
		"Zorgle/1.0 (http://zorgle.example)":            Unlisted, // readers of podcasts write so, too
		"Zorgle/1.0 (http://zorgle.example/crawling)":   Robot,
		"Zorgle/1.0 (who@zorgle.example)":               Tool,
		"Zorgle/1.0 (iPhone; +https://zorgle.example)":  Unlisted,
		"Zorgle/7 CFNetwork/1494.0.7 Darwin/23.4.0":     Unlisted,
		"ZorgleBot/7 CFNetwork/1494.0.7 Darwin/23.4.0":  Unlisted, // an application for a chat robot
		"Zorgle/7 (+http://z.example) CFNetwork/1494.0": Tool,
		"zorgle-fetcher/1.2":                            Tool, "AcmeChatbot/1.0": Unlisted, chrome + " (+http://zorgle.example)": Robot,
		"Zorgle/2.0": Unlisted, "Botanist/2.0": Unlisted, "Botswana Post/1.0": Unlisted,
		chrome + " ZorgleBot/1.0": Robot, chrome + " (compatible; Zorgle)": Robot,
		chrome + " user@2x/1.0": Unlisted,
	} {
		require.Equal(t, want, l.Kind(agent), agent)
	}
}

// A robot that adds a person's application to its agent stays a robot.
func TestNarrowedPatternHidesNoRobot(t *testing.T) {
	l := newList(t)
	for _, surface := range []string{
		"Code/1.100.0", "Trae/1.1", "Notion/3.0", "Viber/20", "Sonic Slack_SSB/4.0", "Build/AP3A.240617.008", "CUBOT_X19",
		"SogouMobileBrowser/5", "MetaIAB Facebook", "Blackboard/3.6", "CFNetwork/1 Darwin/1",
	} {
		for _, robot := range []string{"Googlebot/2.1", "bingbot/2.0", "PetalBot", "HeadlessChrome/120.0", "curl/8.0 Scrapy/2"} {
			require.Equal(t, Robot, l.Kind(chrome+" "+surface+" "+robot), "%s %s", surface, robot)
			require.Equal(t, Robot, l.Kind(robot+" "+surface), "%s %s", robot, surface)
		}
	}
}

func FuzzForm(f *testing.F) {
	for _, agent := range append(corpus.People(), corpus.Robots()...) {
		f.Add(agent.Text)
	}
	f.Fuzz(func(t *testing.T, agent string) {
		require.LessOrEqual(t, form(agent), Robot)
	})
}
