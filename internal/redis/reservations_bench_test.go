package redis

import (
	"testing"

	"adnet/internal/ledger"
	"adnet/internal/testenv"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// BenchmarkClaim is one campaign's lease raised and lowered, as a node's exchange asks for it.
func BenchmarkClaim(b *testing.B) {
	run := func(b *testing.B, addr string) {
		client, err := Open(Config{Addr: addr, Prefix: "bench-" + uuid.NewString()}, Deps{})
		require.NoError(b, err)
		defer func() { require.NoError(b, client.Close()) }()
		catalog, store := opened(b, client, 1)
		room := roomFor(uuid.New(), 1<<40)
		require.NoError(b, catalog.PublishRooms(b.Context(), []ledger.Room{room}))
		c, seq := claimOf(room, 0), int64(0)
		for b.Loop() {
			seq++
			c.Held += 10
			_, err := store.Claim(b.Context(), ledger.ClaimCall{Node: "n", Epoch: 1, Seq: seq, Acked: seq - 1, Claims: []ledger.Claim{c}})
			require.NoError(b, err)
		}
	}
	b.Run("embedded", func(b *testing.B) {
		e, err := NewEmbedded(EmbeddedConfig{})
		require.NoError(b, err)
		require.NoError(b, e.Start())
		run(b, e.Addr())
	})
	b.Run("redis", func(b *testing.B) { run(b, testenv.Redis(b)) })
}
