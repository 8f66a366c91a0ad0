package ring

import (
	"time"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/auction/target"
	"adnet/internal/campaign"
	"adnet/internal/ledger"
	"adnet/internal/money"
)

// requests plays the requests of a tick, of honest publishers and of the ring's.
func (m *month) requests() {
	own := int(float64(perTick)*m.strategy.Own + m.rng.Float64())
	if len(m.ring) == 0 {
		own = 0
	}
	for n := range perTick + own {
		if n < perTick {
			m.request(m.publishers[m.rng.IntN(len(m.publishers))], m.rng.IntN(topics), false)
			continue
		}
		topic := ringTopic
		if m.rng.Float64() < m.strategy.Foreign {
			topic = m.rng.IntN(topics)
		}
		sites := m.ring[m.strategy.Advertisers:]
		m.request(sites[m.rng.IntN(len(sites))], topic, true)
	}
}

// request plays an auction and what the reader does with its ad.
func (m *month) request(site person, topic int, ring bool) {
	m.now = m.now.Add(time.Millisecond)
	if !ring {
		m.out.Requests++
	}
	request := auction.Request{ID: auction.ID(m.id()), Tokens: []string{topicName(topic)}}
	won := auction.Decide(&request, m.snapshot, m.gate, &m.scratch)
	if won.Winner == nil {
		return
	}
	c := m.byID[won.Winner.ID]
	clicks, converts := clickRate, convertRate
	where := 0
	switch {
	case ring:
		clicks, converts, where = m.strategy.Clicks*clickRate, m.strategy.Clicks*convertRate, 1
	case c.ring: // the ad is not made to be clicked
		clicks = 0
		if won.Winner.Bound != target.BoundNone {
			m.out.Held++
		} else {
			m.out.Shown += won.EffectiveCPM / 1000
		}
	}
	if !c.ring {
		m.shownAt[where]++
		if ring {
			converts = convertRate // its advertiser reports them
		}
	}
	clicked := m.rng.Float64() < clicks
	converted := clicked && m.rng.Float64() < converts
	m.event(ledger.Impression, c, site, uuid.UUID(request.ID), won.Price)
	if clicked {
		m.event(ledger.Click, c, site, uuid.UUID(request.ID), won.Price)
	}
	if converted {
		m.event(ledger.Conversion, c, site, uuid.UUID(request.ID), won.Price)
	}
	switch {
	case c.billing == campaign.CPM:
		c.room -= won.Price / 1000
	case clicked && c.billing == campaign.CPC, converted && c.billing == campaign.CPA:
		c.room -= won.Price
	}
}

func (m *month) event(of ledger.EventType, c *entry, site person, id uuid.UUID, price money.Micros) {
	m.batch = append(m.batch, ledger.Record{
		Written: m.now,
		Event: ledger.Event{
			Type: of, Proof: ledger.Signed, ReceivedAt: m.now, AuctionID: id, CampaignID: c.id, AdvertiserID: c.owner.id,
			DeveloperID: site.developer, Price: price, BillingModel: c.billing, FromReader: of == ledger.Click,
		},
	})
}
