package owed

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/google/uuid"

	"adnet/internal/money"
)

// used is what ads were worth for which nothing was charged.
type used struct {
	expected Acts
	value    money.Micros
}

func (u *used) add(more used) {
	u.expected = min(limit, u.expected+more.expected)
	u.value = min(limit, u.value+more.value)
}

// sums are the sums of a family's campaigns that pay per act.
type sums struct {
	charged money.Micros
	open    used // of unproven campaigns
	// usedBefore is what older families used up to which it is bound.
	usedBefore used
	// worth is the price of the expected acts, and price their mean price, weighted by worth.
	worth, price money.Micros
}

// isBehind reports whether the family is behind: acts count by their price, so that it equals the
// rule for a campaign if all acts have one price.
func (s *sums) isBehind() bool {
	if s.price <= 0 {
		return false
	}
	acts := func(of money.Micros) Acts { return Acts(mulDiv(int64(of), int64(Act), int64(s.price))) }
	return behind(acts(s.worth), acts(s.charged))
}

// used returns what the family used up without a charge: nothing if it was charged and is not
// behind.
func (s *sums) used() used {
	all := s.open
	if s.charged > 0 && s.isBehind() {
		all.add(used{
			expected: Acts(mulDiv(int64(s.worth-s.charged), int64(Act), int64(s.price))), value: s.worth - s.charged,
		})
	}
	return all
}

// Open returns the most that may be reserved at a time, in expected price, for each of the
// campaigns of a family that pay per act and were never charged: its part of the family's
// allowance.
func Open(campaigns int64, reviewed bool) money.Micros {
	return max(1, allowance(reviewed)/money.Micros(max(1, campaigns)))
}

// family returns the sums of a family.
func (j *judge) family(id uuid.UUID) *sums {
	s, known := j.families[id]
	if !known {
		s = new(sums)
		j.families[id] = s
	}
	return s
}

// addUp sets the sums of families, once their charges are known.
func (j *judge) addUp() {
	for i := range j.in.Campaigns {
		c, t := &j.in.Campaigns[i], &j.tallies[i]
		if !c.perAct() {
			continue
		}
		f := j.family(c.Family)
		f.worth = min(limit, f.worth+worth(t.expected, c.price()))
		if t.unproven = c.Acts == 0 && (f.charged == 0 || f.charged < c.Bid); t.unproven {
			f.open.add(used{t.expected, t.value})
		}
	}
	for i := range j.in.Campaigns {
		c, t := &j.in.Campaigns[i], &j.tallies[i]
		if f := j.family(c.Family); c.perAct() && f.worth > 0 {
			f.price += money.Micros(mulDiv(int64(worth(t.expected, c.price())), int64(c.price()), int64(f.worth)))
		}
	}
}

// price returns the price of an act: the mean charge, or the bid before the first.
func (c *Campaign) price() money.Micros {
	if c.Acts > 0 && c.Charged > 0 {
		return max(1, c.Charged/money.Micros(c.Acts))
	}
	return c.Bid
}

// inherit lets each family that was never charged begin with what the older ones used up to which
// it is bound, directly or through others. Nothing that a younger one does affects an older one.
func (j *judge) inherit() {
	bound := map[uuid.UUID][]uuid.UUID{}
	for id := range j.families {
		root := j.root(id)
		bound[root] = append(bound[root], id)
	}
	for root, members := range bound {
		slices.SortFunc(members, j.byAge)
		var before used
		for _, id := range members {
			f := j.families[id]
			if f.charged == 0 && id != root {
				f.usedBefore = before
			}
			before.add(f.used())
		}
	}
}

// root returns the oldest family to which a family is bound, or itself.
func (j *judge) root(id uuid.UUID) uuid.UUID {
	for range len(j.in.Families) { // a circle ends, too
		next := j.in.Families[id].BoundTo
		if next == uuid.Nil {
			return id
		}
		id = next
	}
	return id
}

// byAge orders families by age, the oldest first.
func (j *judge) byAge(a, b uuid.UUID) int {
	return cmp.Or(j.in.Families[a].Since.Compare(j.in.Families[b].Since), bytes.Compare(a[:], b[:]))
}
