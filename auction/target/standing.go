package target

import "adnet/internal/money"

// Standing is what settled charges show about a campaign and the family of its advertiser. Campaigns
// with equal standings share one, as those of a family that pay for impressions do (benchmark row
// memory_100k). It must not change once a campaign has it.
type Standing struct {
	// Family is the id of the advertiser's family, zero while it is unknown.
	Family ID
	// Ceiling is the most that 1,000 impressions of a campaign that pays per act count for, in
	// micro-USD; 0 is no limit.
	Ceiling money.Micros
	// Vote is the part of a full vote of the family, in parts per million.
	Vote uint32
	// ClickRate and ConvertRate are the campaign's own rates ÷ those of the network, in parts per
	// million; 0 is unknown.
	ClickRate, ConvertRate uint32
	// Bound is the reason for showing the campaign in few of its requests.
	Bound Bound
}

// Bound is a reason for showing a campaign in few of its requests.
type Bound uint8

// The bounds, as in internal/campaign.
const (
	BoundNone Bound = iota
	BoundUnproven
	BoundBehind
)

// unknown is the standing of campaigns without one.
var unknown Standing
