package campaign

import (
	"github.com/google/uuid"

	"adnet/internal/money"
)

// FullVote is the vote of a family with the full weight.
const FullVote int64 = 1_000_000

// Standing is what settled charges show about a campaign and the family of its advertiser.
// consumers/standing sets it, edits do not. The API does not show it as it is; [Campaign.Record]
// includes it.
type Standing struct {
	// Family is the id of the advertiser's family; see internal/account/family. Zero is unknown.
	Family uuid.UUID `json:"family"`
	// Vote is the part of a full vote that the family has in rules that count advertisers, in parts
	// per million.
	Vote int64 `json:"vote,omitzero"`
	// ClickRate and ConvertRate are the campaign's own rates of clicks by impressions and of
	// conversions by clicks ÷ those of the network, in parts per million; 0 is unknown.
	ClickRate   int64 `json:"click_rate,omitzero"`
	ConvertRate int64 `json:"convert_rate,omitzero"`
	// Ceiling is the most that 1,000 impressions of a campaign that pays per act count for in an
	// auction, in micro-USD; 0 is no limit.
	Ceiling money.Micros `json:"ceiling,omitzero"`
	// Bound is the reason for showing a campaign in few of its requests; empty for none.
	Bound Bound `json:"bound,omitzero"`
}

// StandingChange is a new standing of a campaign.
type StandingChange struct {
	CampaignID uuid.UUID
	Seen       int64 // the config version that the change is based on
	Standing   Standing
}

// Bound is a reason why a campaign that pays per click or conversion shows in few of its requests
// until it pays again.
type Bound string

// The bounds.
const (
	// Unproven: the family has shown as many ads as it may before its first charged act.
	Unproven Bound = "unproven"
	// Behind: far fewer acts were charged than the ads of the campaign let expect.
	Behind Bound = "behind"
)

// CureOfBound is the way out of a bound.
const CureOfBound = "pay per impression, repair the conversion key (reports of conversions that are refused or never " +
	"sent), or ask for a review (until a person approves it, it waits in the operator's review queue)"

// DeliveryBound is a bound as owners see it.
type DeliveryBound struct {
	Reason Bound  `json:"reason"`
	Cure   string `json:"cure"`
}

// Displayed returns b with its cure; nil for no bound.
func (b Bound) Displayed() *DeliveryBound {
	if b == "" {
		return nil
	}
	return &DeliveryBound{b, CureOfBound}
}

// PaysPerAct reports whether c pays for clicks or conversions, and not for what is shown.
func (c *Campaign) PaysPerAct() bool { return c.BillingModel == CPC || c.BillingModel == CPA }

// ApprovedByPerson reports whether the last review of c is an approval by an administrator.
func (c *Campaign) ApprovedByPerson() bool {
	return c.Review != nil && c.Review.Decision == decisionApproved && c.Review.ReviewerID != uuid.Nil
}
