package stats

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/report"
)

const (
	// The day bounds the partitions; the id is the sorting key. A repeated record counts once.
	auctionQuery = `
SELECT auction_id, at, developer_id, campaign_id, reason, price, ecpm, format, creative_format, integration_method,
	surface, region, language,
    host_app, sandbox,
    took_us, tokens, tools, floor, candidate_ids, candidate_ecpms, arrayMap(x -> toString(x),
	candidate_reasons) AS candidate_reasons, more_candidates,
    model_version, explores, house_id, suitability, suitability_by, age_adult
FROM auctions
WHERE auction_id = {auction:UUID} AND day BETWEEN {since:Date} AND {until:Date}
LIMIT 1`

	// The table is sorted by campaign, day, type, auction.
	auctionEventsQuery = `
SELECT event_id, received_at, type, verdict, price, charge, minted, billing_model, conversion_type, conversion_value,
	currency
FROM events
WHERE campaign_id = {campaign:UUID} AND day BETWEEN {since:Date} AND {until:Date} AND auction_id = {auction:UUID}
ORDER BY received_at, event_id
LIMIT {most:UInt32}`

	askedQuery = `
SELECT toString(reason) AS outcome, count() AS n, max(at) AS last
FROM auctions
WHERE ({all:Bool} OR developer_id = {developer:UUID}) AND day BETWEEN {since:Date} AND {until:Date}
	AND NOT sandbox` + notRefused + `
GROUP BY outcome`

	// After the keys of [askedGroups]: the values with the most requests.
	askedGroupsQuery = ` count() AS requests, countIf(reason = '') AS filled
FROM auctions
WHERE ({all:Bool} OR developer_id = {developer:UUID}) AND day BETWEEN {since:Date} AND {until:Date}
	AND NOT sandbox` + notRefused + `
GROUP BY key, key2 ORDER BY requests DESC, key, key2`

	deliveryQuery = `
SELECT candidate_id = toUUID('00000000-0000-0000-0000-000000000000') AS whole, toString(outcome) AS outcome,
	sum(auctions) AS n
FROM candidate_minutes
WHERE candidate_id IN (toUUID('00000000-0000-0000-0000-000000000000'), {campaign:UUID})
    AND minute >= toStartOfMinute(toDateTime({since:Int64}, 'UTC')) AND minute <= toDateTime({until:Int64}, 'UTC')
    AND toDate(minute) BETWEEN {first:Date} AND {last:Date}
GROUP BY whole, outcome`
)

// MaxAuctionEvents is the maximum number of events returned for one auction, oldest first.
const MaxAuctionEvents = 200

// recordedTermsQuery checks again that enough people use a term: a recorded term must still be
// common when it is shown.
const recordedTermsQuery = `
SELECT term FROM known_terms
WHERE month = toStartOfMonth({day:Date}) AND term IN (
    SELECT arrayJoin(terms) FROM outcome_terms WHERE day BETWEEN {since:Date} AND {until:Date}
	AND auction_id = {auction:UUID})
ORDER BY term`

// eventsFor is how many days after an auction its events are searched: no token lives longer, and a
// few more days cover events that arrive late.
const eventsFor = 40

type auctionRow struct {
	AuctionID         uuid.UUID   `ch:"auction_id"`
	At                time.Time   `ch:"at"`
	DeveloperID       uuid.UUID   `ch:"developer_id"`
	CampaignID        uuid.UUID   `ch:"campaign_id"`
	Reason            string      `ch:"reason"`
	Price             int64       `ch:"price"`
	ECPM              int64       `ch:"ecpm"`
	Format            string      `ch:"format"`
	CreativeFormat    string      `ch:"creative_format"`
	IntegrationMethod string      `ch:"integration_method"`
	Surface           string      `ch:"surface"`
	Region            string      `ch:"region"`
	Language          string      `ch:"language"`
	HostApp           string      `ch:"host_app"`
	Sandbox           bool        `ch:"sandbox"`
	TookUS            int64       `ch:"took_us"`
	Tokens            int64       `ch:"tokens"`
	Tools             int64       `ch:"tools"`
	Floor             int64       `ch:"floor"`
	IDs               []uuid.UUID `ch:"candidate_ids"`
	ECPMs             []int64     `ch:"candidate_ecpms"`
	Reasons           []string    `ch:"candidate_reasons"`
	More              bool        `ch:"more_candidates"`
	ModelVersion      string      `ch:"model_version"`
	Explores          bool        `ch:"explores"`
	HouseID           uuid.UUID   `ch:"house_id"`
	Suitability       string      `ch:"suitability"`
	SuitabilityBy     string      `ch:"suitability_by"`
	AgeAdult          bool        `ch:"age_adult"`
}

// Auction returns the record of one auction, which took place at about at. Errors: errs.NotFound
// when none is recorded (yet); errs.Unavailable as [Reader.Stats].
func (r *Reader) Auction(ctx context.Context, id uuid.UUID, at time.Time) (report.Auction, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	date := storedDay(at)
	var rows []auctionRow
	err := r.store.Select(ctx, &rows, auctionQuery, map[string]string{
		"auction": id.String(), "since": max(date-1, 0).String(), "until": min(date+1, lastDay).String(),
	})
	if err != nil {
		return report.Auction{}, r.failure(ctx, err)
	}
	if len(rows) == 0 {
		return report.Auction{}, errs.New(errs.NotFound, "there is no record of this auction")
	}
	return rows[0].auction(), nil
}

// RecordedTerms returns the recorded terms of an auction at about at, ascending, that enough people
// use; none if nothing was recorded. Errors: as [Reader.Stats].
func (r *Reader) RecordedTerms(ctx context.Context, id uuid.UUID, at time.Time) ([]uint32, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	date := storedDay(at)
	var rows []struct {
		Term uint32 `ch:"term"`
	}
	err := r.store.Select(ctx, &rows, recordedTermsQuery, map[string]string{
		"auction": id.String(), "day": date.String(), "since": max(date-1, 0).String(),
		"until": min(date+1, lastDay).String(),
	})
	if err != nil {
		return nil, r.failure(ctx, err)
	}
	terms := make([]uint32, len(rows))
	for i := range rows {
		terms[i] = rows[i].Term
	}
	return terms, nil
}

// storedDay returns the day of t, limited to the range that the store can hold.
func storedDay(t time.Time) day.Day { return min(max(day.Of(t), 0), lastDay) }

func (r *auctionRow) auction() report.Auction {
	a := report.Auction{
		AuctionID: r.AuctionID, At: r.At.UTC(), DeveloperID: r.DeveloperID, CampaignID: r.CampaignID, Reason: r.Reason,
		Price: money.Micros(r.Price), ECPM: money.Micros(r.ECPM), Format: r.Format, CreativeFormat: r.CreativeFormat,
		IntegrationMethod: r.IntegrationMethod,
		Surface:           r.Surface, Region: r.Region, Language: r.Language, HostApp: r.HostApp, Sandbox: r.Sandbox,
		Took: time.Duration(r.TookUS) * time.Microsecond, Tokens: r.Tokens, Tools: r.Tools,
		Floor: money.Micros(r.Floor), MoreCandidates: r.More,
		ModelVersion: r.ModelVersion, Explores: r.Explores, HouseID: r.HouseID,
		Suitability: r.Suitability, SuitabilityBy: r.SuitabilityBy, AgeAdult: r.AgeAdult,
	}
	for i := range min(len(r.IDs), len(r.ECPMs), len(r.Reasons)) {
		a.Candidates = append(
			a.Candidates, report.Candidate{CampaignID: r.IDs[i], ECPM: money.Micros(r.ECPMs[i]), Reason: r.Reasons[i]},
		)
	}
	return a
}

// AuctionEvents returns the settled events of an auction that campaign won at about at, oldest
// first, at most [MaxAuctionEvents]. Errors: as [Reader.Stats].
func (r *Reader) AuctionEvents(ctx context.Context, id, campaign uuid.UUID, at time.Time) ([]report.Row, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	date := storedDay(at)
	var rows []struct {
		EventID         uuid.UUID `ch:"event_id"`
		ReceivedAt      time.Time `ch:"received_at"`
		Type            string    `ch:"type"`
		Verdict         string    `ch:"verdict"`
		Price           int64     `ch:"price"`
		Charge          int64     `ch:"charge"`
		Minted          int64     `ch:"minted"`
		BillingModel    string    `ch:"billing_model"`
		ConversionType  string    `ch:"conversion_type"`
		ConversionValue int64     `ch:"conversion_value"`
		Currency        string    `ch:"currency"`
	}
	err := r.store.Select(ctx, &rows, auctionEventsQuery, map[string]string{
		"auction": id.String(), "campaign": campaign.String(), "since": max(date-1, 0).String(),
		"until": min(date+eventsFor, lastDay).String(), "most": strconv.Itoa(MaxAuctionEvents),
	})
	if err != nil {
		return nil, r.failure(ctx, err)
	}
	events := make([]report.Row, len(rows))
	for i, e := range rows {
		events[i] = report.Row{
			EventID: e.EventID, AuctionID: id, CampaignID: campaign, ReceivedAt: e.ReceivedAt.UTC(),
			Type:    ledger.EventType(e.Type),
			Verdict: ledger.Verdict(e.Verdict), Price: money.Micros(e.Price), Charge: money.Micros(e.Charge),
			Minted:       money.Credits(e.Minted),
			BillingModel: e.BillingModel, ConversionType: e.ConversionType,
			ConversionValue: money.Micros(e.ConversionValue), Currency: e.Currency,
		}
	}
	return events, nil
}

// Delivery counts a campaign's results in the auctions from the minute of since to until. Errors:
// as [Reader.Stats].
func (r *Reader) Delivery(ctx context.Context, campaign uuid.UUID, since, until time.Time) (report.Delivery, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var rows []struct {
		Whole   uint8  `ch:"whole"`
		Outcome string `ch:"outcome"`
		N       int64  `ch:"n"`
	}
	err := r.store.Select(ctx, &rows, deliveryQuery, map[string]string{
		"campaign": campaign.String(), "since": strconv.FormatInt(since.Unix(), 10),
		"until": strconv.FormatInt(until.Unix(), 10),
		"first": storedDay(since).String(), "last": storedDay(until).String(),
	})
	if err != nil {
		return report.Delivery{}, r.failure(ctx, err)
	}
	d := report.Delivery{Outcomes: make(map[string]int64)}
	for _, row := range rows {
		switch {
		case row.Whole == 0:
			d.Outcomes[row.Outcome] += row.N
		case row.Outcome == report.MoreCandidates:
			d.Truncated += row.N
		default:
			d.Auctions += row.N
		}
	}
	return d, nil
}
