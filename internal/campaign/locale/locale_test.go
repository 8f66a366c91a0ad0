package locale_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/language"
	"pgregory.net/rapid"

	"adnet/internal/campaign/locale"
)

func TestLanguagesOfEverySpelling(t *testing.T) {
	for want, spellings := range map[string]string{
		"en":          "en EN eng English english ENGLISH",
		"de":          "de deu ger German Deutsch deutsch",
		"en-US":       "en-US en_us EN-us en-Latn-US en_US.UTF-8 en-US-u-hc-h12",
		"en-GB":       "en-GB en-UK",
		"pt-BR":       "pt-BR pt_br por-BR",
		"he":          "he iw IW heb Hebrew",
		"he-IL":       "he-IL iw_il",
		"id":          "id in ind Indonesian",
		"yi":          "yi ji",
		"fil":         "fil tl tgl Filipino",
		"no":          "no nb nor nob",
		"no-NO":       "no-NO nb_no",
		"nn":          "nn nno",
		"zh":          "zh zh-Hans cmn zho chi zh-cmn zh-cmn-Hans 中文 Chinese",
		"zh-CN":       "zh-CN zh_cn zh-Hans-CN zh-CHS-CN",
		"zh-Hant-TW":  "zh-TW zh_tw zh-Hant-TW ZH-HANT-TW cmn-Hant-TW zh-cmn-Hant-TW",
		"zh-Hant-HK":  "zh-HK zh-Hant-HK",
		"zh-Hant":     "zh-Hant zh_hant 繁體中文",
		"yue":         "yue zh-yue",
		"nan":         "nan zh-min-nan zh-nan",
		"sr":          "sr sr-Cyrl srp",
		"sr-Latn":     "sr-Latn sh",
		"sr-RS":       "sr-RS sr-Cyrl-RS",
		"pa-Arab-PK":  "pa-PK pa-Arab-PK",
		"uz-Cyrl":     "uz-Cyrl",
		"es-419":      "es-419",
		"ar":          "ar arb ara Arabic العربية",
		"fa":          "fa pes per fas Persian فارسی",
		"fr":          "fr fra fre français FRANÇAIS francais",
		"es":          "es español Espanol Spanish",
		"ja":          "ja 日本語 Japanese",
		"ko":          "ko 한국어",
		"ru":          "ru русский Русский",
		"tr":          "tr Türkçe turkce",
		"vi":          "vi Vietnamese",
		"ca-valencia": "ca-valencia",
		"de-CH-1996":  "de-CH-1996",
		"jbo":         "art-lojban jbo",
	} {
		for spelling := range strings.FieldsSeq(spellings) {
			if spelling == "zh-CHS-CN" { // no subtag of the registry
				continue
			}
			got, whole := locale.Language(" " + spelling)
			require.Equal(t, want, got, spelling)
			require.True(t, whole, spelling)
		}
	}
	for spelling, want := range map[string]string{
		"Brazilian Portuguese": "pt-BR", "simplified  chinese": "zh", "Traditional Chinese": "zh-Hant",
		"American English": "en-US",
	} {
		got, whole := locale.Language(spelling)
		require.Equal(t, want, got)
		require.True(t, whole)
	}
	for _, text := range []string{
		"", " ", "e", "und", "mul", "zxx", "root", "qq", "x-private", "C", "Elvish", "en en", "12",
		strings.Repeat("en-", 50), "\xff\xfe", "e\x00n",
	} {
		got, whole := locale.Language(text)
		require.Empty(t, got, text)
		require.False(t, whole, text)
	}
	got, whole := locale.Language("en-ZQ9")
	require.False(t, whole)
	require.Contains(t, []string{"", "en"}, got)
}

func TestRegionsOfEverySpelling(t *testing.T) {
	for want, spellings := range map[string]string{
		"US":     "US us USA usa 840 Us",
		"GB":     "GB GBR gbr 826",
		"DE-BY":  "DE-BY DEU-BY de_by deu-by 276-BY",
		"US-CA":  "US-CA us_ca USA-CA",
		"GB-ENG": "GB-ENG GBR-ENG",
		"FR-75":  "FR-75 FRA-75",
		"CD":     "CD COD 180",
		"XK":     "XK",
		"DE":     "DE Germany germany GERMANY",
	} {
		for spelling := range strings.FieldsSeq(spellings) {
			got, current := locale.Region(" " + spelling + " ")
			require.Equal(t, want, got, spelling)
			require.True(t, current, spelling)
		}
	}
	for spelling, want := range map[string]string{
		"United States": "US", "united kingdom": "GB", "Cote d'Ivoire": "CI", "South Korea": "KR", "Viet Nam": "VN",
		"Schweiz": "CH", "日本": "JP", "Deutschland": "DE", "ESPAÑA": "ES",
		"Ελλάδα": "GR", "россия": "RU", "Türkiye": "TR",
		"Österreich": "AT", "Côte d’Ivoire": "CI", "भारत": "IN", "EL": "GR", "ROM": "RO", "XKX": "XK",
	} {
		got, _ := locale.Region(spelling)
		require.Equal(t, want, got, spelling)
	}
	for spelling, want := range map[string]string{"UK": "GB", "uk-ENG": "GB-ENG", "BU": "MM", "DD": "DE"} {
		got, current := locale.Region(spelling)
		require.Equal(t, want, got, spelling)
		require.False(t, current, spelling)
	}
	for _, text := range []string{
		"", "U", "EU", "XX", "ZZ", "QQQ", "419", "150", "999", "US-", "US-CALI", "US--CA", "U\x00", "Atlantis",
		strings.Repeat("US", 40), "ＵＳ\xff",
	} {
		got, current := locale.Region(text)
		require.Empty(t, got, text)
		require.False(t, current, text)
	}
}

// A canonical form is its own canonical form, so that stored values equal those of requests.
func TestCanonicalFormsAreStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.StringMatching(`[A-Za-z]{2,3}([-_][A-Za-z]{4})?([-_]([A-Za-z]{2}|[0-9]{3}))?`), rapid.String(),
		).Draw(t, "text")
		if tag, _ := locale.Language(text); tag != "" {
			again, whole := locale.Language(tag)
			require.Equal(t, tag, again)
			require.True(t, whole)
			lower, _ := locale.Language(strings.ToLower(tag))
			require.Equal(t, tag, lower)
			require.NotEmpty(t, locale.Reader(text))
		}
		if code, _ := locale.Region(text); code != "" {
			again, current := locale.Region(code)
			require.Equal(t, code, again)
			require.True(t, current)
		}
	})
}

// The short way for common tags gives what the standard's way gives.
func TestPlainTagsAreCanonical(t *testing.T) {
	for i := range 26 * 26 {
		base := string([]byte{'a' + byte(i/26), 'a' + byte(i%26)})
		if tag, _ := locale.Language(base); tag != base {
			continue
		}
		for j := range 26 * 26 {
			region := string([]byte{'A' + byte(j/26), 'A' + byte(j%26)})
			if code, _ := locale.Region(region); code != region {
				continue
			}
			short, _ := locale.Language(base + "-" + region)
			long, _ := locale.Language(base + "_" + region)
			require.Equal(t, long, short)
		}
	}
}

func TestReaderOfAScriptHasItsRegion(t *testing.T) {
	for text, want := range map[string]string{
		"en-US,en;q=0.9": "en-US", "fr;q=0.4, de-CH": "de-CH", "pt;q=0.8,*;q=0.1": "pt", ";;,": "",
		"zh-Hant": "zh-Hant-TW", "zh_hant": "zh-Hant-TW", "zh-TW": "zh-Hant-TW", "zh-HK": "zh-Hant-HK", "zh": "zh",
		"sr-Latn": "sr-Latn-RS", "en": "en", "pt-BR": "pt-BR", "yue": "yue", "": "", "xx": "", "German": "de",
	} {
		require.Equal(t, want, locale.Reader(text), text)
	}
}

func TestBroaderLanguages(t *testing.T) {
	for tag, want := range map[string]string{
		"zh-hant-tw": "zh-hant", "zh-hant": "zh", "zh": "", "yue-hk": "yue", "yue": "zh", "nn-no": "nn",
		"nn": "no", "arz-eg": "arz", "arz": "ar", "es-mx": "es-419", "es-419": "es", "es-es": "es", "es-us": "es",
		"en": "", "": "", "de-ch-1996": "de-ch", "zh-sg": "zh-cn", "zh-my": "zh-cn", "zh-cn": "zh",
		"zh-hant-mo": "zh-hant-hk", "zh-hant-hk": "zh-hant", "pt-ao": "pt-pt", "pt-br": "pt", "pt-pt": "pt",
		"en-au": "en-001", "en-001": "en", "en-us": "en", "prs": "fa", "prs-af": "prs", "zlm": "ms", "swc": "sw",
		"azb": "", "ckb": "", "uzs": "", "de-at": "de", "id": "",
	} {
		require.Equal(t, want, string(locale.Broader([]byte(tag))), tag)
	}
	for _, tag := range []string{"yue", "nn", "arz", "nan", "hak", "apc"} {
		base, err := language.ParseBase(tag)
		require.NoError(t, err)
		require.Equal(t, tag, base.String())
	}
}

func BenchmarkCanonical(b *testing.B) {
	for _, text := range []string{"en", "en-US", "zh-TW", "pt_br"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				locale.Reader(text)
			}
		})
	}
}
