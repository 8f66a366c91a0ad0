// Package stats answers report queries from the analytics store.
//
// Contract: a result includes every event received up to Result.AsOf, because AsOf is read before
// the data. Totals, the daily series and the groups of one result come from one query and so agree.
// A day comes from the roll-up if that counts at least as many events as the live counters of the
// day, otherwise from the live counters. So a roll-up changes no result, and an event that arrives
// after it is not lost.
//
// # Not obvious
//
// AsOf does not advance without traffic: it is the receipt time of the newest counted event, not
// the time of the query.
package stats

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/report"
)

// Config limits the cost of one query.
type Config struct {
	Timeout time.Duration `name:"stats-timeout" env:"ADNET_STATS_TIMEOUT" default:"10s" help:"Longest time for one stats answer."`
}

// Store runs queries with bound parameters; see analytics/clickhouse.
type Store interface {
	Select(ctx context.Context, dest any, query string, params map[string]string) error
}

// Deps holds the dependencies of a reader.
type Deps struct {
	Store Store
}

// Reader answers queries. It is safe for concurrent use.
type Reader struct {
	timeout time.Duration
	store   Store
}

// New returns a reader. A zero Config.Timeout takes the default.
func New(cfg Config, deps Deps) (*Reader, error) {
	if deps.Store == nil {
		return nil, errs.New(errs.Internal, "stats: no store")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 10 * time.Second
	}
	return &Reader{timeout: cfg.Timeout, store: deps.Store}, nil
}

// Stats runs q. Errors: errs.InvalidRequest for a breakdown outside the closed list;
// errs.Unavailable when the store is unreachable or the query exceeded the time limit.
func (r *Reader) Stats(ctx context.Context, q report.Query) (report.Result, error) {
	text, err := countsQuery(q)
	if err != nil {
		return report.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	params, some := bind(q)
	var result report.Result
	if result.AsOf, err = r.days(ctx, params); err != nil {
		return report.Result{}, r.failure(ctx, err)
	}
	if !some {
		return result, nil
	}
	var rows []counted
	var reasons []reason
	both, bound := errgroup.WithContext(ctx)
	both.Go(func() error { return r.store.Select(bound, &rows, text, params) })
	both.Go(func() error { return r.store.Select(bound, &reasons, trafficQuery(q), params) })
	if err := both.Wait(); err != nil {
		return report.Result{}, r.failure(ctx, err)
	}
	collect(&result, rows, &q)
	for _, t := range reasons {
		result.Traffic = append(result.Traffic, report.Traffic(t))
	}
	return result, nil
}

// reason is one row of the traffic query.
type reason struct {
	Reason      string `ch:"reason"`
	Impressions int64  `ch:"impressions"`
	Clicks      int64  `ch:"clicks"`
	Other       int64  `ch:"other"`
}

// failure converts the reader's own time limit into a code; a cancelled caller gets its own error.
func (r *Reader) failure(ctx context.Context, err error) error {
	if ctx.Err() == context.DeadlineExceeded {
		return errs.Wrap(err, errs.Unavailable, "the stats took too long: ask for fewer days")
	}
	return err
}

// days reads how recent the counters are. It binds the days read from the roll-up, each with a run
// that counts at least as many events as the live counters. It runs before the counts: after them,
// AsOf would cover events that arrived in between.
func (r *Reader) days(ctx context.Context, params map[string]string) (asOf time.Time, err error) {
	var rows []struct {
		Day time.Time `ch:"day"`
		Run uuid.UUID `ch:"run"`
		N   int64     `ch:"n"`
		At  time.Time `ch:"at"`
	}
	if err := r.store.Select(ctx, &rows, daysQuery, params); err != nil {
		return time.Time{}, err
	}
	live := make(map[day.Day]int64)
	for i := range rows {
		if rows[i].Run == uuid.Nil {
			live[day.Of(rows[i].Day)] = rows[i].N
			if at := rows[i].At; at.Unix() > 0 && at.After(asOf) {
				asOf = at.UTC()
			}
		}
	}
	chosen := make(map[day.Day]uuid.UUID)
	for i := range rows {
		row, date := &rows[i], day.Of(rows[i].Day)
		counted, lives := live[date]
		best := chosen[date]
		if row.Run != uuid.Nil && lives && row.N >= counted && bytes.Compare(row.Run[:], best[:]) > 0 {
			chosen[date] = row.Run
		}
	}
	days, runs := make([]string, 0, len(chosen)), make([]string, 0, len(chosen))
	for _, date := range slices.Sorted(maps.Keys(chosen)) {
		days = append(days, "'"+date.String()+"'")
		runs = append(runs, "'"+chosen[date].String()+"'")
	}
	params["rolled"] = "[" + strings.Join(days, ",") + "]"
	params["runs"] = "[" + strings.Join(runs, ",") + "]"
	return asOf, nil
}

// collect converts the rows of the two grouping sets into the result.
func collect(result *report.Result, rows []counted, q *report.Query) {
	for i := range rows {
		row := &rows[i]
		if row.Kind == kindGroup {
			result.Groups = append(result.Groups, report.Group{Key: row.Key, Then: row.Then, Counts: row.counts()})
			continue
		}
		group := report.Group{Key: day.Of(row.Day).String(), Counts: row.counts()}
		result.Daily = append(result.Daily, group)
		result.Counts.Add(group.Counts)
	}
	slices.SortFunc(result.Daily, func(a, b report.Group) int { return strings.Compare(a.Key, b.Key) })
	if q.Breakdown == report.ByDay && q.Then == "" {
		result.Groups = slices.Clone(result.Daily)
	}
	q.Sort(result.Groups)
	result.Limit(q)
}
