package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"adnet/internal/report"
)

const (
	// Columns in the order of fillOutcomes and fillMarks.
	insertOutcomes = `INSERT INTO outcome_terms (auction_id, day, terms, p_click, trial_p_click, weights)`
	insertMarks    = `INSERT INTO term_marks (month, developer_id, session_mark, terms)`

	knownTermsQuery = `SELECT term FROM known_terms WHERE month = {month:Date} ORDER BY term`
)

// knownFor is how long the terms of a month are cached: terms are only added.
const knownFor = 10 * time.Second

// known caches, by month, the terms that enough people used.
type known struct {
	mu     sync.Mutex
	months map[time.Time]knownTerms
}

type knownTerms struct {
	terms []uint32 // ascending
	read  time.Time
}

// insertLearning stores the learning data of auctions: it first counts their terms, then stores for
// each auction the terms known so far.
func (s *Store) insertLearning(ctx context.Context, token string, rows []report.Auction) error {
	var marked, outcomes []report.Auction
	for i := range rows {
		o := &rows[i].Outcome
		if o.PClick == 0 {
			continue // nothing won, or the publisher opted out
		}
		if o.SessionMark > 0 && len(o.Terms) > 0 {
			marked = append(marked, rows[i])
		}
		outcomes = append(outcomes, rows[i])
	}
	if err := send(ctx, s, insertion{insertMarks, token, "count terms"}, marked, fillMarks); err != nil {
		return err
	}
	for i := range outcomes {
		o := &outcomes[i]
		terms, err := s.KnownTerms(ctx, o.At)
		if err != nil {
			return err
		}
		// Terms that few people used are not stored, and neither are their users.
		o.Outcome.Terms = slices.DeleteFunc(slices.Clone(o.Outcome.Terms), func(term uint32) bool {
			_, enough := slices.BinarySearch(terms, term)
			return !enough
		})
	}
	return send(ctx, s, insertion{insertOutcomes, token, "insert outcomes"}, outcomes, fillOutcomes)
}

// KnownTerms returns the terms, ascending, that at least 50 sessions of at least 3 publishers used
// in the month of at. The result may be a few seconds old.
func (s *Store) KnownTerms(ctx context.Context, at time.Time) ([]uint32, error) {
	month := monthOf(at)
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	if found, ok := s.known.months[month]; ok && time.Since(found.read) < knownFor {
		return found.terms, nil
	}
	var rows []struct {
		Term uint32 `ch:"term"`
	}
	if err := s.Select(
		ctx, &rows, knownTermsQuery, map[string]string{"month": month.Format(time.DateOnly)},
	); err != nil {
		return nil, err
	}
	found := knownTerms{read: time.Now()}
	for _, r := range rows {
		found.terms = append(found.terms, r.Term)
	}
	if s.known.months == nil || len(s.known.months) > 3 {
		s.known.months = map[time.Time]knownTerms{}
	}
	s.known.months[month] = found
	return found.terms, nil
}

func monthOf(at time.Time) time.Time {
	year, month, _ := at.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

func fillOutcomes(b *block, rows []report.Auction) {
	numbers := func(f func(*report.Auction) int64) { column(b, b.page.numbers, rows, f) }
	column(b, b.page.ids, rows, func(r *report.Auction) uuid.UUID { return r.AuctionID })
	column(b, b.page.times, rows, func(r *report.Auction) time.Time { return storable(r.At) })
	b.add(termLists(rows))
	numbers(func(r *report.Auction) int64 { return r.Outcome.PClick })
	numbers(func(r *report.Auction) int64 { return r.Outcome.TrialPClick })
	numbers(func(r *report.Auction) int64 { return r.Outcome.Weights })
}

func fillMarks(b *block, rows []report.Auction) {
	column(b, b.page.times, rows, func(r *report.Auction) time.Time { return monthOf(storable(r.At)) })
	column(b, b.page.ids, rows, func(r *report.Auction) uuid.UUID { return r.DeveloperID })
	column(b, b.page.numbers, rows, func(r *report.Auction) int64 { return r.Outcome.SessionMark })
	b.add(termLists(rows))
}

func termLists(rows []report.Auction) [][]uint32 {
	lists := make([][]uint32, len(rows))
	for i := range rows {
		lists[i] = rows[i].Outcome.Terms
		if lists[i] == nil {
			lists[i] = []uint32{}
		}
	}
	return lists
}

// Only events accepted for billing are learnt from: verdict 'ok'. This excludes invalid and
// self-served traffic, and conversions that the advertiser has not confirmed or that were not
// charged in a campaign that pays for conversions. Sessions are not read. known_terms is checked
// again, since a recorded term must still be common enough. Conversions may arrive until their
// attribution window ends.
const (
	learnableQuery = `
SELECT o.day AS day, i.campaign_id AS campaign_id, i.advertiser_id AS advertiser_id, i.developer_id AS developer_id,
    toUInt32(cityHash64(i.host_app, i.surface, i.integration_method)) AS place,
    arrayFilter(t -> has(k.terms, t), o.terms) AS terms,
    c.network_mark IS NOT NULL AND c.found = 1 AS clicked, toInt64(coalesce(c.network_mark, 0)) AS network,
    i.billing_model = 'cpa' AS pays_cpa,
    o.p_click AS p_click, o.trial_p_click AS trial_p_click, o.weights AS weights,
    %s AS converted
FROM (SELECT * FROM outcome_terms FINAL WHERE day = {day:Date}) AS o
INNER JOIN
(
    SELECT auction_id, any(events.campaign_id) AS campaign_id, any(events.advertiser_id) AS advertiser_id,
	any(events.developer_id) AS developer_id, any(events.host_app) AS host_app,
        any(events.surface) AS surface, any(events.integration_method) AS integration_method,
	any(events.billing_model) AS billing_model
    FROM events WHERE day >= {day:Date} AND day <= {day:Date} + 1 AND type = 'impression' AND verdict = 'ok'
	GROUP BY auction_id
) AS i ON i.auction_id = o.auction_id
%s JOIN
(
    SELECT auction_id, any(events.network_mark) AS network_mark, 1 AS found
    FROM events WHERE day >= {day:Date} AND day <= {day:Date} + 1 AND type = 'click' AND verdict = 'ok'
	GROUP BY auction_id
) AS c ON c.auction_id = o.auction_id
%s
CROSS JOIN (SELECT groupArray(term) AS terms FROM known_terms WHERE month = toStartOfMonth({day:Date})) AS k
ORDER BY cityHash64(o.auction_id)
LIMIT {most:UInt32}`

	joinConversions = `LEFT JOIN
(
    SELECT auction_id, 1 AS found FROM events WHERE day >= {day:Date} AND day <= {day:Date} + 31
	AND type = 'conversion' AND verdict = 'ok' GROUP BY auction_id
) AS v ON v.auction_id = o.auction_id`
)

// Only placements with a view in the last week can report views: most pages of an integration
// method report none. What servers report teaches nothing (traffic.ReportsViews). A view may arrive
// on the day after its impression, and counts only with a valid one.
const viewsQuery = `
SELECT i.developer_id AS developer_id, toInt64(count()) AS impressions, toInt64(countIf(coalesce(v.found,
	0) = 1)) AS views
FROM
(
    SELECT auction_id, any(events.developer_id) AS developer_id
    FROM events
    WHERE day = {day:Date} AND type = 'impression' AND verdict = 'ok'
    AND integration_method IN ('js_snippet', 'npm_sdk') AND (events.developer_id, integration_method,
	host_app, surface) IN
    (
        SELECT DISTINCT developer_id, integration_method, host_app, surface
        FROM events WHERE day > {day:Date} - 7 AND day <= {day:Date} + 1 AND type = 'viewable' AND verdict = 'ok'
    )
    GROUP BY auction_id
) AS i
LEFT JOIN
(
    SELECT auction_id, 1 AS found FROM events WHERE day >= {day:Date} AND day <= {day:Date} + 1 AND type = 'viewable'
	AND verdict = 'ok' GROUP BY auction_id
) AS v ON v.auction_id = i.auction_id
GROUP BY developer_id
ORDER BY developer_id`

var (
	impressionsQuery = fmt.Sprintf(learnableQuery, "0", "LEFT", "")
	clicksQuery      = fmt.Sprintf(learnableQuery, "coalesce(v.found, 0) = 1", "INNER", joinConversions)
)

// Impressions reads up to most impressions of a UTC day as learning data.
func (s *Store) Impressions(ctx context.Context, date time.Time, most int) ([]report.Impression, error) {
	return s.learnable(ctx, impressionsQuery, date, most)
}

// Clicks reads up to most clicked impressions of a UTC day, with their conversions so far.
func (s *Store) Clicks(ctx context.Context, date time.Time, most int) ([]report.Impression, error) {
	return s.learnable(ctx, clicksQuery, date, most)
}

// Views counts the viewed impressions of a UTC day, by publisher.
func (s *Store) Views(ctx context.Context, date time.Time) ([]report.Seen, error) {
	var rows []struct {
		DeveloperID uuid.UUID `ch:"developer_id"`
		Impressions int64     `ch:"impressions"`
		Views       int64     `ch:"views"`
	}
	if err := s.Select(ctx, &rows, viewsQuery, map[string]string{"day": date.UTC().Format(time.DateOnly)}); err != nil {
		return nil, err
	}
	list := make([]report.Seen, len(rows))
	for i, r := range rows {
		list[i] = report.Seen(r)
	}
	return list, nil
}

func (s *Store) learnable(ctx context.Context, query string, date time.Time, most int) ([]report.Impression, error) {
	var rows []struct {
		Day         time.Time `ch:"day"`
		CampaignID  uuid.UUID `ch:"campaign_id"`
		Advertiser  uuid.UUID `ch:"advertiser_id"`
		DeveloperID uuid.UUID `ch:"developer_id"`
		Place       uint32    `ch:"place"`
		Terms       []uint32  `ch:"terms"`
		Clicked     uint8     `ch:"clicked"`
		Converted   uint8     `ch:"converted"`
		PaysCPA     uint8     `ch:"pays_cpa"`
		Network     int64     `ch:"network"`
		PClick      int64     `ch:"p_click"`
		TrialPClick int64     `ch:"trial_p_click"`
		Weights     int64     `ch:"weights"`
	}
	if err := s.Select(
		ctx, &rows, query, map[string]string{"day": date.UTC().Format(time.DateOnly), "most": strconv.Itoa(most)},
	); err != nil {
		return nil, err
	}
	list := make([]report.Impression, len(rows))
	for i, r := range rows {
		list[i] = report.Impression{
			Day: r.Day, CampaignID: r.CampaignID, Advertiser: r.Advertiser, DeveloperID: r.DeveloperID, Place: r.Place,
			Terms: r.Terms, Clicked: r.Clicked == 1,
			Converted: r.Converted == 1, PaysCPA: r.PaysCPA == 1,
			Network: r.Network, PClick: r.PClick, TrialPClick: r.TrialPClick, Weights: r.Weights,
		}
	}
	return list, nil
}
