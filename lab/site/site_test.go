package site

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"adnet/internal/testenv"
)

func TestSiteLeavesNothing(t *testing.T) {
	testenv.Kafka(t) // skips, or fails in CI
	servers, err := FromEnv("test")
	require.NoError(t, err)
	s, err := Create(t.Context(), servers, "site")
	t.Cleanup(func() { require.NoError(t, s.Drop()) })
	require.NoError(t, err)
	db, err := pgx.Connect(t.Context(), s.Database)
	require.NoError(t, err)
	require.NoError(t, db.Close(t.Context()))
	require.NoError(t, s.Cache.Set(t.Context(), s.Prefix+":key", "1", 0).Err())
	count, err := s.Keys(t.Context(), func(string) error { return nil })
	require.NoError(t, err)
	require.EqualValues(t, 1, count)

	require.NoError(t, s.Drop())
	_, err = pgx.Connect(t.Context(), s.Database)
	require.ErrorContains(t, err, "does not exist")
}
