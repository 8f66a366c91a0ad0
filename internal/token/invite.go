package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"adnet/internal/errs"
)

const inviteUse = "invite/v1"

// errInvite does not tell the cause: who has an invitation copies it.
var errInvite = errs.New(
	errs.Forbidden,
	"registration needs an invitation for this e-mail, and the one given is missing, expired or of another e-mail",
).With("field", "invite")

// Invite makes an invitation by which the holder of an e-mail may register until a time. It works
// once by itself: a second account of the e-mail is refused.
func (s *Sessions) Invite(email string, until time.Time) (string, error) {
	key := &s.keys[0]
	text := fmt.Sprintf("%s.%d", key.ID, until.Unix())
	mac, err := inviteMAC(key, text, email)
	if err != nil {
		return "", err
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(mac), nil
}

// CheckInvite says whether an invitation is good for email. Errors: errs.Forbidden.
func (s *Sessions) CheckInvite(invite, email string, now time.Time) error {
	cut := strings.LastIndexByte(invite, '.')
	if cut < 0 || len(invite) > MaxSessionLen {
		return errInvite
	}
	text, said := invite[:cut], invite[cut+1:]
	dot := strings.LastIndexByte(text, '.')
	given, err := base64.RawURLEncoding.Strict().DecodeString(said)
	if dot < 0 || err != nil {
		return errInvite
	}
	until, err := strconv.ParseInt(text[dot+1:], 10, 64)
	if err != nil || now.Unix() >= until {
		return errInvite
	}
	for i := range s.keys {
		if key := &s.keys[i]; key.ID == text[:dot] && !key.ended(now) {
			mac, err := inviteMAC(key, text, email)
			if err != nil {
				return err
			}
			if hmac.Equal(mac, given) {
				return nil
			}
		}
	}
	return errInvite
}

func inviteMAC(key *sessionKey, text, email string) ([]byte, error) {
	derived, err := key.derive(inviteUse)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, derived)
	mac.Write([]byte(text + "\n" + strings.ToLower(strings.TrimSpace(email))))
	return mac.Sum(nil), nil
}
