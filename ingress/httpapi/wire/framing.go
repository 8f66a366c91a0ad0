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

// framing is the part of a header that determines the end of its request. fasthttp reads the same
// lines and rejects malformed and repeated ones. Lines that two readers could split differently are
// rejected here, so both see the same lines. A header whose lines all end with LF alone is read (RFC
// 9112, section 2.2), but nothing behind its request: a proxy that saw no end of a line there sent
// one request.
type framing struct {
	sized   bool  // has a Content-Length
	size    int64 // the Content-Length
	chunked bool  // has a Transfer-Encoding
	expects bool  // the client waits for "100 Continue"
	closes  bool  // the connection closes after the request
	bare    bool  // its lines end with LF alone
}

// maxBlank is the maximum number of empty lines before a request. Some clients send one after a body
// (RFC 9112, section 2.2).
const maxBlank = 4

var (
	errBareLF = &refusal{http.StatusBadRequest, "some lines of the header end with CR LF and some with LF"}
	errFolded = &refusal{http.StatusBadRequest, "a header line begins with white space"}
	errBlank  = &refusal{http.StatusBadRequest, "the request begins with too many empty lines"}
	errHeader = &refusal{
		http.StatusRequestHeaderFieldsTooLarge,
		"the request line and header are larger than " + strconv.Itoa(MaxHeader) + " bytes",
	}
	errCoding    = &refusal{http.StatusBadRequest, "the transfer encoding must be chunked"}
	errChunks    = &refusal{http.StatusBadRequest, "the chunks of the body are malformed"}
	errTrailer   = &refusal{http.StatusBadRequest, "the trailer is malformed or too large"}
	errNotAtHand = errors.New("more bytes are needed")
)

// whole reports whether the request at the start of c.in has arrived completely or can be rejected.
// A body over its route's limit counts as arrived, since it is never read.
func (c *conn) whole(inPlace bool) bool {
	if c.fault == nil && c.head == 0 {
		c.fault = c.readHead()
	}
	switch {
	case c.fault != nil || c.size > 0:
		return true
	case c.head == 0:
		return false
	case c.framing.chunked && c.framing.sized: // refused, see ambiguous
		c.size = c.head
		return true
	case c.framing.chunked:
		return c.readChunks(inPlace)
	}
	there := int64(len(c.in) - c.head)
	if there < c.framing.size || c.framing.expects && c.framing.size > 0 {
		if limit := c.bodyLimit(); c.framing.size > limit {
			c.fault = &http.MaxBytesError{Limit: limit}
			return true
		}
		c.proceed()
	}
	if there < c.framing.size {
		return false
	}
	c.size = c.head + int(c.framing.size)
	c.body = c.in[c.head:c.size]
	return true
}

// readHead parses the header lines that have arrived since its last call, until the end of the
// header. Errors: a *refusal.
func (c *conn) readHead() error {
	for {
		rest := c.in[c.line:]
		n := bytes.IndexByte(rest, '\n')
		switch {
		case n < 0 && len(c.in) > MaxHeader:
			return errHeader
		case n < 0:
			return nil
		}
		line := bytes.TrimSuffix(rest[:n], []byte{'\r'})
		switch bare := len(line) == n; {
		case len(line) == 0 && c.line == 0:
			if c.blank++; c.blank > maxBlank {
				return errBlank
			}
			c.in = c.in[:copy(c.in, c.in[n+1:])]
			continue
		case c.line == 0:
			c.framing.bare = bare
			c.framing.closes = bare
		case bare != c.framing.bare:
			return errBareLF
		}
		switch {
		case len(line) == 0:
			c.head = c.line + n + 1
			if c.framing.bare {
				c.endLines()
			}
			return nil
		case c.line > 0 && (rest[0] == ' ' || rest[0] == '\t'):
			return errFolded
		}
		if c.line > 0 {
			if err := c.framing.read(line); err != nil {
				return err
			}
		}
		c.line += n + 1
	}
}

// endLines ends the lines of a header with CR LF, for fasthttp.
func (c *conn) endLines() {
	all := bytes.ReplaceAll(c.in[:c.head], []byte("\n"), []byte("\r\n"))
	head := len(all)
	all = append(all, c.in[c.head:]...)
	c.release()
	c.in, c.head = all, head
}

// read evaluates one header line.
func (f *framing) read(line []byte) error {
	switch line[0] | 0x20 {
	case 'c':
		if value, is := valueOf(line, "content-length"); is {
			size, err := strconv.ParseUint(string(value), 10, 63)
			if err != nil {
				size = math.MaxInt64 // fasthttp rejects it
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

// valueOf returns the value of a header line if it has this name.
func valueOf(line []byte, name string) ([]byte, bool) {
	if len(line) <= len(name) || line[len(name)] != ':' || !strings.EqualFold(string(line[:len(name)]), name) {
		return nil, false
	}
	return bytes.Trim(line[len(name)+1:], " \t"), true
}

// bodyLimit returns the maximum size of the body.
func (c *conn) bodyLimit() int64 {
	if c.limit == 0 {
		c.limit = MaxBody
		if of := c.server.cfg.BodyLimit; of != nil {
			line, _, _ := bytes.Cut(c.in[:c.head], []byte("\n"))
			method, line, _ := bytes.Cut(line, []byte(" "))
			target, _, _ := bytes.Cut(line, []byte(" "))
			path, _, _ := strings.Cut(string(target), "?")
			c.limit = min(MaxBody, of(string(method), path))
		}
	}
	return c.limit
}

// proceed sends "100 Continue" once to a client that waits for it. Earlier replies have been sent.
func (c *conn) proceed() {
	if !c.framing.expects || c.continued {
		return
	}
	c.continued = true
	_ = c.Conn.SetWriteDeadline(time.Now().Add(replyTime))
	_, _ = io.WriteString(c.Conn, "HTTP/1.1 100 Continue\r\n\r\n") // an error also fails the next read
}

// chunkLine is the maximum length of a line between chunks or in a trailer, and trailerSize that of
// a whole trailer, in bytes.
const (
	chunkLine   = 1 << 10
	trailerSize = 4 << 10
)

// readChunks decodes a chunked body. In place it reads the bytes that have arrived, and returns
// false if the end is missing. A decoder keeps its state on its stack, so a later call, which may
// wait for the end, starts again from the beginning. A trailer is read and dropped: its fields are
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

// chunkSource passes the bytes after a header to a decoder.
type chunkSource struct {
	c      *conn
	at     int // offset in c.in
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

// fault returns the error that stopped a decoder: the source's error, or malformed.
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

// dropTrailer reads to the end of a request. Errors: of the source; a malformed or too large
// trailer.
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
