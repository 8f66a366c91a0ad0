package campaign

import (
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/internal/errs"
	"adnet/internal/money"
)

// Filter selects campaigns of a list. The zero value selects everything.
type Filter struct {
	AdvertiserID uuid.UUID // nil UUID: every advertiser
	Status       Status
	// Waiting selects only the review queue: campaigns with a [Queued], with it set. Queued selects
	// those with one reason, empty all.
	Waiting bool
	Queued  Queued
	Limit   int // 1 to 500
	Offset  int
}

// NewCampaign is the input of [Store.CreateCampaign].
type NewCampaign struct {
	Campaign Campaign
	// Admit chooses the status while the store holds the advertiser's lock. first reports the first
	// campaign of the advertiser and its family, and of the families that it is bound to, also by this
	// campaign's domain and texts. So two concurrent creations cannot both be first.
	Admit func(first bool) Status
	// CreditValue is the maximum budget that one Credit pays for: the owner's spendable Credits pay
	// the total budget in the same transaction. It is 0 for cash campaigns.
	CreditValue money.Micros
	// Room is checked while the store holds the advertiser's lock, so that concurrent creations do not
	// each see the room of the others as free.
	Room Room
}

// Room bounds an advertiser's campaigns and the targeting that they hold; zero is unlimited.
type Room struct {
	Campaigns int // archived ones count, because their rows stay
	Targeting int // bytes, see [Campaign.TargetingSize]
}

// Check checks whether an advertiser with campaigns that hold targeting bytes may have one more, of
// more bytes. The first one always fits. Errors: errs.Conflict with the limit.
func (r Room) Check(campaigns, targeting, more int) error {
	switch {
	case r == Room{} || campaigns == 0:
		return nil
	case campaigns >= r.Campaigns:
		return errs.New(
			errs.Conflict,
			"the account has %d campaigns, which is its current limit; change an existing one, or ask the "+
				"operator", campaigns,
		).With("limit", r.Campaigns)
	}
	return r.checkTargeting(targeting, more)
}

func (r Room) checkTargeting(targeting, more int) error {
	if more <= 0 || targeting+more <= r.Targeting {
		return nil
	}
	return errs.New(
		errs.Conflict,
		"the targeting of the account's campaigns would have %d bytes, but its limit is %d; shorten its lists, or "+
			"ask the operator", targeting+more, r.Targeting,
	).With("limit", r.Targeting)
}

// Store stores campaigns. It sets ConfigVersion, and fills SpentToday and SpentTotal on reads. It
// also stores the inactive intervals that settlement reads: one opens when a change leaves a
// campaign not active, at the store's clock and under the campaign's lock, and closes when a change
// makes it active. Errors carry errs.NotFound. CreateCampaign also returns errs.InsufficientCredit
// (with available, requested), and errs.DemoMode where Credits cannot fund (in-memory mode).
type Store interface {
	CreateCampaign(ctx context.Context, n NewCampaign) (Campaign, error)
	Campaign(ctx context.Context, id uuid.UUID) (Campaign, error)
	// Campaigns returns a page, newest first, and the total number of matches. The review queue
	// begins with the pending campaigns. Among these, and among the live ones, those with money come
	// first, then bound ones, then those with more money: the balance of the advertiser, or the
	// Credits left of one that they fund. So no number of accounts without a balance hides others.
	Campaigns(ctx context.Context, f Filter) (page []Campaign, total int, err error)
	// Record returns the record of a campaign's advertiser, zero for an unknown campaign.
	Record(ctx context.Context, campaignID uuid.UUID) (Record, error)
	// UpdateCampaign runs edit on the locked campaign and stores the result. If edit fails, nothing
	// changes. A Review set by edit is also appended to the review history.
	UpdateCampaign(ctx context.Context, id uuid.UUID, edit func(*Campaign) error) (Campaign, error)
}

// Record is an advertiser's history, derived from its campaigns and their reviews.
type Record struct {
	Approved int // campaigns approved by a reviewer
	// Refused is the time of the latest rejection of a campaign of its family (internal/account/family), or
	// of the latest change to one under an administrator's pause; zero without either.
	Refused time.Time
	Since   time.Time // creation of the first campaign, zero without one

	Targeting int // size of the targeting of all campaigns, see [Campaign.TargetingSize]
}

// The minimum history of an account whose changes may be shown before a review.
const (
	historyApproved = 3
	historyAge      = 30 * 24 * time.Hour
	historyClean    = 90 * 24 * time.Hour // since the last rejection or pause by an administrator
)

// trusted reports whether changes of the advertiser's texts and hosts may deliver at once.
func (r Record) trusted(now time.Time) bool {
	return r.Approved >= historyApproved && now.Sub(r.Since) >= historyAge && now.Sub(r.Refused) >= historyClean
}

// Changes lets projections follow campaigns.
type Changes interface {
	// ChangedCampaigns lists campaigns with a config version above since, in order of version, and
	// the head: versions up to head are complete (they are assigned in commit order). limit ≥ 1
	// bounds the list. With a full page, head is the last version of the page.
	ChangedCampaigns(ctx context.Context, since int64, limit int) (changed []Campaign, head int64, err error)
}

// Announcer sends a committed change to every serving node and waits, at most 1 s, until each live
// node has applied it. all is false if a node did not confirm in time. The change is committed even
// then, and settlement already rejects events that it forbids.
type Announcer interface {
	Announce(ctx context.Context, c Campaign) (all bool, err error)
}
