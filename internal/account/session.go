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

// Session is an active login: a program's token or a browser's cookie. Ending it removes it, so a
// token without a session is rejected. Times are UTC.
type Session struct {
	ID        uuid.UUID
	UserID    uuid.UUID
	Version   int64 // the user's token version; the session ends when the user has a later one
	CreatedAt time.Time
	ExpiresAt time.Time
	Network   string // of the login, from traffic.Network, never the address
	Agent     string // the browser's or program's user agent
	Strong    bool   // opened with a second factor
}

// The limits of sessions.
const (
	MaxSessions = 100 // per account; a further one ends the oldest
	maxAgent    = 200 // runes
)

// SessionStore stores the logins of accounts. A session no longer exists once its user's
// TokenVersion exceeds its own, so any change that raises that number ends sessions. The caller
// checks the expiry.
type SessionStore interface {
	// CreateSession stores a session and deletes sessions of its user that ended or expired before
	// it. Above MaxSessions it deletes the oldest. It returns errs.NotFound if the user does not
	// exist.
	CreateSession(ctx context.Context, s Session) error
	// Session finds a session. It returns errs.NotFound if the session has ended.
	Session(ctx context.Context, id uuid.UUID) (Session, error)
	// Sessions lists the sessions of a user, newest first.
	Sessions(ctx context.Context, user uuid.UUID) ([]Session, error)
	// EndSession ends a session of a user. It returns errs.NotFound if the user has no such
	// session.
	EndSession(ctx context.Context, user, id uuid.UUID) error
	// RenewLogins runs edit on the locked account and raises its TokenVersion, which ends every
	// login except the session keep. ended counts the ended sessions.
	RenewLogins(ctx context.Context, user, keep uuid.UUID, edit func(*User) error) (u User, ended int, err error)
}

// Renewing returns an edit that also raises the account's token version.
func Renewing(edit func(*User) error) func(*User) error {
	return func(u *User) error {
		u.TokenVersion++
		return edit(u)
	}
}

// OpenSession stores a new session of u. Errors: those of the store.
func (s *Service) OpenSession(ctx context.Context, u User, want Session) (Session, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Session{}, err
	}
	want.ID, want.UserID, want.Version = id, u.ID, u.TokenVersion
	want.Agent = cleanAgent(want.Agent)
	return want, s.deps.Sessions.CreateSession(ctx, want)
}

// cleanAgent returns the user agent in a form that can be stored and shown.
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

// Sessions lists the active sessions of u, newest first.
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

// EndSessions ends every login of u except the session keep, which may be zero, and returns the
// number of ended sessions.
func (s *Service) EndSessions(ctx context.Context, u User, keep uuid.UUID) (int, error) {
	_, ended, err := s.deps.Sessions.RenewLogins(ctx, u.ID, keep, func(*User) error { return nil })
	return ended, err
}

// ChangePassword sets the password of u and ends its other sessions. The caller has verified the
// current password. API keys keep working: see [Service.RevokeKeys]. Errors: errs.InvalidRequest.
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

// hashNew checks and hashes a new password for the account of an e-mail.
func hashNew(ctx context.Context, email, password string) (string, error) {
	if err := checkPassword(password); err != nil {
		return "", err
	}
	if strings.Contains(strings.ToLower(password), strings.ToLower(strings.TrimSpace(email))) {
		return "", errs.New(
			errs.InvalidRequest, "the password must not contain the e-mail",
		).With("field", "password")
	}
	return HashPassword(ctx, password)
}
