package httpapi

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"adnet/internal/errs"
	"adnet/internal/jsonscan"
)

// codings are the content codings of request bodies that are read, for Accept-Encoding (RFC 9110,
// section 12.5.3).
const codings = "gzip, deflate, identity"

// maxCodings bounds the codings of one body. Proxies add a second one at most.
const maxCodings = 2

// plain calls use with a body as a text in UTF-8, which is valid only inside use. coding is its
// Content-Encoding. It accepts what programs send: gzip and x-gzip, also without the header,
// deflate with and without the frame of zlib, bytes behind the end of a gzip stream, a header
// although the body is not compressed, a byte order mark, UTF-16, NUL characters at the end. Each
// form of the body may have limit bytes. Errors: those of [ReadBody].
func plain(body []byte, coding []string, limit int64, use func(body []byte) error) error {
	codings, err := codingsOf(coding)
	if err != nil {
		return err
	}
	if len(codings) == 0 && isGzip(body) {
		codings = []string{"gzip"}
	}
	for i := len(codings) - 1; i >= 0; i-- {
		if isPlain(body) && (codings[i] == "gzip" || len(body) > 0 && (body[0] == '{' || body[0] == '[')) {
			continue // decoded on its way, or never encoded; deflate of a text begins otherwise
		}
		room := bodies.Get().(*bytes.Buffer)
		defer bodies.Put(room)
		room.Reset()
		if err := decode(room, body, codings[i], limit); err != nil {
			return err
		}
		body = room.Bytes()
	}
	if body, err = utf8Text(body); err != nil {
		return err
	}
	if int64(len(body)) > limit {
		return unreadBody(&http.MaxBytesError{Limit: limit})
	}
	return use(body)
}

// isPlain reports whether a body without a Content-Encoding can be used as it is: no byte order
// mark, gzip, UTF-16 or NUL characters at the end.
func isPlain(body []byte) bool {
	n := len(body)
	if n == 0 {
		return true
	}
	first := body[0]
	return (first > 0x1f && first < 0x80 || first == '\n' || first == '\r' || first == '\t') &&
		body[n-1] != 0 && (n == 1 || body[1] != 0)
}

func isGzip(body []byte) bool { return len(body) > 1 && body[0] == 0x1f && body[1] == 0x8b }

// codingsOf returns the codings of a body without identity, the last applied one last. Errors:
// errs.UnsupportedEncoding.
func codingsOf(header []string) (names []string, err error) {
	for _, line := range header {
		for name := range strings.SplitSeq(line, ",") {
			switch name = strings.ToLower(strings.TrimSpace(name)); name {
			case "", "identity":
				continue
			case "x-gzip":
				name = "gzip"
			case "gzip", "deflate":
			default:
				return nil, errs.New(
					errs.UnsupportedEncoding, "the Content-Encoding of the body must be one of %s", codings,
				)
			}
			names = append(names, name)
		}
	}
	if len(names) > maxCodings {
		return nil, errs.New(
			errs.UnsupportedEncoding, "the body has %d content codings, at most %d are read", len(names), maxCodings,
		)
	}
	return names, nil
}

// decode appends the decoded body to room. Errors: errs.PayloadTooLarge, errs.InvalidRequest.
func decode(room *bytes.Buffer, body []byte, coding string, limit int64) error {
	expand := inflate
	if coding == "gzip" {
		expand = gunzip
	}
	err := expand(room, body, limit)
	tooLarge, cut := new(http.MaxBytesError), errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case err == nil, cut && closed(room.Bytes()): // the sender did not close its stream
		return nil
	case errors.As(err, &tooLarge):
		return unreadBody(err)
	case cut:
		return errs.Wrap(err, errs.InvalidRequest, "the %s stream of the body ends too early", coding)
	}
	return errs.Wrap(err, errs.InvalidRequest, "the body is not valid %s", coding)
}

// closed reports whether a text has both ends of a JSON object or array. Another text does not show
// that it was cut.
func closed(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 1 && (text[0] == '{' && text[len(text)-1] == '}' || text[0] == '[' && text[len(text)-1] == ']')
}

// isZlib reports whether a body begins like a zlib stream (RFC 1950, section 2.2).
func isZlib(body []byte) bool {
	return len(body) > 1 && body[0]&0x0f == 8 && binary.BigEndian.Uint16(body)%31 == 0
}

// inflate decodes deflate. Many programs send it without the frame of zlib (RFC 9110, section
// 8.4.1.2). Errors: http.MaxBytesError, those of the packages.
func inflate(room *bytes.Buffer, body []byte, limit int64) error {
	if isZlib(body) {
		if in, err := zlib.NewReader(bytes.NewReader(body)); err == nil {
			return copyLimited(room, in, limit)
		}
	}
	return copyLimited(room, flate.NewReader(bytes.NewReader(body)), limit)
}

// unzippers is the pool of idle readers.
var unzippers = sync.Pool{New: func() any { return new(gzip.Reader) }}

// gunzip decodes the members of a gzip body. It ignores what follows them, as gzip(1) does: some
// programs fill up their last block.
func gunzip(room *bytes.Buffer, body []byte, limit int64) error {
	in := unzippers.Get().(*gzip.Reader)
	defer unzippers.Put(in)
	from := bytes.NewReader(body)
	for first := true; first || isGzip(body[len(body)-from.Len():]); first = false {
		if err := in.Reset(from); err != nil {
			return err
		}
		in.Multistream(false)
		if err := copyLimited(room, in, limit); err != nil {
			return err
		}
	}
	return nil
}

// copyLimited appends all of from to room, which holds at most limit bytes.
func copyLimited(room *bytes.Buffer, from io.Reader, limit int64) error {
	_, err := room.ReadFrom(io.LimitReader(from, limit+1-int64(room.Len())))
	if int64(room.Len()) > limit {
		return &http.MaxBytesError{Limit: limit}
	}
	return err
}

// utf8Text returns a text without byte order mark and NUL characters at its end, in UTF-8. Errors:
// UTF-32.
func utf8Text(body []byte) ([]byte, error) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(body, []byte(jsonscan.ByteOrderMark)):
		body = body[len(jsonscan.ByteOrderMark):]
	case len(body) > 3 && (body[0] == 0 && body[1] == 0 || body[2] == 0 && body[3] == 0 &&
		(body[1] == 0 || body[0] == 0xff)):
		return nil, errs.New(errs.InvalidRequest, "the body is in UTF-32; send UTF-8")
	case len(body) > 1 && (body[0] == 0xff && body[1] == 0xfe || body[0] != 0 && body[1] == 0):
		order = binary.LittleEndian
	case len(body) > 1 && (body[0] == 0xfe && body[1] == 0xff || body[0] == 0 && body[1] != 0):
		order = binary.BigEndian
	}
	if order != nil {
		body = fromUTF16(body, order)
	}
	return bytes.TrimRight(body, "\x00"), nil
}

// fromUTF16 converts a text with or without a byte order mark.
func fromUTF16(body []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, 0, len(body)/2)
	for ; len(body) > 1; body = body[2:] {
		units = append(units, order.Uint16(body))
	}
	text := make([]byte, 0, len(units)+len(units)/2)
	for i, r := range utf16.Decode(units) {
		if i > 0 || r != '\uFEFF' {
			text = utf8.AppendRune(text, r)
		}
	}
	return text
}
