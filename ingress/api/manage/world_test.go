package manage_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"adnet/ingress/api/manage"
	"adnet/ingress/ingresstest"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/decision"
	persons "adnet/internal/compliance/person"
	"adnet/internal/money"
)

type (
	object = ingresstest.Object
	reply  = ingresstest.Reply
)

// world is the management API over the stores of in-memory mode.
type world struct {
	*ingresstest.World
	accounts  *account.Service
	campaigns *campaign.Service
	nodes     *nodes
	flags     manage.FlagReader
	meanwhile func() // after the next list of decisions; nil for nothing
}

// nodes are the serving nodes that changes are announced to.
type nodes struct {
	reported []campaign.Campaign
	apart    bool  // a node does not confirm
	err      error // goes nowhere
}

func (n *nodes) Announce(_ context.Context, c campaign.Campaign) (bool, error) {
	n.reported = append(n.reported, c)
	return !n.apart, n.err
}

// meanwhile is a store of decisions after whose next answer something happens.
type meanwhile struct {
	decision.Store
	w *world
}

func (m meanwhile) Decisions(ctx context.Context, q decision.Query) ([]decision.Statement, int, error) {
	list, total, err := m.Store.Decisions(ctx, q)
	if then := m.w.meanwhile; then != nil {
		m.w.meanwhile = nil
		then()
	}
	return list, total, err
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := emptyWorld(t)
	w.management().Mount(w.HTTP)
	return w
}

// emptyWorld is a world without routes.
func emptyWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		World: ingresstest.New(t, ingresstest.Options{Now: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)}),
		nodes: &nodes{},
	}
	w.accounts = account.NewService(account.Deps{
		Users: w.Store.Accounts, Keys: w.Store.Accounts, Sessions: w.Store.Logins, Factors: w.Store.Logins,
		Links: w.Store.Logins, Box: w.Sessions, Networks: w.Store.Logins,
		Now: w.Clock,
	})
	w.campaigns = campaign.NewService(campaign.Deps{
		Store: w.Store.Campaigns, Announcer: w.nodes, Now: w.Clock, CreditValue: money.USD,
	})
	return w
}

func (w *world) management() *manage.API {
	return manage.New(manage.Deps{
		Auth: w.Auth, Sessions: w.Sessions, Accounts: w.accounts, Campaigns: w.campaigns, Stats: w.Reports,
		Names: w.Store.Accounts, Titles: w.Store.Campaigns,
		Unproven: w.Store.Traffic,
		Rollup:   w.Reports, Audit: w.Store.Audit, Blocks: w.Store.Accounts, Decisions: meanwhile{w.Store.Audit, w},
		Persons: persons.Store{
			Accounts: w.Store.Accounts, Campaigns: w.Store.Campaigns, Ledger: w.Store.Ledger, Audit: w.Store.Audit,
			Cases: w.Store.Publishers,
		},
		Families:  w.Store.Families,
		AdReports: w.Store.AdReports, Cases: w.Store.Publishers, Now: w.Clock,
		Publish: w.Store.Accounts, Flags: w.flags, CreditValue: money.USD / 200,
	})
}

// person is a caller: a logged-in account, or only a text to send as the token.
type person struct{ *ingresstest.Person }

func (w *world) person(t *testing.T, role account.Role) *person {
	t.Helper()
	return &person{w.Login(t, account.User{Role: role})}
}

func (w *world) advertiser(t *testing.T) *person { return w.person(t, account.RoleAdvertiser) }
func (w *world) admin(t *testing.T) *person      { return w.person(t, account.RoleAdmin) }
func (w *world) nobody() *person                 { return w.caller("") }

// caller sends token unchecked.
func (w *world) caller(token string) *person { return &person{w.Caller(token)} }

// at walks into nested objects and arrays: at(body, "campaign", "id").
func at(body any, path ...any) any {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			o, ok := body.(object)
			if !ok {
				return fmt.Errorf("%v is no object", body)
			}
			body = o[s]
		case int:
			body = body.([]any)[s]
		}
	}
	return body
}

// draft is the minimal request that creates a campaign of p's.
func (p *person) draft(more ...any) object {
	body := object{
		"advertiser_id": p.ID.String(), "headline": "Query Postgres in plain English",
		"cta_url": "https://example.com/try",
	}
	for i := 0; i < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return body
}

// creates creates a campaign and returns its id.
func (p *person) creates(t *testing.T, more ...any) string {
	t.Helper()
	return at(p.Post(t, "/api/campaigns", p.draft(more...)).As(201), "campaign", "id").(string)
}

func (p *person) status(t *testing.T, id string) any {
	t.Helper()
	return at(p.Get(t, "/api/campaigns/"+id).As(200), "campaign", "status")
}
