package auction

import (
	"encoding/binary"
	"slices"

	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/internal/money"
)

const (
	// exploreOf: a new campaign may explore in one of exploreOf auctions (about 3 %), chosen by a
	// hash of the auction. It must stay below 5 % of the requests of every publisher, even a small
	// one.
	exploreOf = 32
	// exploreAmong is the number of best candidates with votes searched for one that explores, and
	// exploreMost that of all candidates searched.
	exploreAmong = 16
	exploreMost  = 512
)

// ahead holds candidates taken from a search in advance. In an auction in which new campaigns may
// explore, these are the best ones, with the exploring campaign before those of no more value.
type ahead struct {
	list     []index.Candidate
	at       int
	explorer *Campaign // of list; nil for none
}

// explore looks ahead if new campaigns may explore. Until clicks have taught something, all
// campaigns are new and none is preferred.
func (s *Scratch) explore(req *Request, snapshot *Snapshot) {
	s.ahead.list, s.ahead.at, s.ahead.explorer = s.ahead.list[:0], 0, nil
	learnt := snapshot.Learnt()
	if learnt == nil || !mayExplore(req.ID) {
		return
	}
	for voted := 0; voted < exploreAmong && len(s.ahead.list) < exploreMost; {
		c, ok := s.search.Next()
		if !ok {
			break
		}
		s.ahead.list = append(s.ahead.list, c)
		if c.Campaign.Vote > 0 {
			voted++
		}
	}
	table := snapshot.Table()
	if at, value := explorer(&table, s.ahead.list); at > 0 {
		c := s.ahead.list[at]
		c.EffectiveCPM = value
		to := before(s.ahead.list, value)
		s.ahead.list = slices.Insert(slices.Delete(s.ahead.list, at, at+1), to, c)
		s.ahead.explorer = c.Campaign
	}
}

// before returns the place of a value among the best candidates: before those of no more.
func before(best []index.Candidate, value money.Micros) int {
	return slices.IndexFunc(best, func(c index.Candidate) bool { return c.EffectiveCPM <= value })
}

// next returns the best candidate not yet returned.
func (s *Scratch) next() (c index.Candidate, ok bool) {
	if s.ahead.at < len(s.ahead.list) {
		s.ahead.at++
		return s.ahead.list[s.ahead.at-1], true
	}
	return s.search.Next()
}

// mayExplore reports whether new campaigns may explore in an auction.
func mayExplore(id ID) bool {
	h := (binary.BigEndian.Uint64(id[:8]) ^ binary.BigEndian.Uint64(id[8:])) * 0x9e3779b97f4a7c15
	return (h^h>>32)*0xbf58476d1ce4e5b9>>32%exploreOf == 0
}

// explorer returns the new campaign among the best candidates that explores, and its value: its
// worth at certain relevance, which is never more than the stated bid pays for. All candidates
// reach the floor. The explorer must also reach the default floor. Otherwise, where a floor is off,
// an off-topic ad would be tried before a relevant one. Campaigns without a vote neither explore nor
// keep others from it. It returns 0 if no new campaign comes before the best candidate with a vote.
func explorer(table *ranker.Table, best []index.Candidate) (at int, value money.Micros) {
	first := slices.IndexFunc(best, func(c index.Candidate) bool { return c.Campaign.Vote > 0 })
	if first < 0 || isNew(table.Learnt, best[first].Campaign) {
		return 0, 0
	}
	value = best[first].EffectiveCPM
	for i := first + 1; i < len(best); i++ {
		c := best[i].Campaign
		if c.Vote == 0 || best[i].Relevance < ranker.DefaultFloor {
			continue
		}
		if most := c.Value(table, ranker.Certain); most >= value && (at == 0 || most > value) &&
			isNew(table.Learnt, c) {
			at, value = i, most
		}
	}
	return at, value
}

// isNew reports whether clicks have taught little about a campaign: neither about an ad of the same
// content, nor about all the new campaigns of its family together. A bound one is not new.
func isNew(learnt *ranker.Learnt, c *Campaign) bool {
	return c.Bound == index.BoundNone && !learnt.Explored[c.Content()] && !learnt.Advertisers[c.Owner()]
}
