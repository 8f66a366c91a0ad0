package rtb

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"adnet/internal/jsonscan"
	"adnet/internal/money"
)

// reader reads the fields that we use from a JSON text and skips all others. A value of an
// unexpected kind counts as absent, because exchanges send such values and the request is still
// valid. Only invalid JSON is an error. The last value of a repeated name counts, as in the
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
	numbers  []int64
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

// members is an object that reads the members that we use.
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
	r.strings, r.numbers = emptied(r.strings), emptied(r.numbers)
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

// object is an object that may be absent.
type object[T any] struct {
	set bool
	v   T
}

// objects is a list of objects. bad is set if the list has another value.
type objects[T any] struct {
	list []T
	bad  bool
}

// membersOf is a pointer to a T that implements members.
type membersOf[T any] interface {
	*T
	members
}

// into reads an object that may be absent.
func into[T any, M membersOf[T]](r *reader, o *object[T]) {
	*o = object[T]{}
	o.set = r.object(M(&o.v))
}

// list appends a list of objects to all, which holds all lists of T. An object of type T must not
// contain such a list itself.
func list[T any, M membersOf[T]](r *reader, all *[]T) (o objects[T]) {
	from := len(*all)
	if r.kind() != '[' {
		r.skip()
		return o
	}
	for r.enter('['); r.more(']'); {
		if r.kind() != '{' {
			o.bad = true
			r.skip()
			continue
		}
		*all = append(*all, *new(T))
		r.object(M(&(*all)[len(*all)-1]))
	}
	o.list = (*all)[from:len(*all):len(*all)]
	return o
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

// whole is an integer, which may be written as a float, a string or a boolean.
type whole struct {
	set bool
	n   int64
}

func (w whole) is(n int64) bool { return w.set && w.n == n }

func (r *reader) whole() (w whole) {
	switch r.kind() {
	case '0':
		w.n, w.set = parseWhole(r.number())
	case '"':
		w.n, w.set = parseWhole(r.quoted())
	case 't':
		w = whole{true, 1}
		r.skip()
	case 'f':
		w = whole{true, 0}
		r.skip()
	default:
		r.skip()
	}
	return w
}

func parseWhole(s string) (int64, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) {
		return 0, false
	}
	return int64(max(min(f, math.MaxInt32), math.MinInt32)), true
}

// amount is a price of 1,000 impressions. An unreadable price is bad, not zero, so that no bid goes
// below an intended floor.
type amount struct {
	micros money.Micros // never negative
	set    bool
	bad    bool
}

func (r *reader) amount() (a amount) {
	var stated string
	switch r.kind() {
	case '0':
		stated = r.number()
	case '"':
		stated = r.quoted()
	case 'n':
		r.skip()
		return a
	default:
		r.skip()
		return amount{set: true, bad: true}
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

// texts is a list of strings; a single string is a list of one.
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

// codes is a list of ids; some exchanges write them as numbers.
type codes []string

func (r *reader) codes() codes {
	if r.kind() != '[' {
		return codes(r.texts())
	}
	from := len(r.strings)
	for r.enter('['); r.more(']'); {
		switch r.kind() {
		case '"':
			r.strings = append(r.strings, r.quoted())
		case '0':
			r.strings = append(r.strings, r.number())
		default:
			r.skip()
		}
	}
	return codes(r.strings[from:len(r.strings):len(r.strings)])
}

// year is a year that may be absent; n is 0 if it is unreadable.
type year struct {
	set bool
	n   int64
}

func (r *reader) year() year {
	if r.kind() == 'n' {
		r.skip()
		return year{}
	}
	return year{set: true, n: r.whole().n}
}

// wholes is a list of integers.
type wholes []int64

func (r *reader) wholes() wholes {
	from := len(r.numbers)
	if r.kind() != '[' {
		r.skip()
		return nil
	}
	for r.enter('['); r.more(']'); {
		if n := r.whole(); n.set {
			r.numbers = append(r.numbers, n.n)
		}
	}
	return r.numbers[from:len(r.numbers):len(r.numbers)]
}
