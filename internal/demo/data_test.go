package demo_test

import (
	"bytes"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign"
	"adnet/internal/demo"
	"adnet/internal/testenv"
)

var languages = []string{"en", "de", "fr", "es", "pt", "ja", "zh", "ko"}

func world(t *testing.T) ([]demo.Company, []campaign.Fields, []demo.Request) {
	t.Helper()
	companies, err := demo.Companies()
	require.NoError(t, err)
	campaigns, err := demo.Campaigns()
	require.NoError(t, err)
	requests, err := demo.Requests()
	require.NoError(t, err)
	return companies, campaigns, requests
}

func TestFilesAreLines(t *testing.T) {
	for _, file := range []func() ([]byte, error){demo.CampaignsJSONL, demo.RequestsJSONL} {
		raw, err := file()
		require.NoError(t, err)
		require.Equal(t, byte('\n'), raw[len(raw)-1])
		require.True(t, utf8.Valid(raw))
		for line := range strings.Lines(string(raw)) {
			require.True(t, strings.HasPrefix(line, `{"`) && strings.HasSuffix(line, "}\n"), line)
		}
	}
}

func TestCompanies(t *testing.T) {
	companies, campaigns, _ := world(t)
	require.GreaterOrEqual(t, len(companies), 60)
	domains, names, each := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, c := range companies {
		require.Regexp(t, `^[a-z]+\.example$`, c.Domain)
		require.NotEmpty(t, c.Name)
		require.False(t, domains[c.Domain] || names[c.Name], c.Name)
		domains[c.Domain], names[c.Name] = true, true
		each[c.Category] = 0
	}
	require.Len(t, each, 15)

	of, err := demo.Categories()
	require.NoError(t, err)
	require.Len(t, of, len(campaigns))
	advertised := map[string]bool{}
	for i := range campaigns {
		each[of[*campaigns[i].Name]]++
		landing, err := url.Parse(*campaigns[i].CTAURL)
		require.NoError(t, err)
		advertised[landing.Hostname()] = true
	}
	require.Len(t, advertised, len(companies), "each has a campaign")
	for category, n := range each {
		require.GreaterOrEqual(t, n, 10, category)
	}
}

func TestCampaigns(t *testing.T) {
	_, campaigns, _ := world(t)
	require.GreaterOrEqual(t, len(campaigns), 150)
	deps, _ := services()
	owner, err := deps.Accounts.Register(t.Context(), "owner@x.example", "a long password")
	require.NoError(t, err)
	names, texts := map[string]bool{}, map[string]bool{}
	billing, formats, foreign := map[campaign.BillingModel]int{}, map[campaign.Format]int{}, map[string]int{}
	for i := range campaigns {
		f := &campaigns[i]
		require.Regexp(t, regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`), *f.Name)
		require.False(t, names[*f.Name] || texts[*f.Headline] || texts[*f.Subtext], "%s: repeated", *f.Name)
		names[*f.Name], texts[*f.Headline], texts[*f.Subtext] = true, true, true
		for _, text := range []string{*f.Headline, *f.Subtext, *f.CTALabel} {
			require.Equal(t, strings.TrimSpace(text), text)
			require.NotEmpty(t, text, *f.Name)
		}
		require.NotEmpty(t, f.IntentTokens, "%s would answer everything", *f.Name)
		for _, link := range []*string{f.CTAURL, f.MediaURL, f.PosterURL, f.LogoURL} {
			if link != nil {
				require.Regexp(t, `^https://[a-z.]+\.example/`, *link, "nothing of it may ever be fetched")
			}
		}
		require.Equal(t, *f.Format == campaign.Video, f.MediaURL != nil, "%s: only a video needs a file", *f.Name)
		billing[*f.BillingModel]++
		formats[*f.Format]++
		for _, language := range f.Languages {
			require.Contains(t, languages, language)
			foreign[language]++
		}
		// Fields, lengths and policy as the service judges them.
		created, err := deps.Campaigns.Create(t.Context(), owner, campaign.Create{Fields: *f, AdvertiserID: owner.ID})
		require.NoError(t, err, *f.Name)
		require.Empty(t, created.Campaign.PolicyViolations, *f.Name)
	}
	for _, b := range []campaign.BillingModel{campaign.CPM, campaign.CPC, campaign.CPA} {
		require.GreaterOrEqual(t, billing[b], 10, b)
	}
	require.Greater(t, billing[campaign.CPM], len(campaigns)/2)
	require.Len(t, formats, 3)
	for _, language := range languages[1:] {
		require.GreaterOrEqual(t, foreign[language], 5, language)
	}
}

func TestWords(t *testing.T) {
	words, err := demo.Words()
	require.NoError(t, err)
	require.Greater(t, len(words), 4000)
	for _, word := range words {
		require.Regexp(t, `^[\p{L}\p{M}\p{N}-]+$`, word, "benchmarks write it into SQL")
		require.Equal(t, strings.ToLower(word), word)
	}
}

func TestRequests(t *testing.T) {
	_, campaigns, requests := world(t)
	byName := map[string]*campaign.Fields{}
	for i := range campaigns {
		byName[*campaigns[i].Name] = &campaigns[i]
	}
	category, err := demo.Categories()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(requests), 300)
	ids, texts, answered := map[string]bool{}, map[string]bool{}, map[string]bool{}
	each, without := map[string]int{}, map[string]int{}
	long, code := 0, 0
	for _, r := range requests {
		require.Regexp(t, `^`+r.Lang+`-[0-9]{3}$`, r.ID)
		require.False(t, ids[r.ID] || texts[r.Context], r.ID)
		ids[r.ID], texts[r.Context] = true, true
		each[r.Lang]++
		require.Equal(t, strings.TrimSpace(r.Context), r.Context, r.ID)
		length := utf8.RuneCountInString(r.Context)
		require.True(t, length > 0 && length <= 2000, r.ID)
		if length > 500 {
			long++
		}
		if strings.Contains(r.Context, "\n") {
			code++
		}
		requireScript(t, r)
		if len(r.Label) == 0 {
			without[r.Lang]++
			require.Empty(t, r.Category, r.ID)
			continue
		}
		require.Equal(t, category[r.Label[0]], r.Category, r.ID)
		for i, name := range r.Label {
			require.Contains(t, byName, name, r.ID)
			require.NotContains(t, r.Label[:i], name, r.ID)
			requireMayAnswer(t, byName[name], r)
			answered[name] = true
		}
	}
	require.Len(t, answered, len(campaigns), "each campaign is right for some request")
	require.ElementsMatch(t, languages, slices.Collect(maps.Keys(each)))
	nothing := 0
	for _, language := range languages {
		require.GreaterOrEqual(t, each[language], 30, language)
		require.GreaterOrEqual(t, without[language], 4, language)
		nothing += without[language]
	}
	require.GreaterOrEqual(t, nothing, 40)
	require.Less(t, each["en"], len(requests)/2)
	require.GreaterOrEqual(t, long, 15, "conversations and letters")
	require.GreaterOrEqual(t, code, 10, "code, logs and quotations")
}

// requireScript requires that a text is written in the script of its language.
func requireScript(t *testing.T, r demo.Request) {
	t.Helper()
	script := map[string]*unicode.RangeTable{"ja": unicode.Han, "zh": unicode.Han, "ko": unicode.Hangul}[r.Lang]
	if script == nil {
		script = unicode.Latin
	}
	has := func(table *unicode.RangeTable) bool {
		return strings.ContainsFunc(r.Context, func(c rune) bool { return unicode.Is(table, c) })
	}
	require.True(t, has(script), r.ID)
	require.False(t, r.Lang == "zh" && (has(unicode.Hiragana) || has(unicode.Katakana)), r.ID)
}

// requireMayAnswer holds that what the campaign targets besides words is true of the request.
func requireMayAnswer(t *testing.T, f *campaign.Fields, r demo.Request) {
	t.Helper()
	surface := map[string]string{"": "chat", "toolrec": "tool_result"}[r.Placement]
	if surface == "" {
		surface = r.Placement
	}
	language, _, _ := strings.Cut(r.UserLanguage, "-")
	for _, filter := range []struct{ targeted, have []string }{
		{f.Languages, []string{language}}, {f.Regions, []string{r.UserRegion}}, {f.HostApps, []string{r.HostApp}},
		{f.Surfaces, []string{surface}}, {f.ActiveTools, r.ActiveTools},
	} {
		shared := slices.ContainsFunc(
			filter.targeted, func(value string) bool { return slices.Contains(filter.have, value) },
		)
		require.True(
			t, len(filter.targeted) == 0 || shared, "%s: %s targets %v, the request has %v", r.ID, *f.Name,
			filter.targeted, filter.have,
		)
	}
}

// What the data sets of ../shared say stands in none of our files: it is other people's.
func TestNothingIsCopied(t *testing.T) {
	_, campaigns, requests := world(t)
	ours := map[string]string{}
	for i := range campaigns {
		ours[*campaigns[i].Headline], ours[*campaigns[i].Subtext] = *campaigns[i].Name, *campaigns[i].Name
	}
	for _, r := range requests {
		ours[r.Context] = r.ID
	}
	folder := testenv.Shared(t, "data")
	checked := 0
	for _, pattern := range []string{"*.jsonl", "*/*.jsonl"} {
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		require.NoError(t, err)
		for _, file := range files {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			for line := range bytes.Lines(raw) {
				var theirs map[string]any
				require.NoError(t, json.Unmarshal(line, &theirs), file)
				for _, field := range []string{"headline", "subtext", "context", "description"} {
					text, _ := theirs[field].(string)
					require.Empty(t, ours[text], "%q is in %s", text, file)
					checked++
				}
			}
		}
	}
	require.Positive(t, checked)
}
