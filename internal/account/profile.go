package account

import (
	"cmp"
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"adnet/internal/adtext"
	"adnet/internal/errs"
)

// MaxProfileText is the most characters of a name or company.
const MaxProfileText = 100

// Profile is what an account calls itself. A nil field stays as it is.
type Profile struct {
	DisplayName *string `json:"display_name"`
	Company     *string `json:"company"`
}

// Sponsor is an advertiser as ads name it.
type Sponsor struct {
	Name     string `json:"name"`
	Verified bool   `json:"verified"` // an administrator checked who is behind the name
}

// Sponsor is what readers of receipts see of u in place of its id, "" where it said nothing.
func (u *User) Sponsor() string { return cmp.Or(u.Company, u.DisplayName) }

// SeatSponsor is how the ads of u's seats name who is behind them, since seats say nothing of
// themselves: as u's own ads do, but not for an administrator, who made them for other companies.
func (u *User) SeatSponsor() Sponsor {
	if u.IsAdmin() {
		return Sponsor{}
	}
	return u.Approved
}

// Named are the accounts whose ads say u's name: its own, and its seats as [User.SeatSponsor] has
// it.
func (u *User) Named() []uuid.UUID {
	ids := []uuid.UUID{u.ID}
	if !u.IsAdmin() {
		for _, seat := range u.Seats {
			ids = append(ids, seat.ID)
		}
	}
	return ids
}

// Renamed are the accounts whose ads name somebody else, or nobody, now that before has become u.
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

// disguised says whether a name may be taken for another, or for an instruction to the model that
// reads a receipt.
func disguised(name string) bool {
	alone, _ := adtext.Instructing(name)
	return len(alone) > 0 || adtext.MixedScripts(name)
}

// NameState is how far a name is on its way into ads.
type NameState string

// The states of a name.
const (
	Nameless     NameState = "none"    // the account said none
	NameWaits    NameState = "waiting" // for an administrator: receipts show it, ads do not
	NameApproved NameState = "approved"
)

// NameState is that of u's name.
func (u *User) NameState() NameState {
	switch u.Sponsor() {
	case "":
		return Nameless
	case u.Approved.Name:
		return NameApproved
	}
	return NameWaits
}

// NameAccepted is the decision of a [NameRuling] that puts a name into ads.
const NameAccepted = "approved"

// NameRuling is what an administrator decides about the name that ads are to say.
type NameRuling struct {
	Name     string `json:"name"`     // that the administrator saw
	Decision string `json:"decision"` // approved or rejected
	Verified bool   `json:"verified"` // approved: who is behind the name was checked
	Reason   string `json:"reason"`   // rejected: what the owner reads
}

// RuleName decides about the name of an account. An approved one is in its ads within moments; a
// rejected one is taken from the account, and so from its receipts. Errors: errs.InvalidRequest,
// errs.Forbidden, errs.NotFound, errs.Conflict if the account is called otherwise by now.
func (s *Service) RuleName(ctx context.Context, admin User, id uuid.UUID, r NameRuling) (User, error) {
	if !admin.IsAdmin() {
		return User{}, errs.New(errs.Forbidden, "only an administrator decides about names")
	}
	approved := r.Decision == NameAccepted
	if !approved && r.Decision != "rejected" {
		return User{}, errs.New(errs.InvalidRequest, "decision must be approved or rejected").With("field", "decision")
	}
	if approved && r.Reason != "" {
		return User{}, errs.New(errs.InvalidRequest, "reason is for a name that is rejected").With("field", "reason")
	}
	if !approved {
		if r.Verified {
			return User{}, errs.New(
				errs.InvalidRequest, "verified is for a name that is approved",
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
			return errs.New(errs.Conflict, "the account is called otherwise by now; look at it again")
		case approved:
			u.Approved = Sponsor{Name: r.Name, Verified: r.Verified}
		default: // both: the other one was not looked at, and would be shown next
			u.Company, u.DisplayName = "", ""
		}
		return nil
	}})
}

// Describe changes what u calls itself. Errors: errs.InvalidRequest.
func (s *Service) Describe(ctx context.Context, u User, p Profile) (User, error) {
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
			return User{}, errs.New(
				errs.InvalidRequest, "%s must be at most %d characters that can be seen", text.field, MaxProfileText,
			).With("field", text.field)
		}
		if disguised(*text.value) {
			return User{}, errs.New(
				errs.InvalidRequest, "%s must be a name in letters of one script", text.field,
			).With("field", text.field)
		}
	}
	return s.deps.Users.UpdateUser(ctx, u.ID, func(u *User) error {
		if p.DisplayName != nil {
			u.DisplayName = *p.DisplayName
		}
		if p.Company != nil {
			u.Company = *p.Company
		}
		return nil
	})
}
