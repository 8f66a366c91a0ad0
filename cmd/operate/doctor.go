package operate

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"adnet/analytics/clickhouse"
	"adnet/cmd/backends"
	"adnet/cmd/cli"
	"adnet/internal/kafka"
	"adnet/internal/process/link"
	"adnet/internal/store/postgres"
	"adnet/internal/store/redis"
)

// Doctor is `adnet doctor`: it connects to every server and prints its findings with advice.
type Doctor struct {
	Postgres   postgres.Config      `embed:""`
	Owner      postgres.OwnerConfig `embed:""`
	Redis      redis.Config         `embed:""`
	Kafka      kafka.Config         `embed:""`
	ClickHouse clickhouse.Config    `embed:""`
	JSON       bool                 `name:"json" help:"Print JSON instead of text."`
	Timeout    time.Duration        `name:"timeout" default:"20s" help:"Time limit per server."`
}

// Run examines all servers concurrently and prints its findings. It returns [cli.ErrExit] when
// something needs repair.
func (c *Doctor) Run(p cli.Process) error {
	reports := c.examine(p)
	healthy := true
	for i := range reports {
		healthy = healthy && reports[i].OK()
	}
	if c.JSON {
		if err := cli.PrintJSON(p.Stdout, doctorReport{OK: healthy, Servers: asJSON(reports)}); err != nil {
			return err
		}
	} else {
		printReports(p.Stdout, reports, healthy)
	}
	if !healthy {
		return cli.ErrExit
	}
	return nil
}

func (c *Doctor) examine(p cli.Process) []link.Report {
	ctx, cancel := context.WithTimeout(p.Ctx, c.Timeout)
	defer cancel()
	looks := looksAt(
		ctx, backends.Servers{Postgres: c.Postgres, Redis: c.Redis, Kafka: c.Kafka, ClickHouse: c.ClickHouse},
	)
	if c.Owner.OwnerURL != "" {
		looks = append(looks, func() link.Report { return postgres.ExamineOwner(ctx, c.Owner, c.Postgres) })
	}
	return atOnce(looks)
}

// Examine inspects the servers like `adnet doctor`, except for the owner's role, which no serving
// process has. It ends with ctx.
func Examine(ctx context.Context, servers backends.Servers) []link.Report {
	return atOnce(looksAt(ctx, servers))
}

func looksAt(ctx context.Context, s backends.Servers) []func() link.Report {
	return []func() link.Report{
		func() link.Report { return postgres.Examine(ctx, s.Postgres) },
		func() link.Report { return redis.Examine(ctx, s.Redis, redis.Deps{}) },
		func() link.Report { return kafka.Examine(ctx, s.Kafka, kafka.Deps{}) },
		func() link.Report { return clickhouse.Examine(ctx, s.ClickHouse) },
	}
}

func atOnce(looks []func() link.Report) []link.Report {
	reports := make([]link.Report, len(looks))
	var all sync.WaitGroup
	for i, look := range looks {
		all.Go(func() { reports[i] = look() })
	}
	all.Wait()
	if len(reports) > 1 {
		countConns(&reports[0], reports[1].Conns)
	}
	return reports
}

// countConns adds a finding when the running processes may open more connections to PostgreSQL than
// it accepts: under load the last of them would be refused.
func countConns(postgres *link.Report, open int) {
	if postgres.Reached && open > postgres.Conns {
		postgres.Advise(
			fmt.Sprintf(
				"the running processes may open %d connections, and the server accepts %d", open, postgres.Conns,
			),
			"raise max_connections, lower ADNET_POSTGRES_MAX_CONNS, or put PgBouncer between: docs/operate/scale.md",
		)
	}
}

// doctorReport is the form of --json.
type doctorReport struct {
	OK      bool        `json:"ok"` // nothing needs repair
	Servers []link.Seen `json:"servers"`
}

func asJSON(reports []link.Report) []link.Seen {
	all := make([]link.Seen, len(reports))
	for i := range reports {
		all[i] = reports[i].Seen()
	}
	return all
}

// printReports writes a block per server: its properties, then its rights, then the findings.
func printReports(w io.Writer, reports []link.Report, healthy bool) {
	for i := range reports {
		r := &reports[i]
		word := "ok  "
		if !r.OK() {
			word = "MEND"
		}
		fmt.Fprintf(w, "%s  %-18s %s\n", word, r.Server, r.Address)
		if r.Reached {
			fmt.Fprintf(
				w, "      version %s · %s away · clock %s · %s\n", cmp.Or(r.Version, "unknown"),
				r.Latency.Round(10*time.Microsecond), clockOf(r), r.Encryption,
			)
		}
		for _, right := range r.Rights {
			verdict := "may"
			if !right.OK {
				verdict = "MAY NOT"
			}
			fmt.Fprintf(w, "      %s %s\n", verdict, right.Name)
		}
		for _, f := range r.Findings {
			kind := "advice"
			if f.Mend {
				kind = "MEND"
			}
			fmt.Fprintf(w, "      %s: %s\n              → %s (%s)\n", kind, f.What, f.Do, r.Setting)
		}
	}
	if healthy {
		fmt.Fprintf(w, "doctor: %d servers, nothing to mend\n", len(reports))
		return
	}
	fmt.Fprintln(w, "doctor: something must be mended")
}

func clockOf(r *link.Report) string {
	if r.ClockAhead == nil {
		return "unknown"
	}
	return fmt.Sprintf("%+.1f ms", float64(r.ClockAhead.Microseconds())/1000)
}
