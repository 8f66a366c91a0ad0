package target

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTokenize(t *testing.T) {
	for context, want := range map[string][]string{
		"":                                     nil,
		"How do I index the Vector Databases?": {"index", "vector", "database"},
		"API apis API's":                       {"api"},
		"a go at C++ or ai":                    nil,
		"Queries, query; boxes box":            {"query", "box"},
		"searches search matches match caches cache": {"search", "match", "cache"},
		"classes class, status":                      {"class", "status"},
		"GPT4 in 2026":                               {"gpt4", "2026"},
		"Cafe\u0301 CAFÉ cafés":                      {"café"},
		"Straße ÉTÉ été":                             {"straße", "été"},
		"ab\xffcdef\xc3\x28ghi\x00jkl":               {"cdef", "ghi", "jkl"},
		"snake_case-and/path.ext":                    {"snake", "case", "path", "ext"},
		"हिन्दी भाषा":                                {"हिन्दी", "भाषा"},
		"the THE They them doing":                    nil,
		"new new NEW news":                           {"new"},
	} {
		require.Equal(t, want, Tokenize(context), context)
	}
}

func TestTokenizeKeepsTheFirst64(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		b.WriteString("word" + strings.Repeat("x", i%100+1) + " ")
	}
	tokens := Tokenize(b.String())
	require.Len(t, tokens, MaxTokens)
	require.Equal(t, "word"+strings.Repeat("x", MaxTokens), tokens[MaxTokens-1])
	require.Equal(t, append([]string{"kept"}, tokens...), AppendTokens([]string{"kept"}, b.String()))
}

func TestTokenizeAcceptsAnyBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		context := string(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "valid") {
			context = rapid.String().Draw(t, "text")
		}
		checkTokens(t, Tokenize(context))
	})
}

func FuzzTokenize(f *testing.F) {
	for _, s := range []string{"", "Databases and APIs", "\xff\xfe", "İstanbul ǅ ß ſs ΣΑΣ", "e\u0301\u0301", strings.Repeat("a", 3000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, context string) { checkTokens(t, Tokenize(context)) })
}

func checkTokens(t require.TestingT, tokens []string) {
	require.LessOrEqual(t, len(tokens), MaxTokens)
	seen := map[string]bool{}
	for _, token := range tokens {
		require.True(t, utf8.ValidString(token))
		require.GreaterOrEqual(t, len(token), 2)
		require.False(t, seen[token], "repeated: %q", token)
		seen[token] = true
		require.Equal(t, token, NormalizeToken(token), "normalising twice")
		require.Equal(t, []string{token}, terms(token), "a token of a context is its own term")
	}
}

func TestNormalizeTokenIsTheFormOfTheContext(t *testing.T) {
	for stated, context := range map[string]string{
		"Databases": "a database", " API ": "apis", "libraries": "Library", "CAFÉS": "cafe\u0301",
	} {
		require.Equal(t, Tokenize(context), []string{NormalizeToken(stated)}, stated)
	}
	require.Equal(t, "c++", NormalizeToken(" C++ "))
}

// What looks at eight bytes at a time says what the standard library says, for every byte in every
// place.
func TestLowerASCII(t *testing.T) {
	for c := range 256 {
		for at := range 17 {
			s := strings.Repeat("a", at) + string([]byte{byte(c)}) + strings.Repeat("Z", 16-at)
			require.Equal(t, c < utf8.RuneSelf, isASCII(s), "%q", s)
			if isASCII(s) {
				require.Equal(t, strings.ToLower(s), lowerASCII(s))
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[\x00-\x7f]{0,40}`).Draw(t, "ascii")
		require.True(t, isASCII(s))
		require.Equal(t, strings.ToLower(s), lowerASCII(s))
	})
}

func TestTermsNeverLoseAStatedValue(t *testing.T) {
	require.Equal(t, []string{"vector", "database"}, terms("Vector Databases"))
	require.Equal(t, []string{"ai"}, terms(" AI "), "too short for a context, kept for callers' own tokens")
	require.Equal(t, []string{"the who"}, terms("The Who"))
	require.Empty(t, terms("  "))
	rapid.Check(t, func(t *rapid.T) {
		stated := rapid.String().Draw(t, "stated")
		list := terms(stated)
		require.Equal(t, strings.TrimSpace(canonical(stated)) == "", len(list) == 0)
		for _, term := range list {
			if isTerm(term) {
				require.Equal(t, []string{term}, terms(term))
			}
		}
	})
}

func TestIsTermIsTheShortCutOfTerms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.StringMatching(`(the|[a-z0-9]{1,6})(s|es|ies|ss|us)?`).Draw(t, "value")
		if isTerm(v) {
			require.Equal(t, []string{v}, terms(v))
		}
	})
	require.True(t, isTerm("database"))
	for _, v := range []string{"", "apis", "Api", "été", "a b", " a"} {
		require.False(t, isTerm(v), v)
	}
}

func TestAppendValue(t *testing.T) {
	for _, c := range []struct {
		dim      int
		in, want string
	}{
		{dimTool, " GitHub-Search ", "github-search"},
		{dimHost, "VS_Code", "vs_code"},
		{dimRegion, "US_CA", "us-ca"},
		{dimLanguage, "EN-us", "en-us"},
		{dimSurface, "CAFE\u0301", "café"},
		{dimSurface, "  ", ""},
	} {
		require.Equal(t, c.want, string(appendValue(nil, c.dim, c.in)))
	}
}

func BenchmarkTokenize(b *testing.B) {
	context := strings.Repeat("Draft a friendly reminder for clients whose invoices are overdue, mentioning the late-payment fee and two ways to settle by Monday. ", 16)[:2000]
	b.SetBytes(int64(len(context)))
	b.ReportAllocs()
	var tokens []string
	for b.Loop() {
		tokens = AppendTokens(tokens[:0], context)
	}
}
