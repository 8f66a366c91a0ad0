package notice

import (
	"crypto/hmac"
	"encoding/base64"

	"github.com/google/uuid"

	"adnet/internal/errs"
)

// Marks returns keyed hashes of a text under every key of the ring, the newest first; see
// token.Keyring.Marks.
type Marks func(kind, text string) [][16]byte

// markKind separates the hashes of links from others of the same keys.
const markKind = "unsubscribe"

// MaxToken is the maximum length of a token.
const MaxToken = 128

var errLink = errs.New(errs.NotFound, "this link is not valid; mails can be turned off in the account's settings")

// Token returns the text that ends the mails of a kind to an account, without a login. The hash covers
// both, so a token serves for no other account and no other kind.
func (m Marks) Token(account uuid.UUID, kind string) string {
	marks := m(markKind, marked(account, kind))
	if len(marks) == 0 {
		return ""
	}
	raw := append(append(account[:], marks[0][:]...), kind...)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Verify returns the account and the kind of a token. Errors: errs.NotFound.
func (m Marks) Verify(token string) (account uuid.UUID, kind string, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(token) > MaxToken || len(raw) <= 32 {
		return uuid.Nil, "", errLink
	}
	account, kind = uuid.UUID(raw[:16]), string(raw[32:])
	for _, mark := range m(markKind, marked(account, kind)) {
		if hmac.Equal(mark[:], raw[16:32]) {
			return account, kind, nil
		}
	}
	return uuid.Nil, "", errLink
}

func marked(account uuid.UUID, kind string) string { return account.String() + " " + kind }
