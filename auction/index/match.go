package index

import (
	"slices"

	"adnet/auction/lexicon"
	"adnet/auction/ranker"
	"adnet/auction/words"
	"adnet/internal/campaign/subject"
)

// Matcher applies the matching rules to one campaign at a time, on the normalised strings. The
// linear scan uses it. It shares nothing with the index but the table of words, and allocates
// freely.
type Matcher struct {
	table   *ranker.Table
	words   *lexicon.Table
	floor   ranker.PPM
	query   [dims]map[string]bool
	any     bool
	deals   bool // only campaigns with one of the query's deals
	format  [3]bool
	at      Second
	views   bool
	about   subject.Set
	trades  subject.TradeSet
	models  bool
	weights map[string]uint32
	silent  bool
	bound   bool // bound campaigns take part
	reader  lexicon.Reader
	known   map[*Targeting]verdict // campaigns often share a targeting
}

// verdict is the result of comparing a targeting with the query.
type verdict struct {
	signals ranker.Signals // without words
	failed  int
	ok      bool
}

// Found is the result of comparing a campaign with a query.
type Found struct {
	Signals   ranker.Signals
	Relevance ranker.PPM
	// Irrelevant reports whether the campaign matches but for its relevance.
	Irrelevant bool
	// Terms are the terms that earned most.
	Terms [ranker.TopTerms]ranker.Earned
}

// NewMatcher prepares q for campaigns of x. It belongs to one goroutine.
func NewMatcher(x *Index, q *Query) *Matcher {
	table := x.Table()
	m := &Matcher{
		table: &table, words: x.base.words, any: len(q.Formats) == 0, deals: len(q.Deals) > 0, at: q.At, views: q.Views,
		about: q.Subjects, trades: q.Trades, models: q.Models, known: map[*Targeting]verdict{}, bound: q.Bound || q.admits(),
		weights: map[string]uint32{},
	}
	for _, f := range q.Formats {
		if int(f) < len(m.format) {
			m.format[f] = true
		}
	}
	stated := Targeting{
		ActiveTools: q.ActiveTools, HostApps: []string{q.HostApp},
		Surfaces: []string{q.Surface}, IntegrationMethods: []string{q.IntegrationMethod},
		Regions: []string{q.Region}, Languages: []string{q.Language}, Deals: q.Deals,
	}
	for d := range m.query {
		m.query[d] = map[string]bool{}
		for value := range stated.values(d) {
			for key := []byte(value); len(key) > 0; key = broader(key, d) {
				m.query[d][string(key)] = true
			}
		}
	}
	var r words.Reader
	terms := q.terms(&r)
	for _, term := range terms {
		m.query[dimToken][term.Text] = true
	}
	v := m.reader.Request(m.words, terms)
	for _, kin := range v.Kin {
		m.query[dimToken][m.words.Term(kin)] = true
	}
	for i := range v.Weights {
		m.weights[v.Weights[i].Term(m.words)] += v.Weights[i].By
	}
	m.silent = v.Empty
	m.floor = q.floor(v.Empty)
	return m
}

// The date fields of a campaign, as [Matcher.Match] names them.
const (
	StartField = "start_at"
	EndField   = "end_at"
	// EventField is the field of a campaign that pays for views.
	EventField = "billing_event"
	// TradesField is the field of a campaign with a restricted trade that may not run.
	TradesField = "trades"
	// ReviewField is the field of a campaign that no model may read yet.
	ReviewField = "review"
	// AllowedField and ExcludedField are the fields of a campaign that exclude it beside the
	// subjects of the conversation.
	AllowedField  = "sensitive_contexts"
	ExcludedField = "exclude_contexts"
	// BoundField is the field of a campaign that owes too much for what it was shown.
	BoundField = "bound"
)

// Match compares a campaign with the query. If ok is false the campaign does not match, and failed
// names the first campaign field that excluded it ("start_at", "format", "target_regions", …). The
// subjects of the conversation and the bound are checked last: a campaign excluded by them
// otherwise matches, and found holds the result.
func (m *Matcher) Match(c *Campaign) (found Found, failed string, ok bool) {
	switch {
	case m.at < c.Start:
		return found, StartField, false
	case c.End > 0 && m.at >= c.End:
		return found, EndField, false
	case c.Billing == ranker.VCPM && !m.views:
		return found, EventField, false
	case c.PagesOnly && m.models:
		return found, ReviewField, false
	}
	if !m.any && !m.format[c.Format] {
		return found, "format", false
	}
	if !c.within(m.trades) {
		return found, TradesField, false
	}
	v, seen := m.known[c.Targeting]
	if !seen {
		v = m.match(c.Targeting)
		m.known[c.Targeting] = v
	}
	if !v.ok {
		return found, dimensionName(v.failed), false
	}
	found.Signals = v.signals
	var sum uint32
	var list top
	for _, impact := range m.impacts(c) {
		if w := m.weights[impact.Term]; w > 0 {
			sum += w * uint32(impact.By)
			list.add(impact.Term, w*uint32(impact.By))
		}
	}
	found.Signals.Words = ranker.Match(lexicon.Match(sum))
	found.Terms = list.earned()
	found.Relevance = m.table.RelevanceOf(found.Signals)
	found.Irrelevant = m.table.Relevance(m.table.Match(found.Signals)) < max(m.floor, m.own(c))
	switch {
	case m.about&c.Excluded != 0:
		return found, ExcludedField, false
	case !c.beside(m.about):
		return found, AllowedField, false
	case c.Bound != BoundNone && !m.bound:
		return found, BoundField, false
	}
	return found, "", true
}

// impacts returns the vector of c with its lessons.
func (m *Matcher) impacts(c *Campaign) []lexicon.Impact {
	text := c.text()
	vector := m.reader.Campaign(m.words, &text)
	lessons := m.table.Lessons(c.ID)
	if len(lessons) == 0 {
		return vector
	}
	var impacts []lexicon.Impact
	var known []lexicon.Posting
	for _, impact := range vector {
		if impact.ID == lexicon.None {
			impacts = append(impacts, impact)
			continue
		}
		known = append(known, lexicon.Posting{ID: impact.ID, By: impact.By})
	}
	for _, p := range m.words.Learnt(nil, known, lessons) {
		impacts = append(impacts, lexicon.Impact{Term: m.words.Term(p.ID), ID: p.ID, By: p.By})
	}
	return impacts
}

// own returns the campaign's own floor, which applies only if the query has words.
func (m *Matcher) own(c *Campaign) ranker.PPM {
	if m.silent {
		return 0
	}
	return c.MinRelevance
}

func (m *Matcher) match(t *Targeting) verdict {
	var matched [dims]int
	var tools int
	for d := range dims {
		if !t.filters(d) {
			continue
		}
		targeted := 0
		values := slices.Sorted(t.values(d))
		for _, value := range slices.Compact(values) {
			targeted++
			if m.query[d][value] {
				matched[d]++
			}
		}
		if d == dimTool {
			tools = targeted
		}
		wanted := targeted > 0
		if d == dimDeal {
			wanted = m.deals
		}
		if wanted && matched[d] == 0 {
			return verdict{failed: d}
		}
	}
	return verdict{ok: true, signals: ranker.Signals{
		Tools: m.table.ToolMatch(tools) * ranker.Match(matched[dimTool]), Silent: m.silent,
		HostMatched: matched[dimHost] > 0, SurfaceMatched: matched[dimSurface] > 0,
	}}
}

// terms returns all terms of the query. r keeps the terms of the tokens.
func (q *Query) terms(r *words.Reader) []words.Term {
	if len(q.Tokens) == 0 {
		return q.Words
	}
	r.Reset()
	for _, token := range q.Tokens {
		r.ReadStated(token, words.Unit)
	}
	r.Put(q.Words)
	return r.Terms()
}

// floor returns the floor of a query with words, or of one without.
func (q *Query) floor(empty bool) ranker.PPM {
	if empty {
		return q.SilentFloor
	}
	return q.Floor
}

// top holds the terms that add most.
type top struct {
	list [ranker.TopTerms]struct {
		term string
		by   uint32
	}
}

// add adds a term; ties are ordered alphabetically.
func (t *top) add(term string, by uint32) {
	for i := range t.list {
		at := &t.list[i]
		if by > at.by || by == at.by && by > 0 && term < at.term {
			at.term, term = term, at.term
			at.by, by = by, at.by
		}
	}
}

func (t *top) earned() (earned [ranker.TopTerms]ranker.Earned) {
	for i, at := range t.list {
		earned[i] = ranker.Earned{Term: at.term, By: ranker.Match(lexicon.Match(at.by)).PerMille()}
	}
	return earned
}
