package ring

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/internal/campaign"
	"adnet/internal/ledger"
	"adnet/internal/traffic"
)

// requests plays the requests of a tick, of honest publishers and of the ring's.
func (m *month) requests() {
	own := int(float64(perTick)*m.strategy.Own + m.rng.Float64())
	if len(m.ring) == 0 {
		own = 0
	}
	for n := range perTick + own {
		if n < perTick {
			topic := m.rng.IntN(topics)
			if m.strategy.Own == 0 && n%10 == 0 { // where few compete, a ring that is never charged wins
				topic = ringTopic
			}
			m.request(m.publishers[m.rng.IntN(len(m.publishers))], topic, false)
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
	request := auction.Request{ID: auction.ID(m.id()), Tokens: []string{topicName(topic)}, Views: true}
	won := auction.Decide(&request, m.snapshot, m.gate, &m.scratch)
	if won.Winner == nil {
		return
	}
	c, id := m.byID[won.Winner.ID], uuid.UUID(request.ID)
	clicks, converts, views := clickRate, convertRate, viewRate
	where := 0
	switch {
	case ring:
		clicks, converts, views = m.strategy.Clicks*clickRate, m.strategy.Clicks*convertRate, m.strategy.Clicks*viewRate
		where = 1
	case c.ring: // the ad is not made to be clicked
		clicks = 0
	}
	if !c.ring {
		m.shownAt[where]++
		if ring {
			converts = convertRate // its advertiser reports them
		}
	}
	clicked, viewed := m.rng.Float64() < clicks, m.rng.Float64() < views
	converted := clicked && m.rng.Float64() < converts
	if c.ring && !ring {
		m.showElsewhere(c, &won, viewed)
	}
	e := ledger.Event{
		Type: ledger.Impression, Proof: ledger.Signed, AuctionID: id, CampaignID: c.id, AdvertiserID: c.owner.id,
		DeveloperID: site.developer, Price: won.Price, BillingModel: c.billing,
	}
	if ring && m.strategy.Server {
		viewed, clicked = m.report(&e, viewed, clicked)
	} else {
		m.read(&e, viewed, clicked)
	}
	if converted {
		e.Type, e.FromReader = ledger.Conversion, false
		m.event(e)
	}
	switch {
	case c.billing == campaign.CPM, viewed && c.billing == campaign.VCPM:
		c.room -= won.Price / 1000
	case clicked && c.billing == campaign.CPC, converted && c.billing == campaign.CPA:
		c.room -= won.Price
	}
}

// showElsewhere adds the value of an ad of the ring at an honest publisher.
func (m *month) showElsewhere(c *entry, won *auction.Outcome, viewed bool) {
	switch {
	case won.Winner.Bound != index.BoundNone:
		m.out.Held++
	case c.billing == campaign.VCPM && !viewed:
	case c.billing.Thousands():
		c.displayed += won.Price / 1000
	default:
		c.displayed += won.EffectiveCPM / 1000
	}
}

// read adds the events of a reader's page.
func (m *month) read(e *ledger.Event, viewed, clicked bool) {
	m.limits.Viewed(e.AuctionID, false)
	m.event(*e)
	if viewed {
		m.limits.Viewed(e.AuctionID, true)
		e.Type = ledger.Viewable
		m.event(*e)
	}
	if clicked {
		m.limits.Followed(e.AuctionID)
		e.Type, e.FromReader = ledger.Click, true
		m.event(*e)
	}
}

// report adds the events that a server reports. It returns those that are within the network's
// rates, which alone are charged.
func (m *month) report(e *ledger.Event, viewed, clicked bool) (views, clicks bool) {
	m.limits.Sold(e.DeveloperID, m.now)
	m.event(*e)
	for _, act := range []struct {
		done    bool
		kind    ledger.EventType
		within  func(publisher, auction uuid.UUID, now time.Time) bool
		rule    string
		counted *bool
	}{
		{viewed, ledger.Viewable, m.limits.ReportedView, traffic.RulePostedViews, &views},
		{clicked, ledger.Click, m.limits.Reported, traffic.RulePostedRate, &clicks},
	} {
		if !act.done {
			continue
		}
		of := *e
		of.Type = act.kind
		if *act.counted = act.within(e.DeveloperID, e.AuctionID, m.now); !*act.counted {
			of.InvalidTraffic = act.rule
			m.out.Refused++
		}
		m.event(of)
	}
	return views, clicks
}

func (m *month) event(e ledger.Event) {
	e.ReceivedAt = m.now
	r := ledger.Record{Written: m.now, Event: e}
	if e.Type == ledger.Click || e.Type == ledger.Conversion { // may wait in the store
		r.Raw, _ = json.Marshal(e) // cannot fail: plain fields
	}
	m.batch = append(m.batch, r)
}
