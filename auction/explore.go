package auction

import (
	"encoding/binary"
	"slices"

	"adnet/auction/ranker"
	"adnet/auction/target"
	"adnet/internal/money"
)

const (
	// exploreOf is the part of the auctions in which a new campaign may explore: one in so many, by
	// a hash of the auction, which is about 3 %. It must stay below 5 % of the requests of every
	// publisher, also of one that has few.
	exploreOf = 32
	// exploreAmong is how many of the best candidates are looked at for one that explores.
	exploreAmong = 16
)

// ahead is candidates that were taken from a search before its next: in an auction in which new
// campaigns may explore, the best with the one that explores before them.
type ahead struct {
	list     []target.Candidate
	at       int
	explorer *Campaign // first of list; nil for none
}

// explore looks ahead where new campaigns may explore. Until clicks have taught something, all
// campaigns are new, and none is preferred.
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

// next is the best candidate that was not given yet.
func (s *Scratch) next() (c target.Candidate, ok bool) {
	if s.ahead.at < len(s.ahead.list) {
		s.ahead.at++
		return s.ahead.list[s.ahead.at-1], true
	}
	return s.search.Next()
}

// mayExplore says whether new campaigns may explore in an auction.
func mayExplore(id ID) bool {
	h := (binary.BigEndian.Uint64(id[:8]) ^ binary.BigEndian.Uint64(id[8:])) * 0x9e3779b97f4a7c15
	return (h^h>>32)*0xbf58476d1ce4e5b9>>32%exploreOf == 0
}

// explorer is the new campaign among the best candidates that explores, and the value it does so
// at: what it is worth where it is surely relevant, which is never more than the stated bid pays
// for. All candidates reach the floor, and it also the default one: where a floor is off, an ad
// that does not belong would be tried before one that does. 0 when none comes before the best.
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

// isNew says whether clicks have taught little about a campaign: neither about it or one that says
// the same, nor about all the new ones of its advertiser together.
func isNew(learnt *ranker.Learnt, c *Campaign) bool {
	return !learnt.Explored[c.Content()] && !learnt.Advertisers[c.Advertiser]
}
