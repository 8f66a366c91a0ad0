package odds_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/internal/traffic/odds"
)

func TestDeviationNeedsFactorAndErrors(t *testing.T) {
	for _, c := range []struct {
		name            string
		count, expected float64
		many, few       bool
	}{
		{"as expected", 100, 100, false, false},
		{"twice", 200, 100, false, false},
		{"half", 50, 100, false, false},
		{"four times", 400, 100, false, false},
		{"more than four times", 401, 100, true, false},
		{"less than a quarter", 24, 100, false, true},
		{"a quarter", 25, 100, false, false},
		{"3 of 10 where 1 of 100 is usual", 3, 0.1, false, false},
		{"7 where next to none is usual", 7, 0.1, true, false},
		{"none of 36 may be chance", 0, 36, false, false},
		{"none of 37", 0, 37, false, true},
	} {
		require.Equal(t, c.many, odds.Many(c.count, c.expected), c.name)
		require.Equal(t, c.few, odds.Few(c.count, c.expected), c.name)
	}
}

func TestTogether(t *testing.T) {
	some := func(n int, count, expected float64) (list []odds.Source) {
		for range n {
			list = append(list, odds.Source{Count: count, Low: expected, High: expected})
		}
		return list
	}
	for _, c := range []struct {
		name      string
		sources   []odds.Source
		many, few bool
	}{
		{"nobody", nil, false, false},
		{"20 of a click each where 0.02 are usual", some(20, 1, 0.02), true, false},
		{"the same beside a large honest one", append(some(20, 1, 0.02), some(1, 500, 500)...), true, false},
		{"5 of two clicks each", some(5, 2, 0.1), true, false},
		{"20 without a click where 3 are usual", some(20, 0, 3), false, true},
		{"12 without a click beside honest ones", append(some(12, 0, 8), some(30, 8, 8)...), false, true},
		{"clicks where they are usual", some(50, 3, 3), false, false},
	} {
		many, few := odds.Together(c.sources)
		require.Equal(t, c.many, many, c.name)
		require.Equal(t, c.few, few, c.name)
	}
}

// Honest sources of any size differ by chance only: no choice among them looks like an attack.
func TestHonestSourcesAreUsual(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, size := range []int{1, 3, 10, 30, 100, 400, 3000} {
		for range 40 {
			var sources []odds.Source
			for range max(2, 20_000/size) {
				expected := 0.01 * float64(size)
				s := odds.Source{Low: expected, High: expected}
				for range size {
					if rng.Float64() < 0.01 {
						s.Count++
					}
				}
				sources = append(sources, s)
			}
			many, few := odds.Together(sources)
			require.False(t, many || few, "%d impressions each", size)
		}
	}
}

func TestUsual(t *testing.T) {
	honest := func(n int, of float64) (list []odds.Rate) {
		for range n {
			list = append(list, odds.Rate{Events: of / 100, Of: of})
		}
		return list
	}
	large := []odds.Rate{{Events: 2000, Of: 10_000}, {Events: 1e5, Of: 1e6}}
	require.InDelta(t, 0.01, odds.Usual(append(honest(10, 10_000), large...)), 1e-9, "large ones do not move it")
	for range 20 {
		large = append(large, odds.Rate{Events: 2000, Of: 10_000})
	}
	require.InDelta(t, 0.01, odds.Usual(append(honest(10, 10_000), large...)), 0.002, "nor do many")
	require.Positive(t, odds.Usual(nil))

	for name, others := range map[string][]odds.Rate{
		"nobody":                       nil,
		"a large quiet one":            {{Events: 0, Of: 1e7}},
		"a large loud one":             {{Events: 5e6, Of: 1e7}},
		"one of each":                  {{Events: 5e6, Of: 1e7}, {Events: 0, Of: 1e7}},
		"many small ones without":      slices.Repeat([]odds.Rate{{Of: 20}}, 60),
		"many small ones with as many": slices.Repeat([]odds.Rate{{Events: 4, Of: 20}}, 60),
		"small honest ones":            slices.Repeat([]odds.Rate{{Events: 1, Of: 100}, {Of: 50}, {Events: 1, Of: 50}}, 30),
	} {
		for _, size := range []float64{500, 2000, 50_000} {
			low, high := odds.Bounds(append(honest(12, size), others...))
			require.Less(t, low, 0.0101, "%s, %.0f", name, size)
			require.Greater(t, high, 0.0099, "%s, %.0f", name, size)
			require.Greater(t, low, 0.003, "%s, %.0f", name, size)
			require.Less(t, high, 0.021, "%s, %.0f", name, size)
		}
	}
}

// The less was seen of a network, the less is known about its rate.
func TestBounds(t *testing.T) {
	for _, c := range []struct{ events, of, low, high float64 }{
		{0, 2000, 0, 4.0 / 2000},
		{1, 100, 0, 0.07},
		{9, 1000, 0, 0.021},
	} {
		low, high := odds.Bounds([]odds.Rate{{Events: c.events, Of: c.of}})
		require.InDelta(t, c.low, low, 1e-4)
		require.InDelta(t, c.high, high, 1e-4)
	}
}
