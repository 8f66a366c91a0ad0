package eight_test

import (
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/jsonscan/eight"
)

// TestLowest compares the lowest byte that says yes with a look at each byte.
func TestLowest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(
			rapid.SliceOfN(
				rapid.SampledFrom([]byte("\x00\x01\x1f !\"[\\]az\x7f\x80\xa2\xdc\xff")), 8, 8,
			).Draw(t, "bytes"),
		)
		v := eight.Of(s)
		first := func(yes func(c byte) bool) int {
			return slices.IndexFunc([]byte(s), yes)
		}
		for name, c := range map[string]struct {
			got  uint64
			want int
		}{
			"backslash": {eight.Is(v, '\\'), first(func(c byte) bool { return c == '\\' })},
			"quote":     {eight.Is(v, '"'), first(func(c byte) bool { return c == '"' })},
			"control":   {eight.Control(v), first(func(c byte) bool { return c < ' ' })},
			"wide":      {eight.Wide(v), first(func(c byte) bool { return c >= 0x80 })},
		} {
			got := -1
			if c.got != 0 {
				got = bits.TrailingZeros64(c.got) / 8
			}
			require.Equal(t, c.want, got, "%s in %q", name, s)
		}
		require.Equal(t, eight.Of(s), eight.Of([]byte(s)))
	})
}
