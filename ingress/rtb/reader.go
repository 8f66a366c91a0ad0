package rtb

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"adnet/ingress/offer"
	"adnet/internal/compliance/consent"
	"adnet/internal/jsonscan"
	"adnet/internal/money"
)

// reader reads the fields that we use from a JSON text and skips all others. A value of an
// unexpected kind makes its field unreadable (see [state]); the request is still valid, because
// exchanges send such values. Only invalid JSON is an error. The last value of a repeated name counts, as in the
// decoders of exchanges. Half of a surrogate pair, as at the end of a truncated title, becomes a
// replacement character. The values are parts of the text and of the reader's own lists, so that a
// request does not allocate for each value (BenchmarkRTB100k). They are valid until forget. scan
// reads a text first. If it declines something, dec reads the text again, and only dec reports
// errors. Because the last value counts, nothing of the first reading remains.
type reader struct {
	scan    jsonscan.Reader
	general bool // dec reads
	dec     jsontext.Decoder
	options []jsontext.Options
	raw     []byte // the input of dec
	plain   []byte // the last string read by dec, if it has escapes
	in      bytes.Buffer
	text    string
	err     error // the first error of dec; later values count as absent

	strings  []string
	integers []int64
	imps     []imp
	deals    []deal
	sizes    []size
	ranges   []durFloor
	assets   []nativeAsset
	trackers []eventTracker
	data     []data
	segments []segment
}

func newReader() *reader {
	return &reader{options: []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}}
}

// members is an object that reads the members that we use. The methods are generated.
type members interface {
	// member reads the value of one member with r, or skips it.
	member(r *reader, name string)
}

var errTrailing = errors.New("text after the object")

// document reads a UTF-8 text into o. is reports whether the text is an object. Errors: the text is
// not JSON.
func (r *reader) document(text string, o members) (is bool, err error) {
	if is, plain := r.scanned(text, o); plain {
		return is, nil
	}
	return r.decoded(text, o)
}

// scanned reads with scan. plain is false if it declined something.
func (r *reader) scanned(text string, o members) (is, plain bool) {
	r.text, r.err, r.general = text, nil, false
	r.scan = jsonscan.Loose(text)
	is = r.object(o)
	return is, r.scan.Done()
}

// decoded reads with dec.
func (r *reader) decoded(text string, o members) (is bool, err error) {
	r.text, r.err, r.general = text, nil, true
	r.raw = append(r.raw[:0], text...)
	r.in = *bytes.NewBuffer(r.raw)
	r.dec.Reset(&r.in, r.options...)
	is = r.object(o)
	if _, err := r.dec.ReadToken(); err != io.EOF {
		r.fail(cmp.Or(err, errTrailing))
	}
	return is, r.err
}

// forget releases all values, and lists that only a rare request needs.
func (r *reader) forget() {
	if cap(r.raw) > keptBuffer {
		r.raw, r.plain = nil, nil
	}
	r.scan, r.in, r.text, r.err = jsonscan.Reader{}, bytes.Buffer{}, "", nil
	r.strings, r.integers = emptied(r.strings), emptied(r.integers)
	r.imps, r.deals, r.sizes, r.ranges = emptied(r.imps), emptied(r.deals), emptied(r.sizes), emptied(r.ranges)
	r.assets, r.trackers = emptied(r.assets), emptied(r.trackers)
	r.data, r.segments = emptied(r.data), emptied(r.segments)
}

// keptList is the length of the longest list that is kept for reuse.
const keptList = 256

// emptied returns a cleared list for reuse.
func emptied[T any](list []T) []T {
	if cap(list) > keptList {
		return nil
	}
	clear(list)
	return list[:0]
}

func (r *reader) fail(err error) { r.err = cmp.Or(r.err, err) }

// kind returns the first character of the next value, 0 if there is none, and '0' for every number.
func (r *reader) kind() byte {
	if r.general {
		return byte(r.dec.PeekKind())
	}
	c := r.scan.Peek()
	if c == '-' || '0' <= c && c <= '9' {
		return '0'
	}
	return c
}

// value returns the text of the next value.
func (r *reader) value() string {
	if !r.general {
		return r.scan.Raw()
	}
	v, err := r.dec.ReadValue()
	if err != nil {
		r.fail(err)
		return ""
	}
	end := int(r.dec.InputOffset())
	return r.text[end-len(v) : end]
}

func (r *reader) skip() {
	if r.general {
		r.value()
	} else {
		r.scan.Skip()
	}
}

// number returns the text of the next value, which is a number.
func (r *reader) number() string {
	if r.general {
		return r.value()
	}
	return r.scan.Numeral()
}

// quoted returns the content of the next value, which is a string.
func (r *reader) quoted() string {
	if !r.general {
		return r.scan.Text()
	}
	v := r.value()
	switch {
	case r.err != nil:
		return ""
	case strings.IndexByte(v, '\\') < 0:
		return v[1 : len(v)-1]
	}
	// The error reports halves of surrogate pairs, which are replaced.
	r.plain, _ = jsontext.AppendUnquote(r.plain[:0], v)
	return string(r.plain)
}

// enter reads begin, the first character of the next object or array.
func (r *reader) enter(begin byte) {
	if r.general {
		r.delimiter()
	} else {
		r.scan.Enter(begin)
	}
}

// delimiter reads the start or end of an object or array with dec.
func (r *reader) delimiter() {
	if _, err := r.dec.ReadToken(); err != nil {
		r.fail(err)
	}
}

// more reports whether the object or array that ends with end has another element. If not, it reads
// the end.
func (r *reader) more(end byte) bool {
	if !r.general {
		return r.scan.More(end)
	}
	if r.err != nil {
		return false
	}
	switch r.dec.PeekKind() {
	case '}', ']', 0:
		r.delimiter() // or set the error
		return false
	}
	return true
}

// name returns the name of the next member.
func (r *reader) name() string {
	if r.general {
		return r.quoted()
	}
	return r.scan.Name()
}

// object reads an object into o; false for another value.
func (r *reader) object(o members) bool {
	if r.kind() != '{' {
		r.skip()
		return false
	}
	for r.enter('{'); r.more('}'); {
		o.member(r, r.name())
	}
	return true
}

// state is the state of a field. A field that restricts bids counts as not met if it is unreadable:
// what it asks for is unknown.
type state uint8

// The states. Null and an empty list (the empty object of PHP) are absent, like a missing field.
const (
	absent state = iota
	readable
	unreadable
)

// other skips a value of a kind that a field does not have and returns the state of the field.
func (r *reader) other() state {
	switch r.kind() {
	case 'n':
		r.skip()
		return absent
	case '[':
		if r.empty() {
			return absent
		}
	default:
		r.skip()
	}
	return unreadable
}

// empty skips a list and reports whether it has no elements.
func (r *reader) empty() bool {
	none := true
	for r.enter('['); r.more(']'); {
		none = false
		r.skip()
	}
	return none
}

// object is an object that may be absent.
type object[T any] struct {
	set    bool
	bad    bool // another value was sent
	hollow bool // an empty list was sent
	v      T
}

// objects is a list of objects. bad is set if the list has another value, or is one.
type objects[T any] struct {
	list []T
	bad  bool
}

// stated reports whether o restricts bids.
func (o *objects[T]) stated() bool { return len(o.list) > 0 || o.bad }

// membersOf is a pointer to a T that implements members.
type membersOf[T any] interface {
	*T
	members
}

// restricting is an object with fields that restrict bids.
type restricting interface {
	// lose makes all fields unreadable that restrict bids. It is called if another value was sent in
	// place of the object: its restrictions are unknown.
	lose()
}

// into reads an object that may be absent.
func into[T any, M membersOf[T]](r *reader, o *object[T]) {
	*o = object[T]{}
	switch r.kind() {
	case '{':
		o.set = r.object(M(&o.v))
	case '[':
		o.hollow = r.empty()
		o.bad = !o.hollow
	default:
		o.bad = r.other() == unreadable
	}
	if o.bad {
		if lost, restricts := any(M(&o.v)).(restricting); restricts {
			lost.lose()
		}
	}
}

// list appends a list of objects to all, which holds all lists of T. An object of type T must not
// contain such a list itself. A single object is a list of one; null is left out.
func list[T any, M membersOf[T]](r *reader, all *[]T) (o objects[T]) {
	from := len(*all)
	switch r.kind() {
	case '[':
		for r.enter('['); r.more(']'); {
			o.bad = element[T, M](r, all) == unreadable || o.bad
		}
	case '{':
		element[T, M](r, all)
	default:
		o.bad = r.other() == unreadable
	}
	o.list = (*all)[from:len(*all):len(*all)]
	return o
}

// element appends the next value to all if it is an object.
func element[T any, M membersOf[T]](r *reader, all *[]T) state {
	if r.kind() != '{' {
		return r.other()
	}
	*all = append(*all, *new(T))
	r.object(M(&(*all)[len(*all)-1]))
	return readable
}

// text is a string.
type text string

func (r *reader) string() text {
	if r.kind() != '"' {
		r.skip()
		return ""
	}
	return text(r.quoted())
}

// id returns an id, which some exchanges write as a number.
func (r *reader) id() text {
	if r.kind() == '0' {
		return text(r.number())
	}
	return r.string()
}

// unreadableCode stands for a code in a value that is not a text or number. No list of codes has it,
// and no consent has this form.
const unreadableCode text = "?"

func (t *text) lose() { *t = unreadableCode }

// code returns a text that restricts bids, without spaces around it.
func (r *reader) code() text {
	switch r.kind() {
	case '"':
		return text(strings.TrimSpace(r.quoted()))
	case '0':
		return text(r.number())
	}
	if r.other() == unreadable {
		return unreadableCode
	}
	return ""
}

// words returns keywords: a text, or a list of them.
func (r *reader) words() text {
	if r.kind() != '[' {
		return r.string()
	}
	return joined(r.texts())
}

// choice returns a flag.
func (r *reader) choice() consent.Choice { return consent.ParseChoice(r.value()) }

func (r *reader) suitability() offer.Suitability { return offer.ReadSuitability(r.value()) }

// whole is an integer, which may be written as a float, a string or a boolean.
type whole struct {
	state state
	n     int64
}

func (w *whole) lose() { w.state = unreadable }

func (w whole) set() bool { return w.state == readable }

func (w whole) is(n int64) bool { return w.set() && w.n == n }

// above reports whether w sets a limit above n, or one that is unreadable.
func (w whole) above(n int64) bool { return w.state == unreadable || w.set() && w.n > n }

// below reports whether w sets a limit below n, or one that is unreadable.
func (w whole) below(n int64) bool { return w.state == unreadable || w.set() && w.n < n }

func (r *reader) whole() whole { return r.integer(parseWhole) }

// pixels returns a length in pixels, of which a fraction does not count.
func (r *reader) pixels() whole { return r.integer(parseFloor) }

func (r *reader) integer(parse func(string) (int64, bool)) (w whole) {
	switch r.kind() {
	case '0':
		return integerOf(r.number(), parse)
	case '"':
		return integerOf(strings.TrimSpace(r.quoted()), parse)
	case 't':
		w = whole{readable, 1}
		r.skip()
	case 'f':
		w = whole{readable, 0}
		r.skip()
	default:
		w.state = r.other()
	}
	return w
}

func integerOf(s string, parse func(string) (int64, bool)) whole {
	if s == "" {
		return whole{}
	}
	if n, ok := parse(s); ok {
		return whole{readable, n}
	}
	return whole{state: unreadable}
}

// mostWhole is the largest integer that a float holds exactly.
const mostWhole = 1 << 53

// parseWhole parses an integer; false for a fraction.
func parseWhole(s string) (int64, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) { // NaN too
		return 0, false
	}
	return int64(max(min(f, mostWhole), -mostWhole)), true
}

// parseFloor parses a number and cuts its fraction.
func parseFloor(s string) (int64, bool) {
	if n, ok := parseWhole(s); ok {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) {
		return 0, false
	}
	return int64(max(min(f, mostWhole), -mostWhole)), true
}

// amount is a price of 1,000 impressions. An unreadable price is bad, not zero, so that no bid goes
// below an intended floor.
type amount struct {
	micros money.Micros // never negative
	set    bool
	bad    bool
}

func (a *amount) lose() { a.bad = true }

func (r *reader) amount() (a amount) {
	var stated string
	switch r.kind() {
	case '0':
		stated = r.number()
	case '"':
		stated = r.quoted()
	default:
		a.bad = r.other() == unreadable
		a.set = a.bad
		return a
	}
	a = parseAmount(stated)
	a.set = strings.TrimSpace(stated) != ""
	return a
}

// parseAmount parses dollars. It rounds up to a micro-dollar, unless the difference is only
// floating-point noise.
func parseAmount(s string) amount {
	s = strings.TrimSpace(s)
	if s == "" {
		return amount{}
	}
	if exact, err := money.Parse(s); err == nil {
		return amount{micros: max(exact, 0)}
	}
	f, err := strconv.ParseFloat(s, 64)
	if math.IsNaN(f) || err != nil && !math.IsInf(f, 1) {
		return amount{bad: true}
	}
	f *= float64(money.USD)
	if f >= float64(money.Max) {
		return amount{micros: money.Max}
	}
	if near := math.Round(f); math.Abs(f-near) < 1e-3 {
		f = near
	}
	return amount{micros: money.Micros(max(math.Ceil(f), 0))}
}

// texts is a list of strings without effect on what may be bid; a single string is a list of one.
type texts []string

func (r *reader) texts() texts {
	from := len(r.strings)
	switch r.kind() {
	case '"':
		r.strings = append(r.strings, r.quoted())
	case '[':
		for r.enter('['); r.more(']'); {
			if r.kind() != '"' {
				r.skip()
				continue
			}
			r.strings = append(r.strings, r.quoted())
		}
	default:
		r.skip()
	}
	return r.strings[from:len(r.strings):len(r.strings)]
}

// names is a list of codes, hosts or seats that restricts bids. It is unreadable if one of its
// values is; list has the others, without blank ones.
type names struct {
	state state
	list  texts
}

func (n *names) lose() { n.state = unreadable }

// blocks reports whether a block list names something of ours, or something unreadable.
func (n *names) blocks(ours func(string) bool) bool {
	return n.state == unreadable || slices.ContainsFunc(n.list, ours)
}

// allows reports whether an allow list is absent or names something of ours.
func (n *names) allows(ours func(string) bool) bool {
	return n.state == absent || slices.ContainsFunc(n.list, ours)
}

// names reads a list of texts without spaces. They may be numbers, a single value, or several in one
// text.
func (r *reader) names() names { return r.nameList(true) }

// seats reads a list of texts that may have spaces and commas.
func (r *reader) seats() names { return r.nameList(false) }

func (r *reader) nameList(split bool) (n names) {
	from := len(r.strings)
	switch r.kind() {
	case '[':
		for r.enter('['); r.more(']'); {
			n.state = max(n.state, r.entry(split))
		}
	case 'n':
		r.skip()
	default:
		n.state = r.entry(split)
		if len(r.strings) == from && n.state == readable {
			n.state = absent // a blank text
		}
	}
	n.list = r.strings[from:len(r.strings):len(r.strings)]
	return n
}

// entry appends the next value of a list of names.
func (r *reader) entry(split bool) state {
	var name string
	switch r.kind() {
	case '"':
		name = r.quoted()
	case '0':
		name = r.number()
	case 'n':
		r.skip()
		return absent
	default:
		r.skip()
		return unreadable
	}
	switch {
	case single(name):
		if name != "" {
			r.strings = append(r.strings, name)
		}
	case split:
		r.strings = slices.AppendSeq(r.strings, strings.FieldsFuncSeq(name, separates))
	default:
		if name = strings.TrimSpace(name); name != "" {
			r.strings = append(r.strings, name)
		}
	}
	return readable
}

// single reports whether a text is surely one value; faster than a search with separates.
func single(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c <= ' ', c == ',', c == ';', c == '|', c >= utf8.RuneSelf:
			return false
		}
	}
	return true
}

// separates reports whether c separates the values of a list in a text.
func separates(c rune) bool {
	switch c {
	case ',', ';', '|':
		return true
	}
	return c <= ' ' || c > unicode.MaxLatin1 && unicode.IsSpace(c)
}

// year is a year that may be absent; n is 0 if it is unreadable.
type year struct {
	set bool
	n   int64
}

func (y *year) lose() { y.set = true }

func (r *reader) year() year {
	if r.kind() == 'n' {
		r.skip()
		return year{}
	}
	return year{set: true, n: r.whole().n}
}

// wholes is a list of integers.
type wholes []int64

// numbers is a list of integers that restricts bids. It is unreadable if one of its values is; list
// has the others.
type numbers struct {
	state state
	list  wholes
}

func (n *numbers) lose() { n.state = unreadable }

// blocks reports whether a block list has n or something unreadable.
func (n *numbers) blocks(code int64) bool { return n.state == unreadable || has(n.list, code) }

// allows reports whether an allow list is absent or has n.
func (n *numbers) allows(code int64) bool { return n.state == absent || has(n.list, code) }

// numbers reads a list of integers. It may be a single value, or a text with several.
func (r *reader) numbers() (n numbers) {
	from := len(r.integers)
	if r.kind() == '[' {
		for r.enter('['); r.more(']'); {
			blank := r.kind() == '"'
			if n.state = max(n.state, r.numeral()); blank {
				n.state = max(n.state, readable) // a list with a blank text is not absent
			}
		}
	} else {
		n.state = r.numeral()
	}
	n.list = r.integers[from:len(r.integers):len(r.integers)]
	return n
}

// numeral appends the next value of a list of integers.
func (r *reader) numeral() (s state) {
	if r.kind() != '"' {
		return r.append(r.whole())
	}
	for field := range strings.FieldsFuncSeq(r.quoted(), separates) {
		s = max(s, r.append(integerOf(field, parseWhole)))
	}
	return s
}

func (r *reader) append(w whole) state {
	if w.set() {
		r.integers = append(r.integers, w.n)
	}
	return w.state
}
