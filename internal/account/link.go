package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/google/uuid"

	"adnet/internal/errs"
)

// LinkPurpose is what a mailed link does.
type LinkPurpose string

// The purposes of links. A notice has no token: it is kept so that an e-mail without a link costs
// the same time, and counts the same, as one with a link.
const (
	LinkRegister LinkPurpose = "register" // makes the account that was asked for
	LinkReset    LinkPurpose = "reset"    // sets a new password
	LinkNotice   LinkPurpose = "notice"
)

// Link is a mailed link that was not used. Only the SHA-256 of its token is kept.
type Link struct {
	Hash         [32]byte
	Purpose      LinkPurpose
	Email        string    // that it went to, lower case
	UserID       uuid.UUID // of a reset
	PasswordHash string    // of a registration: what its sender chose
	CreatedAt    time.Time // UTC
	ExpiresAt    time.Time // UTC
}

// LinkStore keeps mailed links.
type LinkStore interface {
	// CreateLink keeps a link, forgets those that expired before it, and says whether its e-mail
	// has fewer than MaxLinks that wait; else it keeps nothing.
	CreateLink(ctx context.Context, l Link) (kept bool, err error)
	// Link finds a link; TakeLink finds and removes it, once for all callers. errs.NotFound for a
	// link that was used, or expired by now.
	Link(ctx context.Context, hash [32]byte, now time.Time) (Link, error)
	TakeLink(ctx context.Context, hash [32]byte, now time.Time) (Link, error)
}

const (
	// MaxLinks is how many links wait for one e-mail, so that a mailbox is not flooded.
	MaxLinks     = 3
	registerLife = 24 * time.Hour
	resetLife    = time.Hour
	tokenSize    = 32 // bytes
)

var errLink = errs.New(errs.InvalidToken, "this link was used, has expired, or is not one of ours; ask for another")

// Mailed is what to write to an e-mail; without a Token there is an account, or none, to tell of.
type Mailed struct {
	To      string
	Purpose LinkPurpose // of the token, or LinkNotice
	Token   string
}

// AskRegister begins a registration whose e-mail must be confirmed: no account exists before. It
// costs the same for an e-mail that has an account, whose owner is told. mailed is nil where enough
// links wait. Errors: errs.InvalidRequest.
func (s *Service) AskRegister(ctx context.Context, email, password string) (mailed *Mailed, err error) {
	if email, err = newEmail(email); err != nil {
		return nil, err
	}
	hash, err := hashNew(ctx, email, password)
	if err != nil {
		return nil, err
	}
	l := Link{Purpose: LinkRegister, Email: email, PasswordHash: hash}
	if _, err = s.deps.Users.UserByEmail(ctx, email); err == nil {
		l.Purpose, l.PasswordHash = LinkNotice, ""
	} else if !errs.Is(err, errs.NotFound) {
		return nil, err
	}
	return s.mail(ctx, l, registerLife)
}

// AskReset begins a new password for the account of an e-mail. It costs the same without an
// account, and says nothing then. Errors: errs.InvalidRequest.
func (s *Service) AskReset(ctx context.Context, email string) (mailed *Mailed, err error) {
	if email, err = cleanEmail(email); err != nil {
		return nil, err
	}
	l := Link{Purpose: LinkNotice, Email: email}
	u, err := s.deps.Users.UserByEmail(ctx, email)
	switch {
	case err == nil && !u.Erased() && u.Role != RoleSeat: // a suspended owner reads why, and appeals
		l.Purpose, l.UserID = LinkReset, u.ID
	case err != nil && !errs.Is(err, errs.NotFound):
		return nil, err
	}
	mailed, err = s.mail(ctx, l, resetLife)
	if l.Purpose == LinkNotice { // a stranger's address gets no mail
		return nil, err
	}
	return mailed, err
}

func (s *Service) mail(ctx context.Context, l Link, life time.Duration) (*Mailed, error) {
	secret := make([]byte, tokenSize)
	rand.Read(secret) // never fails: the runtime ends the process instead
	token := base64.RawURLEncoding.EncodeToString(secret)
	l.Hash, l.CreatedAt = sha256.Sum256([]byte(token)), s.deps.Now().UTC()
	l.ExpiresAt = l.CreatedAt.Add(life)
	kept, err := s.deps.Links.CreateLink(ctx, l)
	if err != nil || !kept {
		return nil, err
	}
	if l.Purpose == LinkNotice {
		token = ""
	}
	return &Mailed{To: l.Email, Purpose: l.Purpose, Token: token}, nil
}

// ConfirmRegister makes the account that a link was mailed for. The password is asked for again: of
// several who register one e-mail, only who has both the mailbox and the password that belongs to
// the link gets the account. Errors: errs.InvalidToken, errs.InvalidCredentials, errs.Conflict.
func (s *Service) ConfirmRegister(ctx context.Context, token, password string) (User, error) {
	hash := sha256.Sum256([]byte(token))
	l, err := s.deps.Links.Link(ctx, hash, s.deps.Now())
	if err := linkError(err, l.Purpose == LinkRegister); err != nil {
		return User{}, err
	}
	if ok, err := VerifyPassword(ctx, l.PasswordHash, password); err != nil || !ok {
		if err == nil {
			err = errs.New(errs.InvalidCredentials, "this is not the password that this registration was begun with")
		}
		return User{}, err
	}
	_, err = s.deps.Links.TakeLink(ctx, hash, s.deps.Now())
	if err := linkError(err, true); err != nil {
		return User{}, err
	}
	u, err := newUser(RoleAdvertiser, s.deps.Now().UTC())
	if err != nil {
		return User{}, err
	}
	u.Email, u.PasswordHash = l.Email, l.PasswordHash
	return u, s.deps.Users.CreateUser(ctx, u)
}

// ResetPassword sets a new password by a mailed link and ends every login. The link works once,
// also when the new password is refused after it was taken. Errors: errs.InvalidToken,
// errs.InvalidRequest.
func (s *Service) ResetPassword(ctx context.Context, token, password string) (User, error) {
	hash := sha256.Sum256([]byte(token))
	found, err := s.deps.Links.Link(ctx, hash, s.deps.Now())
	if err := linkError(err, found.Purpose == LinkReset); err != nil {
		return User{}, err
	}
	chosen, err := hashNew(ctx, found.Email, password)
	if err != nil {
		return User{}, err
	}
	_, err = s.deps.Links.TakeLink(ctx, hash, s.deps.Now())
	if err := linkError(err, true); err != nil {
		return User{}, err
	}
	u, _, err := s.deps.Sessions.RenewLogins(ctx, found.UserID, uuid.Nil, func(u *User) error {
		if u.Erased() || u.Role == RoleSeat || u.Email != found.Email { // erased or renamed meanwhile
			return errLink
		}
		u.PasswordHash = chosen
		return nil
	})
	return u, err
}

func linkError(err error, purpose bool) error {
	if errs.Is(err, errs.NotFound) || err == nil && !purpose {
		return errLink
	}
	return err
}
