package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account/typed"
	"adnet/internal/errs"
)

// LinkPurpose is the purpose of a mailed link.
type LinkPurpose string

// The purposes of links. A notice has no token and uses up no place of a link. It is stored so that
// an e-mail without a link takes the same time as an e-mail with one.
const (
	LinkRegister LinkPurpose = "register" // creates the requested account
	LinkReset    LinkPurpose = "reset"    // sets a new password
	LinkNotice   LinkPurpose = "notice"
)

// Link is an unused mailed link. Only the SHA-256 of its token is stored.
type Link struct {
	Hash         [32]byte
	Purpose      LinkPurpose
	Email        string    // recipient, lower case
	UserID       uuid.UUID // of a reset
	PasswordHash string    // of a registration: the chosen password
	Side         Side      // of a registration: that of the account
	Network      string    // of the caller: see traffic.Network; empty if unknown
	CreatedAt    time.Time // UTC
	ExpiresAt    time.Time // UTC
}

// LinkStore stores mailed links.
type LinkStore interface {
	// CreateLink stores a link and deletes those that expired before it. Of the links with its
	// purpose and e-mail, the newest NetworkLinks of each network and MaxLinks of all stay.
	CreateLink(ctx context.Context, l Link) error
	// Link finds a link. TakeLink finds and removes it; only one caller gets it. Both return
	// errs.NotFound for a used or expired link.
	Link(ctx context.Context, hash [32]byte, now time.Time) (Link, error)
	TakeLink(ctx context.Context, hash [32]byte, now time.Time) (Link, error)
}

const (
	// NetworkLinks is the maximum number of open links per purpose, e-mail and network of the
	// caller. The oldest ends, so that an owner always gets a link, and ends no link of another
	// network.
	NetworkLinks = 3
	// MaxLinks is the maximum number of open links per purpose and e-mail, which bounds the rows.
	MaxLinks     = 100
	registerLife = 24 * time.Hour
	resetLife    = time.Hour
	tokenSize    = 32 // bytes
)

var errLink = errs.New(errs.InvalidToken, "this link was used, has expired or is invalid; request a new one")

// Letter is a text to one address.
type Letter struct {
	To, Subject, Text string
	Network           string // of the caller: see traffic.Block; empty for the server's own letters
	Urgent            bool   // sent before others

	HTML        string // beside Text; empty for none
	Unsubscribe string // address that ends mails like this one by a POST (RFC 8058); empty for none
}

// Mailed is an e-mail to send. Without a Token it is only a notice.
type Mailed struct {
	To      string
	Purpose LinkPurpose // of the token, or LinkNotice
	Token   string
}

// AskRegister begins a registration. The e-mail must be confirmed before an account exists. It
// takes the same time for an e-mail that already has an account; its owner gets a notice. Errors:
// errs.InvalidRequest.
func (s *Service) AskRegister(ctx context.Context, in Registration) (mailed *Mailed, err error) {
	email, err := newEmail(in.Email)
	if err != nil {
		return nil, err
	}
	hash, err := hashNew(ctx, email, in.Password)
	if err != nil {
		return nil, err
	}
	l := Link{Purpose: LinkRegister, Email: email, PasswordHash: hash, Network: in.Network, Side: in.Side}
	if _, err = s.deps.Users.UserByEmail(ctx, email); err == nil {
		l.Purpose, l.PasswordHash, l.Side = LinkNotice, "", ""
	} else if !errs.Is(err, errs.NotFound) {
		return nil, err
	}
	return s.mail(ctx, l, registerLife)
}

// AskReset begins a password reset for the account of an e-mail. It takes the same time without an
// account, and then sends nothing. network is that of the caller: see [Link]. Errors:
// errs.InvalidRequest.
func (s *Service) AskReset(ctx context.Context, email, network string) (mailed *Mailed, err error) {
	if email, err = cleanEmail(email); err != nil {
		return nil, err
	}
	l := Link{Purpose: LinkNotice, Email: email, Network: network}
	u, err := s.deps.Users.UserByEmail(ctx, email)
	switch {
	case err == nil && !u.Erased() && u.Role != RoleSeat: // a suspended owner can sign in to read the reason and appeal
		l.Purpose, l.UserID = LinkReset, u.ID
	case err != nil && !errs.Is(err, errs.NotFound):
		return nil, err
	}
	mailed, err = s.mail(ctx, l, resetLife)
	if l.Purpose == LinkNotice { // an address without an account gets no mail
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
	if err := s.deps.Links.CreateLink(ctx, l); err != nil {
		return nil, err
	}
	if l.Purpose == LinkNotice {
		token = ""
	}
	return &Mailed{To: l.Email, Purpose: l.Purpose, Token: token}, nil
}

// ConfirmRegister creates the account of a mailed link. The password is required again: if several
// people register one e-mail, the account goes to the one with both the mailbox and the password of
// the link. network is that of the caller: see [family.Network]. Errors: errs.InvalidToken,
// errs.InvalidCredentials, errs.Conflict.
func (s *Service) ConfirmRegister(ctx context.Context, token, password, network string) (User, error) {
	hash := sha256.Sum256([]byte(typed.Token(token)))
	l, err := s.deps.Links.Link(ctx, hash, s.deps.Now())
	if err := linkError(err, l.Purpose == LinkRegister); err != nil {
		return User{}, err
	}
	if ok, err := VerifyPassword(ctx, l.PasswordHash, password); err != nil || !ok {
		if err == nil {
			err = errs.New(errs.InvalidCredentials, "this is not the password chosen at registration")
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
	u.Email, u.PasswordHash, u.Side = l.Email, l.PasswordHash, l.Side
	s.mark(&u, network)
	return u, s.deps.Users.CreateUser(ctx, u)
}

// ResetPassword sets a new password with a mailed link and ends every login. The link is used up
// even if the new password is then rejected. Errors: errs.InvalidToken, errs.InvalidRequest.
func (s *Service) ResetPassword(ctx context.Context, token, password string) (User, error) {
	hash := sha256.Sum256([]byte(typed.Token(token)))
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

// ProveMailbox uses up the mailed link for a new password of u that has a token. Errors:
// errs.InvalidToken.
func (s *Service) ProveMailbox(ctx context.Context, u User, token string) error {
	if token == "" {
		return errLink
	}
	hash := sha256.Sum256([]byte(typed.Token(token)))
	found, err := s.deps.Links.Link(ctx, hash, s.deps.Now())
	if err := linkError(err, found.Purpose == LinkReset && found.UserID == u.ID && found.Email == u.Email); err != nil {
		return err
	}
	_, err = s.deps.Links.TakeLink(ctx, hash, s.deps.Now())
	return linkError(err, true)
}

func linkError(err error, purpose bool) error {
	if errs.Is(err, errs.NotFound) || err == nil && !purpose {
		return errLink
	}
	return err
}
