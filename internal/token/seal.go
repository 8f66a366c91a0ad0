package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// Seal signs records that the processes of an installation share in a place where others may write:
// campaigns in Redis, outcomes of auctions and notices in the log. Its keys are derived from those of
// a [Keyring] for one use. Every call is safe for concurrent use.
type Seal struct{ keys []sealKey }

type sealKey struct {
	Key
	hashers *sync.Pool // of *sealHasher; keying one costs more than the MAC
}

// sealHasher is a keyed hash with the memory of its sum.
type sealHasher struct {
	hash.Hash
	digest [sha256.Size]byte
}

// NewSeal derives the seal of records from the keys of auction tokens; the first key seals. Errors:
// those of [NewKeyring].
func NewSeal(keys []Key) (*Seal, error) { return newSeal(keys, "catalog/v1") }

// newSeal derives a seal for one use.
func newSeal(keys []Key, use string) (*Seal, error) {
	if err := checkKeys(keys); err != nil {
		return nil, err
	}
	s := &Seal{keys: make([]sealKey, len(keys))}
	for i, key := range keys {
		secret, err := key.derive(use)
		if err != nil {
			return nil, err
		}
		s.keys[i] = sealKey{key, &sync.Pool{New: func() any { return &sealHasher{Hash: hmac.New(sha256.New, secret)} }}}
	}
	return s, nil
}

// Seal returns the seal of records by the keys of r.
func (r *Keyring) Seal() (*Seal, error) { return NewSeal(r.plain()) }

// HostSeal returns the seal of the session ids of MCP hosts by the keys of r.
func (r *Keyring) HostSeal() (*Seal, error) { return newSeal(r.plain(), "mcp/host/v1") }

// The uses of the seals of records in the log and of messages. A seal of one is not one of another.
const (
	outcomesUse = "outcomes/v1"
	noticesUse  = "notices/v1"
	exchangeUse = "exchange/v1"
)

// Exchange returns the seal of the messages between nodes.
func (r *Keyring) Exchange() *Seal { return r.exchange }

// Outcomes returns the seal of the outcomes of auctions in the log.
func (r *Keyring) Outcomes() *Seal { return r.outcomes }

// Notices returns the seal of the notices in the log.
func (r *Keyring) Notices() *Seal { return r.notices }

// Close appends to b the seal of the record that begins at from, and the length of the seal, for
// [Seal.Open].
func (s *Seal) Close(b []byte, from int) []byte {
	end := len(b)
	b = s.Append(b, b[from:])
	return append(b, byte(len(b)-end))
}

// Open returns the record of [Seal.Close]. Errors: as [Seal.Check].
func (s *Seal) Open(closed []byte, now time.Time) (record []byte, err error) {
	last := len(closed) - 1
	if last < 0 || int(closed[last]) > last {
		return nil, ErrMalformed
	}
	record = closed[:last-int(closed[last])]
	// Check only reads both.
	seal := unsafe.String(unsafe.SliceData(closed), last)[len(record):]
	return record, s.Check(unsafe.String(unsafe.SliceData(record), len(record)), seal, now)
}

func (r *Keyring) plain() []Key {
	keys := make([]Key, len(r.keys))
	for i := range r.keys {
		keys[i] = r.keys[i].Key
	}
	return keys
}

// Append appends the seal of record: the key's id, a dot, and the MAC in base64url.
func (s *Seal) Append(dst, record []byte) []byte {
	key := &s.keys[0]
	dst = append(append(dst, key.ID...), '.')
	mac := key.hashers.Get().(*sealHasher)
	defer key.hashers.Put(mac)
	return base64.RawURLEncoding.AppendEncode(dst, mac.sum(record))
}

// Check returns nil if seal is the seal of record. Errors: [ErrMalformed], [ErrUnknownKey],
// [ErrKeyExpired], [ErrSignature].
func (s *Seal) Check(record, seal string, now time.Time) error {
	id, text, found := strings.Cut(seal, ".")
	if !found {
		return ErrMalformed
	}
	for i := range s.keys {
		key := &s.keys[i]
		if key.ID != id {
			continue
		}
		if key.ended(now) {
			return ErrKeyExpired
		}
		mac, err := base64.RawURLEncoding.Strict().DecodeString(text)
		if err != nil {
			return ErrMalformed
		}
		work := key.hashers.Get().(*sealHasher)
		defer key.hashers.Put(work)
		// Hashing only reads; copies of all campaigns would be garbage of the catalog's size.
		if !hmac.Equal(mac, work.sum(unsafe.Slice(unsafe.StringData(record), len(record)))) {
			return ErrSignature
		}
		return nil
	}
	return ErrUnknownKey
}

// sum returns the truncated MAC of record, valid until the next call.
func (h *sealHasher) sum(record []byte) []byte {
	h.Reset()
	h.Write(record)
	return h.Sum(h.digest[:0])[:macSize]
}
