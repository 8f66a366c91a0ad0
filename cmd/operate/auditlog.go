package operate

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"adnet/cmd/cli"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/store/postgres"
)

// AuditLog is `adnet audit`: it lists changes and their authors.
type AuditLog struct {
	Postgres postgres.Config `embed:""`
	Owner    string          `name:"owner" help:"Only the property of this account (id)."`
	Actor    string          `name:"actor" help:"Only changes made by this account (id)."`
	Kind     string          `name:"kind" help:"Only targets of this kind: campaign, user, key, dead_letter, store…"`
	Target   string          `name:"target" help:"Only the target with this id."`
	Since    string          `name:"since" help:"Only from this UTC day on, like 2026-01-31."`
	Before   int64           `name:"before" help:"Only entries before this number: the next page."`
	Limit    int             `name:"limit" default:"50" help:"Maximum number of entries (1 to 500)."`
	JSON     bool            `name:"json" help:"Print one JSON object per line."`
}

// Run lists entries, newest first.
func (c *AuditLog) Run(p cli.Process) error {
	q := auditlog.Query{TargetKind: c.Kind, TargetID: auditlog.TargetOf(c.Target), Before: c.Before, Limit: c.Limit}
	var err error
	for _, id := range []struct {
		text string
		into *uuid.UUID
		flag string
	}{{c.Owner, &q.OwnerID, "--owner"}, {c.Actor, &q.ActorID, "--actor"}} {
		if id.text == "" {
			continue
		}
		if *id.into, err = uuid.Parse(id.text); err != nil {
			return fmt.Errorf("%s takes the id of an account", id.flag)
		}
	}
	if c.Since != "" {
		if q.Since, err = time.Parse(time.DateOnly, c.Since); err != nil {
			return fmt.Errorf("--since must be a day like 2026-01-31, not %q", c.Since)
		}
	}
	store, err := postgres.Open(p.Ctx, c.Postgres)
	if err != nil {
		return err
	}
	defer store.Close()
	entries, err := store.Audit.AuditLog(p.Ctx, q)
	if err != nil {
		return err
	}
	if c.JSON {
		for _, e := range entries {
			if err := cli.PrintJSON(p.Stdout, e); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SEQ\tAT\tWHO\tFROM\tACTION\tTARGET\tCHANGES")
	for _, e := range entries {
		who := e.Actor.Name
		if e.Actor.AccountID != uuid.Nil {
			who = e.Actor.Role + " " + e.Actor.AccountID.String()
		}
		changes, err := json.Marshal(e.Changes)
		if err != nil {
			return err
		}
		fmt.Fprintf(
			table, "%d\t%s\t%s %s\t%s\t%s\t%s %s\t%s\n", e.Seq, e.At.Format(time.DateTime), e.Actor.Via, who,
			e.Actor.Network, e.Actor.Action, e.TargetKind, e.TargetID, changes,
		)
	}
	return table.Flush()
}
