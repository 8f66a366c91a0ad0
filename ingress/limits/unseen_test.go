package limits

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
	"adnet/internal/traffic"
)

// One browser key, and one network with any keys, can hold only a bounded amount of a campaign at
// any time. A seen ad releases its amount once.
func TestUnseenAdsOfBrowserKeys(t *testing.T) {
	l, one := alone(t, defaults()), traffic.Unseen{Campaign: uuid.New(), Key: 1, Network: 1, Sold: start, Amount: 300}
	hold := func(u traffic.Unseen, at time.Time) bool { u.Sold = at; return l.Hold(u, 1000, at) }
	for range 3 {
		require.True(t, hold(one, start))
	}
	require.False(t, hold(one, start.Add(59*time.Minute)), "the key's")
	other := one
	other.Key = 2
	require.False(t, hold(other, start), "the network's")
	other.Network = 2
	require.True(t, hold(other, start))
	elsewhere := one
	elsewhere.Key, elsewhere.Network = 1, 3
	require.False(t, hold(elsewhere, start), "the key's, from another network")
	another := one
	another.Campaign = uuid.New()
	require.True(t, hold(another, start))

	l.Seen(one, start.Add(59*time.Minute))
	require.True(t, hold(one, start.Add(59*time.Minute)))
	require.False(t, hold(one, start.Add(59*time.Minute)))
	// The first hour's ads have expired. Ads seen then release no more than they held.
	later := start.Add(62 * time.Minute)
	require.True(t, hold(one, later))
	require.True(t, hold(one, later))
	require.False(t, hold(one, later))

	dear := traffic.Unseen{Campaign: uuid.New(), Key: 1, Network: 1, Amount: 5000}
	require.True(t, hold(dear, start), "one ad is never too much")
	require.False(t, hold(dear, start))
	dear.Campaign, dear.Amount = uuid.New(), mostUnseen+1
	require.False(t, hold(dear, start), "nor does it overflow")
	huge := traffic.Unseen{Campaign: uuid.New(), Key: 1, Network: 1, Sold: start, Amount: mostUnseen}
	require.True(t, l.Hold(huge, 1<<40, start))
	require.False(t, l.Hold(huge, 1<<40, start))
}

// A flood with a stolen key uses up the limits of the key and of its network, but not the
// account's.
func TestBrowserKeysHaveLimitsOfTheirOwn(t *testing.T) {
	cfg := defaults()
	cfg.Browser, cfg.BrowserNetwork = 20, 10
	l, id, reply := alone(t, cfg), uuid.New(), http.Header{}
	allow := func(id uuid.UUID, network string) error { return l.AllowBrowser(reply, id, network, start) }
	for range 10 {
		require.NoError(t, allow(id, "192.0.2.0/24"))
	}
	require.True(t, errs.Is(allow(id, "192.0.2.0/24"), errs.RateLimited))
	require.True(t, errs.Is(allow(uuid.New(), "192.0.2.0/24"), errs.RateLimited), "the network's, with another key")
	for range 10 {
		require.NoError(t, allow(id, "198.51.100.0/24"))
	}
	require.True(t, errs.Is(allow(id, "203.0.113.0/24"), errs.RateLimited), "the key's, from another network")
	require.Equal(t, "20", reply.Get("RateLimit-Limit"))
	for range 1000 {
		require.NoError(t, l.Allow(nil, id, start))
	}
}
