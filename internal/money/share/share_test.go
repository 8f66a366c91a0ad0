package share_test

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/internal/money/share"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]share.Share{
		"0": 0, "-0": 0, "1": share.Whole, "1.0": share.Whole, "0.35": 350_000, "1e-7": 0, "5E-1": 500_000,
		"0.0000005": 1, "0.9999999": share.Whole,
		"0.30000000000000004": 300_000, "0.7999999999999999": 800_000, "0.1234564999": 123_456, "0.1234565001": 123_457,
	} {
		got, err := share.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "-", "-0.0000001", "-1", "1.0000001", "2", "1e3", "1e999", "-1e-300", "NaN", "Inf", "infinity", "-inf",
		"0x1p-2", "0_1", `"0.5"`, "true", "null", "{}", "0.5 ", "0,5",
	} {
		_, err := share.Parse(text)
		require.ErrorIs(t, err, share.ErrForm, text)
	}
}

// What a program computes as a float comes out as the nearest millionth, and what is written is
// read again as the same.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64Range(0, 1).Draw(t, "share")
		got, err := share.Parse(strconv.FormatFloat(f, 'g', -1, 64))
		require.NoError(t, err)
		require.LessOrEqual(t, math.Abs(float64(got)/1e6-f), 0.5e-6+1e-12)
		text, err := json.Marshal(got)
		require.NoError(t, err)
		var again share.Share
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, got, again)
		require.True(t, again.Valid())
	})
}
