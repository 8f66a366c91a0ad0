package postgres

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
	"adnet/internal/store/postgres/pg"
	"adnet/internal/testenv"
)

// A primary that was demoted refuses writes on connections that stay open. The first refusal is an
// outage to its caller, and no connection of before is used again, those that only read either.
func TestReadOnlyConnectionsLeaveThePool(t *testing.T) {
	address := testenv.Postgres(t)
	require.NoError(t, Migrate(t.Context(), address, func(string) {}))
	s, err := Open(t.Context(), Config{URL: address, MaxConns: 3})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	before := map[uint32]bool{}
	conns := make([]*pgxpool.Conn, 3)
	for i := range conns {
		conns[i], err = s.Pool.Acquire(t.Context())
		require.NoError(t, err)
		before[conns[i].Conn().PgConn().PID()] = true
		_, err = conns[i].Exec(t.Context(), "SET default_transaction_read_only = on")
		require.NoError(t, err)
	}
	for _, c := range conns {
		c.Release()
	}

	write := func() error {
		return (&pg.Core{Pool: s.Pool}).Transact(t.Context(), "write", func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), "INSERT INTO schema_migration VALUES ($1, '')", uuid.NewString())
			return err
		})
	}
	err = write()
	require.True(t, errs.Is(err, errs.Unavailable), "%v", err)
	require.NoError(t, write(), "a new connection finds the primary")
	for i := range conns {
		conns[i], err = s.Pool.Acquire(t.Context())
		require.NoError(t, err)
		defer conns[i].Release()
		require.NotContains(t, before, conns[i].Conn().PgConn().PID())
	}
}
