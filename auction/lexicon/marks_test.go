package lexicon_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/auction/lexicon"
	"adnet/auction/words"
)

// matches returns how well each of some ads matches a request, in a network of them only.
func matches(request string, ads ...string) []uint32 {
	b := lexicon.NewBuilder()
	var size lexicon.Size
	for _, ad := range ads {
		b.Add(&lexicon.Text{Headline: ad}, lexicon.Share(fullVote, 1))
		size.Count(lexicon.Share(fullVote, 1), 1)
	}
	table := b.Freeze(size)
	var in words.Reader
	in.ReadContext(request)
	var r lexicon.Reader
	weights := map[uint32]uint32{}
	for _, w := range r.Request(table, in.Terms()).Weights {
		if w.ID != lexicon.None {
			weights[w.ID] += w.By
		}
	}
	of := make([]uint32, len(ads))
	for i := range ads {
		for _, p := range b.Vector(i) {
			of[i] += weights[p.ID] * uint32(p.By)
		}
		of[i] = lexicon.Match(of[i])
	}
	return of
}

const other = "garden lamps"

// Whoever leaves out marks, writes a pair of letters for one, or has another case finds the word,
// in each direction.
func TestWordsWithoutTheirMarks(t *testing.T) {
	for _, pair := range [][2]string{
		{"Größe", "GRÖSSE"}, {"Größe", "grösse"}, {"Größe", "groesse"}, {"Größe", "grosse"}, {"GRÖẞE", "größe"},
		{"Öl", "oel"}, {"Übung", "uebung"}, {"Gemüse", "gemuese"}, {"Müller", "Mueller"}, {"Straße", "STRASSE"},
		{"phở", "pho"}, {"bún", "bun"}, {"bò", "bo"}, {"đường", "duong"}, {"Đồng Nai", "Dong Nai"}, {"phở", "phơ"},
		{"café", "cafe"}, {"crème brûlée", "creme brulee"}, {"œuvre", "oeuvre"}, {"naïf", "naif"},
		{"teléfono", "telefono"}, {"corazón", "CORAZON"}, {"pingüino", "pinguino"},
		{"coração", "coracao"}, {"pão", "pao"}, {"łódź", "lodz"}, {"żółw", "zolw"}, {"kůň", "kun"}, {"žluť", "zlut"},
		{"ışık", "isik"}, {"IŞIK", "ışık"}, {"İstanbul", "istanbul"}, {"ağaç", "agac"}, {"çğü", "cgu"},
		{"ştiință", "stiinta"}, {"şcoală", "școală"}, {"őrült", "orult"}, {"æble", "aeble"}, {"ørred", "oerred"},
		{"ørred", "orred"}, {"år", "aar"}, {"smørrebrød", "smoerrebroed"}, {"þak", "thak"}, {"ﬁlm", "film"},
		{"إعلان", "اعلان"}, {"مدرسة", "مدرسه"}, {"مستشفى", "مستشفي"}, {"كِتَاب", "كتاب"}, {"كـتـاب", "كتاب"},
		{"کتاب", "كتاب"}, {"שָׁלוֹם", "שלום"}, {"ज़मीन", "जमीन"}, {"हिन्दी", "हिंदी"}, {"ёлка", "елка"}, {"за́мок", "замок"},
		{"καφές", "ΚΑΦΕΣ"}, {"καφές", "καφες"}, {"Ελλάδα", "ελλαδα"}, {"한국어", "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165"},
		{"ｶﾒﾗ", "カメラ"}, {"ガラス", "\u30ab\u3099ラス"},
	} {
		for _, way := range [][2]string{pair, {pair[1], pair[0]}} {
			got := matches(way[0], way[1], other)
			exact := matches(way[0], way[0], other)
			require.GreaterOrEqual(t, 2*got[0], exact[0], "%s finds %s", way[0], way[1])
			require.Zero(t, got[1], way)
		}
	}
}

// A word with other marks is another word. A letter of its own in its language is not the plain
// one.
func TestMarksThatTellWordsApart(t *testing.T) {
	for _, pair := range [][2]string{
		{"phố", "phở"}, {"pêche", "péché"}, {"año", "ano"}, {"på", "pa"}, {"mấy", "máy"}, {"thé", "the"}, {"sạn", "sàn"},
		{"țară", "târă"}, {"cải", "cái"}, {"poëte", "poête"}, {"чай", "чаи"}, {"μέση", "μεσό"},
	} {
		require.Zero(t, matches(pair[0], pair[1], other)[0], "%s does not find %s", pair[0], pair[1])
	}
	for _, pair := range [][2]string{{"phở", "phố"}, {"péché", "pêche"}, {"máy", "mấy"}} {
		require.Zero(t, matches(pair[0], pair[1], other)[0], "%s does not find %s", pair[0], pair[1])
	}
	require.Zero(t, matches("the best", "thé", other)[0], "a common word is no word without marks")
	require.Zero(t, matches("the best", "thế", other)[0])
}

// The word as it is written outranks the word with other marks.
func TestExactMarksOutrankOthers(t *testing.T) {
	for _, item := range [][3]string{
		{"phở", "phở", "pho"}, {"pho", "pho", "phở"}, {"größe", "größe", "groesse"}, {"groesse", "groesse", "größe"},
		{"schon", "schon", "schön"}, {"ano", "ano", "año"}, {"café", "café", "cafe"},
		{"елка", "елка", "ёлка"}, {"إعلان", "إعلان", "اعلان"},
	} {
		got := matches(item[0], item[1], item[2], other)
		require.Greater(t, got[0], got[1], item)
		require.Positive(t, got[1], item)
	}
	got := matches("schön", "schoen", "schon", other)
	require.Greater(t, got[0], got[1], "German writes a pair of letters for an umlaut")
}

// A rare spelling of a common word is no rare word.
func TestRareSpellingsAreWorthNoMore(t *testing.T) {
	got := matches("إلى", "إلى المطار", "إلى السوق", "إلى البيت", "إلى البحر", "الى المدرسة", other)
	require.Less(t, got[4], got[0])
}

func TestTablesWithMarksAreEqual(t *testing.T) {
	first := matches("pho bo uebung oel", "phở bò", "Übung Öl", "pho", "bo oel")
	for range 5 {
		require.Equal(t, first, matches("pho bo uebung oel", "phở bò", "Übung Öl", "pho", "bo oel"))
	}
}
