package typed_test

import (
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"adnet/internal/account/typed"
)

func TestCodeOfEveryKeyboard(t *testing.T) {
	for text, want := range map[string]string{
		"123456":     "123456",
		" 123 456\t": "123456",
		"１２３４５６":     "123456",
		"١٢٣-٤٥٦":    "123456",
		"۱۲۳۴۵۶":     "123456",
		"१२३ ४५६":    "123456",
		"๑๒๓๔๕๖":     "123456",
		"𝟏𝟐𝟑𝟜𝟝𝟞":     "123456",
		"1️⃣2️⃣3️⃣4️⃣5️⃣6️⃣": "123456",
		"123\u00a0456":             "123456",
		"123\u2009\u202f\u3000456": "123456",
		"\u200b123\u200d456\ufeff": "123456",
		"123\u2060456\u200e":       "123456",
		"123ー456":                  "123456",
		"123\u00ad456":             "123456",
		"ABCD-EFGH":                "abcdefgh",
		"ａｂｃｄ－ＥＦＧＨ":                "abcdefgh",
		"abcd\u2011efgh\u2013ijkl": "abcdefghijkl",
		"12345x":                   "12345x",
		"½23456":                   "1223456",
		"":                         "",
		" - ":                      "",
	} {
		require.Equal(t, want, typed.Code(text), "%+q", text)
	}
	for _, dash := range "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d\u05be-" {
		require.Equal(t, "abcd", typed.Code("ab"+string(dash)+"cd"), "%U", dash)
		require.Equal(t, "aB-cd", typed.Token("aB"+string(dash)+"cd"), "%U", dash)
	}
	require.Equal(t, "aB_c-9.x", typed.Token(" aB_c\n-9\u00ad.x\u200b"))
}

// Each digit of Unicode stands for its value: the digits of a script stand in a row that begins
// with zero.
func TestDigitsHaveTheirValue(t *testing.T) {
	count := 0
	for r := range rune(unicode.MaxRune + 1) {
		if !unicode.Is(unicode.Nd, r) {
			continue
		}
		require.Equal(t, string('0'+rune(count%10)), typed.Code(string(r)), "%U", r)
		require.NotEmpty(t, norm.NFKC.String(string(r)))
		count++
	}
	require.Greater(t, count, 600)
}

func TestLettersAndSignsStay(t *testing.T) {
	require.Equal(t, "a+b/c=", typed.Token("a+b/c="))
	require.Equal(t, "é1", typed.Code("E\u0301 1"))
}

func TestCodeIsReadWithAnySeparator(t *testing.T) {
	for _, separator := range []string{".", ",", "/", ":", ";", "_", "·", "•", "'", "’", "、", "。", "．", "|", "+", "~", "\\", " . "} {
		require.Equal(t, "123456", typed.Code("123"+separator+"456"), "%+q", separator)
		require.Equal(t, "abcdefgh", typed.Code("ABCD"+separator+"efgh"), "%+q", separator)
	}
	require.Equal(t, "123456", typed.Code(`"123456".`))
	require.Empty(t, typed.Code("..."))
	require.NotEqual(t, "123456", typed.Code("123a456"), "a letter is no separator")
	require.Equal(t, "a.b_c-d", typed.Token("a.b_c-d"), "a token keeps its signs")
}
