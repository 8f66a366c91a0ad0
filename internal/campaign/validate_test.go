package campaign

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign/subject"
	"adnet/internal/errs"
	"adnet/internal/money"
)

// apply reads fields as the API does and applies them to a complete campaign.
func apply(t *testing.T, text string) (Campaign, error) {
	t.Helper()
	var f Fields
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return Campaign{}, err
	}
	c := defaults()
	c.Headline, c.CTAURL = "Headline", "https://example.com"
	return c, f.apply(&c)
}

func quoted(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

func TestLimits(t *testing.T) {
	repeat := strings.Repeat
	list := func(n int) []string {
		values := make([]string, n)
		for i := range values {
			values[i] = "v" + repeat("x", i%50) + string(rune('a'+i%26)) + repeat("y", i/50)
		}
		return values
	}
	for field, tc := range map[string]struct{ good, bad []any }{
		"bid_amount":   {[]any{0.01, 5, 1000, 1000.0, 0.010001}, []any{0.009999, 0, -1, 1000.000001, 1e9}},
		"daily_budget": {[]any{1, 1_000_000}, []any{0.999999, 0, -5, 1_000_000.01}},
		"total_budget": {[]any{1, 10_000_000}, []any{0.99, 10_000_000.01}},
		"target_cpa":   {[]any{0, 12.5}, []any{-0.01}},
		"start_at": {
			[]any{nil, "2026-01-01T00:00:00Z", "2026-06-01T02:00:00.9+02:00"},
			[]any{"", "2026-01-01", "1970-01-01T00:00:00Z", "2100-01-01T00:00:00Z", 5},
		},
		"end_at":      {[]any{nil, "2099-12-31T23:59:59Z"}, []any{"soon", "9999-12-31T00:00:00Z"}},
		"target_roas": {[]any{0, 3.25, nil}, []any{-1, 1e7, "3"}},
		"headline": {
			[]any{
				"x", repeat("x", 60), repeat("字", 60), repeat("é", 60), repeat("e\u0301", 60),
				" " + repeat("x", 60) + "\n",
			},
			[]any{"", "  ", repeat("x", 61), repeat("é", 61), "two\nlines", "nul\x00", 5},
		},
		"subtext":             {[]any{"", repeat("ß", 280)}, []any{repeat("x", 281), "\x1b[31m"}},
		"cta_label":           {[]any{repeat("x", 40)}, []any{repeat("x", 41)}},
		"name":                {[]any{repeat("x", 200)}, []any{repeat("x", 201)}},
		"format":              {[]any{"image", "video", "native", ""}, []any{"Image", "audio", 1}},
		"billing_model":       {[]any{"cpm", "cpc", "cpa"}, []any{"", "CPM", "cpv"}},
		"optimization_goal":   {[]any{"max_conversions", "manual"}, []any{"", "auto", "target_cpa "}},
		"skippable_after_sec": {[]any{0, 3, 3600}, []any{-1, 3601, 1.5, "3"}},
		"logo_url": {
			[]any{"", "https://cdn.example.com/logo.png"},
			[]any{"http://cdn.example.com/a.png", "javascript:x", "https://", "https://u:p@example.com/a", 7},
		},
		"deal_ids": {
			[]any{[]string{}, list(200), []string{repeat("x", 100), "quay-7"}},
			[]any{append(list(200), "more"), []string{repeat("x", 101)}, []string{"a\x00"}, "x", []any{1}},
		},
		"categories": {
			[]any{[]string{}, []string{"iab7-39", "IAB26"}},
			[]any{[]string{"IAB27"}, []string{"x"}, "IAB1", make([]string, 11)},
		},
		"exclude_contexts": {
			[]any{[]string{}, []string{"disasters", "suicide", "disasters"}},
			[]any{[]string{"Disasters"}, []string{""}, []string{"war"}, "health"},
		},
		"sensitive_contexts": {
			[]any{[]string{}, []string{"health", "grief"}}, []any{[]string{"suicide"}, []string{"health", "x"}, 1},
		},
		"trades": {
			[]any{[]string{}, []string{"politics", "alcohol"}, subject.TradeNames()},
			[]any{[]string{"wine"}, []string{"IAB8"}, "alcohol"},
		},
		"target_intent_tokens": {
			[]any{[]string{}, list(200), []string{repeat("x", 100)}},
			[]any{list(201), []string{repeat("x", 101)}, []string{"a\x00"}, "a", []int{1}, []any{nil}, []string{""}},
		},
		"target_integration_methods": {
			[]any{[]string{}, []string{"mcp", "js_snippet", "npm_sdk", "rest"}},
			[]any{[]string{"soap"}, []string{"REST"}},
		},
	} {
		t.Run(field, func(t *testing.T) {
			for _, value := range tc.good {
				_, err := apply(t, `{"`+field+`":`+quoted(t, value)+`}`)
				require.NoError(t, err, "%v", value)
			}
			for _, value := range tc.bad {
				_, err := apply(t, `{"`+field+`":`+quoted(t, value)+`}`)
				require.Error(t, err, "%v", value)
				if own := errs.Of(err); own.Code != errs.Internal { // the decoder reports a wrong type
					require.Equal(t, errs.InvalidRequest, own.Code)
					require.Equal(t, field, own.Extra["field"])
				}
			}
		})
	}
}

// SECURITY 2: the accepted links, for all three fields.
func TestLinks(t *testing.T) {
	good := []string{
		"https://example.com", "HTTPS://EXAMPLE.com/", "https://example.com:8443/a?b=c&d=%20#e",
		"https://bücher.example/straße",
		"https://192.0.2.1/x", "https://[2001:db8::1]/", "https://my_bucket.example.com/",
		"https://example.com/" + strings.Repeat("x", 2048-20),
		"https://example.com/?next=http://other.example/a@b",
	}
	bad := []string{
		"http://example.com", "//example.com", "/path", "example.com", "https:evil", "https:/evil", "https://",
		"https:///path", "https://:443/",
		"javascript:alert(1)", "data:text/html,x", "ftp://example.com", "https://user@example.com",
		"https://user:pass@example.com", "https://@example.com",
		"https://example.com/\r\nSet-Cookie: x", "https://example.com/\x00", "https://example.com/\n",
		" https://example.com", "https://exa mple.com",
		"https://example.com\\@evil.example", "https://example.com/" + strings.Repeat("x", 2048-19),
		`https://"><svg/onload=alert(1)>`,
		"https://exam%0aple.com/", "https://example.com:port/", "https://[::1", "https://exa\u200bmple.com",
		"https://'.example.com/",
	}
	for _, field := range []string{"cta_url", "media_url", "poster_url"} {
		for _, link := range good {
			_, err := apply(t, `{"`+field+`":`+quoted(t, link)+`}`)
			require.NoError(t, err, link)
		}
		for _, link := range bad {
			_, err := apply(t, `{"`+field+`":`+quoted(t, link)+`}`)
			require.Equal(t, errs.InvalidRequest, errs.Of(err).Code, "%s %q", field, link)
			require.Equal(t, field, errs.Of(err).Extra["field"])
		}
	}
	_, err := apply(t, `{"media_url":"","poster_url":""}`)
	require.NoError(t, err, "a picture is not required")
	_, err = apply(t, `{"cta_url":""}`)
	require.Equal(t, "cta_url", errs.Of(err).Extra["field"])
}

func TestWhatIsKept(t *testing.T) {
	c, err := apply(
		t, `{"headline":" e\u0301cole ","target_host_apps":[" US ","US","us","e\u0301"],"target_roas":2.5}`,
	)
	require.NoError(t, err)
	require.Equal(t, "école", c.Headline, "NFC, trimmed")
	require.Equal(t, c.Headline, c.Name, "the name defaults to the headline")
	require.Equal(t, []string{"US", "us", "é"}, c.HostApps, "trimmed, without repeats")
	require.Equal(t, 25*money.USD/10, *c.TargetROAS)

	f := Fields{}
	before := c
	require.NoError(t, f.apply(&c))
	require.Equal(t, before, c, "fields that are not given stay")
	require.NoError(t, json.Unmarshal([]byte(`{"target_roas":null,"target_regions":[],"headline":null}`), &f))
	require.NoError(t, f.apply(&c))
	require.Nil(t, c.TargetROAS, "null clears")
	require.Empty(t, c.Regions, "an empty list clears")
	require.Equal(t, before.Headline, c.Headline)
}

// What no request can state is refused, with what to write instead where that is known; what
// requests state is taken.
func TestPlacesThatRequestsState(t *testing.T) {
	for _, good := range []string{
		`{"target_regions":["US","de","USA","US-CA","gb_sct","GB-ENG"]}`,
		`{"target_languages":["en","PT-br","zh_Hant","zh-Hant-TW","haw","iw"]}`,
		`{"target_regions":[],"target_languages":[]}`,
	} {
		_, err := apply(t, good)
		require.NoError(t, err, good)
	}
	c, err := apply(t, `{"target_regions":["US","USA","us","deu_by","840","Germany","GBR"],`+
		`"target_languages":["EN","english","zh_TW","iw","Deutsch","nb","en_us"]}`)
	require.NoError(t, err)
	require.Equal(t, []string{"US", "DE-BY", "DE", "GB"}, c.Regions)
	require.Equal(t, []string{"en", "zh-Hant-TW", "he", "de", "no", "en-US"}, c.Languages)
	for bad, words := range map[string]string{
		`{"target_regions":["Atlantis"]}`: "ISO 3166", `{"target_regions":["ZZ"]}`: "ISO 3166",
		`{"target_regions":["EU"]}`: "ISO 3166", `{"target_regions":["419"]}`: "ISO 3166",
		`{"target_regions":["US-CALI"]}`: "ISO 3166", `{"target_regions":["uk"]}`: "write GB",
		`{"target_regions":["UK-SCT"]}`: "write GB-SCT", `{"target_regions":["US","us-"]}`: "ISO 3166",
		`{"target_languages":["elvish"]}`: "BCP 47", `{"target_languages":["qq"]}`: "BCP 47",
		`{"target_languages":["e"]}`: "BCP 47", `{"target_languages":["en-"]}`: "BCP 47",
		`{"target_languages":["x-private"]}`: "BCP 47", `{"target_languages":["en-Qqqx"]}`: "BCP 47",
		`{"target_regions":["BU"]}`: "write MM",
	} {
		_, err := apply(t, bad)
		require.True(t, errs.Is(err, errs.InvalidRequest), bad)
		require.Contains(t, errs.Of(err).Message, words, bad)
		require.Contains(t, bad, errs.Of(err).Extra["field"])
	}
	// A campaign that has had such a value keeps it until its list is changed.
	c, err = apply(t, `{}`)
	require.NoError(t, err)
	c.Regions = []string{"Germany"}
	headline := "Another"
	f := Fields{Headline: &headline}
	require.NoError(t, f.apply(&c))
}

// An item without text is not left out: the list without it could be empty, which restricts
// nothing.
func TestBlankItemsAreRefused(t *testing.T) {
	for _, field := range []string{
		"target_intent_tokens", "target_keywords", "target_active_tools", "target_host_apps", "target_surfaces",
		"target_integration_methods", "target_regions", "target_languages", "deal_ids", "categories",
		"exclude_contexts", "sensitive_contexts", "trades",
	} {
		for _, blank := range []string{`null`, `""`, `"  "`, `"\t\u00a0"`, `"\u200b"`, `"\u2060\u00ad"`, `"\u2800"`} {
			_, err := apply(t, `{"`+field+`":[`+blank+`]}`)
			require.True(t, errs.Is(err, errs.InvalidRequest), "%s [%s]: %v", field, blank, err)
			require.Equal(t, field, errs.Of(err).Extra["field"], blank)
			require.Equal(t, 0, errs.Of(err).Extra["index"], "%s [%s]", field, blank)
		}
	}
	_, err := apply(t, `{"target_languages":["fr","de",null]}`)
	require.Equal(t, 2, errs.Of(err).Extra["index"])
	require.Contains(t, errs.Of(err).Message, "target_languages[2]")
	c, err := apply(t, `{"target_host_apps":[],"target_languages":["fr"]}`)
	require.NoError(t, err)
	require.Empty(t, c.HostApps)
	require.Equal(t, []string{"fr"}, c.Languages)
}

// A null of a merge patch finds a default for every field but the required ones.
func TestEveryOptionalFieldHasADefault(t *testing.T) {
	for i := range reflect.TypeFor[Fields]().NumField() {
		name := reflect.TypeFor[Fields]().Field(i).Tag.Get("json")
		_, optional := Defaults()[name]
		require.Equal(t, name != "headline" && name != "cta_url", optional, name)
	}
}

func TestConversionTypeIsStoredInItsNormalForm(t *testing.T) {
	for _, form := range []string{"purchase", "Purchase", " purchase ", "ｐｕｒｃｈａｓｅ", "PUR\u00adCHASE\n"} {
		c, err := apply(t, `{"conversion_type":`+quoted(t, form)+`}`)
		require.NoError(t, err, "%q", form)
		require.Equal(t, "purchase", c.ConversionType)
	}
	for _, bad := range []string{strings.Repeat("x", 65), "two\nlines", strings.Repeat("ﷺ", 4)} {
		_, err := apply(t, `{"conversion_type":`+quoted(t, bad)+`}`)
		require.ErrorContains(t, err, "conversion_type", "%q", bad)
	}
}

func TestListValueThatNothingMatchesIsRejected(t *testing.T) {
	for _, field := range []string{
		"target_intent_tokens", "target_keywords", "target_active_tools", "target_host_apps", "target_surfaces", "deal_ids",
	} {
		for _, value := range []string{"!!!", "-", "...", "—", "$ €", "🎲", "。、"} {
			_, err := apply(t, `{"`+field+`":["chess","`+value+`"]}`)
			require.True(t, errs.Is(err, errs.InvalidRequest), "%s [%s]: %v", field, value, err)
			require.Equal(t, 1, errs.Of(err).Extra["index"], "%s [%s]", field, value)
		}
		_, err := apply(t, `{"`+field+`":["c++","٣","棋","c#"]}`)
		require.NoError(t, err, field)
	}
}
