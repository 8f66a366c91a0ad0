package account

import (
	"cmp"
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"adnet/internal/adtext"
	"adnet/internal/errs"

	"golang.org/x/text/unicode/norm"
)

// MaxProfileText is the most characters of a name or company.
const MaxProfileText = 100

// Profile is what an account calls itself. A nil field stays as it is.
type Profile struct {
	DisplayName *string `json:"display_name"`
	Company     *string `json:"company"`
}

// Sponsor is what readers of ads see of u in place of its id, "" where it said nothing.
func (u *User) Sponsor() string { return cmp.Or(u.Company, u.DisplayName) }

// disguised says whether a name may be taken for another, or for an instruction to the model that
// reads a receipt.
func disguised(name string) bool {
	alone, _ := adtext.Instructing(name)
	return len(alone) > 0 || adtext.MixedScripts(name)
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
		if utf8.RuneCountInString(*text.value) > MaxProfileText || strings.ContainsFunc(*text.value, unicode.IsControl) || adtext.Hidden(*text.value) {
			return User{}, errs.New(errs.InvalidRequest, "%s must be at most %d characters that can be seen", text.field, MaxProfileText).With("field", text.field)
		}
		if disguised(*text.value) {
			return User{}, errs.New(errs.InvalidRequest, "%s must be a name in letters of one script: receipts show it to readers, and no reviewer sees it before", text.field).With("field", text.field)
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
