package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"adnet/internal/account/typed"
	"adnet/internal/errs"
)

const inviteUse = "invite/v1"

// errInvite does not reveal the cause: a genuine invitee can copy the invitation again.
var errInvite = errs.New(
	errs.Forbidden,
	"registration needs an invitation for this e-mail, which is missing, expired or for another e-mail",
).With("field", "invite")

// Invite returns an invitation that lets the owner of an e-mail register until a time. It works
// only once, because a second account of the e-mail is rejected.
func (s *Sessions) Invite(email string, until time.Time) (string, error) {
	key := &s.keys[0]
	text := fmt.Sprintf("%s.%d", key.ID, until.Unix())
	mac, err := inviteMAC(key, text, email)
	if err != nil {
		return "", err
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(mac), nil
}

// CheckInvite returns nil if an invitation is good for email. Errors: errs.Forbidden.
func (s *Sessions) CheckInvite(invite, email string, now time.Time) error {
	invite = typed.Token(invite)
	cut := strings.LastIndexByte(invite, '.')
	if cut < 0 || len(invite) > MaxSessionLen {
		return errInvite
	}
	text, encoded := invite[:cut], invite[cut+1:]
	dot := strings.LastIndexByte(text, '.')
	sent, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
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
			if hmac.Equal(mac, sent) {
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
