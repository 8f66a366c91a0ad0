package redis

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var clickRates = []ClickRate{{1, time.Minute}, {3, 10 * time.Minute}, {10, time.Hour}, {25, 24 * time.Hour}}

// clickOf returns a click with the numbers of people that tracking uses.
func clickOf(network, address, reader, auction string, at time.Time) Click {
	return Click{
		Network: network, Address: address, Reader: reader, NetworkPeople: 16, AddressPeople: 4, Auction: auction,
		At: at,
	}
}

// within fails if more clicks passed in any window than so many people may make.
func within(t *testing.T, passed []time.Duration, people int) {
	t.Helper()
	for _, r := range clickRates {
		for i := range passed {
			inside := 0
			for _, at := range passed[i:] {
				if at-passed[i] < r.Window {
					inside++
				}
			}
			require.LessOrEqual(t, inside, people*r.Limit, "%s from %s", r.Window, passed[i])
		}
	}
}

// SECURITY.md: a click every 61 seconds for a day, of one reader; and clicks within each rate.
func TestClickRates(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		clicks := NewClicks(client)
		begin := time.UnixMilli(1_750_000_000_000)
		n := 0
		allow := func(reader string, at time.Time) bool {
			n++
			ok, err := clicks.Allow(
				t.Context(), clickOf("192.0.2.0/24", "a", reader, fmt.Sprint(n), at), clickRates,
			)
			require.NoError(t, err)
			return ok
		}
		require.True(t, allow("one", begin))
		require.False(t, allow("one", begin.Add(59*time.Second)), "the second of a minute")
		require.True(t, allow("two", begin.Add(59*time.Second)), "another reader")
		require.True(t, allow("one", begin.Add(time.Minute)), "what was refused did not count")
		require.True(t, allow("one", begin.Add(2*time.Minute)))
		require.False(t, allow("one", begin.Add(5*time.Minute)), "the fourth of ten minutes")

		var passed []time.Duration
		for at := time.Duration(0); at < 24*time.Hour; at += 61 * time.Second {
			if allow("patient", begin.Add(at)) {
				passed = append(passed, at)
			}
		}
		require.Len(t, passed, 25, "a day")
		within(t, passed, 1)
		for _, key := range []string{"", ":a:a", ":r:patient"} {
			ttl, err := client.rdb.PTTL(t.Context(), client.cfg.Prefix+":clicks:{192.0.2.0/24}"+key).Result()
			require.NoError(t, err)
			require.Positive(t, ttl)
			require.LessOrEqual(t, ttl, 24*time.Hour)
		}
	})
}

// A thief invents a user agent for each click of an address, then uses each address of a network.
// Refused clicks leave no key.
func TestClickRatesOfInventedReaders(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		clicks := NewClicks(client)
		begin := time.UnixMilli(1_750_000_000_000)
		n := 0
		run := func(network string, address func() string) (passed []time.Duration) {
			for at := time.Duration(0); at < 2*time.Hour; at += 2 * time.Second {
				n++
				click := clickOf(network, address(), fmt.Sprint("reader ", n), fmt.Sprint(n), begin.Add(at))
				ok, err := clicks.Allow(t.Context(), click, clickRates)
				require.NoError(t, err)
				if ok {
					passed = append(passed, at)
				}
			}
			return passed
		}
		first := run("198.51.100.0/24", func() string { return "a" })
		within(t, first, 4)
		require.Len(t, first, 80, "two hours of four people")
		many := run("203.0.113.0/24", func() string { return fmt.Sprint(n % 256) })
		within(t, many, 16)
		require.Len(t, many, 320, "two hours of sixteen people")
		keys, err := client.rdb.Keys(t.Context(), client.cfg.Prefix+":clicks:{203.0.113.0/24}*").Result()
		require.NoError(t, err)
		require.LessOrEqual(t, len(keys), 1+2*len(many))
	})
}

// Readers of a carrier's network do not use up the clicks of each other.
func TestReadersOfOneNetworkAllCount(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		clicks, at := NewClicks(client), time.UnixMilli(1_750_000_000_000)
		for i := range 16 {
			click := clickOf("100.64.1.0/24", fmt.Sprint(i/4), fmt.Sprint(i), fmt.Sprint(i), at)
			ok, err := clicks.Allow(t.Context(), click, clickRates)
			require.NoError(t, err)
			require.True(t, ok, i)
		}
	})
}

func TestOneAuctionsClickCountsOnceAndAtOnce(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		clicks, at := NewClicks(client), time.UnixMilli(1_750_000_000_000)
		for i := range 3 {
			ok, err := clicks.Allow(
				t.Context(), clickOf("n", "a", fmt.Sprint(i), "one", at.Add(time.Duration(i)*time.Second)), clickRates,
			)
			require.NoError(t, err)
			require.True(t, ok, "a repeat is as good as the first")
		}
		var passed atomic.Int32
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				if ok, err := clicks.Allow(
					t.Context(), clickOf("busy", "a", "r", fmt.Sprint(i), at), clickRates,
				); err == nil && ok {
					passed.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, passed.Load(), "whatever the node")
	})
}
