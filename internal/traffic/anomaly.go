package traffic

import (
	"adnet/internal/day"

	"github.com/google/uuid"
)

// QuarantineRule says why a publisher is in quarantine.
type QuarantineRule string

// The rules, a closed list.
const (
	QuarantineCTR     QuarantineRule = "ctr"           // clicks per impression of the day
	QuarantineInvalid QuarantineRule = "invalid_share" // auctions whose only impression is invalid, among all of the day
	QuarantineSurge   QuarantineRule = "mint_surge"    // Credits of the day against the mean of the seven days before
	QuarantineManual  QuarantineRule = "manual"        // an administrator's decision
	QuarantineOwner   QuarantineRule = "owner"         // a new seat whose owner has a case
)

// QuarantineRules are the thresholds. A rule with a threshold of 0 is off.
type QuarantineRules struct {
	MinEvents    int64   // impressions (for invalid_share: auctions) of the day below which no rule looks
	CTR          float64 // clicks per impression
	InvalidShare float64 // 0 to 1
	Surge        float64 // times the mean
}

// SurgeDays is how far mint_surge looks back; at least surgeActive of these days must have mints,
// since a new publisher has no usual rate.
const (
	SurgeDays   = 7
	surgeActive = 3
)

// Evidence is the finding of a rule.
type Evidence struct {
	Rule      QuarantineRule `json:"rule"`
	Value     float64        `json:"value"`       // the measured value
	Threshold float64        `json:"threshold"`   // its upper limit
	Today     PublisherDay   `json:"day"`         // the numbers of the day
	By        uuid.UUID      `json:"by,omitzero"` // of a manual case: the administrator
	Note      string         `json:"note,omitempty"`
}

// Anomaly judges one publisher's day by the days before it (any order, other publishers' not among
// them). It is pure; of several rules that strike the first of the list answers.
func (r QuarantineRules) Anomaly(today PublisherDay, before []PublisherDay) (Evidence, bool) {
	said := today
	today.withoutBrowser()
	found := func(rule QuarantineRule, value, threshold float64) (Evidence, bool) {
		return Evidence{Rule: rule, Value: value, Threshold: threshold, Today: said}, true
	}
	if r.CTR > 0 && today.Impressions >= max(1, r.MinEvents) {
		if ctr := float64(today.Clicks) / float64(today.Impressions); ctr > r.CTR {
			return found(QuarantineCTR, ctr, r.CTR)
		}
	}
	// Of auctions, not of events: what a stranger repeats, or sends beside the reader, weighs nothing.
	invalid := max(0, today.Invalid-today.Redeemed)
	if auctions := today.Impressions + invalid; r.InvalidShare > 0 && auctions >= max(1, r.MinEvents) {
		if share := float64(invalid) / float64(auctions); share > r.InvalidShare {
			return found(QuarantineInvalid, share, r.InvalidShare)
		}
	}
	var minted, active int64
	for _, date := range before {
		date.withoutBrowser()
		if date.Day < today.Day && date.Day >= today.Day-SurgeDays && date.Minted > 0 {
			minted += date.Minted
			active++
		}
	}
	if r.Surge > 0 && today.Minted >= max(1, r.MinEvents) && active >= surgeActive {
		if times := float64(today.Minted) * SurgeDays / float64(minted); times > r.Surge {
			return found(QuarantineSurge, times, r.Surge)
		}
	}
	return Evidence{}, false
}

// PublisherDay counts the events of a publisher's ads on a UTC day of receipt. Repeats, sandbox
// events and self-served ads are in none of the numbers.
type PublisherDay struct {
	DeveloperID uuid.UUID `json:"developer_id"`
	Day         day.Day   `json:"day"`
	Minted      int64     `json:"minted"` // Credits, held ones included
	Capped      int64     `json:"capped"` // impressions that minted nothing because of the cap
	Impressions int64     `json:"impressions"`
	Clicks      int64     `json:"clicks"`
	Invalid     int64     `json:"invalid"`  // auctions with an invalid impression and no valid one before it
	Redeemed    int64     `json:"redeemed"` // those of them that a valid impression followed

	// What browser keys did: parts of the numbers above, but for invalid traffic, which is here
	// alone. Anybody can take such a key from a page, so nothing is held against the publisher.
	BrowserMinted      int64 `json:"browser_minted"`
	BrowserImpressions int64 `json:"browser_impressions"`
	BrowserClicks      int64 `json:"browser_clicks"`
	BrowserInvalid     int64 `json:"browser_invalid"`
}

// withoutBrowser takes out what browser keys did: strangers may have done it with a key that they
// read on a page.
func (p *PublisherDay) withoutBrowser() {
	p.Minted -= p.BrowserMinted
	p.Impressions -= p.BrowserImpressions
	p.Clicks -= p.BrowserClicks
}

// Add adds the numbers of o.
func (p *PublisherDay) Add(o PublisherDay) {
	p.Minted += o.Minted
	p.Capped += o.Capped
	p.Impressions += o.Impressions
	p.Clicks += o.Clicks
	p.Invalid += o.Invalid
	p.Redeemed += o.Redeemed
	p.BrowserMinted += o.BrowserMinted
	p.BrowserImpressions += o.BrowserImpressions
	p.BrowserClicks += o.BrowserClicks
	p.BrowserInvalid += o.BrowserInvalid
}
