package stats

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/schemas/event"
)

const (
	// daysQuery counts the events of each day in the live counters, with the newest receipt, and in
	// each run of the roll-up. Both are read from a projection of a few rows per part.
	daysQuery = `
SELECT day, toUUID('00000000-0000-0000-0000-000000000000') AS run, sum(events) AS n, max(last_received_at) AS at
	FROM stats_daily GROUP BY day
UNION ALL
SELECT day, run, sum(events) AS n, toDateTime64(0, 6, 'UTC') AS at FROM stats_rollup WHERE day BETWEEN {since:Date}
	AND {until:Date} GROUP BY day, run`
)

// The counted columns. Advertisers state the values of conversions. Their sums have 128 bits in the
// store, where they cannot overflow, and saturate here.
var (
	sums = " [" + event.Join(func(k *event.Kind) string { return "sum(" + k.Column + ")" }) + `] AS by_type,
    sum(spend) AS spend, sum(credits) AS credits, sum(billed) AS billed,
    toInt64(least(sum(conversion_usd), toInt128(9223372036854775807))) AS conversion_usd,
    sum(duplicates) AS duplicates, sum(rejected) AS rejected, sum(sandbox) AS sandbox, sum(invalid) AS invalid,
    sum(conversions_unverified) AS conversions_unverified`

	columns = event.Join(func(k *event.Kind) string { return k.Column }) +
		", spend, credits, billed, conversion_usd, duplicates, rejected, sandbox, invalid, conversions_unverified"

	// eventColumns counts one event as the view of stats_daily does.
	eventColumns = " " + event.Join(func(k *event.Kind) string {
		return "toInt64(class = 'counted' AND type = '" + k.Name + "') AS " + k.Column
	}) + `,
        charge AS spend, minted AS credits, toInt64(charge > 0) AS billed,
        if(class = 'counted' AND type = 'conversion' AND currency IN ('', 'USD'), toInt128(conversion_value),
            toInt128(0)) AS conversion_usd,
        toInt64(class = 'duplicate') AS duplicates, toInt64(class = 'rejected') AS rejected,
        toInt64(class = 'sandbox') AS sandbox,
        toInt64(class = 'invalid') AS invalid, toInt64(class = 'unverified') AS conversions_unverified`
)

// Values of grouping(day) in a row of the counts query: 1 if the row is of the other set.
const (
	kindDay   = 0
	kindGroup = 1
)

// keys maps the breakdowns to expressions. The map is the allow list: no text of a query becomes
// SQL.
var keys = map[report.Breakdown]string{
	"":                         "''",
	report.ByDay:               "toString(day)",
	report.ByAdvertiser:        "toString(advertiser_id)",
	report.ByCampaign:          "toString(campaign_id)",
	report.ByFormat:            "toString(format)",
	report.ByHostApp:           "host_app",
	report.ByIntegrationMethod: "toString(integration_method)",
	report.ByPublisher:         "toString(developer_id)",
}

// eventKeys holds the breakdowns that the counters lack. They are counted from the events
// themselves, for the campaigns in the counters.
var eventKeys = map[report.Breakdown]string{
	report.ByHour:     "formatDateTime(toStartOfHour(received_at), '%Y-%m-%dT%H:00:00Z', 'UTC')",
	report.BySurface:  "toString(surface)",
	report.ByRegion:   "toString(region)",
	report.ByLanguage: "toString(language)",
}

// countsQuery returns the query for q, whose values are bound by name. The rolled-up days and their
// runs are bound as well. Computed once per branch they could differ, and a day would count twice
// or not at all.
func countsQuery(q report.Query) (string, error) {
	if err := q.Check(); err != nil {
		return "", err
	}
	key := keyOf(q.Breakdown) + " AS key, " + keyOf(q.Then) + " AS key2"
	if eventKeys[q.Breakdown] != "" || eventKeys[q.Then] != "" {
		return eventsQuery(q, key), nil
	}
	where := whereOf(q)
	head, set := bothSets, groupingSets
	if q.Breakdown == "" || q.Breakdown == report.ByDay && q.Then == "" { // the daily series has them
		head, set = "SELECT day, '' AS key, '' AS key2, toUInt8(0) AS kind,", "day"
	}
	var b strings.Builder
	b.WriteString(head + sums + "\nFROM\n(\n")
	b.WriteString(
		"    SELECT day, " + key + ", " + columns + " FROM stats_rollup" + where +
			" AND has({runs:Array(UUID)}, run)\n",
	)
	b.WriteString("    UNION ALL\n")
	b.WriteString(
		"    SELECT day, " + key + ", " + columns + " FROM stats_daily" + where +
			" AND NOT has({rolled:Array(Date)}, day)\n",
	)
	b.WriteString(")\nGROUP BY " + set + limitOf(&q))
	return b.String(), nil
}

// One pass over one state of the data, so that days and groups have the same totals.
const (
	bothSets     = "SELECT day, key, key2, toUInt8(grouping(day)) AS kind,"
	groupingSets = "GROUPING SETS ((day), (key, key2))"
)

// keyOf returns the expression for the keys of a breakdown, empty texts without one.
func keyOf(by report.Breakdown) string { return cmp.Or(eventKeys[by], keys[by]) }

// limitOf bounds the groups of an answer to those of [report.Result.Limit], which counts the rest.
// The answer has all days: each has its own day, while all groups have the default one.
func limitOf(q *report.Query) string {
	if !q.Limited() {
		return ""
	}
	return "\nORDER BY kind, spend DESC, key, key2 LIMIT " + strconv.Itoa(report.MaxGroups) +
		" BY day"
}

// eventsOf selects q's events themselves. The table is sorted by campaign: without the campaigns of
// an account, all events of the days would be read.
func eventsOf(q report.Query) string {
	where := whereOf(q)
	if q.CampaignID == uuid.Nil && (q.AdvertiserID != uuid.Nil || q.DeveloperID != uuid.Nil) {
		where += " AND campaign_id IN (SELECT DISTINCT campaign_id FROM stats_daily" + where + ")"
	}
	return where
}

// eventsQuery counts q's events themselves.
func eventsQuery(q report.Query, key string) string {
	return bothSets + sums + "\nFROM\n(\n    SELECT day, " + key + "," + eventColumns + "\n    FROM events" +
		eventsOf(q) + "\n)\nGROUP BY " + groupingSets + limitOf(&q)
}

// trafficQuery returns the query for the reasons of q's traffic.
func trafficQuery(q report.Query) string {
	return "SELECT toString(reason) AS reason, sum(impressions) AS impressions, sum(clicks) AS clicks, sum(other) " +
		"AS other FROM traffic_daily" +
		whereOf(q) + " GROUP BY reason ORDER BY reason"
}

// whereOf returns the condition that selects q's rows.
func whereOf(q report.Query) string {
	where := " WHERE day BETWEEN {since:Date} AND {until:Date}"
	for _, c := range []struct {
		id        uuid.UUID
		condition string
	}{
		{q.AdvertiserID, " AND advertiser_id = {advertiser:UUID}"},
		{q.CampaignID, " AND campaign_id = {campaign:UUID}"},
		{q.DeveloperID, " AND developer_id = {developer:UUID}"},
	} {
		if c.id != uuid.Nil {
			where += c.condition
		}
	}
	if len(q.Families) > 0 {
		where += " AND advertiser_id IN {advertiser_relatives:Array(UUID)}" +
			" AND developer_id IN {developer_relatives:Array(UUID)}" +
			" AND " + familyOf("advertiser") + " = " + familyOf("developer")
	}
	return where
}

// familyOf returns the expression for the number of the family of an advertiser or developer.
func familyOf(side string) string {
	return "{" + side + "_families:Array(Int64)}[indexOf({" + side + "_relatives:Array(UUID)}, " + side + "_id)]"
}

// lastDay is the last day that a Date of the store can hold, 2149-06-06.
const lastDay day.Day = 65535

// bind returns the parameters of q; some is false when the range holds no day that can have events.
func bind(q report.Query) (params map[string]string, some bool) {
	since, until := max(q.Since, 0), min(q.Until, lastDay)
	if some = since <= until; !some {
		since, until = 0, 0
	}
	params = map[string]string{
		"since": since.String(), "until": until.String(),
		"advertiser": q.AdvertiserID.String(), "campaign": q.CampaignID.String(), "developer": q.DeveloperID.String(),
	}
	if len(q.Families) > 0 {
		bindFamilies(params, q.Families)
	}
	return params, some
}

// bindFamilies adds the accounts of families, each with the number of its family.
func bindFamilies(params map[string]string, families []report.Relatives) {
	of := func(side string, ids func(report.Relatives) []uuid.UUID) {
		var accounts, numbers []string
		for n, f := range families {
			for _, id := range ids(f) {
				accounts, numbers = append(accounts, "'"+id.String()+"'"), append(numbers, strconv.Itoa(n+1))
			}
		}
		params[side+"_relatives"] = "[" + strings.Join(accounts, ",") + "]"
		params[side+"_families"] = "[" + strings.Join(numbers, ",") + "]"
	}
	of("advertiser", func(f report.Relatives) []uuid.UUID { return f.Advertisers })
	of("developer", func(f report.Relatives) []uuid.UUID { return f.Developers })
}

// counted is one row of the counts query.
type counted struct {
	Day           time.Time `ch:"day"`
	Key           string    `ch:"key"`
	Then          string    `ch:"key2"`
	Kind          uint8     `ch:"kind"`
	ByType        []int64   `ch:"by_type"` // in the order of the table of event types
	Spend         int64     `ch:"spend"`
	Credits       int64     `ch:"credits"`
	Billed        int64     `ch:"billed"`
	ConversionUSD int64     `ch:"conversion_usd"`
	Duplicates    int64     `ch:"duplicates"`
	Rejected      int64     `ch:"rejected"`
	Sandbox       int64     `ch:"sandbox"`
	Invalid       int64     `ch:"invalid"`
	Unverified    int64     `ch:"conversions_unverified"`
}

func (c *counted) counts() report.Counts {
	counts := report.Counts{
		Spend: money.Micros(c.Spend), Credits: money.Credits(c.Credits), Billed: c.Billed,
		ConversionUSD: money.Micros(c.ConversionUSD), Duplicates: c.Duplicates, Rejected: c.Rejected,
		Sandbox: c.Sandbox, Invalid: c.Invalid, Unverified: c.Unverified,
	}
	for i, k := range event.Kinds() {
		counts.Events[k.Type] = c.ByType[i]
	}
	return counts
}
