package backends

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adnet/analytics/clickhouse"
	"adnet/internal/errs"
	"adnet/internal/process/link"
	"adnet/internal/store/redis"
)

var quiet = slog.New(slog.DiscardHandler)

// dead returns an address at which no server answers.
func dead(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

func TestStartWithoutClickHouse(t *testing.T) {
	store, err := findClickHouse(t.Context(), quiet, clickhouse.Config{URL: "clickhouse://" + dead(t) + "/adnet"})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	require.True(t, errs.Is(store.Ping(t.Context()), errs.Unavailable))
}

func TestStartWithoutRedis(t *testing.T) {
	client, err := findRedis(t.Context(), quiet, redis.Config{Addr: dead(t)})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	require.True(t, errs.Is(client.Ping(t.Context()), errs.Unavailable))
}

// A server that answers, but not to this process, is an error of the settings: the process must not
// run without it until somebody notices.
func TestOnlyAServerThatIsAwayIsLeftOut(t *testing.T) {
	away := errs.New(errs.Unavailable, "out of reach")
	for name, c := range map[string]struct{ found, want error }{
		"answers":           {nil, nil},
		"away":              {away, errAway},
		"refuses the login": {link.Refuse(away, "check user and password"), link.Refuse(away, "check user and password")},
		"has no database":   {errBroken, errBroken},
	} {
		err := look(t.Context(), quiet, "a server", func(context.Context) error { return c.found })
		if c.want == nil {
			require.NoError(t, err, name)
			continue
		}
		require.EqualError(t, err, c.want.Error(), name)
	}
}

var errBroken = errs.New(errs.InvalidState, "run adnet migrate")

// A server that accepts connections and stays silent must not delay the start either.
func TestLookIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := look(t.Context(), quiet, "a server", func(ctx context.Context) error {
			<-ctx.Done()
			return errs.Wrap(ctx.Err(), errs.Unavailable, "out of reach")
		})
		require.ErrorIs(t, err, errAway)
		require.LessOrEqual(t, 2*time.Since(began), 5*time.Second, "virtual time, of two servers")
	})
}

// Nothing works without PostgreSQL, so its absence ends the process, and a supervisor sees it.
func TestPostgreSQLIsAwaitedForHalfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		failure := errors.New("no answer")
		require.ErrorIs(t, await(t.Context(), quiet, "PostgreSQL", func(context.Context) error { return failure }), failure)
		require.InDelta(t, 30, time.Since(began).Seconds(), 1, "virtual time")
	})
}

// A pool waits for a connection that a hanging component holds; the process must end all the same.
func TestCloseDoesNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		returned := make(chan struct{})
		first := false
		b := &All{closers: []func(){func() { first = true }, func() { <-returned }}}
		b.Close()
		close(returned)
		synctest.Wait()
		require.True(t, first)
	})
}
