package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"adnet/cmd/load/visitor"
	"adnet/lab/product"
	"adnet/lab/site"
)

// standingEvery is the interval in which votes and bounds of campaigns are computed.
const standingEvery = 2 * time.Second

// fileLimit is the descriptor limit of the ingress process, as small as on hardened machines.
const fileLimit = 4096

// world is an installation of adnet with its accounts.
type world struct {
	s      *suite
	dir    string
	binary string
	env    []string
	paySec string

	*site.Site // nil before the servers are connected
	rows       *pgxpool.Pool
	broker     *kgo.Client

	addr               string // of ingress
	ingress, consumers *role
	visitor            *site.People
	reader             *http.Client // for honest visits, separate from the attackers' connections

	admin                        person
	page                         person // the advertiser that changes its page
	cpm, cpc, cpa, repeat, pages string // campaigns
	publishers                   []person
}

// person is an account. key is its publisher key.
type person struct{ id, developer, bearer, key string }

func openWorld(ctx context.Context, s *suite) (*world, error) {
	w := &world{s: s, paySec: "whsec_" + rand.Text()}
	w.visitor = &site.People{Secret: w.paySec, Client: &visitor.Client{
		Base: func() string { return "http://" + w.addr }, HTTP: visitor.NewHTTP(10 * time.Second),
	}}
	w.reader = visitor.NewHTTP(10 * time.Second)
	for _, step := range []func(context.Context) error{w.build, w.connect, w.start, w.populate} {
		if err := step(ctx); err != nil {
			return w, err
		}
	}
	return w, nil
}

func (w *world) build(ctx context.Context) (err error) {
	if w.dir, err = os.MkdirTemp("", "adnet-hostile-"); err != nil {
		return err
	}
	w.binary = filepath.Join(w.dir, "adnet")
	how := product.Build{Binary: w.binary, Scratch: w.dir}
	if how.Without, err = breaks.Without(w.s.cfg.Break); err != nil {
		return err
	}
	w.s.say("building adnet")
	return how.Make(ctx)
}

// connect creates a database on each server and opens the suite's connections.
func (w *world) connect(ctx context.Context) error {
	servers, err := site.FromEnv("hostile")
	if err != nil {
		return err
	}
	if w.Site, err = site.Create(ctx, servers, "hostile"); err != nil {
		return err
	}
	if w.rows, err = pgxpool.New(ctx, w.Database); err != nil {
		return err
	}
	if w.broker, err = kgo.NewClient(kgo.SeedBrokers(servers.Kafka)); err != nil {
		return err
	}
	// A separate role, because verify also checks that the processes cannot change the ledger.
	application := os.Getenv("ADNET_POSTGRES_URL")
	if application == "" {
		return errors.New(`ADNET_POSTGRES_URL is not set: run "make hostile", which starts the servers`)
	}
	application, err = site.At(application, w.Name)
	if err != nil {
		return err
	}
	w.env = append(append(os.Environ(), w.Env...),
		"ADNET_POSTGRES_URL="+application,
		"ADNET_ADMIN_EMAIL=admin@hostile.example", "ADNET_ADMIN_PASSWORD=administrator of the hostile suite",
		"ADNET_VERIFY_EMAIL=off", "ADNET_PREPAID=required", "ADNET_STRIPE_WEBHOOK_SECRET="+w.paySec,
		"ADNET_LOG_LEVEL=warn",
		// The suite requests ads for the attackers with keys of honest publishers, as fast as the
		// machine allows. In reality a reader cannot use up a server's rate, so the rate is raised
		// here.
		"ADNET_RATE_PER_MINUTE=6000",
		// Requests may accept ads of any relevance, so that only the suitability verdict refuses
		// them.
		"ADNET_MIN_RELEVANCE_LOWEST=0",
		// The suite is the trusted proxy, so that it can send from many addresses.
		"ADNET_TRUSTED_PROXIES=127.0.0.0/8", "ADNET_RATE_REGISTER=1000",
		"ADNET_SPOOL_DIR="+filepath.Join(w.dir, "spool"),
		// Holds of weeks would hide spendable Credits, and hourly work runs every minute here.
		"ADNET_CREDIT_HOLD=1s", "ADNET_CREDIT_HOLD_CONCENTRATED=1s", "ADNET_CREDIT_EVERY=500ms",
		"ADNET_QUARANTINE_EVERY=2s", "ADNET_STANDING_EVERY="+standingEvery.String(),
		"ADNET_REPORTS_PAUSE=on",
	)
	return nil
}

// start migrates and starts both processes.
func (w *world) start(ctx context.Context) error {
	w.s.say("starting adnet")
	var err error
	if out, err := w.command(ctx, "migrate"); err != nil {
		return fmt.Errorf("migrate: %w: %s", err, out)
	}
	if w.consumers, err = w.launch("consumers", 0); err != nil {
		return err
	}
	if w.ingress, err = w.launch("ingress", fileLimit); err != nil {
		return err
	}
	w.addr = w.ingress.http
	return errors.Join(w.consumers.await(ctx), w.ingress.await(ctx))
}

// populate creates the honest accounts.
func (w *world) populate(ctx context.Context) (err error) {
	w.admin.bearer, err = w.visitor.Login(ctx, "admin@hostile.example", "administrator of the hostile suite")
	if err != nil {
		return err
	}
	w.visitor.Admin = w.admin.bearer
	for range 3 {
		p, err := w.publisher(ctx)
		if err != nil {
			return err
		}
		w.publishers = append(w.publishers, p)
	}
	for _, c := range []struct {
		into  *string
		word  string
		model string
		bid   float64
	}{
		{&w.cpm, "zqcpmqz", "cpm", 5}, {&w.cpc, "zqcpcqz", "cpc", 5}, {&w.cpa, "zqcpaqz", "cpa", 500},
		{&w.repeat, "zqrepeatqz", "cpc", 5}, {&w.pages, "zqpageqz", "cpm", 5},
	} {
		owner, err := w.register(ctx)
		if err != nil {
			return err
		}
		if err := w.pay(ctx, owner.id, 500_000); err != nil {
			return err
		}
		if *c.into, err = w.campaign(ctx, owner, object{
			"headline": "Honest offer " + c.word, "cta_url": approvedPage, "billing_model": c.model,
			"bid_amount":           c.bid,
			"target_intent_tokens": []string{c.word}, "daily_budget": 100_000, "total_budget": 400_000,
		}); err != nil {
			return err
		}
		w.page = owner // of the last one
	}
	return nil
}

const approvedPage = "https://honest.example.com/page"

// campaign creates a campaign with plenty of budget and approves it.
func (w *world) campaign(ctx context.Context, owner person, fields object) (id string, err error) {
	all := object{"daily_budget": 5_000, "total_budget": 9_000}
	maps.Copy(all, fields)
	return w.visitor.Campaign(ctx, visitor.Account{ID: owner.id, Bearer: owner.bearer}, all)
}

// unreviewed creates the first campaign of an advertiser with a balance, which pages show before a
// person has approved it.
func (w *world) unreviewed(ctx context.Context, fields object) (id string, err error) {
	owner, err := w.register(ctx)
	if err != nil {
		return "", err
	}
	if err := w.pay(ctx, owner.id, 100); err != nil {
		return "", err
	}
	fields["advertiser_id"], fields["pacing"] = owner.id, "asap"
	reply, err := w.call(
		ctx, request{Method: "POST", Path: "/api/campaigns", Bearer: owner.bearer, JSON: fields, Want: 201},
	)
	return reply.Object("campaign").Text("id"), err
}

// pageKey creates a browser key for the pages of an origin.
func (w *world) pageKey(ctx context.Context, owner person, origin string) (key string, err error) {
	return w.visitor.Key(ctx, owner.bearer, object{"kind": "browser", "name": "page", "origins": []string{origin}})
}

// register creates an account that has nothing in common with others.
func (w *world) register(ctx context.Context) (person, error) {
	return w.signUp(ctx, "owner@"+strings.ToLower(rand.Text()[:12])+".example", visitor.Address(w.s.rng.Uint32()))
}

func (w *world) signUp(ctx context.Context, email, from string) (person, error) {
	a, err := w.visitor.Register(ctx, email, "a long passphrase "+rand.Text()[:6], from)
	return person{id: a.ID, developer: a.Developer, bearer: a.Bearer}, err
}

// publisher creates an account with a key.
func (w *world) publisher(ctx context.Context) (person, error) {
	p, err := w.register(ctx)
	if err != nil {
		return p, err
	}
	p.key, err = w.visitor.Key(ctx, p.bearer, object{"kind": "publisher", "name": "hostile"})
	return p, err
}

// pay pays in USD.
func (w *world) pay(ctx context.Context, advertiser string, amount int64) error {
	return w.visitor.Pay(ctx, rand.Text(), advertiser, amount)
}

type (
	object  = visitor.Object
	request = visitor.Request
)

// call makes a request and decodes its JSON reply.
func (w *world) call(ctx context.Context, r request) (object, error) { return w.visitor.Call(ctx, r) }

func (w *world) send(ctx context.Context, r request) (status int, header http.Header, text []byte, err error) {
	reply, err := w.visitor.Send(ctx, r)
	return reply.Status, reply.Header, reply.Body, err
}

// close ends the processes and removes the databases, topics and keys of the world.
func (w *world) close() (failed error) {
	for _, p := range []*role{w.ingress, w.consumers} {
		if p != nil {
			p.Stop()
		}
	}
	if w.rows != nil {
		w.rows.Close()
	}
	if w.broker != nil {
		w.broker.Close()
	}
	if w.Site != nil {
		failed = w.Drop()
	}
	if w.dir != "" && len(w.s.report.Breaches) == 0 {
		failed = errors.Join(failed, os.RemoveAll(w.dir))
	} else if w.dir != "" {
		w.s.say("the logs are in %s", w.dir)
	}
	return failed
}
