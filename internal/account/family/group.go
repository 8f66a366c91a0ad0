package family

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// Group returns the places of all accounts that are not simply a family of their own.
func (f Facts) Group() map[uuid.UUID]Member {
	g := newGrouping(f.Accounts)
	ruled := g.rule(f.Rulings)
	g.join(f.Marks, ruled)
	g.bind(f.Ads, ruled)
	return g.members()
}

// grouping is a union-find over accounts in the order of their age: the root of a family is its
// oldest account.
type grouping struct {
	accounts []Account // oldest first
	at       map[uuid.UUID]int32
	parent   []int32
	charged  []bool  // by root, once all joins are made
	bound    []int32 // by root: an account that it is bound to, or none
}

// none is the absence of an account.
const none = int32(-1)

func newGrouping(accounts []Account) *grouping {
	g := &grouping{
		accounts: slices.Clone(accounts), at: make(map[uuid.UUID]int32, len(accounts)),
		parent: make([]int32, len(accounts)), charged: make([]bool, len(accounts)), bound: make([]int32, len(accounts)),
	}
	slices.SortFunc(g.accounts, func(a, b Account) int {
		return cmp.Or(a.Created.Compare(b.Created), bytes.Compare(a.ID[:], b.ID[:]))
	})
	for i := range g.accounts {
		g.at[g.accounts[i].ID] = int32(i)
		g.parent[i], g.bound[i] = int32(i), none
	}
	return g
}

func (g *grouping) find(i int32) int32 {
	for g.parent[i] != i {
		g.parent[i] = g.parent[g.parent[i]]
		i = g.parent[i]
	}
	return i
}

func (g *grouping) union(a, b int32) {
	a, b = g.find(a), g.find(b)
	g.parent[max(a, b)] = min(a, b)
}

// rule applies the operator's decisions and returns the accounts that they are about. A seat
// follows its owner.
func (g *grouping) rule(rulings []Ruling) map[int32]bool {
	ruled := make(map[int32]bool, len(rulings))
	for _, r := range rulings {
		i, known := g.at[r.Account]
		if !known {
			continue
		}
		ruled[i] = true
		if with, known := g.at[r.With]; known {
			g.union(i, with)
		}
	}
	for i := range g.accounts {
		owner, is := g.at[g.accounts[i].Parent]
		if !is {
			continue
		}
		g.union(int32(i), owner)
		if ruled[owner] {
			ruled[int32(i)] = true
		}
	}
	return ruled
}

// join unites accounts of one mailbox or payment instrument.
func (g *grouping) join(marks []Mark, ruled map[int32]bool) {
	mailboxes := make(map[string]int32, len(g.accounts))
	for i := range g.accounts {
		box := g.accounts[i].Mailbox
		if box == "" || ruled[int32(i)] {
			continue
		}
		if first, known := mailboxes[box]; known {
			g.union(int32(i), first)
		} else {
			mailboxes[box] = int32(i)
		}
	}
	type fact struct {
		kind MarkKind
		hash [16]byte
	}
	holders := make(map[fact]int32, len(marks))
	for _, m := range marks {
		i, known := g.at[m.Account]
		if !known || ruled[i] || m.Kind == MarkNetwork {
			continue
		}
		key := fact{m.Kind, m.Hash}
		if first, known := holders[key]; known {
			g.union(i, first)
		} else {
			holders[key] = i
		}
	}
	for i := range g.accounts {
		if g.accounts[i].Charged {
			g.charged[g.find(int32(i))] = true
		}
	}
}

// bind binds families that were never charged to older ones.
func (g *grouping) bind(ads []Ad, ruled map[int32]bool) {
	for i := range g.accounts {
		if beside, known := g.at[g.accounts[i].Beside]; known {
			g.tie(int32(i), beside, ruled)
		}
	}
	for newer, older := range g.likeAds(ads) {
		g.tie(newer, older, ruled)
	}
}

// tie binds the family of newer to that of older if it may be bound. Of several families the oldest
// is taken.
func (g *grouping) tie(newer, older int32, ruled map[int32]bool) {
	from, to := g.find(newer), g.find(older)
	if newer <= older || from <= to || g.charged[from] || ruled[newer] {
		return
	}
	if g.bound[from] == none || to < g.bound[from] {
		g.bound[from] = to
	}
}

// members follows each bind to a family that is not bound itself. A bind leads to an older family,
// so there are no cycles.
func (g *grouping) members() map[uuid.UUID]Member {
	places := make(map[uuid.UUID]Member)
	for i := range g.accounts {
		root := g.find(int32(i))
		m := Member{Family: g.accounts[root].ID}
		for g.bound[root] != none {
			root = g.bound[root]
			m.BoundTo = g.accounts[root].ID
		}
		if m.Family != g.accounts[i].ID || m.BoundTo != uuid.Nil {
			places[g.accounts[i].ID] = m
		}
	}
	return places
}
