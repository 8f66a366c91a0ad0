package traffic_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"adnet/internal/traffic"
)

// shownAct is a number of impressions and acts.
type shownAct struct{ views, acts int64 }

// manyActs judges campaign 0 of a network with the rate of 1 % elsewhere; each young publisher is a
// family.
func manyActs(sales bool, elsewhere shownAct, young ...shownAct) (held []byte) {
	rules := traffic.QuarantineRules{Network: true}
	all := []traffic.ActCount{{Sales: sales, Impressions: elsewhere.views, Acts: elsewhere.acts}}
	var counts []traffic.ActCount
	for n, y := range young {
		id := uuid.UUID{7, byte(n)}
		counts = append(counts, traffic.ActCount{
			DeveloperID: id, OwnerID: id, Sales: sales, Impressions: y.views, Acts: y.acts,
		})
		all[0].Impressions += y.views
		all[0].Acts += y.acts
	}
	for n := range byte(5) {
		for _, kind := range []bool{false, true} {
			c := traffic.ActCount{CampaignID: uuid.UUID{1 + n, b(kind)}, Sales: kind, Impressions: 20_000, Acts: 200}
			if kind { // sales are a tenth as frequent
				c.Acts = 20
			}
			all = append(all, c)
		}
	}
	for _, e := range rules.ManyActs(20_000, counts, all) {
		held = append(held, e.Today.DeveloperID[1])
	}
	return held
}

func b(set bool) byte {
	if set {
		return 1
	}
	return 0
}

func TestActsAreComparedWithThoseElsewhere(t *testing.T) {
	usual := shownAct{50_000, 500}
	for _, c := range []struct {
		name      string
		sales     bool
		elsewhere shownAct
		young     []shownAct
		want      []byte
	}{
		{"an honest new publisher", false, usual, []shownAct{{1000, 10}}, nil},
		{"three times the rate is a matter of taste", false, usual, []shownAct{{5000, 150}}, nil},
		{"six times", false, usual, []shownAct{{5000, 300}}, []byte{0}},
		{"few acts are chance", false, usual, []shownAct{{10, 4}}, nil},
		{"a ring of small ones", false, usual, many(20, shownAct{10, 2}), ascending(20)},
		{"not the honest one beside a thief", false, usual, []shownAct{{1000, 10}, {1000, 200}}, []byte{1}},
		{"a hot campaign", false, shownAct{2000, 400}, []shownAct{{2000, 400}}, nil},
		{"a hot campaign whose ads are shown more at new publishers", false, shownAct{500, 100},
			[]shownAct{{1500, 300}, {1500, 300}}, nil},
		{"a cool campaign", false, shownAct{100_000, 50}, []shownAct{{2000, 40}}, []byte{0}},
		{"nothing elsewhere, at the network's rate", false, shownAct{}, []shownAct{{2000, 25}}, nil},
		{"nothing elsewhere, far above", false, shownAct{}, []shownAct{{2000, 250}}, []byte{0}},
		{"sales at the rate of clicks", true, shownAct{50_000, 50}, []shownAct{{5000, 50}}, []byte{0}},
		{"sales", true, shownAct{50_000, 50}, []shownAct{{5000, 6}}, nil},
		{"acts without impressions", false, usual, []shownAct{{0, 20}}, []byte{0}},
	} {
		require.ElementsMatch(t, c.want, manyActs(c.sales, c.elsewhere, c.young...), c.name)
	}
	require.Empty(t, traffic.QuarantineRules{}.ManyActs(20_000, []traffic.ActCount{{Impressions: 1, Acts: 100}}, nil))
}

func many(n int, s shownAct) (list []shownAct) {
	for range n {
		list = append(list, s)
	}
	return list
}

func ascending(n byte) (list []byte) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// In 2,000 networks of honest publishers, young and old, whose rates lie within half and twice the
// campaign's, chance holds none.
func TestHonestYoungPublishersAreNotHeld(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	held := 0
	for range 2000 {
		rate := 0.01 * (0.5 + 1.5*random.Float64())
		draw := func(views int, rate float64) (s shownAct) {
			s.views = int64(views)
			for range views {
				if random.Float64() < rate {
					s.acts++
				}
			}
			return s
		}
		var young []shownAct
		for range 1 + random.IntN(20) {
			young = append(young, draw(1+random.IntN(400), rate*(0.5+1.5*random.Float64())))
		}
		held += len(manyActs(false, draw(1000+random.IntN(3000), rate), young...))
	}
	require.Zero(t, held)
}

// A new installation, in which all publishers are young, compares with other campaigns.
func TestNetworkOfYoungPublishersOnly(t *testing.T) {
	var young, all []traffic.ActCount
	for n := range byte(5) {
		for p := range byte(4) {
			c := traffic.ActCount{
				CampaignID: uuid.UUID{n}, DeveloperID: uuid.UUID{7, p}, OwnerID: uuid.UUID{7, p}, Impressions: 1000, Acts: 10,
			}
			if n == 0 && p == 0 {
				c.Acts = 200
			}
			young = append(young, c)
		}
		sum := traffic.ActCount{CampaignID: uuid.UUID{n}, Impressions: 4000, Acts: 40}
		if n == 0 {
			sum.Acts = 230
		}
		all = append(all, sum)
	}
	found := traffic.QuarantineRules{Network: true}.ManyActs(20_000, young, all)
	require.Len(t, found, 1)
	require.Equal(t, uuid.UUID{7, 0}, found[0].Today.DeveloperID)
	require.Equal(t, uuid.UUID{0}, uuid.UUID(found[0].Campaign))
}

func TestYoung(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	require.True(t, traffic.Young(now.Add(-30*24*time.Hour+time.Second), now))
	require.False(t, traffic.Young(now.Add(-30*24*time.Hour), now))
	require.False(t, traffic.Young(time.Time{}, now))
}
