package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/report"
)

// Difference is one comparison of a day: the sum over the events and the sum in another source.
type Difference struct {
	Day    day.Day
	What   string // what was compared: a stable name
	Key    string // of what: a campaign, a verdict
	Events int64
	Other  int64
}

const (
	chargesQuery = `
SELECT day, campaign_id, sum(charge) AS charged FROM events
WHERE day >= {first:Date} AND day <= {last:Date} AND charge != 0 GROUP BY day, campaign_id`

	// A record acknowledged too late is on the log twice, and settlement tells the two apart: the
	// second is a duplicate, or refused like the first. A counted event must be stored once.
	repeatsQuery = `
SELECT day, toInt64(count()) AS events, toInt64(uniqExact(event_id)) AS other FROM events
WHERE day >= {first:Date} AND day <= {last:Date} AND class = 'counted'
	AND event_id != toUUID('00000000-0000-0000-0000-000000000000')
GROUP BY day HAVING events != other`

	// Each counter is compared by campaign: one sum over all campaigns could hide two errors that
	// cancel out.
	countersQuery = `
SELECT day, what, toString(campaign_id) AS key, sum(e) AS events, sum(o) AS other
FROM
(
    SELECT day, campaign_id, c.1 AS what, c.2 AS e, toInt64(0) AS o FROM
    (
        SELECT day, campaign_id, arrayJoin([
            ('events', toInt64(count())), ('impressions', toInt64(countIf(class = 'counted' AND type = 'impression'))),
            ('clicks', toInt64(countIf(class = 'counted' AND type = 'click'))), ('conversions',
	toInt64(countIf(class = 'counted' AND type = 'conversion'))),
            ('conversions_unverified', toInt64(countIf(class = 'unverified'))),
            ('spend', toInt64(sum(charge))), ('credits', toInt64(sum(minted)))]) AS c
        FROM events WHERE day >= {first:Date} AND day <= {last:Date} GROUP BY day, campaign_id
    )
    UNION ALL
    SELECT day, campaign_id, c.1 AS what, toInt64(0) AS e, c.2 AS o FROM
    (
        SELECT day, campaign_id, arrayJoin([
            ('events', toInt64(sum(t.events))), ('impressions', toInt64(sum(t.impressions))), ('clicks',
	toInt64(sum(t.clicks))),
            ('conversions', toInt64(sum(t.conversions))), ('conversions_unverified',
	toInt64(sum(t.conversions_unverified))), ('spend', toInt64(sum(t.spend))), ('credits',
	toInt64(sum(t.credits)))]) AS c
        FROM %s AS t WHERE day >= {first:Date} AND day <= {last:Date} GROUP BY day, campaign_id
    )
)
GROUP BY day, what, campaign_id HAVING events != other ORDER BY day, what, key`

	verdictsQuery = `
SELECT day, what, key, sum(e) AS events, sum(o) AS other
FROM
(
    SELECT day, c.1 AS what, toString(verdict) AS key, c.2 AS e, toInt64(0) AS o FROM
    (
        SELECT day, verdict, arrayJoin([('events', toInt64(count())), ('charge', toInt64(sum(charge))), ('minted',
	toInt64(sum(minted)))]) AS c
        FROM events WHERE day >= {first:Date} AND day <= {last:Date} GROUP BY day, verdict
    )
    UNION ALL
    SELECT day, c.1 AS what, toString(verdict) AS key, toInt64(0) AS e, c.2 AS o FROM
    (
        SELECT day, verdict, arrayJoin([('events', toInt64(sum(t.events))), ('charge', toInt64(sum(t.charge))),
	('minted', toInt64(sum(t.minted)))]) AS c
        FROM verdict_daily AS t WHERE day >= {first:Date} AND day <= {last:Date} GROUP BY day, verdict
    )
)
GROUP BY day, what, key HAVING events != other ORDER BY day, what, key`

	// The run that readers use for a rolled-up day; days without a run are not compared.
	rollupRuns = `
(SELECT r.* FROM stats_rollup AS r INNER JOIN (
    SELECT day, argMax(run, (n, run)) AS run FROM (SELECT day, run, sum(events) AS n FROM stats_rollup GROUP BY day,
	run) GROUP BY day
) AS chosen ON chosen.day = r.day AND chosen.run = r.run)`
	// A run that counts fewer events than the live counters is not read: it is stale, not wrong.
	rolledDays = `
SELECT rolled.day AS day
FROM (SELECT day, max(n) AS n FROM (SELECT day, run, sum(events) AS n FROM stats_rollup GROUP BY day, run)
	GROUP BY day) AS rolled
INNER JOIN (SELECT day, sum(events) AS live FROM stats_daily GROUP BY day) AS counted ON counted.day = rolled.day
WHERE rolled.n >= counted.live AND rolled.day >= {first:Date} AND rolled.day <= {last:Date}`
)

func between(first, last day.Day) map[string]string {
	return map[string]string{"first": first.String(), "last": last.String()}
}

// Charges returns the campaigns' charges by the events of the days from first to last.
func (s *Store) Charges(ctx context.Context, first, last day.Day) (map[day.Day]map[uuid.UUID]money.Micros, error) {
	return s.chargesOf(ctx, "events", first, last)
}

func (s *Store) chargesOf(
	ctx context.Context, table string, first, last day.Day,
) (map[day.Day]map[uuid.UUID]money.Micros, error) {
	var rows []struct {
		Day      dayOf     `ch:"day"`
		Campaign uuid.UUID `ch:"campaign_id"`
		Charge   int64     `ch:"charged"`
	}
	if err := s.Select(
		ctx, &rows, strings.Replace(chargesQuery, "FROM events", "FROM "+table, 1), between(first, last),
	); err != nil {
		return nil, err
	}
	charges := make(map[day.Day]map[uuid.UUID]money.Micros)
	for _, r := range rows {
		date := day.Of(r.Day.UTC())
		if charges[date] == nil {
			charges[date] = make(map[uuid.UUID]money.Micros)
		}
		charges[date][r.Campaign] = money.Micros(r.Charge)
	}
	return charges, nil
}

// CompareDays compares the events of the days from first to last with everything computed from
// them: the live counters, the verdicts per day and the roll-up. It also looks for counted events
// that are stored twice.
func (s *Store) CompareDays(ctx context.Context, first, last day.Day) (found []Difference, err error) {
	type row struct {
		Day    dayOf  `ch:"day"`
		What   string `ch:"what"`
		Key    string `ch:"key"`
		Events int64  `ch:"events"`
		Other  int64  `ch:"other"`
	}
	add := func(source, query string, keep func(day.Day) bool) error {
		var rows []row
		if err := s.Select(ctx, &rows, query, between(first, last)); err != nil {
			return err
		}
		for _, r := range rows {
			if date := day.Of(r.Day.UTC()); keep(date) {
				found = append(
					found,
					Difference{Day: date, What: source + " " + r.What, Key: r.Key, Events: r.Events, Other: r.Other},
				)
			}
		}
		return nil
	}
	every := func(day.Day) bool { return true }
	if err := add(
		"repeats", strings.Replace(repeatsQuery, "SELECT day,", "SELECT day, 'event ids' AS what, '' AS key,", 1),
		every,
	); err != nil {
		return nil, err
	}
	if err := add("stats_daily", fmt.Sprintf(countersQuery, "stats_daily"), every); err != nil {
		return nil, err
	}
	if err := add("verdict_daily", verdictsQuery, every); err != nil {
		return nil, err
	}
	var rolled []struct {
		Day dayOf `ch:"day"`
	}
	if err := s.Select(ctx, &rolled, rolledDays, between(first, last)); err != nil {
		return nil, err
	}
	if len(rolled) == 0 {
		return found, nil
	}
	return found, add("stats_rollup", fmt.Sprintf(countersQuery, rollupRuns), func(date day.Day) bool {
		for _, r := range rolled {
			if day.Of(r.Day.UTC()) == date {
				return true
			}
		}
		return false
	})
}

// view is a materialized view over events.
type view struct{ Target, Select string }

// views finds the materialized views over events, and their targets.
func (s *Store) views(ctx context.Context) ([]view, error) {
	var rows []struct {
		Name   string `ch:"name"`
		Select string `ch:"as_select"`
	}
	err := s.Select(
		ctx, &rows,
		`SELECT name, as_select FROM system.tables WHERE database = currentDatabase() AND engine = 'MaterializedView'`,
		nil,
	)
	if err != nil {
		return nil, err
	}
	var list []view
	for _, r := range rows {
		target, is := strings.CutSuffix(r.Name, "_mv")
		fields := strings.Fields(strings.ReplaceAll(r.Select, "`", ""))
		from := slices.Index(fields, "FROM")
		if !is || from < 0 || from+1 == len(fields) {
			return nil, fmt.Errorf("clickhouse: view %s has no target of its name", r.Name)
		}
		if source := fields[from+1]; source == "events" || strings.HasSuffix(source, ".events") {
			list = append(list, view{target, r.Select})
		}
	}
	return list, nil
}

// RebuildViews recomputes all daily tables beside the events for one day. Nothing may be inserted
// into events meanwhile. Each table changes in one statement: an interrupted run leaves the day
// correct in some tables and unchanged in the others, which CompareDays finds.
func (s *Store) RebuildViews(ctx context.Context, date day.Day) (err error) {
	m := month{store: s, day: date, run: strings.ReplaceAll(uuid.NewString(), "-", "")}
	defer func() { err = errors.Join(err, m.drop(ctx)) }()
	if err := m.views(ctx, "events"); err != nil {
		return err
	}
	return m.replace(ctx)
}

// month builds the new month of a day beside the real tables. All of it is there before the first
// statement that changes a real table. The parts of the other days are linked from the real tables,
// not copied.
type month struct {
	store *Store
	day   day.Day
	run   string   // makes the names of the tables unique
	of    []string // tables being built
}

func (m *month) beside(table string) string { return table + "_rebuild_" + m.run }

// partition returns the id of the month in every table that is partitioned by month.
func (m *month) partition() string { return "'" + m.day.Time().Format("200601") + "'" }

// clone links a table's month and removes the day from it.
func (m *month) clone(ctx context.Context, table string) error {
	m.of = append(m.of, table)
	if err := m.store.Exec(ctx, "CREATE TABLE "+m.beside(table)+" AS "+table, nil); err != nil {
		return err
	}
	if err := m.store.Exec(
		ctx, "ALTER TABLE "+m.beside(table)+" ATTACH PARTITION ID "+m.partition()+" FROM "+table, nil,
	); err != nil {
		return err
	}
	return m.store.Exec(
		ctx,
		"ALTER TABLE "+m.beside(table)+" DELETE WHERE day = toDate('"+m.day.String()+"') SETTINGS mutations_sync = 2",
		nil,
	)
}

// views builds the targets of the views from the events of a table.
func (m *month) views(ctx context.Context, events string) error {
	views, err := m.store.views(ctx)
	if err != nil {
		return err
	}
	for _, v := range views {
		if err := m.clone(ctx, v.Target); err != nil {
			return err
		}
		columns, err := m.store.columns(ctx, v.Target)
		if err != nil {
			return err
		}
		names, from := strings.Join(columns, ", "), fromEvents.ReplaceAllString(v.Select, "${1}"+events)
		statement := fmt.Sprintf(
			"INSERT INTO %s (%s) SELECT %s FROM (%s) WHERE day = {day:Date} SETTINGS insert_deduplicate = 0",
			m.beside(v.Target), names, names, from,
		)
		if err := m.store.Exec(ctx, statement, map[string]string{"day": m.day.String()}); err != nil {
			return err
		}
	}
	return nil
}

// fromEvents matches the name of the events table in a view's statement, as ClickHouse formats it.
var fromEvents = regexp.MustCompile("(\\bFROM\\s+)(?:`?\\w+`?\\.)?`?events`?\\b`?")

// replace swaps in every table's month, one statement per table. Events come first, because the
// tables computed from them can be computed again.
func (m *month) replace(ctx context.Context) error {
	for _, table := range m.of {
		var left []struct {
			Rows uint64 `ch:"n"`
		}
		if err := m.store.Select(ctx, &left, "SELECT count() AS n FROM "+m.beside(table), nil); err != nil {
			return err
		}
		statement := "ALTER TABLE " + table + " REPLACE PARTITION ID " + m.partition() + " FROM " + m.beside(table)
		if left[0].Rows == 0 {
			statement = "ALTER TABLE " + table + " DROP PARTITION ID " + m.partition()
		}
		if err := m.store.Exec(ctx, statement, nil); err != nil {
			return err
		}
	}
	return nil
}

// drop removes the tables that were built.
func (m *month) drop(ctx context.Context) (err error) {
	for _, table := range m.of {
		err = errors.Join(
			err, m.store.Exec(context.WithoutCancel(ctx), "DROP TABLE IF EXISTS "+m.beside(table)+" SYNC", nil),
		)
	}
	return err
}

// columns lists the stored columns of a table, without computed ones.
func (s *Store) columns(ctx context.Context, table string) ([]string, error) {
	var rows []struct {
		Name string `ch:"name"`
	}
	err := s.Select(ctx, &rows,
		`SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {table:String} AND default_kind NOT IN ('MATERIALIZED', 'ALIAS') ORDER BY position`,
		map[string]string{"table": table})
	if err == nil && len(rows) == 0 {
		err = errs.New(errs.NotFound, "the analytics database has no table %s", table)
	}
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Name
	}
	return names, err
}

// Rebuild is a day of events being built beside the real one.
type Rebuild struct {
	month month
	table string
	n     int
}

// StartRebuild creates an empty day.
func (s *Store) StartRebuild(ctx context.Context, date day.Day) (*Rebuild, error) {
	r := &Rebuild{month: month{store: s, day: date, run: strings.ReplaceAll(uuid.NewString(), "-", "")}}
	r.table = r.month.beside("events")
	return r, r.month.clone(ctx, "events")
}

// Add adds rows of the day.
func (r *Rebuild) Add(ctx context.Context, rows []report.Row) error {
	r.n++
	statement := strings.Replace(insertEvents, "INTO events", "INTO "+r.table, 1)
	return send(
		ctx, r.month.store, insertion{statement, fmt.Sprintf("%s-%d", r.table, r.n), "rebuild events"}, rows,
		fillEvents,
	)
}

// Charges returns the campaigns' charges in the rebuilt day.
func (r *Rebuild) Charges(ctx context.Context) (map[uuid.UUID]money.Micros, error) {
	charges, err := r.month.store.chargesOf(ctx, r.table, r.month.day, r.month.day)
	return charges[r.month.day], err
}

// Replace swaps in the rebuilt day, with everything computed from it. Nothing else may be inserted
// meanwhile. Everything is built first, then each table changes in one statement. So an interrupted
// run leaves no table with half a day: some tables are unchanged, and a comparison finds them.
func (r *Rebuild) Replace(ctx context.Context) error {
	if err := r.month.views(ctx, r.table); err != nil {
		return err
	}
	return r.month.replace(ctx)
}

// Drop removes the tables that were built.
func (r *Rebuild) Drop(ctx context.Context) error { return r.month.drop(ctx) }

// dayOf is the driver's Go type of a Date.
type dayOf = time.Time
