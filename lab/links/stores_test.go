package links_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/analytics/clickhouse"
	"adnet/internal/kafka"
	"adnet/internal/process/link"
	"adnet/internal/store/postgres"
	"adnet/internal/store/redis"
	"adnet/internal/testenv"
	"adnet/internal/testenv/linktest"
	"adnet/lab/links"
)

func pingRedis(t *testing.T, cfg redis.Config) error {
	t.Helper()
	client, err := redis.Open(cfg, redis.Deps{})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	return client.Ping(t.Context())
}

// redisDo sends one command to the plain port of Redis.
func redisDo(t *testing.T, s *links.Servers, words ...string) {
	t.Helper()
	require.NoError(t, links.Command(t.Context(), s.Elsewhere("redis"), words...))
}

func TestRedis(t *testing.T) {
	s := real(t)
	// The rights of docs/operate/links.md.
	redisDo(
		t, s, "ACL", "SETUSER", "adnet", "on", ">stack secret", "~adnet:*", "&adnet:*", "+@all", "-@admin",
		"-@dangerous", "+info",
	)
	url := "rediss://" + s.At("redis-tls")
	for name, c := range map[string]struct {
		cfg  redis.Config
		says string
	}{
		"authority that signed": {redis.Config{Addr: url, CA: s.CA.CA()}, ""},
		"client certificate": {
			redis.Config{Addr: url, CA: s.CA.CA(), Cert: s.CA.File("client.pem"), Key: s.CA.File("client.key")}, "",
		},
		"certificate of another": {
			redis.Config{Addr: url, CA: s.CA.CA(), Cert: s.Other.File("client.pem"), Key: s.Other.File("client.key")},
			"ADNET_REDIS_CERT",
		},
		"another authority":        {redis.Config{Addr: url, CA: s.Other.CA()}, "ADNET_REDIS_CA"},
		"the system's authorities": {redis.Config{Addr: url}, "ADNET_REDIS_CA"},
		"another name": {
			redis.Config{Addr: "rediss://" + s.Elsewhere("redis-tls"), CA: s.CA.CA()}, "ADNET_REDIS_ADDR",
		},
		"a server without TLS": {
			redis.Config{Addr: "rediss://" + s.At("redis"), CA: s.CA.CA()}, "does it speak TLS",
		},
		"plain text to a TLS port": {redis.Config{Addr: s.At("redis-tls")}, "rediss://"},
		"user and password": {
			redis.Config{Addr: url, CA: s.CA.CA(), Username: "adnet", Password: "stack secret"}, "",
		},
		"login in the URL": {
			redis.Config{Addr: "rediss://adnet:stack%20secret@" + s.At("redis-tls"), CA: s.CA.CA()}, "",
		},
		"wrong password": {
			redis.Config{Addr: url, CA: s.CA.CA(), Username: "adnet", Password: "wrong"}, "ADNET_REDIS_PASSWORD",
		},
		"wrong user": {
			redis.Config{Addr: url, CA: s.CA.CA(), Username: "somebody", Password: "stack secret"},
			"ADNET_REDIS_USERNAME",
		},
	} {
		t.Run(name, func(t *testing.T) { expect(t, pingRedis(t, c.cfg), c.says) })
	}
	t.Run("expired certificate", func(t *testing.T) {
		show := func(name string) {
			redisDo(
				t, s, "CONFIG", "SET", "tls-cert-file", s.CA.File(name+".pem"), "tls-key-file", s.CA.File(name+".key"),
			)
		}
		show("expired")
		defer show("server")
		expect(t, pingRedis(t, redis.Config{Addr: url, CA: s.CA.CA()}), "renew it")
	})
	t.Run("a certificate is demanded", func(t *testing.T) {
		redisDo(t, s, "CONFIG", "SET", "tls-auth-clients", "yes")
		defer redisDo(t, s, "CONFIG", "SET", "tls-auth-clients", "optional")
		expect(t, pingRedis(t, redis.Config{Addr: url, CA: s.CA.CA()}), "ADNET_REDIS_CERT")
		expect(
			t,
			pingRedis(
				t, redis.Config{Addr: url, CA: s.CA.CA(), Cert: s.CA.File("client.pem"), Key: s.CA.File("client.key")},
			), "",
		)
	})
}

// expect holds an error to what it must say.
func expect(t *testing.T, err error, says string) {
	t.Helper()
	if says == "" {
		require.NoError(t, err)
		return
	}
	require.ErrorContains(t, err, says)
}

func postgresURL(t *testing.T, s *links.Servers, host, query string) string {
	t.Helper()
	password, err := s.Password()
	require.NoError(t, err)
	return "postgres://adnet:" + url.QueryEscape(password) + "@" + host + "/adnet?" + query
}

func openPostgres(t *testing.T, url string) error {
	t.Helper()
	store, err := postgres.Open(t.Context(), postgres.Config{URL: url, MaxConns: 1})
	if err == nil {
		store.Close()
	}
	return err
}

func TestPostgres(t *testing.T) {
	s := real(t)
	full := "sslmode=verify-full&sslrootcert=" + s.CA.CA()
	identity := func(a *linktest.Authority) string {
		return "&sslcert=" + a.File("client.pem") + "&sslkey=" + a.File("client.key")
	}
	here := s.At("postgres")
	for name, c := range map[string]struct{ host, query, says string }{
		"authority that signed":               {here, full, ""},
		"client certificate":                  {here, full + identity(s.CA), ""},
		"certificate of another":              {here, full + identity(s.Other), "sslcert"},
		"another authority":                   {here, "sslmode=verify-full&sslrootcert=" + s.Other.CA(), "sslrootcert"},
		"the system's authorities":            {here, "sslmode=verify-full", "sslrootcert"},
		"another name":                        {s.Elsewhere("postgres"), full, "ADNET_POSTGRES_URL"},
		"several hosts, the first away":       {"localhost:1," + here, full, ""},
		"several hosts, the first not itself": {s.Elsewhere("postgres") + "," + here, full, ""},
		"several hosts, the primary":          {here + "," + here, full + "&target_session_attrs=read-write", ""},
	} {
		t.Run(name, func(t *testing.T) { expect(t, openPostgres(t, postgresURL(t, s, c.host, c.query)), c.says) })
	}
	t.Run("wrong password", func(t *testing.T) {
		expect(t, openPostgres(t, "postgres://adnet:wrong@"+here+"/adnet?"+full), "refuses the login")
	})
	t.Run("expired certificate", func(t *testing.T) {
		showPostgres(t, s, "expired")
		defer showPostgres(t, s, "server")
		expect(t, openPostgres(t, postgresURL(t, s, here, full)), "renew it")
	})
	t.Run("a server without TLS", func(t *testing.T) {
		plain, err := url.Parse(testenv.Postgres(t))
		require.NoError(t, err)
		plain.RawQuery = full
		expect(t, openPostgres(t, plain.String()), "does not speak TLS")
	})
}

// showPostgres has the server show another certificate.
func showPostgres(t *testing.T, s *links.Servers, name string) {
	t.Helper()
	dir, err := s.PostgresTLS()
	require.NoError(t, err)
	for from, to := range map[string]string{name + ".pem": "server.pem", name + ".key": "server.key"} {
		text, err := os.ReadFile(s.CA.File(from))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), text, 0o600)) // in place: its owner stays
	}
	plain := postgresURL(t, s, s.Elsewhere("postgres"), "sslmode=disable")
	require.NoError(
		t,
		links.Postgres(context.WithoutCancel(t.Context()), plain, "SELECT pg_reload_conf()", "SELECT pg_sleep(0.3)"),
	)
}

func TestClickHouse(t *testing.T) {
	s := real(t)
	at := func(hosts, query string) string { return "clickhouse://" + hosts + "/adnet?" + query }
	here := s.At("clickhouse-tls")
	for name, c := range map[string]struct {
		cfg  clickhouse.Config
		says string
	}{
		"authority that signed": {clickhouse.Config{URL: at(here, "secure=true"), CA: s.CA.CA()}, ""},
		"client certificate": {
			clickhouse.Config{
				URL: at(here, "secure=true"), CA: s.CA.CA(), Cert: s.CA.File("client.pem"),
				Key: s.CA.File("client.key"),
			}, "",
		},
		"certificate of another": {
			clickhouse.Config{
				URL: at(here, "secure=true"), CA: s.CA.CA(), Cert: s.Other.File("client.pem"),
				Key: s.Other.File("client.key"),
			}, "ADNET_CLICKHOUSE_CERT",
		},
		"another authority": {
			clickhouse.Config{URL: at(here, "secure=true"), CA: s.Other.CA()}, "ADNET_CLICKHOUSE_CA",
		},
		"the system's authorities": {clickhouse.Config{URL: at(here, "secure=true")}, "ADNET_CLICKHOUSE_CA"},
		"another name": {
			clickhouse.Config{URL: at(s.Elsewhere("clickhouse-tls"), "secure=true"), CA: s.CA.CA()},
			"ADNET_CLICKHOUSE_URL",
		},
		"several hosts, the first away": {
			clickhouse.Config{URL: at("localhost:1,"+here, "secure=true"), CA: s.CA.CA()}, "",
		},
		"a server without TLS": {
			clickhouse.Config{URL: at(s.At("clickhouse"), "secure=true"), CA: s.CA.CA(), DialTimeout: 2 * time.Second},
			"TLS",
		},
		"plain text to a TLS port": {
			clickhouse.Config{URL: at(here, ""), DialTimeout: 2 * time.Second}, "secure=true",
		},
		"wrong password": {
			clickhouse.Config{URL: "clickhouse://adnet:wrong@" + s.At("clickhouse") + "/adnet"}, "refuses the login",
		},
		"wrong password, encrypted": {
			clickhouse.Config{URL: at("adnet:wrong@"+here, "secure=true"), CA: s.CA.CA()}, "refuses the login",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := clickhouse.Migrate(t.Context(), c.cfg)
			expect(t, err, c.says)
		})
	}
	t.Run("expired certificate", func(t *testing.T) {
		s.Show(t, "expired")
		defer s.Show(t, "server.kept")
		_, err := clickhouse.Migrate(t.Context(), clickhouse.Config{URL: at(here, "secure=true"), CA: s.CA.CA()})
		expect(t, err, "renew it")
	})
}

// No setting of a link makes plain text, or a server that proves nothing, leave the machine.
func TestPlainTextStaysHere(t *testing.T) {
	const away = "192.0.2.1" // no such machine: nothing may be sent there
	for name, open := range map[string]func(link.Insecure) error{
		"ADNET_REDIS_ADDR": func(i link.Insecure) error {
			return pingRedis(t, redis.Config{Addr: away + ":6379", Insecure: i})
		},
		"ADNET_POSTGRES_URL": func(i link.Insecure) error {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			var failed error
			for _, mode := range []string{
				"", "?sslmode=disable", "?sslmode=allow", "?sslmode=prefer", "?sslmode=require",
			} {
				_, err := postgres.Open(
					ctx,
					postgres.Config{
						URL: "postgres://u:p@localhost:1," + away + ":5432/db" + mode, MaxConns: 1, Insecure: i,
					},
				)
				if !link.Permanent(err) {
					failed = fmt.Errorf("%q: %w", mode, err)
				} else if failed == nil {
					failed = err
				}
			}
			return failed
		},
		"ADNET_POSTGRES_OWNER_URL": func(i link.Insecure) error {
			_, err := postgres.OwnerConfig{OwnerURL: "postgres://u:p@" + away + "/db"}.Or(postgres.Config{
				URL: "postgres://u:p@localhost/db", Insecure: i,
			})
			return err
		},
		"ADNET_KAFKA_BROKERS": func(i link.Insecure) error {
			_, err := kafka.NewProducer(
				kafka.Config{Brokers: []string{"localhost:1", away + ":9092"}, Link: kafka.Link{Insecure: i}},
				kafka.Deps{},
			)
			return err
		},
		"ADNET_CLICKHOUSE_URL": func(i link.Insecure) error {
			_, err := clickhouse.Open(
				t.Context(),
				clickhouse.Config{
					URL: "clickhouse://localhost:1," + away + ":9000/db", Insecure: i,
					DialTimeout: 200 * time.Millisecond,
				},
			)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := open(false)
			require.True(t, link.Permanent(err), "%v", err)
			require.ErrorContains(t, err, "--insecure")
			require.ErrorContains(t, err, name)
			require.False(t, link.Permanent(open(true)), "said explicitly")
		})
	}
}
