package operate

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/cmd/cli"
	"adnet/internal/account"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/store/postgres"
)

// Statement is `adnet statement`: the movements of an account's money in a month.
type Statement struct {
	Postgres postgres.Config `embed:""`
	Account  string          `name:"account" required:"" help:"E-mail or id of the account."`
	Month    string          `name:"month" required:"" help:"UTC month like 2026-01."`
}

// Run prints the CSV that the account's owner gets from /api/billing?action=statement.
func (c *Statement) Run(p cli.Process) error {
	month, err := day.ParseMonth(c.Month)
	if err != nil {
		return cli.Sentence(err)
	}
	store, err := postgres.Open(p.Ctx, c.Postgres)
	if err != nil {
		return err
	}
	defer store.Close()
	owner, err := accountOf(p.Ctx, store, c.Account)
	if err != nil {
		return cli.Sentence(err)
	}
	statement, err := store.Ledger.Statement(
		p.Ctx,
		ledger.StatementQuery{Advertiser: owner.ID, Developer: owner.DeveloperID, Month: month, Now: time.Now().UTC()},
	)
	if err != nil {
		return cli.Sentence(err)
	}
	text, err := statement.CSV()
	if err != nil {
		return err
	}
	_, err = p.Stdout.Write(text)
	return err
}

// accountOf finds an account by its e-mail or id.
func accountOf(ctx context.Context, store *postgres.Stores, name string) (account.User, error) {
	if id, err := uuid.Parse(name); err == nil {
		return store.Accounts.User(ctx, id)
	}
	if !strings.Contains(name, "@") {
		return account.User{}, errors.New("--account takes an e-mail address or the id of an account")
	}
	return store.Accounts.UserByEmail(ctx, strings.ToLower(name))
}
