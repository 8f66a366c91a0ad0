package lexicon

import (
	"math"
	"math/bits"
)

// log2 returns the binary logarithm of x ≥ 1 in units of 1/256, rounded down. It uses integers
// only, so that every machine computes the same table.
func log2(x uint64) uint32 {
	whole := bits.Len64(x) - 1
	m := x << (63 - whole) // x as 1.63
	result := uint32(whole)
	for range 8 {
		hi, _ := bits.Mul64(m, m) // 2.62 of the square
		result <<= 1
		if hi>>63 != 0 {
			result |= 1
			m = hi
		} else {
			m = hi << 1
		}
	}
	return result
}

// root returns the square root of x, rounded down.
func root(x uint64) uint64 {
	r := uint64(math.Sqrt(float64(x)))
	for r*r > x {
		r--
	}
	for (r+1)*(r+1) <= x {
		r++
	}
	return r
}
