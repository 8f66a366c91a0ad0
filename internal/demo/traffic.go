package demo

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/token"
	"adnet/internal/traffic"
	"adnet/schemas/event"
)

// place is a publisher of the history.
type place struct {
	email, name, method, surface, host string
	share                              int // of a hundred requests

	account   account.User
	developer uuid.UUID
}

// places are the publishers, each with a mail domain of its own. The first one is [Publisher].
var places = []place{
	{email: Publisher, name: publisherName, method: traffic.MethodREST, surface: "chat", host: "fernwick", share: 50},
	{
		email: "publisher2@marrowstone.example", name: "Marrowstone Docs", method: traffic.MethodMCP,
		surface: "tool_result", host: "cursor", share: 30,
	},
	{email: "publisher3@tidewell.example", name: "Tidewell Reader", method: "js_snippet", surface: "card", share: 20},
}

const (
	seed = 0x61646e6574 // of the history: "adnet"
	// spoiltAgo is the day on which most impressions of the last publisher are invalid.
	spoiltAgo = 5
)

// hours is the weight of each hour of a day, UTC.
var hours = [24]int{2, 1, 1, 1, 1, 2, 4, 7, 10, 12, 13, 13, 12, 12, 13, 14, 13, 12, 10, 9, 8, 7, 5, 3}

// weekend is the part of a working day's requests on a Saturday and Sunday, in hundredths.
const weekend = 62

// writer makes the records of one day.
type writer struct {
	*rand.Rand
	past  *past
	until time.Time
	ago   int
	auctions,
	events []event.Record
}

// traffic returns the log of a day until a time.
func (p *past) traffic(date day.Day, until time.Time, ago int) Log {
	w := &writer{
		Rand: rand.New(rand.NewPCG(seed, uint64(date))), past: p, until: until, ago: ago, //nolint:gosec // numbers to look at
	}
	n := w.near(p.Requests / (Days - Days*2/7*(100-weekend)/100))
	if at := date.Time().Weekday(); at == time.Saturday || at == time.Sunday {
		n = n * weekend / 100
	}
	for range n {
		at := date.Time().Add(time.Duration(w.hour())*time.Hour + time.Duration(w.Int64N(int64(time.Hour))))
		// Drawn before the cut, so that the rest of the day does not change what was.
		r := rand.New(rand.NewPCG(w.Uint64(), w.Uint64())) //nolint:gosec // as above
		if at = at.Truncate(time.Millisecond); !at.After(until) {
			(&request{Rand: r, writer: w, at: at}).write()
		}
	}
	for _, list := range [][]event.Record{w.auctions, w.events} {
		slices.SortStableFunc(list, func(a, b event.Record) int { return a.Time.Compare(b.Time) })
	}
	return Log{Until: until, Auctions: w.auctions, Events: w.events}
}

// near returns n, or up to an eighth more or less.
func (w *writer) near(n int) int { return n*7/8 + w.IntN(n/4+1) }

func (w *writer) hour() int {
	sum := 0
	for _, weight := range hours {
		sum += weight
	}
	left := w.IntN(sum)
	for hour, weight := range hours {
		if left -= weight; left < 0 {
			return hour
		}
	}
	return 0
}

// request is one ad request with what follows it.
type request struct {
	*rand.Rand
	writer *writer
	at     time.Time
	from   *place
	of     *Request
	id     uuid.UUID
}

// percent reports whether a chance in a hundred came.
func (r *request) percent(n int) bool { return r.IntN(100) < n }

func (r *request) write() {
	p := r.writer.past
	left := r.IntN(100)
	for i := range p.publishers {
		if r.from = &p.publishers[i]; left < r.from.share {
			break
		}
		left -= r.from.share
	}
	r.id = r.uuid(r.at)
	chosen := p.ads[r.IntN(len(p.ads))]
	r.of = &chosen.of
	reason, verdict := "", ""
	switch n := r.IntN(100); {
	case n < 3:
		r.of, reason, verdict = &p.quiet[r.IntN(len(p.quiet))], "unsuitable", "self_harm"
	case n < 7:
		reason = "frequency_capped"
	case n < 10:
		reason = "below_floor"
	case len(chosen.campaigns) == 0:
		reason = "no_match"
	}
	if reason != "" {
		r.auction(reason, verdict, nil)
		return
	}
	winner := r.choose(chosen.campaigns)
	r.auction("", "", winner)
	r.shown(winner)
}

// choose returns one of the campaigns; the best one most often.
func (r *request) choose(list []campaign.Campaign) *campaign.Campaign {
	for i := range list {
		if i == len(list)-1 || r.percent(60) {
			return &list[i]
		}
	}
	return nil
}

// uuid returns an id of a time.
func (r *request) uuid(at time.Time) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:8], uint64(at.UnixMilli())<<16|uint64(r.Uint32N(1<<12))) //nolint:gosec // a time of today
	binary.BigEndian.PutUint64(id[8:], r.Uint64())
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id
}

func (r *request) placement(format string) *event.Placement {
	host := r.from.host
	if host == "" {
		host = r.of.HostApp
	}
	return &event.Placement{
		Format: format, IntegrationMethod: r.from.method, Surface: r.from.surface, Region: r.of.UserRegion,
		Language: r.of.Lang, HostApp: host,
	}
}

// auction writes the outcome: the winner, or the reason why there is none.
func (r *request) auction(reason, subject string, winner *campaign.Campaign) {
	m := &event.Auction{
		AuctionId: r.id[:], AtUs: r.at.UnixMicro(), DeveloperId: r.from.developer[:], Reason: reason,
		Placement: r.placement("embed"), TookUs: 150 + r.Int64N(400), Tokens: 5 + r.Uint32N(30),
	}
	if winner != nil {
		m.CampaignId, m.PriceMicros, m.EcpmMicros = winner.ID[:], int64(priceOf(winner)), int64(worthOf(winner))
		m.CreativeFormat = string(winner.Format)
		m.Candidates = []*event.Candidate{{CampaignId: winner.ID[:], EcpmMicros: m.EcpmMicros}}
	}
	if subject != "" {
		m.Suitability, m.SuitabilityBy, m.Tokens, m.Placement.Region = subject, "rule", 0, ""
	}
	value, err := proto.Marshal(m)
	if err != nil {
		panic(err) // the message is made above
	}
	w := r.writer
	w.auctions = append(w.auctions, event.Record{Value: w.past.Keys.Outcomes().Close(value, 0), Time: r.at})
}

// priceOf returns the price of a billed unit of a campaign.
func priceOf(c *campaign.Campaign) money.Micros {
	if c.BillingModel.Thousands() {
		return c.BidAmount.PerMille()
	}
	return c.BidAmount
}

// worthOf returns what a thousand impressions of a campaign are worth.
func worthOf(c *campaign.Campaign) money.Micros {
	switch c.BillingModel {
	case campaign.CPC:
		return c.BidAmount * 30
	case campaign.CPA:
		return c.BidAmount * 5
	}
	return c.BidAmount
}

// shown writes the events of an ad.
func (r *request) shown(c *campaign.Campaign) {
	if r.percent(6) { // never displayed
		return
	}
	at := r.at.Add(time.Second + time.Duration(r.Int64N(int64(2*time.Second))))
	invalid := 2
	if w := r.writer; w.ago == spoiltAgo && r.from.email == places[len(places)-1].email {
		invalid = 85
	}
	if r.percent(invalid) {
		r.event(c, event.Type_IMPRESSION, at, traffic.RuleBot)
		return
	}
	r.event(c, event.Type_IMPRESSION, at, "")
	r.writer.past.note(r, c, at)
	if r.percent(62) {
		r.event(c, event.Type_VIEWABLE, at.Add(time.Second), "")
	}
	if r.percent(96) {
		if r.percent(2) {
			r.event(c, event.Type_CLOSE, at.Add(4*time.Second), "")
		}
		return
	}
	at = at.Add(3*time.Second + time.Duration(r.Int64N(int64(20*time.Second))))
	r.event(c, event.Type_CLICK, at, "")
	if r.percent(30) {
		r.event(c, event.Type_CONVERSION, at.Add(time.Minute+time.Duration(r.Int64N(int64(time.Hour)))), "")
	}
}

// event writes one event, unless it is after the end of the log.
func (r *request) event(c *campaign.Campaign, kind event.Type, at time.Time, invalid string) {
	id := r.uuid(at)
	m := &event.Event{
		EventId: id[:], Type: kind, Proof: event.Proof_SIGNED, ReceivedAtUs: at.UnixMicro(), AuctionId: r.id[:],
		CampaignId: c.ID[:], AdvertiserId: c.AdvertiserID[:], DeveloperId: r.from.developer[:],
		PriceMicros: int64(priceOf(c)), Placement: r.placement(string(c.Format)), InvalidTraffic: invalid,
		BillingModel: event.BillingModel(event.BillingModel_value[strings.ToUpper(string(c.BillingModel))]),
	}
	if kind == event.Type_CLICK {
		m.NetworkMark, m.FromReader = 1+r.Uint32N(1<<16-1), true
	}
	if kind == event.Type_CONVERSION {
		m.Conversion = &event.Conversion{
			Type: c.ConversionType, ValueMicros: int64(5+r.IntN(120)) * int64(money.USD), Currency: "USD", Verified: true,
		}
		if c.ConversionType == "" {
			m.Conversion.Type = []string{"signup", "purchase"}[r.IntN(2)]
		}
	}
	w := r.writer
	if at.After(w.until) {
		return
	}
	w.past.sign(m)
	value, err := proto.Marshal(m)
	if err != nil {
		panic(err) // the message is made above
	}
	w.events = append(w.events, event.Record{Value: value, Time: at})
}

// sign gives an event the token that proves it.
func (p *past) sign(m *event.Event) {
	purpose := token.PurposeReport
	if m.Type == event.Type_CONVERSION {
		purpose = token.PurposeConverted
	}
	at := m.Placement
	model, _ := m.BillingModel.Name()
	m.Token = p.Keys.AppendRaw(nil, p.Keys.Sign(purpose, token.Auction{
		AuctionID: uuid.UUID(m.AuctionId), CampaignID: uuid.UUID(m.CampaignId), AdvertiserID: uuid.UUID(m.AdvertiserId),
		DeveloperID: uuid.UUID(m.DeveloperId), Price: money.Micros(m.PriceMicros), BillingModel: model,
		Format: at.Format, IntegrationMethod: at.IntegrationMethod, Surface: at.Surface, Region: at.Region,
		Language: at.Language, HostApp: at.HostApp,
	}))
}
