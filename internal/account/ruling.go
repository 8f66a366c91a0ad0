package account

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"adnet/internal/errs"
)

// Ruling is a decision about an account. While an account is disabled none of its campaigns, nor of
// its seats', delivers: stores hold them in the transaction that disables it.
type Ruling struct {
	UserID    uuid.UUID
	Edit      func(*User) error
	Reason    string // that its owner reads; empty where nothing was decided against it
	KeepAdmin bool   // an administrator who can sign in must be left
}

// UserFilter selects accounts. Zero values select everything but seats, which are listed by their
// role.
type UserFilter struct {
	Text      string // in the e-mail, or the user or developer id
	Role      Role
	Suspended *bool
	NameWaits bool // its name waits for an administrator
	Limit     int  // 1 to 500
	Offset    int
}

// Selects says whether f selects u, page aside.
func (f UserFilter) Selects(u *User) bool {
	text := strings.ToLower(f.Text)
	return (f.Role == "" && u.Role != RoleSeat || f.Role == u.Role) &&
		(f.Suspended == nil || *f.Suspended == u.Disabled) &&
		(!f.NameWaits || u.NameState() == NameWaits) &&
		(text == "" || strings.Contains(
			strings.ToLower(u.Email), text,
		) || text == u.ID.String() || text == u.DeveloperID.String())
}

// ErrLastAdmin says that an installation cannot be left without an administrator.
var ErrLastAdmin = errs.New(errs.Conflict, "this is the last administrator who can sign in; make another one first")

// MaxReason is the most code points of the reason for a decision.
const MaxReason = 1000

// CleanReason checks what the owner of an account is told. Errors: errs.InvalidRequest.
func CleanReason(text string) (string, error) {
	text = strings.TrimSpace(text)
	control := strings.ContainsFunc(
		text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' },
	)
	if text == "" || utf8.RuneCountInString(text) > MaxReason || control || !utf8.ValidString(text) {
		return "", errs.New(
			errs.InvalidRequest, "reason is required: what the owner reads, at most %d characters", MaxReason,
		).With("field", "reason")
	}
	return text, nil
}

// List lists accounts for an administrator.
func (s *Service) List(ctx context.Context, f UserFilter) ([]User, int, error) {
	return s.deps.Users.Users(ctx, f)
}

// Suspend ends the logins of an account, and its keys and campaigns stop: on every node within 2 s.
// Its owner can still sign in to read why, and to appeal. Errors: errs.InvalidRequest without a
// reason, errs.Forbidden for the administrator's own account, errs.Conflict for the last
// administrator, errs.InvalidState for one that is suspended, errs.NotFound.
func (s *Service) Suspend(ctx context.Context, admin User, id uuid.UUID, reason string) (User, error) {
	return s.rule(ctx, admin, Ruling{UserID: id, Reason: reason, Edit: func(u *User) error {
		if u.Disabled {
			return errs.New(errs.InvalidState, "the account is suspended already")
		}
		u.Disabled = true
		return nil
	}})
}

// Restore takes a suspension back: keys and campaigns work again, logins begin anew. Errors: as
// [Service.Suspend]; an erased account stays closed.
func (s *Service) Restore(ctx context.Context, admin User, id uuid.UUID, reason string) (User, error) {
	return s.restore(ctx, admin, Ruling{UserID: id, Reason: reason}, nil)
}

// Account is an account as it is now, for an administrator. errs.NotFound without it.
func (s *Service) Account(ctx context.Context, id uuid.UUID) (User, error) {
	return s.deps.Users.User(ctx, id)
}

// RestoreSeen is [Service.Restore] of the account as the administrator saw it: errs.Conflict if it
// was suspended anew, or its logins ended, since.
func (s *Service) RestoreSeen(ctx context.Context, admin User, seen User, reason string) (User, error) {
	return s.restore(ctx, admin, Ruling{UserID: seen.ID, Reason: reason}, func(u *User) error {
		if u.TokenVersion != seen.TokenVersion+1 { // this ruling's own
			return errs.New(errs.Conflict, "the account changed since you saw it; look at it again")
		}
		return nil
	})
}

func (s *Service) restore(ctx context.Context, admin User, r Ruling, first func(*User) error) (User, error) {
	r.Edit = func(u *User) error {
		if first != nil {
			if err := first(u); err != nil {
				return err
			}
		}
		if !u.Disabled || u.Erased() {
			return errs.New(errs.InvalidState, "the account is not suspended")
		}
		u.Disabled = false
		return nil
	}
	return s.rule(ctx, admin, r)
}

// SetRole makes an account an administrator's, or takes that back, and ends its logins. Errors: as
// [Service.Suspend].
func (s *Service) SetRole(ctx context.Context, admin User, r Ruling, role Role) (User, error) {
	if role != RoleAdvertiser && role != RoleAdmin {
		return User{}, errs.New(errs.InvalidRequest, "role must be advertiser or admin").With("field", "role")
	}
	r.Edit = func(u *User) error {
		switch {
		case u.Role == RoleSeat:
			return errSeat
		case u.Role == role:
			return errs.New(errs.InvalidState, "the account has this role already")
		case u.Disabled:
			return errs.New(errs.InvalidState, "the account is suspended; restore it first")
		}
		u.Role = role
		return nil
	}
	return s.rule(ctx, admin, r)
}

// rule carries out what admin decides about another account.
func (s *Service) rule(ctx context.Context, admin User, r Ruling) (User, error) {
	if !admin.IsAdmin() {
		return User{}, errs.New(errs.Forbidden, "only an administrator decides about accounts")
	}
	if r.UserID == admin.ID { // an open screen of an administrator must not lock it out
		return User{}, errs.New(errs.Forbidden, "this is your own account; another administrator decides about it")
	}
	var err error
	if r.Reason, err = CleanReason(r.Reason); err != nil {
		return User{}, err
	}
	r.Edit, r.KeepAdmin = Renewing(r.Edit), true
	return s.deps.Users.RuleUser(ctx, r)
}
