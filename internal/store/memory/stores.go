package memory

// Stores is the data in the process, a store for each domain. It is safe for concurrent use.
type Stores struct {
	*core

	Accounts   *Accounts
	Logins     *Logins
	Families   *Families
	Campaigns  *Campaigns
	Ledger     *Ledger
	Archive    *Archive
	Payments   *Payments
	Publishers *Publishers
	Audit      *Audit
	AdReports  *AdReports
	Traffic    *Traffic
	Weights    *Weights
	Journal    *Journal
	Requests   *Requests
	Letters    *Letters
	Retention  *Retention
	Outbox     *Outbox
	Webhooks   *Webhooks
	Notices    *Notices
}

func newStores(c *core) *Stores {
	return &Stores{
		core: c,

		Accounts:   &Accounts{c},
		Logins:     &Logins{c},
		Families:   &Families{c},
		Campaigns:  &Campaigns{c},
		Ledger:     &Ledger{c},
		Archive:    &Archive{c},
		Payments:   &Payments{c},
		Publishers: &Publishers{c},
		Audit:      &Audit{c},
		AdReports:  &AdReports{c},
		Traffic:    &Traffic{c},
		Weights:    &Weights{c},
		Journal:    &Journal{c},
		Requests:   &Requests{c},
		Letters:    &Letters{c},
		Retention:  &Retention{c},
		Outbox:     &Outbox{c},
		Webhooks:   &Webhooks{c},
		Notices:    &Notices{c},
	}
}

// The stores by domain. They share the core with its mutex, so a transaction may span domains.
type (
	// Accounts stores accounts, their keys, and what publishers set for themselves.
	Accounts struct{ *core }

	// Logins stores sessions, second factors, links in mails, and networks of good logins.
	Logins struct{ *core }

	// Families stores families of related accounts.
	Families struct{ *core }

	// Campaigns stores campaigns, their goals and standings, and the rooms that the projection reads.
	Campaigns struct{ *core }

	// Ledger stores the books: settlement, balances, Credits, statements and their verification.
	Ledger struct{ *core }

	// Archive stores the archive's progress and its plans.
	Archive struct{ *core }

	// Payments stores deposits, the providers' notices, and parked payments.
	Payments struct{ *core }

	// Publishers stores publishers' traffic and cases of quarantine.
	Publishers struct{ *core }

	// Audit stores the audit log, and decisions with their appeals.
	Audit struct{ *core }

	// AdReports stores readers' reports of ads.
	AdReports struct{ *core }

	// Traffic stores counts of unproven events.
	Traffic struct{ *core }

	// Weights stores learned weights of the ranking.
	Weights struct{ *core }

	// Journal stores the nodes' journals of spending.
	Journal struct{ *core }

	// Requests stores requests with an idempotency key.
	Requests struct{ *core }

	// Letters stores dead letters of the consumers.
	Letters struct{ *core }

	// Retention stores the removal of old data.
	Retention struct{ *core }

	// Outbox stores messages to others.
	Outbox struct{ *core }

	// Webhooks stores the endpoints of accounts.
	Webhooks struct{ *core }

	// Notices stores the mails that accounts choose.
	Notices struct{ *core }
)
