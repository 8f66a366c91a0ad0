package main

import (
	"encoding/binary"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/auction/target"
	"adnet/auction/words"
	"adnet/internal/money"
)

// question is one request to a world.
type question struct {
	labelled
	turns []string // earlier turns, the oldest first; where turns are known
	open  bool     // without a floor
}

// world answers requests.
type world interface {
	// Ask gives the label of the winner, "" for no ad.
	Ask(q question) (label string, err error)
}

// extra is a campaign beside those of a set.
type extra struct {
	label    string
	headline string
	tokens   []string
	langs    []string
	bid      money.Micros
}

// pure asks the auction itself.
type pure struct {
	index   *auction.Snapshot
	labels  []string
	floor   ranker.PPM
	scratch auction.Scratch
	reader  words.Reader
	asked   uint64
}

const bid = 5 * money.USD

// build makes the campaigns of a set with the given bids, nil for equal ones.
func build(table ranker.Table, s *set, bids []money.Micros, more ...extra) *pure {
	p := &pure{}
	var list []auction.Campaign
	for i := range s.campaigns {
		a := &s.campaigns[i]
		headline, subtext := a.text()
		c := auction.Campaign{
			ID: number(len(list) + 1), Advertiser: number(len(list) + 1), Bid: bid, Headline: headline, Subtext: subtext,
			Targeting: a.targeting(),
		}
		if bids != nil {
			c.Bid = bids[i]
		}
		list = append(list, c)
		p.labels = append(p.labels, a.Label)
	}
	for _, x := range more {
		list = append(list, auction.Campaign{
			ID: number(len(list) + 1), Advertiser: number(len(list) + 1), Bid: x.bid, Headline: x.headline,
			Targeting: &auction.Targeting{Languages: x.langs, IntentTokens: x.tokens},
		})
		p.labels = append(p.labels, x.label)
	}
	p.index = target.Build(table, list)
	return p
}

func number(n int) (id auction.ID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// decide runs one auction.
func (p *pure) decide(q question) auction.Outcome {
	p.asked++
	p.reader.Reset()
	for i, turn := range q.turns {
		p.reader.ReadTurn(turn, len(q.turns)-i)
	}
	if len(q.turns) > 0 {
		p.reader.ReadTurn(q.Context, 0)
	} else {
		p.reader.ReadContext(q.Context)
	}
	r := q.request(p.reader.Terms())
	r.ID, r.MinRelevance = number(int(p.asked)), p.floor
	if q.open {
		r.MinRelevance = 0
	}
	return auction.Decide(&r, p.index, nil, &p.scratch)
}

// Ask implements world.
func (p *pure) Ask(q question) (string, error) { return p.label(p.decide(q)), nil }

// label is that of the winner, "" for none.
func (p *pure) label(o auction.Outcome) string {
	if o.Winner == nil {
		return ""
	}
	return p.labels[binary.BigEndian.Uint64(o.Winner.ID[8:])-1]
}
