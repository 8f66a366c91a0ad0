package words

import (
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// The tables equal Unicode's for every rune.
func TestPlanesEqualUnicodeTables(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		require.Equal(t, unicode.ToLower(r), lowerRune(r), "%U", r)
		if r >= 0x80 && r != unicode.ReplacementChar {
			require.Equal(t, unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r), isWordRune(r), "%U", r)
		}
		if r < 1<<16 && !ignorableRows[r>>rowBits] {
			require.False(
				t, unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector),
				"%U", r,
			)
		}
	}
}
