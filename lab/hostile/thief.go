package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"adnet/cmd/load/visitor"
	"adnet/internal/process/schedule"
)

// thief is an attack by one person with free accounts that pay nothing. Half of them copy the
// campaign of a paying advertiser, the others use its words for ads of their own. They request that
// advertiser's ads without showing them, and report the ad of another.
type thief struct {
	payer, rival, reviewed string // campaigns of paying advertisers
	reported               string // one that no person approved; pages show it
	debtor, creditor       string // a campaign with a balance and no clicks, and one that pays for impressions
	publisher              person // honest
	page                   string // its browser key
	accounts               []person
	campaigns              map[string]bool
	reasons                sync.Map // of the last request without an ad, by context
	displayed              atomic.Int64
	loot                   thiefReport
}

// thiefReport is the part of the report about the thief.
type thiefReport struct {
	Accounts  int `json:"accounts"`
	Campaigns int `json:"campaigns"`
	Live      int `json:"live_campaigns"`
	Unshown   int `json:"ads_never_shown"`
	Reports   int `json:"reports"`

	Won    int   `json:"auctions_won"`
	Lost   int   `json:"auctions_lost_by_payers"`
	Fills  int   `json:"fills_changed"`
	Filled int   `json:"ads_of_the_honest_publisher"` // of probes
	Lent   int   `json:"ads_never_charged"`           // of the debtor, before it was bound
	Bound  int   `json:"auctions_won_while_bound"`    // of debtorProbes
	Rows   int64 `json:"rows_left"`
	Bytes  int64 `json:"bytes_left"`
	// Tables are those that grew most.
	Tables string `json:"tables"`
}

// The thief's budget, and what it may leave.
const (
	thiefAccounts  = 50
	thiefCopies    = 25 // of them have one mailbox
	thiefKeys      = 10
	thiefCampaigns = 2   // of an account
	thiefRequests  = 320 // for ads that it does not show
	thiefReports   = 6

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
	thiefOrigin  = "https://paper.example" // of the honest publisher's page and of the thief's
	thiefPage    = "https://kayak.example/tours"
	rivalPage    = "https://canoe.example/tours"
	askedWord    = "zqlanternqz"
	reportedWord = "zqreportedqz"
	debtorWord   = "zqdebtorqz"
)

// probe is a kind of honest requests, of a server whose reader is a model, or of a page. Want is
// the campaign that wins them, or empty for no ad.
type probe struct {
	context string
	page    bool
	want    func(t *thief) string
}

// thiefProbes are requests that the thief's campaigns compete for or might change, and others.
var thiefProbes = []probe{
	{"where can I book zqkayakqz with zqpaddleqz", false, payer},
	{"zqkayakqz or zqcanoeqz", false, payer},
	{"zqcanoeqz", false, rival},
	{"what is the best zqcanoeqz for two people and a dog on a long lake", false, rival},
	{"a " + askedWord + " for the tent", false, reviewed},
	{"what is the meaning of life", false, nobody},
	{"where can I book zqkayakqz with zqpaddleqz", true, payer},
	{"zqkayakqz or zqcanoeqz", true, payer},
	{"what is the best zqcanoeqz for two people and a dog on a long lake", true, rival},
	{"a " + askedWord + " for the tent", true, reviewed},
	{reportedWord, true, reported},
	{"what is the meaning of life", true, nobody},
}

func payer(t *thief) string    { return t.payer }
func rival(t *thief) string    { return t.rival }
func reviewed(t *thief) string { return t.reviewed }
func reported(t *thief) string { return t.reported }
func nobody(*thief) string     { return "" }

// sold counts the winners of each probe.
type sold []map[string]int

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
	for _, act := range []func(context.Context, *world) error{t.register, t.advertise, t.hoard, t.report} {
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
	if t.page, err = w.pageKey(ctx, t.publisher, thiefOrigin); err != nil {
		return err
	}
	for _, c := range []struct {
		into           *string
		headline, page string
		words          []string
		bid, daily     float64
	}{
		{&t.payer, "Light kayak tours", thiefPage, []string{"zqkayakqz", "zqpaddleqz"}, 5.2, 1.7},
		{&t.rival, "Canoe rental", rivalPage, []string{"zqcanoeqz"}, 5, 50},
		{&t.reviewed, "Lanterns", "https://lantern.example/", []string{askedWord}, 3, 50},
		{&t.creditor, "Sledges", "https://sledge.example/", []string{debtorWord}, 2, 50},
		{&t.debtor, "Sleds", "https://sled.example/", []string{debtorWord}, 0, 50},
	} {
		owner, err := w.register(ctx)
		if err != nil {
			return err
		}
		if err := w.pay(ctx, owner.id, 100); err != nil {
			return err
		}
		billing, bid := "cpm", c.bid
		if bid == 0 { // it gets no clicks
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
	if t.reported, err = w.unreviewed(ctx, object{
		"headline": "Reported hats", "subtext": "Straw hats that a careful hand wove in the south",
		"cta_url": "https://hats.example/", "billing_model": "cpm", "bid_amount": 5, "daily_budget": 50,
		"total_budget": 90, "target_intent_tokens": []string{reportedWord},
	}); err != nil {
		return err
	}
	return w.eventually(ctx, func() (bool, error) {
		for _, p := range thiefProbes {
			winner, err := t.ask(ctx, w, p)
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
// without an ad. One in 30 readers follows the link, but none that of the debtor: the network needs
// a rate of clicks.
func (t *thief) ask(ctx context.Context, w *world, of probe) (winner string, err error) {
	from, key := visitor.Address(rand.Uint32()), t.publisher.key
	if of.page {
		key = t.page
	}
	reply, err := w.adFor(ctx, key, of, from)
	if err != nil {
		return "", err
	}
	ad := reply.Object("ad")
	if ad == nil {
		t.reasons.Store(of.context, reply.Text("reason"))
		return "", nil
	}
	_, _, _, err = w.send(ctx, request{Method: "GET", Path: ad.Text("impression_url"), From: from})
	if winner = ad.Text("ad_id"); err != nil || winner == t.debtor || t.displayed.Add(1)%30 != 1 {
		return winner, err
	}
	if err := schedule.Pause(ctx, 500*time.Millisecond); err != nil { // a click needs time
		return winner, err
	}
	_, _, _, err = w.send(ctx, request{Method: "GET", Path: ad.Text("click_url"), From: from})
	return winner, err
}

// adFor requests an ad with a key. A busy machine has no fresh budgets at times: the request is
// then repeated.
func (w *world) adFor(ctx context.Context, key string, of probe, from string) (reply object, err error) {
	headers := http.Header(nil)
	if of.page {
		headers = http.Header{"Origin": {thiefOrigin}}
	}
	for range 20 {
		if reply, err = w.call(ctx, request{
			Method: "POST", Path: "/v1/ad-request", Bearer: key, JSON: object{"context": of.context}, From: from,
			Header: headers, Want: 200,
		}); err != nil || reply.Text("reason") != "stale" {
			return reply, err
		}
		_ = schedule.Pause(ctx, 200*time.Millisecond)
	}
	return reply, nil
}

// lend shows ads of the debtor, whose balance stays.
func (t *thief) lend(ctx context.Context, w *world) error {
	var mu sync.Mutex
	var under errgroup.Group
	under.SetLimit(8)
	for range debtorAds {
		under.Go(func() error {
			winner, err := t.ask(ctx, w, probe{context: debtorWord})
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
		paid := 0
		for range 12 {
			winner, err := t.ask(ctx, s.world, probe{context: debtorWord})
			if err != nil {
				return false, err
			}
			switch winner {
			case t.debtor:
				t.loot.Lent++
			case t.creditor:
				paid++
			}
		}
		return paid == 12, nil
	})
	for range debtorProbes {
		winner, err := t.ask(ctx, s.world, probe{context: debtorWord})
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
	counts = make(sold, len(thiefProbes))
	for i, p := range thiefProbes {
		counts[i] = map[string]int{}
		for range probes {
			winner, err := t.ask(ctx, w, p)
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
	home := visitor.Address(rand.Uint32())
	t.accounts = make([]person, thiefAccounts)
	var under errgroup.Group
	under.SetLimit(4) // passwords are hashed
	for n := range thiefAccounts {
		email, from := fmt.Sprintf("thi.ef+%d@gmail.com", n), home
		if n >= thiefCopies {
			email, from = fmt.Sprintf("me@%s", t.domain(w, n, 0)), visitor.Address(rand.Uint32())
		}
		under.Go(func() error {
			p, err := w.signUp(ctx, email, from)
			if err != nil {
				return err
			}
			t.accounts[n] = p
			return nil
		})
	}
	err := under.Wait()
	t.loot.Accounts = len(t.accounts)
	return err
}

// domain returns a domain of an account's own.
func (*thief) domain(w *world, account, campaign int) string {
	return fmt.Sprintf("thief%d-%d-%s.example", account, campaign, strings.TrimPrefix(w.Prefix, "hostile-"))
}

// thiefWords are the words of its campaigns: the payer's and its rivals', and those of requests
// that get no ad.
var thiefWords = [][]string{
	{"zqkayakqz"}, {"zqcanoeqz", "zqkayakqz"}, {"zqkayakqz", "zqpaddleqz"}, {askedWord, "zqkayakqz"},
	{reportedWord, "zqcanoeqz"}, {"meaning", "life", "zqkayakqz"},
}

// thiefGoods are words of its own ads, which are no near copies of each other.
var thiefGoods = strings.Fields(`apples bread bricks brushes buttons candles carpets chairs cheese clocks coats combs
	cups curtains dishes doors drums fences flutes forks gates gloves honey jackets jars kettles keys knives
	ladders lamps maps mirrors needles ovens pillows plates pots ropes shoes spoons tables tiles towels vases`)

// advertise creates campaigns with the payer's words that pay per click or conversion, up to the
// highest bid, and waits until nodes know them. The accounts of one mailbox have the payer's texts
// and page as well, the others their own: their first campaigns are live at once.
func (t *thief) advertise(ctx context.Context, w *world) error {
	var mu sync.Mutex
	var under errgroup.Group
	under.SetLimit(8)
	for n, p := range t.accounts {
		for i := range thiefCampaigns {
			fields := object{
				"advertiser_id": p.id, "headline": "Light kayak tours", "cta_url": thiefPage, "daily_budget": 5_000,
				"subtext": "Guides and gear for a weekend on the river", "total_budget": 9_000, "pacing": "asap",
				"billing_model":        []string{"cpc", "cpa", "cpc", "cpm"}[(n+i)%4],
				"bid_amount":           []float64{5, 1000, 100, 1000}[(n+i)%4],
				"target_intent_tokens": thiefWords[(n+i)%len(thiefWords)],
			}
			if n >= thiefCopies {
				goods := rand.Perm(len(thiefGoods))
				of := func(i int) string { return thiefGoods[goods[i]] }
				fields["headline"] = "Offers of " + of(0) + " and " + of(1)
				fields["subtext"] = fmt.Sprintf("We make %s, %s, %s and %s", of(2), of(3), of(4), of(5))
				fields["cta_url"] = "https://" + t.domain(w, n, i) + "/"
			}
			under.Go(func() error {
				reply, err := w.call(ctx, request{
					Method: "POST", Path: "/api/campaigns", Bearer: p.bearer, JSON: fields, Want: 201,
				})
				mu.Lock()
				defer mu.Unlock()
				t.campaigns[reply.Object("campaign").Text("id")] = err == nil
				if reply.Object("campaign").Text("status") == "active" {
					t.loot.Live++
				}
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
			Method: "POST", Path: "/api/keys", Bearer: t.accounts[i*thiefAccounts/thiefKeys].bearer,
			JSON: object{"kind": "publisher", "name": "mine"}, Want: 201,
		})
		if err != nil {
			return err
		}
		keys[i] = reply.Text("key")
	}
	var mu sync.Mutex
	var under errgroup.Group
	under.SetLimit(16)
	for n := range thiefRequests {
		under.Go(func() error {
			reply, err := w.call(ctx, request{
				Method: "POST", Path: "/v1/ad-request", Bearer: keys[n%len(keys)], Want: 200,
				JSON: object{"context": thiefProbes[0].context}, From: visitor.Address(rand.Uint32()),
			})
			mu.Lock()
			defer mu.Unlock()
			if reply.Object("ad").Text("ad_id") == t.payer {
				t.loot.Unshown++
			}
			return err
		})
	}
	return under.Wait()
}

// report shows an ad at publishers of different families and reports it, each from a network of its
// own.
func (t *thief) report(ctx context.Context, w *world) error {
	var under errgroup.Group
	var filed atomic.Int64
	for _, p := range t.accounts[thiefAccounts-thiefReports:] {
		under.Go(func() error {
			key, err := w.pageKey(ctx, p, thiefOrigin)
			if err != nil {
				return err
			}
			from := visitor.Address(rand.Uint32())
			var ad object
			if err := w.eventually(ctx, func() (bool, error) {
				reply, err := w.adFor(ctx, key, probe{context: reportedWord, page: true}, from)
				ad = reply.Object("ad")
				return ad.Text("ad_id") == t.reported, err
			}); err != nil {
				return nil // counted as a missing report
			}
			_, _, _, err = w.send(ctx, request{Method: "GET", Path: ad.Text("impression_url"), From: from})
			if err != nil {
				return err
			}
			err = w.eventually(ctx, func() (bool, error) { // until the impression is settled
				status, _, _, err := w.send(ctx, request{
					Method: "POST", Path: ad.Text("receipt_url"), From: from,
					Body:   []byte("reason=scam&text=it+took+my+money"),
					Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
				})
				return status == http.StatusOK, err
			})
			if err == nil {
				filed.Add(1)
			}
			return nil
		})
	}
	err := under.Wait()
	t.loot.Reports = int(filed.Load())
	return err
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
	t.loot.Filled = after[0][t.payer]
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
	if t.loot.Filled < probes {
		s.breach(
			"an honest publisher gets %d of %d ads of a campaign whose ads a thief holds without showing them",
			t.loot.Filled, probes,
		)
	}
	if t.loot.Rows > thiefRows || t.loot.Bytes > thiefBytes {
		s.breach("a thief without money leaves %d rows and %d bytes, at most %d and %d: %s", t.loot.Rows,
			t.loot.Bytes, thiefRows, thiefBytes, t.loot.Tables)
	}
	if t.loot.Unshown == 0 || t.loot.Campaigns < thiefAccounts*thiefCampaigns || t.loot.Live < thiefCopies ||
		t.loot.Reports < thiefReports {
		s.breach("a thief without money has %d campaigns, %d of them live, %d ads and %d reports, so this run does "+
			"not test it",
			t.loot.Campaigns, t.loot.Live, t.loot.Unshown, t.loot.Reports)
	}
	s.say("thief: %d accounts, %d campaigns, %d live, %d ads never shown, %d reports; %d auctions won, "+
		"%d lost by payers, %d rows, %d bytes (%s)", t.loot.Accounts, t.loot.Campaigns, t.loot.Live, t.loot.Unshown, t.loot.Reports,
		t.loot.Won, t.loot.Lost, t.loot.Rows, t.loot.Bytes, t.loot.Tables)
}
