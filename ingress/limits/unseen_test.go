package limits

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/traffic"
)

// held is an ad of a publisher and campaign, sold at a time.
func held(publisher uint32, campaign uuid.UUID, at time.Time) *traffic.Unseen {
	ad := uuid.Must(uuid.NewV7())
	for i := range 6 {
		ad[i] = byte(at.UnixMilli() >> (40 - 8*i))
	}
	return &traffic.Unseen{Ad: ad, Campaign: campaign, Publisher: publisher, Amount: 5000}
}

// One browser key, and one network with any keys, can hold only a bounded amount of a campaign at
// any time. A seen ad releases its amount once.
func TestUnseenAdsOfBrowserKeys(t *testing.T) {
	l, campaign := alone(t, defaults()), uuid.New()
	page := func(publisher, key, network uint32, at time.Time) *traffic.Unseen {
		u := held(publisher, campaign, at)
		u.Page, u.Key, u.Network, u.Amount = true, key, network, 300
		return u
	}
	publisher := uint32(0)
	hold := func(key, network uint32, at time.Time) bool {
		publisher++ // which is bounded as well, see TestUnseenAdsOfOnePublisher
		return l.Hold(page(publisher, key, network, at), 100_000, at)
	}
	first := page(0, 1, 1, start)
	require.True(t, l.Hold(first, 100_000, start))
	for range 2 {
		require.True(t, hold(1, 1, start))
	}
	require.False(t, hold(1, 1, start.Add(59*time.Minute)), "the key's")
	require.False(t, hold(2, 1, start), "the network's")
	require.True(t, hold(2, 2, start))
	require.False(t, hold(1, 3, start), "the key's, from another network")

	for range 3 {
		l.Seen(first, start.Add(59*time.Minute))
	}
	require.True(t, hold(1, 1, start.Add(59*time.Minute)))
	require.False(t, hold(1, 1, start.Add(59*time.Minute)))
	// The first hour's ads have expired. Ads seen then release no more than they held.
	later := start.Add(62 * time.Minute)
	require.True(t, hold(1, 1, later))
	require.True(t, hold(1, 1, later))
	require.False(t, hold(1, 1, later))

	campaign = uuid.New()
	dear := page(1, 1, 1, start)
	dear.Amount = 5000
	require.True(t, l.Hold(dear, 100_000, start), "one ad is never too much")
	require.False(t, hold(1, 9, start))
	dear.Campaign, dear.Amount = uuid.New(), mostUnseen+1
	require.False(t, l.Hold(dear, 1<<50, start), "nor does it overflow")
	dear.Amount = mostUnseen
	require.True(t, l.Hold(dear, 1<<50, start))
	require.False(t, l.Hold(dear, 1<<50, start))
}

// crowd is a campaign of 4 USD a day at 5 USD CPM, of which each ad holds 0.005 USD.
type crowd struct {
	t        *testing.T
	node     *Limits
	campaign uuid.UUID
	now      time.Time
}

const fourUSD = 4 * money.USD

func newCrowd(t *testing.T) *crowd {
	return &crowd{t: t, node: alone(t, defaults()), campaign: uuid.New(), now: start}
}

// ask requests n ads for a publisher and returns those that it was sold.
func (c *crowd) ask(publisher uint32, n int) (sold []*traffic.Unseen) {
	for range n {
		u := held(publisher, c.campaign, c.now)
		if c.node.Hold(u, fourUSD, c.now) {
			sold = append(sold, u)
		}
	}
	return sold
}

func (c *crowd) show(ads []*traffic.Unseen) {
	for _, u := range ads {
		c.node.Seen(u, c.now)
	}
}

// A publisher that shows nothing holds a hundredth of a campaign's day and one ad, on all its
// surfaces; only its first ads are more, and those of all new publishers are bounded together.
func TestUnseenAdsOfOnePublisher(t *testing.T) {
	c := newCrowd(t)
	require.Len(t, c.ask(1, 1000), newAds, "a new publisher")
	c.now = c.now.Add(59 * time.Minute)
	require.Empty(t, c.ask(1, 100))
	for at := range traffic.Surfaces - 1 {
		u := held(1, c.campaign, c.now)
		u.Surface = at
		require.False(t, c.node.Hold(u, fourUSD, c.now), "surface %d", at)
	}
	require.Len(t, c.ask(2, 20), 20, "an honest publisher that has not shown any yet")

	total := 0
	for publisher := range uint32(50) {
		total += len(c.ask(100+publisher, 1000))
	}
	require.LessOrEqual(t, total, 50*9+201, "a quarter of the day for all new publishers, and nine ads each")
	known := newCrowd(t)
	for range newAds { // of other campaigns: it is no longer new
		require.True(t, known.node.Hold(held(7, uuid.New(), known.now), fourUSD, known.now))
	}
	require.Len(t, known.ask(7, 1000), 9, "eight are a hundredth, and one more")
}

// A publisher that showed its last 1,000 ads and then stops holds what it showed, and less with
// each ad: of a day of 800 ads no more than the share that is left.
func TestPublisherThatStopsShowing(t *testing.T) {
	c := newCrowd(t)
	for range 1000 {
		c.show(c.ask(1, 1))
	}
	got := len(c.ask(1, 1000))
	require.InDelta(t, 444, got, 3, "n of 800 is at most 1 - n of 1,000")
	require.Len(t, c.ask(2, 20), 20)
	c.now = c.now.Add(62 * time.Minute)
	require.Len(t, c.ask(1, 1000), newAds, "an hour later it is new")
}

// Repeated beacons of one ad, and those of an ad that was lost, release nothing more.
func TestRepeatedBeaconReleasesOnce(t *testing.T) {
	c := newCrowd(t)
	ads := c.ask(1, 1000)
	for range 1000 {
		c.show(ads[:1])
	}
	require.Empty(t, c.ask(1, 1000))
	for range 3 {
		c.node.Lost(ads[0], c.now)
	}
	require.Empty(t, c.ask(1, 1000))
}

// An honest publisher that shows its ads late delivers the whole day of a campaign.
func TestHonestPublishersDeliver(t *testing.T) {
	for name, p := range map[string]struct {
		perSecond int
		delay     time.Duration
		shows     int // percent
		within    time.Duration
	}{
		"all after minutes, fast":       {50, 3 * time.Minute, 100, 30 * time.Minute},
		"all at once":                   {50, time.Second, 100, time.Minute},
		"a third":                       {5, 5 * time.Second, 30, 2 * time.Hour},
		"an MCP server that shows late": {1, 10 * time.Minute, 100, 2 * time.Hour},
	} {
		c := newCrowd(t)
		var late [][]*traffic.Unseen
		views, delay := 0, int(p.delay/time.Second)
		for views < 800 {
			require.Less(t, c.now.Sub(start), p.within, "%s: %d of 800 shown", name, views)
			late = append(late, c.ask(1, p.perSecond))
			if len(late) > delay {
				for i, u := range late[len(late)-1-delay] {
					if i*37%100 < p.shows || len(late)*37%100 < p.shows && p.perSecond < 10 {
						c.node.Seen(u, c.now)
						views++
					}
				}
			}
			c.now = c.now.Add(time.Second)
		}
	}
}

// A bid that its exchange lost, or whose exp ended, holds nothing.
func TestLostBidsHoldNothing(t *testing.T) {
	c := newCrowd(t)
	bid := func() *traffic.Unseen {
		u := held(1, c.campaign, c.now)
		u.Surface = traffic.Bids
		return u
	}
	for range 1000 {
		u := bid()
		require.True(t, c.node.Hold(u, fourUSD, c.now))
		c.node.Lost(u, c.now)
	}
	n := 0
	for c.node.Hold(bid(), fourUSD, c.now) {
		n++
	}
	require.Equal(t, newAds, n)
	c.now = c.now.Add(5*time.Minute + 10*time.Second)
	require.True(t, c.node.Hold(bid(), fourUSD, c.now), "exp has ended")
}

// An ad that is sold on one node and shown through another, in any order, is released on both.
func TestUnseenAdsOfAllNodes(t *testing.T) {
	c := newCluster(t, defaults(), 2)
	campaign, now := uuid.New(), c.Now()
	var ads []*traffic.Unseen
	for {
		u := held(1, campaign, now)
		if !c.nodes[0].Hold(u, fourUSD, now) {
			break
		}
		ads = append(ads, u)
		now = now.Add(time.Minute / 2)
	}
	require.Len(t, ads, newAds)
	c.pass(now.Sub(c.Now()))
	c.share(t)
	require.False(t, c.nodes[1].Hold(held(1, campaign, now), fourUSD, now), "the other node has the counts")
	for i := len(ads) - 1; i >= 0; i-- {
		c.nodes[1].Seen(ads[i], now)
		c.share(t)
	}
	for _, n := range c.nodes {
		for range 20 {
			require.True(t, n.Hold(held(1, campaign, now), fourUSD, now))
		}
	}
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
