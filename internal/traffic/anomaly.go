package traffic

import (
	"github.com/google/uuid"

	"adnet/internal/day"
)

// QuarantineRule is the reason for a publisher's quarantine.
type QuarantineRule string

// The rules, a closed list.
const (
	QuarantineCTR QuarantineRule = "ctr" // clicks per impression of the day
	// auctions whose only impression is invalid, among all of the day
	QuarantineInvalid QuarantineRule = "invalid_share"
	QuarantineSurge   QuarantineRule = "mint_surge" // Credits of the day against the mean of the week before
	QuarantineManual  QuarantineRule = "manual"     // an administrator's decision
	QuarantineOwner   QuarantineRule = "owner"      // a new seat whose owner has a case
	// far fewer clicks than the network's rate lets expect
	QuarantineQuiet QuarantineRule = "few_clicks"
	// many impressions and not one request of a reader; see [QuarantineRules.Readerless]
	QuarantineReaders QuarantineRule = "no_readers"
	// far fewer of the sold ads shown than the network's rate lets expect; see
	// [QuarantineRules.FewShown]
	QuarantineShown QuarantineRule = "few_shown"
	// far more acts of a campaign than it has elsewhere; see [QuarantineRules.ManyActs]
	QuarantineActs QuarantineRule = "many_acts"
)

// QuarantineRules holds the thresholds. A rule with a threshold of 0 is off.
type QuarantineRules struct {
	MinEvents    int64   // minimum impressions (for invalid_share: auctions) of the day
	CTR          float64 // clicks per impression
	InvalidShare float64 // 0 to 1
	Surge        float64 // times the mean
	Network      bool    // clicks and shown ads are compared with the network's rates
	Readers      int64   // impressions within [ReaderDays] of which a reader must have sent something
}

// SurgeDays is the number of days before that mint_surge compares; at least surgeActive of them
// must have mints, since a new publisher has no usual rate.
const (
	SurgeDays   = 7
	surgeActive = 3
)

// Evidence is the finding of a rule.
type Evidence struct {
	Rule      QuarantineRule `json:"rule"`
	Value     float64        `json:"value"`          // the measured value
	Threshold float64        `json:"threshold"`      // its upper limit
	Today     PublisherDay   `json:"day"`            // the numbers of the day
	By        uuid.UUID      `json:"by,omitzero"`    // of a manual case: the administrator
	Note      string         `json:"note,omitempty"` // of a sum's case: the sum
	Since     day.Day        `json:"since,omitzero"` // of a rule about several days: the first; else 0
	// of [QuarantineActs]: the campaign whose acts at the publisher wait; else zero
	Campaign uuid.UUID `json:"campaign,omitzero"`
}

// Anomaly judges one publisher's day by the days before it (in any order, without those of other
// publishers). It is pure; if several rules apply, the first of the list is returned.
func (r QuarantineRules) Anomaly(today PublisherDay, before []PublisherDay) (Evidence, bool) {
	for _, g := range r.gauges(today, before) {
		if r.strikes(g) {
			return Evidence{Rule: g.rule, Value: g.value, Threshold: g.threshold, Today: today}, true
		}
	}
	return Evidence{}, false
}

// gauge is the measurement of a rule on a day.
type gauge struct {
	rule      QuarantineRule
	value     float64 // infinite if only the divisor is zero
	threshold float64 // 0 is off
	volume    int64   // compared with MinEvents
}

func (g gauge) over() bool { return g.threshold > 0 && g.value > g.threshold }

func (r QuarantineRules) strikes(g gauge) bool { return g.over() && g.volume >= max(1, r.MinEvents) }

// gauges lists the rules in their order.
func (r QuarantineRules) gauges(today PublisherDay, before []PublisherDay) [3]gauge {
	today.withoutBrowser()
	// Auctions count, not events: a stranger's repeats and events beside the reader's have no
	// weight.
	invalid := max(0, today.Invalid-today.Redeemed)
	auctions := today.Impressions + invalid
	var minted, active int64
	for _, date := range before {
		date.withoutBrowser()
		if date.Day < today.Day && date.Day >= today.Day-SurgeDays && date.Minted > 0 {
			minted += date.Minted
			active++
		}
	}
	surge := gauge{QuarantineSurge, ratio(today.Minted*SurgeDays, minted), r.Surge, 0}
	if active >= surgeActive {
		surge.volume = today.Minted
	}
	return [...]gauge{
		{QuarantineCTR, ratio(today.Clicks, today.Impressions), r.CTR, today.Impressions},
		{QuarantineInvalid, ratio(invalid, auctions), r.InvalidShare, auctions},
		surge,
	}
}

func ratio(part, whole int64) float64 {
	if part == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// PublisherDay counts the events of a publisher's ads on a UTC day of receipt. Repeats, sandbox
// events and self-served ads are in none of the numbers.
type PublisherDay struct {
	DeveloperID uuid.UUID `json:"developer_id"`
	// of a seat and of another account of a family: the developer id of the family's oldest account,
	// where a store lists days
	OwnerID     uuid.UUID `json:"owner_id,omitzero"`
	Day         day.Day   `json:"day"`
	Minted      int64     `json:"minted"` // Credits, held ones included
	Capped      int64     `json:"capped"` // impressions that minted nothing because of the cap
	Impressions int64     `json:"impressions"`
	Clicks      int64     `json:"clicks"`
	Invalid     int64     `json:"invalid"`  // auctions with an invalid impression and no valid one before it
	Redeemed    int64     `json:"redeemed"` // the part of them followed by a valid impression
	// valid events that a reader's device sent as far as their requests show: followed links, pixels,
	// reports of pages
	Readers int64 `json:"readers"`

	// Events of browser keys: parts of the numbers above, except for invalid traffic, which is only
	// here. Anyone can copy such a key from a page, so nothing is held against the publisher.
	BrowserMinted      int64 `json:"browser_minted"`
	BrowserImpressions int64 `json:"browser_impressions"`
	BrowserClicks      int64 `json:"browser_clicks"`
	BrowserInvalid     int64 `json:"browser_invalid"`
}

// withoutBrowser subtracts the events of browser keys: strangers may have caused them with a key
// that they read on a page.
func (p *PublisherDay) withoutBrowser() {
	p.Minted -= p.BrowserMinted
	p.Impressions -= p.BrowserImpressions
	p.Clicks -= p.BrowserClicks
}

// Family returns the same id for all publishers of one family, its owners' seats included.
func (p *PublisherDay) Family() uuid.UUID {
	if p.OwnerID != uuid.Nil {
		return p.OwnerID
	}
	return p.DeveloperID
}

// Add adds the numbers of o.
func (p *PublisherDay) Add(o PublisherDay) {
	p.Minted += o.Minted
	p.Capped += o.Capped
	p.Impressions += o.Impressions
	p.Clicks += o.Clicks
	p.Invalid += o.Invalid
	p.Redeemed += o.Redeemed
	p.Readers += o.Readers
	p.BrowserMinted += o.BrowserMinted
	p.BrowserImpressions += o.BrowserImpressions
	p.BrowserClicks += o.BrowserClicks
	p.BrowserInvalid += o.BrowserInvalid
}
