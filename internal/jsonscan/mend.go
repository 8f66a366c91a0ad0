package jsonscan

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// ByteOrderMark may precede a text in UTF-8 (RFC 8259, section 8.1).
const ByteOrderMark = "\uFEFF"

// Mend repairs the strings of a JSON text that a decoder has rejected. Many programs cut texts at a
// number of bytes, before or after they encode them, or write escapes of their own language:
//
//   - invalid UTF-8, half of a surrogate pair and a cut \u escape become a replacement character
//   - the backslash of a cut escape before the closing quote is dropped, if the text is no JSON with
//     that quote escaped
//   - raw control characters other than NUL become escapes
//   - \' becomes an apostrophe, \x41 the ASCII character of that number, and any other unknown escape
//     a backslash with the character
//
// Errors outside strings remain. mended reports whether anything was changed.
func Mend(text []byte) (plain []byte, mended bool) {
	m := mender{in: text, out: make([]byte, 0, len(text)+len(text)/8)}
	for m.at < len(m.in) {
		if m.in[m.at] == '"' {
			m.text()
		} else {
			m.keep(1)
		}
	}
	return m.out, m.mended
}

type mender struct {
	in, out []byte
	at      int
	mended  bool
}

// keep copies n bytes.
func (m *mender) keep(n int) {
	m.out = append(m.out, m.in[m.at:m.at+n]...)
	m.at += n
}

// replace writes with in place of n bytes.
func (m *mender) replace(n int, with string) {
	m.out = append(m.out, with...)
	m.at += n
	m.mended = true
}

const replacement = `\ufffd`

// text copies the string that begins here.
func (m *mender) text() {
	end, quote := m.end()
	for m.keep(1); m.at < end; {
		switch c := m.in[m.at]; {
		case c == '\\':
			m.escape(end)
		case c > 0 && c < ' ':
			m.replace(1, `\u00`+string("01"[c>>4])+string("0123456789abcdef"[c&15]))
		case c < utf8.RuneSelf:
			m.keep(1)
		default:
			m.character(end)
		}
	}
	if m.at < quote {
		m.replace(quote-m.at, "")
	}
	if m.at < len(m.in) {
		m.keep(1)
	}
}

// end returns the offset behind the content of the string that begins here, and that of its closing
// quote. They differ by the backslash of a cut escape.
func (m *mender) end() (end, quote int) {
	escaped, i := -1, m.at+1
	for ; i < len(m.in) && m.in[i] != '"'; i++ {
		if m.in[i] == '\\' {
			if i++; i < len(m.in) && m.in[i] == '"' {
				escaped = i
			}
		}
	}
	i = min(i, len(m.in))
	if closes := i < len(m.in) && m.valueEnds(i+1); closes || escaped < 0 ||
		len(bytes.Trim(m.in[escaped+1:i], ",:[]{} \t\r\n")) > 0 {
		return i, i
	}
	return escaped - 1, escaped
}

// valueEnds reports whether a string or name may end before offset at.
func (m *mender) valueEnds(at int) bool {
	rest := bytes.TrimLeft(m.in[at:], " \t\r\n")
	return len(rest) == 0 || bytes.IndexByte([]byte(",:]}"), rest[0]) >= 0
}

// escape copies an escape of a string whose content ends at end.
func (m *mender) escape(end int) {
	rest := m.in[m.at+1 : end]
	if len(rest) == 0 {
		m.replace(1, "")
		return
	}
	switch rest[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		m.keep(2)
	case 'u':
		m.unicode(rest[1:])
	case '\'':
		m.replace(2, "'")
	default:
		if rest[0] == 'x' && hexDigits(rest[1:], 2) == 2 && rest[1] < '8' {
			m.replace(4, `\u00`+string(rest[1:3]))
			return
		}
		m.replace(1, `\\`)
	}
}

// unicode copies an escape \uXXXX; digits is the content behind the u.
func (m *mender) unicode(digits []byte) {
	n := hexDigits(digits, 4)
	switch {
	case n == 0 && len(digits) > 0: // \users
		m.replace(1, `\\`)
		return
	case n < 4:
		m.replace(2+n, replacement)
		return
	}
	switch r := codeUnit(digits); {
	case !utf16.IsSurrogate(r):
		m.keep(6)
	case len(digits) >= 10 && digits[4] == '\\' && digits[5] == 'u' && hexDigits(digits[6:], 4) == 4 &&
		utf16.DecodeRune(r, codeUnit(digits[6:])) != utf8.RuneError:
		m.keep(12)
	default:
		m.replace(6, replacement)
	}
}

// character copies a character outside ASCII of a string whose content ends at end. A run of
// invalid bytes becomes one replacement character.
func (m *mender) character(end int) {
	if r, n := utf8.DecodeRune(m.in[m.at:end]); r != utf8.RuneError || n > 1 {
		m.keep(n)
		return
	}
	n := 1
	for m.at+n < end && m.in[m.at+n] >= utf8.RuneSelf {
		if r, size := utf8.DecodeRune(m.in[m.at+n : end]); r != utf8.RuneError || size > 1 {
			break
		}
		n++
	}
	m.replace(n, replacement)
}

// hexDigits returns the number of hexadecimal digits at the start of text, at most most.
func hexDigits(text []byte, most int) int {
	n := 0
	for n < most && n < len(text) && ('0' <= text[n] && text[n] <= '9' ||
		'a' <= text[n]|0x20 && text[n]|0x20 <= 'f') {
		n++
	}
	return n
}

// codeUnit returns the number of four hexadecimal digits.
func codeUnit(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 16)
	return rune(n)
}
