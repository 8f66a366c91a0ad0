package app

import (
	"context"
	"errors"
	"strings"
	"time"

	"adnet/internal/account"
	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/postgres"

	"github.com/google/uuid"
)

// statement is `adnet statement`: what an account's money did in a month.
type statement struct {
	Postgres postgres.Config `embed:""`
	Account  string          `name:"account" required:"" help:"E-mail or id of the account."`
	Month    string          `name:"month" required:"" help:"UTC month like 2026-01."`
}

// Run prints the CSV that the account's owner gets from /api/billing?action=statement.
func (c *statement) Run(p process) error {
	month, err := day.ParseMonth(c.Month)
	if err != nil {
		return said(err)
	}
	store, err := postgres.Open(p.ctx, c.Postgres)
	if err != nil {
		return err
	}
	defer store.Close()
	owner, err := accountOf(p.ctx, store, c.Account)
	if err != nil {
		return said(err)
	}
	made, err := store.Statement(p.ctx, ledger.StatementQuery{Advertiser: owner.ID, Developer: owner.DeveloperID, Month: month, Now: time.Now().UTC()})
	if err != nil {
		return said(err)
	}
	text, err := made.CSV()
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(text)
	return err
}

// accountOf finds an account by what a person calls it.
func accountOf(ctx context.Context, store *postgres.Store, name string) (account.User, error) {
	if id, err := uuid.Parse(name); err == nil {
		return store.User(ctx, id)
	}
	if !strings.Contains(name, "@") {
		return account.User{}, errors.New("--account takes an e-mail address or the id of an account")
	}
	return store.UserByEmail(ctx, strings.ToLower(name))
}
