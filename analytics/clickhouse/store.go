// Package clickhouse is the analytics store: the connection, the schema's migrations and the block
// writer.
//
// Contract of [Store.Insert]: the rows of a call are one block under one token. Sending the same
// rows under the same token again, after a lost reply or from a second concurrent writer, changes
// nothing in events or in anything computed from it, as long as fewer than 100,000 other blocks
// came between. After a call that returned nil the rows are on disk (fsynced) and visible to every
// read that starts later.
//
// # Not obvious
//
// Views need a deduplication window of their own. Without one, a block that the source table drops
// as a repeat is still pushed to the view.
package clickhouse

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/process/link"
)

// Config names the server. The URL is clickhouse://[user[:password]@]host:port/database (native
// protocol) and may carry the driver's options; it can hold a password and must be masked when
// printed.
type Config struct {
	URL         string        `name:"clickhouse-url" env:"ADNET_CLICKHOUSE_URL" secret:"url" default:"clickhouse://127.0.0.1:9000/adnet" help:"ClickHouse, native protocol: clickhouse://[user:password@]host:port/database; secure=true encrypts the link, several host:port separated by commas are tried in their order."`
	CA          string        `name:"clickhouse-ca" env:"ADNET_CLICKHOUSE_CA" type:"path" help:"PEM file of the authorities that sign the certificate of ClickHouse (default: the system's)."`
	Cert        string        `name:"clickhouse-cert" env:"ADNET_CLICKHOUSE_CERT" type:"path" help:"PEM file of this client's certificate, for a ClickHouse that wants one."`
	Key         string        `name:"clickhouse-key" env:"ADNET_CLICKHOUSE_KEY" type:"path" help:"PEM file of the certificate's key."`
	DialTimeout time.Duration `name:"clickhouse-dial-timeout" env:"ADNET_CLICKHOUSE_DIAL_TIMEOUT" default:"5s" help:"How long to wait for a connection to ClickHouse."`
	Timeout     time.Duration `name:"clickhouse-timeout" env:"ADNET_CLICKHOUSE_TIMEOUT" default:"30s" help:"How long ClickHouse may stay silent before a call fails (safe to repeat)."`
	Connections int           `name:"clickhouse-connections" env:"ADNET_CLICKHOUSE_CONNECTIONS" default:"8" help:"Most connections to ClickHouse."`

	Insecure link.Insecure `kong:"-"` // plain text off loopback

	seen func(tls.ConnectionState) // called for every handshake
}

// Secrets returns the passwords in a URL, as the driver parses it; none if it cannot.
func Secrets(url string) []string {
	options, err := clickhouse.ParseDSN(url)
	if err != nil || options.Auth.Password == "" {
		return nil
	}
	return []string{options.Auth.Password}
}

// options checks the configuration. Zero durations and counts take the defaults.
func (c Config) options() (*clickhouse.Options, error) {
	target, err := url.Parse(c.URL)
	if err != nil {
		// The parser's error repeats the URL, which may hold a password.
		return nil, errs.New(errs.InvalidRequest, "ADNET_CLICKHOUSE_URL is not a URL")
	}
	if target.Scheme != "clickhouse" || target.Host == "" || len(strings.Trim(target.Path, "/")) == 0 {
		return nil, errs.New(errs.InvalidRequest, "ADNET_CLICKHOUSE_URL must be clickhouse://host:port/database")
	}
	options, err := clickhouse.ParseDSN(c.URL)
	if err != nil {
		return nil, errs.Wrap(err, errs.InvalidRequest, "ADNET_CLICKHOUSE_URL has an option that the driver refuses")
	}
	if !identifier(options.Auth.Database) {
		return nil, errs.New(
			errs.InvalidRequest, "ADNET_CLICKHOUSE_URL: the database must be named with letters, digits and _",
		)
	}
	if err := c.secure(options); err != nil {
		return nil, err
	}
	options.DialTimeout = positive(c.DialTimeout, defaultDial)
	options.ReadTimeout = positive(c.Timeout, defaultSilence)
	options.MaxOpenConns = positive(c.Connections, 8)
	options.MaxIdleConns = options.MaxOpenConns
	if options.Compression == nil {
		options.Compression = &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
	}
	return options, nil
}

const (
	defaultDial    = 5 * time.Second
	defaultSilence = 30 * time.Second
)

func positive[T int | time.Duration](v, fallback T) T {
	if v > 0 {
		return v
	}
	return fallback
}

// identifier reports whether s can be used in SQL without quotes.
func identifier(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// Store writes to and reads from one database. It is safe for concurrent use.
type Store struct {
	conn  clickhouse.Conn
	pages pages
	known known
}

// New creates a store that connects on first use. Error: errs.InvalidRequest for the configuration.
func New(cfg Config) (*Store, error) {
	options, err := cfg.options()
	if err != nil {
		return nil, err
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		return nil, errs.Wrap(err, errs.InvalidRequest, "ADNET_CLICKHOUSE_URL cannot be used")
	}
	return &Store{conn: conn}, nil
}

// Open creates a store and checks that the server responds. Errors: those of [New],
// errs.InvalidState when the database does not exist (see [Migrate]), errs.Unavailable when the
// server does not respond.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	if err := checkDatabase(ctx, cfg); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.Ping(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Ping checks that the server responds. Error: errs.Unavailable.
func (s *Store) Ping(ctx context.Context) error { return failure(s.conn.Ping(ctx), "ping") }

// Close closes every connection. Calls in progress fail.
func (s *Store) Close() error { return s.conn.Close() }

// Select runs a query with server-side bound parameters ({name:Type} in the text) and scans all
// rows into dest, a pointer to a slice of structs with ch tags. Error: errs.Unavailable when a
// repeat may help.
func (s *Store) Select(ctx context.Context, dest any, query string, params map[string]string) error {
	return failure(s.conn.Select(bind(ctx, params), dest, query), "query")
}

// Exec runs a statement with server-side bound parameters. Errors: as [Store.Select].
func (s *Store) Exec(ctx context.Context, statement string, params map[string]string) error {
	return failure(s.conn.Exec(bind(ctx, params), statement), "statement")
}

func bind(ctx context.Context, params map[string]string) context.Context {
	if len(params) == 0 {
		return ctx
	}
	return clickhouse.Context(ctx, clickhouse.WithParameters(params))
}

const (
	// Months whose events the TTL dropped are read from the daily sums. A month is either
	// completely in events or completely gone.
	totalsQuery = `
SELECT verdict, toInt64(sum(n)) AS events, sum(c) AS charge, sum(m) AS minted
FROM
(
    SELECT verdict, toInt64(count()) AS n, sum(charge) AS c, sum(minted) AS m FROM events GROUP BY verdict
    UNION ALL
    SELECT verdict, sum(events) AS n, sum(charge) AS c, sum(minted) AS m FROM verdict_daily
    WHERE toYYYYMM(day) NOT IN (SELECT DISTINCT toYYYYMM(day) FROM events) GROUP BY verdict
)
GROUP BY verdict`
	// Counts each charged event once, however many rows it has, with a value of at most its price.
	// Months dropped by the TTL count with their charges.
	billableQuery = `
SELECT sum(worth) AS worth, toInt64(sum(cut)) AS cut
FROM
(
    SELECT least(any(price), any(charge)) AS worth, any(charge) < any(price) AS cut
    FROM events WHERE charge > 0 GROUP BY auction_id, type
    UNION ALL
    SELECT sum(charge) AS worth, 0 AS cut FROM verdict_daily
    WHERE toYYYYMM(day) NOT IN (SELECT DISTINCT toYYYYMM(day) FROM events)
)
SETTINGS max_bytes_before_external_group_by = 500000000`
	highestChargesQuery = `
SELECT campaign_id, billing_model, max(charge) AS highest FROM events
WHERE charge > 0 GROUP BY campaign_id, billing_model`
	auctionsQuery = `SELECT toInt64(count()) AS n FROM auctions FINAL`
	noticesQuery  = `SELECT toInt64(count()) AS n FROM notices FINAL`
)

// Totals sums everything ever inserted, for the comparison with the ledger.
func (s *Store) Totals(ctx context.Context) (ledger.Totals, error) {
	var rows []struct {
		Verdict string `ch:"verdict"`
		Events  int64  `ch:"events"`
		Charge  int64  `ch:"charge"`
		Minted  int64  `ch:"minted"`
	}
	if err := s.Select(ctx, &rows, totalsQuery, nil); err != nil {
		return ledger.Totals{}, err
	}
	totals := ledger.Totals{ByVerdict: make(map[ledger.Verdict]int64, len(rows))}
	for _, r := range rows {
		totals.Rows += r.Events
		totals.Charge += money.Micros(r.Charge)
		totals.Minted += money.Credits(r.Minted)
		totals.ByVerdict[ledger.Verdict(r.Verdict)] = r.Events
	}
	return totals, nil
}

// Billable values the unique charged events by their prices, for the comparison with the ledger.
func (s *Store) Billable(ctx context.Context) (ledger.Billable, error) {
	var rows []struct {
		Worth int64 `ch:"worth"`
		Cut   int64 `ch:"cut"`
	}
	if err := s.Select(ctx, &rows, billableQuery, nil); err != nil || len(rows) == 0 {
		return ledger.Billable{}, err
	}
	return ledger.Billable{Worth: money.Micros(rows[0].Worth), Cut: rows[0].Cut}, nil
}

// HighestCharges lists the highest charge of a single event, for each campaign and billing model.
func (s *Store) HighestCharges(ctx context.Context) ([]ledger.HighestCharge, error) {
	var rows []struct {
		Campaign uuid.UUID `ch:"campaign_id"`
		Model    string    `ch:"billing_model"`
		Highest  int64     `ch:"highest"`
	}
	if err := s.Select(ctx, &rows, highestChargesQuery, nil); err != nil {
		return nil, err
	}
	charges := make([]ledger.HighestCharge, len(rows))
	for i, r := range rows {
		charges[i] = ledger.HighestCharge{
			CampaignID: r.Campaign, BillingModel: campaign.BillingModel(r.Model), Charge: money.Micros(r.Highest),
		}
	}
	return charges, nil
}

// Auctions counts the stored auctions, without repeats.
func (s *Store) Auctions(ctx context.Context) (int64, error) { return s.count(ctx, auctionsQuery) }

// Notices counts the stored notices: one of each kind per bid.
func (s *Store) Notices(ctx context.Context) (int64, error) { return s.count(ctx, noticesQuery) }

func (s *Store) count(ctx context.Context, query string) (int64, error) {
	var rows []struct {
		N int64 `ch:"n"`
	}
	if err := s.Select(ctx, &rows, query, nil); err != nil || len(rows) == 0 {
		return 0, err
	}
	return rows[0].N, nil
}

// passing holds the codes of server exceptions that a retry may fix.
var passing = map[int32]bool{
	159: true, // TIMEOUT_EXCEEDED
	202: true, // TOO_MANY_SIMULTANEOUS_QUERIES
	236: true, // ABORTED
	241: true, // MEMORY_LIMIT_EXCEEDED
	242: true, // TABLE_IS_READ_ONLY
	243: true, // NOT_ENOUGH_SPACE
	252: true, // TOO_MANY_PARTS
}

// comeBack is the retry delay for a call that the server could not answer, in seconds.
const comeBack = 5

// failure gives an error a code. A broken connection, like an overloaded server, is
// errs.Unavailable: the caller may repeat the call. The server's error about a wrong statement is
// internal.
func failure(err error, what string) error {
	if err == nil {
		return nil
	}
	var exception *clickhouse.Exception
	if errors.As(err, &exception) && !passing[exception.Code] {
		return fmt.Errorf("clickhouse: %s: %w", what, explain(err))
	}
	return errs.Wrap(
		explain(err), errs.Unavailable, "analytics store is out of reach",
	).With("retry_after", comeBack)
}
