package account

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"adnet/internal/errs"
)

// Ruling is a decision about an account. While an account is disabled, its campaigns and those of
// its seats do not deliver: stores pause them in the transaction that disables it.
type Ruling struct {
	UserID    uuid.UUID
	Edit      func(*User) error
	Reason    string // shown to its owner; empty if nothing was decided against it
	KeepAdmin bool   // an administrator able to sign in must remain
}

// UserFilter selects accounts. The zero value selects everything but seats, which are listed by
// their role.
type UserFilter struct {
	Text      string // part of the e-mail, or the user or developer id
	Role      Role
	Suspended *bool
	NameWaits bool // its name awaits approval
	// Family selects the accounts of a family, and those bound to it. [UserFilter.Selects] ignores it.
	Family uuid.UUID
	Limit  int // 1 to 500
	Offset int
}

// Selects reports whether f selects u, regardless of the page.
func (f UserFilter) Selects(u *User) bool {
	text := strings.ToLower(f.Text)
	return (f.Role == "" && u.Role != RoleSeat || f.Role == u.Role) &&
		(f.Suspended == nil || *f.Suspended == u.Disabled) &&
		(!f.NameWaits || u.NameState() == NameWaits) &&
		(text == "" || strings.Contains(
			strings.ToLower(u.Email), text,
		) || text == u.ID.String() || text == u.DeveloperID.String())
}

// ErrLastAdmin reports a change that would leave an installation without an administrator.
var ErrLastAdmin = errs.New(errs.Conflict, "this is the last administrator who can sign in; appoint another one first")

// MaxReason is the maximum length of the reason for a decision, in code points.
const MaxReason = 1000

// CleanReason checks the reason shown to the owner of an account. Errors: errs.InvalidRequest.
func CleanReason(text string) (string, error) { return cleanReason(text, "shown to the owner") }

// CleanNote is [CleanReason] of a decision that the owner of the account does not see.
func CleanNote(text string) (string, error) {
	return cleanReason(text, "for the audit log, which only administrators read here")
}

func cleanReason(text, readers string) (string, error) {
	text = strings.TrimSpace(text)
	control := strings.ContainsFunc(
		text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' },
	)
	if text == "" || utf8.RuneCountInString(text) > MaxReason || control || !utf8.ValidString(text) {
		return "", errs.New(
			errs.InvalidRequest, "reason is required: at most %d characters, %s", MaxReason, readers,
		).With("field", "reason")
	}
	return text, nil
}

// List lists accounts for an administrator.
func (s *Service) List(ctx context.Context, f UserFilter) ([]User, int, error) {
	return s.deps.Users.Users(ctx, f)
}

// Suspend ends the logins of an account and stops its keys and campaigns, on every node within 2 s.
// Its owner can still sign in to read the reason and appeal. Errors: errs.InvalidRequest without a
// reason, errs.Forbidden for the administrator's own account, errs.Conflict for the last
// administrator, errs.InvalidState for a suspended account, errs.NotFound.
func (s *Service) Suspend(ctx context.Context, admin User, id uuid.UUID, reason string) (User, error) {
	return s.rule(ctx, admin, Ruling{UserID: id, Reason: reason, Edit: func(u *User) error {
		if u.Disabled {
			return errs.New(errs.InvalidState, "the account is already suspended")
		}
		u.Disabled = true
		return nil
	}})
}

// Restore lifts a suspension: keys and campaigns work again, and its owner must log in anew.
// Errors: as [Service.Suspend]; an erased account stays closed.
func (s *Service) Restore(ctx context.Context, admin User, id uuid.UUID, reason string) (User, error) {
	return s.restore(ctx, admin, Ruling{UserID: id, Reason: reason}, nil)
}

// Account returns the current state of an account, for an administrator. Errors: errs.NotFound.
func (s *Service) Account(ctx context.Context, id uuid.UUID) (User, error) {
	return s.deps.Users.User(ctx, id)
}

// RestoreSeen is [Service.Restore] of an account in the state that the administrator saw. It
// returns errs.Conflict if the account was suspended again, or its logins ended, since then.
func (s *Service) RestoreSeen(ctx context.Context, admin User, seen User, reason string) (User, error) {
	return s.restore(ctx, admin, Ruling{UserID: seen.ID, Reason: reason}, func(u *User) error {
		if u.TokenVersion != seen.TokenVersion+1 { // this ruling's own
			return errs.New(errs.Conflict, "the account changed since you saw it; reload it")
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

// SetRole grants or revokes an account's administrator role and ends its logins. Errors: as
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
			return errs.New(errs.InvalidState, "the account already has this role")
		case u.Disabled:
			return errs.New(errs.InvalidState, "the account is suspended; restore it first")
		}
		u.Role = role
		return nil
	}
	return s.rule(ctx, admin, r)
}

// rule applies admin's decision about another account.
func (s *Service) rule(ctx context.Context, admin User, r Ruling) (User, error) {
	if !admin.IsAdmin() {
		return User{}, errs.New(errs.Forbidden, "only an administrator decides about accounts")
	}
	if r.UserID == admin.ID { // administrators cannot lock themselves out
		return User{}, errs.New(errs.Forbidden, "this is your own account; another administrator must decide")
	}
	var err error
	if r.Reason, err = CleanReason(r.Reason); err != nil {
		return User{}, err
	}
	r.Edit, r.KeepAdmin = Renewing(r.Edit), true
	return s.deps.Users.RuleUser(ctx, r)
}
