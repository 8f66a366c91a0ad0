package stats

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"adnet/internal/campaign/subject"
	"adnet/internal/day"
	"adnet/internal/report"
)

// notRefused excludes the requests for which no auction took place.
const notRefused = " AND reason NOT IN ('" + report.Unsuitable + "', '" + report.Sensitive + "')"

const (
	refusalsQuery = `
SELECT developer_id, toDate(hour) AS date, sum(requests) AS requests, sum(adults) AS adults, sum(never) AS never,
	sum(sensitive) AS sensitive
FROM suitability_hours
WHERE ({all:Bool} OR developer_id = {developer:UUID}) AND toDate(hour) BETWEEN {since:Date} AND {until:Date}
GROUP BY developer_id, date
ORDER BY developer_id, date
LIMIT 1000000`

	costsQuery = `
SELECT toString(suitability) AS subject, sumIf(requests, day >= {week:Date}) AS week, sum(requests) AS month
FROM refusals_daily
WHERE developer_id = {developer:UUID} AND day BETWEEN {month:Date} AND {until:Date}
	AND reason = '` + report.Sensitive + `'
GROUP BY subject`

	// The usual rate is the rate of the days before the last hours.
	neverQuery = `
SELECT
    sumIf(requests + never + sensitive, hour >= toDateTime({lately:Int64}, 'UTC')) AS asked, sumIf(never,
	hour >= toDateTime({lately:Int64}, 'UTC')) AS refused,
    sumIf(requests + never + sensitive, hour < toDateTime({lately:Int64}, 'UTC')) AS usual_asked, sumIf(never,
	hour < toDateTime({lately:Int64}, 'UTC')) AS usual_refused
FROM suitability_hours
WHERE hour >= toDateTime({since:Int64}, 'UTC') AND hour <= toDateTime({until:Int64}, 'UTC')
GROUP BY developer_id
HAVING refused > 0`
)

var refusedQuery = `
SELECT toString(reason) AS why, toString(suitability) AS subject, sum(requests) AS n
FROM refusals_daily
WHERE day BETWEEN {since:Date} AND {until:Date}` + covers("host_app", "hosts") + covers("surface", "surfaces") + covers("integration_method", "methods") +
	covers("language", "languages") + `
GROUP BY why, subject`

// Refusals counts refused requests by publisher and day, for days with any requests. Errors: as
// [Reader.Stats].
func (r *Reader) Refusals(ctx context.Context, q report.RefusalQuery) ([]report.RefusalDay, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var rows []struct {
		Developer uuid.UUID `ch:"developer_id"`
		Date      time.Time `ch:"date"`
		Requests  int64     `ch:"requests"`
		Adults    int64     `ch:"adults"`
		Never     int64     `ch:"never"`
		Sensitive int64     `ch:"sensitive"`
	}
	err := r.store.Select(ctx, &rows, refusalsQuery, map[string]string{
		"all": strconv.FormatBool(q.All), "developer": q.DeveloperID.String(), "since": stored(q.Since).String(),
		"until": stored(q.Until).String(),
	})
	if err != nil {
		return nil, r.failure(ctx, err)
	}
	days := make([]report.RefusalDay, len(rows))
	for i, row := range rows {
		days[i] = report.RefusalDay{
			DeveloperID: row.Developer, Day: day.Of(row.Date), Requests: row.Requests, Adults: row.Adults,
			Never: report.RefusalsOf(row.Never), Sensitive: report.RefusalsOf(row.Sensitive),
		}
	}
	return days, nil
}

// stored returns date, limited to the range that the store can hold.
func stored(date day.Day) day.Day { return min(max(date, 0), lastDay) }

// Costs counts a publisher's requests lost to each sensitive subject, in the week and the month
// that end on until. Errors: as [Reader.Stats].
func (r *Reader) Costs(
	ctx context.Context, publisher uuid.UUID, until day.Day,
) (map[subject.ID]report.SubjectCost, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var rows []struct {
		Subject string `ch:"subject"`
		Week    int64  `ch:"week"`
		Month   int64  `ch:"month"`
	}
	err := r.store.Select(ctx, &rows, costsQuery, map[string]string{
		"developer": publisher.String(), "week": stored(until - report.CostWeek + 1).String(),
		"month": stored(until - report.CostMonth + 1).String(),
		"until": stored(until).String(),
	})
	if err != nil {
		return nil, r.failure(ctx, err)
	}
	costs := make(map[subject.ID]report.SubjectCost, len(rows))
	for _, row := range rows {
		if id, ok := subject.Parse(row.Subject); ok {
			costs[id] = report.SubjectCost{Week: report.HundredsOf(row.Week), Month: report.HundredsOf(row.Month)}
		}
	}
	return costs, nil
}

// RefusedAt counts the refused requests of some placements by subject. It ignores regions, which
// are not recorded for refusals. Errors: as [Reader.Stats].
func (r *Reader) RefusedAt(ctx context.Context, p report.Places) ([]report.RefusedPlaces, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var rows []struct {
		Why     string `ch:"why"`
		Subject string `ch:"subject"`
		N       int64  `ch:"n"`
	}
	if err := r.store.Select(ctx, &rows, refusedQuery, bindPlaces(p)); err != nil {
		return nil, r.failure(ctx, err)
	}
	counts := make(map[report.Refused]int64, len(rows))
	for _, row := range rows {
		counts[report.Refused{Reason: row.Why, Subject: row.Subject}] += row.N
	}
	return report.RefusedPlacesOf(counts), nil
}

// NeverRates returns the rates of the publishers with a request refused as unsuitable from lately
// to until, together with their usual rates. Errors: as [Reader.Stats].
func (r *Reader) NeverRates(ctx context.Context, since, lately, until time.Time) ([]report.NeverRate, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var rows []struct {
		Requests     int64 `ch:"asked"`
		Refused      int64 `ch:"refused"`
		UsualAsked   int64 `ch:"usual_asked"`
		UsualRefused int64 `ch:"usual_refused"`
	}
	unix := func(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }
	if err := r.store.Select(
		ctx, &rows, neverQuery, map[string]string{"since": unix(since), "lately": unix(lately), "until": unix(until)},
	); err != nil {
		return nil, r.failure(ctx, err)
	}
	rates := make([]report.NeverRate, len(rows))
	for i, row := range rows {
		rates[i] = report.NeverRate{
			Requests: row.Requests, Never: row.Refused, UsualRequests: row.UsualAsked, UsualNever: row.UsualRefused,
		}
	}
	return rates, nil
}
