// Package decimal writes fixed-point numbers in JSON form.
package decimal

import "strconv"

// Unit is 1, in millionths.
const Unit = 1_000_000

// AppendMillionths appends n ÷ 1,000,000 as a JSON number with no more decimals than necessary. Any
// n is exact.
func AppendMillionths(b []byte, n int64) []byte {
	left := uint64(n)
	if n < 0 {
		b, left = append(b, '-'), uint64(-n)
	}
	b = strconv.AppendUint(b, left/Unit, 10)
	rest := left % Unit
	if rest == 0 {
		return b
	}
	b = append(b, '.')
	for unit := uint64(Unit / 10); rest > 0; unit /= 10 {
		b = append(b, byte('0'+rest/unit))
		rest %= unit
	}
	return b
}
