package decimal

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAppendMillionths(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 1: "0.000001", -1: "-0.000001", 100_000: "0.1", 1_000_000: "1", 1_250_000: "1.25",
		-12_000_001:   "-12.000001",
		math.MaxInt64: "9223372036854.775807", math.MinInt64: "-9223372036854.775808",
	} {
		require.Equal(t, "x"+want, string(AppendMillionths([]byte("x"), n)))
	}
}
