package offer

import (
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"adnet/internal/campaign/locale"
)

// Readers of each language of the demo's requests see labels of their language.
func TestLabelsOfEachLanguageOfTheDemo(t *testing.T) {
	text, err := os.ReadFile("../../internal/demo/data/requests.jsonl")
	require.NoError(t, err)
	var free LabelConfig
	seen := map[string]Labels{}
	for line := range strings.Lines(string(text)) {
		var r struct {
			Language string `json:"user_language"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		seen[strings.SplitN(r.Language, "-", 2)[0]] = free.Labels(locale.Reader(r.Language))
	}
	require.Len(t, seen, 9, "eight languages, and none")
	for language, in := range seen {
		english := language == "" || language == "en"
		require.Equal(t, english, in.Why == "Why this ad?", language)
		require.Equal(t, english, in.House == "House ad", language)
		require.Equal(t, english, in.Disclosure == "Sponsored", language)
	}
}

func TestLabelsByTag(t *testing.T) {
	var free LabelConfig
	for tag, label := range map[string]string{
		"": "Sponsored", "en": "Sponsored", "sv": "Sponsored", "de": "Anzeige", "de-AT": "Anzeige",
		"pt-BR": "Patrocinado", "zh": "广告", "zh-Hant-TW": "廣告", "zh-Hant": "廣告", "-": "Sponsored", "de-": "Anzeige",
	} {
		require.Equal(t, label, free.Labels(tag).Disclosure, tag)
	}
	for tag, in := range labelsIn {
		require.NotEmpty(t, in.Disclosure, tag)
		require.NotEmpty(t, in.House, tag)
		require.NotEmpty(t, in.Why, tag)
	}
}

// What the operator fixed is the same in each language.
func TestFixedLabels(t *testing.T) {
	fixed := LabelConfig{Disclosure: "Ad", HouseLabel: "Ours", WhyLabel: "Why?"}
	require.Equal(t, Labels{"Ad", "Ours", "Why?"}, fixed.Labels("de"))
	label := LabelConfig{Disclosure: "Ad"}
	require.Equal(t, Labels{"Ad", "Eigenanzeige", "Warum diese Anzeige?"}, label.Labels("de"))
}

// A reply has a text for the link to the receipt only where it is not the one that clients show
// without it.
func TestWhyLabelIsAbsentInEnglish(t *testing.T) {
	var free LabelConfig
	for tag, want := range map[string]string{"en": "", "de": "Warum diese Anzeige?"} {
		var ad Ad
		ad.label(free.Labels(tag))
		require.Equal(t, want, ad.WhyLabel())
	}
	ad := Ad{House: true}
	ad.label(free.Labels("de"))
	require.Equal(t, "Eigenanzeige", ad.DisclosureLabel)
}
