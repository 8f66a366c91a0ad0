package operate

import (
	"context"
	"fmt"
	"time"

	"adnet/analytics/clickhouse"
	"adnet/analytics/rollup"
	"adnet/cmd/backends"
	"adnet/cmd/cli"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/day"
	"adnet/internal/process/obs"
	"adnet/internal/store/postgres"
)

// Rollup is `adnet rollup`.
type Rollup struct {
	ClickHouse clickhouse.Config `embed:""`
	Postgres   postgres.Config   `embed:""`
	Date       string            `name:"date" env:"ADNET_ROLLUP_DATE" help:"UTC day like 2026-01-31 (default: yesterday)."`
}

// Run runs until its work is done or the process is stopped.
func (c *Rollup) Run(p cli.Process) error {
	date := day.Of(time.Now()) - 1
	if c.Date != "" {
		t, err := time.Parse(time.DateOnly, c.Date)
		if err != nil {
			return fmt.Errorf("--date must be a day like 2026-01-31, not %q", c.Date)
		}
		date = day.Of(t)
	}
	store, err := backends.OpenClickHouse(p.Ctx, p.Log, c.ClickHouse)
	if err != nil {
		return err
	}
	defer backends.Close(p.Log, "ClickHouse", store.Close)
	roll, err := rollup.New(rollup.Config{}, rollup.Deps{Store: store, Log: p.Log, Metrics: obs.NewRegistry()})
	if err != nil {
		return err
	}
	rows, err := roll.Aggregate(context.WithoutCancel(p.Ctx), date)
	if err != nil {
		return err
	}
	if c.Postgres.URL != "" { // a scheduler may only know ClickHouse
		books, err := postgres.Open(p.Ctx, c.Postgres)
		if err != nil {
			return err
		}
		defer books.Close()
		if err := books.Audit.RecordAudit(context.WithoutCancel(p.Ctx), auditlog.OfRollup(date, rows)); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.Stdout, "%s: %d rows\n", date, rows)
	return nil
}
