package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"adnet/internal/token"
)

// stolen is what a thief gets with a publisher's browser key, which stands in a page, and the
// origin of that page, which a program may send from anywhere.
type stolen struct {
	victim   person // with a publisher key of its own
	key      string
	campaign string

	mu       sync.Mutex
	began    time.Time
	answered map[string]int64 // requests that were taken, by network; "" is all
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
	Held          int64 `json:"held_micros"`       // of the campaign's day, by ads that were not shown
	Charged       int64 `json:"charged_micros"`    // for ads that the thief showed itself
	VictimRefused int64 `json:"victim_refused"`    // of the victim's own server's requests
	Elsewhere     int64 `json:"counted_elsewhere"` // events of the key among those of the victim's other keys
	Cases         int64 `json:"cases_against_the_victim"`
}

const (
	stolenPage    = "https://shop.example.com"
	stolenWord    = "zqstolenqz"
	stolenDay     = 10_000_000 // micro-USD of the campaign's day
	stolenHolds   = stolenDay / 100
	stolenNetwork = 300   // ad requests of a network a minute: ADNET_RATE_BROWSER_NETWORK
	stolenMinute  = 3000  // of the key: ADNET_RATE_BROWSER
	stolenPrice   = 5_000 // micro-USD: the most that one ad of the campaign costs
	stolenSlack   = 1.1   // nodes count together a little late

	stolenBudget = 10_000 // requests
	stolenLeast  = 9_900  // of them that are answered in a full run, which has time for all
)

// prepareTheft makes the victim, its page's key and a campaign for it.
func (a *attacks) prepareTheft(ctx context.Context) (err error) {
	w := a.s.world
	l := &a.s.stolen
	l.answered, l.held, l.began = make(map[string]int64), make(map[string]int64), time.Now()
	if l.victim, err = w.publisher(ctx); err != nil {
		return err
	}
	made, err := w.call(ctx, request{
		method: "POST", path: "/api/keys", bearer: l.victim.bearer, want: 201,
		json: object{"kind": "browser", "name": "page", "origins": []string{stolenPage}},
	})
	if err != nil {
		return err
	}
	l.key = made.text("key")
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

// steal asks for an ad with the key, half of the time from one machine, and mostly shows it to
// nobody. Now and then it sends the origin of another page, or looks whether the victim's server
// still gets ads.
func steal(ctx context.Context, w *world, a *attacks) error {
	l := &a.s.stolen
	from, origin := stranger(6), stolenPage
	if rand.IntN(2) == 0 {
		from = stranger(rand.Uint32())
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
		method: "POST", path: "/v1/ad-request", bearer: l.key, from: from, json: object{"context": stolenWord},
		header: http.Header{"Origin": {origin}},
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

// count notes how adnet answered.
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

// use shows an ad, one in ten of them, from where it was asked for, or lets it hold budget.
func (l *stolen) use(ctx context.Context, w *world, from string, ad object) error {
	made, err := w.ring.Verify(token.PurposeReport.Only(), ad.text("auction_id"), time.Now())
	if err != nil {
		return err
	}
	shows := rand.IntN(10) == 0
	l.mu.Lock()
	l.loot.Ads++
	if !shows {
		l.held[""] += int64(made.Asker.Held)
		l.held[from] += int64(made.Asker.Held)
	}
	l.mu.Unlock()
	if shows {
		_, _, _, err = w.send(ctx, request{method: "GET", path: ad.text("impression_url"), from: from})
	}
	return err
}

// visit is a reader of the victim's own application, which asks with its other key.
func (l *stolen) visit(ctx context.Context, w *world) error {
	status, _, _, err := w.send(
		ctx,
		request{
			method: "POST", path: "/v1/ad-request", bearer: l.victim.key, json: object{"context": "zqcpmqz"},
			from: stranger(rand.Uint32()),
		},
	)
	if err == nil && status != http.StatusOK {
		l.mu.Lock()
		l.loot.VictimRefused++
		l.mu.Unlock()
	}
	return err
}

// judgeTheft compares what the thief got with the rules.
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
			"%d requests of the victim's server were refused for what a thief did with its browser key",
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

// judgeLimits wants the key and its networks held to their limits, and what was charged to the ads
// that the limits let through.
func (s *suite) judgeLimits(l *stolen) {
	minutes := 1 + time.Since(l.began).Minutes()
	for from, taken := range l.answered {
		limit := stolenNetwork
		if from == "" {
			limit = stolenMinute
		}
		if most := float64(limit) * minutes * stolenSlack; float64(taken) > most {
			s.breach(
				"%d ad requests with a stolen browser key were taken (network %q), at most %.0f", taken, from, most,
			)
		}
	}
	if most := l.loot.Ads * stolenPrice; l.loot.Charged > most {
		s.breach("%d micro-USD were charged for %d ads of a stolen browser key", l.loot.Charged, l.loot.Ads)
	}
	if !s.cfg.Short && l.loot.Requests < stolenLeast {
		s.breach(
			"a stolen browser key: %d requests were answered, of %d that it has time for", l.loot.Requests,
			stolenBudget,
		)
	}
	if l.loot.Requests > 1000 && (l.loot.Limited == 0 || l.loot.Refused == 0 || l.loot.Ads == 0) {
		s.breach("a stolen browser key: of %d requests none was limited, refused or answered, so this run proves "+
			"nothing about it (%s)",
			l.loot.Requests, fmt.Sprint(l.loot))
	}
}
