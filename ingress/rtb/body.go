package rtb

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
)

// compressFrom is the size in bytes from which a reply is worth compressing.
const compressFrom = 512

// keptBuffer is the size in bytes of the largest buffer that is kept for reuse.
const keptBuffer = 256 << 10

var (
	readers = sync.Pool{New: func() any { return new(gzip.Reader) }}
	writers = sync.Pool{New: func() any {
		w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
		if err != nil {
			panic(err) // the level is a valid constant
		}
		return w
	}}
	buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}
)

// release returns a buffer to its pool, unless it is too large to keep.
func release(out *bytes.Buffer) {
	if out.Cap() <= keptBuffer {
		buffers.Put(out)
	}
}

// readBody calls use with the whole body, decompressed if it is gzip. It ignores the content type:
// exchanges send text/plain, or none. The limit applies to the body before and after decompression.
// Errors: errs.PayloadTooLarge; errs.InvalidRequest for another encoding and for invalid gzip.
func readBody(c *gin.Context, use func(body []byte) error) error {
	switch encoding := strings.ToLower(strings.TrimSpace(c.GetHeader("Content-Encoding"))); encoding {
	case "", "identity":
		return httpapi.ReadBody(c, use)
	case "gzip", "x-gzip":
	default:
		return errs.New(errs.InvalidRequest, "the content encoding must be gzip or identity")
	}
	zip := readers.Get().(*gzip.Reader)
	defer readers.Put(zip)
	if err := zip.Reset(http.MaxBytesReader(c.Writer, c.Request.Body, MaxBody)); err != nil {
		return errs.Wrap(err, errs.InvalidRequest, "the body is not gzip")
	}
	c.Request.Body = zip // ReadBody limits the decompressed size
	return httpapi.ReadBody(c, use)
}

// compressed answers 200 with a gzipped JSON body.
func compressed(c *gin.Context, body []byte) error {
	out := buffers.Get().(*bytes.Buffer)
	out.Reset()
	defer release(out)
	zip := writers.Get().(*gzip.Writer)
	defer writers.Put(zip)
	zip.Reset(out)
	if _, err := zip.Write(body); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	c.Header("Content-Encoding", "gzip")
	return httpapi.Bytes(c, http.StatusOK, out.Bytes())
}
