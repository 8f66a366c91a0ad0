// Package analytics is the analytics store of the in-memory mode: it stores sums per day and
// dimensions in the process, where ClickHouse stores rows.
package analytics

import (
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

// Store is the analytics store of the in-memory mode. It stores sums per day and dimensions, not
// events. Of events it stores only which were charged, to detect a second charge, and the first
// ones of the newest auctions, to explain them. It is safe for concurrent use.
type Store struct {
	mu        sync.RWMutex
	days      map[day.Day]map[dimensions]*report.Counts
	sums      map[day.Day]map[ids]*report.Counts // of days
	lots      map[day.Day]map[lot]*report.Counts // impressions, clicks, spend and Credits
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
	terms     termMonths
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

// ids are the keys by which stats are filtered.
type ids struct{ advertiser, campaign, developer uuid.UUID }

// dimensions are the keys by which stats are split.
type dimensions struct {
	ids
	format, integrationMethod, hostApp string
	surface, region, language          string
	hour                               uint8 // of the day
}

// New returns an empty store.
func New() *Store {
	return &Store{
		days:      make(map[day.Day]map[dimensions]*report.Counts),
		sums:      make(map[day.Day]map[ids]*report.Counts),
		lots:      make(map[day.Day]map[lot]*report.Counts),
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

// insertOnce adds rows unless seen has their token.
func insertOnce[T any](mu sync.Locker, seen *tokens, token string, rows []T, add func(*T)) error {
	if len(rows) == 0 {
		return nil
	}
	if token == "" {
		return errNoToken
	}
	mu.Lock()
	defer mu.Unlock()
	if seen.first(token) {
		for i := range rows {
			add(&rows[i])
		}
	}
	return nil
}

// Insert counts rows once per token. Without rows it does nothing. Error: an empty token.
func (r *Store) Insert(_ context.Context, token string, rows []report.Row) error {
	return insertOnce(&r.mu, &r.events, token, rows, r.insert)
}

func (r *Store) insert(row *report.Row) {
	if of := (highestKey{row.CampaignID, row.BillingModel}); row.Charge > r.highest[of] {
		r.highest[of] = row.Charge
	}
	received := row.ReceivedAt
	if received.Before(time.Unix(0, 0)) {
		received = time.Unix(0, 0)
	}
	date, sums := r.days[day.Of(received)], r.sums[day.Of(received)]
	if date == nil {
		date, sums = make(map[dimensions]*report.Counts), make(map[ids]*report.Counts)
		r.days[day.Of(received)], r.sums[day.Of(received)] = date, sums
	}
	key := dimensions{
		ids:    ids{row.AdvertiserID, row.CampaignID, row.DeveloperID},
		format: row.Format, integrationMethod: row.IntegrationMethod, hostApp: row.HostApp,
		surface: row.Surface, region: row.Region, language: row.Language, hour: uint8(received.UTC().Hour()),
	}
	sum := sums[key.ids]
	if sum == nil {
		sum = new(report.Counts)
		sums[key.ids] = sum
	}
	count(sum, row)
	r.addLot(day.Of(received), row, oneOf(row))
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
func (r *Store) InsertAuctions(_ context.Context, token string, rows []report.Auction) error {
	marked := false // the terms of all rows first, as in the real analytics store
	return insertOnce(&r.mu, &r.outcomes, token, rows, func(row *report.Auction) {
		for i := range rows {
			if !marked {
				r.terms.mark(&rows[i])
			}
		}
		marked = true
		r.auctions++
		r.explained.addAuction(row, r.terms.recorded(row))
	})
}

// Auctions returns the number of inserted auctions.
func (r *Store) Auctions(context.Context) (int64, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.auctions, nil
}

// maxNotices bounds the stored notices: any client may send them, and in-memory mode has no disk
// for them.
const maxNotices = 1_000_000

// InsertNotices counts one notice of each kind about each bid. It stores nothing else of them, and
// beyond a million nothing. Error: an empty token.
func (r *Store) InsertNotices(_ context.Context, token string, rows []report.Notice) error {
	return insertOnce(&r.mu, &r.noticed, token, rows, func(row *report.Notice) {
		if len(r.notices) < maxNotices {
			r.notices[noticeKey{row.AuctionID, row.Kind, row.Proof}] = struct{}{}
		}
	})
}

// Notices returns the number of inserted notices.
func (r *Store) Notices(context.Context) (int64, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return int64(len(r.notices)), nil
}

// Billable values the unique charged events by their prices.
func (r *Store) Billable(context.Context) (ledger.Billable, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.billable, nil
}

// HighestCharges lists the most that one event of each campaign and billing model was charged.
func (r *Store) HighestCharges(context.Context) ([]ledger.HighestCharge, error) {
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
func (r *Store) Totals(context.Context) (ledger.Totals, error) {
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
func (r *Store) Aggregate(_ context.Context, date day.Day) (int, error) {
	if date < 0 || date.Time().Year() > 2105 {
		return 0, errs.New(errs.InvalidRequest, "the day must lie between 1970 and 2105")
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.days[date]), nil
}

// selection is a query with its families by account.
type selection struct {
	report.Query
	advertisers, developers map[uuid.UUID]int // number of the family, from 1
}

func selectionOf(q report.Query) selection {
	of := selection{Query: q}
	if len(q.Families) > 0 {
		of.advertisers, of.developers = make(map[uuid.UUID]int), make(map[uuid.UUID]int)
	}
	for n, f := range q.Families {
		for _, id := range f.Advertisers {
			of.advertisers[id] = n + 1
		}
		for _, id := range f.Developers {
			of.developers[id] = n + 1
		}
	}
	return of
}

func (of *selection) matches(d *ids) bool {
	if len(of.Families) > 0 {
		if family := of.advertisers[d.advertiser]; family == 0 || family != of.developers[d.developer] {
			return false
		}
	}
	return (of.AdvertiserID == uuid.Nil || of.AdvertiserID == d.advertiser) &&
		(of.CampaignID == uuid.Nil || of.CampaignID == d.campaign) &&
		(of.DeveloperID == uuid.Nil || of.DeveloperID == d.developer)
}

// trafficKey is the filter key of traffic, and its reason.
type trafficKey struct {
	ids
	reason string
}

func (r *Store) addTraffic(date day.Day, row *report.Row, reason string) {
	if r.traffic[date] == nil {
		r.traffic[date] = make(map[trafficKey]*report.Traffic)
	}
	key := trafficKey{ids{row.AdvertiserID, row.CampaignID, row.DeveloperID}, strings.Clone(reason)}
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

// trafficOf sums the reasons of a selection. The mutex is held.
func (r *Store) trafficOf(of *selection) []report.Traffic {
	sums := make(map[string]report.Traffic)
	for date, rows := range r.traffic {
		if date < of.Since || date > of.Until {
			continue
		}
		for key, t := range rows {
			if !of.matches(&key.ids) {
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

func addTo[K comparable](groups map[K]*report.Counts, key K, counts *report.Counts) {
	group := groups[key]
	if group == nil {
		group = new(report.Counts)
		groups[key] = group
	}
	group.Add(*counts)
}
