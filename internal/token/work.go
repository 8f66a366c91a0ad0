package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"
)

// work is the scratch state for making or reading a token. It passes from one token to the next:
// keying an HMAC costs more than the MAC of a token, and the texts of a publisher's tokens repeat
// (benchmark row token_verify).
type work struct {
	text    [MaxLen]byte
	raw     [maxRaw]byte
	content [maxRaw]byte
	digest  [sha256.Size]byte
	macs    []keyMACs // by key
	seen    texts
}

// keyMACs are the hashers of a key, by purpose; nil until they are needed.
type keyMACs [purposes]hash.Hash

func (r *Keyring) get() *work  { return r.work.Get().(*work) }
func (r *Keyring) put(w *work) { r.work.Put(w) }

// mac is the hasher of a key for purpose; nil for a purpose that does not exist.
func (r *Keyring) mac(w *work, key int, purpose Purpose) hash.Hash {
	if purpose >= purposes || r.keys[key].secrets[purpose] == nil {
		return nil
	}
	kept := &w.macs[key][purpose]
	if *kept == nil {
		*kept = hmac.New(sha256.New, r.keys[key].secrets[purpose])
	}
	return *kept
}

// sum is the truncated MAC of b, valid until the next call.
func (w *work) sum(mac hash.Hash, b []byte) []byte {
	mac.Reset()
	mac.Write(b)
	return mac.Sum(w.digest[:0])[:macSize]
}

var strict = base64.RawURLEncoding.Strict()

// decode gives the bytes of token, valid until the next call. The decoder skips line breaks even
// when strict, which would give one content several texts: then there are fewer bytes than the
// length says, or a length that no bytes have.
func (w *work) decode(token string) ([]byte, error) {
	if len(token) > MaxLen || len(token)%4 == 1 {
		return nil, ErrMalformed
	}
	n, err := strict.Decode(w.raw[:], w.text[:copy(w.text[:], token)])
	if err != nil || n != strict.DecodedLen(len(token)) {
		return nil, ErrMalformed
	}
	return w.raw[:n], nil
}

// texts were read before. Only texts signed by one of our keys come in, and each is shorter than a
// token.
type texts map[string]string

const mostTexts = 256 // all are forgotten when there would be more

// text is string(b), mostly without memory of its own.
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
