package offer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction/words"
)

// The last message counts in full, each one back half of the one after it, and what instructs the
// assistant is neither read nor a turn.
func TestTurnsOfMessages(t *testing.T) {
	in := Request{Messages: []Message{
		{Role: "system", Content: "axolotl"}, {Role: "user", Content: "zebra"}, {Role: "assistant", Content: "okapi"},
		{Role: "tool", Content: "gibbon"}, {Role: "system", Content: "axolotl"}, {Role: "user", Content: "lemur"},
	}}
	require.NoError(t, in.Check())
	var r words.Reader
	r.ReadTurn("of another request", 0)
	in.read(&r)
	weights := map[string]uint32{}
	for _, term := range r.Terms() {
		weights[term.Text] = term.Weight
	}
	require.Equal(
		t,
		map[string]uint32{"lemur": words.Unit, "gibbon": words.Unit / 2, "okapi": words.Unit / 4, "zebra": words.Unit / 8},
		weights,
	)
}

// A region and a language have one form, whichever spelling a request has.
func TestPlacesOfARequestAreCanonical(t *testing.T) {
	for _, item := range []struct{ region, language, wantRegion, wantLanguage string }{
		{"USA", "EN", "US", "en"}, {"usa-ca", "en_us", "US-CA", "en-US"}, {"us_ca", "iw", "US-CA", "he"},
		{"276", "Deutsch", "DE", "de"}, {"United Kingdom", "zh_tw", "GB", "zh-Hant-TW"},
		{"UK", "zh-Hant", "GB", "zh-Hant-TW"}, {"XX", "qq", "", ""}, {"EU", "x-klingon", "", "!"},
		{"Atlantis", "", "!", ""}, {"", "", "", ""}, {"", "*", "", ""}, {"", "*;q=0.5", "", ""},
		{"", "C.UTF-8", "", ""}, {"", "POSIX", "", ""}, {"", "**", "", "!"}, {"", "C#", "", "!"},
		{"US\r\n", "en", "US", "en"}, {"U S", "en", "!", ""},
	} {
		in := Request{Context: "lamps", UserRegion: item.region, UserLanguage: item.language}
		err := in.Check()
		if item.wantRegion == "!" || item.wantLanguage == "!" {
			require.Error(t, err, item)
			continue
		}
		require.NoError(t, err, item)
		require.Equal(t, item.wantRegion, in.UserRegion, item)
		require.Equal(t, item.wantLanguage, in.UserLanguage, item)
	}
}
