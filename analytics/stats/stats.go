// Package stats answers report queries from the analytics store.
//
// Contract: an answer holds every event that was received up to Result.AsOf, because AsOf is read before the
// data. Totals, the daily series and the groups of one answer come from one query and so agree. A day comes from
// the roll-up when that counts at least as many events as the live counters of the day, else from the live
// counters: a roll-up changes no answer, and an event that arrives after it is not lost.
package stats

import (
	"context"
	"slices"
	"strings"
	"time"

	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/report"

	"github.com/google/uuid"
)

// Config bounds what one question may cost.
type Config struct {
	Timeout time.Duration `name:"stats-timeout" env:"ADNET_STATS_TIMEOUT" default:"10s" help:"Longest time for one stats answer."`
}

// Store runs queries with bound parameters; see analytics/clickhouse.
type Store interface {
	Select(ctx context.Context, dest any, query string, params map[string]string) error
}

// Progress tells up to which time of receipt everything is archived.
type Progress interface {
	ArchivedUntil(ctx context.Context) (time.Time, error)
}

// Deps is what a reader works with.
type Deps struct {
	Store    Store
	Progress Progress // nil: the newest time of receipt in the store
}

// Reader answers queries. It is safe for concurrent use.
type Reader struct {
	timeout  time.Duration
	store    Store
	progress Progress
}

// New makes a reader. A zero Config.Timeout takes the default.
func New(cfg Config, deps Deps) (*Reader, error) {
	if deps.Store == nil {
		return nil, errs.New(errs.Internal, "stats: no store")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 10 * time.Second
	}
	return &Reader{timeout: cfg.Timeout, store: deps.Store, progress: deps.Progress}, nil
}

// Stats answers q. Errors: errs.InvalidRequest for a breakdown outside the closed list; errs.Unavailable when the
// store is out of reach or the answer took longer than the limit.
func (r *Reader) Stats(ctx context.Context, q report.Query) (report.Result, error) {
	text, err := countsQuery(q)
	if err != nil {
		return report.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var result report.Result
	if result.AsOf, err = r.asOf(ctx); err != nil {
		return report.Result{}, r.failure(ctx, err)
	}
	params, some := bind(q)
	if !some {
		return result, nil
	}
	if err = r.bindRolled(ctx, params); err != nil {
		return report.Result{}, r.failure(ctx, err)
	}
	var rows []counted
	if err := r.store.Select(ctx, &rows, text, params); err != nil {
		return report.Result{}, r.failure(ctx, err)
	}
	collect(&result, rows, q.Breakdown)
	var reasons []struct {
		Reason      string `ch:"reason"`
		Impressions int64  `ch:"impressions"`
		Clicks      int64  `ch:"clicks"`
		Other       int64  `ch:"other"`
	}
	if err := r.store.Select(ctx, &reasons, trafficQuery(q), params); err != nil {
		return report.Result{}, r.failure(ctx, err)
	}
	for _, t := range reasons {
		result.Traffic = append(result.Traffic, report.Traffic(t))
	}
	return result, nil
}

// failure turns the reader's own time limit into a code; a caller that went away keeps its error.
func (r *Reader) failure(ctx context.Context, err error) error {
	if ctx.Err() == context.DeadlineExceeded {
		return errs.Wrap(err, errs.Unavailable, "the stats took too long: ask for fewer days")
	}
	return err
}

func (r *Reader) asOf(ctx context.Context) (time.Time, error) {
	if r.progress != nil {
		return r.progress.ArchivedUntil(ctx)
	}
	var rows []struct {
		At time.Time `ch:"at"`
	}
	if err := r.store.Select(ctx, &rows, asOfQuery, nil); err != nil || len(rows) == 0 {
		return time.Time{}, err
	}
	if rows[0].At.Unix() <= 0 { // max of nothing is the epoch
		return time.Time{}, nil
	}
	return rows[0].At.UTC(), nil
}

// bindRolled adds the days that the roll-up answers, and the runs to read them from.
func (r *Reader) bindRolled(ctx context.Context, params map[string]string) error {
	var rows []struct {
		Day time.Time `ch:"day"`
		Run uuid.UUID `ch:"run"`
	}
	if err := r.store.Select(ctx, &rows, rolledQuery, params); err != nil {
		return err
	}
	days, runs := make([]string, len(rows)), make([]string, len(rows))
	for i := range rows {
		days[i] = "'" + ledger.DayOf(rows[i].Day).String() + "'"
		runs[i] = "'" + rows[i].Run.String() + "'"
	}
	params["rolled"] = "[" + strings.Join(days, ",") + "]"
	params["runs"] = "[" + strings.Join(runs, ",") + "]"
	return nil
}

// collect turns rows of the two grouping sets into the result.
func collect(result *report.Result, rows []counted, by report.Breakdown) {
	for i := range rows {
		row := &rows[i]
		if row.Kind == kindGroup {
			result.Groups = append(result.Groups, report.Group{Key: row.Key, Counts: row.counts()})
			continue
		}
		day := report.Group{Key: ledger.DayOf(row.Day).String(), Counts: row.counts()}
		result.Daily = append(result.Daily, day)
		result.Counts.Add(day.Counts)
	}
	slices.SortFunc(result.Daily, func(a, b report.Group) int { return strings.Compare(a.Key, b.Key) })
	if by == report.ByDay {
		result.Groups = slices.Clone(result.Daily)
	}
	slices.SortFunc(result.Groups, report.BySpend)
}
