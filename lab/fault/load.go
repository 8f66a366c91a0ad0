package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"adnet/cmd/load/visitor"
	"adnet/internal/process/schedule"
	"adnet/internal/token"
)

// load simulates the users of the ads: it requests ads, fires their beacons at either node, and
// records the acknowledgements. It is the only witness and is never killed.
type load struct {
	s       *suite
	visitor *visitor.Client

	acknowledged, refused, requested, filled atomic.Int64

	mu       sync.Mutex
	acks     map[beacon]int // number of requests answered 200
	unfilled map[string]int // unfilled ad requests by reason or status
}

// beacon identifies an event as settlement does.
type beacon struct {
	auction uuid.UUID
	kind    string
}

func newLoad(s *suite) *load {
	l := &load{s: s, acks: make(map[beacon]int), unfilled: make(map[string]int)}
	l.visitor = &visitor.Client{
		Base: func() string { return "http://" + l.node() }, HTTP: visitor.NewHTTP(6 * time.Second),
	}
	return l
}

// visitors limits the concurrent visits, which mostly wait.
const visitors = 400

// run starts visits at the rate until ctx ends, and returns after the last one.
func (l *load) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, visitors)
	tick := time.NewTicker(time.Duration(float64(time.Second) / l.s.cfg.Rate))
	defer tick.Stop()
	all.Go(func() { l.newcomers(ctx) })
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		select {
		case slots <- struct{}{}:
			all.Go(func() {
				defer func() { <-slots }()
				l.visit(ctx)
			})
		default: // all visitors wait for answers
		}
	}
}

// newcomers keeps adding campaigns with small budgets, so that budgets and balances run out under
// every fault: by turns a daily budget, a total budget, and a balance shared by two campaigns.
func (l *load) newcomers(ctx context.Context) {
	const every = 6 * time.Second
	for i := 0; ctx.Err() == nil; i++ {
		if err := l.newcomer(ctx, i); err != nil {
			_ = schedule.Pause(ctx, time.Second)
			continue
		}
		_ = schedule.Pause(ctx, every)
	}
}

func (l *load) newcomer(ctx context.Context, i int) error {
	const much = 1_000
	little := int64(1 + rand.IntN(2))
	o := offer{
		name: fmt.Sprintf("small-%d-%s", i, uuid.NewString()[:8]), model: "cpm", bid: float64(20 + rand.IntN(40)),
		daily: much, total: much,
	}
	deposit := int64(much)
	switch i % 3 {
	case 0:
		o.daily, o.limit = little, dailyBudget
	case 1:
		deposit, o.limit = little, balance
	default:
		o.total, o.limit = little, totalBudget
	}
	who, err := l.s.site.advertiser(ctx, o.name, deposit)
	if err != nil {
		return err
	}
	if err := l.s.site.campaign(ctx, who, o); err != nil || deposit == much {
		return err
	}
	o.name += "-b"
	return l.s.site.campaign(ctx, who, o)
}

// choose picks a campaign for a visit. Half of the visits go to campaigns whose budgets run out.
func (l *load) choose() *budget {
	list := l.s.site.campaigns()
	var open []*budget
	small := rand.IntN(2) == 0
	for _, b := range list {
		if (b.limit != "") == small {
			open = append(open, b)
		}
	}
	if small && len(open) > 5 && rand.IntN(10) > 0 { // mostly the newest, because the others are exhausted
		open = open[len(open)-5:]
	}
	return open[rand.IntN(len(open))]
}

// visit is one ad request with its beacons.
func (l *load) visit(ctx context.Context) {
	who := visitor.Address(rand.Uint32())
	b := l.choose()
	ad, ok := l.ad(ctx, who, b)
	if !ok {
		return
	}
	query := ad.pixel.Query()
	proof, err := l.s.site.ring.Verify(token.PurposeImpression.Only(), query.Get("auction_id"), l.s.now())
	if err != nil {
		l.s.say("a token does not verify: %v", err)
		return
	}
	fire := func(kind string) bool {
		if kind != "impression" { // the pixel's token is valid for impressions only
			query.Set("auction_id", ad.report)
		}
		query.Set("event", kind)
		return l.fire(ctx, who, beacon{proof.AuctionID, kind}, "/api/track?"+query.Encode())
	}
	wait(ctx, 100, 400)
	if rand.IntN(20) == 0 || !fire("impression") { // some ads are never shown
		return
	}
	for rand.IntN(10) == 0 { // a repeated pixel
		fire("impression")
	}
	if rand.IntN(3) == 0 {
		wait(ctx, 300, 300)
		fire("skip")
	}
	for b.model == onView { // most ads are seen, some more than once
		wait(ctx, 1000, 300) // a view takes a second
		if rand.IntN(4) == 0 || !fire("viewable") || rand.IntN(10) > 0 {
			break
		}
	}
	// Less than half of the impressions are clicked. A publisher above ADNET_QUARANTINE_CTR would
	// get no more ads after 1,000 impressions in a day.
	if clicks := rand.IntN(10); clicks == 0 || clicks < 5 && shows[b.model] == "" {
		wait(ctx, 500, 500)
		if fire("click") && (b.model == "cpa" || rand.IntN(5) == 0) {
			wait(ctx, 100, 300)
			l.convert(ctx, who, proof.AuctionID, sale{ad, b})
		}
	}
	if rand.IntN(3) == 0 {
		fire("close")
	}
}

func wait(ctx context.Context, least, more int) {
	_ = schedule.Pause(ctx, time.Duration(least+rand.IntN(more))*time.Millisecond)
}

func (l *load) node() string { return l.s.nodes.ingress[rand.IntN(2)].http }

// served is an ad as delivered to its publisher.
type served struct {
	pixel  *url.URL
	report string // the token for every event but a conversion
	click  string // the link to the landing page
}

// ad requests an ad of the campaign.
func (l *load) ad(ctx context.Context, who string, b *budget) (served, bool) {
	l.requested.Add(1)
	body, err := json.Marshal(map[string]any{
		"context": b.word, "session_id": uuid.NewString(), "host_app": "fault", "surface": "chat",
	})
	if err != nil {
		return served{}, false
	}
	key := l.s.site.keys[rand.IntN(len(l.s.site.keys))]
	if b.model == onView { // only pages can report a view
		key = l.s.site.page
	}
	status, text := l.send(ctx, who, http.MethodPost, "/v1/ad-request", key, body)
	var reply struct {
		Ad *struct {
			Report string `json:"auction_id"`
			Click  string `json:"click_url"`
			Beacon string `json:"impression_url"`
		} `json:"ad"`
		Reason string `json:"reason"`
	}
	if status != http.StatusOK || json.Unmarshal(text, &reply) != nil {
		l.miss(fmt.Sprintf("status %d", status))
		return served{}, false
	}
	if reply.Ad == nil {
		l.miss(reply.Reason)
		if reply.Reason == "budget" {
			b.refused.Store(true)
		}
		return served{}, false
	}
	link, err := url.Parse(reply.Ad.Beacon)
	if err != nil {
		return served{}, false
	}
	l.filled.Add(1)
	return served{link, reply.Ad.Report, reply.Ad.Click}, true
}

// fire sends a beacon until it is acknowledged, at most three times. An attempt without an answer
// may have been recorded.
func (l *load) fire(ctx context.Context, who string, b beacon, path string) bool {
	for range 3 {
		if status, _ := l.send(ctx, who, http.MethodGet, path, "", nil); status == http.StatusOK {
			l.note(b)
			return true
		}
		l.refused.Add(1)
		wait(ctx, 200, 800)
	}
	return false
}

// sale identifies the click of a conversion.
type sale struct {
	ad     served
	budget *budget
}

// convert reports a conversion as the advertiser does, with the click id of its landing page. Some
// unverified conversions come first. They must cost nothing and not affect the real one.
func (l *load) convert(ctx context.Context, who string, auction uuid.UUID, of sale) {
	id := l.clickID(ctx, who, of.ad.click)
	if id == "" {
		return
	}
	body, err := json.Marshal(map[string]any{
		"event": "conversion", "click_id": id, "conversion_type": "sale", "value": 10, "currency": "USD",
	})
	if err != nil {
		return
	}
	bearers := []string{of.budget.seller}
	if rand.IntN(5) == 0 {
		bearers = []string{"", of.budget.seller}
	}
	for _, bearer := range bearers {
		l.report(ctx, who, auction, bearer, body)
	}
}

// clickID follows the link of an ad, whose landing page does not exist. The redirect does not
// acknowledge a click.
func (l *load) clickID(ctx context.Context, who string, link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	for range 3 {
		reply, err := l.visitor.Send(
			context.WithoutCancel(ctx), visitor.Request{Method: http.MethodGet, Path: u.RequestURI(), From: who},
		)
		if err == nil {
			page, err := url.Parse(reply.Header.Get("Location"))
			if err == nil && page.Query().Has("adnet_click") {
				return page.Query().Get("adnet_click")
			}
		}
		wait(ctx, 200, 800)
	}
	return ""
}

func (l *load) report(ctx context.Context, who string, auction uuid.UUID, bearer string, body []byte) {
	for range 3 {
		if status, _ := l.send(ctx, who, http.MethodPost, "/api/track", bearer, body); status == http.StatusOK {
			l.note(beacon{auction, "conversion"})
			return
		}
		l.refused.Add(1)
		wait(ctx, 200, 800)
	}
}

func (l *load) miss(why string) {
	l.mu.Lock()
	l.unfilled[why]++
	l.mu.Unlock()
}

// misses returns the reasons of unfilled ad requests, the first hint when a run has too few
// beacons.
func (l *load) misses() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	why := make([]string, 0, len(l.unfilled))
	for reason, n := range l.unfilled {
		why = append(why, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(why)
	return strings.Join(why, ", ")
}

func (l *load) note(b beacon) {
	l.mu.Lock()
	l.acks[b]++
	l.mu.Unlock()
	l.acknowledged.Add(1)
}

// send makes one request of a browser to either node; status 0 means that the outcome is unknown. The
// end of the load does not cancel requests: they succeed or fail.
func (l *load) send(ctx context.Context, who, method, path, bearer string, body []byte) (int, []byte) {
	r := visitor.Request{Method: method, Path: path, Bearer: bearer, From: who, Body: body, Header: http.Header{}}
	if body != nil {
		r.Header.Set("X-Fault-Source", "rest-api")
	}
	if bearer == l.s.site.page {
		r.Header.Set("Origin", pageOrigin)
	}
	reply, err := l.visitor.Send(context.WithoutCancel(ctx), r)
	if err != nil || strings.Contains(path, "/api/track?") && len(reply.Body) == 0 {
		return 0, nil // the connection was cut
	}
	return reply.Status, reply.Body
}
