package campaign

import (
	"reflect"
	"time"
)

// MaxPage is the largest page of a campaign list.
const MaxPage = 500

// Page returns the limit and offset for a store. A limit outside 1 to [MaxPage] becomes MaxPage, a
// negative offset becomes 0.
func (f Filter) Page() (limit, offset int) {
	limit = f.Limit
	if limit < 1 || limit > MaxPage {
		limit = MaxPage
	}
	return limit, max(0, f.Offset)
}

// Normalize brings c into the form that every store uses: lists are never nil, times are in UTC
// with microseconds, like in PostgreSQL.
func (c *Campaign) Normalize() {
	for i := range Table {
		switch at := Table[i].At(c).(type) {
		case *[]string:
			if *at == nil {
				*at = []string{}
			}
		case *string:
			if *at == "" {
				*at = Table[i].Absent
			}
		}
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

// Keep restores the fields of edited that no edit may change: id, owner, kind of funding, time of
// creation, the progress of its goal, its standing and the fields set by the store. It then
// normalizes edited and reports whether anything else differs from before, which must be
// normalized.
func Keep(before, edited *Campaign) (changed bool) {
	edited.ID, edited.AdvertiserID, edited.CreditFunded = before.ID, before.AdvertiserID, before.CreditFunded
	edited.CreatedAt, edited.UpdatedAt = before.CreatedAt, before.UpdatedAt
	edited.ConfigVersion, edited.SettingsVersion = before.ConfigVersion, before.SettingsVersion
	edited.SpentToday, edited.SpentTotal, edited.Balance = before.SpentToday, before.SpentTotal, before.Balance
	edited.Advertiser = before.Advertiser
	edited.Reach, edited.Delivery, edited.DeliveryBound, edited.Queued = "", "", nil, ""
	edited.Pursuit, edited.Standing = before.Pursuit, before.Standing
	if !edited.SameGoal(before) {
		edited.Pursuit = Pursuit{GoalConversions: before.GoalConversions}
	}
	edited.Normalize()
	return !reflect.DeepEqual(before, edited)
}

// NewDecision returns the review that turns before into after, or nil if the review is unchanged or
// was removed. Stores append it to the review history.
func NewDecision(before, after *Campaign) *Review {
	if after.Review == nil || before.Review != nil && *before.Review == *after.Review {
		return nil
	}
	return after.Review
}
