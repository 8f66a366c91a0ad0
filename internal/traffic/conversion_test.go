package traffic_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/traffic"
)

func TestConversionTypesHaveOneNormalForm(t *testing.T) {
	for name, forms := range map[string][]string{
		"purchase": {
			"purchase", "Purchase", "PURCHASE", " purchase", "purchase ", "ｐｕｒｃｈａｓｅ", "ＰＵＲＣＨＡＳＥ\u3000",
			"\u00a0purchase\t\n",
			"pur\u00adchase", "\ufeffpurchase\u200b", "𝐩𝐮𝐫𝐜𝐡𝐚𝐬𝐞", "purcha\u017fe",
		},
		"sign up":     {"sign up", "Sign Up", "sign\u00a0up", " sign\u3000up "},
		"strasse":     {"Straße", "STRASSE", "straẞe"},
		"\u00e4":      {"\u00c4", "A\u0308", "a\u0308"},
		"λόγοσ":       {"λόγος", "ΛΌΓΟΣ"},
		"final":       {"ﬁnal", "FINAL"},
		"":            {"", " ", "\u200b", "\u3000\n"},
		"sign-up_2.0": {"sign-up_2.0", "Sign-Up_2.0", "sign-up_２.０"},
	} {
		for _, form := range forms {
			require.Equal(t, name, traffic.ConversionName(form), "%q", form)
		}
	}
	require.NotEqual(t, traffic.ConversionName("signup"), traffic.ConversionName("sign up"))
	require.Equal(t, "purchase", traffic.ConversionType("Ｐurchase "))
	require.Equal(t, "other", traffic.ConversionType("w4711"))
	require.Zero(t, testing.AllocsPerRun(10, func() { traffic.ConversionName("sign up") }))
}

// Every letter has a normal form, also beside marks: one without would keep a processor busy for
// ever.
func TestEveryLetterHasANormalForm(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		for _, kind := range []string{string(r), "a" + string(r) + "\u0358", string(r) + "\u0345B"} {
			if name := traffic.ConversionName(kind); name != traffic.ConversionName(name) {
				t.Fatalf("%+q has the form %+q, and that has another one", kind, name)
			}
		}
	}
	require.Equal(t, "\u13a0", traffic.ConversionName("\uab70"))
	require.Equal(t, "\u13a0", traffic.ConversionName("\u13a0"))
	require.Equal(t, "\u13f0", traffic.ConversionName("\u13f8"))
}

func TestNormalFormsAreTheirOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.String().Draw(t, "kind")
		name := traffic.ConversionName(kind)
		require.Equal(t, name, traffic.ConversionName(name))
		require.Equal(t, strings.TrimSpace(name), name)
		require.Equal(t, name, traffic.ConversionName(" "+kind+"\u3000"))
	})
}
