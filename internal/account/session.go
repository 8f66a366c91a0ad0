package account

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"adnet/internal/errs"
)

// Session is a login that works: a program's token or a browser's cookie. Ending it removes it, so
// a token whose session is gone is refused. Times are UTC.
type Session struct {
	ID        uuid.UUID
	UserID    uuid.UUID
	Version   int64 // of the user's tokens; a later one of the user ends the session
	CreatedAt time.Time
	ExpiresAt time.Time
	Network   string // from which it was opened: traffic.Network, never the address
	Agent     string // what the browser or program called itself
	Strong    bool   // opened with a second factor
}

// The limits of sessions.
const (
	MaxSessions = 100 // of one account; one more ends the oldest
	maxAgent    = 200 // runes
)

// SessionStore keeps the logins of accounts. A session does not exist for it once its user's
// TokenVersion has passed the session's, so whatever raises that number ends sessions. Time is the
// caller's to look at.
type SessionStore interface {
	// CreateSession keeps a session and forgets those of its user that ended or expired before it;
	// of more than MaxSessions it forgets the oldest. errs.NotFound if the user does not exist.
	CreateSession(ctx context.Context, s Session) error
	// Session finds a session. errs.NotFound if it has ended.
	Session(ctx context.Context, id uuid.UUID) (Session, error)
	// Sessions lists those of a user, newest first.
	Sessions(ctx context.Context, user uuid.UUID) ([]Session, error)
	// EndSession ends one of a user's. errs.NotFound if the user has no such session.
	EndSession(ctx context.Context, user, id uuid.UUID) error
	// RenewLogins runs edit on the locked account, raises its TokenVersion and so ends every login,
	// but for the session keep, which goes on. ended counts the sessions that it ended.
	RenewLogins(ctx context.Context, user, keep uuid.UUID, edit func(*User) error) (u User, ended int, err error)
}

// Renewing is edit, and the next version of the account's tokens.
func Renewing(edit func(*User) error) func(*User) error {
	return func(u *User) error {
		u.TokenVersion++
		return edit(u)
	}
}

// OpenSession keeps a new session of u. Errors: those of the store.
func (s *Service) OpenSession(ctx context.Context, u User, want Session) (Session, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Session{}, err
	}
	want.ID, want.UserID, want.Version = id, u.ID, u.TokenVersion
	want.Agent = cleanAgent(want.Agent)
	return want, s.deps.Sessions.CreateSession(ctx, want)
}

// cleanAgent is what a program calls itself, as a text that can be kept and shown.
func cleanAgent(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return -1
	}, text)
	if runes := []rune(text); len(runes) > maxAgent {
		text = string(runes[:maxAgent])
	}
	return strings.TrimSpace(text)
}

// Sessions lists the sessions of u that work, newest first.
func (s *Service) Sessions(ctx context.Context, u User) ([]Session, error) {
	all, err := s.deps.Sessions.Sessions(ctx, u.ID)
	now, working := s.deps.Now(), all[:0:0]
	for _, session := range all {
		if session.ExpiresAt.After(now) {
			working = append(working, session)
		}
	}
	return working, err
}

// EndSession ends a session of u. Errors: errs.NotFound if u has no such session.
func (s *Service) EndSession(ctx context.Context, u User, id uuid.UUID) error {
	return s.deps.Sessions.EndSession(ctx, u.ID, id)
}

// EndSessions ends every login of u but the session keep, which may be zero, and says how many
// sessions those were. Tokens without a session, of earlier builds, end too.
func (s *Service) EndSessions(ctx context.Context, u User, keep uuid.UUID) (int, error) {
	_, ended, err := s.deps.Sessions.RenewLogins(ctx, u.ID, keep, func(*User) error { return nil })
	return ended, err
}

// ChangePassword sets the password of u, who has shown the present one, and ends its other
// sessions. API keys go on working: see [Service.RevokeKeys]. Errors: errs.InvalidRequest.
func (s *Service) ChangePassword(ctx context.Context, u User, keep uuid.UUID, password string) (ended int, err error) {
	hash, err := hashNew(ctx, u.Email, password)
	if err != nil {
		return 0, err
	}
	_, ended, err = s.deps.Sessions.RenewLogins(ctx, u.ID, keep, func(now *User) error {
		if now.PasswordHash != u.PasswordHash { // another change came between
			return errs.New(errs.Conflict, "the password was changed meanwhile; sign in again")
		}
		now.PasswordHash = hash
		return nil
	})
	return ended, err
}

// hashNew checks a password that is chosen for the account of an e-mail and hashes it.
func hashNew(ctx context.Context, email, password string) (string, error) {
	if err := checkPassword(password); err != nil {
		return "", err
	}
	if strings.Contains(strings.ToLower(password), strings.ToLower(strings.TrimSpace(email))) {
		return "", errs.New(
			errs.InvalidRequest, "the password must not have the e-mail in it",
		).With("field", "password")
	}
	return HashPassword(ctx, password)
}
