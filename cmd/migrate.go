package cmd

import (
	"fmt"

	"adnet/analytics/clickhouse"
	"adnet/cmd/cli"
	"adnet/internal/kafka"
	"adnet/internal/store/postgres"
)

// migrate is `adnet migrate`. It brings schemas and topics up to date. Each step runs once, and the
// command is safe to repeat.
type migrate struct {
	Postgres   postgres.Config      `embed:""`
	Owner      postgres.OwnerConfig `embed:""`
	ClickHouse clickhouse.Config    `embed:""`
	Kafka      kafka.Config         `embed:""`
}

// Run runs the command until it finishes or receives a stop signal.
func (c *migrate) Run(p cli.Process) error {
	say := func(line string) { fmt.Fprintln(p.Stdout, line) }
	owner, err := c.Owner.Or(c.Postgres)
	if err != nil {
		return err
	}
	if err := postgres.Migrate(p.Ctx, owner, say); err != nil {
		return err
	}
	if err := postgres.Grant(p.Ctx, owner, c.Postgres.URL, say); err != nil {
		return err
	}
	applied, err := clickhouse.Migrate(p.Ctx, c.ClickHouse)
	if err != nil {
		return err
	}
	for _, name := range applied {
		fmt.Fprintln(p.Stdout, "ClickHouse: applied", name)
	}
	if err := kafka.EnsureTopics(p.Ctx, c.Kafka, kafka.Deps{Log: p.Log}); err != nil {
		return err
	}
	fmt.Fprintln(p.Stdout, "PostgreSQL, ClickHouse and the Kafka topics are at this version.")
	return nil
}
