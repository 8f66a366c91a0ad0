package clickhouse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"adnet/internal/process/link"
	schema "adnet/schemas/clickhouse"
)

// Examine checks ClickHouse as adnet uses it: version, latency, encryption, whether the schema is
// this build's, and whether the user may write, read and create tables. It changes nothing.
func Examine(ctx context.Context, cfg Config) link.Report {
	report := link.Report{Server: "ClickHouse", Setting: envURL}
	var watch link.Watch
	cfg.seen = watch.Seen
	options, err := cfg.options()
	if err != nil {
		report.Away(err, "mend the setting")
		return report
	}
	report.Address = strings.Join(options.Addr, ",") + "/" + options.Auth.Database
	err = withServer(cfg, func(conn clickhouse.Conn, name string) error {
		return examine(ctx, &report, conn, name, &watch)
	})
	if err != nil {
		report.Away(failure(err, "look at the server"), "start ClickHouse, or correct "+envURL)
	}
	return report
}

func examine(ctx context.Context, report *link.Report, conn clickhouse.Conn, database string, watch *link.Watch) error {
	err := report.Measure(func() (now time.Time, err error) {
		return now, conn.QueryRow(ctx, "SELECT now64(6)").Scan(&now)
	})
	if err != nil {
		return err
	}
	local := true
	for _, address := range strings.Split(strings.SplitN(report.Address, "/", 2)[0], ",") {
		local = local && link.Local(address)
	}
	report.Encrypted(watch, local, "add secure=true to "+envURL)
	var found uint64
	err = conn.QueryRow(bind(ctx, map[string]string{"name": database}),
		"SELECT version(), (SELECT count() FROM system.databases WHERE name = {name:String})").Scan(&report.Version,
		&found)
	if err != nil {
		return err
	}
	rights(ctx, report, conn, database)
	if found == 0 {
		report.Mend("database "+database+" is missing", "run `adnet migrate`")
		return nil
	}
	return migrated(ctx, report, conn, database)
}

// rights checks the user's rights. It reports nothing when the server cannot be queried.
func rights(ctx context.Context, report *link.Report, conn clickhouse.Conn, database string) {
	const do = "GRANT SELECT, INSERT, ALTER, CREATE, DROP, TRUNCATE ON the database to the user of " + envURL
	for name, privilege := range map[string]string{
		"read events": "SELECT", "write events": "INSERT", "create tables": "CREATE TABLE",
	} {
		var granted uint8
		if err := conn.QueryRow(ctx, "CHECK GRANT "+privilege+" ON "+database+".*").Scan(&granted); err == nil {
			report.Right(name, granted == 1, do)
		}
	}
}

// migrated compares the applied files with this build's.
func migrated(ctx context.Context, report *link.Report, conn clickhouse.Conn, database string) error {
	files, err := schema.Migrations()
	if err != nil {
		return err
	}
	var applied uint64
	if err := conn.QueryRow(
		ctx, "SELECT count(DISTINCT version) FROM "+database+".schema_migrations",
	).Scan(&applied); err != nil {
		report.Mend("the schema is missing", "run `adnet migrate`")
		return nil
	}
	if n := len(files) - int(applied); n > 0 {
		report.Mend(fmt.Sprintf("%d migrations of this version are missing", n), "run `adnet migrate`")
	}
	return nil
}
