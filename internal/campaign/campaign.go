// Package campaign defines an advertiser's campaign: its fields and limits, the policy check, its
// states and the rights to change them. It decides; the stores keep.
//
// A campaign delivers while its status is [Active] and its policy check found nothing. Every change
// raises the config version in the same transaction as the change, so that a reader of versions
// misses none.
package campaign

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/money"
	"adnet/internal/share"
)

// Status is a campaign's state. The values are the union of the two sets of the specification;
// "pending_review" is accepted as an alias of [InReview] in filters.
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

// BillingModel says which event is charged and which unit a bid prices.
type BillingModel string

// The billing models.
const (
	CPM BillingModel = "cpm" // bid is the price of 1,000 impressions
	CPC BillingModel = "cpc" // bid is the price of the first click of an auction
	CPA BillingModel = "cpa" // bid is the price of a conversion
	// VCPM is what auctions, tokens and the ledger call cpm that is paid on view; see
	// [Campaign.Billing]. The field of a campaign never has it.
	VCPM BillingModel = "vcpm"
)

// BillingEvent says what of an ad a cpm campaign pays for.
type BillingEvent string

// The billing events.
const (
	OnImpression BillingEvent = "impression"
	OnView       BillingEvent = "viewable" // half of the ad was in view for a second, as MRC counts
)

// Billing is the billing model of c's auctions: billing_model, but [VCPM] where c pays on view.
func (c *Campaign) Billing() BillingModel {
	if c.BillingModel == CPM && c.BillingEvent == OnView {
		return VCPM
	}
	return c.BillingModel
}

// Thousands says whether a bid of the model is the price of 1,000 events.
func (m BillingModel) Thousands() bool { return m == CPM || m == VCPM }

// Format is the kind of creative.
type Format string

// The formats.
const (
	Image  Format = "image"
	Video  Format = "video"
	Native Format = "native"
)

// Goal is what the advertiser optimises for; see [Campaign.Offer] for how it makes bids.
type Goal string

// The goals of the specification.
const (
	GoalTargetCPA      Goal = "target_cpa"
	GoalTargetROAS     Goal = "target_roas"
	GoalMaxConversions Goal = "max_conversions"
	GoalManual         Goal = "manual"
)

// Pacing says how the daily budget is spent.
type Pacing string

// The kinds of pacing.
const (
	PacingEven Pacing = "even" // spread over the UTC day, by the campaign's usual traffic
	PacingASAP Pacing = "asap" // spent as fast as there are requests to fill
)

// ClickID says whether the redirect gives the landing page a click id, which a conversion is
// reported with.
type ClickID string

// The settings of click ids.
const (
	ClickIDOn  ClickID = "on"  // the query of cta_url gets adnet_click
	ClickIDOff ClickID = "off" // cta_url stays as it is, byte for byte: for signed links
)

// TargetingMode says what stated tokens and keywords are.
type TargetingMode string

// The modes.
const (
	// Broad: they are part of what the campaign says, like its headline and its subtext.
	Broad TargetingMode = "broad"
	// Exact: they are a filter, too. Campaigns from before there were modes have it.
	Exact TargetingMode = "exact"
)

// Targeting lists are hard filters: an empty list matches any request, a list with values needs at
// least one overlap. Tokens and keywords are one only where Mode is [Exact]. Values are kept as
// given and compared case-insensitively.
type Targeting struct {
	Mode               TargetingMode `json:"targeting_mode"`
	IntentTokens       []string      `json:"target_intent_tokens"`
	Keywords           []string      `json:"target_keywords"` // read as further intent tokens
	ActiveTools        []string      `json:"target_active_tools"`
	HostApps           []string      `json:"target_host_apps"`
	Surfaces           []string      `json:"target_surfaces"`
	IntegrationMethods []string      `json:"target_integration_methods"`
	Regions            []string      `json:"target_regions"`
	Languages          []string      `json:"target_languages"`
}

// Campaign is an advertiser's campaign. Amounts are micro-USD inside and USD numbers in JSON; times
// are UTC.
type Campaign struct {
	ID           uuid.UUID `json:"id"`
	AdvertiserID uuid.UUID `json:"advertiser_id"`
	Name         string    `json:"name"`
	Status       Status    `json:"status"`

	Format            Format `json:"format"`
	Headline          string `json:"headline"`
	Subtext           string `json:"subtext"`
	MediaURL          string `json:"media_url"`
	PosterURL         string `json:"poster_url"`
	LogoURL           string `json:"logo_url"` // of the advertiser, for native ads that ask for an icon or a logo
	CTALabel          string `json:"cta_label"`
	CTAURL            string `json:"cta_url"`
	SkippableAfterSec int    `json:"skippable_after_sec"`

	BillingModel BillingModel  `json:"billing_model"`
	BillingEvent BillingEvent  `json:"billing_event"`
	BidAmount    money.Micros  `json:"bid_amount"` // per 1,000 impressions, per click or per conversion
	DailyBudget  money.Micros  `json:"daily_budget"`
	TotalBudget  money.Micros  `json:"total_budget"`
	TargetCPA    money.Micros  `json:"target_cpa"`
	TargetROAS   *money.Micros `json:"target_roas"` // a ratio with six decimals, null when unset
	Goal         Goal          `json:"optimization_goal"`
	Pursuit
	CreditFunded bool    `json:"credit_funded"`
	Pacing       Pacing  `json:"pacing"`
	FrequencyCap int     `json:"frequency_cap"` // impressions per session and UTC day; 0 means no cap
	ClickID      ClickID `json:"click_id"`
	// StartAt and EndAt are whole seconds in UTC; auctions from StartAt to before EndAt may choose
	// the campaign. nil does not bound. What was sold before EndAt is charged after it, too.
	StartAt *time.Time `json:"start_at"`
	EndAt   *time.Time `json:"end_at"`
	// MinRelevance is the least probability that the ad answers a request, from 0, which leaves it
	// to the network, to 1.
	MinRelevance share.Share `json:"min_relevance"`

	Targeting

	// Deals are the private deals of exchanges that the campaign may answer, by the exchange's deal
	// id with its case. They restrict nothing: a campaign with deals bids in open auctions too.
	Deals []string `json:"deal_ids"`

	// Categories are those of the IAB's Content Taxonomy 1.0 that the campaign belongs to, as its
	// owner says: publishers may block them.
	Categories []string `json:"categories"`

	// ExcludeContexts are the subjects beside which the campaign does not run, and
	// SensitiveContexts the sensitive ones beside which it may where the publisher allows them too.
	// Trades are the restricted trades that it declares. All are ids of the lists of package
	// subject, in their order.
	ExcludeContexts   []string `json:"exclude_contexts"`
	SensitiveContexts []string `json:"sensitive_contexts"`
	Trades            []string `json:"trades"`

	PolicyViolations []Violation `json:"policy_violations"` // of the current creative; any of them stops delivery
	Review           *Review     `json:"review,omitempty"`  // the latest decision

	ConfigVersion int64     `json:"config_version"` // global, raised by every change of any campaign
	CreatedAt     time.Time `json:"created_at"`
	UpdatedAt     time.Time `json:"updated_at"`

	// Filled by the store from the ledger on reads; never written from here.
	SpentToday money.Micros `json:"spent_today"` // UTC day
	SpentTotal money.Micros `json:"spent_total"`

	// Advertiser is who ads say is behind them, as the store has it of the account; zero without a
	// name that an administrator approved.
	Advertiser account.Sponsor `json:"advertiser,omitzero"`
}

// Review is an administrator's decision on a campaign.
type Review struct {
	Decision   string    `json:"decision"` // approved or rejected
	Notes      string    `json:"notes,omitempty"`
	ReviewerID uuid.UUID `json:"reviewer_id"`
	At         time.Time `json:"at"`
	// Creative names what was judged: a digest of the creative's texts and links, and of the
	// restricted trades and the targeting words that were found. Empty for decisions of earlier
	// builds, which clear nothing.
	Creative string `json:"creative,omitempty"`
}

const (
	decisionApproved = "approved"
	decisionRejected = "rejected"
)

// Violation is one finding of the policy check.
type Violation struct {
	Rule    string `json:"rule"`  // stable name of the rule
	Field   string `json:"field"` // the campaign field it was found in; "creative" for all texts together
	Message string `json:"message"`
	Holds   bool   `json:"holds"` // a reviewer's approval does not clear it: the link is not safe
}

// Delivers says whether auctions may choose c, regardless of its budget.
func (c *Campaign) Delivers() bool { return c.Status == Active && len(c.PolicyViolations) == 0 }

// Waits says whether c waits for a reviewer: it is in review, or it is live and the policy found
// something that an approval clears.
func (c *Campaign) Waits() bool {
	return c.Status == InReview ||
		(c.Status == Active || c.Status == Paused) &&
			slices.ContainsFunc(c.PolicyViolations, func(v Violation) bool { return !v.Holds })
}

// Clone is a deep copy: slices and pointers are not shared with c.
func (c *Campaign) Clone() Campaign {
	d := *c
	t := &d.Targeting
	for _, list := range []*[]string{
		&t.IntentTokens, &t.Keywords, &t.ActiveTools, &t.HostApps, &t.Surfaces, &t.IntegrationMethods, &t.Regions,
		&t.Languages,
	} {
		*list = slices.Clone(*list)
	}
	for _, list := range d.ownLists() {
		*list = slices.Clone(*list)
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
	return d
}

// ownLists are the lists beside those of the targeting.
func (c *Campaign) ownLists() [5]*[]string {
	return [...]*[]string{&c.Deals, &c.Categories, &c.ExcludeContexts, &c.SensitiveContexts, &c.Trades}
}

// TargetingSize is the size of c's targeting: the bytes of all values of its lists, deals included,
// and one for each value.
func (c *Campaign) TargetingSize() (size int) {
	for _, list := range [...][]string{
		c.IntentTokens, c.Keywords, c.ActiveTools, c.HostApps, c.Surfaces, c.IntegrationMethods, c.Regions, c.Languages,
		c.Deals,
	} {
		for _, value := range list {
			size += len(value) + 1
		}
	}
	return size
}
