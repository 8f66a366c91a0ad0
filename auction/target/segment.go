package target

import (
	"cmp"
	"encoding/binary"
	"slices"

	"adnet/auction/ranker"
	"adnet/internal/money"
)

// segment is an immutable index over one set of campaigns. Campaigns that target the same, are
// billed the same and have the same format form a group: within it the relevance is the same for
// every request, so the order by bid is the order by score. Groups are numbered by descending
// bound, the highest score that any request can give a member; a posting list is therefore visited
// best first just by counting up.
type segment struct {
	table     ranker.Table
	campaigns []Campaign // by ascending id: the slot order is the tie order
	groups    []group
	limits    []limits // of groups, apart from them because a search reads many more limits than groups
	members   []member // of all groups, each group's by (bid descending, slot ascending)
	terms     []uint32 // of all groups, see group.ends
	vocab     [dims]map[string]uint32
	words     *wordSet             // of the tokens in vocab
	lists     [dims + 1][]postings // by dimension and term; of dims there is one, of groups that target neither
	hosted    map[listKey][]uint32 // ascending groups of one term and one host app
}

// none is past every term and every group number.
const none = ^uint32(0)

// limits are the highest scores that a group can reach with one, two, and any number of shared
// tokens. The last is its bound.
type limits [3]money.Micros

func (l *limits) bound() money.Micros { return l[len(l)-1] }

// with is the limit for n shared tokens; 0 means that their number is not known.
func (l *limits) with(n int) money.Micros {
	if n == 0 || n > len(l) {
		return l.bound()
	}
	return l[n-1]
}

type group struct {
	first     uint32 // the lowest slot among the members that can reach the bound
	begin     uint32 // members[begin:end]
	end       uint32
	termBegin uint32 // dimension d has terms [ends[d-1], ends[d]), the first from here
	ends      [dims]uint32
	billing   ranker.Billing
	format    Format
}

// member is a campaign in its group. The members [.., tierEnd) from it on have the same bid, which
// is here, too, because a search reads more bids than campaigns.
type member struct {
	slot, tierEnd uint32
	bid           money.Micros
}

func (g *group) terms(s *segment, d int) []uint32 {
	from := g.termBegin
	if d > 0 {
		from = g.ends[d-1]
	}
	return s.terms[from:g.ends[d]]
}

// best are the signals of a request that shares everything with the group.
func (g *group) best(s *segment) ranker.Signals {
	tokens, tools := count(len(g.terms(s, dimToken))), count(len(g.terms(s, dimTool)))
	return ranker.Signals{
		IntentMatched: tokens, IntentTargeted: tokens,
		ToolMatched: tools, ToolTargeted: tools,
		HostMatched: len(g.terms(s, dimHost)) > 0,
	}
}

// count makes a number of values a signal, saturating.
func count(n int) uint16 { return uint16(min(n, 1<<16-1)) }

// builder groups campaigns. Targeting values that several campaigns share by pointer are read once.
type builder struct {
	seg    *segment
	byRef  map[*Targeting]*placed
	byText map[string]*placed
}

// placed is a distinct targeting: its terms and its groups per billing model and format.
type placed struct {
	shared *Targeting
	begin  uint32
	ends   [dims]uint32
	slots  map[[2]uint8][]uint32
}

// newSegment indexes campaigns, which must have ascending distinct ids; it keeps the slice and
// replaces equal targetings in it by one shared value.
func newSegment(table ranker.Table, campaigns []Campaign) *segment {
	b := builder{
		seg:    &segment{table: table, campaigns: campaigns},
		byRef:  map[*Targeting]*placed{},
		byText: map[string]*placed{},
	}
	for d := range b.seg.vocab {
		b.seg.vocab[d] = map[string]uint32{}
	}
	var order []*placed
	for slot := range campaigns {
		c := &campaigns[slot]
		p, isNew := b.place(c.Targeting)
		if isNew {
			order = append(order, p)
		}
		c.Targeting = p.shared
		kind := [2]uint8{uint8(c.Billing), uint8(c.Format)}
		p.slots[kind] = append(p.slots[kind], uint32(slot))
	}
	b.seg.fillGroups(order)
	b.seg.fillLists()
	b.seg.words = wordsOf(b.seg.vocab[dimToken])
	return b.seg
}

// place finds or creates the distinct targeting that t means.
func (b *builder) place(t *Targeting) (p *placed, isNew bool) {
	if p, ok := b.byRef[t]; ok {
		return p, false
	}
	begin := len(b.seg.terms)
	p = &placed{shared: t, begin: uint32(begin), slots: map[[2]uint8][]uint32{}}
	var key []byte
	for d := range dims {
		from := len(b.seg.terms)
		for value := range t.values(d) {
			b.seg.terms = append(b.seg.terms, intern(b.seg.vocab[d], value))
		}
		list := b.seg.terms[from:]
		slices.Sort(list)
		list = slices.Compact(list)
		b.seg.terms = b.seg.terms[:from+len(list)]
		p.ends[d] = uint32(len(b.seg.terms))
		key = binary.AppendUvarint(key, uint64(len(list)))
		for _, term := range list {
			key = binary.AppendUvarint(key, uint64(term))
		}
	}
	if known, ok := b.byText[string(key)]; ok {
		b.seg.terms = b.seg.terms[:begin]
		b.byRef[t] = known
		return known, false
	}
	b.byText[string(key)], b.byRef[t] = p, p
	return p, true
}

func intern(vocab map[string]uint32, value string) uint32 {
	term, ok := vocab[value]
	if !ok {
		term = uint32(len(vocab))
		vocab[value] = term
	}
	return term
}

// fillGroups lays the members out and numbers the groups by (bound descending, first ascending).
// The second part lets a search stop at a score equal to the bound when its campaign's id is lower.
func (s *segment) fillGroups(order []*placed) {
	type limited struct {
		group
		limits
	}
	var groups []limited
	s.members = make([]member, 0, len(s.campaigns))
	for _, p := range order {
		for kind, slots := range p.slots {
			g := limited{group: group{
				begin: uint32(len(s.members)), end: uint32(len(s.members) + len(slots)),
				termBegin: p.begin, ends: p.ends,
				billing: ranker.Billing(kind[0]), format: Format(kind[1]),
			}}
			s.addMembers(slots)
			g.limits = s.setLimits(&g.group)
			groups = append(groups, g)
		}
		p.slots = nil
	}
	slices.SortFunc(groups, func(a, b limited) int {
		return cmp.Or(cmp.Compare(b.bound(), a.bound()), cmp.Compare(a.first, b.first))
	})
	s.groups, s.limits = make([]group, len(groups)), make([]limits, len(groups))
	for i, g := range groups {
		s.groups[i], s.limits[i] = g.group, g.limits
	}
	s.terms = slices.Clip(s.terms)
}

func (s *segment) addMembers(slots []uint32) {
	slices.SortFunc(slots, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(s.campaigns[b].Bid, s.campaigns[a].Bid), cmp.Compare(a, b))
	})
	begin := len(s.members)
	for _, slot := range slots {
		s.members = append(s.members, member{slot: slot, bid: s.campaigns[slot].Bid})
	}
	tierEnd := uint32(len(s.members))
	for i := len(s.members) - 1; i >= begin; i-- {
		s.members[i].tierEnd = tierEnd
		if i > begin && s.members[i-1].bid != s.members[i].bid {
			tierEnd = uint32(i)
		}
	}
}

// setLimits gives the limits and sets, as rounding down can give the bound to neighbouring bids
// too, the lowest slot among all members that reach it.
func (s *segment) setLimits(g *group) (l limits) {
	best := g.best(s)
	relevance := s.table.Relevance(best)
	for i := range l {
		some := best
		some.IntentMatched = min(best.IntentMatched, uint16(i+1))
		l[i] = s.table.EffectiveCPM(g.billing, s.members[g.begin].bid, s.table.Relevance(some))
	}
	bound := s.table.EffectiveCPM(g.billing, s.members[g.begin].bid, relevance)
	l[len(l)-1] = bound
	g.first = s.members[g.begin].slot
	for at := s.members[g.begin].tierEnd; at < g.end; at = s.members[at].tierEnd {
		if s.table.EffectiveCPM(g.billing, s.members[at].bid, relevance) < bound {
			break
		}
		g.first = min(g.first, s.members[at].slot)
	}
	return l
}
