package campaign

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"adnet/internal/account"
)

// Title is the name of a campaign, for reports.
type Title struct {
	ID, AdvertiserID uuid.UUID
	Name, Headline   string
}

// TitleStore finds the names of campaigns.
type TitleStore interface {
	// Titles returns the campaigns with these ids, in any order. It ignores unknown ids, and may
	// ignore those beyond account.MaxNamed.
	Titles(ctx context.Context, ids []uuid.UUID) ([]Title, error)
}

// For returns the name that reader sees in place of the campaign's id: of an own campaign its name,
// or its headline. The name is the owner's note, which others do not see.
func (t *Title) For(reader *account.User) string {
	if !reader.MayActFor(t.AdvertiserID) {
		return ""
	}
	return cmp.Or(t.Name, t.Headline)
}
