package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"slices"
	"strings"
	"unsafe"

	"github.com/segmentio/asm/base64"
)

// work is the scratch state for signing or reading a token. It is reused for further tokens: keying
// an HMAC costs more than the MAC of a token, and the texts of a publisher's tokens repeat
// (benchmark row token_verify).
type work struct {
	text    [MaxLen]byte
	raw     [maxRaw]byte
	content [maxRaw]byte
	digest  [sha256.Size]byte
	amounts [amounts]byte
	macs    []keyMACs // by key
	seen    texts
}

// keyMACs holds the hashers of a key, by purpose; nil until first use.
type keyMACs [purposes]hash.Hash

func (r *Keyring) get() *work  { return r.work.Get().(*work) }
func (r *Keyring) put(w *work) { r.work.Put(w) }

// mac returns the hasher of a key for purpose; nil for an undefined purpose.
func (r *Keyring) mac(w *work, key int, purpose Purpose) hash.Hash {
	if purpose >= purposes || r.keys[key].secrets[purpose] == nil {
		return nil
	}
	cached := &w.macs[key][purpose]
	if *cached == nil {
		*cached = hmac.New(sha256.New, r.keys[key].secrets[purpose])
	}
	return *cached
}

// sum returns the truncated MAC of b, valid until the next call.
func (w *work) sum(mac hash.Hash, b []byte) []byte {
	mac.Reset()
	mac.Write(b)
	return mac.Sum(w.digest[:0])[:macSize]
}

// decode returns the bytes of token, valid until the next call. One content has one text: the
// decoder skips line breaks, reads "/" as "_" and ignores the bits after the last byte, so such
// tokens are malformed here. A skipped byte leaves fewer bytes than the length requires.
func (w *work) decode(token string) ([]byte, error) {
	if len(token) > MaxLen || len(token)%4 == 1 || strings.IndexByte(token, '/') >= 0 {
		return nil, ErrMalformed
	}
	text := unsafe.Slice(unsafe.StringData(token), len(token)) // only read
	n, err := base64.RawURLEncoding.Decode(w.raw[:], text)
	if err != nil || n != base64.RawURLEncoding.DecodedLen(len(token)) || !exact(token, w.raw[:n]) {
		return nil, ErrMalformed
	}
	return w.raw[:n], nil
}

// exact reports whether the last characters of text are those that raw is encoded to.
func exact(text string, raw []byte) bool {
	rest := len(raw) % 3
	if rest == 0 {
		return true
	}
	var group [4]byte
	base64.RawURLEncoding.Encode(group[:], raw[len(raw)-rest:])
	return string(group[:rest+1]) == text[len(text)-rest-1:]
}

// appendEncoded appends the text of raw to dst.
func appendEncoded(dst, raw []byte) []byte {
	at, n := len(dst), base64.RawURLEncoding.EncodedLen(len(raw))
	dst = slices.Grow(dst, n)[:at+n]
	base64.RawURLEncoding.Encode(dst[at:], raw)
	return dst
}

// texts caches texts of tokens. Only texts signed by one of our keys enter, and each is shorter
// than a token.
type texts map[string]string

const mostTexts = 256 // the cache is emptied when it is full

// text returns string(b), mostly without allocating.
func (t texts) text(b []byte) string {
	if known, ok := t[string(b)]; ok {
		return known
	}
	if len(t) >= mostTexts {
		clear(t)
	}
	text := string(b)
	t[text] = text
	return text
}
