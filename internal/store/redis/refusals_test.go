package redis

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestRefusalsAreReadFromWhereOneStopped(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		r, key := NewRefusals(client), uuid.New()
		keep := func(hour int64, mark string) {
			stored, err := r.Keep(t.Context(), hour, key, []byte(mark))
			require.NoError(t, err)
			require.True(t, stored)
		}
		since := func(from ...int64) ([][]string, []bool) {
			marks, lost, err := r.Since(t.Context(), []int64{7, 8}, from)
			require.NoError(t, err)
			return marks, lost
		}
		marks, lost := since(0, 0)
		require.Equal(t, [][]string{{}, {}}, marks)
		require.Equal(t, []bool{false, false}, lost)
		keep(7, "a\x00\xff")
		keep(7, "b")
		keep(8, "c")
		marks, _ = since(1, 0)
		require.Equal(t, [][]string{{"b"}, {"c"}}, marks)
		marks, lost = since(2, 2)
		require.Equal(t, [][]string{{}, nil}, marks)
		require.Equal(t, []bool{false, true}, lost, "it had two, and has one")
		for _, name := range []string{client.keys.refusals(7), client.keys.refusalCounts(7)} {
			ttl, err := client.rdb.TTL(t.Context(), name).Result()
			require.NoError(t, err)
			require.Positive(t, ttl)
			require.LessOrEqual(t, ttl, refusalLife)
		}
	})
}

// No API key fills an hour, and when many together have, those with few go on.
func TestRefusalsAreBounded(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		r := NewRefusals(client)
		require.Equal(t, refusalBounds{key: 10_000, crowded: 100_000, share: 100, most: 150_000}, r.bounds)
		r.bounds = refusalBounds{key: 10, crowded: 15, share: 3, most: 20}
		n := 0
		keep := func(key uuid.UUID, times int) (stored int) {
			for range times {
				n++
				ok, err := r.Keep(t.Context(), 1, key, fmt.Append(nil, n))
				require.NoError(t, err)
				if ok {
					stored++
				}
			}
			return stored
		}
		loud, other, third := uuid.New(), uuid.New(), uuid.New()
		require.Equal(t, 10, keep(loud, 12), "of one key")
		require.Equal(t, 5, keep(other, 6), "then the hour is crowded")
		require.Equal(t, 3, keep(third, 5), "and a key gets its share")
		require.Equal(t, 2, keep(uuid.New(), 3), "until it is full")
		marks, _, err := r.Since(t.Context(), []int64{1}, []int64{0})
		require.NoError(t, err)
		require.Len(t, marks[0], 20)
		ok, err := r.Keep(t.Context(), 2, loud, []byte("x"))
		require.NoError(t, err)
		require.True(t, ok, "the next hour")
	})
}
