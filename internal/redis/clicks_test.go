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

// SECURITY.md: a click every 61 seconds for a day, from one network; and clicks within each
// rate.
func TestClickRates(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		clicks := NewClicks(client)
		begin := time.UnixMilli(1_750_000_000_000)
		n := 0
		allow := func(network string, at time.Time) bool {
			n++
			ok, err := clicks.Allow(t.Context(), network, fmt.Sprint(n), at, clickRates)
			require.NoError(t, err)
			return ok
		}
		require.True(t, allow("203.0.113.0/24", begin))
		require.False(t, allow("203.0.113.0/24", begin.Add(59*time.Second)), "the second of a minute")
		require.True(t, allow("198.51.100.0/24", begin.Add(59*time.Second)), "another network")
		require.True(t, allow("203.0.113.0/24", begin.Add(time.Minute)), "what was refused did not count")
		require.True(t, allow("203.0.113.0/24", begin.Add(2*time.Minute)))
		require.False(t, allow("203.0.113.0/24", begin.Add(5*time.Minute)), "the fourth of ten minutes")

		var passed []time.Duration
		for at := time.Duration(0); at < 24*time.Hour; at += 61 * time.Second {
			if allow("192.0.2.0/24", begin.Add(at)) {
				passed = append(passed, at)
			}
		}
		require.Len(t, passed, 25, "a day")
		for _, r := range clickRates {
			for i := range passed {
				inside := 0
				for _, at := range passed[i:] {
					if at-passed[i] < r.Window {
						inside++
					}
				}
				require.LessOrEqual(t, inside, r.Limit, "%s from %s", r.Window, passed[i])
			}
		}
		ttl, err := client.rdb.PTTL(t.Context(), client.cfg.Prefix+":clicks:{192.0.2.0/24}").Result()
		require.NoError(t, err)
		require.Positive(t, ttl)
		require.LessOrEqual(t, ttl, 24*time.Hour)
	})
}

func TestOneAuctionsClickCountsOnceAndAtOnce(t *testing.T) {
	onEveryRedis(t, func(t *testing.T, client *Client) {
		clicks, at := NewClicks(client), time.UnixMilli(1_750_000_000_000)
		for i := range 3 {
			ok, err := clicks.Allow(t.Context(), "n", "one", at.Add(time.Duration(i)*time.Second), clickRates)
			require.NoError(t, err)
			require.True(t, ok, "a repeat is as good as the first")
		}
		var passed atomic.Int32
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				if ok, err := clicks.Allow(t.Context(), "busy", fmt.Sprint(i), at, clickRates); err == nil && ok {
					passed.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, passed.Load(), "whatever the node")
	})
}
