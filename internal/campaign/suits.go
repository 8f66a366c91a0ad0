package campaign

import (
	"slices"
	"strings"

	"adnet/internal/subject"
)

// applySuits sets the subjects and trades of c from f, in the order of their lists and without
// duplicates.
func (f *Fields) applySuits(c *Campaign) error {
	all := append(subject.Names(subject.Never), subject.Names(subject.Sensitive)...)
	for _, list := range []struct {
		field string
		src   []string
		dst   *[]string
		known []string
	}{
		{"exclude_contexts", f.ExcludeContexts, &c.ExcludeContexts, all},
		{"sensitive_contexts", f.SensitiveContexts, &c.SensitiveContexts, subject.Names(subject.Sensitive)},
		{"trades", f.Trades, &c.Trades, subject.TradeNames()},
	} {
		if list.src == nil {
			continue
		}
		if i := slices.IndexFunc(list.src, func(id string) bool { return !slices.Contains(list.known, id) }); i >= 0 {
			return invalidItem(
				list.field, i, "must be one of %s; %.100q is not one of them", strings.Join(list.known, ", "), list.src[i],
			)
		}
		*list.dst = slices.DeleteFunc(
			slices.Clone(list.known), func(id string) bool { return !slices.Contains(list.src, id) },
		)
	}
	return nil
}

// AllCategories returns the categories of c and of its trades, in the IAB Content Taxonomy 1.0.
// Bids contain them, and publishers can block them.
func (c *Campaign) AllCategories() []string {
	if len(c.Trades) == 0 {
		return c.Categories
	}
	all := slices.Clone(c.Categories)
	for _, name := range c.Trades {
		if trade, ok := subject.ParseTrade(name); ok && !slices.Contains(all, trade.Of().Category) {
			all = append(all, trade.Of().Category)
		}
	}
	return all
}

// Suits returns the sensitive subjects beside which c may run, the subjects beside which it may
// not, and its trades. Ids of a newer build that this one does not know restrict delivery: an
// unknown trade runs nowhere.
func (c *Campaign) Suits() (allowed, excluded subject.Set, trades subject.TradeSet) {
	for _, name := range c.SensitiveContexts {
		if id, ok := subject.Parse(name); ok {
			allowed |= subject.SetOf(id)
		}
	}
	excluded, bad := subject.ParseSet(c.ExcludeContexts)
	if bad != "" {
		excluded = ^subject.Set(0)
	}
	if trades, bad = subject.TradesOf(c.Trades); bad != "" {
		trades = ^subject.TradeSet(0)
	}
	return allowed, excluded, trades
}
