package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/auction/lexicon"
	"adnet/auction/ranker"
	"adnet/auction/suitability"
	"adnet/ingress/api/docs"
	"adnet/ingress/api/explain"
	"adnet/ingress/api/manage"
	"adnet/ingress/api/oversee"
	"adnet/ingress/api/preview"
	"adnet/ingress/budget"
	"adnet/ingress/idempotency"
	"adnet/ingress/web/console"
	"adnet/ingress/web/snippet"
	"adnet/internal/account"
	"adnet/internal/account/family"
	"adnet/internal/campaign"
	"adnet/internal/compliance/auditlog"
	"adnet/internal/demo"
	"adnet/internal/errs"
	"adnet/internal/once"
	"adnet/internal/process/mail"
	"adnet/internal/process/obs"
	"adnet/internal/store/redis"
	"adnet/internal/traffic"
	"adnet/schemas/openapi"
)

// managing builds and mounts the routes of advertisers, publishers and administrators: accounts,
// campaigns, stats, explanations, and the reference page.
func (r *ingressRole) managing() error {
	creditValue, err := r.inputs.Money.Value()
	if err != nil {
		return err
	}
	mailer, err := r.mailing()
	if err != nil {
		return err
	}
	providers, err := family.NewProviders(r.inputs.Config.Manage.MailProviders)
	if err != nil {
		return err
	}
	shared, err := sharedNetworks(r.inputs.Config)
	if err != nil {
		return err
	}
	r.accountDeps = account.Deps{
		Users: r.Stores.Accounts, Keys: r.Stores.Accounts, Networks: r.Stores.Logins, Sessions: r.Stores.Logins,
		Factors: r.Stores.Logins, Links: r.Stores.Logins,
		Box: r.inputs.Sessions, Mail: providers, Marks: r.inputs.Ring.Marks, Now: time.Now,
	}
	r.campaignDeps = campaign.Deps{
		Store: r.Stores.Campaigns, Announcer: warming{redis.NewNodes(r.sealed), r.budget}, Now: time.Now,
		CreditValue:  creditValue,
		MaxCampaigns: r.inputs.Config.Manage.Campaigns, Judge: suitability.Ruled,
		Unreviewed: r.inputs.Config.Offer.Unreviewed, Prepaid: r.inputs.Money.Required(),
	}
	r.accounts, r.campaigns = account.NewService(r.accountDeps), campaign.NewService(r.campaignDeps)
	persons := r.Stores.Person()
	persons.Marks = r.inputs.Ring.Marks
	script, err := snippet.New()
	if err != nil {
		return err
	}
	script.Mount(r.http)
	npm, python := script.Packages()
	manage.New(manage.Deps{
		Auth: r.auth, Sessions: r.inputs.Sessions, Accounts: r.accounts, Campaigns: r.campaigns, Stats: r.Stats,
		Names: r.Stores.Accounts, Titles: r.Stores.Campaigns,
		Vocabulary: func() *lexicon.Table { return r.catalog.Snapshot().Words() },
		Rollup:     r.Rollup, Audit: r.Stores.Audit, Unproven: r.Stores.Traffic, Blocks: r.Stores.Accounts,
		Persons: persons, Decisions: r.Stores.Audit,
		Families: r.Stores.Families, Shared: shared,
		AdReports: r.Stores.AdReports, Cases: r.Stores.Publishers, Now: time.Now,
		Publish: r.Stores.Accounts, Flags: redis.NewFlags(r.Redis), Logins: r.limits, Mailer: mailer,
		Confirmed:  r.Stores.Notices,
		MailLogged: r.mail == nil && mailer != nil, Verify: r.inputs.Config.Manage.VerifyEmail == manage.VerifyRequired,
		Signup: r.inputs.Config.Manage.Signup, BaseURL: r.http.BaseURL, Demo: r.visitors(), Invented: r.inputs.Invented,
		Snippet:     manage.Snippet{Path: script.Path(), Integrity: script.Integrity()},
		Packages:    manage.Packages{NPM: npm, Python: python},
		CreditValue: creditValue,
	}).Mount(r.http)
	explain.New(explain.Deps{
		Keyring: r.inputs.Ring, History: r.Past, Catalog: r.catalog, Campaigns: r.campaigns,
		Store: r.Stores.Campaigns, Now: time.Now,
	}).Mount(r.http)
	oversee.New(oversee.Deps{
		Ledger: r.Stores.Ledger, History: r.Past, Letters: r.Stores.Letters, Broker: r.producer,
		Look:  r.look,
		Ready: func() obs.Report { return r.readiness.Check(obs.Ads) }, Settings: r.inputs.Config.inForce, Now: time.Now,
	}).Mount(r.http)
	docs.New(docs.Deps{
		Document: openapi.Document, BaseURL: r.http.BaseURL, Now: time.Now,
		Contact: cmp.Or(r.inputs.Config.Docs.SecurityContact, r.inputs.Config.Mail.From),
	}).Mount(r.http)
	preview.New(preview.Deps{
		Campaigns: r.campaigns, BaseURL: r.http.BaseURL, Labels: r.inputs.Config.Offer.Labels,
		VideoSec: r.inputs.Config.RTB.VideoSec,
	}).Mount(r.http)
	if !r.inputs.Config.Console.On() {
		return nil
	}
	pages, err := console.New(console.Deps{BaseURL: r.http.BaseURL})
	if err != nil {
		return err
	}
	pages.Mount(r.http)
	frames, err := preview.NewPages(r.http.BaseURL)
	if err != nil {
		return err
	}
	frames.Mount(r.http)
	return nil
}

// sharedNetworks returns the networks by which no registration is bound to another one: those of
// proxies, and those that many people share.
func sharedNetworks(cfg ingressConfig) (traffic.Networks, error) {
	var texts []string
	for _, text := range slices.Concat(cfg.HTTP.TrustedProxies, cfg.Track.Traffic.SharedNetworks) {
		texts = append(texts, strings.TrimSpace(text))
	}
	return traffic.ParseNetworks(texts)
}

// mailing makes the sender of mails; in in-memory mode without a mail server it is the log. nil
// without either.
func (r *ingressRole) mailing() (manage.Mailer, error) {
	cfg := r.inputs.Config
	switch {
	case cfg.Mail.On():
		var err error
		r.mail, err = mail.New(cfg.Mail, mail.Deps{Log: r.Log, Metrics: r.metrics})
		return r.mail, err
	case r.inputs.InMemory:
		return loggedMails{r.Log}, nil
	}
	return nil, nil // e-mails are not confirmed then, see checkMail
}

// loggedMails writes mails with their links to the log. Only an in-memory process, which tries
// adnet out, uses it.
type loggedMails struct{ log *slog.Logger }

// Send implements manage.Mailer.
func (l loggedMails) Send(m account.Letter) {
	l.log.Info("there is no mail server: this mail is not sent", "to", m.To, "subject", m.Subject, "text", m.Text)
}

// visitors returns the demo accounts that the landing page signs visitors in to.
func (r *ingressRole) visitors() map[string]string {
	if !r.inputs.Demo {
		return nil
	}
	return map[string]string{"advertiser": demo.Advertiser(1), "publisher": demo.Publisher, "admin": demo.Admin}
}

// warming announces a campaign and reserves budget for it on this node if it may be served. A
// created campaign is thus servable once the request is answered.
type warming struct {
	*redis.Nodes
	leases *budget.Leases
}

// Announce implements campaign.Announcer.
func (w warming) Announce(ctx context.Context, c campaign.Campaign) (all bool, err error) {
	all, err = w.Nodes.Announce(ctx, c)
	if err != nil || !c.Delivers() {
		return all, err
	}
	billing, _ := ranker.ParseBilling(string(c.Billing()))
	bid, aim := c.AuctionBid()
	w.leases.Warm(
		ctx,
		&auction.Campaign{
			ID: auction.ID(c.ID), Advertiser: auction.ID(c.AdvertiserID), Bid: bid, Aim: aim, Billing: billing,
		},
	)
	return all, nil
}

// ensureAdmin creates the administrator of the settings unless an account with that e-mail exists.
func (r *ingressRole) ensureAdmin(ctx context.Context) error {
	cfg := r.inputs.Config
	if cfg.AdminEmail == "" && cfg.AdminPassword == "" {
		return nil
	}
	if cfg.AdminEmail == "" || cfg.AdminPassword == "" {
		return errors.New("set ADNET_ADMIN_EMAIL and ADNET_ADMIN_PASSWORD together")
	}
	if err := r.accounts.EnsureAdmin(ctx, cfg.AdminEmail, cfg.AdminPassword); err != nil {
		return fmt.Errorf("ADNET_ADMIN_EMAIL, ADNET_ADMIN_PASSWORD: %s", errs.Of(err).Message)
	}
	return nil
}

// idempotency builds the middleware of the mutating endpoints.
func (r *ingressRole) idempotency() *idempotency.Keys {
	return idempotency.New(idempotency.Deps{
		Config: r.inputs.Config.Once,
		Log:    r.Log, Metrics: r.metrics, Store: r.Stores.Requests, Caller: r.auth,
		Recover: func(ctx context.Context, caller account.User, e once.Effect) (any, error) {
			id, err := uuid.Parse(e.ID)
			if err != nil || e.Kind != auditlog.TargetCampaign {
				return nil, nil
			}
			existing, err := r.Stores.Campaigns.Campaign(ctx, id)
			if err != nil {
				return nil, err
			}
			if !caller.MayActFor(existing.AdvertiserID) {
				return nil, errs.New(errs.Forbidden, "the campaign belongs to another account")
			}
			return existing, nil
		},
	})
}
