package campaign

import (
	"slices"
	"strings"

	"adnet/internal/campaign/subject"
)

// oneOf returns the function that reads a list of subjects of the tiers.
func oneOf(tiers ...subject.Tier) func(string, []string) ([]string, error) {
	var known []string
	for _, tier := range tiers {
		known = append(known, subject.Names(tier)...)
	}
	return knownOf(known)
}

// knownOf returns the function that reads a list of known ids. It returns them in the order of
// known and without duplicates.
func knownOf(known []string) func(string, []string) ([]string, error) {
	return func(field string, values []string) ([]string, error) {
		if i := slices.IndexFunc(values, func(id string) bool { return !slices.Contains(known, id) }); i >= 0 {
			return nil, invalidItem(
				field, i, "must be one of %s; %.100q is not one of them", strings.Join(known, ", "), values[i],
			)
		}
		return slices.DeleteFunc(
			slices.Clone(known), func(id string) bool { return !slices.Contains(values, id) },
		), nil
	}
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
