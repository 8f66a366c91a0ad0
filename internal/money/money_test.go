package money

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseReadsDollarsExactly(t *testing.T) {
	for text, want := range map[string]Micros{
		"5": 5_000_000, "5.00": 5_000_000, "0.01": 10_000, "3.37": 3_370_000, "0": 0, "-0": 0,
		"0.000001": 1, "1e3": 1_000_000_000, "5e-2": 50_000, "10E+1": 100_000_000, "-1.5": -1_500_000,
		"100e-2": 1_000_000, "1.10000000000": 1_100_000, "10000000000": Max,
	} {
		got, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]error{
		"": ErrSyntax, ".": ErrSyntax, "1.": ErrSyntax, ".5": ErrSyntax, "+1": ErrSyntax, "NaN": ErrSyntax,
		"1_000": ErrSyntax, `"5"`: ErrSyntax, "0x10": ErrSyntax, "--1": ErrSyntax, "1e": ErrSyntax, "1e1.5": ErrSyntax,
		"1e400": ErrRange, "10000000000.000001": ErrRange, "0.0000001": ErrRange, "1e30": ErrRange,
		"99999999999999999999999": ErrRange,
	} {
		_, err := Parse(text)
		require.ErrorIs(t, err, want, text)
	}
}

// What a program computes is read as the amount that it means, never beyond a bound or a sign.
func TestRoundTakesTheNearest(t *testing.T) {
	for text, want := range map[string]Micros{
		"0.30000000000000004": 300_000, "56.99999999999999": 57_000_000, "0.0000005": 1, "0.00000049": 0, "6.9e-143": 0,
		"1e-99999999999999999999": 0,
		"0e5":                     0, "-0.0000001": -1, "-6.9e-143": -1, "-0.0": 0, "-0.9999999": -1_000_000,
		"9999999999.9999999": Max, "12.3456785": 12_345_679, "99.9999995": 100_000_000,
		"5": 5_000_000, "3.37": 3_370_000, "1e3": 1_000_000_000, "10000000000": Max,
		"100000000000000000000000000000000000000e-38": 1_000_000, "5000000e-13": 1,
	} {
		got, err := Round(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]error{
		"": ErrSyntax, `"5"`: ErrSyntax, "null": ErrSyntax, "1e1.5": ErrSyntax, "1e400": ErrRange,
		"1e99999999999999999999": ErrRange, "10000000000.0000001": ErrRange, "20000000000.00000001": ErrRange,
	} {
		_, err := Round(text)
		require.ErrorIs(t, err, want, text)
	}
	var m Micros
	require.NoError(t, json.Unmarshal([]byte("0.30000000000000004"), &m))
	require.Equal(t, Micros(300_000), m)
}

func TestJSONRoundTripKeepsEveryMicro(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Micros(rapid.Int64Range(-int64(Max), int64(Max)).Draw(t, "micros"))
		text, err := json.Marshal(m)
		require.NoError(t, err)
		var back Micros
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, m, back)
	})
}

func TestPerMilleAndMulDivRoundDown(t *testing.T) {
	require.Equal(t, Micros(3375), Micros(3_375_999).PerMille())
	require.Equal(t, Micros(333), Micros(1000).MulDiv(333, 1000))
	require.Positive(t, Max.MulDiv(1_000_000_000_000, 1000), "saturates instead of overflowing")
}

// Sums of values that callers state end at the bounds instead of turning their sign.
func TestAddSaturated(t *testing.T) {
	for _, c := range [][3]Micros{
		{1, 2, 3}, {-1, -2, -3}, {5, -7, -2}, {math.MaxInt64, 1, math.MaxInt64},
		{Max, math.MaxInt64 - Max + 1, math.MaxInt64},
		{math.MinInt64, -1, math.MinInt64}, {math.MinInt64, math.MinInt64, math.MinInt64},
		{math.MaxInt64, math.MinInt64, -1},
	} {
		require.Equal(t, c[2], c[0].AddSaturated(c[1]))
		require.Equal(t, c[2], c[1].AddSaturated(c[0]))
	}
	sum := Micros(0)
	for range 1_000 { // of the largest amount that can be parsed
		sum = sum.AddSaturated(Max)
	}
	require.Equal(t, Micros(math.MaxInt64), sum)
}
