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
}

// relations returns the relations of all accounts to the campaigns.
func (p *people) relations(campaigns map[uuid.UUID]follow) relations {
	of := relations{
		developers: make(map[uuid.UUID]uuid.UUID, len(p.accounts)), campaigns: campaigns, families: p.families,
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
