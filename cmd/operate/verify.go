package operate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"adnet/analytics/clickhouse"
	"adnet/cmd/backends"
	"adnet/cmd/cli"
	"adnet/internal/ledger"
	"adnet/internal/process/schedule"
	"adnet/internal/store/postgres"
)

// Verify is `adnet verify`: it checks the promises about money on the live stores.
type Verify struct {
	Money      backends.Money    `embed:"" set:"prepaid=required"`
	Postgres   postgres.Config   `embed:""`
	ClickHouse clickhouse.Config `embed:""`
	Wait       time.Duration     `name:"wait" env:"ADNET_VERIFY_WAIT" default:"15s" help:"How long ClickHouse may take to catch up with the ledger before a difference counts."`
}

// Run runs until its work is done or the process is stopped.
func (c *Verify) Run(p cli.Process) error {
	store, err := postgres.Open(p.Ctx, c.Postgres)
	if err != nil {
		return err
	}
	defer store.Close()
	decided, err := backends.OpenClickHouse(p.Ctx, p.Log, c.ClickHouse)
	if err != nil {
		return err
	}
	defer backends.Close(p.Log, "ClickHouse", decided.Close)
	checks, err := Promises(p.Ctx, servers(store, decided), c.Money, c.Wait)
	if err != nil {
		return err
	}
	if !printChecks(p.Stdout, checks) {
		return cli.ErrExit
	}
	return nil
}

// servers returns the stores that a command compares.
func servers(store *postgres.Stores, decided *clickhouse.Store) *backends.All {
	return &backends.All{Stores: backends.InPostgres(store), Analytics: decided}
}

// promised holds the stores that are compared.
type promised struct {
	books interface {
		Verify(ctx context.Context, o ledger.VerifyOptions) ([]ledger.Check, error)
	}
	archive interface {
		ArchivedTotals(ctx context.Context) (ledger.Totals, error)
	}
	campaigns interface {
		HighestBids(ctx context.Context) ([]ledger.HighestBid, error)
	}
	analytics interface {
		Totals(ctx context.Context) (ledger.Totals, error)
		Billable(ctx context.Context) (ledger.Billable, error)
		HighestCharges(ctx context.Context) ([]ledger.HighestCharge, error)
	}
	prepaid bool
	wait    time.Duration
}

// promises runs every check. The ledger's own promises always hold, except that Credits follow
// refunds and disputes with a delay. The analytics store follows the ledger: a difference counts
// only when it remains after the wait.
func promises(ctx context.Context, s promised) ([]ledger.Check, error) {
	deadline := time.Now().Add(s.wait)
	checks, err := s.books.Verify(ctx, ledger.VerifyOptions{Prepaid: s.prepaid})
	for err == nil && ledger.Follows(checks) && time.Now().Before(deadline) {
		// Only the release of Credits is behind: consumers still have to take back Credits after a
		// refund or dispute.
		if err = schedule.Pause(ctx, time.Second); err == nil {
			checks, err = s.books.Verify(ctx, ledger.VerifyOptions{Prepaid: s.prepaid})
		}
	}
	if err != nil {
		return nil, err
	}
	for {
		against, err := compareAnalytics(ctx, s)
		if err != nil {
			return nil, err
		}
		if allOK(against) || time.Now().After(deadline) {
			return append(checks, against...), nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(250 * time.Millisecond):
		}
	}
}

func compareAnalytics(ctx context.Context, s promised) ([]ledger.Check, error) {
	archived, err := s.archive.ArchivedTotals(ctx)
	if err != nil {
		return nil, err
	}
	totals, err := s.analytics.Totals(ctx)
	if err != nil {
		return nil, err
	}
	billable, err := s.analytics.Billable(ctx)
	if err != nil {
		return nil, err
	}
	checks := []ledger.Check{
		{
			Name: "charges equal unique billable events × price (micro-USD)", Want: int64(billable.Worth),
			Got:    int64(archived.Charge),
			Detail: fmt.Sprintf("%d events cut where a budget ended", billable.Cut),
		},
		{Name: "analytics has every archived event once", Want: archived.Rows, Got: totals.Rows},
		{Name: "analytics charges equal the ledger (micro-USD)", Want: int64(archived.Charge), Got: int64(totals.Charge)},
		{Name: "analytics Credits equal the ledger", Want: int64(archived.Minted), Got: int64(totals.Minted)},
	}
	differing := ledger.Check{Name: "analytics agrees on every verdict"}
	for verdict, n := range archived.ByVerdict {
		differing.Want += n
		differing.Got += min(n, totals.ByVerdict[verdict])
		if n != totals.ByVerdict[verdict] && differing.Detail == "" {
			differing.Detail = fmt.Sprintf("%s: %d in the ledger, %d in analytics", verdict, n, totals.ByVerdict[verdict])
		}
	}
	bids, err := compareBids(ctx, s)
	return append(checks, differing, bids), err
}

// compareBids reads the charges first: a bid exists before an event can be charged at it.
func compareBids(ctx context.Context, s promised) (ledger.Check, error) {
	charges, err := s.analytics.HighestCharges(ctx)
	if err != nil {
		return ledger.Check{}, err
	}
	bids, err := s.campaigns.HighestBids(ctx)
	return ledger.CompareBids(charges, bids), err
}

func allOK(checks []ledger.Check) bool {
	for _, check := range checks {
		if !check.OK() {
			return false
		}
	}
	return true
}

// printChecks writes a line per check and reports whether all hold.
func printChecks(w io.Writer, checks []ledger.Check) bool {
	for _, check := range checks {
		verdict, relation := "ok  ", "="
		if !check.OK() {
			verdict, relation = "FAIL", "≠"
		}
		fmt.Fprintf(w, "%s  %-64s %18d %s %d", verdict, check.Name, check.Want, relation, check.Got)
		if check.Detail != "" {
			fmt.Fprintf(w, "  (%s)", check.Detail)
		}
		fmt.Fprintln(w)
	}
	if !allOK(checks) {
		fmt.Fprintln(w, "verify: a promise is broken")
		return false
	}
	fmt.Fprintf(w, "verify: %d checks, all clean\n", len(checks))
	return true
}

// Promises runs every check of `adnet verify` on open stores. wait is how long the analytics store
// may take to follow the ledger before a difference counts. Errors: an unreadable store.
func Promises(ctx context.Context, b *backends.All, funds backends.Money, wait time.Duration) ([]ledger.Check, error) {
	s := promisedIn(b)
	s.prepaid, s.wait = funds.Required(), wait
	return promises(ctx, s)
}

// promisedIn returns the compared stores of b. It is the only place that fills promised: a missing
// one is a nil pointer.
func promisedIn(b *backends.All) promised {
	return promised{
		books: b.Stores.Ledger, archive: b.Stores.Archive, campaigns: b.Stores.Campaigns, analytics: b.Analytics,
	}
}

// VerifyHandler serves the same checks at GET /internal/verify in in-memory mode.
func VerifyHandler(b *backends.All, funds backends.Money) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		checks, err := Promises(r.Context(), b, funds, 2*time.Second)
		if err != nil {
			http.Error(w, "the stores could not be read", http.StatusInternalServerError)
			return
		}
		status := http.StatusOK
		if !allOK(checks) {
			status = http.StatusConflict
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		body := make([]map[string]any, len(checks))
		for i, check := range checks {
			body[i] = map[string]any{
				"name": check.Name, "want": check.Want, "got": check.Got, "ok": check.OK(), "detail": check.Detail,
			}
		}
		// The status is sent: a client that went away is not an error.
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": allOK(checks), "checks": body})
	})
}
