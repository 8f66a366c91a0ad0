package ingresstest

import (
	"cmp"
	"net/url"
	"time"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/internal/campaign"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

// Shelf is a catalog: the campaigns that may be served, and the gate's verdict on them.
type Shelf struct {
	Campaigns map[uuid.UUID]*campaign.Campaign
	Stale     bool
	Refuse    auction.Reason                         // for every campaign; "" accepts all
	Check     func(*auction.Campaign) auction.Reason // replaces Refuse if set

	Learnt *ranker.Learnt // ranks the campaigns; nil for none

	Daily money.Micros // daily budget of every campaign; 0 is 50 USD

	snapshot *auction.Snapshot
}

// Put replaces the campaigns on the shelf.
func (s *Shelf) Put(list ...campaign.Campaign) {
	s.Campaigns = map[uuid.UUID]*campaign.Campaign{}
	var entries []auction.Campaign
	for i := range list {
		k := &list[i]
		creative := *k
		creative.Targeting = campaign.Targeting{} // the catalog's creatives have none either
		s.Campaigns[k.ID] = &creative
		billing, _ := ranker.ParseBilling(string(k.Billing()))
		format, _ := index.ParseFormat(string(k.Format))
		domain := ""
		if u, err := url.Parse(k.CTAURL); err == nil {
			domain = u.Hostname()
		}
		t := k.Targeting
		allowed, excluded, trades := k.Suits()
		entries = append(entries, auction.Campaign{
			ID: auction.ID(k.ID), Advertiser: auction.ID(k.AdvertiserID), Bid: k.BidAmount, Billing: billing,
			Format: format, Vote: uint32(campaign.FullVote), // of a family that was charged
			LandingDomain: domain, Headline: k.Headline, Subtext: k.Subtext, MinRelevance: ranker.PPM(k.MinRelevance),
			Suits: auction.Suits{Allowed: allowed, Excluded: excluded, Trades: trades},
			Targeting: &auction.Targeting{
				Exact: k.Mode != campaign.Broad, IntentTokens: t.IntentTokens, ActiveTools: t.ActiveTools,
				HostApps: t.HostApps, Surfaces: t.Surfaces,
				IntegrationMethods: t.IntegrationMethods, Regions: t.Regions, Languages: t.Languages, Deals: k.Deals,
			},
		})
	}
	s.snapshot = index.Build(ranker.Version2().With(s.Learnt), entries)
}

// Snapshot implements offer.Catalog.
func (s *Shelf) Snapshot() *auction.Snapshot { return s.snapshot }

// Version implements offer.Catalog.
func (s *Shelf) Version() int64 { return 77 }

// Fresh implements offer.Catalog.
func (s *Shelf) Fresh(time.Time) bool { return !s.Stale }

// Gate implements offer.Catalog.
func (s *Shelf) Gate(time.Time) auction.Gate {
	return auction.GateFunc(func(c *auction.Campaign, _ auction.Valuation) auction.Reason {
		if s.Check != nil {
			return s.Check(c)
		}
		return s.Refuse
	})
}

// Creative implements offer.Catalog and track.Creatives.
func (s *Shelf) Creative(id uuid.UUID) (*campaign.Campaign, bool) {
	k, ok := s.Campaigns[id]
	return k, ok
}

// Room implements offer.Catalog: an unspent daily budget of 50 USD, or of Daily.
func (s *Shelf) Room(id uuid.UUID) (reserve.Room, bool) {
	daily := cmp.Or(s.Daily, 50*money.USD)
	return reserve.Room{CampaignID: id, Daily: daily, Today: daily, Total: daily, Balance: daily}, true
}
