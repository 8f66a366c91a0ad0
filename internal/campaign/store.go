package campaign

import (
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/internal/money"
)

// Filter selects campaigns of a list. Zero values select everything.
type Filter struct {
	AdvertiserID uuid.UUID // nil UUID: every advertiser
	Status       Status
	// Waiting: only those that a reviewer has to look at: in review, live and held by the policy,
	// or live with undecided reports of readers that count (adreport).
	Waiting bool
	Limit   int // 1 to 500
	Offset  int
}

// NewCampaign is the input of [Store.CreateCampaign].
type NewCampaign struct {
	Campaign Campaign
	// Admit chooses the status while the store holds the advertiser's lock: first says whether this
	// is the advertiser's first campaign, so two creations at once cannot both be first.
	Admit func(first bool) Status
	// CreditValue is what one Credit pays for at most: the total budget is paid from the owner's
	// spendable Credits in the same transaction. 0 for cash campaigns.
	CreditValue money.Micros
}

// Store keeps campaigns. It sets ConfigVersion, and fills SpentToday and SpentTotal on reads. It
// also keeps the inactive intervals that settlement reads: one opens whenever a change leaves a
// campaign not active, at the store's clock and under the campaign's lock, and closes when a change
// makes it active. Errors carry errs.NotFound; CreateCampaign errs.InsufficientCredit (with
// available, requested) and errs.DemoMode where Credits cannot fund (in-memory mode).
type Store interface {
	CreateCampaign(ctx context.Context, n NewCampaign) (Campaign, error)
	Campaign(ctx context.Context, id uuid.UUID) (Campaign, error)
	// Campaigns answers newest first, with the total count of matches.
	Campaigns(ctx context.Context, f Filter) (page []Campaign, total int, err error)
	// Record is that of the advertiser of a campaign; zero for an unknown campaign.
	Record(ctx context.Context, campaignID uuid.UUID) (Record, error)
	// UpdateCampaign runs edit on the locked campaign and keeps the result; an error of edit
	// changes nothing. A Review that edit replaces is also appended to the review history.
	UpdateCampaign(ctx context.Context, id uuid.UUID, edit func(*Campaign) error) (Campaign, error)
}

// Record is the history of an advertiser from its campaigns and their reviews.
type Record struct {
	Approved int // campaigns that a reviewer approved
	// the latest rejection, or change of a campaign that an administrator's pause stops; zero
	// without
	Refused time.Time
	Since   time.Time // when the first campaign was created, zero without one

	Targeting int // size of the targeting of all campaigns, see [Campaign.TargetingSize]
}

// What makes an account's history long enough for its changes to be shown before a person saw them.
const (
	historyApproved = 3
	historyAge      = 30 * 24 * time.Hour
	historyClean    = 90 * 24 * time.Hour // since the last rejection or pause by an administrator
)

// trusted says whether changes of the advertiser's texts and hosts may deliver at once.
func (r Record) trusted(now time.Time) bool {
	return r.Approved >= historyApproved && now.Sub(r.Since) >= historyAge && now.Sub(r.Refused) >= historyClean
}

// Changes lets projections follow campaigns.
type Changes interface {
	// ChangedCampaigns lists campaigns with a config version above since, in order of version, and
	// the head: versions up to head are complete (they are given in commit order). limit ≥ 1 bounds
	// the list; with a full page head is the last version of the page.
	ChangedCampaigns(ctx context.Context, since int64, limit int) (changed []Campaign, head int64, err error)
}

// Announcer tells every serving node about a committed change and waits, at most 1 s, until each
// live node has applied it. all is false if a node did not confirm in time; the change is committed
// all the same, and settlement already refuses events that it forbids.
type Announcer interface {
	Announce(ctx context.Context, c Campaign) (all bool, err error)
}
