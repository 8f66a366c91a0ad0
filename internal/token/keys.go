// Package token creates and verifies the two signed texts that adnet issues: the auction token,
// which carries all billing data of a beacon, and the session token of a logged-in user.
//
// Contract: a text verifies only if one of the configured keys made exactly this text for exactly
// this use. Both formats have one encoding per content: no padding, no spare bits, no line breaks,
// so equal content is equal text. Nothing here does I/O or reads a clock; every call is safe for
// concurrent use.
//
// Keys come as "id:secret" lists (see [ParseKeys]). The first key signs; the others only verify,
// each until its own end. A secret is a master: the signing keys are derived from it per use, so
// the same secret under two settings, or an auction token used as a bid token, does not verify.
package token

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

const (
	// MinSecret is the minimum length of a key's secret in bytes: as long as the MAC's own key.
	MinSecret = 32
	// MaxKeyID is the maximum length of a key id in bytes; every token includes the id.
	MaxKeyID = 16
)

// Key is one master secret with its id. Printing or logging a Key shows only its id and end.
type Key struct {
	ID       string
	NotAfter time.Time // UTC; zero for a key without end

	secret []byte
}

// String returns the id: a secret never reaches a log through fmt.
func (k Key) String() string { return "key " + k.ID }

// GoString is [Key.String], for %#v.
func (k Key) GoString() string { return k.String() }

// LogValue is [Key.String], for slog.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// NewKey returns a key with a random secret, for in-memory mode, where tokens need not outlive the
// process. An id outside [a-zA-Z0-9_-]{1,16} is an error.
func NewKey(id string) (Key, error) {
	if !validKeyID(id) {
		return Key{}, errKeyID(id)
	}
	secret := make([]byte, MinSecret)
	rand.Read(secret) // never fails: the runtime ends the process instead
	return Key{ID: id, secret: secret}, nil
}

// ParseKeys parses a setting such as "k2:BASE64,k1:BASE64@2026-01-02T00:00:00Z". The first key
// signs and has no end; the others verify until the time after "@" (RFC 3339), or without end. A
// secret is base64, standard or URL alphabet, with or without padding, of at least [MinSecret]
// bytes. Errors name the faulty key by id or position and never contain a secret.
func ParseKeys(setting string) ([]Key, error) {
	if strings.TrimSpace(setting) == "" {
		return nil, errors.New(
			"no key: expected id:base64[,id:base64@time], a secret is made by: openssl rand -base64 32",
		)
	}
	parts := strings.Split(setting, ",")
	keys := make([]Key, 0, len(parts))
	for i, part := range parts {
		key, err := parseKey(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("key %d of %d: %w", i+1, len(parts), err)
		}
		keys = append(keys, key)
	}
	if err := checkKeys(keys); err != nil {
		return nil, err
	}
	return keys, nil
}

func parseKey(text string) (Key, error) {
	id, rest, found := strings.Cut(text, ":")
	if !found {
		return Key{}, errors.New("expected id:base64 or id:base64@time")
	}
	if !validKeyID(id) {
		return Key{}, errKeyID(id)
	}
	encoded, end, hasEnd := strings.Cut(rest, "@")
	secret, err := decodeSecret(encoded)
	if err != nil {
		return Key{}, fmt.Errorf("%q: %w", id, err)
	}
	key := Key{ID: id, secret: secret}
	if hasEnd {
		key.NotAfter, err = time.Parse(time.RFC3339, end)
		if err != nil {
			return Key{}, fmt.Errorf("%q: the time after @ must look like 2026-01-02T00:00:00Z", id)
		}
		key.NotAfter = key.NotAfter.UTC()
	}
	return key, nil
}

func decodeSecret(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("the secret contains a line break")
	}
	text = strings.TrimRight(text, "=")
	text = strings.NewReplacer("+", "-", "/", "_").Replace(text)
	secret, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errors.New("the secret is not base64")
	}
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("the secret has %d bytes, at least %d are needed", len(secret), MinSecret)
	}
	return secret, nil
}

// checkKeys validates every signing list, whether parsed or built.
func checkKeys(keys []Key) error {
	if len(keys) == 0 {
		return errors.New("no key to sign with")
	}
	if !keys[0].NotAfter.IsZero() {
		return fmt.Errorf("%q: the first key signs and cannot have an end; put the new key before it", keys[0].ID)
	}
	for i, key := range keys {
		if !validKeyID(key.ID) {
			return errKeyID(key.ID)
		}
		if len(key.secret) < MinSecret {
			return fmt.Errorf("%q: the secret is shorter than %d bytes", key.ID, MinSecret)
		}
		for _, earlier := range keys[:i] {
			if earlier.ID == key.ID {
				return fmt.Errorf("%q: the id appears twice", key.ID)
			}
			if subtle.ConstantTimeCompare(earlier.secret, key.secret) == 1 {
				return fmt.Errorf("%q and %q have the same secret", earlier.ID, key.ID)
			}
		}
	}
	return nil
}

func validKeyID(id string) bool {
	if id == "" || len(id) > MaxKeyID {
		return false
	}
	for i := range len(id) {
		if !urlSafe(id[i]) {
			return false
		}
	}
	return true
}

// errKeyID does not repeat a long id: it may be a secret without "id:" before it.
func errKeyID(id string) error {
	if len(id) > MaxKeyID {
		return fmt.Errorf("a key id has at most %d characters", MaxKeyID)
	}
	return errors.New("a key id consists of letters, digits, - and _")
}

// urlSafe reports whether c belongs to the URL alphabet of base64 (RFC 4648, section 5).
func urlSafe(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// ended reports whether the key no longer verifies at now.
func (k Key) ended(now time.Time) bool { return !k.NotAfter.IsZero() && now.After(k.NotAfter) }

// derive returns the 32-byte key of one use (HKDF-SHA256, RFC 5869).
func (k Key) derive(use string) ([]byte, error) {
	return hkdf.Key(sha256.New, k.secret, nil, "adnet/"+use, sha256.Size)
}
