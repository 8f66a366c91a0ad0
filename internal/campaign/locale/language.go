// Package locale gives languages and regions one canonical form, whichever of the spellings of their
// standards a request or a campaign has.
package locale

import (
	"bytes"
	"errors"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/text/language"
)

// maxLength is the length in bytes beyond which a text is neither a code nor a name.
const maxLength = 64

// Language returns the canonical BCP 47 tag of a language: of a tag in any case, with hyphens or
// underscores, retired and extended subtags and codes of three letters ("iw", "zh_hant_tw", "deu"),
// or of a name in English or in the language itself ("German", "Deutsch"). The script is present
// where it is not the usual one of the language: zh-TW is zh-Hant-TW (CLDR, likely subtags).
//
// The tag is empty if the language is unknown. whole is false if a part of the text is unknown,
// which the tag then lacks.
func Language(text string) (tag string, whole bool) {
	if isPlainTag(text) {
		return text, true
	}
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxLength {
		return "", false
	}
	code, _, _ := strings.Cut(text, ".") // en_US.UTF-8
	code, _, _ = strings.Cut(code, "@")
	parsed, err := language.All.Parse(code)
	var unknown language.ValueError
	if err != nil && !errors.As(err, &unknown) {
		parsed, whole = named(languageNames(), text)
	} else {
		whole = err == nil
	}
	if tag = canonical(parsed); tag == "" {
		return "", false
	}
	return tag, whole
}

// Reader returns the canonical tag of the language of a request's reader. A script without a region
// gets the likely one, so that zh-Hant meets a campaign for zh-TW. It is empty if unknown.
func Reader(text string) string {
	if isPlainTag(text) {
		return text
	}
	at := &recent[maphash.String(seed, text)%uint64(len(recent))]
	if known := at.Load(); known != nil && known.text == text {
		return known.tag
	}
	fresh := &reading{text: text, tag: readerOf(text)}
	if len(text) <= maxLength {
		fresh.text = strings.Clone(text)
		at.Store(fresh)
	}
	return fresh.tag
}

// recent caches the tags of readers, as reading one takes two microseconds. Its memory is bounded
// whatever requests contain.
var (
	recent [256]atomic.Pointer[reading]
	seed   = maphash.MakeSeed()
)

type reading struct{ text, tag string }

func readerOf(text string) string {
	if strings.ContainsAny(text, ",;") { // a header Accept-Language as it came
		if tags, _, err := language.ParseAcceptLanguage(text); err == nil && len(tags) > 0 {
			text = tags[0].String()
		}
	}
	tag, _ := Language(text)
	_, script, found := strings.Cut(tag, "-")
	if !found || len(script) != 4 || script[0] < 'A' {
		return tag
	}
	region, confidence := language.Make(tag).Region()
	if confidence == language.No {
		return tag
	}
	return tag + "-" + region.String()
}

// canonical returns a tag without extensions, which are a reader's preferences and no part of the
// language, and with its script only where it is not the usual one.
func canonical(tag language.Tag) string {
	if whole, err := language.All.Canonicalize(tag); err == nil { // a tag with an unknown part is not yet
		tag = whole
	}
	base, script, region := tag.Raw()
	switch code := base.String(); code {
	case "und", "mul", "zxx", "mis":
		return ""
	}
	if script.String() == "Zzzz" {
		script, _ = tag.Script()
	}
	out := base.String()
	if usual, _ := language.Make(out).Script(); script != usual && script.String() != "Zzzz" {
		out += "-" + script.String()
	}
	if code := region.String(); code != "ZZ" {
		out += "-" + code
	}
	for _, variant := range tag.Variants() {
		out += "-" + variant.String()
	}
	return out
}

// isPlainTag reports whether a text is canonical at first sight: a code of two letters, with or
// without a country, as most requests have it.
func isPlainTag(text string) bool {
	if len(text) != 2 && (len(text) != 5 || text[2] != '-') || !plainLanguages.has(text[0]-'a', text[1]-'a') {
		return false
	}
	return len(text) == 2 || plainRegions.has(text[3]-'A', text[4]-'A') && !written[text[:2]]
}

// written holds the languages whose script depends on the region.
var written = map[string]bool{
	"az": true, "bs": true, "kk": true, "ku": true, "ky": true, "mn": true, "ms": true, "pa": true, "sd": true,
	"sr": true, "tg": true, "tk": true, "ug": true, "uz": true, "zh": true, "ha": true, "ks": true,
}

// pairs is a set of pairs of letters.
type pairs [26 * 26]bool

func (p *pairs) has(first, second byte) bool {
	return first < 26 && second < 26 && p[int(first)*26+int(second)]
}

func pairsOf(zero byte, in func(code string) bool) *pairs {
	set := new(pairs)
	for i := range set {
		set[i] = in(string([]byte{zero + byte(i/26), zero + byte(i%26)}))
	}
	return set
}

var plainLanguages = pairsOf('a', func(code string) bool {
	tag, err := language.All.Parse(code)
	return err == nil && canonical(tag) == code
})

// Broader returns the next broader form of a canonical tag in lower case: "en" of "en-us". It is
// empty for the broadest. A language is below its macrolanguage (ISO 639-3), a region's form below
// its parent locale: the Spanish of Mexico below es-419, the Portuguese of Angola below pt-PT (CLDR,
// parentLocales). Simplified Chinese of any country is below zh-CN.
func Broader(tag []byte) []byte {
	if parent, ok := parents()[string(tag)]; ok {
		return parent
	}
	if at := bytes.LastIndexByte(tag, '-'); at > 0 {
		return tag[:at]
	}
	return macrolanguages[string(tag)]
}

// parents holds the parent locales that are not the tag without its last part. They take
// milliseconds, which a start need not wait for.
var parents = sync.OnceValue(func() map[string][]byte {
	of := map[string][]byte{}
	add := func(base, region string) {
		tag := base + "-" + region
		parent := strings.ToLower(language.Raw.Make(tag).Parent().String())
		switch {
		case base == "zh" && region != "CN":
			parent = "zh-cn"
		case base == "es" && region != "150":
			parent = "es"
			if latin(region) {
				parent = "es-419"
			}
		}
		if tag = strings.ToLower(tag); parent != strings.ToLower(base) && parent != "und" {
			of[tag] = []byte(parent)
		}
	}
	for _, base := range []string{"en", "es", "pt", "zh", "zh-Hant"} {
		add(base, "150")
		for i := range len(pairs{}) {
			code := string([]byte{'A' + byte(i/26), 'A' + byte(i%26)})
			if region, err := language.ParseRegion(code); err == nil && region.IsCountry() && region.String() == code {
				add(base, code)
			}
		}
	}
	return of
})

// latin reports whether a code is that of a country of Latin America (UN M.49: 419).
func latin(code string) bool {
	region, err := language.ParseRegion(code)
	return err == nil && region.IsCountry() && language.MustParseRegion("419").Contains(region)
}

// macrolanguages holds the macrolanguages of languages that have a tag of their own, as the registry
// of BCP 47 lists them. [language.All] maps the dominant ones, such as cmn to zh. Languages in
// another script than their macrolanguage are left out: Central Kurdish, South Azerbaijani.
var macrolanguages = func() map[string][]byte {
	of := map[string][]byte{"nn": []byte("no")}
	for macro, list := range map[string]string{
		"zh": "cdo cjy cnp cpx csp czh czo gan hak hsn mnp nan wuu yue",
		"ar": "aao abh abv acm acq acw acx acy adf aeb aec afb ajp apc apd arq ars ary arz auz avl ayh ayl ayn ayp pga shu ssh",
		"fa": "prs aiq haz", "ms": "zlm bjn min mfa meo zmi max jak", "sw": "swc", "et": "vro", "lv": "ltg",
		"sq": "aln aat aae", "ps": "pbt pbu pst",
		"mg": "bhr bmm bzc msh skg tdx tkg txy xmv xmw", "qu": "quz quy qub qvi qug", "om": "gax hae orc",
		"ff": "fuc fuf fub fuh fuq fue", "yi": "yih", "or": "spv", "ne": "dty", "gn": "gui gun nhd",
	} {
		for code := range strings.FieldsSeq(list) {
			of[code] = []byte(macro)
		}
	}
	return of
}()
