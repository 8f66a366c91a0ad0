package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"adnet/internal/errs"
)

// ErrPasswordHash reports a stored password hash that adnet cannot have written.
var ErrPasswordHash = errors.New("stored password hash is not a usable argon2id PHC string")

// The cost of a hash: the second choice of the OWASP list, about 25 ms and 19 MiB.
const (
	argonMemory  = 19 * 1024 // KiB
	argonTime    = 2
	argonThreads = 1
	argonSalt    = 16
	argonKey     = 32

	// A stored hash may have other costs, but not so high that a database row could stop the
	// process.
	argonMaxMemory = 256 * 1024
	argonMaxTime   = 16
)

// hashing lets hashes run on all cores but one, so that a flood of logins leaves a core to ad
// requests and memory stays at 19 MiB a core.
var hashing = newTurns(hashingSlots)

var hashingSlots = max(1, runtime.GOMAXPROCS(0)-1)

// errBusy is the answer to a login or registration when the queue is full.
var errBusy = errs.New(
	errs.RateLimited, "too many logins and registrations at once; try again in a moment",
).With("retry_after", 1)

// HashPassword returns the PHC string of a new argon2id hash with a random salt. The caller bounds
// the length of password (see [MaxPassword]). Errors: errs.RateLimited if the queue for a core is
// full, and those of ctx.
func HashPassword(ctx context.Context, password string) (string, error) {
	h := phcHash{memory: argonMemory, time: argonTime, threads: argonThreads, salt: make([]byte, argonSalt)}
	rand.Read(h.salt) // never fails: the runtime ends the process instead
	key, err := h.derive(ctx, password, argonKey)
	if err != nil {
		return "", err
	}
	h.key = key
	return h.String(), nil
}

// VerifyPassword reports whether the PHC string matches password. Errors: [ErrPasswordHash], and
// that of ctx if it ends while waiting for a core.
func VerifyPassword(ctx context.Context, phc, password string) (bool, error) {
	h, err := parsePHC(phc)
	if err != nil {
		return false, err
	}
	key, err := h.derive(ctx, password, len(h.key))
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(key, h.key) == 1, nil
}

// VerifyAbsent does the work of [VerifyPassword] for an unknown e-mail, so that the time of a login
// does not reveal which e-mails have accounts. It returns the error of ctx if that ends while
// waiting for a core.
func VerifyAbsent(ctx context.Context, password string) error {
	h := phcHash{memory: argonMemory, time: argonTime, threads: argonThreads, salt: make([]byte, argonSalt)}
	_, err := h.derive(ctx, password, argonKey)
	return err
}

// enforced returns a password as it is hashed: keyboards and systems send different spaces and
// Unicode forms for the same keys (RFC 8265, section 4.2.2: OpaqueString).
func enforced(password string) string {
	if !utf8.ValidString(password) { // no new password
		return password
	}
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Zs, r) {
			return ' '
		}
		return r
	}, password))
}

// phcHash is the content of "$argon2id$v=19$m=19456,t=2,p=1$salt$key".
type phcHash struct {
	memory, time uint32
	threads      uint8
	salt, key    []byte
}

func (h phcHash) String() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.time, h.threads,
		base64.RawStdEncoding.EncodeToString(h.salt), base64.RawStdEncoding.EncodeToString(h.key))
}

// derive computes the key of password with h's costs and salt, on a core of its own. Errors:
// errs.RateLimited if the queue for a core is full, and those of ctx.
func (h phcHash) derive(ctx context.Context, password string, length int) ([]byte, error) {
	if err := hashing.acquire(ctx); err != nil {
		return nil, err
	}
	defer hashing.release()
	return argon2.IDKey([]byte(enforced(password)), h.salt, h.time, h.memory, h.threads, uint32(length)), nil
}

func parsePHC(text string) (phcHash, error) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return phcHash{}, ErrPasswordHash
	}
	var h phcHash
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.time, &h.threads); err != nil {
		return phcHash{}, ErrPasswordHash
	}
	if parts[3] != fmt.Sprintf("m=%d,t=%d,p=%d", h.memory, h.time, h.threads) {
		return phcHash{}, ErrPasswordHash // trailing text, or a number in an unusual form
	}
	var err1, err2 error
	h.salt, err1 = base64.RawStdEncoding.Strict().DecodeString(parts[4])
	h.key, err2 = base64.RawStdEncoding.Strict().DecodeString(parts[5])
	switch {
	case err1 != nil, err2 != nil, len(h.salt) < 8, len(h.salt) > 64, len(h.key) < 16, len(h.key) > 64,
		h.time < 1, h.time > argonMaxTime, h.threads < 1, h.memory < 8*uint32(h.threads), h.memory > argonMaxMemory:
		return phcHash{}, ErrPasswordHash
	}
	return h, nil
}
