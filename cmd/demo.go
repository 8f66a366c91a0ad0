package cmd

import (
	"context"

	"adnet/cmd/history"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/demo"
)

// demoConfig holds the settings of the demo.
type demoConfig struct {
	Mode     string `name:"demo" env:"ADNET_DEMO" default:"still" enum:"still,on,live,off" help:"Demo accounts and campaigns with 30 days of invented history: still (the same as on), live (with at most one further ad request a second), or off. Their passwords are public, so this must be set explicitly on an address beyond loopback."`
	Requests int    `name:"demo-requests" env:"ADNET_DEMO_REQUESTS" default:"9000" help:"Ad requests of the demo's invented history, each with about one further event; 0 leaves the demo's accounts and campaigns without a history."`

	set bool // Mode, by the caller and not by default
}

func (c demoConfig) shows() bool { return c.Mode != "off" }

// unheard announces campaigns to no node: none serves yet.
type unheard struct{}

// Announce implements campaign.Announcer.
func (unheard) Announce(context.Context, campaign.Campaign) (bool, error) { return true, nil }

// invent loads the demo with its past. No role runs yet.
func (m *inMemory) invent(ctx context.Context, shown demoConfig) error {
	value, err := m.money.Value()
	if err != nil {
		return err
	}
	clock, stores := m.backends.Clock, &m.backends.All
	defer clock.Resume()
	replay, err := history.New(history.Deps{Stores: stores, Keys: m.ring, Value: value, Now: clock.Now})
	if err != nil {
		return err
	}
	accounts, campaigns := m.role.accountDeps, m.role.campaignDeps
	accounts.Now, campaigns.Now, campaigns.Announcer = clock.Now, clock.Now, unheard{}
	m.credentials, err = demo.Past(ctx, demo.PastDeps{
		Deps: demo.Deps{
			Accounts: account.NewService(accounts), Campaigns: campaign.NewService(campaigns), Marks: m.marks,
		},
		Deposits: stores.Stores.Payments, Reports: stores.Stores.AdReports, Decisions: stores.Stores.Audit,
		Keys: m.ring, Set: clock.Set, Apply: replay.Apply, Requests: shown.Requests,
	})
	return err
}
