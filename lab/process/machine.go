package process

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"adnet/internal/process/schedule"
)

// Busy waits and returns the share of the machine's processor time used meanwhile, 0 to 1. In an
// idle suite it measures the load of other processes.
func Busy(ctx context.Context, wait time.Duration) (float64, error) {
	before, err := machineTime()
	if err != nil {
		return 0, err
	}
	if err := schedule.Pause(ctx, wait); err != nil {
		return 0, err
	}
	after, err := machineTime()
	return (after.used - before.used) / max(1, after.all-before.all), err
}

type usedTime struct{ used, all float64 } // ticks of all cores since the machine's start

func machineTime() (t usedTime, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return t, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 {
		return t, fmt.Errorf("/proc/stat: %q", line)
	}
	for i, field := range fields[1:9] {
		n, _ := strconv.ParseFloat(field, 64)
		if t.all += n; i != 3 && i != 4 { // idle, waiting for a disk
			t.used += n
		}
	}
	return t, nil
}
