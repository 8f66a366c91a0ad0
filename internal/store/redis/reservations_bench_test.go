package redis

import (
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/ledger/reserve"
	"adnet/internal/testenv"
)

// BenchmarkClaim is the leases of one campaign, and of as many as one script takes, raised as a
// node's exchange asks for it.
func BenchmarkClaim(b *testing.B) {
	run := func(b *testing.B, addr string, campaigns int) {
		client, err := Open(Config{Addr: addr, Prefix: "bench-" + uuid.NewString()}, Deps{})
		require.NoError(b, err)
		defer func() { require.NoError(b, client.Close()) }()
		catalog, store := opened(b, client, 1)
		var requests []reserve.LeaseRequest
		for range campaigns {
			room := roomFor(uuid.New(), 1<<40)
			require.NoError(b, catalog.PublishRooms(b.Context(), 1, []reserve.Room{room}))
			requests = append(requests, requestOf(room, 0))
		}
		seq := int64(0)
		for b.Loop() {
			seq++
			for i := range requests {
				requests[i].Amount += 10
			}
			_, err := store.Exchange(
				b.Context(), reserve.Call{Node: "n", Epoch: 1, Seq: seq, Acked: seq - 1, Requests: requests},
			)
			require.NoError(b, err)
		}
	}
	for _, campaigns := range []int{1, leaseChunk} {
		n := strconv.Itoa(campaigns)
		b.Run("embedded/"+n, func(b *testing.B) {
			e, err := NewEmbedded(EmbeddedConfig{})
			require.NoError(b, err)
			require.NoError(b, e.Start())
			run(b, e.Addr(), campaigns)
		})
		b.Run("redis/"+n, func(b *testing.B) { run(b, testenv.Redis(b), campaigns) })
	}
}
