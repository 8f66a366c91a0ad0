package main

import (
	"encoding/binary"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/auction/words"
	"adnet/internal/money"
)

// question is one request to a world.
type question struct {
	labelled
	turns []string // earlier turns, the oldest first, if known
	open  bool     // without a floor
}

// world answers requests. The default floor applies unless a request is open.
type world interface {
	// ask returns the label of the winner, "" for no ad.
	ask(q question) (label string)
	// close ends it and returns its first error.
	close() error
}

// maker makes a world of a set's campaigns with the given bids, or equal bids if nil.
type maker func(s *set, bids []money.Micros, more ...extra) (world, error)

// entry is a campaign with its label.
type entry struct {
	auction.Campaign
	label string
}

// extra is a campaign added to those of a set.
type extra struct {
	label    string
	headline string
	tokens   []string
	langs    []string
	bid      money.Micros
}

// pure runs auctions without a server.
type pure struct {
	index    *auction.Snapshot
	labels   []string
	scratch  auction.Scratch
	reader   words.Reader
	auctions uint64
}

const bid = 5 * money.USD

// list returns every campaign of a world.
func (s *set) list(bids []money.Micros, more ...extra) (list []entry) {
	for i := range s.campaigns {
		a := &s.campaigns[i]
		headline, subtext := a.text()
		e := entry{
			label: a.Label,
			Campaign: auction.Campaign{
				Bid: bid, Vote: index.FullVote, Headline: headline, Subtext: subtext, Targeting: a.targeting(),
			},
		}
		if bids != nil {
			e.Bid = bids[i]
		}
		list = append(list, e)
	}
	for _, x := range more {
		list = append(list, entry{label: x.label, Campaign: auction.Campaign{
			Bid: x.bid, Vote: index.FullVote, Headline: x.headline, Targeting: &auction.Targeting{Languages: x.langs, IntentTokens: x.tokens},
		}})
	}
	return list
}

// inProcess makes worlds without a server.
func inProcess(s *set, bids []money.Micros, more ...extra) (world, error) {
	return build(ranker.Version2(), s, bids, more...), nil
}

// build makes a world ranked by a table.
func build(table ranker.Table, s *set, bids []money.Micros, more ...extra) *pure {
	p := &pure{}
	var list []auction.Campaign
	for i, e := range s.list(bids, more...) {
		e.ID, e.Advertiser = number(i+1), number(i+1)
		list, p.labels = append(list, e.Campaign), append(p.labels, e.label)
	}
	p.index = index.Build(table, list)
	return p
}

func number(n int) (id auction.ID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// decide runs one auction.
func (p *pure) decide(q question) auction.Outcome {
	p.auctions++
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
	r.ID, r.MinRelevance = number(int(p.auctions)), ranker.DefaultFloor
	if q.open {
		r.MinRelevance = 0
	}
	return auction.Decide(&r, p.index, nil, &p.scratch)
}

// ask implements world.
func (p *pure) ask(q question) string { return p.label(p.decide(q)) }

func (p *pure) close() error { return nil }

// label returns the label of the winner, "" for none.
func (p *pure) label(o auction.Outcome) string {
	if o.Winner == nil {
		return ""
	}
	return p.labels[binary.BigEndian.Uint64(o.Winner.ID[8:])-1]
}
