package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"strings"

	"adnet/auction/ranker"
	"adnet/auction/train"
)

// fitted are the sets used to fit the calibration: those with requests that no campaign answers.
// Each has equal weight.
var (
	floorSets = []string{"metatool", "clinc"}
	fitted    = append(floorSets, demoName)
)

// prior is the number of requests assumed for each point of the calibration beforehand, at the odds
// of the previous point.
const prior = 10

// linear returns a table whose log-odds grow evenly with the match, so that the relevance
// determines the match.
func linear() ranker.Table {
	t := ranker.Version2()
	for i := range t.Calibration {
		t.Calibration[i] = int16((i - ranker.Knots/2) * 64)
	}
	return t
}

// observation is a first ad: its match and whether it was right.
type observation struct {
	match  int // in units of 1/Knots
	right  bool
	weight float64
}

// fit writes the calibration of the match, fitted on the labelled requests of a folder.
func fit(folder, file string) error {
	table := linear()
	var seen []observation
	for _, name := range fitted {
		s, err := loadAny(folder, name)
		if err != nil {
			return err
		}
		w := build(table, &s, nil)
		for _, r := range s.requests {
			won := w.decide(question{labelled: r, open: true})
			match := sort.Search(
				int(ranker.Highest),
				func(m int) bool { return table.Relevance(ranker.Match(m)) >= won.Prediction.Relevance },
			)
			at := min(int(math.Round(float64(match)*ranker.Knots/float64(ranker.Full))), ranker.Knots-1)
			seen = append(
				seen,
				observation{
					match: at, right: slices.Contains(r.Labels, w.label(won)), weight: 1 / float64(len(s.requests)),
				},
			)
		}
	}
	return os.WriteFile(file, []byte(source(isotonic(seen))), 0o644)
}

// isotonic returns the monotone sequence of log-odds that is nearest to the observations.
func isotonic(seen []observation) (odds [ranker.Knots]int16) {
	var pools []train.Pool
	unit := 0.0
	for _, o := range seen {
		unit += o.weight
	}
	unit = float64(len(seen)) / unit
	before := 0.01
	for i := range odds {
		p := train.Pool{Right: before * prior, All: prior, Knots: 1}
		for _, o := range seen {
			if o.match == i {
				p.All += o.weight * unit
				if o.right {
					p.Right += o.weight * unit
				}
			}
		}
		before = max(before, p.Rate())
		pools = train.Pooled(pools, p)
	}
	i := 0
	for _, p := range pools {
		share := min(max(p.Rate(), 0.002), 0.98)
		for range p.Knots {
			odds[i] = int16(math.Round(math.Log(share/(1-share)) * 256))
			i++
		}
	}
	return strictly(odds)
}

// strictly makes equal neighbours grow slightly, so that a better match is always worth more.
func strictly(odds [ranker.Knots]int16) [ranker.Knots]int16 {
	for i := 1; i < len(odds); i++ {
		odds[i] = max(odds[i], odds[i-1]+4)
	}
	return odds
}

func source(odds [ranker.Knots]int16) string {
	var b strings.Builder
	b.WriteString(
		"package ranker\n\n// calibration was fitted by `go run ./lab/relevance --fit`; see " +
			"[Table.Calibration].\nvar calibration = [Knots]int16{",
	)
	for i, v := range odds {
		if i%16 == 0 {
			b.WriteString("\n\t")
		} else {
			b.WriteString(" ")
		}
		fmt.Fprintf(&b, "%d,", v)
	}
	b.WriteString("\n}\n")
	return b.String()
}
