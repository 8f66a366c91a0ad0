package main

import (
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/auction/train"
)

// folds is the number of parts of the labelled requests. Each part is tested with weights learnt on
// all others, so that nearly all requests are used for training.
const folds = 20

// trainedRows train on clicks on right ads, and test on requests outside the training data.
func trainedRows(sets map[string]*set) (rows []row) {
	for _, want := range []struct {
		set       string
		must, aim float64
	}{{"metatool", 0.70, 0.75}, {"clinc", 0.82, 0.88}, {"xsid", 0.90, 0.95}} {
		s := sets[want.set]
		scope := s.inScope()
		hits := 0
		for _, n := range inFolds(s, scope) {
			hits += n
		}
		rows = append(
			rows,
			row{
				Name: "trained on clicks, first ad right: " + want.set, Value: ratio(hits, len(scope)), Must: want.must,
				Aim: want.aim, Of: len(scope),
			},
		)
	}
	return rows
}

// inFolds returns the number of right answers of each fold. It runs as many folds at once as there
// are processors.
func inFolds(s *set, scope []labelled) (hits [folds]int) {
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for fold := range folds {
		all.Go(func() error {
			hits[fold] = taught(s, scope, fold)
			return nil
		})
	}
	_ = all.Wait()
	return hits
}

// taught returns the number of requests of a fold whose first ad is right after training on the
// others.
func taught(s *set, scope []labelled, fold int) int {
	var seen, tests []labelled
	for i, r := range scope {
		if i%folds == fold {
			tests = append(tests, r)
		} else {
			seen = append(seen, r)
		}
	}
	w := build(ranker.Version2(), s, nil)
	log := clicks(w, seen)
	learnt := train.Learn(log, train.Network{Index: w.index}, train.Settings{}).Learnt(1, log)
	return int(right(build(ranker.Version2().With(learnt), s, nil), open(tests, ""))*float64(len(tests)) + 0.5)
}

// shownWrong is the number of wrong ads shown with the right one for a request: those ranked first
// by text.
const shownWrong = 4

// clicks returns a log with clicks on right ads only.
func clicks(w *pure, requests []labelled) (log []train.Sample) {
	for i, r := range requests {
		q := question{labelled: r, open: true}
		w.decide(q)
		terms := w.scratch.Recorded(nil)
		sample := func(label string, clicked bool) {
			at := slices.Index(w.labels, label)
			log = append(log, train.Sample{
				Campaign: number(at + 1), Publisher: number(1000 + i%40), Terms: terms, Clicked: clicked,
			})
		}
		for _, label := range r.Labels {
			sample(label, true)
		}
		wrong := 0
		for _, c := range w.first(q, shownWrong+len(r.Labels)) {
			if label := w.labels[c]; !slices.Contains(r.Labels, label) && wrong < shownWrong {
				sample(label, false)
				wrong++
			}
		}
	}
	return log
}

// first returns the numbers of the campaigns ranked first for a request.
func (p *pure) first(q question, most int) (list []int) {
	taken := map[auction.ID]bool{}
	for range most {
		p.reader.Reset()
		p.reader.ReadContext(q.Context)
		r := auction.Request{Words: p.reader.Terms(), Language: q.Lang}
		won := auction.Decide(&r, p.index, auction.GateFunc(refusing(taken)), &p.scratch)
		if won.Winner == nil {
			return list
		}
		taken[won.Winner.ID] = true
		list = append(list, int(won.Winner.ID[15])+int(won.Winner.ID[14])<<8-1)
	}
	return list
}

// refusing returns a gate that excludes campaigns.
func refusing(taken map[auction.ID]bool) func(c *auction.Campaign, _ auction.Valuation) auction.Reason {
	return func(c *auction.Campaign, _ auction.Valuation) auction.Reason {
		if taken[c.ID] {
			return auction.Blocked
		}
		return ""
	}
}
