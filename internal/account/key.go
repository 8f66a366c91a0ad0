package account

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
)

// KeyKind is the kind of an API key. It determines which endpoints the key opens.
type KeyKind string

// The kinds of keys.
const (
	KindPublisher  KeyKind = "publisher"  // ad requests over REST and JSON-RPC
	KindSeat       KeyKind = "seat"       // bid requests over OpenRTB
	KindSeatPath   KeyKind = "seatpath"   // bid requests of exchanges that send no header: the key is in the path
	KindBrowser    KeyKind = "browser"    // ad requests of pages, which expose it in public, and reports of their ads
	KindConversion KeyKind = "conversion" // reports of conversions, on behalf of the campaigns' owner
)

// issued lists the kinds of keys that can be created, with their prefixes. No prefix may be the
// beginning of another.
var issued = []struct {
	kind   KeyKind
	prefix string
}{
	{KindPublisher, prefixPublisher},
	{KindBrowser, prefixBrowser},
	{KindSeat, prefixSeat},
	{KindSeatPath, prefixSeatPath},
	{KindConversion, prefixConversion},
}

// OfSeat reports whether a key of the kind belongs to a seat.
func (k KeyKind) OfSeat() bool { return k == KindSeat || k == KindSeatPath }

// Kinds lists the kinds of keys that can be created.
func Kinds() []KeyKind {
	kinds := make([]KeyKind, len(issued))
	for i := range issued {
		kinds[i] = issued[i].kind
	}
	return kinds
}

// prefix returns the prefix of keys of the kind, empty for an unknown kind.
func (k KeyKind) prefix() string {
	for i := range issued {
		if issued[i].kind == k {
			return issued[i].prefix
		}
	}
	return ""
}

// The prefixes of keys. A key consists of a prefix, 30 random base62 digits (178 bits) and 6 base62
// digits with the CRC-32 of all preceding characters. The checksum reveals typing errors without a
// lookup.
const (
	prefixPublisher  = "pub_live_"
	prefixBrowser    = "pk_live_"
	prefixSeat       = "seat_live_"
	prefixSeatPath   = "seatpath_live_"
	prefixConversion = "conv_live_"
	prefixTest       = "pub_test_"
	prefixOtherTest  = "sk_test_"

	keyRandom   = 30
	keyChecksum = 6
	keyShown    = 4 // random digits after the prefix in a list of keys
	keyLongest  = len(prefixSeatPath) + keyRandom + keyChecksum
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

var inBase62 = func() (in [256]bool) {
	for _, digit := range []byte(base62) {
		in[digit] = true
	}
	return in
}()

// PublicSandboxKey is the documented sandbox key for everyone.
const PublicSandboxKey = "pub_test_sandbox"

// ErrKeyFormat reports a text in a form that adnet never issues. It is found without a lookup.
var ErrKeyFormat = errors.New("not an API key")

// KeyMaterial is the stored part of a new key.
type KeyMaterial struct {
	Hash   [sha256.Size]byte // SHA-256 of the plain text
	Prefix string            // its first 13 or 14 characters, shown to recognise it
}

// GenerateKey creates a random live key. plain must be shown once and not stored. An unknown kind
// is an error.
func GenerateKey(kind KeyKind) (plain string, material KeyMaterial, err error) {
	prefix := kind.prefix()
	if prefix == "" {
		return "", KeyMaterial{}, fmt.Errorf("a key cannot be of the kind %q", kind)
	}
	plain, material = issueKey(prefix)
	return plain, material, nil
}

func issueKey(prefix string) (string, KeyMaterial) {
	body := prefix + randomBase62(keyRandom)
	plain := body + checksum(body)
	return plain, KeyMaterial{Hash: sha256.Sum256([]byte(plain)), Prefix: plain[:len(prefix)+keyShown]}
}

// ParseKey returns the kind of a key and the hash to look it up by. It accepts the form that
// [GenerateKey] makes, also with the prefix of a sandbox key. Only the store knows whether the key
// exists or is revoked. Where sandbox keys work, call [IsSandbox] first: most of them were never
// issued. Errors: [ErrKeyFormat].
func ParseKey(plain string) (KeyKind, [sha256.Size]byte, error) {
	kind, prefix := kindOf(plain)
	if prefix == "" {
		return "", [sha256.Size]byte{}, ErrKeyFormat
	}
	end := len(plain) - keyChecksum
	if end != len(prefix)+keyRandom || !isBase62(plain[len(prefix):]) {
		return "", [sha256.Size]byte{}, ErrKeyFormat
	}
	var room [keyLongest]byte // on the path of every publisher's request (benchmark row ad_request)
	text := room[:copy(room[:], plain)]
	if sum := checksumOf(text[:end]); plain[end:] != string(sum[:]) {
		return "", [sha256.Size]byte{}, ErrKeyFormat
	}
	return kind, sha256.Sum256(text), nil
}

// kindOf finds the kind by the prefix. The prefix is empty if there is none.
func kindOf(plain string) (kind KeyKind, prefix string) {
	for i := range issued {
		if strings.HasPrefix(plain, issued[i].prefix) {
			return issued[i].kind, issued[i].prefix
		}
	}
	if strings.HasPrefix(plain, prefixTest) {
		return KindPublisher, prefixTest
	}
	return "", ""
}

// LooksLike reports whether a text has the prefix of a key of kind, valid or not.
func LooksLike(kind KeyKind, text string) bool { return strings.HasPrefix(text, kind.prefix()) }

// IsSandbox reports whether plain has the prefix of a sandbox key. A sandbox key needs no further
// check: it bypasses the auction and spends no money.
func IsSandbox(plain string) bool {
	return strings.HasPrefix(plain, prefixTest) || strings.HasPrefix(plain, prefixOtherTest)
}

// randomBase62 draws every digit with the same probability: bytes from 248 on are drawn again,
// because 256 is not a multiple of 62.
func randomBase62(n int) string {
	digits := make([]byte, 0, n)
	var buf [64]byte
	for {
		rand.Read(buf[:]) // never fails: the runtime ends the process instead
		for _, b := range buf {
			if b >= 248 {
				continue
			}
			digits = append(digits, base62[b%62])
			if len(digits) == n {
				return string(digits)
			}
		}
	}
}

func checksum(body string) string {
	sum := checksumOf([]byte(body))
	return string(sum[:])
}

func checksumOf(body []byte) (digits [keyChecksum]byte) {
	sum := crc32.ChecksumIEEE(body)
	for i := keyChecksum - 1; i >= 0; i-- {
		digits[i] = base62[sum%62]
		sum /= 62
	}
	return digits
}

func isBase62(text string) bool {
	for i := range len(text) {
		if !inBase62[text[i]] {
			return false
		}
	}
	return true
}
