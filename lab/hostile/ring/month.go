package ring

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/consumers/credit"
	"adnet/consumers/quarantine"
	"adnet/consumers/standing"
	"adnet/ingress/limits"
	"adnet/internal/account"
	"adnet/internal/account/family"
	"adnet/internal/campaign"
	"adnet/internal/ledger"
	"adnet/internal/ledger/owed"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/internal/store/memory"
	"adnet/internal/store/memory/analytics"
	"adnet/internal/stream"
	"adnet/internal/traffic"
)

const (
	ticks       = 48                  // of a day: events are settled, and all rules are applied
	warmUp      = 2 * ticks           // traffic before the ring
	age         = 40 * 24 * time.Hour // of the honest accounts before that
	perTick     = 60                  // requests of honest publishers
	creditValue = 5_000
	// The usual rates of clicks and of conversions after clicks.
	clickRate, convertRate = 0.0173, 0.0346
	viewRate               = 0.6
	highestPrice           = 5 * money.USD // of 1,000 impressions
	topics                 = 3             // that honest advertisers compete for
	ringTopic              = topics
)

// person is an account.
type person struct{ id, developer uuid.UUID }

// entry is a campaign of the month.
type entry struct {
	id        uuid.UUID
	owner     person
	ring      bool
	billing   campaign.BillingModel
	room      money.Micros // left of its budgets, less the expected price of ads of this tick
	displayed money.Micros // value of its ads at honest publishers
	charged   money.Micros
	acts      int64 // charged ones at publishers of other families
}

// month is one play.
type month struct {
	strategy Strategy
	rng      *rand.Rand
	now      time.Time
	began    time.Time // of the ring
	day      int       // since then
	turn     int
	store    *memory.Stores
	reports  *analytics.Store

	standings *standing.Standings
	releaser  *credit.Releaser
	detector  *quarantine.Detector
	limits    *limits.Limits

	publishers, ring []person // honest publishers, and all accounts of the ring
	campaigns        []*entry
	byID             map[auction.ID]*entry
	snapshot         *auction.Snapshot
	scratch          auction.Scratch
	gate             auction.Gate
	batch            []ledger.Record
	offset           int64
	spent            map[uuid.UUID]money.Credits // of the ring's publishers, by developer

	// Ads of honest advertisers, at honest publishers and at those of the ring, and the charges at
	// honest ones.
	shownAt   [2]int
	chargedAt money.Micros
	out       Outcome
}

func newMonth(s Strategy, rng *rand.Rand) *month {
	m := &month{
		strategy: s, rng: rng, now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), byID: map[auction.ID]*entry{},
		spent: map[uuid.UUID]money.Credits{}, reports: analytics.New(),
	}
	clock := func() time.Time { return m.now }
	m.store = memory.New(clock)
	m.gate = auction.GateFunc(m.afford)
	return m
}

// populate creates the accounts, their campaigns and the components.
func (m *month) populate(ctx context.Context) (err error) {
	clock, quiet := func() time.Time { return m.now }, slog.New(slog.DiscardHandler)
	m.standings = standing.New(standing.Deps{
		Log: quiet, Metrics: prometheus.NewRegistry(), Source: m.reports, Ads: m.reports,
		Cases: m.store.Publishers, Store: m.store.Campaigns,
		Families: m.store.Families, Judge: owed.Judge, Now: clock,
	})
	if m.releaser, err = credit.New(
		credit.Config{Hold: 24 * time.Hour, LongHold: 24 * time.Hour, Value: creditValue},
		credit.Deps{Store: m.store.Ledger, Log: quiet, Metrics: prometheus.NewRegistry(), Now: clock},
	); err != nil {
		return err
	}
	if m.detector, err = quarantine.New(
		quarantine.Config{MinEvents: 1000, CTR: 0.5, InvalidShare: 0.5, Surge: 10, Network: "on", Readers: 1000},
		quarantine.Deps{
			Store: m.store.Publishers, Ads: m.reports, Log: quiet, Metrics: prometheus.NewRegistry(), Now: clock,
		},
	); err != nil {
		return err
	}
	if m.limits, err = limits.New(
		limits.Config{PostedClickRate: 0.01, PostedViewRate: 0.5}, limits.Deps{Now: clock},
	); err != nil {
		return err
	}
	for n := range 10 { // honest advertisers; the last one bids little for the ring's topic
		owner, err := m.account(ctx, fmt.Sprintf("a@shop%d.example", n))
		if err != nil {
			return err
		}
		if err := m.pay(ctx, owner, 20_000*money.USD); err != nil {
			return err
		}
		billing := []campaign.BillingModel{campaign.CPM, campaign.CPC, campaign.CPA}[n%3]
		bid := []money.Micros{2 * money.USD, money.USD / 5, 5 * money.USD}[n%3]
		if m.strategy.Views && billing == campaign.CPM {
			billing, bid = campaign.VCPM, 3*money.USD
		}
		if n/3 == ringTopic {
			bid = money.USD / 2
		}
		if err := m.advertise(ctx, &entry{owner: owner, billing: billing}, bid, n/3, true); err != nil {
			return err
		}
	}
	for n := range 6 {
		p, err := m.account(ctx, fmt.Sprintf("p@site%d.example", n))
		if err != nil {
			return err
		}
		m.publishers = append(m.publishers, p)
	}
	m.now = m.now.Add(age)
	for range warmUp {
		if err := m.tick(ctx); err != nil {
			return err
		}
	}
	m.out.Requests, m.began = 0, m.now
	return m.conspire(ctx)
}

// conspire creates the ring. Its advertisers pay in 200 USD each.
func (m *month) conspire(ctx context.Context) error {
	s := &m.strategy
	for n := range s.Advertisers + s.Publishers {
		who, err := m.account(ctx, fmt.Sprintf("r%d@ring%d.example", n, n%s.Families))
		if err != nil {
			return err
		}
		m.ring = append(m.ring, who)
		if n >= s.Advertisers {
			continue
		}
		if err := m.pay(ctx, who, 200*money.USD); err != nil {
			return err
		}
		e := &entry{owner: who, billing: s.Billing, ring: true}
		if err := m.advertise(ctx, e, s.Bid, ringTopic, s.Reviewed); err != nil {
			return err
		}
	}
	if s.Billing.Thousands() { // owes nothing
		return nil
	}
	allowance := owed.Allowance
	if s.Reviewed {
		allowance = owed.ReviewedAllowance
	}
	// Families without charges make a sixth of the network's rates, so their ads count for less.
	// The ads of a tick come on top, at the highest price of the market.
	m.out.Allowance = money.Micros(min(s.Families, s.Advertisers))*allowance*6/5 + perTick*highestPrice/1000
	return nil
}

func (m *month) id() (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:], m.rng.Uint64())
	binary.BigEndian.PutUint64(id[8:], m.rng.Uint64())
	ms := uint64(m.now.UnixMilli())
	id[0], id[1], id[2], id[3], id[4], id[5] = byte(ms>>40), byte(ms>>32), byte(ms>>24), byte(ms>>16), byte(ms>>8),
		byte(ms)
	id[6], id[8] = 0x70|id[6]&0x0f, 0x80|id[8]&0x3f
	return id
}

func (m *month) account(ctx context.Context, email string) (person, error) {
	m.now = m.now.Add(time.Second)
	u := account.User{
		ID: m.id(), DeveloperID: m.id(), Email: email, PasswordHash: "x", Role: account.RoleAdvertiser, TokenVersion: 1,
		CreatedAt: m.now, Mailbox: family.Providers{}.Mailbox(email),
	}
	return person{u.ID, u.DeveloperID}, m.store.Accounts.CreateUser(ctx, u)
}

func (m *month) pay(ctx context.Context, who person, amount money.Micros) error {
	name := m.id().String()
	_, err := m.store.Payments.ApplyNotice(ctx, ledger.Notice{
		Provider: ledger.Stripe, EventID: "evt_" + name, Kind: ledger.NoticePaid, PaymentID: "pi_" + name,
		Amount: amount,
		Names:  []uuid.UUID{who.id}, At: m.now,
	})
	return err
}

// advertise creates a campaign for a topic; those of the ring also compete for others' topics.
func (m *month) advertise(ctx context.Context, e *entry, bid money.Micros, topic int, reviewed bool) error {
	e.id = m.id()
	c := campaign.Campaign{
		ID: e.id, AdvertiserID: e.owner.id, Name: "n", Status: campaign.Active, Creative: campaign.Creative{
			Format: campaign.Native, Headline: fmt.Sprintf("Offer %s", e.id.String()[30:]),
			CTAURL: "https://" + e.id.String()[24:] + ".example/",
		},
		BillingModel: e.billing, BidAmount: bid, DailyBudget: 1_000 * money.USD, TotalBudget: 20_000 * money.USD,
		Goal: campaign.GoalManual, Targeting: campaign.Targeting{IntentTokens: []string{topicName(topic)}},
	}
	if e.billing == campaign.VCPM {
		c.BillingModel, c.BillingEvent = campaign.CPM, campaign.OnView
	}
	if reviewed {
		c.Review = &campaign.Review{Decision: "approved", ReviewerID: m.id(), At: m.now}
	}
	_, err := m.store.Campaigns.CreateCampaign(ctx, campaign.NewCampaign{Campaign: c})
	m.campaigns = append(m.campaigns, e)
	m.byID[auction.ID(e.id)] = e
	return err
}

func topicName(n int) string { return []string{"kayaks", "lanterns", "sledges", "ringword"}[n] }

// tick plays half an hour: requests by the state of its start, then every rule of production.
func (m *month) tick(ctx context.Context) error {
	if err := m.follow(ctx); err != nil {
		return err
	}
	m.requests()
	m.now = m.now.Add(24 * time.Hour / ticks)
	m.day = int(m.now.Sub(m.began).Hours() / 24)
	if err := m.settle(ctx); err != nil {
		return err
	}
	if err := m.standings.Turn(ctx); err != nil || m.offTurn() {
		return err
	}
	if err := family.Regroup(ctx, m.store.Families); err != nil {
		return err
	}
	if _, err := m.releaser.Release(ctx); err != nil {
		return err
	}
	if _, err := m.detector.Judge(ctx); err != nil {
		return err
	}
	if m.strategy.Spends {
		return m.spend(ctx)
	}
	return nil
}

// offTurn reports whether this tick leaves out what is computed twice a day.
func (m *month) offTurn() bool {
	m.turn++
	return m.turn%(ticks/2) != 1
}

// follow rebuilds the snapshot from the stored campaigns, and their rooms.
func (m *month) follow(ctx context.Context) error {
	list := make([]auction.Campaign, 0, len(m.campaigns))
	for _, e := range m.campaigns {
		c, err := m.store.Campaigns.Campaign(ctx, e.id)
		if err != nil {
			return err
		}
		balance, err := m.store.Ledger.AdvertiserBalance(ctx, e.owner.id)
		if err != nil {
			return err
		}
		e.room = min(balance, c.DailyBudget-c.SpentToday, c.TotalBudget-c.SpentTotal)
		tokens := c.IntentTokens
		if e.ring && m.day >= m.strategy.Age { // copies of its rivals' words
			for n := range topics {
				tokens = append(tokens[:len(tokens):len(tokens)], topicName(n))
			}
		}
		list = append(list, entryOf(&c, tokens))
	}
	m.snapshot = index.Build(ranker.Version2(), list)
	return nil
}

// entryOf returns the auction's view of a campaign.
func entryOf(c *campaign.Campaign, tokens []string) auction.Campaign {
	billing, _ := ranker.ParseBilling(string(c.Billing()))
	s := &c.Standing
	of := auction.Campaign{
		ID: auction.ID(c.ID), Advertiser: auction.ID(c.AdvertiserID), Family: auction.ID(s.Family), Bid: c.BidAmount,
		Billing: billing, Headline: c.Headline, Vote: uint32(s.Vote), ClickRate: uint32(s.ClickRate),
		ConvertRate: uint32(s.ConvertRate), Ceiling: s.Ceiling, Targeting: &auction.Targeting{IntentTokens: tokens},
	}
	switch s.Bound {
	case campaign.Unproven:
		of.Bound = index.BoundUnproven
	case campaign.Behind:
		of.Bound = index.BoundBehind
	}
	return of
}

// afford is the gate of budgets.
func (m *month) afford(c *auction.Campaign, of auction.Valuation) auction.Reason {
	if m.byID[c.ID].room < of.Price {
		return auction.Budget
	}
	return ""
}

// spend lets the ring's Credits buy ads: as cash of the same value, which counts as nothing paid.
func (m *month) spend(ctx context.Context) error {
	for i, p := range m.ring {
		b, err := m.store.Ledger.CreditBalance(ctx, p.developer)
		if err != nil {
			return err
		}
		free := b.Spendable - m.spent[p.developer]
		if free < 100 {
			continue
		}
		m.spent[p.developer] += free
		value := money.Micros(free) * creditValue
		m.out.Bought += value
		if err := m.pay(ctx, m.ring[i%m.strategy.Advertisers], value); err != nil {
			return err
		}
	}
	return nil
}

// settle applies the events of the tick and puts them into the archive.
func (m *month) settle(ctx context.Context) error {
	if len(m.batch) == 0 {
		return nil
	}
	partition := stream.Partition{Stream: "month", Number: 0}
	next := m.offset + int64(len(m.batch))
	b := ledger.Batch{
		At: m.now, Prepaid: true,
		Runs: []ledger.Run{{Range: stream.Range{Partition: partition, First: m.offset, Next: next}, Records: m.batch}},
	}
	m.offset = next
	var effects ledger.Effects
	if err := m.store.Ledger.InTx(ctx, func(tx ledger.Tx) (err error) {
		effects, err = ledger.Settle(ctx, tx, &b, decoded)
		return err
	}); err != nil {
		return err
	}
	rows := make([]report.Row, 0, len(m.batch))
	for n, applied := range effects.Applied {
		for i, outcome := range applied.Outcomes {
			if outcome.Verdict == ledger.VerdictEarly {
				continue
			}
			e := &b.Runs[n].Records[i].Event
			m.count(e, outcome)
			rows = append(rows, report.Row{
				EventID: m.id(), ReceivedAt: e.ReceivedAt, Type: e.Type, Verdict: outcome.Verdict, Price: e.Price,
				Charge: outcome.Charge, Minted: outcome.Minted, Credit: outcome.Credit, AuctionID: e.AuctionID,
				CampaignID: e.CampaignID, AdvertiserID: e.AdvertiserID, DeveloperID: e.DeveloperID,
				BillingModel: string(e.BillingModel), Format: "native", IntegrationMethod: m.method(e),
			})
		}
	}
	m.batch = m.batch[:0]
	return m.reports.Insert(ctx, fmt.Sprint(next), rows)
}

// decoded returns the record of an act that waited for a decision.
func decoded(value []byte, written time.Time) ledger.Record {
	r := ledger.Record{Raw: value, Written: written}
	if err := json.Unmarshal(value, &r.Event); err != nil {
		r.Problem = err.Error()
	}
	return r
}

// method returns the integration method of an event's publisher.
func (m *month) method(e *ledger.Event) string {
	if m.strategy.Server && m.ours(e.DeveloperID) {
		return traffic.MethodREST
	}
	return "js_snippet"
}

// count adds a charge to the sums of its campaign, or of where the ad was shown.
func (m *month) count(e *ledger.Event, outcome ledger.Outcome) {
	c, here := m.byID[auction.ID(e.CampaignID)], 0
	if m.ours(e.DeveloperID) {
		here = 1
	}
	switch {
	case !c.ring:
		if here == 1 {
			m.out.addOthers(outcome.Charge)
		} else {
			m.chargedAt += outcome.Charge
		}
	case outcome.Charge > 0:
		c.charged += outcome.Charge
		if m.place(e.DeveloperID)%m.strategy.Families != m.place(c.owner.developer)%m.strategy.Families {
			c.acts++
		}
	}
}

func (m *month) ours(developer uuid.UUID) bool { return m.place(developer) >= 0 }

// place returns the number of an account of the ring, -1 for others.
func (m *month) place(developer uuid.UUID) int {
	return slices.IndexFunc(m.ring, func(p person) bool { return p.developer == developer })
}
