package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/schemas/event"
)

// tokenWindow is the number of inserts within which a repeated token is recognised, as in the real
// analytics store.
const tokenWindow = 100_000

// Reports is the analytics store of the in-memory mode. It stores sums per day and dimensions, not
// events. Of events it stores only which were charged, to detect a second charge, and the first
// ones of the newest auctions, to explain them. It is safe for concurrent use.
type Reports struct {
	mu        sync.RWMutex
	days      map[day.Day]map[dimensions]*report.Counts
	converted map[convertedKey]*report.Converted
	delays    map[delayKey]int64
	traffic   map[day.Day]map[trafficKey]*report.Traffic
	totals    ledger.Totals
	billable  ledger.Billable
	billed    map[billedKey]struct{}
	highest   map[highestKey]money.Micros // charge
	until     time.Time
	auctions  int64
	notices   map[noticeKey]struct{}
	events    tokens
	outcomes  tokens
	noticed   tokens

	explained explained
}

// billedKey identifies an event that may be charged once.
type billedKey struct {
	auction uuid.UUID
	kind    ledger.EventType
}

// highestKey is the key of the highest charges.
type highestKey struct {
	campaign uuid.UUID
	model    string
}

// noticeKey identifies a notice that counts once.
type noticeKey struct {
	auction     uuid.UUID
	kind, proof string
}

// dimensions are the keys by which stats are split and filtered.
type dimensions struct {
	advertiser, campaign, developer    uuid.UUID
	format, integrationMethod, hostApp string
	surface, region, language          string
	hour                               uint8 // of the day
}

// NewReports returns an empty store.
func NewReports() *Reports {
	return &Reports{
		days:      make(map[day.Day]map[dimensions]*report.Counts),
		converted: make(map[convertedKey]*report.Converted),
		delays:    make(map[delayKey]int64),
		traffic:   make(map[day.Day]map[trafficKey]*report.Traffic),

		totals: ledger.Totals{ByVerdict: make(map[ledger.Verdict]int64)},
		billed: make(map[billedKey]struct{}), highest: make(map[highestKey]money.Micros),
		notices: make(map[noticeKey]struct{}),
	}
}

// errNoToken reports an insert without a token: a repeat of it would count twice.
var errNoToken = errors.New("insert without a deduplication token")

// tokens holds the last tokenWindow tokens.
type tokens struct {
	seen map[string]struct{}
	ring []string
	next int
}

// first reports whether token is new, and stores it.
func (t *tokens) first(token string) bool {
	if _, known := t.seen[token]; known {
		return false
	}
	if t.seen == nil {
		t.seen = make(map[string]struct{})
	}
	token = strings.Clone(token)
	if len(t.ring) < tokenWindow {
		t.ring = append(t.ring, token)
	} else {
		delete(t.seen, t.ring[t.next])
		t.ring[t.next] = token
		t.next = (t.next + 1) % tokenWindow
	}
	t.seen[token] = struct{}{}
	return true
}

// Insert counts rows once per token. Without rows it does nothing. Error: an empty token.
func (r *Reports) Insert(_ context.Context, token string, rows []report.Row) error {
	if len(rows) == 0 {
		return nil
	}
	if token == "" {
		return errNoToken
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.events.first(token) {
		return nil
	}
	for i := range rows {
		r.insert(&rows[i])
	}
	return nil
}

func (r *Reports) insert(row *report.Row) {
	if of := (highestKey{row.CampaignID, row.BillingModel}); row.Charge > r.highest[of] {
		r.highest[of] = row.Charge
	}
	received := row.ReceivedAt
	if received.Before(time.Unix(0, 0)) {
		received = time.Unix(0, 0)
	}
	date := r.days[day.Of(received)]
	if date == nil {
		date = make(map[dimensions]*report.Counts)
		r.days[day.Of(received)] = date
	}
	key := dimensions{
		advertiser: row.AdvertiserID, campaign: row.CampaignID, developer: row.DeveloperID,
		format: row.Format, integrationMethod: row.IntegrationMethod, hostApp: row.HostApp,
		surface: row.Surface, region: row.Region, language: row.Language, hour: uint8(received.UTC().Hour()),
	}
	counts := date[key]
	if counts == nil {
		counts = new(report.Counts)
		// The texts may be parts of a decoded record; the key must not keep the whole record alive.
		key.format, key.integrationMethod = strings.Clone(key.format), strings.Clone(key.integrationMethod)
		for _, text := range []*string{&key.hostApp, &key.surface, &key.region, &key.language} {
			*text = strings.Clone(*text)
		}
		date[key] = counts
	}
	before := counts.Conversions()
	if count(counts, row); counts.Conversions() > before {
		r.convert(day.Of(received), row)
	}
	if row.Type == ledger.Conversion && row.Charge > 0 {
		r.delay(row)
	}
	if reason := report.TrafficReason(row.Verdict, row.Credit); reason != "" {
		r.addTraffic(day.Of(received), row, reason)
	}
	if key := (billedKey{row.AuctionID, row.Type}); row.Charge > 0 {
		if _, known := r.billed[key]; !known {
			r.billed[key] = struct{}{}
			r.billable.Add(row.Price, row.Charge)
		}
	}
	r.explained.addEvent(row)
	r.totals.Rows++
	r.totals.Charge += row.Charge
	r.totals.Minted += row.Minted
	r.totals.ByVerdict[row.Verdict]++
	if at := received.UTC().Truncate(time.Microsecond); at.After(r.until) && at.Unix() > 0 {
		r.until = at
	}
}

// count adds one event to c, by the rules of report.Counts.
func count(c *report.Counts, row *report.Row) {
	c.Spend += row.Charge
	c.Credits += row.Minted
	if row.Charge > 0 {
		c.Billed++
	}
	switch v := row.Verdict; {
	case v == ledger.OK, v == ledger.VerdictPaused, v == ledger.OverBudget, v == ledger.OverBalance,
		v == ledger.ConversionCapped, v == ledger.SelfServed:
		countType(c, row)
	case v == ledger.Duplicate:
		c.Duplicates++
	case v == ledger.VerdictHouse: // in no count: see [report.TrafficHouse]
	case v == ledger.VerdictSandbox:
		c.Sandbox++
	case v == ledger.VerdictUnverified:
		c.Unverified++
	case strings.HasPrefix(string(v), string(ledger.InvalidTraffic)):
		c.Invalid++
	default:
		c.Rejected++
	}
}

func countType(c *report.Counts, row *report.Row) {
	if t, known := event.TypeOf(string(row.Type)); known {
		c.Events[t]++
	}
	if row.Type == ledger.Conversion && (row.Currency == "" || row.Currency == "USD") {
		c.ConversionUSD = c.ConversionUSD.AddSaturated(row.ConversionValue)
	}
}

// InsertAuctions counts outcomes of auctions once per token, and stores the newest to explain them.
// Error: an empty token.
func (r *Reports) InsertAuctions(_ context.Context, token string, rows []report.Auction) error {
	if len(rows) == 0 {
		return nil
	}
	if token == "" {
		return errNoToken
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.outcomes.first(token) {
		r.auctions += int64(len(rows))
		for i := range rows {
			r.explained.addAuction(&rows[i])
		}
	}
	return nil
}

// Auctions returns the number of inserted auctions.
func (r *Reports) Auctions(context.Context) (int64, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.auctions, nil
}

// maxNotices bounds the stored notices: any client may send them, and in-memory mode has no disk
// for them.
const maxNotices = 1_000_000

// InsertNotices counts one notice of each kind about each bid. It stores nothing else of them, and
// beyond a million nothing. Error: an empty token.
func (r *Reports) InsertNotices(_ context.Context, token string, rows []report.Notice) error {
	if len(rows) == 0 {
		return nil
	}
	if token == "" {
		return errNoToken
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.noticed.first(token) {
		for i := range rows {
			if len(r.notices) < maxNotices {
				r.notices[noticeKey{rows[i].AuctionID, rows[i].Kind, rows[i].Proof}] = struct{}{}
			}
		}
	}
	return nil
}

// Notices returns the number of inserted notices.
func (r *Reports) Notices(context.Context) (int64, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return int64(len(r.notices)), nil
}

// Billable values the unique charged events by their prices.
func (r *Reports) Billable(context.Context) (ledger.Billable, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.billable, nil
}

// HighestCharges lists the most that one event of each campaign and billing model was charged.
func (r *Reports) HighestCharges(context.Context) ([]ledger.HighestCharge, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	charges := make([]ledger.HighestCharge, 0, len(r.highest))
	for of, charge := range r.highest {
		charges = append(
			charges,
			ledger.HighestCharge{
				CampaignID: of.campaign, BillingModel: campaign.BillingModel(of.model), Charge: charge,
			},
		)
	}
	return charges, nil
}

// Totals sums all inserted rows, for the comparison with the ledger.
func (r *Reports) Totals(context.Context) (ledger.Totals, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	totals := r.totals
	totals.ByVerdict = make(map[ledger.Verdict]int64, len(r.totals.ByVerdict))
	for v, n := range r.totals.ByVerdict {
		totals.ByVerdict[v] = n
	}
	return totals, nil
}

// Aggregate returns the number of rows in a roll-up of the day. The sums are always current here,
// so there is nothing to compute. Error: errs.InvalidRequest for a day outside 1970 to 2105.
func (r *Reports) Aggregate(_ context.Context, date day.Day) (int, error) {
	if date < 0 || date.Time().Year() > 2105 {
		return 0, errs.New(errs.InvalidRequest, "the day must lie between 1970 and 2105")
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.days[date]), nil
}

// keyOf returns a row's key in each breakdown from its dimensions. Breakdowns by day and by hour
// use the day as well.
var keyOf = map[report.Breakdown]func(*dimensions) string{
	"":                         nil,
	report.ByDay:               nil,
	report.ByCampaign:          func(d *dimensions) string { return d.campaign.String() },
	report.ByFormat:            func(d *dimensions) string { return d.format },
	report.ByHostApp:           func(d *dimensions) string { return d.hostApp },
	report.ByIntegrationMethod: func(d *dimensions) string { return d.integrationMethod },
	report.ByPublisher:         func(d *dimensions) string { return d.developer.String() },
	report.BySurface:           func(d *dimensions) string { return d.surface },
	report.ByRegion:            func(d *dimensions) string { return d.region },
	report.ByLanguage:          func(d *dimensions) string { return d.language },
}

// Stats answers q. Error: errs.InvalidRequest for a breakdown outside the closed list.
func (r *Reports) Stats(_ context.Context, q report.Query) (report.Result, error) {
	if err := q.Check(); err != nil {
		return report.Result{}, err
	}
	key := keyOf[q.Breakdown]
	groups := make(map[string]*report.Counts)
	r.mu.RLock()
	defer r.mu.RUnlock()
	result := report.Result{AsOf: r.until}
	for date, rows := range r.days {
		if date < q.Since || date > q.Until {
			continue
		}
		daily, some := report.Group{Key: date.String()}, false
		for d, counts := range rows {
			if !matches(q, &d) {
				continue
			}
			some = true
			daily.Add(*counts)
			switch {
			case q.Breakdown == report.ByHour:
				addTo(groups, report.Hour(date.Time().Add(time.Duration(d.hour)*time.Hour)), counts)
			case key != nil:
				addTo(groups, key(&d), counts)
			}
		}
		if some {
			result.Daily = append(result.Daily, daily)
			result.Add(daily.Counts)
		}
	}
	slices.SortFunc(result.Daily, func(a, b report.Group) int { return cmp.Compare(a.Key, b.Key) })
	for k, counts := range groups {
		result.Groups = append(result.Groups, report.Group{Key: k, Counts: *counts})
	}
	if q.Breakdown == report.ByDay {
		result.Groups = slices.Clone(result.Daily)
	}
	q.Breakdown.Sort(result.Groups)
	result.Traffic = r.trafficOf(q)
	return result, nil
}

// trafficKey is the filter key of traffic, and its reason.
type trafficKey struct {
	dimensions // of these only the ids
	reason     string
}

func (r *Reports) addTraffic(date day.Day, row *report.Row, reason string) {
	if r.traffic[date] == nil {
		r.traffic[date] = make(map[trafficKey]*report.Traffic)
	}
	key := trafficKey{
		dimensions{advertiser: row.AdvertiserID, campaign: row.CampaignID, developer: row.DeveloperID},
		strings.Clone(reason),
	}
	t := r.traffic[date][key]
	if t == nil {
		t = &report.Traffic{Reason: key.reason}
		r.traffic[date][key] = t
	}
	addTraffic(t, row.Type, 1)
}

func addTraffic(t *report.Traffic, kind ledger.EventType, n int64) {
	switch kind {
	case ledger.Impression:
		t.Impressions += n
	case ledger.Click:
		t.Clicks += n
	default:
		t.Other += n
	}
}

// trafficOf sums the reasons of q. The mutex is held.
func (r *Reports) trafficOf(q report.Query) []report.Traffic {
	sums := make(map[string]report.Traffic)
	for date, rows := range r.traffic {
		for key, t := range rows {
			if date < q.Since || date > q.Until || !matches(q, &key.dimensions) {
				continue
			}
			sum := sums[key.reason]
			sum.Reason = key.reason
			addTraffic(&sum, ledger.Impression, t.Impressions)
			addTraffic(&sum, ledger.Click, t.Clicks)
			addTraffic(&sum, "", t.Other)
			sums[key.reason] = sum
		}
	}
	var list []report.Traffic
	for _, sum := range sums {
		list = append(list, sum)
	}
	slices.SortFunc(list, func(a, b report.Traffic) int { return strings.Compare(a.Reason, b.Reason) })
	return list
}

func matches(q report.Query, d *dimensions) bool {
	return (q.AdvertiserID == uuid.Nil || q.AdvertiserID == d.advertiser) &&
		(q.CampaignID == uuid.Nil || q.CampaignID == d.campaign) &&
		(q.DeveloperID == uuid.Nil || q.DeveloperID == d.developer) &&
		(len(q.Families) == 0 || slices.ContainsFunc(q.Families, func(f report.Relatives) bool {
			return slices.Contains(f.Advertisers, d.advertiser) && slices.Contains(f.Developers, d.developer)
		}))
}

func addTo(groups map[string]*report.Counts, key string, counts *report.Counts) {
	group := groups[key]
	if group == nil {
		group = new(report.Counts)
		groups[key] = group
	}
	group.Add(*counts)
}
