package postgres

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"adnet/internal/process/link"
	"adnet/internal/store/postgres/pg"
)

// EnvURL names the setting with PostgreSQL's URL.
const EnvURL = "ADNET_POSTGRES_URL"

// connectTimeout bounds the server's first reply, so that a wrong address gives a clear error
// instead of a long wait.
const connectTimeout = 5 * time.Second

// Config holds PostgreSQL's URL and the limit on a process's connections.
type Config struct {
	URL      string `name:"postgres-url" env:"ADNET_POSTGRES_URL" secret:"url" default:"" help:"PostgreSQL as postgres://user:password@host:port/database?sslmode=verify-full&sslrootcert=FILE; several host:port separated by commas are tried in their order."`
	MaxConns int32  `name:"postgres-max-conns" env:"ADNET_POSTGRES_MAX_CONNS" default:"0" help:"Most connections that one process opens to PostgreSQL. 0: 8 for ingress, 16 for others."`

	Insecure link.Insecure `kong:"-"` // plain text off loopback
}

// Connections that a process opens without a setting. Ingress processes are many, and they ask for
// little: what they serve is in memory.
const (
	IngressConns int32 = 8
	otherConns   int32 = 16
)

// Secrets returns the passwords in a URL or list of pairs, as the driver parses it; none if it
// cannot.
func Secrets(url string) []string {
	config, err := pgx.ParseConfig(url)
	if err != nil || config.Password == "" {
		return nil
	}
	return []string{config.Password}
}

// Open connects and checks that the server responds. The error names the wrong setting and never
// contains the password. Open does not migrate: see [Migrate].
func Open(ctx context.Context, cfg Config) (*Stores, error) { return open(ctx, cfg, nil) }

// open is Open with a listener for handshakes.
func open(ctx context.Context, cfg Config, seen func(tls.ConnectionState)) (*Stores, error) {
	if cfg.URL == "" {
		return nil, errNoURL()
	}
	if cfg.MaxConns < 0 {
		return nil, fmt.Errorf("ADNET_POSTGRES_MAX_CONNS is %d: it must be at least 0", cfg.MaxConns)
	}
	config, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", EnvURL, err)
	}
	if err := allow(cfg.Insecure, config.ConnConfig, EnvURL); err != nil {
		return nil, err
	}
	if err := describes(config.ConnConfig); err != nil {
		return nil, err
	}
	listen(config.ConnConfig, seen)
	config.MaxConns = cmp.Or(cfg.MaxConns, otherConns)
	config.ConnConfig.ConnectTimeout = connectTimeout
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "adnet"
	}
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		// Without it pgx returns times in the machine's zone.
		conn.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		return nil
	}
	left := leave(config)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", EnvURL, err)
	}
	left(pool)
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, unreachable(config.ConnConfig, err)
	}
	return newStores(&pg.Core{Pool: pool}), nil
}

// describes refuses the modes of the driver in which it does not ask the server for the types of a
// statement's parameters: settlement's arrays cannot be encoded in them, so it would stand still.
func describes(config *pgx.ConnConfig) error {
	switch mode := config.DefaultQueryExecMode; mode {
	case pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol:
		return fmt.Errorf(
			"%s: default_query_exec_mode=%s cannot encode the arrays of settlement: behind PgBouncer in transaction "+
				"mode use default_query_exec_mode=cache_describe", EnvURL, strings.ReplaceAll(mode.String(), " ", "_"),
		)
	}
	return nil
}

func errNoURL() error {
	// Without a URL the driver would guess a server from its own variables.
	return fmt.Errorf("%s is not set: it must be postgres://user:password@host:port/database", EnvURL)
}

// unreachable names the server that refused the connection, and its setting.
func unreachable(config *pgx.ConnConfig, err error) error {
	return fmt.Errorf("%s: cannot use PostgreSQL at %s, database %q: %w",
		EnvURL, strings.Join(servers(config), ","), config.Database, explain(err))
}

// Close waits until every connection is returned and closed. The stores must not be used
// afterwards.
func (s *Stores) Close() { s.Pool.Close() }

// Ping returns an error with errs.Unavailable when the server does not respond.
func (s *Stores) Ping(ctx context.Context) error { return pg.Failure("ping", s.Pool.Ping(ctx)) }
