package train_test

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/lexicon"
	"adnet/auction/ranker"
	"adnet/auction/train"
	"adnet/auction/words"
	"adnet/internal/money"
)

func id(kind byte, n int) (id index.ID) {
	id[0] = kind
	binary.BigEndian.PutUint32(id[12:], uint32(n))
	return id
}

// topics are the subjects of requests, with the words of advertisers.
var topics = []struct{ headline, subtext, query string }{
	{"Managed postgres", "backups replicas monitoring", "database slow query index postgres"},
	{"Flights compared", "airlines seats fares", "travel rome holiday ticket airlines"},
	{"Fresh coffee beans", "roasted espresso filter", "morning drink grind espresso mug"},
	{"Bicycle repair", "brakes chains tyres", "squeak puncture wheel brakes pedal"},
	{"Spanish lessons", "tutor conversation practice", "language speak verbs tutor accent"},
	{"Vegetable gardens", "soil seedlings beds", "tomato plant compost soil spring"},
	{"Invoices in minutes", "payments bookkeeping vat", "freelance tax receipt payments client"},
	{"Headphones for travel", "noise cancelling battery", "music sound quiet battery bass"},
}

// copies is the number of campaigns per topic.
const copies = 3

// lab is a small network with readers who click on ads of the topic of their request.
type lab struct {
	network  train.Network
	rng      *rand.Rand
	scratch  auction.Scratch
	reader   words.Reader
	requests uint64
}

func newLab() *lab {
	var campaigns []index.Campaign
	for i := range len(topics) * copies {
		topic := topics[i%len(topics)]
		c := index.Campaign{
			ID: id('c', i), Advertiser: id('a', i), Bid: 5 * money.USD, Vote: index.FullVote, Headline: topic.headline,
			Subtext: topic.subtext,
		}
		if i/len(topics) == 1 { // one of each says the half of what people ask
			c.Targeting = &index.Targeting{IntentTokens: strings.Fields(topic.query)[:3]}
		}
		campaigns = append(campaigns, c)
	}
	return &lab{
		network: train.Network{Index: index.Build(ranker.Version2(), campaigns)}, rng: rand.New(rand.NewPCG(1, 2)),
	}
}

// visit returns an impression of the ad that the network shows for a request about a topic.
func (l *lab) visit(day int32, publisher int, right, wrong float64) (s train.Sample, ok bool) {
	for range 100 {
		if s, ok = l.try(day, publisher, right, wrong); ok {
			return s, ok
		}
	}
	return s, false
}

func (l *lab) try(day int32, publisher int, right, wrong float64) (s train.Sample, ok bool) {
	topic := l.rng.IntN(len(topics))
	fields := strings.Fields(topics[topic].query)
	l.rng.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	l.reader.Reset()
	l.reader.ReadContext(fields[0] + " " + fields[1] + " " + fields[2])
	l.requests++
	r := auction.Request{Words: l.reader.Terms()}
	binary.BigEndian.PutUint64(r.ID[:], l.requests*0x9e3779b97f4a7c15)
	won := auction.Decide(&r, l.network.Index, nil, &l.scratch)
	if won.Winner == nil {
		return s, false
	}
	p := wrong
	if int(binary.BigEndian.Uint32(won.Winner.ID[12:]))%len(topics) == topic {
		p = right
	}
	return train.Sample{
		Campaign: won.Winner.ID, Publisher: id('p', publisher), Day: day, Terms: l.scratch.Recorded(nil),
		Clicked: l.rng.Float64() < p, Network: l.rng.Uint32N(60_000) + 1, PClick: won.Prediction.PClick,
	}, true
}

const publishers = 30

// log returns some days of honest visits.
func (l *lab) log(from, to int32, visits int) (log []train.Sample) {
	for day := from; day <= to; day++ {
		for range visits {
			if s, ok := l.visit(day, l.rng.IntN(publishers), 0.12, 0.012); ok {
				log = append(log, s)
			}
		}
	}
	return log
}

// judge trains on the days before the last and judges by it.
func (l *lab) judge(log []train.Sample) train.Trained {
	var before, last, day []train.Sample
	for _, s := range train.Counted(log) {
		switch s.Day {
		case 3:
			day = append(day, s)
		case 2:
			last = append(last, s)
		default:
			before = append(before, s)
		}
	}
	return train.Train(train.Task{Log: before, Last: last, Day: day, Network: l.network, Incumbent: ranker.Version2()})
}

func TestHonestClicksArePromoted(t *testing.T) {
	l := newLab()
	got := l.judge(l.log(0, 3, 12_000))
	require.Empty(t, got.Report.Why)
	require.Less(t, got.Report.LogLoss, got.Report.Incumbent)
	require.NotEmpty(t, got.Learnt.Campaigns)
	again := newLab()
	require.Equal(t, got.Learnt, again.judge(again.log(0, 3, 12_000)).Learnt, "the same log, the same weights")
}

// Publishers whose readers click three times as often as those of others are honest.
func TestPublishersOfDifferentRatesArePromoted(t *testing.T) {
	l := newLab()
	var log []train.Sample
	for day := range int32(4) {
		for range 12_000 {
			p := l.rng.IntN(publishers)
			factor := []float64{0.5, 1, 1.5}[p%3]
			if s, ok := l.visit(day, p, 0.1*factor, 0.01*factor); ok {
				log = append(log, s)
			}
		}
	}
	for _, why := range l.judge(log).Report.Why {
		require.NotContains(t, why, "publishers")
	}
}

// A candidate that is worse by any measure is rejected with the reason.
func TestNothingIsPromotedOnFewClicks(t *testing.T) {
	l := newLab()
	log := l.log(0, 3, 12_000)
	few := 0
	log = slices.DeleteFunc(log, func(s train.Sample) bool {
		if s.Day == 3 && s.Clicked {
			few++
		}
		return s.Day == 3 && s.Clicked && few > 999
	})
	got := l.judge(log)
	require.NotEmpty(t, got.Report.Why)
	require.Contains(t, got.Report.Why[0], "at least 1000")
}

// forecasts returns a day of readers who click as often as predicted.
func forecasts() (day []train.Forecast) {
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range 30_000 {
		p := 0.02 + 0.02*float64(rng.IntN(10))
		s := &train.Sample{
			Campaign: id('c', i%15), Publisher: id('p', i%publishers), Clicked: rng.Float64() < p,
			Network: uint32(i + 1),
		}
		day = append(day, train.Forecast{Sample: s, Candidate: p, Incumbent: p})
	}
	return day
}

// Each rule of the gate rejects a worse candidate on its own, and none that is as good.
func TestEachRuleOfTheGate(t *testing.T) {
	const mean = 0.11
	usual := train.Exam{Right: 50, Of: 60, Taken: 3, Attacks: 20}
	for name, c := range map[string]struct {
		foretell func(p float64) (candidate, incumbent float64)
		exam     train.Exam
		why      string // "" promotes
	}{
		"as good": {nil, usual, ""},
		"better":  {func(p float64) (float64, float64) { return p, mean }, usual, ""},
		"worse loss": {
			func(p float64) (float64, float64) { return mean + 0.85*(p-mean), p }, usual, "log loss",
		},
		"too many in all": {
			func(p float64) (float64, float64) { return 1.2 * p, 1.3 * p }, usual, "predicted ÷ observed clicks are 1.2",
		},
		"too few in all": {
			func(p float64) (float64, float64) { return 0.8 * p, 0.7 * p }, usual, "predicted ÷ observed clicks are 0.",
		},
		"too bold in a tenth": {
			func(p float64) (float64, float64) { return mean + 1.22*(p-mean), mean }, usual, "in tenth 1 ",
		},
		"demo":    {nil, train.Exam{Right: 49, Of: 60, Taken: 3, Attacks: 20}, "49 of 60 demo requests"},
		"attacks": {nil, train.Exam{Right: 50, Of: 60, Taken: 4, Attacks: 20}, "attacks win 4 of 20"},
	} {
		t.Run(name, func(t *testing.T) {
			day := forecasts()
			if c.foretell != nil {
				for i := range day {
					day[i].Candidate, day[i].Incumbent = c.foretell(day[i].Candidate)
				}
			}
			why := train.Judge(day, c.exam, usual).Why
			if c.why == "" {
				require.Empty(t, why)
				return
			}
			require.Contains(t, strings.Join(why, "\n"), c.why)
		})
	}
}

// The three poisoned logs. Each is an honest network with an attack of its size, on every day.
func TestPoisonedLogsAreNotPromoted(t *testing.T) {
	for name, poison := range map[string]func(l *lab, day int32) []train.Sample{
		"the click farm of one publisher": func(l *lab, day int32) (list []train.Sample) {
			for range 3_000 {
				if s, ok := l.visit(day, 99, 0.8, 0.8); ok {
					list = append(list, s)
				}
			}
			return list
		},
		"a ring of 50 accounts that click each other's ads": func(l *lab, day int32) (list []train.Sample) {
			for i := range 5_000 {
				if s, ok := l.visit(day, 100+i%50, 0.4, 0.4); ok {
					list = append(list, s)
				}
			}
			return list
		},
		"a publisher that never clicks": func(l *lab, day int32) (list []train.Sample) {
			for range 2_000 {
				if s, ok := l.visit(day, 99, 0, 0); ok {
					list = append(list, s)
				}
			}
			return list
		},
		"20 accounts that never click, none of which is conspicuous": func(l *lab, day int32) (list []train.Sample) {
			for i := range 5_000 {
				if s, ok := l.visit(day, 100+i%20, 0, 0); ok {
					list = append(list, s)
				}
			}
			return list
		},
		"clicks on a rival's ad where it does not belong": func(l *lab, day int32) (list []train.Sample) {
			for i := range 40_000 {
				s, ok := l.visit(day, i%publishers, 0, 0)
				if !ok || len(list) == 600 {
					continue
				}
				s.Campaign, s.Clicked = id('c', 0), l.rng.Float64() < 0.5
				list = append(list, s)
			}
			return list
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab()
			log := l.log(0, 3, 12_000)
			for day := range int32(4) {
				log = append(log, poison(l, day)...)
			}
			got := l.judge(log)
			require.False(t, got.Report.Promotes())
			t.Log(got.Report.Why)
		})
	}
}

// No publisher weighs more than its share, and no weight is raised.
func TestPublishersWeighLittle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 60).Draw(t, "publishers")
		var log []train.Sample
		for p := range n {
			for range rapid.IntRange(1, 60).Draw(t, "impressions") {
				log = append(log, train.Sample{Publisher: id('p', p)})
			}
		}
		weights := train.Weigh(log)
		sums, all := map[index.ID]float64{}, 0.0
		for _, s := range log {
			w := weights[s.Publisher]
			require.True(t, w > 0 && w <= 1)
			sums[s.Publisher] += w
			all += w
		}
		most := 0.05
		if n < 20 {
			most = 0.25
		}
		for _, sum := range sums {
			require.LessOrEqual(t, sum, most*all*(1+1e-9))
		}
	})
}

func TestOneClickOfANetwork(t *testing.T) {
	s := train.Sample{Campaign: id('c', 1), Day: 1, Clicked: true, Network: 7}
	other, tomorrow, elsewhere, unknown := s, s, s, s
	other.Campaign, tomorrow.Day, elsewhere.Network, unknown.Network = id('c', 2), 2, 8, 0
	seen := s
	seen.Clicked = false
	require.Len(t, train.Counted([]train.Sample{s, s, s, other, tomorrow, elsewhere, unknown, unknown, seen, seen}), 8)
}

func TestOrderDoesNotMatter(t *testing.T) {
	l := newLab()
	log := l.log(0, 1, 3_000)
	shuffled := slices.Clone(log)
	rand.New(rand.NewPCG(9, 9)).Shuffle(
		len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] },
	)
	first := train.Learn(train.Counted(log), l.network, train.Settings{}).Learnt(1, log)
	require.Equal(t, first, train.Learn(train.Counted(shuffled), l.network, train.Settings{}).Learnt(1, shuffled))
	data, err := train.Encode(first)
	require.NoError(t, err)
	back, err := train.Decode(data)
	require.NoError(t, err)
	require.Equal(t, first, back)
	_, err = train.Decode(data[:len(data)/2])
	require.Error(t, err)
	for i := range first.Clicks[1:] {
		require.LessOrEqual(t, first.Clicks[i], first.Clicks[i+1])
	}
}

// teaches returns the lessons about each ad from impressions of one ad for a request that several
// ads answer by their text.
func teaches(views, clicked int) (about func(campaign int) int32) {
	var list []index.Campaign
	for i, headline := range []string{
		"Managed postgres", "Postgres backups", "Postgres replicas", "Fresh coffee beans",
	} {
		list = append(list, index.Campaign{ID: id('c', i), Advertiser: id('a', i), Vote: index.FullVote, Headline: headline})
	}
	n := train.Network{Index: index.Build(ranker.Version2(), list)}
	term := lexicon.TermID("postgr")
	var log []train.Sample
	for i := range views {
		log = append(
			log,
			train.Sample{
				Campaign: id('c', 0), Publisher: id('p', i%publishers), Terms: []uint32{term}, Clicked: i < clicked,
			},
		)
	}
	for i := range 20_000 { // what is usual
		log = append(
			log,
			train.Sample{
				Campaign: id('c', 3), Publisher: id('p', i%publishers), Terms: []uint32{lexicon.TermID("coffe")},
				Clicked: i%50 == 0,
			},
		)
	}
	learnt := train.Learn(log, n, train.Settings{}).Learnt(1, log)
	return func(campaign int) (by int32) {
		for _, l := range learnt.Campaigns[id('c', campaign)] {
			if l.Term == term {
				by = l.By
			}
		}
		return by
	}
}

// Impressions without clicks are evidence against an ad, and clicks are evidence for it, if there
// are more of them than on ads that do not answer.
func TestWhatNobodyClicksLosesItsWords(t *testing.T) {
	ignored := teaches(600, 1)
	require.Less(t, ignored(0), int32(-1000), "600 impressions and one click")
	require.Zero(t, ignored(1), "nobody knows whether another is better")
	require.Less(t, ignored(0), teaches(60, 0)(0), "fewer say less")
	require.Greater(t, teaches(3, 0)(0), ignored(0)/3, "three impressions say little")
	liked := teaches(600, 14)
	require.Greater(t, liked(0), int32(1000))
	require.Less(t, liked(1), int32(-100), "the others are not what was asked for")
}

// Ended campaigns neither teach nor disturb anything.
func TestCampaignsThatEnded(t *testing.T) {
	l := newLab()
	log := l.log(0, 3, 12_000)
	want := l.judge(log).Report
	for _, s := range log[:20_000] {
		s.Campaign, s.Clicked = id('e', 1), true
		log = append(log, s)
	}
	require.Equal(t, want, l.judge(log).Report)
}

// Ads with enough impressions or clicks no longer explore, and neither do their copies, nor
// advertisers whose new campaigns together had enough.
func TestExploredAdsAndAdvertisers(t *testing.T) {
	visible := func(campaign, advertiser, n int) (log []train.Sample) {
		for i := range n {
			log = append(
				log,
				train.Sample{Campaign: id('c', campaign), Advertiser: id('a', advertiser), Publisher: id('p', i%40)},
			)
		}
		return log
	}
	ad := func(n int, headline string) index.Campaign {
		return index.Campaign{ID: id('c', n), Headline: headline}
	}
	known, copied, young, fresh := ad(1, "known"), ad(2, "Known "), ad(3, "young"), ad(4, "fresh")
	n := train.Network{Index: index.Build(ranker.Version2(), []index.Campaign{known, copied, young, fresh})}
	log := slices.Concat(visible(1, 1, 3000), visible(3, 3, 1500), visible(99, 4, 3000), visible(4, 4, 10))
	got := train.Learn(log, n, train.Settings{}).Learnt(1, nil)
	require.True(t, got.Explored[known.Content()])
	require.Equal(t, known.Content(), copied.Content())
	require.False(t, got.Explored[young.Content()])
	require.Equal(t, map[[16]byte]bool{id('a', 4): true}, got.Advertisers, "a campaign that was deleted counts")

	clicked := visible(3, 3, 30)
	for i := range clicked {
		clicked[i].Clicked = true
	}
	got = train.Learn(clicked, n, train.Settings{}).Learnt(1, nil)
	require.True(t, got.Explored[young.Content()], "30 clicks are enough")
	data, err := train.Encode(got)
	require.NoError(t, err)
	back, err := train.Decode(data)
	require.NoError(t, err)
	require.Equal(t, got.Explored, back.Explored)
}
