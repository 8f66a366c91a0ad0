package account

import (
	"cmp"
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"adnet/internal/compliance/adtext"
	"adnet/internal/errs"
)

// MaxProfileText is the maximum length of a name or company, in characters.
const MaxProfileText = 100

// Profile holds the names and the side of an account. A nil field stays unchanged.
type Profile struct {
	DisplayName *string `json:"display_name"`
	Company     *string `json:"company"`
	Side        *Side   `json:"side"`
}

// Sponsor is an advertiser as named in ads.
type Sponsor struct {
	Name     string `json:"name"`
	Verified bool   `json:"verified"` // an administrator checked the identity behind the name
}

// Sponsor returns the name of u that receipts show in place of its id, "" if there is none.
func (u *User) Sponsor() string { return cmp.Or(u.Company, u.DisplayName) }

// SeatSponsor returns the sponsor named in the ads of u's seats, which have no names of their own:
// the sponsor of u's own ads, or none if u is an administrator, since administrators create seats
// for other companies.
func (u *User) SeatSponsor() Sponsor {
	if u.IsAdmin() {
		return Sponsor{}
	}
	return u.Approved
}

// Named lists the accounts whose ads carry u's name: its own, and its seats if [User.SeatSponsor]
// gives them a name.
func (u *User) Named() []uuid.UUID {
	ids := []uuid.UUID{u.ID}
	if !u.IsAdmin() {
		for _, seat := range u.Seats {
			ids = append(ids, seat.ID)
		}
	}
	return ids
}

// Renamed lists the accounts whose ads carry a different sponsor, or none, after the change from
// before to u.
func (u *User) Renamed(before *User) (ids []uuid.UUID) {
	if before.Approved != u.Approved {
		ids = append(ids, u.ID)
	}
	if before.SeatSponsor() != u.SeatSponsor() {
		for _, seat := range u.Seats {
			ids = append(ids, seat.ID)
		}
	}
	return ids
}

// disguised reports whether a name imitates another name or contains an instruction to the model
// that reads a receipt.
func disguised(name string) bool {
	alone, _ := adtext.Instructing(name)
	return len(alone) > 0 || adtext.MixedScripts(name)
}

// NameState is the state of a name's approval for ads.
type NameState string

// The states of a name.
const (
	Nameless     NameState = "none"    // the account has no name
	NameWaits    NameState = "waiting" // waiting for an administrator: receipts show it, ads do not
	NameApproved NameState = "approved"
)

// NameState returns the state of u's name.
func (u *User) NameState() NameState {
	switch u.Sponsor() {
	case "":
		return Nameless
	case u.Approved.Name:
		return NameApproved
	}
	return NameWaits
}

// NameAccepted is the decision of a [NameRuling] that approves a name for ads.
const NameAccepted = "approved"

// NameRuling is an administrator's decision about the name shown in ads.
type NameRuling struct {
	Name     string `json:"name"`     // the name that the administrator saw
	Decision string `json:"decision"` // approved or rejected
	Verified bool   `json:"verified"` // approved: the identity behind the name was checked
	Reason   string `json:"reason"`   // rejected: shown to the owner
}

// RuleName applies a decision about the name of an account. An approved name appears in its ads
// within moments. A rejected one is removed from the account and so from its receipts. Errors:
// errs.InvalidRequest, errs.Forbidden, errs.NotFound, errs.Conflict if the name has changed
// meanwhile.
func (s *Service) RuleName(ctx context.Context, admin User, id uuid.UUID, r NameRuling) (User, error) {
	if !admin.IsAdmin() {
		return User{}, errs.New(errs.Forbidden, "only an administrator decides about names")
	}
	approved := r.Decision == NameAccepted
	if !approved && r.Decision != "rejected" {
		return User{}, errs.New(errs.InvalidRequest, "decision must be approved or rejected").With("field", "decision")
	}
	if approved && r.Reason != "" {
		return User{}, errs.New(errs.InvalidRequest, "reason is only for a rejected name").With("field", "reason")
	}
	if !approved {
		if r.Verified {
			return User{}, errs.New(
				errs.InvalidRequest, "verified is only for an approved name",
			).With("field", "verified")
		}
		var err error
		if r.Reason, err = CleanReason(r.Reason); err != nil {
			return User{}, err
		}
	}
	return s.deps.Users.RuleUser(ctx, Ruling{UserID: id, Reason: r.Reason, Edit: func(u *User) error {
		switch {
		case u.Sponsor() == "" || u.Sponsor() != r.Name:
			return errs.New(errs.Conflict, "the account's name has changed meanwhile; reload it")
		case approved:
			u.Approved = Sponsor{Name: r.Name, Verified: r.Verified}
		default: // both: the other one was not reviewed, and would be shown next
			u.Company, u.DisplayName = "", ""
		}
		return nil
	}})
}

// Describe changes the names and the side of u. Errors: errs.InvalidRequest.
func (s *Service) Describe(ctx context.Context, u User, p Profile) (User, error) {
	if err := p.clean(); err != nil {
		return User{}, err
	}
	return s.deps.Users.UpdateUser(ctx, u.ID, func(u *User) error {
		if p.DisplayName != nil {
			u.DisplayName = *p.DisplayName
		}
		if p.Company != nil {
			u.Company = *p.Company
		}
		if p.Side != nil {
			u.Side = *p.Side
		}
		return nil
	})
}

// clean brings the values of p into the form of stores. Errors: errs.InvalidRequest.
func (p *Profile) clean() error {
	for _, text := range []struct {
		field string
		value *string
	}{{"display_name", p.DisplayName}, {"company", p.Company}} {
		if text.value == nil {
			continue
		}
		*text.value = strings.Join(strings.Fields(norm.NFC.String(*text.value)), " ")
		if utf8.RuneCountInString(*text.value) > MaxProfileText ||
			strings.ContainsFunc(*text.value, unicode.IsControl) || adtext.Hidden(*text.value) {
			return errs.New(
				errs.InvalidRequest, "%s must be at most %d visible characters", text.field, MaxProfileText,
			).With("field", text.field)
		}
		if disguised(*text.value) {
			return errs.New(
				errs.InvalidRequest, "%s must be a name in letters of one script", text.field,
			).With("field", text.field)
		}
	}
	if p.Side == nil {
		return nil
	}
	side, err := ReadSide("side", *p.Side)
	p.Side = &side
	return err
}
