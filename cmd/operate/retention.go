package operate

import (
	"fmt"
	"time"

	"adnet/cmd/cli"
	"adnet/consumers/retain"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/store/postgres"
)

// Retention is `adnet retention`.
type Retention struct {
	Postgres postgres.Config `embed:""`
	Keep     retain.Config   `embed:""`
	Life     retain.Life     `embed:""`
	DryRun   bool            `name:"dry-run" help:"Change nothing; print what would be removed."`
	JSON     bool            `name:"json" help:"Print JSON."`
}

// Run removes unneeded data.
func (c *Retention) Run(p cli.Process) error {
	cut, err := c.Keep.Cutoffs(time.Now(), c.Life.Conversion)
	if err != nil {
		return err
	}
	ctx := p.Ctx
	store, err := postgres.Open(ctx, c.Postgres)
	if err != nil {
		return err
	}
	defer store.Close()
	gone, err := store.Retention.Retain(ctx, cut, c.DryRun)
	if err != nil {
		return err
	}
	if !c.DryRun {
		err := store.Audit.RecordAudit(ctx,
			auditlog.Entry{TargetKind: auditlog.TargetStore, TargetID: "retention", Changes: map[string]auditlog.Change{
				"horizon": {After: gone.Horizon.String()}, "marks": {After: -gone.Marks},
				"records": {After: -gone.Records}, "dead_letters": {After: -gone.Dead},
			}})
		if err != nil {
			return err
		}
	}
	days := make([]string, len(gone.Days))
	for i, day := range gone.Days {
		days[i] = day.String()
	}
	if c.JSON {
		return cli.PrintJSON(p.Stdout, map[string]any{
			"dry_run": c.DryRun, "horizon": gone.Horizon.String(), "days": days, "marks": gone.Marks,
			"applied_ranges": gone.Ranges, "records": gone.Records,
			"dead_letters": gone.Dead, "idempotency_keys": gone.Keys, "report_emails": gone.Emails,
			"reports": gone.Reports,
		})
	}
	verb := "removed"
	if c.DryRun {
		verb = "would remove"
	}
	fmt.Fprintf(p.Stdout, "events of auctions before %s expire\n", gone.Horizon)
	fmt.Fprintf(p.Stdout, "%s %d deduplication marks of %d days %v\n", verb, gone.Marks, len(days), days)
	fmt.Fprintf(p.Stdout, "%s %d applied ranges (%d records) that are archived\n", verb, gone.Ranges, gone.Records)
	fmt.Fprintf(p.Stdout, "%s %d dead letters and %d idempotency keys\n", verb, gone.Dead, gone.Keys)
	fmt.Fprintf(p.Stdout, "%s %d reports of ads and %d e-mails left with others\n", verb, gone.Reports, gone.Emails)
	return nil
}
