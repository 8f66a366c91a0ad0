// Package schedule says when recurring work runs: after a pause, again and again, or at a time of
// the UTC day. It holds the waiting only. What failed, and how long to wait then, is the caller's
// to say.
package schedule

import (
	"context"
	"time"
)

// Clock returns now, or the machine's clock when now is nil: a component's Deps.Now may be left
// out.
func Clock(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}

// Pause waits for d, or until ctx ends. It returns nil when d has passed, also when d is not
// positive, and otherwise the error of ctx.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Loop waits for first and calls turn, then waits for as long as turn says and calls it again,
// until ctx ends. A turn that runs then is not interrupted by Loop.
func Loop(ctx context.Context, first time.Duration, turn func(context.Context) (wait time.Duration)) {
	for wait := first; Pause(ctx, wait) == nil && ctx.Err() == nil; {
		wait = turn(ctx)
	}
}

// Every calls turn each time that every has passed, until ctx ends; with every 0 it only waits for
// that end. A turn that fails is told to failed and repeated with the next, unless ctx ended.
func Every(ctx context.Context, every time.Duration, turn func(context.Context) error, failed func(error)) {
	if every == 0 {
		<-ctx.Done()
		return
	}
	Loop(ctx, every, func(ctx context.Context) time.Duration {
		if err := turn(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		return every
	})
}

// UntilTimeOfDay is how long after now the UTC day next reaches at, a time since midnight. It is
// more than zero and at most 24 hours: at the very instant it is a day.
func UntilTimeOfDay(now time.Time, at time.Duration) time.Duration {
	const day = 24 * time.Hour
	since := now.Sub(now.UTC().Truncate(day)) // Truncate counts from the zero time, which is a midnight UTC
	if wait := at - since; wait > 0 {
		return wait
	}
	return at - since + day
}
