package rtb

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
)

// compressFrom is the size in bytes from which a reply is worth compressing.
const compressFrom = 512

// keptBuffer is the size in bytes of the largest buffer that is kept for reuse.
const keptBuffer = 256 << 10

var (
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
