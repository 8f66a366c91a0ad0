package demo

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/errs"
)

// The demo accounts.
const (
	// Password is the password of every demo account. It is documented, so it protects nothing.
	Password = "adnet-demo-password"
	// Publisher is the e-mail of the account that shows ads.
	Publisher = "publisher@demo.adnet.example"
	// Admin is the e-mail of the administrator.
	Admin = "admin@demo.adnet.example"

	advertisers = 8
)

// Advertiser returns the e-mail of the n-th advertiser account, from 1 to 8. Each is an agency of
// several companies, with a mail domain of its own: accounts of one domain are one family.
func Advertiser(n int) string { return fmt.Sprintf("advertiser%d@agency%[1]d.example", n) }

// agencies are the names of the advertiser accounts, invented like their companies. Ads and
// receipts show them.
var agencies = [advertisers]string{
	"Quillmarsh Media", "Bramblewick & Daughters", "Lanternfold Agency", "Saltmeadow Studio",
	"Thistlecombe Works", "Pebblecrest Media", "Ninefold Harbour", "Wrenhollow Partners",
}

// unchecked is the agency whose name is approved but whose identity was not checked, so that both
// kinds appear.
const unchecked = advertisers - 1

// publisherName is the name of the account that shows ads.
const publisherName = "Fernwick Chat"

// Deps are the services through which the demo is created.
type Deps struct {
	Accounts  *account.Service
	Campaigns *campaign.Service
	Marks     *Marks // gets every account of the demo; nil for none
}

// Credentials contains everything that a visitor needs to try the service.
type Credentials struct {
	Advertisers  []string // e-mails
	Publisher    string   // e-mail
	Admin        string   // e-mail
	Password     string   // for all of them
	PublisherKey string   // shown only here
	DeveloperID  uuid.UUID
	Active       int // campaigns that deliver
	InReview     int // campaigns that violate a policy rule and wait for a reviewer
}

// Load creates the demo: accounts, a publisher key, and the campaigns spread over the advertisers.
// The administrator approves all campaigns that pass the policy check. If the store already has the
// demo, Load logs in, adds only the missing campaigns and issues another publisher key. Errors:
// errs.InvalidCredentials if a demo e-mail has another password, and those of the services.
func Load(ctx context.Context, deps Deps) (Credentials, error) {
	lists, err := byAccount()
	if err != nil {
		return Credentials{}, err
	}
	l := loader{deps: deps}
	if l.admin, err = l.account(ctx, Admin, deps.Accounts.CreateAdmin); err != nil {
		return Credentials{}, err
	}
	if !l.admin.IsAdmin() {
		return Credentials{}, errs.New(errs.Conflict, "%s exists but is not an administrator", Admin)
	}
	out := Credentials{Publisher: Publisher, Admin: Admin, Password: Password}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		publisher, err := l.account(gctx, Publisher, deps.Accounts.Register)
		if err != nil {
			return err
		}
		if err := l.name(gctx, publisher, publisherName, true); err != nil {
			return err
		}
		key, err := deps.Accounts.CreateKey(
			gctx, publisher, account.KeyRequest{Kind: account.KindPublisher, Name: "demo"},
		)
		out.PublisherKey, out.DeveloperID = key.Plain, publisher.DeveloperID
		return err
	})
	for n := range advertisers {
		out.Advertisers = append(out.Advertisers, Advertiser(n+1))
		g.Go(func() error { return l.advertiser(gctx, n, lists[n]) })
	}
	if err := g.Wait(); err != nil {
		return Credentials{}, fmt.Errorf("load the demo: %w", err)
	}
	out.Active, out.InReview = l.active, l.inReview
	return out, nil
}

// byAccount assigns every eighth company to each advertiser account, as an agency, so that
// neighbours in the file, which sell the same goods, compete.
func byAccount() (lists [advertisers][]campaign.Fields, err error) {
	companies, err := Companies()
	if err != nil {
		return lists, err
	}
	campaigns, err := Campaigns()
	if err != nil {
		return lists, err
	}
	for i := range campaigns {
		company, err := companyOf(companies, &campaigns[i])
		if err != nil {
			return lists, err
		}
		account := company % advertisers
		lists[account] = append(lists[account], campaigns[i])
	}
	return lists, nil
}

type loader struct {
	deps  Deps
	admin account.User

	mu               sync.Mutex // guards the counts
	active, inReview int
}

func (l *loader) account(
	ctx context.Context, email string, create func(context.Context, string, string) (account.User, error),
) (account.User, error) {
	u, err := create(ctx, email, Password)
	if errs.Is(err, errs.Conflict) {
		u, err = l.deps.Accounts.Login(ctx, email, Password)
	}
	if err != nil {
		return u, fmt.Errorf("account %s: %w", email, err)
	}
	l.deps.Marks.add(u)
	return u, nil
}

// name sets an account's name for its ads, unless it already has one.
func (l *loader) name(ctx context.Context, u account.User, name string, verified bool) error {
	if u.NameState() != account.Nameless {
		return nil
	}
	if _, err := l.deps.Accounts.Describe(ctx, u, account.Profile{Company: &name}); err != nil {
		return fmt.Errorf("name %q: %w", name, err)
	}
	_, err := l.deps.Accounts.RuleName(
		ctx, l.admin, u.ID, account.NameRuling{Name: name, Decision: "approved", Verified: verified},
	)
	return err
}

// advertiser creates the n-th advertiser, from 0, with its campaigns. They are created in order, so
// those of an earlier run are the first ones.
func (l *loader) advertiser(ctx context.Context, n int, list []campaign.Fields) error {
	owner, err := l.account(ctx, Advertiser(n+1), l.deps.Accounts.Register)
	if err != nil {
		return err
	}
	if err := l.name(ctx, owner, agencies[n], n != unchecked); err != nil {
		return err
	}
	_, have, err := l.deps.Campaigns.List(ctx, owner, campaign.Filter{Limit: 1})
	if err != nil {
		return err
	}
	for _, fields := range list[min(have, len(list)):] {
		created, err := l.deps.Campaigns.Create(ctx, owner, campaign.Create{Fields: fields, AdvertiserID: owner.ID})
		if err != nil {
			return fmt.Errorf("campaign %q: %w", *fields.Name, err)
		}
		if c := created.Campaign; c.Status == campaign.InReview && len(c.PolicyViolations) == 0 {
			if _, err := l.deps.Campaigns.Decide(
				ctx, l.admin, c.ID, campaign.Decision{Decision: "approved", Notes: "demo"},
			); err != nil {
				return fmt.Errorf("approve campaign %q: %w", c.Name, err)
			}
		}
	}
	return l.count(ctx, owner)
}

func (l *loader) count(ctx context.Context, owner account.User) error {
	_, active, err := l.deps.Campaigns.List(ctx, owner, campaign.Filter{Status: campaign.Active, Limit: 1})
	if err != nil {
		return err
	}
	_, inReview, err := l.deps.Campaigns.List(ctx, owner, campaign.Filter{Status: campaign.InReview, Limit: 1})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active, l.inReview = l.active+active, l.inReview+inReview
	return nil
}
