package load

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// pollEvery is the interval of reading stats while they catch up.
const pollEvery = 250 * time.Millisecond

// calmFor is how long stats must not change before those of pending conversions are not awaited.
const calmFor = 5 * time.Second

// view names the accounts whose stats measure the run, and their stats before it.
type view struct {
	publishers []publisher
	since      string // UTC day
	before     Stats
}

// baseline reads the stats before anything is sent: accounts of an earlier run and configured keys
// have some.
func (l *Load) baseline(ctx context.Context, publishers []publisher) (view, error) {
	v := view{since: l.deps.Clock.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)}
	for _, p := range publishers {
		if p.bearer != "" {
			v.publishers = append(v.publishers, p)
		}
	}
	var err error
	v.before, err = l.stats(ctx, v)
	return v, err
}

// stats sums the publishers' stats.
func (l *Load) stats(ctx context.Context, v view) (Stats, error) {
	var sum Stats
	query := url.Values{"type": {"developer"}, "since": {v.since}}
	for _, p := range v.publishers {
		var s Stats
		if err := l.client.do(
			ctx, call{method: http.MethodGet, path: "/api/stats?" + query.Encode(), bearer: p.bearer}, &s,
		); err != nil {
			return sum, err
		}
		sum.add(s, 1)
	}
	return sum, nil
}

// settle waits until the stats account for every answered beacon, at most SettleWait. If they do
// not in time, the report notes it, without an error. Errors: ctx's.
func (l *Load) settle(ctx context.Context, v view) error {
	if len(v.publishers) == 0 {
		return nil
	}
	bar := l.bar("wait for stats", l.tally.acked())
	defer bar.end()
	clock, added := l.deps.Clock, 0
	until, changed := clock.Now().Add(l.cfg.SettleWait), clock.Now()
	for {
		now, err := l.stats(ctx, v)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			now.add(v.before, -1)
			if more := int(now.Accounted()) - added; more != 0 {
				bar.add(more)
				added, changed = added+more, clock.Now()
			}
			if l.tally.counted(now, clock.Now().Sub(changed) >= calmFor) {
				return nil
			}
		}
		if !clock.Now().Add(pollEvery).Before(until) {
			if err != nil {
				l.tally.note("stats could not be read: " + err.Error())
			}
			return nil
		}
		if err := clock.SleepUntil(ctx, clock.Now().Add(pollEvery)); err != nil {
			return err
		}
	}
}
