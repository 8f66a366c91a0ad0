package redis

import (
	"fmt"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func exchanges(t *testing.T, client *Client, nodes ...string) (all []*Exchange) {
	t.Helper()
	for _, node := range nodes {
		all = append(all, NewExchange(client, "test", node))
	}
	return all
}

// says exchanges mine and gives what was heard, "node:data".
func says(t *testing.T, x *Exchange, mine string) (heard []string) {
	t.Helper()
	require.NoError(
		t,
		x.Exchange(
			t.Context(), []byte(mine), func(node string, data []byte) { heard = append(heard, node+":"+string(data)) },
		),
	)
	return heard
}

func TestExchange(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		nodes := exchanges(t, client, "a", "b", "c")
		a, b, c := nodes[0], nodes[1], nodes[2]
		require.Empty(t, says(t, a, ""))
		require.Empty(t, says(t, a, "1"), "nobody hears itself")
		require.Equal(t, []string{"a:1"}, says(t, b, "\x00\xff"))
		require.Equal(t, []string{"a:1", "b:\x00\xff"}, says(t, c, ""), "a node that starts hears what was said")
		require.Equal(t, []string{"b:\x00\xff"}, says(t, a, "2"))
		require.Equal(t, []string{"a:2"}, says(t, b, ""))
		require.Empty(t, says(t, b, ""), "each once")

		// Another Redis begins with other ids: a node that is ahead of them says so once and reads
		// from the beginning.
		b.cursor = "99999999999999-0"
		require.ErrorIs(t, b.Exchange(t.Context(), []byte("lost"), func(string, []byte) {}), errAnotherRedis)
		says(t, a, "3")
		require.Contains(t, says(t, b, ""), "a:3")
	})
}

func TestExchangeIsForgotten(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		a := exchanges(t, client, "a")[0]
		require.Empty(t, says(t, a, "1"))
		ttl, err := client.rdb.PTTL(t.Context(), a.stream).Result()
		require.NoError(t, err)
		require.Positive(t, ttl)
		require.LessOrEqual(t, ttl, 2*exchangeMemory)
		require.Equal(t, fmt.Sprint(200_000-exchangeMemory.Milliseconds()), (&Exchange{cursor: "200000-3"}).oldest())
		require.Empty(t, (&Exchange{cursor: "0"}).oldest())
	})
}

// A foreign writer to Redis changes no count of the limits: a message that no node sealed, one of
// another exchange or node, and a genuine one that is sent again are not heard.
func TestForgedCountsAreNotHeard(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		seal, refused := newSeal(t), 0
		join := func(name, node string) *Exchange {
			return NewExchange(client, name, node).Sealed(seal, func(string, error) { refused++ })
		}
		a, b := join("test", "a"), join("test", "b")
		hear := func() (heard []string) {
			require.NoError(t, b.Exchange(t.Context(), nil, func(node string, data []byte) {
				heard = append(heard, node+" "+string(data))
			}))
			return heard
		}
		send := func(values ...any) {
			require.NoError(t, client.rdb.XAdd(t.Context(), &goredis.XAddArgs{Stream: a.stream, Values: values}).Err())
		}
		genuine := a.values([]byte("one"))
		send(genuine...)
		require.Equal(t, []string{"a one"}, hear())
		send(genuine...)
		other := join("other", "a")
		send(other.values([]byte("two"))...)
		foreign := NewExchange(client, "test", "a").Sealed(newSeal(t), nil)
		send(foreign.values([]byte("two"))...)
		send("n", "a", "d", "two")
		send("n", "c", "d", "-1000", "t", "9", "s", "k.AAAA")
		as := a.values([]byte("two"))
		as[1] = "c"
		send(as...)
		require.Empty(t, hear())
		require.Equal(t, 6, refused)
		send(a.values([]byte("three"))...)
		require.Equal(t, []string{"a three"}, hear())
	})
}
