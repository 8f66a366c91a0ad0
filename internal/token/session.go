package token

import (
	"errors"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"adnet/internal/errs"
)

const (
	// SessionLife is the life of a session token; a reply has it in seconds as expires_in.
	SessionLife = 2592000 * time.Second
	// MaxSessionLen is the length in bytes beyond which a session token is rejected unread.
	MaxSessionLen = 4096

	issuer     = "adnet"
	sessionUse = "session/v1"
)

// Claims are a session token's statements about its user. Role is a hint for the client: the store
// decides the rights of a user, and rejects a Version below the user's.
type Claims struct {
	UserID    uuid.UUID
	Role      string
	Email     string
	Version   int64     // the user's token version at login
	SessionID uuid.UUID // the store's id of the login
	IssuedAt  time.Time // UTC, whole seconds; set by Issue
	ExpiresAt time.Time // UTC, whole seconds; set by Issue
}

// sessionClaims is the encoded payload (RFC 7519, section 4).
type sessionClaims struct {
	jwt.RegisteredClaims
	Role    string `json:"role"`
	Email   string `json:"email"`
	Version *int64 `json:"ver"`
}

// Sessions issues and verifies session tokens: JWT, HS256 and nothing else, with a key id.
type Sessions struct {
	keys    []sessionKey // the first one signs
	options []jwt.ParserOption
}

type sessionKey struct {
	Key
	derived []byte
}

// NewSessions accepts keys from [ParseKeys]. An empty list, a first key with an end, an invalid id
// or a repeated id or secret is an error.
func NewSessions(keys []Key) (*Sessions, error) {
	if err := checkKeys(keys); err != nil {
		return nil, err
	}
	s := &Sessions{options: []jwt.ParserOption{
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithExpirationRequired(),
		jwt.WithIssuer(issuer),
		jwt.WithAudience(issuer),
		jwt.WithStrictDecoding(),
	}}
	for _, key := range keys {
		derived, err := key.derive(sessionUse)
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, sessionKey{Key: key, derived: derived})
	}
	return s, nil
}

// AdminConsoleLife is the life of an administrator's session in a browser.
const AdminConsoleLife = 8 * time.Hour

// Issue returns a token for c that expires [SessionLife] after now. A claim set too large for
// [MaxSessionLen] is an error.
func (s *Sessions) Issue(c Claims, now time.Time) (token string, expiresIn time.Duration, err error) {
	return s.IssueFor(c, now, SessionLife)
}

// IssueFor is [Sessions.Issue] with a given life.
func (s *Sessions) IssueFor(
	c Claims, now time.Time, life time.Duration,
) (token string, expiresIn time.Duration, err error) {
	key := &s.keys[0]
	unsigned := jwt.NewWithClaims(jwt.SigningMethodHS256, sessionClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			ID:        c.SessionID.String(),
			Issuer:    issuer,
			Subject:   c.UserID.String(),
			Audience:  jwt.ClaimStrings{issuer},
			IssuedAt:  jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(now.Add(life)),
		},
		Role: c.Role, Email: c.Email, Version: &c.Version,
	})
	unsigned.Header["kid"] = key.ID
	token, err = unsigned.SignedString(key.derived)
	if err != nil {
		return "", 0, err
	}
	if len(token) > MaxSessionLen {
		return "", 0, errors.New("the session token would be too long: the e-mail address is too long")
	}
	return token, life, nil
}

// Verify returns the claims of a token that is genuine and not expired. Every failure carries
// [errs.InvalidToken]; the reason is in the cause, for logs.
func (s *Sessions) Verify(token string, now time.Time) (Claims, error) {
	c, err := s.parse(token, now)
	if errors.Is(err, jwt.ErrTokenExpired) {
		return Claims{}, errs.Wrap(err, errs.InvalidToken, "token has expired")
	}
	if err != nil {
		return Claims{}, errs.Wrap(err, errs.InvalidToken, "token is missing, malformed or not valid here")
	}
	return c, nil
}

func (s *Sessions) parse(token string, now time.Time) (Claims, error) {
	if !plausibleJWT(token) {
		return Claims{}, ErrMalformed
	}
	options := append(s.options[:len(s.options):len(s.options)], jwt.WithTimeFunc(func() time.Time { return now }))
	var payload sessionClaims
	_, err := jwt.NewParser(options...).ParseWithClaims(token, &payload, func(t *jwt.Token) (any, error) {
		return s.find(t.Header["kid"], now)
	})
	if err != nil {
		return Claims{}, err
	}
	user, err := uuid.Parse(payload.Subject)
	if err != nil || payload.Version == nil || payload.IssuedAt == nil {
		return Claims{}, ErrMalformed
	}
	session, err := uuid.Parse(payload.ID)
	if err != nil {
		return Claims{}, ErrMalformed
	}
	return Claims{
		UserID: user, SessionID: session, Role: payload.Role, Email: payload.Email, Version: *payload.Version,
		IssuedAt: payload.IssuedAt.UTC(), ExpiresAt: payload.ExpiresAt.UTC(),
	}, nil
}

// plausibleJWT accepts three parts of the base64url alphabet. The JWT decoder skips line breaks,
// and in the signature part that would give one token several texts.
func plausibleJWT(token string) bool {
	if token == "" || len(token) > MaxSessionLen {
		return false
	}
	dots := 0
	for i := range len(token) {
		if token[i] == '.' {
			dots++
		} else if !urlSafe(token[i]) {
			return false
		}
	}
	return dots == 2
}

// find only compares ids and never uses one as a path: a kid that looks like a path is an unknown
// kid.
func (s *Sessions) find(kid any, now time.Time) (any, error) {
	id, _ := kid.(string)
	for i := range s.keys {
		if s.keys[i].ID != id {
			continue
		}
		if s.keys[i].ended(now) {
			return nil, ErrKeyExpired
		}
		return s.keys[i].derived, nil
	}
	return nil, ErrUnknownKey
}
