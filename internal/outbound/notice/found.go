package notice

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/outbound/webhook"
)

// Found is a fact that a timer found. Stores report the same one only once.
type Found struct {
	webhook.Fact
	Once string // the object and the occasion
}

// The periods of the rules, in UTC days.
const (
	SpendDays = 7  // whose mean spend states how long a balance lasts
	LowDays   = 3  // a balance that lasts for less is low
	QuietDays = 14 // without an ad, after which the owner of keys is informed
	quietEnds = 28 // no report later: the keys were left long ago
)

// WaitsLong is the wait after which administrators are informed.
const WaitsLong = 24 * time.Hour

// Times are the times of an observation.
type Times struct {
	Now   time.Time
	Daily bool // include what happened yesterday and, on a Monday, in the week: they cost scans
}

// Today returns the UTC day of an observation.
func (t Times) Today() day.Day { return day.Of(t.Now) }

// Silent reports whether keys whose newest use or creation was on a day are worth a report.
func (t Times) Silent(since day.Day) bool {
	quiet := int(t.Today() - since)
	return quiet >= QuietDays && quiet <= quietEnds
}

// Observed holds facts of the books that may be worth a report.
type Observed struct {
	Charged  []Charged  // active campaigns with a charge whose first ad or spent budget is not reported
	Balances []Balance  // of accounts with active campaigns that cash pays for
	Silent   []Silent   // accounts whose keys showed no ad lately, not reported
	Released []Released // yesterday
	Weeks    []Week     // of accounts that ask for a weekly report
	Admins   []uuid.UUID
	Waiting  Waiting // for longer than [WaitsLong]
}

// Charged is an active campaign with its spend.
type Charged struct {
	CampaignID, AdvertiserID uuid.UUID
	Billing                  campaign.BillingModel
	Bid, Total, Spent        money.Micros
}

// Balance is an account's cash and its spend of [SpendDays].
type Balance struct {
	AdvertiserID uuid.UUID
	Cash, Spent  money.Micros
}

// Silent is an account whose keys showed no ad since a day.
type Silent struct {
	AccountID, DeveloperID uuid.UUID
	Since                  day.Day
}

// Released counts the Credits of a publisher that were released on a day.
type Released struct {
	DeveloperID uuid.UUID
	Day         day.Day
	Credits     int64
}

// Week sums the seven days before a Monday.
type Week struct {
	AccountID     uuid.UUID
	Spent         money.Micros // by its campaigns
	Shown, Clicks int64        // in its placements
}

// Weekly reports whether an observation includes weeks.
func (t Times) Weekly() bool { return t.Daily && t.Now.UTC().Weekday() == time.Monday }

// Waiting counts what waits for administrators.
type Waiting struct {
	Review  int `json:"review"`  // campaigns
	Reports int `json:"reports"` // campaigns with undecided reports
	Appeals int `json:"appeals"`
}

// FirstAd returns what makes the report of a campaign's first ad unique.
func FirstAd(campaignID uuid.UUID) string { return campaignID.String() }

// BudgetSpent returns what makes the report of a spent budget unique: a higher budget can be spent
// again.
func BudgetSpent(campaignID uuid.UUID, total money.Micros) string {
	return fmt.Sprintf("%s %d", campaignID, int64(total))
}

// SilentOnce returns what makes the report of unused keys unique.
func SilentOnce(since day.Day) string { return fmt.Sprint(int32(since)) }

// spent reports whether a campaign's total budget has no room for another ad.
func (c *Charged) spent() bool {
	price := c.Bid
	if c.Billing.Thousands() {
		price = c.Bid.PerMille()
	}
	left := c.Total - c.Spent
	return c.Total > 0 && (left <= 0 || left < price)
}

// low reports whether a balance lasts for less than [LowDays], and for how many whole days.
func (b *Balance) low() (days int64, is bool) {
	if b.Spent <= 0 || b.Cash*SpendDays >= b.Spent*LowDays {
		return 0, false
	}
	return max(0, int64(b.Cash*SpendDays/b.Spent)), true
}

// Find returns the facts of an observation.
func (o *Observed) Find(at Times) (list []Found) {
	for i := range o.Charged {
		list = append(list, o.Charged[i].find()...)
	}
	year, week := at.Now.UTC().ISOWeek()
	for i := range o.Balances {
		if days, is := o.Balances[i].low(); is {
			b := &o.Balances[i]
			list = append(list, found(webhook.BalanceLow, b.AdvertiserID, fmt.Sprintf("%d-%d", year, week), map[string]any{
				"advertiser_id": b.AdvertiserID, "balance_usd": b.Cash, "days": days,
			}))
		}
	}
	for _, k := range o.Silent {
		list = append(list, found(webhook.KeyUnused, k.AccountID, SilentOnce(k.Since), map[string]any{
			"developer_id": k.DeveloperID, "since": k.Since.String(),
		}))
	}
	for _, r := range o.Released {
		f := found(webhook.CreditsReleased, uuid.Nil, r.Day.String(), map[string]any{
			"developer_id": r.DeveloperID, "date": r.Day.String(), "credits": r.Credits,
		})
		f.Publisher, f.About = r.DeveloperID, "publisher "+r.DeveloperID.String()
		list = append(list, f)
	}
	for _, w := range o.Weeks {
		list = append(list, found(WeeklyReport, w.AccountID, at.Today().String(), map[string]any{
			"date": (at.Today() - 1).String(), "spent_usd": w.Spent, "impressions": w.Shown, "clicks": w.Clicks,
		}))
	}
	return append(list, o.waits(at)...)
}

func (c *Charged) find() (list []Found) {
	data := map[string]any{"campaign_id": c.CampaignID.String(), "advertiser_id": c.AdvertiserID}
	first := found(webhook.CampaignFirstAd, c.AdvertiserID, FirstAd(c.CampaignID), data)
	first.About = "campaign " + c.CampaignID.String()
	list = append(list, first)
	if c.spent() {
		ended := found(webhook.CampaignBudgetSpent, c.AdvertiserID, BudgetSpent(c.CampaignID, c.Total), data)
		ended.About = first.About
		list = append(list, ended)
	}
	return list
}

// waits returns the facts for administrators, once a day.
func (o *Observed) waits(at Times) (list []Found) {
	for _, admin := range o.Admins {
		for _, w := range []struct {
			kind  webhook.Event
			count int
		}{{ReviewWaits, o.Waiting.Review}, {ReportsWait, o.Waiting.Reports}, {AppealsWait, o.Waiting.Appeals}} {
			if w.count > 0 {
				list = append(list, found(w.kind, admin, at.Today().String(), map[string]any{"count": w.count}))
			}
		}
	}
	return list
}

func found(event webhook.Event, owner uuid.UUID, once string, data map[string]any) Found {
	return Found{Once: once, Fact: webhook.Fact{
		Event: event, OwnerID: owner, About: "user " + owner.String(), Data: data,
	}}
}
