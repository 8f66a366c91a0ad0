package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"adnet/cmd/load/visitor"
	"adnet/internal/token"
)

// stolen is an attack with a publisher's browser key, which is public in a page, and the origin of
// that page, which any program can send.
type stolen struct {
	victim   person // has a publisher key as well
	key      string
	campaign string

	mu       sync.Mutex
	began    time.Time
	answered map[string]int64 // accepted requests by network; "" is the total
	held     map[string]int64 // micro-USD of ads that were not shown, by network
	loot     lootReport
}

// lootReport is the part of the report about a stolen browser key.
type lootReport struct {
	Requests      int64 `json:"requests"`
	Taken         int64 `json:"taken"`
	Limited       int64 `json:"limited"`
	Refused       int64 `json:"refused"` // with the origin of another page
	Ads           int64 `json:"ads"`
	Held          int64 `json:"held_micros"`       // of the campaign's daily budget, by ads that were not shown
	Charged       int64 `json:"charged_micros"`    // for ads shown by the thief
	VictimRefused int64 `json:"victim_refused"`    // requests of the victim's own server
	Elsewhere     int64 `json:"counted_elsewhere"` // events of the key counted for the victim's other keys
	Cases         int64 `json:"cases_against_the_victim"`
}

const (
	stolenPage    = "https://shop.example.com"
	stolenWord    = "zqstolenqz"
	stolenDay     = 10_000_000 // daily budget of the campaign, micro-USD
	stolenHolds   = stolenDay / 100
	stolenNetwork = 300   // ad requests of a network per minute: ADNET_RATE_BROWSER_NETWORK
	stolenMinute  = 3000  // ad requests of the key per minute: ADNET_RATE_BROWSER
	stolenPrice   = 5_000 // maximum price of one ad of the campaign, micro-USD
	stolenSlack   = 1.1   // nodes exchange their counts with a delay

	stolenBudget = 10_000 // requests
	stolenLeast  = 9_900  // least number of answered requests in a full run
)

// prepareTheft creates the victim, its page's key and a campaign for it.
func (a *attacks) prepareTheft(ctx context.Context) (err error) {
	w := a.s.world
	l := &a.s.stolen
	l.answered, l.held, l.began = make(map[string]int64), make(map[string]int64), time.Now()
	if l.victim, err = w.publisher(ctx); err != nil {
		return err
	}
	if l.key, err = w.pageKey(ctx, l.victim, stolenPage); err != nil {
		return err
	}
	owner, err := w.register(ctx)
	if err != nil {
		return err
	}
	if err := w.pay(ctx, owner.id, 100); err != nil {
		return err
	}
	l.campaign, err = w.campaign(ctx, owner, object{
		"headline": "Honest offer " + stolenWord, "cta_url": approvedPage, "billing_model": "cpm", "bid_amount": 5,
		"target_intent_tokens": []string{stolenWord}, "daily_budget": stolenDay / 1_000_000, "total_budget": 90,
	})
	return err
}

// steal requests an ad with the key, half of the time from one machine, and rarely shows it.
// Sometimes it sends the origin of another page, or checks that the victim's server still gets ads.
func steal(ctx context.Context, w *world, a *attacks) error {
	l := &a.s.stolen
	from, origin := visitor.Address(6), stolenPage
	if rand.IntN(2) == 0 {
		from = visitor.Address(rand.Uint32())
	}
	foreign := rand.IntN(50) == 0
	if foreign {
		origin = "https://evil.example.net"
	}
	if rand.IntN(100) == 0 {
		if err := l.visit(ctx, w); err != nil {
			return err
		}
	}
	status, _, text, err := w.send(ctx, request{
		Method: "POST", Path: "/v1/ad-request", Bearer: l.key, From: from, JSON: object{"context": stolenWord},
		Header: http.Header{"Origin": {origin}},
	})
	if err != nil {
		return err
	}
	ad := adOf(text)
	l.count(from, status, foreign)
	if ad == nil {
		return nil
	}
	return l.use(ctx, w, from, ad)
}

// count records adnet's answer.
func (l *stolen) count(from string, status int, foreign bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loot.Requests++
	switch {
	case status == http.StatusTooManyRequests:
		l.loot.Limited++
	case status == http.StatusForbidden && foreign:
		l.loot.Refused++
	case status == http.StatusOK:
		l.loot.Taken++
		l.answered[""]++
		l.answered[from]++
	}
}

// use shows one in ten ads from the address of its request. The others hold budget.
func (l *stolen) use(ctx context.Context, w *world, from string, ad object) error {
	auction, err := w.Ring.Verify(token.PurposeReport.Only(), ad.Text("auction_id"), time.Now())
	if err != nil {
		return err
	}
	shows := rand.IntN(10) == 0
	l.mu.Lock()
	l.loot.Ads++
	if !shows {
		l.held[""] += int64(auction.Asker.Held)
		l.held[from] += int64(auction.Asker.Held)
	}
	l.mu.Unlock()
	if shows {
		_, _, _, err = w.send(ctx, request{Method: "GET", Path: ad.Text("impression_url"), From: from})
	}
	return err
}

// visit simulates a reader of the victim's own application, which uses its other key.
func (l *stolen) visit(ctx context.Context, w *world) error {
	status, _, _, err := w.send(
		ctx,
		request{
			Method: "POST", Path: "/v1/ad-request", Bearer: l.victim.key, JSON: object{"context": "zqcpmqz"},
			From: visitor.Address(rand.Uint32()),
		},
	)
	if err == nil && status != http.StatusOK {
		l.mu.Lock()
		l.loot.VictimRefused++
		l.mu.Unlock()
	}
	return err
}

// judgeTheft checks the thief's gains against the rules.
func (s *suite) judgeTheft(ctx context.Context) (err error) {
	l := &s.stolen
	if l.campaign == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loot.Charged, err = s.sum(
		ctx, `SELECT toInt64(sum(charge)) FROM EVENTS WHERE campaign_id = ?`, l.campaign,
	); err != nil {
		return err
	}
	if err := s.world.rows.QueryRow(ctx, `
SELECT coalesce(sum(impressions - browser_impressions + clicks - browser_clicks + invalid), 0)::bigint FROM publisher_day WHERE developer_id = $1`,
		l.victim.developer).Scan(&l.loot.Elsewhere); err != nil {
		return err
	}
	if err := s.world.rows.QueryRow(
		ctx, `SELECT count(*) FROM quarantine WHERE developer_id = $1`, l.victim.developer,
	).Scan(&l.loot.Cases); err != nil {
		return err
	}
	l.loot.Held = l.held[""]
	s.report.Stolen = &l.loot
	s.judgeLimits(l)
	for from, micros := range l.held {
		if micros > stolenHolds {
			s.breach(
				"a stolen browser key holds %d micro-USD of a campaign's day (network %q), at most %d", micros, from,
				stolenHolds,
			)
		}
	}
	if l.loot.VictimRefused > 0 {
		s.breach(
			"%d requests of the victim's server were refused because of a thief with its browser key",
			l.loot.VictimRefused,
		)
	}
	if l.loot.Elsewhere > 0 || l.loot.Cases > 0 {
		s.breach(
			"a stolen browser key counts against its owner: %d events among its other keys', %d cases",
			l.loot.Elsewhere, l.loot.Cases,
		)
	}
	s.say(
		"stolen key: %d requests, %d taken, %d limited; %d ads, %d micro-USD held, %d charged", l.loot.Requests,
		l.loot.Taken, l.loot.Limited, l.loot.Ads, l.loot.Held, l.loot.Charged,
	)
	return nil
}

// judgeLimits checks that the key and its networks stayed within their limits, and that the charges
// match the allowed ads.
func (s *suite) judgeLimits(l *stolen) {
	minutes := 1 + time.Since(l.began).Minutes()
	for from, taken := range l.answered {
		limit := stolenNetwork
		if from == "" {
			limit = stolenMinute
		}
		if most := float64(limit) * minutes * stolenSlack; float64(taken) > most {
			s.breach(
				"%d ad requests with a stolen browser key were accepted (network %q), at most %.0f", taken, from, most,
			)
		}
	}
	if most := l.loot.Ads * stolenPrice; l.loot.Charged > most {
		s.breach("%d micro-USD were charged for %d ads of a stolen browser key", l.loot.Charged, l.loot.Ads)
	}
	if !s.cfg.Short && l.loot.Requests < stolenLeast {
		s.breach(
			"a stolen browser key: only %d of %d requests were answered", l.loot.Requests,
			stolenBudget,
		)
	}
	if l.loot.Requests > 1000 && (l.loot.Limited == 0 || l.loot.Refused == 0 || l.loot.Ads == 0) {
		s.breach("a stolen browser key: of %d requests none was limited, refused or answered, so this run does "+
			"not test it (%s)",
			l.loot.Requests, fmt.Sprint(l.loot))
	}
}
