package httpapi

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"
)

// packedFrom is the size in bytes from which a reply is compressed. A shorter one fits one packet.
const packedFrom = 1 << 10

// packs reports whether the replies of the route of c may be compressed: those of exact routes to
// requests that change nothing, which are GET, and POST of a login that asks about a draft.
//
// A compressed secret leaks by its length to a site that makes its visitor send guesses which the
// reply repeats (BREACH). The replies that hold secrets (tokens, new keys, recovery codes)
// answer changes and calls for [Anyone], so they are never compressed. Another site cannot make the
// console's cookie count in a request either ([FromConsole]), nor send a token. Ad requests,
// beacons, MCP and OpenRTB have no exact routes, and their replies are too short to gain.
func packs(c *gin.Context) bool {
	r := of(c)
	if !Exact(c) {
		return false
	}
	if r.method == http.MethodGet || r.method == http.MethodHead {
		return true
	}
	p := &r.to.policy
	return p.Idempotent == No && p.Audited == No && p.Auth&Anyone == 0
}

// packers is the pool of idle writers. The fastest level takes a third of the usual one's time for a
// fifth more bytes.
var packers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level exists
	return w
}}

// sendPacked calls send with body, or with its compressed form if [packs] permits and the header
// Accept-Encoding asks for it. The ETag of a campaign stays the same, because it names the version
// of the settings for If-Match: no cache keeps the reply.
func sendPacked(c *gin.Context, body []byte, send func(body []byte) error) error {
	if len(body) <= packedFrom || !packs(c) {
		return send(body)
	}
	c.Writer.Header().Add("Vary", "Accept-Encoding")
	if !accepts(c.GetHeader("Accept-Encoding"), "gzip") {
		return send(body)
	}
	short := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(short)
	short.Reset()
	w := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	w.Reset(short)
	_, _ = w.Write(body) // to memory, which does not fail
	_ = w.Close()
	c.Header("Content-Encoding", "gzip")
	return send(short.Bytes())
}
