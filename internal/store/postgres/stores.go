package postgres

import (
	"adnet/internal/store/postgres/accounts"
	"adnet/internal/store/postgres/audit"
	"adnet/internal/store/postgres/books"
	"adnet/internal/store/postgres/campaigns"
	"adnet/internal/store/postgres/notices"
	"adnet/internal/store/postgres/outbox"
	"adnet/internal/store/postgres/payments"
	"adnet/internal/store/postgres/pg"
	"adnet/internal/store/postgres/webhooks"
)

// Stores is adnet's data in PostgreSQL, a store for each domain. It is safe for concurrent use.
type Stores struct {
	*pg.Core

	Accounts   *accounts.Accounts
	Logins     *accounts.Logins
	Families   *accounts.Families
	Campaigns  *campaigns.Campaigns
	Ledger     *books.Ledger
	Archive    *books.Archive
	Payments   *payments.Payments
	Publishers *books.Publishers
	Audit      *audit.Audit
	AdReports  *campaigns.AdReports
	Traffic    *campaigns.Traffic
	Weights    *campaigns.Weights
	Journal    *campaigns.Journal
	Requests   *audit.Requests
	Letters    *campaigns.Letters
	Retention  *Retention
	Outbox     *outbox.Outbox
	Webhooks   *webhooks.Webhooks
	Notices    *notices.Notices
}

func newStores(c *pg.Core) *Stores {
	s := &Stores{
		Core: c,

		Accounts:   &accounts.Accounts{Core: c},
		Logins:     &accounts.Logins{Core: c},
		Families:   &accounts.Families{Core: c},
		Campaigns:  &campaigns.Campaigns{Core: c},
		Ledger:     &books.Ledger{Core: c},
		Archive:    &books.Archive{Core: c},
		Payments:   &payments.Payments{Core: c},
		Publishers: &books.Publishers{Core: c},
		Audit:      &audit.Audit{Core: c},
		AdReports:  &campaigns.AdReports{Core: c},
		Traffic:    &campaigns.Traffic{Core: c},
		Weights:    &campaigns.Weights{Core: c},
		Journal:    &campaigns.Journal{Core: c},
		Requests:   &audit.Requests{Core: c},
		Letters:    &campaigns.Letters{Core: c},
		Outbox:     &outbox.Outbox{Core: c},
		Webhooks:   &webhooks.Webhooks{Core: c},
		Notices:    &notices.Notices{Core: c},
	}
	s.Retention = &Retention{Core: c, ledger: s.Ledger, requests: s.Requests, logins: s.Logins, reports: s.AdReports}
	return s
}
