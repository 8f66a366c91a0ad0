package target

import (
	"slices"

	"adnet/auction/ranker"
)

// Matcher applies the matching rules campaign by campaign, on the normalised strings themselves. It
// is what a linear scan uses, shares nothing with the index but the normalisation, and allocates
// freely.
type Matcher struct {
	query  [dims]map[string]bool
	any    bool
	deals  bool // only campaigns with one of the query's deals
	format [3]bool
	known  map[*Targeting]verdict // campaigns often share a targeting
}

type verdict struct {
	signals ranker.Signals
	failed  int
	ok      bool
}

// NewMatcher prepares q. It belongs to one goroutine.
func NewMatcher(q *Query) *Matcher {
	m := &Matcher{any: len(q.Formats) == 0, deals: len(q.Deals) > 0, known: map[*Targeting]verdict{}}
	for _, f := range q.Formats {
		if int(f) < len(m.format) {
			m.format[f] = true
		}
	}
	stated := Targeting{
		IntentTokens: q.Tokens, ActiveTools: q.ActiveTools, HostApps: []string{q.HostApp},
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
	return m
}

// Match says what the query and the campaign share. When ok is false the campaign does not match,
// and failed names the first campaign field that kept it out ("format", "target_regions", …).
func (m *Matcher) Match(c *Campaign) (signals ranker.Signals, failed string, ok bool) {
	if !m.any && !m.format[c.Format] {
		return signals, "format", false
	}
	v, seen := m.known[c.Targeting]
	if !seen {
		v = m.match(c.Targeting)
		m.known[c.Targeting] = v
	}
	if !v.ok {
		return signals, dimensionName(v.failed), false
	}
	return v.signals, "", true
}

func (m *Matcher) match(t *Targeting) verdict {
	var targeted, matched [dims]int
	for d := range dims {
		values := slices.Sorted(t.values(d))
		for _, value := range slices.Compact(values) {
			targeted[d]++
			if m.query[d][value] {
				matched[d]++
			}
		}
		wanted := targeted[d] > 0
		if d == dimDeal {
			wanted = m.deals
		}
		if wanted && matched[d] == 0 {
			return verdict{failed: d}
		}
	}
	return verdict{ok: true, signals: ranker.Signals{
		IntentMatched: count(matched[dimToken]), IntentTargeted: count(targeted[dimToken]),
		ToolMatched: count(matched[dimTool]), ToolTargeted: count(targeted[dimTool]),
		HostMatched: matched[dimHost] > 0,
	}}
}
