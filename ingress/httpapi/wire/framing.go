package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// framing is what a header says of where its request ends. fasthttp reads the same lines and
// refuses lines that are malformed or said twice; lines that two readers could cut differently are
// refused here, so both see the same ones.
type framing struct {
	sized   bool  // it has a Content-Length,
	size    int64 // this one
	chunked bool  // it has a Transfer-Encoding
	expects bool  // the client waits for "100 Continue"
	closes  bool  // nothing follows
}

var (
	errBareLF = &refusal{http.StatusBadRequest, "a line of the header does not end with CR LF"}
	errFolded = &refusal{http.StatusBadRequest, "a header line begins with white space"}
	errBlank  = &refusal{http.StatusBadRequest, "the request begins with an empty line"}
	errHeader = &refusal{
		http.StatusRequestHeaderFieldsTooLarge,
		"the request line and header are larger than " + strconv.Itoa(MaxHeader) + " bytes",
	}
	errCoding    = &refusal{http.StatusBadRequest, "the transfer encoding must be chunked"}
	errChunks    = &refusal{http.StatusBadRequest, "the chunks of the body are malformed"}
	errTrailer   = &refusal{http.StatusBadRequest, "the trailer is malformed or too large"}
	errNotAtHand = errors.New("more bytes are needed")
)

// whole says whether the request at the beginning of c.in has all arrived or can be refused. A body
// over its route's limit counts as arrived, since it is never read.
func (c *conn) whole(inPlace bool) bool {
	if c.fault == nil && c.head == 0 {
		c.fault = c.readHead()
	}
	switch {
	case c.fault != nil || c.size > 0:
		return true
	case c.head == 0:
		return false
	case c.said.chunked && c.said.sized: // refused, see ambiguous
		c.size = c.head
		return true
	case c.said.chunked:
		return c.readChunks(inPlace)
	}
	there := int64(len(c.in) - c.head)
	if there < c.said.size || c.said.expects && c.said.size > 0 {
		if limit := c.bodyLimit(); c.said.size > limit {
			c.fault = &http.MaxBytesError{Limit: limit}
			return true
		}
		c.proceed()
	}
	if there < c.said.size {
		return false
	}
	c.size = c.head + int(c.said.size)
	c.body = c.in[c.head:c.size]
	return true
}

// readHead finds the end of the header, and what it says of the body, in the lines that have come
// since it was called before. Errors: a *refusal.
func (c *conn) readHead() error {
	for {
		rest := c.in[c.line:]
		n := bytes.IndexByte(rest, '\n')
		switch {
		case n < 0 && len(c.in) > MaxHeader:
			return errHeader
		case n < 0:
			return nil
		case n == 0 || rest[n-1] != '\r':
			return errBareLF
		case n == 1 && c.line == 0:
			return errBlank
		case n == 1:
			c.head = c.line + 2
			return nil
		case c.line > 0 && (rest[0] == ' ' || rest[0] == '\t'):
			return errFolded
		}
		if c.line > 0 {
			if err := c.said.read(rest[:n-1]); err != nil {
				return err
			}
		}
		c.line += n + 1
	}
}

// read takes a header line into account.
func (f *framing) read(line []byte) error {
	switch line[0] | 0x20 {
	case 'c':
		if value, is := valueOf(line, "content-length"); is {
			size, err := strconv.ParseUint(string(value), 10, 63)
			if err != nil {
				size = math.MaxInt64 // fasthttp refuses it
			}
			f.sized, f.size = true, int64(size)
		} else if value, is := valueOf(line, "connection"); is {
			f.closes = f.closes || httpguts.HeaderValuesContainsToken([]string{string(value)}, "close")
		}
	case 't':
		if value, is := valueOf(line, "transfer-encoding"); is {
			if f.chunked = true; !strings.EqualFold(string(value), "chunked") {
				return errCoding
			}
		}
	case 'e':
		if value, is := valueOf(line, "expect"); is && strings.EqualFold(string(value), "100-continue") {
			f.expects = true
		}
	}
	return nil
}

// valueOf is the value of a header line that has this name.
func valueOf(line []byte, name string) ([]byte, bool) {
	if len(line) <= len(name) || line[len(name)] != ':' || !strings.EqualFold(string(line[:len(name)]), name) {
		return nil, false
	}
	return bytes.Trim(line[len(name)+1:], " \t"), true
}

// bodyLimit asks how long the body may be.
func (c *conn) bodyLimit() int64 {
	if c.limit == 0 {
		c.limit = MaxBody
		if of := c.server.cfg.BodyLimit; of != nil {
			line, _, _ := bytes.Cut(c.in[:c.head], []byte("\r\n"))
			method, line, _ := bytes.Cut(line, []byte(" "))
			target, _, _ := bytes.Cut(line, []byte(" "))
			path, query, _ := strings.Cut(string(target), "?")
			c.limit = min(MaxBody, of(string(method), path, query))
		}
	}
	return c.limit
}

// proceed tells a client that waits for it to send the body, once. The replies before it have left.
func (c *conn) proceed() {
	if !c.said.expects || c.continued {
		return
	}
	c.continued = true
	_ = c.Conn.SetWriteDeadline(time.Now().Add(replyTime))
	_, _ = io.WriteString(c.Conn, "HTTP/1.1 100 Continue\r\n\r\n") // fails with the connection, as the next read will
}

// chunkLine is how long a line between chunks, or of a trailer, may be, and trailerSize all of a
// trailer, in bytes.
const (
	chunkLine   = 1 << 10
	trailerSize = 4 << 10
)

// readChunks decodes a chunked body. In place it takes the bytes that have come, and is false if
// the end is not there: a decoder keeps its state on its stack, so it runs again from the beginning
// where it may wait. Otherwise it waits for the end. A trailer is read and dropped: its fields are
// not headers (RFC 9110, section 6.5.1).
func (c *conn) readChunks(inPlace bool) bool {
	limit := c.bodyLimit()
	c.proceed()
	from := chunkSource{c: c, at: c.head, atHand: inPlace}
	lines := bufio.NewReaderSize(&from, chunkLine)
	chunks, body := httputil.NewChunkedReader(lines), make([]byte, 0, 512)
	for {
		if len(body) == cap(body) {
			body = slices.Grow(body, min(len(body), int(limit)+1-len(body)))
		}
		n, err := chunks.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			c.fault = &http.MaxBytesError{Limit: limit}
		case err == nil:
			continue
		case err != io.EOF:
			c.fault = from.fault(err, errChunks)
		default:
			c.fault = from.fault(dropTrailer(lines), errTrailer)
		}
		break
	}
	if c.fault == errNotAtHand {
		c.fault = nil
		return false
	}
	next, _ := lines.Peek(lines.Buffered())
	next = append(bytes.Clone(next), c.in[from.at:]...)
	c.in = append(c.in[:c.head], next...)
	c.size, c.body = c.head, body
	return true
}

// chunkSource gives the bytes behind a header to a decoder.
type chunkSource struct {
	c      *conn
	at     int // in c.in
	atHand bool
	err    error
}

// Read implements io.Reader.
func (s *chunkSource) Read(p []byte) (int, error) {
	c := s.c
	if s.at == len(c.in) {
		if s.atHand {
			return 0, errNotAtHand
		}
		c.note()
		c.arm(c.headAt.Add(bodyTime), 0)
		c.in, s.at = c.in[:c.head], c.head
		if s.err = c.more(); s.err != nil {
			return 0, s.err
		}
	}
	n := copy(p, c.in[s.at:])
	s.at += n
	return n, nil
}

// fault is what stopped a decoder: the source, or else the bytes.
func (s *chunkSource) fault(err error, malformed *refusal) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNotAtHand):
		return errNotAtHand
	case s.err != nil:
		return s.c.because(s.err)
	default:
		return malformed
	}
}

// dropTrailer reads up to the end of a request. Errors: of the source, and of a trailer that is
// malformed or too large.
func dropTrailer(lines *bufio.Reader) error {
	for left := trailerSize; ; {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return err
		}
		text, ended := strings.CutSuffix(string(line), "\r\n")
		if ended && text == "" {
			return nil
		}
		name, _, named := strings.Cut(text, ":")
		if left -= len(line); left < 0 || !ended || !named || !httpguts.ValidHeaderFieldName(name) {
			return errTrailer
		}
	}
}
