package stats

import (
	"context"
	"strconv"
	"strings"

	"adnet/internal/report"
)

// termsFor is the number of days before an event in which its auction is searched. Recorded terms
// are not stored longer.
const termsFor = 30

// termsOf joins q's events with the recorded terms of their auctions that are still common in their
// month: a recorded term must also be common when it is shown. Of a repeated record one counts.
func termsOf(q report.Query) string {
	where := eventsOf(q)
	return `(
    SELECT auction_id,` + eventColumns + `
    FROM events` + where + `
) AS e INNER JOIN (
    SELECT auction_id, term
    FROM (
        SELECT auction_id, any(day) AS asked, any(terms) AS recorded FROM outcome_terms
        WHERE day BETWEEN {asked:Date} AND {until:Date}
            AND auction_id IN (SELECT auction_id FROM events` + where + `)
        GROUP BY auction_id
    )
    ARRAY JOIN recorded AS term
    WHERE (toStartOfMonth(asked), term) IN (
        SELECT month, term FROM known_terms WHERE month >= toStartOfMonth({asked:Date}))
) AS t ON e.auction_id = t.auction_id`
}

// bindTerms returns the parameters of a query for the terms of q.
func bindTerms(q report.Query) (params map[string]string, some bool) {
	params, some = bind(q)
	params["asked"] = stored(q.Since - termsFor).String()
	return params, some
}

// Terms counts q's events by the recorded terms of their requests, the largest spend first. An event
// counts for each of its terms. Errors: as [Reader.Stats].
func (r *Reader) Terms(ctx context.Context, q report.Query) ([]report.TermCounts, error) {
	if err := report.CheckTerms(&q); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	params, some := bindTerms(q)
	if !some {
		return nil, nil
	}
	var rows []struct {
		Term uint32 `ch:"term"`
		counted
	}
	text := "SELECT term, toDate(0) AS day, '' AS key, '' AS key2, toUInt8(0) AS kind," + sums + "\nFROM " + termsOf(q) +
		"\nGROUP BY term ORDER BY spend DESC, term LIMIT " + strconv.Itoa(report.MaxTerms)
	if err := r.store.Select(ctx, &rows, text, params); err != nil {
		return nil, r.failure(ctx, err)
	}
	list := make([]report.TermCounts, len(rows))
	for i := range rows {
		list[i] = report.TermCounts{Term: rows[i].Term, Counts: rows[i].counts()}
	}
	return list, nil
}

// WithTerms counts q's events whose requests have one of terms, each once. Errors: as
// [Reader.Stats].
func (r *Reader) WithTerms(ctx context.Context, q report.Query, terms []uint32) (report.Counts, error) {
	if err := report.CheckTerms(&q); err != nil {
		return report.Counts{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	params, some := bindTerms(q)
	if !some || len(terms) == 0 {
		return report.Counts{}, nil
	}
	texts := make([]string, len(terms))
	for i, term := range terms {
		texts[i] = strconv.FormatUint(uint64(term), 10)
	}
	params["terms"] = "[" + strings.Join(texts, ",") + "]"
	var rows []counted
	text := "SELECT toDate(0) AS day, '' AS key, '' AS key2, toUInt8(0) AS kind," + sums + "\nFROM (\n    SELECT" +
		eventColumns + "\n    FROM events" + eventsOf(q) +
		" AND auction_id IN (SELECT t.auction_id FROM " + termsOf(q) +
		" WHERE has({terms:Array(UInt32)}, term))\n)"
	if err := r.store.Select(ctx, &rows, text, params); err != nil || len(rows) == 0 {
		return report.Counts{}, r.failure(ctx, err)
	}
	return rows[0].counts(), nil
}
