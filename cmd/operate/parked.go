package operate

import (
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"adnet/cmd/cli"
	"adnet/internal/compliance/person"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/store/postgres"
)

// Parked is `adnet parked`: payment providers' events that moved money there and none here.
type Parked struct {
	Postgres postgres.Config `embed:""`

	List    parkedList    `cmd:"" help:"List parked events, newest first."`
	Credit  parkedCredit  `cmd:"" help:"Credit an account because of a parked event, once."`
	Debit   parkedDebit   `cmd:"" help:"Debit an account because of a parked event, once."`
	Dismiss parkedDismiss `cmd:"" help:"End the wait of a parked event without moving money."`
}

type parkedList struct {
	All    bool `name:"all" help:"Include decided events."`
	Limit  int  `name:"limit" default:"1000" help:"Maximum number of rows."`
	Offset int  `name:"offset" default:"0" help:"Number of newer rows to leave out."`
	JSON   bool `name:"json" help:"Print one JSON object per line."`
}

// shownParked is a parked event in the output of --json.
type shownParked struct {
	ID        uuid.UUID       `json:"id"` // the argument of credit, debit and dismiss
	Provider  ledger.Provider `json:"provider"`
	EventID   string          `json:"event_id"`
	EventType string          `json:"event_type"`
	PaymentID string          `json:"payment_id"`
	Amount    money.Micros    `json:"amount"` // USD, 0 if unknown
	Reason    string          `json:"reason"`
	At        time.Time       `json:"received_at"`
	Count     int64           `json:"count"`
	Decision  string          `json:"decision"`
	Account   string          `json:"account_id"`
	Applied   money.Micros    `json:"applied"`
	DecidedAt *time.Time      `json:"decided_at"`
	Note      string          `json:"note"`
}

// Run lists.
func (c *parkedList) Run(d *Parked, p cli.Process) error {
	if c.Limit < 1 || c.Offset < 0 {
		return errors.New("--limit must be at least 1, and --offset at least 0")
	}
	store, err := postgres.Open(p.Ctx, d.Postgres)
	if err != nil {
		return err
	}
	defer store.Close()
	list, err := store.Payments.Parked(p.Ctx, ledger.ParkedQuery{Open: !c.All, Limit: c.Limit, Offset: c.Offset})
	if err != nil {
		return err
	}
	if c.JSON {
		for _, e := range list {
			err := cli.PrintJSON(p.Stdout, shownParked{
				ID: e.ID, Provider: e.Provider, EventID: e.EventID, EventType: e.Type, PaymentID: e.PaymentID,
				Amount: e.Amount, Reason: e.Reason, At: e.At, Count: e.Count, Decision: string(e.Decision),
				Account: idText(e.AccountID), Applied: e.Applied, DecidedAt: nullTime(e.DecidedAt), Note: e.Note,
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tAT\tPROVIDER\tTYPE\tEVENTS\tPAYMENT\tUSD\tREASON\tDECISION")
	for _, e := range list {
		amount, decision := "-", "-"
		if e.Amount > 0 {
			amount = e.Amount.String()
		}
		if e.Decision != "" {
			decision = string(e.Decision)
		}
		fmt.Fprintf(
			table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", e.ID, e.At.Format(time.DateTime), e.Provider, e.Type, e.Count,
			e.PaymentID, amount, e.Reason, decision,
		)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "%d parked events\n", len(list))
	return nil
}

// idText returns an id as text, empty for the nil id.
func idText(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

// parkedMove holds the arguments of a decision that moves money.
type parkedMove struct {
	ID      string `arg:"" help:"Id of the parked event, as listed."`
	Account string `name:"account" required:"" help:"E-mail or id of the account."`
	Amount  string `name:"amount" help:"Amount in USD; that of the event by default."`
	Reason  string `name:"reason" required:"" help:"Your reason, for the audit log."`
}

type parkedCredit struct {
	parkedMove `embed:""`
}

// Run credits.
func (c *parkedCredit) Run(d *Parked, p cli.Process) error {
	return c.move(d, p, ledger.ParkedCredited)
}

type parkedDebit struct {
	parkedMove `embed:""`
}

// Run debits.
func (c *parkedDebit) Run(d *Parked, p cli.Process) error { return c.move(d, p, ledger.ParkedDebited) }

func (c *parkedMove) move(d *Parked, p cli.Process, decision ledger.ParkedDecision) error {
	v := ledger.ParkedVerdict{Decision: decision, Note: c.Reason}
	if c.Amount != "" {
		var err error
		if v.Amount, err = money.Parse(c.Amount); err != nil || v.Amount <= 0 {
			return errors.New("--amount must be an amount in USD above 0, like 12.50")
		}
	}
	store, err := postgres.Open(p.Ctx, d.Postgres)
	if err != nil {
		return err
	}
	defer store.Close()
	owner, err := person.Find(p.Ctx, store.Accounts, c.Account)
	if err != nil {
		return cli.Sentence(err)
	}
	v.AccountID = owner.ID
	return decideParked(p, store, c.ID, v)
}

type parkedDismiss struct {
	ID     string `arg:"" help:"Id of the parked event, as listed."`
	Reason string `name:"reason" required:"" help:"Your reason, for the audit log."`
}

// Run dismisses.
func (c *parkedDismiss) Run(d *Parked, p cli.Process) error {
	store, err := postgres.Open(p.Ctx, d.Postgres)
	if err != nil {
		return err
	}
	defer store.Close()
	return decideParked(p, store, c.ID, ledger.ParkedVerdict{Decision: ledger.ParkedDismissed, Note: c.Reason})
}

func decideParked(p cli.Process, store *postgres.Stores, id string, v ledger.ParkedVerdict) error {
	var err error
	if v.ID, err = uuid.Parse(id); err != nil {
		return errors.New("the id of a parked event is a UUID, as listed by adnet parked list")
	}
	v.At = time.Now().UTC()
	decided, err := store.Payments.DecideParked(p.Ctx, v)
	if err != nil {
		return cli.Sentence(err)
	}
	if decided.AccountID == uuid.Nil {
		fmt.Fprintf(p.Stdout, "%s: %s\n", decided.ID, decided.Decision)
		return nil
	}
	fmt.Fprintf(
		p.Stdout, "%s: %s of %s USD for %s\n", decided.ID, decided.Decision, decided.Applied, decided.AccountID,
	)
	return nil
}
