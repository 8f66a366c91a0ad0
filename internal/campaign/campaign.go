// Package campaign defines an advertiser's campaign: its fields and limits, the policy check, its
// states and the rights to change them. This package holds the rules, and the stores only hold the
// data.
//
// A campaign delivers while its status is [Active] and its policy check has no findings. Every
// change raises the config version in its own transaction, so that a reader of versions misses no
// change.
package campaign

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/money"
	"adnet/internal/money/share"
)

// Status is a campaign's state. The values are the union of the two sets of the specification.
// Filters accept "pending_review" as an alias of [InReview].
type Status string

// The states. [Archived] is final.
const (
	Draft    Status = "draft"
	InReview Status = "in_review"
	Active   Status = "active"
	Paused   Status = "paused"
	Rejected Status = "rejected"
	Archived Status = "archived"
)

// BillingModel determines the charged event and the unit that a bid prices.
type BillingModel string

// The billing models.
const (
	CPM BillingModel = "cpm" // bid is the price of 1,000 impressions
	CPC BillingModel = "cpc" // bid is the price of the first click of an auction
	CPA BillingModel = "cpa" // bid is the price of a conversion
	// VCPM is the billing model of auctions, tokens and the ledger for cpm paid on view, see
	// [Campaign.Billing]. The field of a campaign never has this value.
	VCPM BillingModel = "vcpm"
)

// BillingEvent is the event that a cpm campaign pays for.
type BillingEvent string

// The billing events.
const (
	OnImpression BillingEvent = "impression"
	OnView       BillingEvent = "viewable" // half of the ad was in view for a second, as defined by the MRC
)

// Billing returns the billing model of c's auctions: billing_model, or [VCPM] if c pays on view.
func (c *Campaign) Billing() BillingModel {
	if c.BillingModel == CPM && c.BillingEvent == OnView {
		return VCPM
	}
	return c.BillingModel
}

// Thousands reports whether a bid of the model is the price of 1,000 events.
func (m BillingModel) Thousands() bool { return m == CPM || m == VCPM }

// Format is the kind of creative.
type Format string

// The formats.
const (
	Image  Format = "image"
	Video  Format = "video"
	Native Format = "native"
)

// Goal is the objective that bids are optimised for; see [Campaign.AuctionBid].
type Goal string

// The goals of the specification.
const (
	GoalTargetCPA      Goal = "target_cpa"
	GoalTargetROAS     Goal = "target_roas"
	GoalMaxConversions Goal = "max_conversions"
	GoalManual         Goal = "manual"
)

// Pacing determines how the daily budget is spent.
type Pacing string

// The kinds of pacing.
const (
	PacingEven Pacing = "even" // spread over the UTC day according to the campaign's usual traffic
	PacingASAP Pacing = "asap" // spent as fast as matching requests arrive
)

// ClickID controls whether the redirect adds a click id, used to report conversions, to the landing
// page's URL.
type ClickID string

// The settings of click ids.
const (
	ClickIDOn  ClickID = "on"  // adnet_click is added to the query of cta_url
	ClickIDOff ClickID = "off" // cta_url stays unchanged, byte for byte: for signed links
)

// TargetingMode determines the effect of target tokens and keywords.
type TargetingMode string

// The modes.
const (
	// Broad: they add to the meaning of the campaign, like its headline and its subtext.
	Broad TargetingMode = "broad"
	// Exact: they are also a filter. Campaigns that predate the modes have it.
	Exact TargetingMode = "exact"
)

// Targeting lists are hard filters: an empty list matches any request, a list with values needs at
// least one overlap. Tokens and keywords are filters only if Mode is [Exact]. Values are stored
// unchanged and compared case-insensitively.
type Targeting struct {
	Mode               TargetingMode `json:"targeting_mode"`
	IntentTokens       []string      `json:"target_intent_tokens"`
	Keywords           []string      `json:"target_keywords"` // used as further intent tokens
	ActiveTools        []string      `json:"target_active_tools"`
	HostApps           []string      `json:"target_host_apps"`
	Surfaces           []string      `json:"target_surfaces"`
	IntegrationMethods []string      `json:"target_integration_methods"`
	Regions            []string      `json:"target_regions"`
	Languages          []string      `json:"target_languages"`
}

// Campaign is an advertiser's campaign. Amounts are in micro-USD internally and USD numbers in
// JSON. Times are in UTC.
type Campaign struct {
	ID           uuid.UUID `json:"id"`
	AdvertiserID uuid.UUID `json:"advertiser_id"`
	Name         string    `json:"name"`
	Status       Status    `json:"status"`

	Creative
	SkippableAfterSec int `json:"skippable_after_sec"`

	BillingModel BillingModel  `json:"billing_model"`
	BillingEvent BillingEvent  `json:"billing_event"`
	BidAmount    money.Micros  `json:"bid_amount"` // per 1,000 impressions, per click or per conversion
	DailyBudget  money.Micros  `json:"daily_budget"`
	TotalBudget  money.Micros  `json:"total_budget"`
	TargetCPA    money.Micros  `json:"target_cpa"`
	TargetROAS   *money.Micros `json:"target_roas"` // a ratio with six decimals, null when unset
	Goal         Goal          `json:"optimization_goal"`
	Pursuit
	Standing     Standing `json:"-"`
	CreditFunded bool     `json:"credit_funded"`
	Pacing       Pacing   `json:"pacing"`
	FrequencyCap int      `json:"frequency_cap"` // impressions per session and UTC day; 0 means no cap
	ClickID      ClickID  `json:"click_id"`
	// ConversionType is the type of the conversions that a cpa campaign pays for, in the normal
	// form of [traffic.ConversionName]. Empty: the first of a click, whatever its type.
	ConversionType string `json:"conversion_type"`
	// StartAt and EndAt are whole seconds in UTC. Auctions from StartAt until just before EndAt may
	// choose the campaign. nil sets no bound. Events of auctions before EndAt are charged even
	// after it.
	StartAt *time.Time `json:"start_at"`
	EndAt   *time.Time `json:"end_at"`
	// MinRelevance is the minimum probability that the ad fits a request, from 0 (the network's
	// default) to 1.
	MinRelevance share.Share `json:"min_relevance"`

	Targeting

	// Deals are the exchanges' private deals that the campaign may answer, as case-sensitive deal
	// ids of the exchange. They restrict nothing: a campaign with deals also bids in open auctions.
	Deals []string `json:"deal_ids"`

	// Categories are the campaign's categories in the IAB Content Taxonomy 1.0, as stated by its
	// owner. Publishers may block them.
	Categories []string `json:"categories"`

	// ExcludeContexts are the subjects beside which the campaign does not run. SensitiveContexts
	// are the sensitive subjects beside which it may run if the publisher also allows them. Trades
	// are the restricted trades that it declares. All are ids from the lists of package subject, in
	// their order.
	ExcludeContexts   []string `json:"exclude_contexts"`
	SensitiveContexts []string `json:"sensitive_contexts"`
	Trades            []string `json:"trades"`

	PolicyViolations []Violation `json:"policy_violations"` // of the current creative; any violation stops delivery
	Review           *Review     `json:"review,omitempty"`  // the latest decision
	// Reviewed reports whether a reviewer approved the current version. Approved is the version that
	// one approved last and that goes on while the current version waits; nil for none.
	Reviewed bool      `json:"reviewed"`
	Approved *Creative `json:"approved,omitempty"`
	// PagesOnly reports that no model may read the ad. Only nodes set it, see [Reach.Restrict].
	PagesOnly bool `json:"-"`
	// Reach is set by [Service] on reads, and never stored.
	Reach Reach `json:"delivers,omitempty"`
	// Delivery is the effect of the state. [Service] sets it on reads, and it is never stored.
	Delivery Delivery `json:"delivery,omitempty"`
	// DeliveryBound is the bound of the standing with its cure; nil for none. [Service] sets it on
	// reads, and it is never stored.
	DeliveryBound *DeliveryBound `json:"delivery_bound,omitempty"`
	// Queued is the reason why the campaign is in the review queue; empty if it is not. [Service]
	// sets it on reads, and it is never stored. Only lists of the queue include reports of readers.
	Queued Queued `json:"review_reason,omitempty"`

	ConfigVersion int64 `json:"config_version"` // global, raised by every change of any campaign
	// SettingsVersion is the config version of the last change of what people set: settings, status
	// or review. Changes of the standing, of the progress of a goal and of the advertiser's name keep
	// it. The ETag is made of it, see [Campaign.At].
	SettingsVersion int64     `json:"-"`
	CreatedAt       time.Time `json:"created_at"`
	UpdatedAt       time.Time `json:"updated_at"`

	// Set by the store from the ledger on reads, never written by this package.
	SpentToday money.Micros `json:"spent_today"` // UTC day
	SpentTotal money.Micros `json:"spent_total"`
	// Balance is the advertiser's cash: positive when deposited, negative when owed.
	Balance money.Micros `json:"-"`

	// Advertiser is the sponsor named in ads, from the account; zero without an approved name.
	Advertiser account.Sponsor `json:"advertiser,omitzero"`
}

// Review is an administrator's decision on a campaign.
type Review struct {
	Decision   string    `json:"decision"` // approved or rejected
	Notes      string    `json:"notes,omitempty"`
	ReviewerID uuid.UUID `json:"reviewer_id"`
	At         time.Time `json:"at"`
	// Creative identifies the reviewed content: a digest of the creative's texts and links, and of
	// the restricted trades and targeting words with findings. It is empty for decisions of earlier
	// builds, which clear no finding.
	Creative string `json:"creative,omitempty"`
}

// For returns c as caller reads it: owners read a decision's reason, and the nil UUID in place of
// the reviewer.
func (c Campaign) For(caller account.User) Campaign {
	if c.Review != nil && !caller.IsAdmin() && c.Review.ReviewerID != caller.ID {
		review := *c.Review
		review.ReviewerID = uuid.Nil
		c.Review = &review
	}
	return c
}

const (
	decisionApproved = "approved"
	decisionRejected = "rejected"
)

// Violation is one finding of the policy check.
type Violation struct {
	Rule    string `json:"rule"`  // stable name of the rule
	Field   string `json:"field"` // the campaign field with the finding; "creative" for all texts together
	Message string `json:"message"`
	Holds   bool   `json:"holds"` // a reviewer's approval does not clear it: the link is unsafe
}

// Delivers reports whether auctions may choose c, regardless of its budget.
func (c *Campaign) Delivers() bool { return c.Status == Active && len(c.PolicyViolations) == 0 }

// Waits reports whether c waits for a reviewer: it is in review, or it is live with a finding that
// an approval clears.
func (c *Campaign) Waits() bool {
	return c.Status == InReview ||
		(c.Status == Active || c.Status == Paused) &&
			slices.ContainsFunc(c.PolicyViolations, func(v Violation) bool { return !v.Holds })
}

// Clone returns a deep copy: slices and pointers are not shared with c.
func (c *Campaign) Clone() Campaign {
	d := *c
	for i := range lists {
		values := lists[i].At(&d).(*[]string)
		*values = slices.Clone(*values)
	}
	d.PolicyViolations = slices.Clone(c.PolicyViolations)
	if c.TargetROAS != nil {
		roas := *c.TargetROAS
		d.TargetROAS = &roas
	}
	d.StartAt, d.EndAt = cloneTime(c.StartAt), cloneTime(c.EndAt)
	if c.Review != nil {
		review := *c.Review
		d.Review = &review
	}
	if c.Approved != nil {
		approved := *c.Approved
		d.Approved = &approved
	}
	return d
}

// TargetingSize returns the size of c's targeting: the bytes of all values of its lists, including
// deals, plus one for each value.
func (c *Campaign) TargetingSize() (size int) {
	for i := range lists {
		if !lists[i].Targets {
			continue
		}
		for _, value := range *lists[i].At(c).(*[]string) {
			size += len(value) + 1
		}
	}
	return size
}
