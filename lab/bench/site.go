package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"adnet/internal/demo"
	"adnet/internal/testenv"
	"adnet/internal/token"
	"adnet/lab/process"
)

// site is a separate installation of adnet: databases, topics, keys, and campaigns in PostgreSQL
// and Redis.
type site struct {
	s         *session
	campaigns int
	prefix    string
	env       []string
	database  string // postgres URL
	analytics string // clickhouse URL
	ring      *token.Keyring

	consumers *process.Process // nil while stopped

	admin, owner, publisher person
	publisherKeys           [publishers]string
	seatKey                 string

	copied uuid.UUID // the campaign from which the others are copied, and of the beacons
}

// publishers share the ads of a row, which none of them shows, so that none holds its part of a
// campaign's day (reason unseen). Their number has no divisor in common with that of the demo's
// requests.
const publishers = 7

// person is a registered account.
type person struct{ id, token string }

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
	t := &site{s: s, campaigns: n, prefix: "bench-" + strings.ToLower(rand.Text()[:8])}
	if err := t.databases(ctx); err != nil {
		return nil, err
	}
	signing := "bench:" + secret()
	keys, err := token.ParseKeys(signing)
	if err != nil {
		return nil, err
	}
	if t.ring, err = token.NewKeyring(keys); err != nil {
		return nil, err
	}
	t.env = []string{
		"ADNET_POSTGRES_URL=" + t.database, "ADNET_POSTGRES_OWNER_URL=" + t.database,
		"ADNET_CLICKHOUSE_URL=" + t.analytics, "ADNET_REDIS_ADDR=" + s.redis, "ADNET_REDIS_PREFIX=" + t.prefix,
		"ADNET_KAFKA_BROKERS=" + s.kafka, "ADNET_KAFKA_TOPIC_PREFIX=" + t.prefix + ".", "ADNET_KAFKA_PARTITIONS=4",
		"ADNET_TOKEN_KEYS=" + signing,
		"ADNET_SESSION_KEYS=s:" + secret(),
		"ADNET_ADMIN_EMAIL=admin@bench.example", "ADNET_ADMIN_PASSWORD=bench admin password",
		"ADNET_VERIFY_EMAIL=off", "ADNET_PREPAID=off", "ADNET_UNREVIEWED=everywhere", "ADNET_LOG_LEVEL=warn", "ADNET_RATE_PER_MINUTE=0",
		"ADNET_RATE_WRITES=0", "ADNET_RATE_STATS=0", "ADNET_CAMPAIGNS=0", "ADNET_RTB_PER_SECOND=0",
	}
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

// databases creates a database on each server, which are dropped at the end.
func (t *site) databases(ctx context.Context) error {
	name := strings.ReplaceAll(t.prefix, "-", "_")
	admin, err := pgx.Connect(ctx, t.s.postgres)
	if err != nil {
		return err
	}
	defer admin.Close(ctx)
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	options, err := clickhouse.ParseDSN(t.s.clickhouse)
	if err != nil {
		return err
	}
	events, err := clickhouse.Open(options)
	if err != nil {
		return err
	}
	if err := events.Exec(ctx, "CREATE DATABASE "+name+" ENGINE = Atomic"); err != nil {
		return err
	}
	t.s.cleanups = append(t.s.cleanups, func() error {
		// The session may have been interrupted. Its context is then cancelled, but the databases
		// must still be dropped.
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		admin, err := pgx.Connect(ctx, t.s.postgres)
		if err == nil {
			_, err = admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
			err = errors.Join(err, admin.Close(ctx))
		}
		gone := events.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" SYNC")
		return errors.Join(err, t.forget(ctx), gone, events.Close())
	})
	if t.database, err = withPath(t.s.postgres, name); err != nil {
		return err
	}
	t.analytics, err = withPath(t.s.clickhouse, name)
	return err
}

func withPath(server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
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
	addr, err := testenv.FreeAddr()
	if err != nil {
		return nil, err
	}
	admin, err := testenv.FreeAddr()
	if err != nil {
		return nil, err
	}
	spool, err := t.s.scratch("spool-*", nil)
	if err != nil {
		return nil, err
	}
	all := append(
		append(
			t.env[:len(t.env):len(t.env)], "ADNET_HTTP_ADDR="+addr, "ADNET_ADMIN_ADDR="+admin,
			"ADNET_SPOOL_DIR="+spool+".d",
		), env...,
	)
	p, err := t.s.start("ingress", all, t.s.binary, "ingress")
	if err != nil {
		return nil, err
	}
	t.s.node = admin
	return &node{Process: p, addr: addr, admin: admin}, nil
}

// call makes one request of the public API and decodes the reply.
func (n *node) call(ctx context.Context, method, path, bearer, body string) (map[string]any, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+n.addr+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return nil, err
	}
	if reply.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: %d %s", method, path, reply.StatusCode, text)
	}
	out := map[string]any{}
	return out, json.Unmarshal(text, &out)
}

// populate registers accounts and creates the campaigns: one through the API, and copies of it in
// PostgreSQL with different bids and targetings, as of many small advertisers.
func (t *site) populate(ctx context.Context, n *node) error {
	admin, err := n.call(
		ctx, "POST", "/api/auth", "", `{"email":"admin@bench.example","password":"bench admin password"}`,
	)
	if err != nil {
		return err
	}
	t.admin.token, _ = admin["token"].(string)
	accounts := map[string]*person{"owner": &t.owner, "publisher": &t.publisher}
	others := make([]person, publishers-1)
	for i := range others {
		accounts[fmt.Sprintf("publisher-%d", i)] = &others[i]
	}
	for name, into := range accounts {
		account, err := n.call(
			ctx, "POST", "/api/auth?action=register", "",
			fmt.Sprintf(`{"email":"bench@%s.example","password":"bench password"}`, name), // a family of its own
		)
		if err != nil {
			return err
		}
		user, _ := account["user"].(map[string]any)
		into.id, _ = user["id"].(string)
		into.token, _ = account["token"].(string)
	}
	var key map[string]any
	for i, publisher := range append(others, t.publisher) {
		key, err = n.call(ctx, "POST", "/api/keys", publisher.token, `{"kind":"publisher","name":"bench"}`)
		if err != nil {
			return err
		}
		t.publisherKeys[i], _ = key["key"].(string)
	}
	if key, err = n.call(ctx, "POST", "/api/keys", t.admin.token, `{"kind":"seat","name":"bench"}`); err != nil {
		return err
	}
	t.seatKey, _ = key["key"].(string)
	created, err := n.call(ctx, "POST", "/api/campaigns", t.owner.token,
		`{"advertiser_id":"`+t.owner.id+`","headline":"Zyzzyva field guide","subtext":"A campaign of the benchmark",
		"cta_url":"https://zyzzyva.example.com/","bid_amount":5,"daily_budget":1000000,"total_budget":10000000,"pacing":"asap","target_intent_tokens":["zyzzyva"]}`)
	if err != nil {
		return err
	}
	template, _ := created["campaign"].(map[string]any)
	id, _ := template["id"].(string)
	if template["status"] != "active" {
		if _, err := n.call(
			ctx, "POST", "/api/campaigns?action=review", t.admin.token, `{"id":"`+id+`","decision":"approved"}`,
		); err != nil {
			return err
		}
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
	err := t.eachKey(ctx, func(client *redis.Client, key string) error {
		if !strings.HasSuffix(key, ":rooms") {
			return nil
		}
		var err error
		have, err = client.HLen(ctx, key).Result()
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
	db, err := pgx.Connect(ctx, t.database)
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
	db, err := pgx.Connect(ctx, t.database)
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	_, err = db.Exec(ctx, copySQL, template, t.campaigns-1, words)
	return err
}

// jsonSize returns the size of the campaigns' JSON in Redis, in bytes.
func (t *site) jsonSize(ctx context.Context) (sum int64, err error) {
	err = t.eachKey(ctx, func(client *redis.Client, key string) error {
		if !strings.HasSuffix(key, ":objects") {
			return nil
		}
		all := client.HScan(ctx, key, 0, "", 1000).Iterator()
		for isValue := false; all.Next(ctx); isValue = !isValue {
			if isValue {
				sum += int64(len(all.Val()))
			}
		}
		return all.Err()
	})
	return sum, err
}

// eachKey visits the site's keys in Redis.
func (t *site) eachKey(ctx context.Context, visit func(*redis.Client, string) error) error {
	client := redis.NewClient(&redis.Options{Addr: t.s.redis, ReadTimeout: 30 * time.Second})
	defer client.Close()
	all := client.Scan(ctx, 0, t.prefix+":*", 1000).Iterator()
	for all.Next(ctx) {
		if err := visit(client, all.Val()); err != nil {
			return err
		}
	}
	return all.Err()
}

// forget removes the site's keys from Redis. A full run leaves a key for each confirmed ad. They
// are removed by the page, because one call for each took more than half a minute.
func (t *site) forget(ctx context.Context) error {
	client := redis.NewClient(&redis.Options{Addr: t.s.redis, ReadTimeout: 30 * time.Second})
	defer client.Close()
	for cursor := uint64(0); ; {
		keys, next, err := client.Scan(ctx, cursor, t.prefix+":*", 1000).Result()
		if err == nil && len(keys) > 0 {
			err = client.Unlink(ctx, keys...).Err()
		}
		if err != nil || next == 0 {
			return err
		}
		cursor = next
	}
}

// secret returns a random key in the form of the key settings.
func secret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.StdEncoding.EncodeToString(b)
}
