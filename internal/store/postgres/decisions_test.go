package postgres

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/compliance/decision"
	"adnet/internal/store/storetest"
)

// Decisions are listed in the order in which they were taken, also of one instant, and where the
// clock went back: to take back an older one must never take back the newer.
func TestDecisionsAreInTheOrderOfTheirTaking(t *testing.T) {
	s := openStore(t)
	u := storetest.AddUser(t, storesOf(s))
	var ids []uuid.UUID
	for range 3 {
		id, err := uuid.NewV7()
		require.NoError(t, err)
		ids = append(ids, id)
	}
	now := time.Now().UTC()
	taken := []struct {
		id uuid.UUID
		at time.Time
	}{{ids[1], now}, {ids[0], now}, {ids[2], now.Add(-time.Hour)}}
	for _, d := range taken {
		_, err := s.Pool.Exec(t.Context(),
			`INSERT INTO decision (id, at, owner_id, kind, target_kind, target_id, rule, reason, automated) VALUES ($1, $2, $3, 'suspension', 'user', $4, 'terms', 'why', false)`,
			d.id, d.at, u.ID, u.ID.String())
		require.NoError(t, err)
	}
	list, _, err := s.Audit.Decisions(t.Context(), decision.Query{OwnerID: u.ID, Limit: 5})
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{ids[2], ids[0], ids[1]}, []uuid.UUID{list[0].ID, list[1].ID, list[2].ID})
}
