package standing

import (
	"slices"

	"github.com/google/uuid"

	"adnet/internal/account/family"
	"adnet/internal/report"
)

// relations are the families of publishers and of campaigns.
type relations struct {
	developers map[uuid.UUID]uuid.UUID // family by developer id
	campaigns  map[uuid.UUID]follow
	families   map[uuid.UUID]family.Member
	demo       map[uuid.UUID]bool // families of demo accounts
}

// relations returns the relations of all accounts to the campaigns.
func (p *people) relations(campaigns map[uuid.UUID]follow) relations {
	of := relations{
		developers: make(map[uuid.UUID]uuid.UUID, len(p.accounts)), campaigns: campaigns, families: p.families,
		demo: p.demo,
	}
	for i := range p.accounts {
		of.developers[p.accounts[i].Developer] = family.Of(p.families, p.accounts[i].ID).Family
	}
	return of
}

// addAdvertisers adds the owners of campaigns to the families that have publishers, and removes the
// others.
func (r *relations) addAdvertisers(families map[uuid.UUID]*report.Relatives, campaigns map[uuid.UUID]counts) {
	added := map[uuid.UUID]bool{}
	for id := range campaigns {
		k, known := r.campaigns[id]
		if !known || added[k.advertiser] {
			continue
		}
		added[k.advertiser] = true
		if f := families[family.Of(r.families, k.advertiser).Family]; f != nil {
			f.Advertisers = append(f.Advertisers, k.advertiser)
		}
	}
	for id, f := range families {
		if len(f.Advertisers) == 0 {
			delete(families, id)
		}
	}
}

// strangers pairs the publishers of the demo with the other advertisers, and the other publishers
// with the advertisers of the demo: the demo teaches nothing about others.
func (r *relations) strangers(families map[uuid.UUID]*report.Relatives, campaigns map[uuid.UUID]counts) [2]report.Relatives {
	var pairs [2]report.Relatives
	side := func(of uuid.UUID) *report.Relatives {
		if r.demo[of] {
			return &pairs[1]
		}
		return &pairs[0]
	}
	for id, f := range families {
		at := side(id)
		at.Developers = append(at.Developers, f.Developers...)
	}
	added := map[uuid.UUID]bool{}
	for id := range campaigns {
		if k, known := r.campaigns[id]; known && !added[k.advertiser] {
			added[k.advertiser] = true
			at := side(family.Of(r.families, k.advertiser).Family)
			at.Advertisers = append(at.Advertisers, k.advertiser)
		}
	}
	pairs[0].Advertisers, pairs[1].Advertisers = pairs[1].Advertisers, pairs[0].Advertisers
	return pairs
}

func add(families map[uuid.UUID]*report.Relatives, id uuid.UUID) *report.Relatives {
	if families[id] == nil {
		families[id] = &report.Relatives{}
	}
	return families[id]
}

// batches divides families into queries. A family that is too large for one has several for itself,
// as an account may be in one family of a query only.
func batches(families map[uuid.UUID]*report.Relatives) (queries [][]report.Relatives) {
	var open []report.Relatives
	ids := 0
	for _, f := range families {
		n := len(f.Advertisers) + len(f.Developers)
		if n > report.MaxRelatives {
			for advertisers := range slices.Chunk(f.Advertisers, report.MaxRelatives/2) {
				for developers := range slices.Chunk(f.Developers, report.MaxRelatives/2) {
					queries = append(queries, []report.Relatives{{Advertisers: advertisers, Developers: developers}})
				}
			}
			continue
		}
		if ids+n > report.MaxRelatives {
			queries, open, ids = append(queries, open), nil, 0
		}
		open, ids = append(open, *f), ids+n
	}
	if len(open) > 0 {
		queries = append(queries, open)
	}
	return queries
}
