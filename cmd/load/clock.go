package load

import (
	"context"
	"time"

	"adnet/internal/process/schedule"
)

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) SleepUntil(ctx context.Context, t time.Time) error {
	return schedule.Pause(ctx, time.Until(t))
}
