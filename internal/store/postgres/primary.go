package postgres

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/time/rate"

	"adnet/internal/store/postgres/pg"
)

// resetEvery is the shortest time between two resets of a pool. A single server that stays
// read-only refuses each write, and connecting anew for each of them would load it further.
const resetEvery = time.Second

// leave makes the pool of config leave a server that became read-only without closing its sockets,
// as a primary does that was demoted (river#1225): writes would fail on its connections until they
// are an hour old. The connection that met the refusal is closed at once, and the others as soon as
// they are returned. New ones find the primary by target_session_attrs. The returned function names
// the pool, which is built from config afterwards.
func leave(config *pgxpool.Config) func(*pgxpool.Pool) {
	var pool atomic.Pointer[pgxpool.Pool]
	resets := rate.Sometimes{Interval: resetEvery}
	config.ConnConfig.OnPgError = func(_ *pgconn.PgConn, err *pgconn.PgError) bool {
		if err.Code != pg.ReadOnly {
			return !strings.EqualFold(err.Severity, "FATAL") // the driver's own rule
		}
		if p := pool.Load(); p != nil {
			resets.Do(p.Reset)
		}
		return false
	}
	return pool.Store
}
