package words_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/auction/words"
)

// of returns the terms of a context by kind.
func of(context string) map[words.Kind][]string {
	var r words.Reader
	r.ReadContext(context)
	kinds := map[words.Kind][]string{}
	for _, term := range r.Terms() {
		kinds[term.Kind] = append([]string{term.Text}, kinds[term.Kind]...) // as they are said
	}
	return kinds
}

func TestTermsOfAText(t *testing.T) {
	for text, want := range map[string]map[words.Kind][]string{
		"Deployments deploy": {words.Plain: {"deploy"}},
		"news new":           {words.Plain: {"news"}, words.Common: {"new"}},
		"AI and C++, C# or R": {
			words.Plain: {"ai", "c++", "c#"}, words.Common: {"and", "or"}, words.Weak: {"=c", "=r"},
		},
		"node.js e-mail": {
			words.Plain: {"node", "js", "mail"}, words.Weak: {"=e"}, words.Extra: {"nodejs", "email"},
		},
		"getUserById":       {words.Plain: {"getuserbyid"}, words.Extra: {"get", "user", "by", "id"}},
		"fetchHTTPResponse": {words.Plain: {"fetchhttprespons"}, words.Extra: {"fetch", "http", "response"}},
		"𝐅𝐫𝐞𝐞 𝐕𝐏𝐍":          {words.Common: {"free"}, words.Plain: {"vpn"}},
		"v\u200bp\u00adn":   {words.Plain: {"vpn"}},
		"天気":                {words.Letters: {"天", "気", "天気"}},
		"서울에서":              {words.Letters: {"서", "서울", "울에", "에서", "서울에", "울에서"}},
		"ตอง":               {words.Letters: {"ตอ", "อง", "ตอง"}},
		"iPhone手机": {
			words.Plain: {"iphon"}, words.Extra: {"phone"}, words.Letters: {"手", "机", "手机"},
		},
		"see https://www.a.com/pg-db": {words.Common: {"see"}, words.Plain: {"pg", "db"}, words.Weak: {"=a"}},
		"\xff\xfe":                    {},
	} {
		got := of(text)
		for kind, list := range want {
			if kind != words.Extra {
				require.ElementsMatch(t, list, got[kind], "%s %d", text, kind)
			}
		}
		for _, extra := range want[words.Extra] {
			require.Contains(t, append(got[words.Extra], got[words.Plain]...), stemOf(extra), text)
		}
	}
}

// stemOf returns a word in the compared form.
func stemOf(word string) string {
	for _, list := range of(word) {
		return strings.TrimPrefix(list[0], words.WeakMark)
	}
	return ""
}

// Case is folded in full, and signs that only teach or decorate are not read.
func TestFoldedCase(t *testing.T) {
	for text, want := range map[string]string{
		"Größe": "grösse", "GRÖSSE": "grösse", "GRÖẞE": "grösse", "Gro\u0308ße": "grösse", "STRASSE": "strass",
		"Straße": "strass", "ΟΔΟΣ": "οδοσ", "οδός": "οδόσ", "οδοΣ": "οδοσ", "ﬁlm": "film", "ǅ": "dž", "İzmir": "izmir",
		"ſonne": "sonn", "كِتَابٌ": "كتاب", "كـــتاب": "كتاب", "أحمد": "أحمد", "שָׁלוֹם": "שלום", "בית־ספר": "",
		"ﻛﺘﺎﺏ": "كتاب", "Ǆep": "džep", "Кафе": "кафе",
	} {
		if got := of(text)[words.Plain]; want != "" {
			require.Equal(t, []string{want}, got, text)
		}
	}
	require.Equal(t, []string{"בית", "ספר"}, of("בית־ספר")[words.Plain], "the maqaf is a hyphen")
	// The parts of a compound are found behind letters that change their length.
	require.Contains(t, of("GrößeMaßBand")[words.Extra], stemOf("Band"))
}

func TestPlainerForms(t *testing.T) {
	for term, want := range map[string][2]string{
		"phở": {"pho", ""}, "grösse": {"gross", "groess"}, "pho": {"", ""}, "": {"", ""},
		"smørrebrød": {"smorrebrod", "smoerrebro"}, "œuvre": {"oeuvr", ""}, "ışık": {"isik", ""}, "thé": {"", ""},
		"à": {"", ""}, "ёлка": {"елка", ""}, "чай": {"", ""}, "إعلان": {"اعلان", ""}, "हिन्दी": {"हिंदी", ""},
		"जन्म": {"जंम", ""}, "ज़मीन": {"जमीन", ""}, "καφέσ": {"καφεσ", ""}, "ñandú": {"nandu", ""}, "日本": {"", ""},
	} {
		bare, paired := words.Plainer(term)
		require.Equal(t, want, [2]string{bare, paired}, "%q", term)
	}
}

// A plainer form has no plainer form, so that two words with marks meet in it.
func TestPlainerFormsArePlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		term := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom(nil, unicode.Latin, unicode.Greek), 1, 8, -1)).
			Draw(t, "term")
		for kind, list := range of(term) {
			if kind != words.Plain {
				continue
			}
			for _, text := range list {
				bare, _ := words.Plainer(text)
				again, _ := words.Plainer(bare)
				require.Empty(t, again, "%q", text)
			}
		}
	})
}

func weight(r *words.Reader, text string) uint32 {
	for _, term := range r.Terms() {
		if term.Text == text {
			return term.Weight
		}
	}
	return 0
}

func TestTurnsAreForgotten(t *testing.T) {
	var r words.Reader
	r.ReadTurn("zebra", 3)
	r.ReadTurn("okapi", 1)
	r.ReadTurn("lemur", 0)
	require.Equal(t, []uint32{32, 128, 256}, []uint32{weight(&r, "zebra"), weight(&r, "okapi"), weight(&r, "lemur")})
}

// All words of a context are read. The end of a long one counts most; all of a message count the
// same.
func TestDistanceIsForgotten(t *testing.T) {
	var r words.Reader
	r.ReadContext("zebra " + strings.Repeat("filler ", 20) + "okapi")
	require.EqualValues(t, words.Unit, weight(&r, "zebra"))
	r.Reset()
	r.ReadContext("zebra " + strings.Repeat("filler ", 300) + "okapi")
	require.EqualValues(t, words.Unit, weight(&r, "okapi"))
	require.EqualValues(t, 1, weight(&r, "zebra"))
}

// A message of a given number of words counts in full in every script.
func TestScriptsForgetAlike(t *testing.T) {
	for first, filler := range map[string]string{"얼룩말": " 이야기하고", "马": "长颈", "ม้าลาย": " ช้าง"} {
		term := []rune(first)
		var r words.Reader
		r.ReadContext(first + strings.Repeat(filler, 30))
		require.EqualValues(t, words.Unit, weight(&r, string(term[:min(len(term), 3)])), first)
		r.Reset()
		r.ReadContext(first + strings.Repeat(filler, 90))
		require.Less(t, weight(&r, string(term[:min(len(term), 3)])), uint32(words.Unit), first)
	}
}

func TestCodeAndAddressesCountHalf(t *testing.T) {
	var r words.Reader
	r.ReadContext("zebra ```okapi``` https://lemur.example/gibbon?x tapir")
	for text, want := range map[string]uint32{"zebra": 256, "okapi": 128, "lemur": 128, "gibbon": 128, "tapir": 256} {
		require.Equal(t, want, weight(&r, text), text)
	}
}

func TestStatedTokens(t *testing.T) {
	for token, want := range map[string]string{"r": "=r", "go": "go", "Go": "go", "how to cook": "cook"} {
		var r words.Reader
		r.ReadStated(token, words.Unit)
		require.NotZero(t, weight(&r, want), token)
	}
	var r words.Reader
	r.ReadStated("a day", words.Unit)
	require.Zero(t, weight(&r, "=a"))
}

// Any byte string can be read, every term occurs once, and reading it again gives the same.
func TestAnyTextIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(
			rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) },
		),
			rapid.StringMatching("[a-zA-Z .`#+/:-]{0,60}")).Draw(t, "text")
		var r, again words.Reader
		r.ReadContext(text)
		again.ReadContext("something else")
		again.Reset()
		again.ReadContext(text)
		require.Equal(t, r.Terms(), again.Terms())
		seen := map[string]bool{}
		for _, term := range r.Terms() {
			require.NotEmpty(t, term.Text)
			require.False(t, seen[term.Text])
			require.Positive(t, term.Weight)
			seen[term.Text] = true
		}
	})
}
