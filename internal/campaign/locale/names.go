package locale

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
	"golang.org/x/text/unicode/norm"
)

// named returns the value of a name.
func named[V any](names map[string]V, name string) (value V, ok bool) {
	if key := nameKey(name); key != "" {
		value, ok = names[key]
	}
	return value, ok
}

// nameKey returns a name without regard to case, marks and punctuation.
func nameKey(name string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r):
			return -1
		case !unicode.IsLetter(r) && !unicode.IsMark(r):
			return ' '
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(name))), " ")
}

// languageNames returns the languages by their CLDR names in English and in the language itself.
// They are laid out when a request or a campaign first has a name.
var languageNames = sync.OnceValue(func() map[string]language.Tag {
	names := map[string]language.Tag{}
	tags := display.Supported.Tags()
	for i, plain := range plainLanguages {
		if code := string([]byte{'a' + byte(i/26), 'a' + byte(i%26)}); plain {
			tags = append(tags, language.Make(code))
		}
	}
	for _, code := range []string{
		"zh-Hans", "zh-Hant", "pt-BR", "pt-PT", "en-US", "en-GB", "en-AU", "en-CA", "es-419", "es-ES", "es-MX", "fr-CA",
		"fr-CH", "de-AT", "de-CH", "nl-BE",
	} {
		tags = append(tags, language.Make(code))
	}
	// Names of a variety that are those of the whole language belong to the language.
	slices.SortStableFunc(tags, func(a, b language.Tag) int { return cmp.Compare(len(a.String()), len(b.String())) })
	for _, tag := range tags {
		for _, name := range []string{display.English.Tags().Name(tag), display.Self.Name(tag)} {
			if key := nameKey(name); key != "" {
				if _, taken := names[key]; !taken {
					names[key] = tag
				}
			}
		}
	}
	return names
})

// namedRegion returns the country of a name. Most names are English, and the names in all languages
// take a hundred milliseconds to lay out, so they are laid out when a first name is none in English.
func namedRegion(name string) (code string, ok bool) {
	if code, ok = named(englishRegions(), name); !ok {
		code, ok = named(regionNames(), name)
	}
	return code, ok
}

// englishRegions returns the countries by their CLDR names in English.
var englishRegions = sync.OnceValue(func() map[string]string { return regionsIn(language.English) })

// regionNames returns the countries by their CLDR names in every language that CLDR has them in.
var regionNames = sync.OnceValue(func() map[string]string { return regionsIn(display.Supported.Tags()...) })

// regionsIn returns the countries by their names in some languages. A name of two countries is that
// of the first language.
func regionsIn(languages ...language.Tag) map[string]string {
	names := map[string]string{}
	for _, tag := range languages {
		in := display.Regions(tag)
		if in == nil { // CLDR has none in this language
			continue
		}
		for i, plain := range plainRegions {
			if !plain {
				continue
			}
			code := string([]byte{'A' + byte(i/26), 'A' + byte(i%26)})
			if key := nameKey(in.Name(language.MustParseRegion(code))); key != "" && names[key] == "" {
				names[key] = code
			}
		}
	}
	return names
}
