package httpapi

import (
	"bytes"
	"encoding"
	"errors"
	"io"
	"reflect"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"adnet/internal/jsonscan"
	"adnet/internal/money/share"
)

// DecodeLoose is [Decode] with [UnmarshalLoose].
func DecodeLoose(c *gin.Context, dst any) error {
	return ReadBody(c, func(body []byte) error { return UnmarshalLoose(body, dst) })
}

// UnmarshalLoose is [Unmarshal] for the requests of programs, which must not lose an ad to the form
// of their JSON: [Loosened] states what else is read. Requests that change an account are read
// strictly, because their texts are stored.
func UnmarshalLoose(body []byte, dst any) error {
	err := Unmarshal(body, dst)
	if err == nil && !listsNull(body) {
		return nil
	}
	plain, changed := Loosened(body, dst)
	if !changed {
		return err
	}
	reflect.ValueOf(dst).Elem().SetZero()
	return Unmarshal(plain, dst)
}

// listsNull reports whether a list in a valid JSON text may have null as an element: a null that
// follows no name.
func listsNull(body []byte) bool {
	for {
		at := bytes.Index(body, []byte("null"))
		if at < 0 {
			return false
		}
		if before := bytes.TrimRight(body[:at], " \t\r\n"); bytes.HasSuffix(before, []byte{','}) ||
			bytes.HasSuffix(before, []byte{'['}) {
			return true
		}
		body = body[at+len("null"):]
	}
}

// Loosened rewrites a JSON text that was rejected for dst, a pointer to a struct, where its meaning
// is certain. changed is false if nothing was. Strings are mended ([jsonscan.Mend]), and by the type
// of its field
//
//   - an empty array is an empty object, as PHP writes it, and an object with numbers as names is an
//     array
//   - null in a list is absent
//   - a number in a text is a number, and an empty one absent; a number is a text of its digits
//   - an object or a list in a text is that object or list
//   - a text is a list of texts, with commas between them
//   - a list of texts, or of parts {"text": "…"}, is one text: all of them, one a line, in a field
//     with the tag loose:"parts", the first in one with loose:"first"
func Loosened(body []byte, dst any) (plain []byte, changed bool) {
	plain, mended := jsonscan.Mend(body)
	fitted, err := fit(plain, reflect.TypeOf(dst).Elem(), true)
	switch {
	case err == nil && (mended || !bytes.Equal(fitted, plain)):
		return fitted, true
	default:
		return plain, mended
	}
}

type (
	joinedText string // a field with the tag loose:"parts"
	firstText  string // a field with the tag loose:"first"
)

// fitter rewrites a JSON text for a type.
type fitter struct {
	in     *jsontext.Decoder
	out    *jsontext.Encoder
	opened bool // texts may hold JSON, which holds no further texts with JSON
}

// fit returns a JSON text whose values have the kinds that t needs, where their meaning is certain.
// Errors: it is not JSON.
func fit(text []byte, t reflect.Type, open bool) ([]byte, error) {
	var out bytes.Buffer
	f := fitter{in: jsontext.NewDecoder(bytes.NewReader(text)), out: jsontext.NewEncoder(&out), opened: open}
	if err := f.value(t); err != nil {
		return nil, err
	}
	if _, err := f.in.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	return out.Bytes(), nil
}

var errTrailing = errors.New("text after the value")

// value rewrites the next value for a type.
func (f *fitter) value(t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch kind := f.in.PeekKind(); {
	case wantsNumber(t) && kind == '"':
		return f.number()
	case decodesItself(t):
	case (t == reflect.TypeFor[joinedText]() || t == reflect.TypeFor[firstText]()) && kind == '[':
		return f.texts(t == reflect.TypeFor[firstText]())
	case t.Kind() == reflect.String && kind == '0':
		return f.digits()
	case t.Kind() == reflect.Struct && kind == '{':
		return f.object(t)
	case t.Kind() == reflect.Struct && (kind == '[' || kind == '"'):
		return f.objectIn(t)
	case t.Kind() == reflect.Slice && kind == '[':
		return f.list(t.Elem())
	case t.Kind() == reflect.Slice && (kind == '{' || kind == '"'):
		return f.listIn(t)
	}
	return f.copy()
}

func (f *fitter) copy() error {
	v, err := f.in.ReadValue()
	if err != nil {
		return err
	}
	return f.out.WriteValue(v)
}

// wantsNumber reports whether t is decoded from a JSON number.
func wantsNumber(t reflect.Type) bool {
	switch {
	case t == reflect.TypeFor[share.Share]():
		return true
	case decodesItself(t):
		return false
	}
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64
}

// decodesItself reports whether t has its own form in JSON.
func decodesItself(t reflect.Type) bool {
	of := reflect.PointerTo(t)
	return of.Implements(reflect.TypeFor[json.UnmarshalerFrom]()) || of.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		of.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) || t == reflect.TypeFor[jsontext.Value]()
}

// number rewrites a text that holds a number.
func (f *fitter) number() error {
	t, err := f.in.ReadToken()
	if err != nil {
		return err
	}
	text := strings.TrimSpace(t.String())
	switch number := jsontext.Value(text); {
	case text == "":
		return f.out.WriteToken(jsontext.Null)
	case number.Kind() == '0' && number.IsValid():
		return f.out.WriteValue(number)
	}
	return f.out.WriteToken(jsontext.String(t.String()))
}

// texts rewrites a list of texts and of parts as one text, or as the first of them. A list with
// another value is unchanged.
func (f *fitter) texts(first bool) error {
	v, err := f.in.ReadValue()
	if err != nil {
		return err
	}
	text, ok := PartsText(v)
	if !ok {
		return f.out.WriteValue(v)
	}
	if first {
		text, _, _ = strings.Cut(text, "\n")
	}
	return f.out.WriteToken(jsontext.String(text))
}

// digits rewrites a number as a text.
func (f *fitter) digits() error {
	v, err := f.in.ReadValue()
	if err != nil {
		return err
	}
	return f.out.WriteToken(jsontext.String(string(v)))
}

// object rewrites the members of an object for the fields of a struct.
func (f *fitter) object(t reflect.Type) error {
	fields := map[string]reflect.Type{}
	typesOf(t, fields)
	if err := f.token(); err != nil {
		return err
	}
	for f.in.PeekKind() != '}' {
		name, err := f.in.ReadToken()
		if err != nil {
			return err
		}
		of := fields[name.String()]
		if err = f.out.WriteToken(name); err == nil && of != nil {
			err = f.value(of)
		} else if err == nil {
			err = f.copy()
		}
		if err != nil {
			return err
		}
	}
	return f.token()
}

// token copies a token.
func (f *fitter) token() error {
	t, err := f.in.ReadToken()
	if err != nil {
		return err
	}
	return f.out.WriteToken(t)
}

// typesOf adds the types of a struct's fields by their JSON names, embedded structs included.
func typesOf(t reflect.Type, to map[string]reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			to[name] = field.Type
			switch field.Tag.Get("loose") {
			case "parts":
				to[name] = reflect.TypeFor[joinedText]()
			case "first":
				to[name] = reflect.TypeFor[firstText]()
			}
		} else if field.Anonymous && field.Type.Kind() == reflect.Struct {
			typesOf(field.Type, to)
		}
	}
}

// list rewrites the elements of an array for a type and drops null.
func (f *fitter) list(of reflect.Type) error {
	if err := f.token(); err != nil {
		return err
	}
	for f.in.PeekKind() != ']' {
		if f.in.PeekKind() == 'n' {
			if err := f.in.SkipValue(); err != nil {
				return err
			}
		} else if err := f.value(of); err != nil {
			return err
		}
	}
	return f.token()
}

// objectIn rewrites an array or a text that stands for an object.
func (f *fitter) objectIn(t reflect.Type) error {
	v, err := f.in.ReadValue()
	if err != nil {
		return err
	}
	if v.Kind() == '[' && len(bytes.TrimSpace(v[1:len(v)-1])) == 0 {
		return f.out.WriteValue(jsontext.Value("{}"))
	}
	return f.out.WriteValue(f.within(v, t, '{'))
}

// listIn rewrites an object or a text that stands for a list.
func (f *fitter) listIn(t reflect.Type) error {
	v, err := f.in.ReadValue()
	if err != nil {
		return err
	}
	if v.Kind() == '{' {
		return f.out.WriteValue(f.numbered(v.Clone(), t))
	}
	if inner := f.within(v, t, '['); inner.Kind() == '[' || t.Elem().Kind() != reflect.String {
		return f.out.WriteValue(inner)
	}
	list := []string{}
	for part := range strings.SplitSeq(unquoted(v), ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	written, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return f.out.WriteValue(written)
}

// within returns the value that a text v holds, fitted to t, if it begins with begin. Otherwise it
// returns v.
func (f *fitter) within(v jsontext.Value, t reflect.Type, begin byte) jsontext.Value {
	if v.Kind() != '"' || !f.opened {
		return v
	}
	text := strings.TrimSpace(unquoted(v))
	if text == "" || text[0] != begin {
		return v
	}
	inner, err := fit([]byte(text), t, false)
	if err != nil {
		return v
	}
	return inner
}

// numbered returns the values of an object v whose names are 0, 1, 2 and so on, as PHP writes a
// list, fitted to the list t. It returns the list of v alone if its elements are objects, and v
// otherwise.
func (f *fitter) numbered(v jsontext.Value, t reflect.Type) jsontext.Value {
	list, numbers := []byte{'['}, true
	in := jsontext.NewDecoder(bytes.NewReader(v))
	_, _ = in.ReadToken() // v is valid
	for in.PeekKind() != '}' {
		name, _ := in.ReadToken()
		numbers = numbers && strings.Trim(name.String(), "0123456789") == ""
		value, _ := in.ReadValue()
		list = append(append(list, value...), ',')
	}
	switch {
	case numbers:
		list = append(bytes.TrimSuffix(list, []byte{','}), ']')
	case t.Elem().Kind() == reflect.Struct:
		list = append(append([]byte{'['}, v...), ']')
	default:
		return v
	}
	fitted, err := fit(list, t, f.opened)
	if err != nil {
		return v
	}
	return fitted
}

// unquoted returns the text of a JSON string.
func unquoted(v jsontext.Value) string {
	text, _ := jsontext.AppendUnquote(nil, v) // v is valid
	return string(text)
}
