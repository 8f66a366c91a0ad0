package main

import (
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/auction/train"
)

// The simulated network: readers see one ad per request and seldom click, least often on an
// irrelevant ad.
const (
	simulatedDays  = 6
	simulatedShown = 1_000_000 / simulatedDays // impressions of a day
	simulatedSites = 40                        // publishers
	clickRight     = 0.02
	clickWrong     = 0.002
	// variants is the number of auctions per request and day, each for ten readers: ties and
	// exploring campaigns differ between auctions.
	variants = 16
)

// simulated lists the sets whose networks are simulated.
var simulated = []string{"metatool", "clinc"}

// simulatedRows measures how much a network learns by itself, from clicks on the ads it shows and
// through the gate of each night. Every other request is used on all days. The rest are tested
// after the last day, with equal bids and without a floor, as on the first day.
//
// It runs the nightly training itself. Two things are simpler than on an installation: promoted
// weights decide all auctions of the next day, without two days of shadow and of 5 %, and many
// readers send a request in the same words.
//
// It simulates as many networks at once as there are processors.
func simulatedRows(sets map[string]*set) []row {
	world := worldOf(sets[demoName])
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	rows := make([]row, len(simulated), len(simulated)+1)
	for i, name := range simulated {
		all.Go(func() error {
			rows[i] = simulatedRow(sets[name], world)
			return nil
		})
	}
	promoted := make([]int, len(poisons))
	for i, poison := range poisons {
		all.Go(func() error {
			if poisoned(sets[simulated[0]], world, poison) {
				promoted[i] = 1
			}
			return nil
		})
	}
	_ = all.Wait()
	return append(rows, row{
		Name:  "simulated network, poisoned: a click farm, a ring of 50, clicks on a rival: promoted",
		Value: ratio(promoted[0]+promoted[1]+promoted[2], len(poisons)), AtMost: true, Of: len(poisons),
	})
}

// simulatedRow returns the improvement of one network over its days.
func simulatedRow(s *set, world train.World) row {
	seen, tests := halves(s.inScope())
	n := newNetwork(s, seen, world)
	for day := range int32(simulatedDays) {
		n.log = append(n.log, n.day(day)...)
		n.night(day)
	}
	gained := right(build(n.table, s, nil), open(tests, "")) - right(build(ranker.Version2(), s, nil), open(tests, ""))
	return row{
		Name: "simulated network, 1 M impressions: first ad right over day one: " + s.name, Value: gained, Must: 0.05,
		Aim: 0.10, Of: len(tests),
	}
}

// halves returns every other request, and the rest.
func halves(requests []labelled) (even, odd []labelled) {
	for i, r := range requests {
		if i%2 == 0 {
			even = append(even, r)
		} else {
			odd = append(odd, r)
		}
	}
	return even, odd
}

// worldOf returns a demo network in the form used by the exams of the gate.
func worldOf(s *set) (w train.World) {
	named := map[string]index.ID{}
	for i, e := range s.list(nil) {
		e.ID, e.Advertiser = number(1<<32+i), number(1<<32+i)
		named[e.label] = e.ID
		w.Campaigns = append(w.Campaigns, e.Campaign)
	}
	for _, r := range s.inScope() {
		q := train.Question{Context: r.Context, Language: r.place.UserLanguage}
		for _, label := range r.Labels {
			q.Right = append(q.Right, named[label])
		}
		w.Questions = append(w.Questions, q)
	}
	return w
}

// network shows ads by day and learns by night.
type network struct {
	set   *set
	seen  []labelled
	world train.World
	rng   *rand.Rand
	table ranker.Table
	index *index.Index // by the table of the first day
	log   []train.Sample
}

func newNetwork(s *set, seen []labelled, world train.World) *network {
	first := ranker.Version2()
	return &network{
		set: s, seen: seen, world: world, rng: rand.New(rand.NewPCG(4, 4)), table: first,
		index: build(first, s, nil).index,
	}
}

// ad is an ad shown for a request.
type ad struct {
	train.Sample
	right bool
}

// ads returns the ads for each request, in several auctions of a day.
func (n *network) ads(day int32) (list []ad) {
	w := build(n.table, n.set, nil)
	w.auctions = uint64(day) << 32
	for _, r := range n.seen {
		for range variants {
			won := w.decide(question{labelled: r, open: true})
			if won.Winner == nil {
				continue
			}
			list = append(list, ad{
				Sample: train.Sample{
					Campaign: won.Winner.ID, Advertiser: won.Winner.Advertiser, Day: day,
					Terms: w.scratch.Recorded(nil), PClick: won.Prediction.PClick,
				},
				right: slices.Contains(r.Labels, w.label(won)),
			})
		}
	}
	return list
}

// day returns the impressions of a day with their clicks.
func (n *network) day(day int32) (log []train.Sample) {
	ads := n.ads(day)
	for range simulatedShown {
		chosen := &ads[n.rng.IntN(len(ads))]
		rate := clickWrong
		if chosen.right {
			rate = clickRight
		}
		log = append(log, n.seenBy(chosen.Sample, 1000+n.rng.IntN(simulatedSites), rate))
	}
	return log
}

// seenBy returns an impression at a publisher by a reader with the given click rate.
func (n *network) seenBy(s train.Sample, publisher int, rate float64) train.Sample {
	s.Publisher, s.Network, s.Clicked = number(publisher), n.rng.Uint32(), n.rng.Float64() < rate
	return s
}

// night trains on all earlier days and judges on this day. It reports whether the gate promotes the
// result.
func (n *network) night(day int32) bool {
	task := train.Task{Network: train.Network{Index: n.index}, Incumbent: n.table, World: n.world}
	for _, s := range n.log {
		switch s.Day {
		case day:
			task.Day = append(task.Day, s)
		case day - 1:
			task.Last = append(task.Last, s)
		default:
			task.Log = append(task.Log, s)
		}
	}
	if len(task.Last) == 0 {
		return false
	}
	trained := train.Train(task)
	if !trained.Report.Promotes() {
		return false
	}
	trained.Learnt.Version = int64(day)
	n.table = ranker.Version2().With(trained.Learnt)
	return true
}

// poisons add to a day of honest readers. Each has little weight compared with them.
var poisons = []func(n *network, ads []ad, day int32) []train.Sample{
	// One publisher's own machines click on whatever it shows.
	func(n *network, ads []ad, _ int32) (log []train.Sample) {
		for range 4_000 {
			log = append(log, n.seenBy(ads[n.rng.IntN(len(ads))].Sample, 2000, 0.5))
		}
		return log
	},
	// 50 accounts advertise, publish, and click on each other's ads.
	func(n *network, ads []ad, _ int32) (log []train.Sample) {
		for len(log) < 5_000 {
			chosen := ads[n.rng.IntN(len(ads))]
			if chosen.Campaign[15] < 50 {
				log = append(log, n.seenBy(chosen.Sample, 3000+n.rng.IntN(50), 0.4))
			}
		}
		return log
	},
	// A rival's ad is clicked at all publishers, for requests that it does not answer.
	func(n *network, ads []ad, _ int32) (log []train.Sample) {
		for range 2_000 {
			s := ads[n.rng.IntN(len(ads))].Sample
			s.Campaign, s.Advertiser = number(1), number(1)
			log = append(log, n.seenBy(s, 1000+n.rng.IntN(simulatedSites), 0.5))
		}
		return log
	},
}

// poisonedDays is the number of days after which the gate judges.
const poisonedDays = 4

// poisoned reports whether the gate promotes the weights learnt from a poisoned log.
func poisoned(s *set, world train.World, poison func(n *network, ads []ad, day int32) []train.Sample) bool {
	seen, _ := halves(s.inScope())
	n := newNetwork(s, seen, world)
	for day := range int32(poisonedDays) {
		n.log = append(n.log, n.day(day)...)
		n.log = append(n.log, poison(n, n.ads(day), day)...)
	}
	return n.night(poisonedDays - 1)
}
