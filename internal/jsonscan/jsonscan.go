// Package jsonscan reads the JSON objects of the hot endpoints and of the projection in one pass,
// without reflection and with one copy of the text (benchmark rows ad_request_100k, mcp and start).
//
// It accepts only plain JSON and declines everything else: errors, duplicate names, names with
// escapes, numbers that are not simple, deep nesting. The general decoder accepts every text that
// this package accepts, with the same result; fuzz targets of the packages that use it check that.
// A declined text goes to the general decoder, which alone reports errors. So this package affects
// the speed of an endpoint and nothing else. [Loose] is for a general decoder that accepts
// duplicate names.
//
// # Not obvious
//
// Bid requests are read as loosely as exchanges write them: names may occur twice, numbers may have
// any form. A loading node reads campaigns through this package (campaign.Read): a campaign written
// by another build is read more slowly, but correctly.
package jsonscan

import (
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"adnet/internal/jsonscan/eight"
)

const (
	maxMembers = 24 // of an object
	maxDepth   = 8  // of a skipped value
	maxDigits  = 15 // of a number: every such number is exact as a float64, and an int
)

// Reader reads one JSON text. Its methods skip white space and read the next value. After one has
// declined, all decline.
type Reader struct {
	text  string
	at    int
	depth int
	odd   bool
	loose bool
	begun bool // the reader has just entered an object or array: no comma comes first
}

// Read returns a Reader of text. The strings that it returns share the text's memory.
func Read(text string) Reader { return Reader{text: text} }

// Done reports whether the whole text was read and nothing was declined.
func (r *Reader) Done() bool {
	r.space()
	return !r.odd && r.at == len(r.text)
}

// Odd reports whether something was declined.
func (r *Reader) Odd() bool { return r.odd }

// Decline makes the reader decline because the caller has found a form that is not plain.
func (r *Reader) Decline() {
	r.odd, r.at = true, len(r.text)
}

// Peek returns the first byte of the next value, 0 at the end.
func (r *Reader) Peek() byte {
	r.space()
	if r.at == len(r.text) {
		return 0
	}
	return r.text[r.at]
}

// At returns the position of the next value, for [Reader.Since].
func (r *Reader) At() int {
	r.space()
	return r.at
}

// Since returns the text from at to the end of the last value read.
func (r *Reader) Since(at int) string { return r.text[at:r.at] }

// Raw validates a value and returns its text.
func (r *Reader) Raw() string {
	at := r.At()
	r.Skip()
	return r.Since(at)
}

func (r *Reader) space() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return
		}
	}
}

// take skips c, or declines.
func (r *Reader) take(c byte) {
	if r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return
	}
	if r.Peek() != c {
		r.Decline()
		return
	}
	r.at++
}

// null skips a null, if one is next.
func (r *Reader) null() bool {
	if r.Peek() == 'n' && strings.HasPrefix(r.text[r.at:], "null") {
		r.at += len("null")
		return true
	}
	return false
}

// Object is a partly read object.
type Object struct {
	r     *Reader
	n     int
	names [maxMembers]string
}

// Object starts reading an object.
func (r *Reader) Object() (o Object) {
	r.Enter('{')
	o.r = r
	return o
}

// Next returns the name of the next member. The caller must then read its value. more is false at
// the end. A duplicate name is declined.
func (o *Object) Next() (name string, more bool) {
	r := o.r
	if !r.More('}') {
		return "", false
	}
	name = r.Name()
	if o.n == len(o.names) {
		r.Decline()
	}
	for i := range o.n {
		if o.names[i] == name {
			r.Decline()
		}
	}
	if r.odd {
		return "", false
	}
	o.names[o.n] = name
	o.n++
	return name, true
}

// Members reads an object whose names come in a known order, as in the output of adnet itself.
type Members struct {
	r     *Reader
	begun bool
}

// Members starts reading an object.
func (r *Reader) Members() Members {
	r.take('{')
	return Members{r: r}
}

// Next skips the name of the next member if it equals name. The caller must then read its value.
func (m *Members) Next(name string) bool {
	r := m.r
	rest, begun := strings.CutPrefix(r.text[r.at:], ",")
	if begun != m.begun || len(rest) < len(name)+3 || rest[0] != '"' || rest[1:1+len(name)] != name ||
		rest[1+len(name):3+len(name)] != `":` {
		return false
	}
	r.at = len(r.text) - len(rest) + len(name) + 3
	m.begun = true
	return true
}

// Value skips a required name, so that its value can be read. Another name, or none, is declined.
func (m *Members) Value(name string) *Reader {
	if !m.Next(name) {
		m.r.Decline()
	}
	return m.r
}

// End ends the object, which must have no further members.
func (m *Members) End() { m.r.take('}') }

// Parsed applies parse to a text that r has read. It declines a text that parse rejects.
func Parsed[T any](r *Reader, text string, parse func(string) (T, error)) T {
	value, err := parse(text)
	if err != nil {
		r.Decline()
	}
	return value
}

// Text reads a string. null is empty.
func (r *Reader) Text() string {
	if r.null() {
		return ""
	}
	text, escaped := r.quoted()
	if escaped {
		return r.unquoted(text)
	}
	return text
}

// unquoted decodes a string with escapes.
func (r *Reader) unquoted(text string) string {
	var room [512]byte
	plain, err := jsontext.AppendUnquote(room[:0], text)
	if err != nil {
		r.Decline()
		return ""
	}
	return string(plain)
}

// quoted reads a string. It returns the text between the quotes, or the whole string with its
// quotes if it has escapes.
func (r *Reader) quoted() (text string, escaped bool) {
	r.take('"')
	rest := r.text[r.at:]
	i := plainASCII(rest)
	if i < len(rest) && rest[i] == '"' {
		r.at += i + 1
		return rest[:i], false
	}
	for ; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '"':
			if !utf8.ValidString(rest[:i]) {
				r.Decline()
				return "", false
			}
			r.at += i + 1
			return rest[:i], false
		case c == '\\':
			return r.escaped(i), true
		case c < ' ':
			r.Decline()
			return "", false
		}
	}
	r.Decline()
	return "", false
}

// plainASCII returns the number of leading bytes of text that are ASCII and stand for themselves in
// a JSON string. It examines eight at a time (benchmark row rtb_100k).
func plainASCII(text string) int {
	i := 0
	for ; i+8 <= len(text); i += 8 {
		v := eight.Of(text[i:])
		odd := eight.Control(v) | eight.Is(v, '"') | eight.Is(v, '\\') | eight.Wide(v)
		if odd != 0 { // the lowest one is exact
			return i + bits.TrailingZeros64(odd)/8
		}
	}
	for i < len(text) && text[i] >= ' ' && text[i] < utf8.RuneSelf && text[i] != '"' && text[i] != '\\' {
		i++
	}
	return i
}

// escaped returns the whole string with its quotes. Its first escape is i bytes ahead.
func (r *Reader) escaped(i int) string {
	from := r.at - 1
	for i += r.at; i < len(r.text); i++ {
		switch r.text[i] {
		case '\\':
			i++
		case '"':
			r.at = i + 1
			return r.text[from:r.at]
		}
	}
	r.Decline()
	return ""
}

// Texts reads an array of strings. null is nil.
func (r *Reader) Texts() []string {
	if r.null() {
		return nil
	}
	list := []string{}
	r.Each(func() {
		if r.Peek() == 'n' {
			r.Decline()
		}
		list = append(list, r.Text())
	})
	return list
}

// Each calls read for each element of an array.
func (r *Reader) Each(read func()) {
	for r.Enter('['); r.More(']'); {
		read()
	}
}

// Int reads an integer. null is nil.
func (r *Reader) Int() *int {
	if r.null() {
		return nil
	}
	n, err := strconv.Atoi(r.number(false))
	if err != nil {
		r.Decline()
		return nil
	}
	return &n
}

// Number reads a number without an exponent and returns its text.
func (r *Reader) Number() string { return r.number(true) }

// Bool reads true or false.
func (r *Reader) Bool() bool {
	at := r.At()
	r.literal()
	value := !r.odd && r.text[at] == 't'
	if !r.odd && r.text[at] == 'n' {
		r.Decline()
	}
	return value
}

// Float reads a number. null is nil.
func (r *Reader) Float() *float64 {
	if r.null() {
		return nil
	}
	f, err := strconv.ParseFloat(r.number(true), 64)
	if err != nil {
		r.Decline()
		return nil
	}
	return &f
}

// Whole reads a 64-bit integer.
func (r *Reader) Whole() int64 {
	n, err := strconv.ParseInt(r.numeral(false, len("-9223372036854775808")), 10, 64)
	if err != nil {
		r.Decline()
	}
	return n
}

func (r *Reader) number(fraction bool) string { return r.numeral(fraction, maxDigits) }

// numeral reads a number of at most most characters without an exponent, and without a fraction
// unless fractions are allowed. Minus zero is declined. The rest of a longer number cannot follow a
// value, so the next read declines it.
func (r *Reader) numeral(fraction bool, most int) string {
	n := r.scanNumber(fraction, false)
	if len(n) > most || strings.HasPrefix(n, "-0") {
		r.Decline()
		return ""
	}
	return n
}

// scanNumber reads a number (RFC 8259, section 6) up to the first character that cannot belong to
// it.
func (r *Reader) scanNumber(fraction, exponent bool) string {
	from := r.At()
	r.skipOne("-")
	if zero := r.at; r.digits() > 1 && r.text[zero] == '0' {
		r.Decline()
	}
	if fraction && r.skipOne(".") {
		r.digits()
	}
	if exponent && r.skipOne("eE") {
		r.skipOne("+-")
		r.digits()
	}
	if r.odd {
		return ""
	}
	return r.Since(from)
}

// skipOne skips the next character if it is in of.
func (r *Reader) skipOne(of string) bool {
	if r.at == len(r.text) || strings.IndexByte(of, r.text[r.at]) < 0 {
		return false
	}
	r.at++
	return true
}

// digits skips at least one digit.
func (r *Reader) digits() int {
	from := r.at
	for r.at < len(r.text) && '0' <= r.text[r.at] && r.text[r.at] <= '9' {
		r.at++
	}
	if r.at == from {
		r.Decline()
		return 0
	}
	return r.at - from
}

// Skip validates and skips a value of any kind.
func (r *Reader) Skip() {
	switch c := r.Peek(); c {
	case '{':
		r.enter()
		if r.loose {
			for r.Enter('{'); r.More('}'); {
				r.Name()
				r.Skip()
			}
		} else {
			o := r.Object()
			for _, more := o.Next(); more; _, more = o.Next() {
				r.Skip()
			}
		}
		r.depth--
	case '[':
		r.enter()
		r.Each(r.Skip)
		r.depth--
	case '"':
		r.Text()
	case 'n', 't', 'f':
		r.literal()
	default:
		if r.loose {
			r.Numeral()
		} else {
			r.number(true)
		}
	}
}

func (r *Reader) enter() {
	if r.depth++; r.depth > maxDepth {
		r.Decline()
	}
}

func (r *Reader) literal() {
	for _, word := range [...]string{"null", "true", "false"} {
		if strings.HasPrefix(r.text[r.at:], word) {
			r.at += len(word)
			return
		}
	}
	r.Decline()
}
