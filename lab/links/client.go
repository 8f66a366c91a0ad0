package links

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// Command sends one command to a Redis in plain text and returns an error reply as an error.
func Command(ctx context.Context, addr string, words ...string) error {
	client := redis.NewClient(&redis.Options{Addr: addr})
	args := make([]any, len(words))
	for i, word := range words {
		args[i] = word
	}
	return errors.Join(client.Do(ctx, args...).Err(), client.Close())
}

// Postgres runs statements on its own connection, each in its own transaction.
func Postgres(ctx context.Context, url string, statements ...string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// PostgresTLS returns the folder of PostgreSQL's certificate.
func (s *Servers) PostgresTLS() (string, error) {
	for _, pattern := range []string{filepath.Join(s.stack(), "postgres", "tls"), "/var/tmp/adnet-postgres-*/tls"} {
		found, err := filepath.Glob(pattern)
		if err == nil && len(found) == 1 {
			return found[0], nil
		}
	}
	return "", os.ErrNotExist
}

// Show makes the front before ClickHouse use another certificate.
func (s *Servers) Show(t testing.TB, name string) {
	t.Helper()
	for _, ending := range []string{".pem", ".key"} {
		text, err := os.ReadFile(s.CA.File(name + ending))
		if err == nil {
			err = os.WriteFile(s.CA.File("server"+ending), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
