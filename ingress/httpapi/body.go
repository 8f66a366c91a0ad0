package httpapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"adnet/internal/errs"
	"adnet/internal/money"
)

// maxBody is the default size limit of request bodies in bytes; see [Policy.Body].
const maxBody = 64 << 10

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// ReadBody calls use with the whole body as a text in UTF-8, decompressed, which is valid only
// inside use: [plain] states what is read. Errors: errs.PayloadTooLarge for a body over the limit of
// the route ([Policy.Body]), before or after decompression; errs.UnsupportedEncoding;
// errs.InvalidRequest for an unreadable one.
func ReadBody(c *gin.Context, use func(body []byte) error) error {
	limit := of(c).bodyLimit()
	body, room, err := wholeBody(c, limit)
	if room != nil {
		defer bodies.Put(room)
	}
	if err != nil {
		return err
	}
	coding := c.Request.Header["Content-Encoding"]
	if len(coding) == 0 && isPlain(body) {
		return use(body)
	}
	if err = plain(body, coding, limit, use); errs.Is(err, errs.UnsupportedEncoding) {
		c.Header("Accept-Encoding", codings)
	}
	return err
}

// RawBody is [ReadBody] for the body as it was sent, for signatures and fingerprints.
func RawBody(c *gin.Context, use func(body []byte) error) error {
	body, room, err := wholeBody(c, of(c).bodyLimit())
	if room != nil {
		defer bodies.Put(room)
	}
	if err != nil {
		return err
	}
	return use(body)
}

// wholeBody reads a body of at most limit bytes. The caller returns room, if there is one, to the
// pool.
func wholeBody(c *gin.Context, limit int64) (body []byte, room *bytes.Buffer, err error) {
	if atHand, ok := c.Request.Body.(interface{ Whole() ([]byte, error) }); ok {
		if body, err = atHand.Whole(); err == nil && int64(len(body)) > limit {
			err = &http.MaxBytesError{Limit: limit}
		}
	} else {
		room = bodies.Get().(*bytes.Buffer)
		room.Reset()
		_, err = room.ReadFrom(http.MaxBytesReader(c.Writer, c.Request.Body, limit))
		body = room.Bytes()
	}
	if err != nil {
		return nil, room, unreadBody(err)
	}
	return body, room, nil
}

func unreadBody(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return errs.New(
			errs.PayloadTooLarge, "the body is larger than %d bytes", tooLarge.Limit,
		).With("limit", tooLarge.Limit)
	}
	return errs.Wrap(err, errs.InvalidRequest, "the body could not be read")
}

// Decode decodes a JSON object into dst, a pointer to a struct. Duplicate names, known names in
// another case, invalid UTF-8, wrong types and anything after the object are errs.InvalidRequest
// with the field, on an exact route ([Exact]) also unknown fields, which others ignore. 2.0 counts as
// an integer.
func Decode(c *gin.Context, dst any) error {
	return ReadBody(c, func(body []byte) error { return decodeObject(body, dst, Exact(c)) })
}

// DecodeOptional is [Decode] for a body that may be missing; dst does not change then.
func DecodeOptional(c *gin.Context, dst any) error {
	return ReadBody(c, func(body []byte) error {
		if len(bytes.TrimSpace(body)) == 0 {
			return nil
		}
		return decodeObject(body, dst, Exact(c))
	})
}

// Unmarshal is [Decode] for a body in memory, without a route: it ignores unknown fields. dst must
// not keep references into body.
func Unmarshal(body []byte, dst any) error { return decodeObject(body, dst, false) }

func decodeObject(body []byte, dst any, exact bool) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return errs.New(errs.InvalidRequest, "the body is empty; send a JSON object")
	}
	if body = bytes.TrimLeft(body, " \t\r\n"); body[0] != '{' {
		return errs.New(errs.InvalidRequest, "the body must be a JSON object")
	}
	err := unmarshal(body, dst, exact)
	if plain, ok := wholes(body, err); ok {
		return unmarshal(plain, dst, exact)
	}
	return err
}

func unmarshal(body []byte, dst any, exact bool) error {
	err := json.Unmarshal(body, dst, json.RejectUnknownMembers(true))
	if errors.Is(err, json.ErrUnknownName) {
		unknown := err
		if err = json.Unmarshal(body, dst); err == nil {
			if err = refuseVariants(body, dst); err == nil && exact {
				err = unknownField(unknown)
			}
			return err
		}
	}
	if err != nil {
		return jsonError(err)
	}
	return nil
}

// refuseVariants rejects "Bid_Amount" in place of bid_amount: another reader of the request that
// ignores case would see a different amount. body is a valid object.
func refuseVariants(body []byte, dst any) error {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(body, &members); err != nil {
		return jsonError(err)
	}
	for _, known := range fieldNames(reflect.TypeOf(dst).Elem()) {
		for name := range members {
			if name != known && strings.EqualFold(name, known) {
				return errs.New(
					errs.InvalidRequest, "field %s must be written in this case", known,
				).With("field", known)
			}
		}
	}
	return nil
}

// fieldNames returns the JSON names of a struct's fields, embedded structs included.
func fieldNames(t reflect.Type) (names []string) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		} else if f.Anonymous && f.Type.Kind() == reflect.Struct {
			names = append(names, fieldNames(f.Type)...)
		}
	}
	return names
}

// Unfit describes a value that does not fit its field: the field's path with dots, empty for the
// whole text, and the problem without the decoder's own words. ok is false for another error.
func Unfit(err error) (field, problem string, ok bool) {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return "", "", false
	}
	return strings.Join(slices.Collect(semantic.JSONPointer.Tokens()), "."), wanted(semantic), true
}

// jsonError describes the field and the problem without the decoder's own text.
func jsonError(err error) error {
	if own := new(errs.Error); errors.As(err, &own) {
		return own
	}
	if field, problem, ok := Unfit(err); ok {
		if field == "" {
			return errs.Wrap(err, errs.InvalidRequest, "the body does not have the expected structure")
		}
		refused := errs.Wrap(err, errs.InvalidRequest, "field %s %s", field, problem).With("field", field)
		if at := strings.LastIndexByte(field, '.'); at >= 0 {
			if i, err := strconv.Atoi(field[at+1:]); err == nil {
				return refused.At(field[:at], i) // an item of a list
			}
		}
		return refused
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errs.Wrap(err, errs.InvalidRequest, "the JSON body ends too early")
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		what := "malformed JSON"
		if errors.Is(err, jsontext.ErrDuplicateName) {
			what = "a field occurs twice"
		}
		return errs.Wrap(err, errs.InvalidRequest, "%s at byte %d", what, syntactic.ByteOffset)
	}
	return errs.Wrap(err, errs.InvalidRequest, "malformed JSON")
}

// wanted describes the values that a field accepts, by the type that the value did not fit, and the
// kind of the value if that was wrong. The texts of Go's parsers are meant for programmers.
func wanted(e *json.SemanticError) string {
	var form interface{ Wants() string }
	switch {
	case errors.As(e.Err, &form):
		return "must be " + form.Wants()
	case errors.Is(e.Err, money.ErrSyntax):
		return "must be a plain number, like 2.5"
	case errors.Is(e.Err, money.ErrRange):
		return "must be a number of at most 10,000,000,000"
	case e.GoType == nil:
		return "has a value of the wrong kind"
	}
	of := e.GoType
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch of {
	case reflect.TypeFor[time.Time]():
		return "must be a time like 2026-01-31T10:00:00Z"
	case reflect.TypeFor[uuid.UUID]():
		return "must be an id like 0198c2a4-7f00-7000-8000-000000000000"
	}
	received := ", not " + KindName(e.JSONKind)
	switch kind := of.Kind(); {
	case isWhole(kind) && e.JSONKind != '0':
		return "must be a whole number like 3" + received
	case kind >= reflect.Int && kind <= reflect.Int64:
		return "must be a whole number within its limits"
	case isWhole(kind):
		return "must be a whole number within its limits, and not below 0"
	case kind == reflect.Float32, kind == reflect.Float64:
		if e.JSONKind != '0' {
			return "must be a number like 2.5" + received
		}
		return "must be a number within its limits"
	case kind == reflect.String:
		return `must be a text like "abc"` + received
	case kind == reflect.Bool:
		return "must be true or false" + received
	case kind == reflect.Slice && of.Elem().Kind() == reflect.String:
		return `must be a list of texts like ["abc"]` + received
	case kind == reflect.Slice:
		return "must be a list like [ … ]" + received
	}
	return `must be an object like {"name": …}` + received
}

func isWhole(kind reflect.Kind) bool { return kind >= reflect.Int && kind <= reflect.Uintptr }

// KindName names the kind of a JSON value for a person.
func KindName(kind jsontext.Kind) string {
	switch kind {
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	case '"':
		return "a text"
	case '0':
		return "a number"
	case '[':
		return "a list"
	}
	return "an object"
}

// JSON answers with v, compressed where [packs] permits.
func JSON(c *gin.Context, status int, v any) error {
	buffer := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(buffer)
	buffer.Reset()
	if err := json.MarshalWrite(buffer, v, json.Deterministic(true)); err != nil {
		return err
	}
	return sendPacked(c, buffer.Bytes(), func(body []byte) error { return Bytes(c, status, body) })
}

// Appended answers with the JSON text that appendTo appends to an empty buffer. It is for replies
// whose general encoding would be expensive (benchmark row ad_request).
func Appended(c *gin.Context, status int, appendTo func(dst []byte) ([]byte, error)) error {
	buffer := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(buffer)
	buffer.Reset()
	body, err := appendTo(buffer.AvailableBuffer())
	if err != nil {
		return err
	}
	buffer.Write(body) // body is in the buffer already, unless it had to grow
	return Bytes(c, status, buffer.Bytes())
}

// jsonReply is the Content-Type of every JSON reply. It is shared and must not be changed in place.
var jsonReply = []string{"application/json; charset=utf-8"}

// Bytes answers with an encoded JSON text. The connection layer sets the length.
func Bytes(c *gin.Context, status int, body []byte) error {
	c.Writer.Header()["Content-Type"] = jsonReply
	c.Status(status)
	_, _ = c.Writer.Write(body) // fails only if the client is gone
	return nil
}

// Send answers with body and, where the handler has set no other, with contentType. gin's own Data
// would also state the length, which the connection states.
func Send(c *gin.Context, status int, contentType string, body []byte) {
	header := c.Writer.Header()
	if len(header["Content-Type"]) == 0 {
		header["Content-Type"] = []string{contentType}
	}
	c.Status(status)
	_, _ = c.Writer.Write(body) // fails only if the client is gone
}
