package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"adnet/cmd/load/visitor"
	"adnet/internal/process/schedule"
	"adnet/internal/token"
	base "adnet/lab/site"
)

// budget is a campaign of the run. Amounts are micro-USD.
type budget struct {
	id, owner, word string
	advertiser      string
	model           string // a billing model, or vcpm: cpm that is paid on view
	daily, total    int64
	limit           string      // the limit to exhaust, or ""
	seller          string      // credential for conversions: a key of the campaign, or the owner's login
	refused         atomic.Bool // a request was unfilled because of the budget
}

// offer describes a campaign to create. Budgets are in USD.
type offer struct {
	name, model  string
	bid          float64
	daily, total int64
	limit        string
}

// onView is the model of a cpm campaign that pays for views.
const onView = "vcpm"

// shows maps a model to the event of its reservation. Reservations of the other models end with a
// click.
var shows = map[string]string{"cpm": "impression", onView: "viewable"}

// Exhaustible limits.
const (
	dailyBudget = "daily_budget"
	totalBudget = "total_budget"
	balance     = "balance"
)

// pauseMark is a pause as observed by its caller, in adnet's clock.
type pauseMark struct {
	campaign string
	from, to time.Time // after the reply of the pause, before the request to resume
}

// site holds the accounts and campaigns of the run.
type site struct {
	s       *suite
	visitor *base.People
	ring    *token.Keyring
	keys    []string // of publishers
	page    string   // a browser key of one of them

	mu       sync.Mutex
	list     []*budget
	pauses   []pauseMark
	deposits map[string]int64 // micro-USD by advertiser
}

// openSite creates publishers and the first campaigns before any fault.
func openSite(ctx context.Context, s *suite) (*site, error) {
	t := &site{s: s, deposits: make(map[string]int64)}
	var calls atomic.Uint64
	t.visitor = &base.People{Secret: s.paySecret, Now: s.now, Client: &visitor.Client{
		HTTP: visitor.NewHTTP(5 * time.Second), Tries: 6, Base: func() string {
			return "http://" + s.nodes.ingress[calls.Add(1)%2].http
		},
	}}
	for _, setting := range s.nodes.ingress[0].env {
		if value, ok := strings.CutPrefix(setting, "ADNET_TOKEN_KEYS="); ok {
			var err error
			if t.ring, err = base.Ring(value); err != nil {
				return nil, err
			}
		}
	}
	for i := range 4 {
		who, err := t.register(ctx, fmt.Sprintf("publisher-%d", i))
		if err != nil {
			return nil, err
		}
		key, err := t.visitor.Key(ctx, who.Bearer, visitor.Object{"kind": "publisher", "name": "fault"})
		if err != nil {
			return nil, err
		}
		t.keys = append(t.keys, key)
		if t.page, err = t.visitor.Key(ctx, who.Bearer, visitor.Object{
			"kind": "browser", "name": "fault", "origins": []string{pageOrigin},
		}); err != nil {
			return nil, err
		}
	}
	for i, b := range []struct {
		model string
		bid   float64
		daily int64
	}{
		{"cpm", 5, plenty}, {"cpm", 7, plenty}, {"cpm", 3, plenty}, {"cpm", 4, plenty}, {"cpc", 0.5, plenty},
		{"cpc", 0.3, plenty},
		{"cpa", 2, plenty}, {"cpa", 3, plenty}, {"cpm", 20, 3}, {"cpm", 30, 2}, {"vcpm", 5, plenty},
		{"vcpm", 9, plenty},
	} {
		who, err := t.advertiser(ctx, fmt.Sprintf("base-%d", i), plenty)
		if err != nil {
			return nil, err
		}
		o := offer{name: fmt.Sprintf("base-%d", i), model: b.model, bid: b.bid, daily: b.daily, total: plenty}
		if b.daily < plenty {
			o.limit = dailyBudget
		}
		if err := t.campaign(ctx, who, o); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// pageOrigin is the origin of pages with a browser key.
const pageOrigin = "https://page.fault.example"

// plenty exceeds the spend of any campaign in a run, in USD.
const plenty = 100_000

// advertiser creates an account with a deposit in USD.
func (t *site) advertiser(ctx context.Context, name string, deposit int64) (visitor.Account, error) {
	who, err := t.register(ctx, name)
	if err != nil {
		return who, err
	}
	return who, t.pay(ctx, who.ID, deposit)
}

// pay pays an advertiser's deposit, in USD. An attempt without an answer may have been credited.
func (t *site) pay(ctx context.Context, advertiser string, amount int64) error {
	if err := t.visitor.Pay(ctx, advertiser, advertiser, amount); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deposits[advertiser] += amount * 1_000_000
	return nil
}

// register creates an account.
func (t *site) register(ctx context.Context, name string) (visitor.Account, error) {
	return t.visitor.Register(ctx, "fault@"+name+".example", "correct horse battery", "")
}

// campaign creates a campaign that delivers at once, for requests with a word of its own.
func (t *site) campaign(ctx context.Context, who visitor.Account, o offer) error {
	word := "zq" + strings.ReplaceAll(o.name, "-", "") + "qz"
	billed, event := o.model, "impression"
	if o.model == onView {
		billed, event = "cpm", "viewable"
	}
	id, err := t.visitor.Campaign(ctx, who, visitor.Object{
		"headline": "Fault " + o.name, "cta_url": "https://fault.example.com/" + o.name,
		"billing_model": billed, "billing_event": event, "bid_amount": o.bid,
		"daily_budget": o.daily, "total_budget": o.total, "target_intent_tokens": []string{word},
	})
	if err != nil {
		return err
	}
	b := &budget{
		id: id, owner: who.Bearer, advertiser: who.ID, word: word,
		model: o.model,
		daily: o.daily * 1_000_000, total: o.total * 1_000_000, limit: o.limit, seller: who.Bearer,
	}
	if o.model == "cpa" {
		b.seller, err = t.visitor.Key(ctx, who.Bearer, visitor.Object{"kind": "conversion", "campaign_id": b.id})
		if err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(t.list, b)
	return nil
}

// campaigns returns a copy of the list.
func (t *site) campaigns() []*budget {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]*budget(nil), t.list...)
}

// now returns the time of adnet's clock.
func (s *suite) now() time.Time { return time.Now().Add(s.clock).UTC() }

// pauseCampaign pauses a campaign that is delivering, for a while. Events that ingress receives
// between the reply and the request to resume must never be charged.
func (t *site) pauseCampaign(ctx context.Context, b *budget, d time.Duration) error {
	change := func(action string) error {
		_, err := t.visitor.Call(ctx, visitor.Request{
			Method: "POST", Path: "/api/campaigns?action=" + action, Bearer: b.owner,
			JSON: visitor.Object{"id": b.id}, Want: 200,
		})
		return err
	}
	if err := change("pause"); err != nil {
		return err
	}
	mark := pauseMark{campaign: b.id, from: t.s.now()}
	_ = schedule.Pause(ctx, d)
	mark.to = t.s.now()
	t.mu.Lock()
	t.pauses = append(t.pauses, mark)
	t.mu.Unlock()
	return change("resume")
}

func parseInt(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
