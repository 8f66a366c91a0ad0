package app

import (
	"context"
	"fmt"
	"time"

	"adnet/analytics/clickhouse"
	"adnet/analytics/rollup"
	"adnet/internal/day"
	"adnet/internal/kafka"
	"adnet/internal/obs"
	"adnet/internal/postgres"
	"adnet/internal/trail"
)

// consumers is `adnet consumers`: settlement, archive, projection and the nightly roll-up.
type consumers struct {
	Host    hostConfig      `embed:""`
	Role    consumersConfig `embed:""`
	Money   moneyConfig     `embed:"" set:"prepaid=required"`
	Servers serversConfig   `embed:""`
	Life    conversionLife  `embed:""`
}

// Run runs the command until it is told to stop or has done its work.
func (c *consumers) Run(p process) error {
	h, err := newHost(p, c.Host)
	if err != nil {
		return err
	}
	b, err := openServers(h, c.Servers, c.Money)
	if err != nil {
		return err
	}
	defer b.close()
	c.Role.Life = c.Life.Conversion
	if err := addConsumers(h, c.Role, c.Money, b); err != nil {
		return err
	}
	return h.run()
}

// migrate is `adnet migrate`: schemas and topics, each step only once, safe to repeat.
type migrate struct {
	Postgres   postgres.Config      `embed:""`
	Owner      postgres.OwnerConfig `embed:""`
	ClickHouse clickhouse.Config    `embed:""`
	Kafka      kafka.Config         `embed:""`
}

// Run runs the command until it is told to stop or has done its work.
func (c *migrate) Run(p process) error {
	say := func(line string) { fmt.Fprintln(p.stdout, line) }
	owner := c.Owner.Or(c.Postgres)
	if err := postgres.Migrate(p.ctx, owner, say); err != nil {
		return err
	}
	if err := postgres.Grant(p.ctx, owner, c.Postgres.URL, say); err != nil {
		return err
	}
	applied, err := clickhouse.Migrate(p.ctx, c.ClickHouse)
	if err != nil {
		return err
	}
	for _, name := range applied {
		fmt.Fprintln(p.stdout, "ClickHouse: applied", name)
	}
	if err := kafka.EnsureTopics(p.ctx, c.Kafka, kafka.Deps{Log: p.log}); err != nil {
		return err
	}
	fmt.Fprintln(p.stdout, "PostgreSQL, ClickHouse and the Kafka topics are at this version.")
	return nil
}

// rollupOnce is `adnet rollup`.
type rollupOnce struct {
	ClickHouse clickhouse.Config `embed:""`
	Postgres   postgres.Config   `embed:""`
	Date       string            `name:"date" env:"ADNET_ROLLUP_DATE" help:"UTC day like 2026-01-31 (default: yesterday)."`
}

// Run runs the command until it is told to stop or has done its work.
func (c *rollupOnce) Run(p process) error {
	date := day.Of(time.Now()) - 1
	if c.Date != "" {
		t, err := time.Parse(time.DateOnly, c.Date)
		if err != nil {
			return fmt.Errorf("--date must be a day like 2026-01-31, not %q", c.Date)
		}
		date = day.Of(t)
	}
	store, err := openClickHouse(p, c.ClickHouse)
	if err != nil {
		return err
	}
	defer logClose(p, "ClickHouse", store.Close)
	roll, err := rollup.New(rollup.Config{}, rollup.Deps{Store: store, Log: p.log, Registry: obs.NewRegistry()})
	if err != nil {
		return err
	}
	rows, err := roll.Aggregate(context.WithoutCancel(p.ctx), date)
	if err != nil {
		return err
	}
	if c.Postgres.URL != "" { // a scheduler may know ClickHouse only
		books, err := postgres.Open(p.ctx, c.Postgres)
		if err != nil {
			return err
		}
		defer books.Close()
		if err := books.RecordAudit(context.WithoutCancel(p.ctx), trail.OfRollup(date, rows)); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.stdout, "%s: %d rows\n", date, rows)
	return nil
}
