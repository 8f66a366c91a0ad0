package words

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
)

func TestSettledTextsAreNormalized(t *testing.T) {
	settledRunes := 0
	for r := rune(0); r <= 0x10ffff; r++ {
		if text := string(r); settled(text) && r != 0xfffd {
			settledRunes++
			require.False(t, ignorable(r) || unread(r), "%q", text)
			// Also behind a letter and before one: nothing of it combines.
			for _, text := range []string{text, "e" + text, text + "e", "\u304b" + text, "\uac00" + text} {
				require.True(t, norm.NFKC.IsNormalString(text), "%q", text)
			}
		}
	}
	require.Greater(t, settledRunes, 30_000)
	for _, text := range []string{"e\u0301", "ﬁ", "Ａ", "\u00a0", "\uac00\u11a8", "\u304b\u3099", "½"} {
		require.False(t, settled(text), "%q", text)
	}
}
