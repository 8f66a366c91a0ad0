package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/report"

	"github.com/google/uuid"
)

// Difference is one comparison of a day: what events say and what somebody else says.
type Difference struct {
	Day    ledger.Day
	What   string // what was compared: a name that stays
	Key    string // of what: a campaign, a verdict
	Events int64
	Other  int64
}

const (
	chargesQuery = `
SELECT day, campaign_id, sum(charge) AS charged FROM events
WHERE day >= {first:Date} AND day <= {last:Date} AND charge != 0 GROUP BY day, campaign_id`

	repeatsQuery = `
SELECT day, toInt64(count()) AS events, toInt64(uniqExact(event_id)) AS other FROM events
WHERE day >= {first:Date} AND day <= {last:Date} AND event_id != toUUID('00000000-0000-0000-0000-000000000000') GROUP BY day HAVING events != other`

	// Each counter is compared by campaign: a sum over everything could hide two errors that cancel out.
	countersQuery = `
SELECT day, what, toString(campaign_id) AS key, sum(e) AS events, sum(o) AS other
FROM
(
    SELECT day, campaign_id, c.1 AS what, c.2 AS e, toInt64(0) AS o FROM
    (
        SELECT day, campaign_id, arrayJoin([
            ('events', toInt64(count())), ('impressions', toInt64(countIf(class = 'counted' AND type = 'impression'))),
            ('clicks', toInt64(countIf(class = 'counted' AND type = 'click'))), ('conversions', toInt64(countIf(class = 'counted' AND type = 'conversion'))),
            ('spend', toInt64(sum(charge))), ('credits', toInt64(sum(minted)))]) AS c
        FROM events WHERE day >= {first:Date} AND day <= {last:Date} GROUP BY day, campaign_id
    )
    UNION ALL
    SELECT day, campaign_id, c.1 AS what, toInt64(0) AS e, c.2 AS o FROM
    (
        SELECT day, campaign_id, arrayJoin([
            ('events', toInt64(sum(t.events))), ('impressions', toInt64(sum(t.impressions))), ('clicks', toInt64(sum(t.clicks))),
            ('conversions', toInt64(sum(t.conversions))), ('spend', toInt64(sum(t.spend))), ('credits', toInt64(sum(t.credits)))]) AS c
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
        SELECT day, verdict, arrayJoin([('events', toInt64(count())), ('charge', toInt64(sum(charge))), ('minted', toInt64(sum(minted)))]) AS c
        FROM events WHERE day >= {first:Date} AND day <= {last:Date} GROUP BY day, verdict
    )
    UNION ALL
    SELECT day, c.1 AS what, toString(verdict) AS key, toInt64(0) AS e, c.2 AS o FROM
    (
        SELECT day, verdict, arrayJoin([('events', toInt64(sum(t.events))), ('charge', toInt64(sum(t.charge))), ('minted', toInt64(sum(t.minted)))]) AS c
        FROM verdict_daily AS t WHERE day >= {first:Date} AND day <= {last:Date} GROUP BY day, verdict
    )
)
GROUP BY day, what, key HAVING events != other ORDER BY day, what, key`

	// The run that readers take of a rolled-up day; days without one are not compared.
	rollupRuns = `
(SELECT r.* FROM stats_rollup AS r INNER JOIN (
    SELECT day, argMax(run, (n, run)) AS run FROM (SELECT day, run, sum(events) AS n FROM stats_rollup GROUP BY day, run) GROUP BY day
) AS chosen ON chosen.day = r.day AND chosen.run = r.run)`
	// A run that counts fewer events than the live counters is not read: it is stale, not wrong.
	rolledDays = `
SELECT rolled.day AS day
FROM (SELECT day, max(n) AS n FROM (SELECT day, run, sum(events) AS n FROM stats_rollup GROUP BY day, run) GROUP BY day) AS rolled
INNER JOIN (SELECT day, sum(events) AS live FROM stats_daily GROUP BY day) AS counted ON counted.day = rolled.day
WHERE rolled.n >= counted.live AND rolled.day >= {first:Date} AND rolled.day <= {last:Date}`
)

func between(first, last ledger.Day) map[string]string {
	return map[string]string{"first": first.String(), "last": last.String()}
}

// Charges is what events say campaigns were charged on the days from first to last.
func (s *Store) Charges(ctx context.Context, first, last ledger.Day) (map[ledger.Day]map[uuid.UUID]money.Micros, error) {
	return s.chargesOf(ctx, "events", first, last)
}

func (s *Store) chargesOf(ctx context.Context, table string, first, last ledger.Day) (map[ledger.Day]map[uuid.UUID]money.Micros, error) {
	var rows []struct {
		Day      dayOf     `ch:"day"`
		Campaign uuid.UUID `ch:"campaign_id"`
		Charge   int64     `ch:"charged"`
	}
	if err := s.Select(ctx, &rows, strings.Replace(chargesQuery, "FROM events", "FROM "+table, 1), between(first, last)); err != nil {
		return nil, err
	}
	charges := make(map[ledger.Day]map[uuid.UUID]money.Micros)
	for _, r := range rows {
		day := ledger.DayOf(r.Day.UTC())
		if charges[day] == nil {
			charges[day] = make(map[uuid.UUID]money.Micros)
		}
		charges[day][r.Campaign] = money.Micros(r.Charge)
	}
	return charges, nil
}

// CompareDays compares the events of the days from first to last with everything that is computed from them: the live
// counters, the verdicts per day and the roll-up, and counts events that are there twice.
func (s *Store) CompareDays(ctx context.Context, first, last ledger.Day) (found []Difference, err error) {
	type row struct {
		Day    dayOf  `ch:"day"`
		What   string `ch:"what"`
		Key    string `ch:"key"`
		Events int64  `ch:"events"`
		Other  int64  `ch:"other"`
	}
	add := func(source, query string, keep func(ledger.Day) bool) error {
		var rows []row
		if err := s.Select(ctx, &rows, query, between(first, last)); err != nil {
			return err
		}
		for _, r := range rows {
			if day := ledger.DayOf(r.Day.UTC()); keep(day) {
				found = append(found, Difference{Day: day, What: source + " " + r.What, Key: r.Key, Events: r.Events, Other: r.Other})
			}
		}
		return nil
	}
	every := func(ledger.Day) bool { return true }
	if err := add("repeats", strings.Replace(repeatsQuery, "SELECT day,", "SELECT day, 'event ids' AS what, '' AS key,", 1), every); err != nil {
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
	return found, add("stats_rollup", fmt.Sprintf(countersQuery, rollupRuns), func(day ledger.Day) bool {
		for _, r := range rolled {
			if ledger.DayOf(r.Day.UTC()) == day {
				return true
			}
		}
		return false
	})
}

// view is a materialized view on events.
type view struct{ Target, Select string }

// views finds the materialized views that read events, and their targets.
func (s *Store) views(ctx context.Context) ([]view, error) {
	var rows []struct {
		Name   string `ch:"name"`
		Select string `ch:"as_select"`
	}
	err := s.Select(ctx, &rows, `SELECT name, as_select FROM system.tables WHERE database = currentDatabase() AND engine = 'MaterializedView'`, nil)
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

// RebuildViews computes everything that is kept per day beside the events again, for one day. Nothing may be inserted into events
// meanwhile. A run that is cut short leaves a day that CompareDays finds; the next run completes it.
func (s *Store) RebuildViews(ctx context.Context, day ledger.Day) error {
	views, err := s.views(ctx)
	if err != nil {
		return err
	}
	for _, v := range views {
		if err := s.deleteDay(ctx, v.Target, day); err != nil {
			return err
		}
		columns, err := s.columns(ctx, v.Target)
		if err != nil {
			return err
		}
		names := strings.Join(columns, ", ")
		statement := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM (%s) WHERE day = {day:Date} SETTINGS insert_deduplicate = 0", v.Target, names, names, v.Select)
		if err := s.Exec(ctx, statement, map[string]string{"day": day.String()}); err != nil {
			return err
		}
	}
	return nil
}

// deleteDay removes a day from a table and waits for it.
func (s *Store) deleteDay(ctx context.Context, table string, day ledger.Day) error {
	return s.Exec(ctx, "ALTER TABLE "+table+" DELETE WHERE day = toDate('"+day.String()+"') SETTINGS mutations_sync = 2", nil)
}

// columns lists the columns of a table that are stored and not computed.
func (s *Store) columns(ctx context.Context, table string) ([]string, error) {
	var rows []struct {
		Name string `ch:"name"`
	}
	err := s.Select(ctx, &rows, `SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {table:String} AND default_kind NOT IN ('MATERIALIZED', 'ALIAS') ORDER BY position`,
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

// Rebuild is a day of events that is being put together beside the real one.
type Rebuild struct {
	store *Store
	day   ledger.Day
	table string
	n     int
}

// StartRebuild makes an empty day.
func (s *Store) StartRebuild(ctx context.Context, day ledger.Day) (*Rebuild, error) {
	r := &Rebuild{store: s, day: day, table: "events_rebuild_" + strings.ReplaceAll(uuid.NewString(), "-", "")}
	return r, s.Exec(ctx, "CREATE TABLE "+r.table+" AS events", nil)
}

// Add adds rows of the day.
func (r *Rebuild) Add(ctx context.Context, rows []report.Row) error {
	r.n++
	statement := strings.Replace(insertEvents, "INTO events", "INTO "+r.table, 1)
	return send(r.store, ctx, insertion{statement, fmt.Sprintf("%s-%d", r.table, r.n), "rebuild events"}, rows, fillEvents)
}

// Charges is what the rebuilt day charges.
func (r *Rebuild) Charges(ctx context.Context) (map[uuid.UUID]money.Micros, error) {
	charges, err := r.store.chargesOf(ctx, r.table, r.day, r.day)
	return charges[r.day], err
}

// Replace puts the day in the place of the real one, with everything that is computed from it. Nothing else may be
// inserted meanwhile. A run that is cut short leaves a day that a comparison finds; the next run completes it.
func (r *Rebuild) Replace(ctx context.Context) error {
	columns, err := r.store.columns(ctx, "events")
	if err != nil {
		return err
	}
	views, err := r.store.views(ctx)
	if err != nil {
		return err
	}
	for _, v := range views {
		if err := r.store.deleteDay(ctx, v.Target, r.day); err != nil {
			return err
		}
	}
	if err := r.store.deleteDay(ctx, "events", r.day); err != nil {
		return err
	}
	names := strings.Join(columns, ", ")
	return r.store.Exec(ctx, "INSERT INTO events ("+names+") SELECT "+names+" FROM "+r.table+" WHERE day = toDate('"+r.day.String()+"') SETTINGS insert_deduplicate = 0", nil)
}

// Drop forgets the day that was put together.
func (r *Rebuild) Drop(ctx context.Context) error {
	return r.store.Exec(context.WithoutCancel(ctx), "DROP TABLE IF EXISTS "+r.table+" SYNC", nil)
}

// dayOf is how the driver gives a Date.
type dayOf = time.Time
