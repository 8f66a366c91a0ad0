package main

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"adnet/cmd/load/visitor"
	"adnet/internal/demo"
	"adnet/internal/testenv"
	"adnet/lab/process"
	base "adnet/lab/site"
)

// site is a separate installation of adnet: databases, topics, keys, and campaigns in PostgreSQL
// and Redis.
type site struct {
	*base.Site
	s         *session
	campaigns int
	env       []string // of its processes

	consumers *process.Process // nil while stopped

	admin, owner, publisher visitor.Account
	publisherKeys           [publishers]string
	seatKey                 string

	copied uuid.UUID // the campaign from which the others are copied, and of the beacons
}

// publishers share the ads of a row, which none of them shows, so that none holds its part of a
// campaign's day (reason unseen). Their number has no divisor in common with that of the demo's
// requests.
const publishers = 7

// node is a running ingress.
type node struct {
	*process.Process
	addr, admin string // host:port
}

// at returns the site with n campaigns, which it creates on first use.
func (s *session) at(ctx context.Context, n int) (*site, error) {
	if t, ok := s.sites[n]; ok {
		return t, nil
	}
	t, err := s.newSite(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("site of %d campaigns: %w", n, err)
	}
	s.sites[n] = t
	return t, nil
}

func (s *session) newSite(ctx context.Context, n int) (*site, error) {
	own, err := base.Create(ctx, s.Servers, "bench")
	s.cleanups = append(s.cleanups, own.Drop)
	if err != nil {
		return nil, err
	}
	t := &site{Site: own, s: s, campaigns: n}
	t.env = append(own.Env,
		"ADNET_ADMIN_EMAIL=admin@bench.example", "ADNET_ADMIN_PASSWORD=bench admin password",
		"ADNET_VERIFY_EMAIL=off", "ADNET_PREPAID=off", "ADNET_UNREVIEWED=everywhere", "ADNET_LOG_LEVEL=warn", "ADNET_RATE_PER_MINUTE=0",
		"ADNET_RATE_WRITES=0", "ADNET_RATE_STATS=0",
		"ADNET_RATE_READS=0", "ADNET_CAMPAIGNS=0", "ADNET_RTB_PER_SECOND=0",
	)
	if err := t.adnet(ctx, "migrate"); err != nil {
		return nil, err
	}
	if err := t.consume(ctx); err != nil {
		return nil, err
	}
	ingress, err := t.ingress(ctx)
	if err != nil {
		return nil, err
	}
	defer ingress.Stop()
	if err := t.populate(ctx, ingress); err != nil {
		return nil, err
	}
	return t, nil
}

// adnet runs a command of the binary to its end.
func (t *site) adnet(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, t.s.binary, args...)
	command.Env = append(command.Environ(), t.env...)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("adnet %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// consume starts the consumers unless they are running, and waits until they are ready.
func (t *site) consume(ctx context.Context) error {
	if t.consumers != nil {
		return nil
	}
	admin, err := testenv.FreeAddr()
	if err != nil {
		return err
	}
	t.consumers, err = t.s.start("consumers", append(t.env, "ADNET_ADMIN_ADDR="+admin), t.s.binary, "consumers")
	if err != nil {
		return err
	}
	return t.consumers.Await(ctx, startWait, process.Ready(admin))
}

// rest stops the consumers.
func (t *site) rest() {
	if t.consumers != nil {
		t.consumers.Stop()
		t.consumers = nil
	}
}

// ingress starts a node and waits until it serves the whole catalog.
func (t *site) ingress(ctx context.Context, env ...string) (*node, error) {
	n, err := t.launch(env...)
	if err != nil {
		return nil, err
	}
	return n, n.Await(ctx, startWait, process.Ready(n.admin))
}

func (t *site) launch(env ...string) (*node, error) {
	addr, admin, listeners, err := process.Listeners()
	if err != nil {
		return nil, err
	}
	spool, err := t.s.scratch("spool-*", nil)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(t.env, listeners, []string{"ADNET_SPOOL_DIR=" + spool + ".d"}, env)
	p, err := t.s.start("ingress", all, t.s.binary, "ingress")
	if err != nil {
		return nil, err
	}
	t.s.node = admin
	return &node{Process: p, addr: addr, admin: admin}, nil
}

// call makes one request of the public API and decodes the reply.
func (n *node) call(ctx context.Context, method, path, bearer, body string) (visitor.Object, error) {
	return n.visitor().Call(ctx, visitor.Request{
		Method: method, Path: path, Bearer: bearer, Body: []byte(body), Want: visitor.Success,
	})
}

func (n *node) visitor() *base.People {
	return &base.People{Client: &visitor.Client{Base: visitor.Of("http://" + n.addr), HTTP: http.DefaultClient}}
}

// populate registers accounts and creates the campaigns: one through the API, and copies of it in
// PostgreSQL with different bids and targetings, as of many small advertisers.
func (t *site) populate(ctx context.Context, n *node) error {
	as := n.visitor()
	var err error
	if t.admin.Bearer, err = as.Login(ctx, "admin@bench.example", "bench admin password"); err != nil {
		return err
	}
	as.Admin = t.admin.Bearer
	accounts := map[string]*visitor.Account{"owner": &t.owner, "publisher": &t.publisher}
	others := make([]visitor.Account, publishers-1)
	for i := range others {
		accounts[fmt.Sprintf("publisher-%d", i)] = &others[i]
	}
	for name, into := range accounts {
		// a family of its own
		if *into, err = as.Register(ctx, "bench@"+name+".example", "bench password", ""); err != nil {
			return err
		}
	}
	key := func(of visitor.Account, kind string) (string, error) {
		return as.Key(ctx, of.Bearer, visitor.Object{"kind": kind, "name": "bench"})
	}
	for i, publisher := range append(others, t.publisher) {
		if t.publisherKeys[i], err = key(publisher, "publisher"); err != nil {
			return err
		}
	}
	if t.seatKey, err = key(t.admin, "seat"); err != nil {
		return err
	}
	id, err := as.Campaign(ctx, t.owner, visitor.Object{
		"headline": "Zyzzyva field guide", "subtext": "A campaign of the benchmark",
		"cta_url": "https://zyzzyva.example.com/", "bid_amount": 5, "target_intent_tokens": []string{"zyzzyva"},
	})
	if err != nil {
		return err
	}
	if t.copied, err = uuid.Parse(id); err != nil {
		return err
	}
	if err := t.copies(ctx, id); err != nil {
		return err
	}
	t.s.say("%d campaigns are in PostgreSQL; waiting until the node serves them", t.campaigns)
	err = n.Await(ctx, startWait, func(ctx context.Context) error {
		have, err := process.Metric(ctx, n.admin, "adnet_catalog_deliverable")
		if err == nil && int(have) < t.campaigns {
			err = fmt.Errorf("%d of %d campaigns", int(have), t.campaigns)
		}
		return err
	})
	if err != nil {
		return err
	}
	t.s.say("waiting until the nodes have all budgets")
	if err := t.consumers.Await(
		ctx, startWait, func(ctx context.Context) error { return t.budgeted(ctx) },
	); err != nil {
		return err
	}
	return t.tidy(ctx)
}

// budgeted returns an error until Redis has the remaining budget of every campaign, without which
// nodes cannot reserve from it.
func (t *site) budgeted(ctx context.Context) error {
	var have int64
	_, err := t.Keys(ctx, func(key string) error {
		if !strings.HasSuffix(key, ":rooms") {
			return nil
		}
		var err error
		have, err = t.Cache.HLen(ctx, key).Result()
		return err
	})
	if err == nil && int(have) < t.campaigns {
		time.Sleep(100 * time.Millisecond)
		err = fmt.Errorf("budgets of %d of %d campaigns", have, t.campaigns)
	}
	return err
}

// tidy makes PostgreSQL do its maintenance now instead of during the first rows.
func (t *site) tidy(ctx context.Context) error {
	db, err := pgx.Connect(ctx, t.Database)
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	for _, command := range []string{"VACUUM (ANALYZE)", "CHECKPOINT"} {
		if _, err := db.Exec(ctx, command); err != nil {
			return err
		}
	}
	return nil
}

// copySQL copies the campaign $1 $2 times, independent of the columns of the table.
const copySQL = `
WITH words AS (SELECT $3::text[] AS w), made AS (
  INSERT INTO campaign SELECT r.* FROM campaign t, words, generate_series(1, $2::bigint) i,
  LATERAL jsonb_populate_record(t, jsonb_build_object(
    'id', gen_random_uuid(), 'name', 'bench', 'headline', 'Bench campaign ' || i, 'cta_url', 'https://bench.example.com/' || i,
    'bid_amount', 1000000 + (i * 7919) % 20000000, 'config_version', (SELECT version FROM config_head) + i,
    'target_intent_tokens', (SELECT jsonb_agg(w[1 + (i * 31 + k * 977) % array_length(w, 1)]) FROM generate_series(1, 1 + i % 4) k)
  )) r WHERE t.id = $1)
UPDATE config_head SET version = version + $2`

func (t *site) copies(ctx context.Context, template string) error {
	words, err := demo.Words()
	if err != nil {
		return err
	}
	db, err := pgx.Connect(ctx, t.Database)
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	_, err = db.Exec(ctx, copySQL, template, t.campaigns-1, words)
	return err
}

// jsonSize returns the size of the campaigns' JSON in Redis, in bytes.
func (t *site) jsonSize(ctx context.Context) (sum int64, err error) {
	_, err = t.Keys(ctx, func(key string) error {
		if !strings.HasSuffix(key, ":objects") {
			return nil
		}
		all := t.Cache.HScan(ctx, key, 0, "", 1000).Iterator()
		for isValue := false; all.Next(ctx); isValue = !isValue {
			if isValue {
				sum += int64(len(all.Val()))
			}
		}
		return all.Err()
	})
	return sum, err
}
