package campaign

import (
	"reflect"
	"time"
)

// MaxPage is the largest page of a campaign list.
const MaxPage = 500

// Page returns the limit and offset that a store uses: a limit outside 1 to [MaxPage] means
// MaxPage, an offset below 0 means 0.
func (f Filter) Page() (limit, offset int) {
	limit = f.Limit
	if limit < 1 || limit > MaxPage {
		limit = MaxPage
	}
	return limit, max(0, f.Offset)
}

// Normalize brings c into the one form that every store keeps and returns: lists are never nil,
// times are UTC with microseconds, as PostgreSQL keeps them.
func (c *Campaign) Normalize() {
	t := &c.Targeting
	for _, list := range []*[]string{
		&t.IntentTokens, &t.Keywords, &t.ActiveTools, &t.HostApps, &t.Surfaces, &t.IntegrationMethods, &t.Regions,
		&t.Languages,
	} {
		if *list == nil {
			*list = []string{}
		}
	}
	for _, list := range c.ownLists() {
		if *list == nil {
			*list = []string{}
		}
	}
	if c.Mode == "" {
		c.Mode = Exact // as campaigns were before there were modes
	}
	if c.Pacing == "" {
		c.Pacing = PacingEven
	}
	if c.BillingEvent == "" {
		c.BillingEvent = OnImpression
	}
	if c.ClickID == "" {
		c.ClickID = ClickIDOn
	}
	c.normalizeGoal()
	if c.PolicyViolations == nil {
		c.PolicyViolations = []Violation{}
	}
	c.StartAt, c.EndAt = normalizeDate(c.StartAt), normalizeDate(c.EndAt)
	c.CreatedAt = c.CreatedAt.UTC().Truncate(time.Microsecond)
	c.UpdatedAt = c.UpdatedAt.UTC().Truncate(time.Microsecond)
	if c.Review != nil {
		c.Review.At = c.Review.At.UTC().Truncate(time.Microsecond)
	}
}

// Keep restores in edited the fields that no edit may change (id, owner, kind of funding, time of
// creation, how far its goal got, and the fields that the store fills), normalizes it, and says
// whether anything else differs from before, which is already normalized.
func Keep(before, edited *Campaign) (changed bool) {
	edited.ID, edited.AdvertiserID, edited.CreditFunded = before.ID, before.AdvertiserID, before.CreditFunded
	edited.CreatedAt, edited.UpdatedAt = before.CreatedAt, before.UpdatedAt
	edited.ConfigVersion = before.ConfigVersion
	edited.SpentToday, edited.SpentTotal = before.SpentToday, before.SpentTotal
	edited.Advertiser = before.Advertiser
	edited.Pursuit = before.Pursuit
	if !edited.SameGoal(before) {
		edited.Pursuit = Pursuit{GoalConversions: before.GoalConversions}
	}
	edited.Normalize()
	return !reflect.DeepEqual(before, edited)
}

// NewDecision returns the review that turns before into after, nil if the review is the same or was
// removed. Stores append it to the review history.
func NewDecision(before, after *Campaign) *Review {
	if after.Review == nil || before.Review != nil && *before.Review == *after.Review {
		return nil
	}
	return after.Review
}
