package traffic_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/day"
	"adnet/internal/traffic"
)

const compared = day.Day(100)

// publisher returns the day of a publisher; family 0 is none.
func publisher(n, family byte, impressions, clicks int64) traffic.PublisherDay {
	d := traffic.PublisherDay{
		DeveloperID: uuid.UUID{1, family, n}, Day: compared, Impressions: impressions, Clicks: clicks,
	}
	if family != 0 && n != 0 {
		d.OwnerID = uuid.UUID{1, family, 0}
	}
	return d
}

// network returns the days of honest publishers of a click rate of 1 %.
func network(n byte, impressions int64) (days []traffic.PublisherDay) {
	for i := range n {
		days = append(days, publisher(200-i, 0, impressions, impressions/100))
	}
	return days
}

// ring returns the days of the accounts of one family.
func ring(n byte, impressions, clicks int64) (days []traffic.PublisherDay) {
	for i := range n {
		days = append(days, publisher(i, 7, impressions, clicks))
	}
	return days
}

func TestClicksAreComparedWithTheNetwork(t *testing.T) {
	type days = []traffic.PublisherDay
	browser := publisher(1, 0, 900, 300)
	browser.BrowserImpressions, browser.BrowserClicks = 900, 300
	week := func(of days, clicks int64) (list days) {
		for _, d := range of {
			for n := range day.Day(7) {
				d := d
				d.Day, d.Clicks = compared-7+n, clicks
				list = append(list, d)
			}
			list = append(list, d)
		}
		return list
	}
	for _, c := range []struct {
		name string
		days days
		rule traffic.QuarantineRule
		held int
	}{
		{"a ring of 5 accounts", ring(5, 60, 6), traffic.QuarantineCTR, 5},
		{"a ring of 20 accounts", ring(20, 20, 2), traffic.QuarantineCTR, 20},
		{"a ring of 50 accounts of a click each", ring(50, 8, 1), traffic.QuarantineCTR, 50},
		{"a ring of 3 that clicks once a day", week(ring(3, 10, 1), 1), traffic.QuarantineCTR, 3},
		{
			"a ring beside an honest site of its family", append(ring(20, 20, 2), publisher(99, 7, 9000, 90)),
			traffic.QuarantineCTR, 20,
		},
		{"an account alone", days{publisher(1, 0, 100, 20)}, traffic.QuarantineCTR, 1},
		{"a quiet ring of 5 accounts", ring(5, 1500, 0), traffic.QuarantineQuiet, 5},
		{"a quiet ring of 20 accounts", ring(20, 400, 0), traffic.QuarantineQuiet, 20},
		{"a quiet ring of 50 accounts", ring(50, 150, 0), traffic.QuarantineQuiet, 50},
		{"a quiet ring, by its week", week(ring(5, 250, 0), 0), traffic.QuarantineQuiet, 5},
		{"3 clicks of 10 impressions", days{publisher(1, 0, 10, 3)}, "", 0},
		{"three times the rate", days{publisher(1, 0, 10_000, 300)}, "", 0},
		{"a third of the rate", days{publisher(1, 0, 10_000, 34)}, "", 0},
		{"no clicks yet", days{publisher(1, 0, 2000, 0)}, "", 0},
		{"20 honest accounts of a family", ring(20, 100, 1), "", 0},
		{"strangers with the key of a page", days{browser}, "", 0},
	} {
		found := traffic.QuarantineRules{Network: true}.Judge(compared, append(c.days, network(10, 2000)...))
		require.Len(t, found, c.held, c.name)
		for _, e := range found {
			require.Equal(t, c.rule, e.Rule, c.name)
			require.NotEmpty(t, e.Note)
		}
		require.Empty(t, traffic.QuarantineRules{}.Judge(compared, append(c.days, network(10, 2000)...)), "off")
	}
}

// Of a few publishers each has a rate of its own: one of them may be the network.
func TestNetworkOfFewPublishersHasNoRate(t *testing.T) {
	rules := traffic.QuarantineRules{Network: true}
	days := append(network(3, 2000), publisher(1, 0, 100_000, 5000))
	require.Empty(t, rules.Judge(compared, days[1:]), "two others")
	require.Empty(t, rules.Judge(compared, append(network(5, 60), publisher(1, 0, 100_000, 3000))), "hardly seen others")
}

// The rate of an honest publisher lies between half and twice the network's, on any size of it.
func TestHonestPublishersAreNotHeld(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	rules := traffic.QuarantineRules{MinEvents: 1000, CTR: 0.5, Network: true}
	for _, publishers := range []byte{4, 5, 12, 60} {
		for range 60 {
			var days []traffic.PublisherDay
			for i := range publishers {
				d := publisher(i+1, 0, 20+rng.Int64N(20_000), 0)
				if i%3 == 0 {
					d.Impressions = 1 + rng.Int64N(200)
				}
				rate := 0.005 * (1 + 3*rng.Float64())
				for range d.Impressions {
					if rng.Float64() < rate {
						d.Clicks++
					}
				}
				days = append(days, d)
			}
			require.Empty(t, rules.Judge(compared, days), "%d publishers", publishers)
		}
	}
}

func TestReaderless(t *testing.T) {
	type sums = []traffic.PublisherDay
	seen := func(p traffic.PublisherDay, readers int64) traffic.PublisherDay {
		p.Readers = readers
		return p
	}
	page := publisher(1, 0, 5000, 0)
	page.BrowserImpressions = 4001
	for _, c := range []struct {
		name string
		sums sums
		held int
	}{
		{"a publisher of nothing", sums{publisher(1, 0, 1000, 10)}, 1},
		{"not yet", sums{publisher(1, 0, 999, 10)}, 0},
		{"one reader", sums{seen(publisher(1, 0, 1_000_000, 10), 1)}, 0},
		{"impressions of browser keys", sums{page}, 0},
		{"a ring of 50", ring(50, 20, 0), 50},
		{"a ring with one reader", append(ring(50, 20, 0), seen(publisher(99, 7, 20, 0), 1)), 0},
		{"one of them alone", append(sums{publisher(0, 7, 1000, 0)}, seen(publisher(1, 7, 20, 0), 9)), 1},
	} {
		found := traffic.QuarantineRules{Readers: 1000}.Readerless(compared, c.sums)
		require.Len(t, found, c.held, c.name)
		for _, e := range found {
			require.Equal(t, traffic.QuarantineReaders, e.Rule)
		}
		require.Empty(t, traffic.QuarantineRules{}.Readerless(compared, c.sums), "off")
	}
}
