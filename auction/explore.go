package auction

import (
	"encoding/binary"
	"slices"

	"adnet/auction/ranker"
	"adnet/auction/target"
	"adnet/internal/money"
)

const (
	// exploreOf: a new campaign may explore in one of exploreOf auctions (about 3 %), chosen by a
	// hash of the auction. It must stay below 5 % of the requests of every publisher, even a small
	// one.
	exploreOf = 32
	// exploreAmong is the number of best candidates searched for one that explores.
	exploreAmong = 16
)

// ahead holds candidates taken from a search in advance. In an auction in which new campaigns may
// explore, these are the best ones, with the exploring campaign first.
type ahead struct {
	list     []target.Candidate
	at       int
	explorer *Campaign // first of list; nil for none
}

// explore looks ahead if new campaigns may explore. Until clicks have taught something, all
// campaigns are new and none is preferred.
func (s *Scratch) explore(req *Request, snapshot *Snapshot) {
	s.ahead.list, s.ahead.at, s.ahead.explorer = s.ahead.list[:0], 0, nil
	learnt := snapshot.Learnt()
	if learnt == nil || !mayExplore(req.ID) {
		return
	}
	for range exploreAmong {
		c, ok := s.search.Next()
		if !ok {
			break
		}
		s.ahead.list = append(s.ahead.list, c)
	}
	table := snapshot.Table()
	if at, value := explorer(&table, s.ahead.list); at > 0 {
		s.ahead.list[at].EffectiveCPM = value
		first := s.ahead.list[at]
		s.ahead.list = slices.Insert(slices.Delete(s.ahead.list, at, at+1), 0, first)
		s.ahead.explorer = first.Campaign
	}
}

// next returns the best candidate not yet returned.
func (s *Scratch) next() (c target.Candidate, ok bool) {
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
// an off-topic ad would be tried before a relevant one. It returns 0 if no new campaign comes
// before the best candidate.
func explorer(table *ranker.Table, best []target.Candidate) (at int, value money.Micros) {
	if len(best) == 0 || isNew(table.Learnt, best[0].Campaign) {
		return 0, 0
	}
	value = best[0].EffectiveCPM
	for i := 1; i < len(best); i++ {
		c := best[i].Campaign
		if best[i].Relevance < ranker.DefaultFloor {
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
// content, nor about all the new campaigns of its advertiser together. A bound one is not new.
func isNew(learnt *ranker.Learnt, c *Campaign) bool {
	return c.Bound == target.BoundNone && !learnt.Explored[c.Content()] && !learnt.Advertisers[c.Advertiser]
}
