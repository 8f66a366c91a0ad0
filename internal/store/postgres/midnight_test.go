package postgres

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"adnet/internal/day"
	"adnet/internal/ledger"
	"adnet/internal/store/postgres/books"
	"adnet/internal/testenv"
)

// After midnight the planner takes the new day of the marks for empty, until autovacuum has counted
// it. A batch must look its own auctions up all the same, not compare them with every mark of the
// day.
func TestNewDayIsNotReadWhole(t *testing.T) {
	owner := testenv.Postgres(t)
	require.NoError(t, Migrate(t.Context(), owner, func(string) {}))
	conn, err := pgx.Connect(t.Context(), owner)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	date := int32(day.Of(time.Now()))
	_, err = conn.Exec(t.Context(), `SELECT billed_event_add_day($1)`, date)
	require.NoError(t, err)
	_, err = conn.Exec(
		t.Context(),
		`INSERT INTO billed_event SELECT $1, gen_random_uuid(), 'impression' FROM generate_series(1, 20000)`, date,
	)
	require.NoError(t, err)
	requests := make([]uuid.UUID, 50)
	for i := range requests {
		requests[i] = uuid.Must(uuid.NewV7())
	}
	for name, query := range map[string][]any{
		books.SeenSQL:         {date, requests},
		books.ReadRecordedSQL: {date, requests, string(ledger.Click)},
	} {
		var plan []struct {
			Plan node
		}
		require.NoError(t, conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+name, query...).Scan(&plan))
		require.Less(t, plan[0].Plan.touched(), 1_000.0, name)
	}
}

// node is a step of a plan as EXPLAIN ANALYZE tells it.
type node struct {
	Rows    float64 `json:"Actual Rows"`
	Removed float64 `json:"Rows Removed by Filter"`
	Loops   float64 `json:"Actual Loops"`
	Plans   []node
}

// touched is how many rows the steps below and this one had in hand.
func (n node) touched() float64 {
	sum := (n.Rows + n.Removed) * n.Loops
	for _, below := range n.Plans {
		sum += below.touched()
	}
	return sum
}
