package index

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// appendValue appends the normalised form of a value of any dimension but tokens: trimmed,
// lower-cased, NFC; regions and languages with "-" between their parts.
func appendValue(dst []byte, d int, v string) []byte {
	v = strings.TrimSpace(v)
	from := len(dst)
	for i := range len(v) {
		c := v[i]
		if c >= utf8.RuneSelf {
			dst = append(dst[:from], norm.NFC.String(strings.ToLower(norm.NFC.String(v)))...)
			break
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	if d == dimRegion || d == dimLanguage {
		for i := from; i < len(dst); i++ {
			if dst[i] == '_' {
				dst[i] = '-'
			}
		}
	}
	return dst
}
