package postgres

// Stores is adnet's data in PostgreSQL, a store for each domain. It is safe for concurrent use.
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
}

func newStores(c *core) *Stores {
	s := &Stores{
		core: c,

		Accounts:   &Accounts{core: c},
		Logins:     &Logins{core: c},
		Families:   &Families{core: c},
		Campaigns:  &Campaigns{core: c},
		Ledger:     &Ledger{core: c},
		Archive:    &Archive{core: c},
		Payments:   &Payments{core: c},
		Publishers: &Publishers{core: c},
		Audit:      &Audit{core: c},
		AdReports:  &AdReports{core: c},
		Traffic:    &Traffic{core: c},
		Weights:    &Weights{core: c},
		Journal:    &Journal{core: c},
		Requests:   &Requests{core: c},
		Letters:    &Letters{core: c},
	}
	s.Retention = &Retention{core: c, ledger: s.Ledger, requests: s.Requests, logins: s.Logins, reports: s.AdReports}
	return s
}
