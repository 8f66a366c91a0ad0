package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"adnet/internal/schedule"
)

// thief is an attack by one person with free accounts that pay nothing: it copies the campaign of a
// paying advertiser, and requests that advertiser's ads without showing them.
type thief struct {
	payer, rival, asked string // campaigns of paying advertisers
	debtor, creditor    string // a campaign with a balance that nobody clicks, and one that pays for impressions
	publisher           person // honest
	accounts            []person
	campaigns           map[string]bool
	reasons             sync.Map // of the last request without an ad, by context
	loot                thiefReport
}

// thiefReport is the part of the report about the thief.
type thiefReport struct {
	Accounts  int `json:"accounts"`
	Campaigns int `json:"campaigns"`
	Unshown   int `json:"ads_never_shown"`

	Won   int   `json:"auctions_won"`
	Lost  int   `json:"auctions_lost_by_payers"`
	Fills int   `json:"fills_changed"`
	Kept  int   `json:"ads_of_the_honest_publisher"` // of probes
	Lent  int   `json:"ads_never_charged"`           // of the debtor, before it was bound
	Bound int   `json:"auctions_won_while_bound"`    // of debtorProbes
	Rows  int64 `json:"rows_left"`
	Bytes int64 `json:"bytes_left"`
	// Tables are those that grew most.
	Tables string `json:"tables"`
}

// The thief's budget, and what it may leave.
const (
	thiefAccounts  = 50
	thiefKeys      = 10
	thiefCampaigns = 3   // of an account
	thiefRequests  = 450 // for ads that it does not show

	thiefRows  = 2_000
	thiefBytes = 5 << 20

	probes = 20

	debtorAds    = 320 // requests for ads of an advertiser that is never charged: above three expected clicks
	debtorProbes = 150 // requests once it is bound, of which it may win a hundredth
	debtorMost   = 6   // by chance
)

// Words and page of the advertiser that the thief copies. Its rival says one word of each pair, so
// the winner of a request with both words depends on their weights.
const (
	thiefPage  = "https://kayak.example.com/tours"
	rivalPage  = "https://canoe.example.com/tours"
	askedWord  = "zqlanternqz"
	debtorWord = "zqdebtorqz"
)

// probe is a kind of honest requests. Want is the campaign that wins them, or empty for no ad.
type probe struct {
	context string
	want    func(t *thief) string
}

// thiefProbes are requests that the thief's campaigns compete for or might change, and others.
var thiefProbes = []probe{
	{"where can I book zqkayakqz with zqpaddleqz", func(t *thief) string { return t.payer }},
	{"zqkayakqz or zqcanoeqz", func(t *thief) string { return t.payer }},
	{"zqcanoeqz", func(t *thief) string { return t.rival }},
	{"a " + askedWord + " for the tent", func(t *thief) string { return t.asked }},
	{"what is the meaning of life", func(*thief) string { return "" }},
}

// sold counts the winners of each probe.
type sold [5]map[string]int

// thieve runs the thief and compares honest requests, rows and bytes before and after it.
func (s *suite) thieve(ctx context.Context) error {
	t := &s.thief
	if err := t.prepare(ctx, s.world); err != nil {
		return err
	}
	if err := t.lend(ctx, s.world); err != nil {
		return err
	}
	s.say("a thief with %d free accounts", thiefAccounts)
	before, err := t.probe(ctx, s.world)
	if err != nil {
		return err
	}
	empty, err := s.world.stored(ctx)
	if err != nil {
		return err
	}
	for _, act := range []func(context.Context, *world) error{t.register, t.copy, t.hoard} {
		if err := act(ctx, s.world); err != nil {
			return err
		}
	}
	full, err := s.world.stored(ctx)
	if err != nil {
		return err
	}
	t.loot.Rows, t.loot.Bytes, t.loot.Tables = full.all()-empty.all(), full.bytes-empty.bytes, full.since(empty)
	after, err := t.probe(ctx, s.world)
	if err != nil {
		return err
	}
	s.judgeThief(before, after)
	return s.judgeDebt(ctx)
}

// prepare creates the paying advertisers and waits until their ads are shown.
func (t *thief) prepare(ctx context.Context, w *world) (err error) {
	t.campaigns = map[string]bool{}
	if t.publisher, err = w.publisher(ctx); err != nil {
		return err
	}
	for _, c := range []struct {
		into           *string
		headline, page string
		words          []string
		bid, daily     float64
	}{
		{&t.payer, "Light kayak tours", thiefPage, []string{"zqkayakqz", "zqpaddleqz"}, 5.2, 1.5},
		{&t.rival, "Canoe rental", rivalPage, []string{"zqcanoeqz"}, 5, 50},
		{&t.asked, "Lanterns", "https://lantern.example.com/", []string{askedWord}, 3, 50},
		{&t.creditor, "Sledges", "https://sledge.example.com/", []string{debtorWord}, 2, 50},
		{&t.debtor, "Sleds", "https://sled.example.com/", []string{debtorWord}, 0, 50},
	} {
		owner, err := w.register(ctx)
		if err != nil {
			return err
		}
		if err := w.pay(ctx, owner.id, 100); err != nil {
			return err
		}
		billing, bid := "cpm", c.bid
		if bid == 0 { // nobody clicks it
			billing, bid = "cpc", 5
		}
		if *c.into, err = w.campaign(ctx, owner, object{
			"headline": c.headline, "subtext": "Guides and gear for a weekend on the river", "cta_url": c.page,
			"billing_model": billing, "bid_amount": bid, "daily_budget": c.daily, "total_budget": 90,
			"target_intent_tokens": c.words,
		}); err != nil {
			return err
		}
	}
	return w.eventually(ctx, func() (bool, error) {
		for _, p := range thiefProbes {
			winner, err := t.ask(ctx, w, p.context)
			if err != nil || winner != p.want(t) {
				return false, err
			}
		}
		return true, nil
	})
}

// patience bounds the waiting for something that adnet does within seconds.
const patience = 25 * time.Second

// eventually waits until a condition holds.
func (w *world) eventually(ctx context.Context, holds func() (bool, error)) error {
	for until := time.Now().Add(patience); ; {
		is, err := holds()
		if is || err != nil {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("what the suite waits for did not happen within %s", patience)
		}
		if err := schedule.Pause(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
}

// ask requests an ad for the honest publisher, which shows it, and returns its campaign; empty
// without an ad.
func (t *thief) ask(ctx context.Context, w *world, text string) (winner string, err error) {
	from := stranger(rand.Uint32())
	var reply object
	for range 20 { // a busy machine has no fresh budgets at times
		if reply, err = w.call(ctx, request{
			method: "POST", path: "/v1/ad-request", bearer: t.publisher.key, json: object{"context": text}, from: from,
			want: 200,
		}); err != nil {
			return "", err
		}
		if reply.text("reason") != "stale" {
			break
		}
		_ = schedule.Pause(ctx, 200*time.Millisecond)
	}
	ad := reply.object("ad")
	if ad == nil {
		t.reasons.Store(text, reply.text("reason"))
		return "", nil
	}
	_, _, _, err = w.send(ctx, request{method: "GET", path: ad.text("impression_url"), from: from})
	return ad.text("ad_id"), err
}

// lend shows ads of the debtor, whose balance stays.
func (t *thief) lend(ctx context.Context, w *world) error {
	var mu sync.Mutex
	var under errgroup.Group
	under.SetLimit(8)
	for range debtorAds {
		under.Go(func() error {
			winner, err := t.ask(ctx, w, debtorWord)
			mu.Lock()
			defer mu.Unlock()
			if winner == t.debtor {
				t.loot.Lent++
			}
			return err
		})
	}
	return under.Wait()
}

// judgeDebt checks that a campaign with a balance that is never charged shows in a hundredth of its
// requests, once it has shown as much as a family may before its first charge.
func (s *suite) judgeDebt(ctx context.Context) error {
	t := &s.thief
	bound := s.world.eventually(ctx, func() (bool, error) {
		won := 0
		for range 12 {
			winner, err := t.ask(ctx, s.world, debtorWord)
			if err != nil {
				return false, err
			}
			if winner == t.debtor {
				won++
			}
		}
		t.loot.Lent += won
		return won == 0, nil
	})
	for range debtorProbes {
		winner, err := t.ask(ctx, s.world, debtorWord)
		if err != nil {
			return err
		}
		if winner == t.debtor {
			t.loot.Bound++
		}
	}
	if bound != nil || t.loot.Bound > debtorMost {
		s.breach("an advertiser that was never charged won %d of %d auctions that a payer bid for, after %d ads (%v)",
			t.loot.Bound, debtorProbes, t.loot.Lent, bound)
	}
	if t.loot.Lent == 0 {
		s.breach("an advertiser that was never charged won no auction, so this run does not test it")
	}
	s.say("never charged: %d ads, then %d of %d auctions", t.loot.Lent, t.loot.Bound, debtorProbes)
	return ctx.Err()
}

// probe makes the honest requests and counts their winners.
func (t *thief) probe(ctx context.Context, w *world) (counts sold, err error) {
	for i, p := range thiefProbes {
		counts[i] = map[string]int{}
		for range probes {
			winner, err := t.ask(ctx, w, p.context)
			if err != nil {
				return counts, err
			}
			counts[i][winner]++
		}
	}
	return counts, nil
}

// register creates the accounts: half of one mailbox and network, the others of several domains.
func (t *thief) register(ctx context.Context, w *world) error {
	home := stranger(rand.Uint32())
	var mu sync.Mutex
	var under errgroup.Group
	under.SetLimit(4) // passwords are hashed
	for n := range thiefAccounts {
		email, from := fmt.Sprintf("thi.ef+%d@gmail.com", n), home
		if n >= thiefAccounts/2 {
			email, from = fmt.Sprintf("me@thief%d-%s.example", n, strings.TrimPrefix(w.prefix, "hostile-")), stranger(rand.Uint32())
		}
		under.Go(func() error {
			p, err := w.signUp(ctx, email, from)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			t.accounts = append(t.accounts, p)
			return nil
		})
	}
	err := under.Wait()
	t.loot.Accounts = len(t.accounts)
	return err
}

// copy creates campaigns with the payer's words, texts and page that pay per click or conversion,
// up to the highest bid, and waits until nodes know them.
func (t *thief) copy(ctx context.Context, w *world) error {
	var mu sync.Mutex
	var under errgroup.Group
	under.SetLimit(8)
	for n, p := range t.accounts {
		for i := range thiefCampaigns {
			fields := object{
				"advertiser_id": p.id, "headline": "Light kayak tours", "cta_url": thiefPage, "daily_budget": 5_000,
				"subtext": "Guides and gear for a weekend on the river", "total_budget": 9_000, "pacing": "asap",
				"billing_model": []string{"cpc", "cpa", "cpc", "cpm"}[i],
				"bid_amount":    []float64{5, 1000, 100, 1000}[i],
				// Words of the payer, and of its rival.
				"target_intent_tokens": [][]string{
					{"zqkayakqz"}, {"zqkayakqz", "zqpaddleqz"}, {"zqkayakqz", "zqcanoeqz"}, {askedWord, "zqkayakqz"},
				}[(n+i)%4],
			}
			under.Go(func() error {
				reply, err := w.call(ctx, request{
					method: "POST", path: "/api/campaigns", bearer: p.bearer, json: fields, want: 201,
				})
				mu.Lock()
				defer mu.Unlock()
				t.campaigns[reply.object("campaign").text("id")] = err == nil
				return err
			})
		}
	}
	err := under.Wait()
	t.loot.Campaigns = len(t.campaigns)
	if err != nil {
		return err
	}
	return schedule.Pause(ctx, standingEvery+2*time.Second) // nodes, and what is computed of all campaigns
}

// hoard requests the payer's ads with keys of the thief and shows none.
func (t *thief) hoard(ctx context.Context, w *world) error {
	keys := make([]string, thiefKeys)
	for i := range keys {
		reply, err := w.call(ctx, request{
			method: "POST", path: "/api/keys", bearer: t.accounts[i*thiefAccounts/thiefKeys].bearer,
			json: object{"kind": "publisher", "name": "mine"}, want: 201,
		})
		if err != nil {
			return err
		}
		keys[i] = reply.text("key")
	}
	var mu sync.Mutex
	var under errgroup.Group
	under.SetLimit(16)
	for n := range thiefRequests {
		under.Go(func() error {
			reply, err := w.call(ctx, request{
				method: "POST", path: "/v1/ad-request", bearer: keys[n%len(keys)], want: 200,
				json: object{"context": thiefProbes[0].context}, from: stranger(rand.Uint32()),
			})
			mu.Lock()
			defer mu.Unlock()
			if reply.object("ad").text("ad_id") == t.payer {
				t.loot.Unshown++
			}
			return err
		})
	}
	return under.Wait()
}

// refused returns the reasons of requests without an ad.
func (t *thief) refused() map[any]any {
	all := map[any]any{}
	t.reasons.Range(func(context, reason any) bool {
		all[context] = reason
		return true
	})
	return all
}

// judgeThief compares the probes and what is left.
func (s *suite) judgeThief(before, after sold) {
	t := &s.thief
	s.report.Thief = &t.loot
	for i, p := range thiefProbes {
		want := p.want(t)
		for id, n := range after[i] {
			if t.campaigns[id] {
				t.loot.Won += n
			}
		}
		t.loot.Lost += max(0, before[i][want]-after[i][want])
		t.loot.Fills += max(before[i][""]-after[i][""], after[i][""]-before[i][""])
	}
	t.loot.Kept = after[0][t.payer]
	if t.loot.Won > 0 {
		s.breach("a thief without money won %d auctions", t.loot.Won)
	}
	if t.loot.Lost > 0 {
		s.breach("payers lost %d of %d auctions because of a thief without money: %v, before %v (%v)", t.loot.Lost,
			len(thiefProbes)*probes, after, before, t.refused())
	}
	if t.loot.Fills > 0 {
		s.breach("a thief without money changed %d fills", t.loot.Fills)
	}
	if t.loot.Kept < probes {
		s.breach(
			"an honest publisher gets %d of %d ads of a campaign whose ads a thief holds without showing them",
			t.loot.Kept, probes,
		)
	}
	if t.loot.Rows > thiefRows || t.loot.Bytes > thiefBytes {
		s.breach("a thief without money leaves %d rows and %d bytes, at most %d and %d: %s", t.loot.Rows,
			t.loot.Bytes, thiefRows, thiefBytes, t.loot.Tables)
	}
	if t.loot.Unshown == 0 || t.loot.Campaigns < thiefAccounts*thiefCampaigns {
		s.breach("a thief without money: it got no ads or campaigns, so this run does not test it")
	}
	s.say("thief: %d accounts, %d campaigns, %d ads never shown; %d auctions won, %d lost by payers, %d rows, %d bytes (%s)",
		t.loot.Accounts, t.loot.Campaigns, t.loot.Unshown, t.loot.Won, t.loot.Lost, t.loot.Rows, t.loot.Bytes, t.loot.Tables)
}
