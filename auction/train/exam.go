package train

import (
	_ "embed"
	"encoding/binary"
	"slices"
	"strings"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/auction/words"
	"adnet/internal/money"
)

// Exam is the result of a table of weights on requests with known answers.
type Exam struct {
	// Right of Of demo requests found their demo ad among the ads of the network.
	Right int `json:"right"`
	Of    int `json:"of"`
	// Taken of Attacks were won by an ad of the network. Attacks are requests of common words, and
	// requests that none of the ads answers.
	Taken   int `json:"taken"`
	Attacks int `json:"attacks"`
}

// World is a demo network with requests whose right answers are known.
type World struct {
	Campaigns []index.Campaign
	Questions []Question
}

// Question is a request in a language with the campaigns that answer it. It must have some.
type Question struct {
	Context, Language string
	Right             []index.ID
}

// attacks are requests that no ad answers, one per line.
//
//go:embed attacks.txt
var attacks string

// Examine runs the demo requests and the attacks against the network's campaigns and the demo
// campaigns together, ranked by the table.
func Examine(table ranker.Table, n Network, world World) (e Exam) {
	campaigns := slices.Clone(world.Campaigns)
	bid := usual(n)
	for i := range campaigns {
		campaigns[i].Bid, campaigns[i].Billing = bid, ranker.CPM
	}
	for c := range n.Index.All() {
		campaigns = append(campaigns, *c)
	}
	x := examiner{index: index.Build(table, campaigns)}
	for _, q := range world.Questions {
		won, filled := x.ask(q.Context, q.Language)
		e.Of++
		if filled && slices.Contains(q.Right, won) {
			e.Right++
		}
	}
	ours := map[index.ID]bool{}
	for c := range n.Index.All() {
		ours[c.ID] = true
	}
	for text := range strings.Lines(attacks) {
		won, filled := x.ask(strings.TrimSpace(text), "")
		e.Attacks++
		if filled && ours[won] {
			e.Taken++
		}
	}
	return e
}

// examiner runs one request after the other.
type examiner struct {
	index   *index.Index
	scratch auction.Scratch
	reader  words.Reader
	count   uint64
}

func (x *examiner) ask(text, language string) (winner index.ID, filled bool) {
	x.count++
	x.reader.Reset()
	x.reader.ReadContext(text)
	r := auction.Request{Words: x.reader.Terms(), Language: language, MinRelevance: ranker.DefaultFloor}
	binary.BigEndian.PutUint64(r.ID[:], x.count)
	won := auction.Decide(&r, x.index, nil, &x.scratch)
	if won.Winner == nil {
		return winner, false
	}
	return won.Winner.ID, true
}

// usual returns the mean cpm bid of a network, at least 1 USD.
func usual(n Network) money.Micros {
	var sum, count int64
	for c := range n.Index.All() {
		if c.Billing == ranker.CPM && count < 1<<20 {
			sum += int64(min(c.Bid, 1000*money.USD))
			count++
		}
	}
	return max(money.USD, money.Micros(sum/max(count, 1)))
}
