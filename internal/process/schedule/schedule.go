// Package schedule runs recurring work: after a pause, repeatedly, or at a time of the UTC day. It
// only waits. The caller decides what a failure is, and how long to wait then.
package schedule

import (
	"context"
	"time"
)

// Clock returns now, or the machine's clock when now is nil: a component's Deps.Now is optional.
func Clock(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}

// Pause waits for d, or until ctx ends. It returns nil when d has passed or is not positive, and
// otherwise the error of ctx.
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

// Loop waits for first and calls turn, then waits for the duration that turn returned and calls it
// again, until ctx ends. Loop does not interrupt a running turn.
func Loop(ctx context.Context, first time.Duration, turn func(context.Context) (wait time.Duration)) {
	for wait := first; Pause(ctx, wait) == nil && ctx.Err() == nil; {
		wait = turn(ctx)
	}
}

// Every calls turn each time that every has passed, until ctx ends; with every 0 it only waits for
// that end. It passes the error of a turn to failed, unless ctx ended, and the next turn follows as
// usual.
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

// UntilTimeOfDay returns the time from now until the UTC day next reaches at, a time since
// midnight. It is more than zero and at most 24 hours: at the very instant it is a day.
func UntilTimeOfDay(now time.Time, at time.Duration) time.Duration {
	const day = 24 * time.Hour
	since := now.Sub(now.UTC().Truncate(day)) // Truncate counts from the zero time, a midnight UTC
	if wait := at - since; wait > 0 {
		return wait
	}
	return at - since + day
}
