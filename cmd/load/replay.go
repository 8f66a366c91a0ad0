package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"
)

// The kinds of beacons.
const (
	impression = iota
	click
	conversion
	kinds
)

// plan is the fate of one request's ad. It depends only on the seed and the request's number.
type plan struct {
	click, convert bool
	repeat         [kinds]bool
}

func (l *Load) plan(n int) plan {
	random := rand.New(rand.NewPCG(l.cfg.Seed, uint64(n)))
	// One draw for both: converting users are among the clicking ones.
	luck := random.Float64()
	p := plan{click: luck < l.cfg.Clicks, convert: luck < min(l.cfg.Clicks, l.cfg.Conversions)}
	for kind := range p.repeat {
		p.repeat[kind] = random.Float64() < l.cfg.Duplicates
	}
	return p
}

// shot is one ad request to send. due is zero without a rate.
type shot struct {
	n   int
	due time.Time
}

// replay sends the ad requests and fires the beacons of their ads. It returns when all are done.
// Errors: ctx's, and links that must not be fired.
func (l *Load) replay(ctx context.Context, requests []adRequest, publishers []publisher) error {
	total := l.cfg.Requests
	if total == 0 {
		total = len(requests)
	}
	bar := l.bar("replay contexts", total)
	defer bar.end()
	g, ctx := errgroup.WithContext(ctx)
	shots := make(chan shot)
	g.Go(func() error { return l.pace(ctx, total, shots) })
	for range min(l.cfg.Concurrency, total) {
		g.Go(func() error {
			for s := range shots {
				p := publishers[s.n%len(publishers)]
				if err := l.show(ctx, s, p.key, l.requestOf(requests, s.n)); err != nil {
					return err
				}
				bar.add(1)
			}
			return nil
		})
	}
	return g.Wait()
}

// pace sends the shots at their due times. When every worker is busy they start late, but due
// stays: the delay is part of the latency.
func (l *Load) pace(ctx context.Context, total int, shots chan<- shot) error {
	defer close(shots)
	start := l.deps.Clock.Now()
	for n := range total {
		s := shot{n: n}
		if l.cfg.Rate > 0 {
			s.due = start.Add(time.Duration(float64(n) / l.cfg.Rate * float64(time.Second)))
			if err := l.deps.Clock.SleepUntil(ctx, s.due); err != nil {
				return err
			}
		}
		select {
		case shots <- s:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// requestOf returns the n-th request: the contexts in turn, each time from another user.
func (l *Load) requestOf(requests []adRequest, n int) adRequest {
	r := requests[n%len(requests)]
	if r.SessionID == "" {
		r.SessionID = fmt.Sprintf("load-%s-%d", l.cfg.AccountSuffix, n)
	}
	if r.HostApp == "" && r.Platform == "" && len(l.cfg.HostApps) > 0 {
		r.HostApp = l.cfg.HostApps[n%len(l.cfg.HostApps)]
	}
	return r
}

// ad holds the fields of a reply's ad that are needed here.
type ad struct {
	AdID          string `json:"ad_id"`
	AuctionID     string `json:"auction_id"`
	ClickURL      string `json:"click_url"`
	ImpressionURL string `json:"impression_url"`
}

type adReply struct {
	Ad     *ad    `json:"ad"`
	Reason string `json:"reason"`
}

// show requests an ad and acts as its user. Failures are counted; only errors that end the run are
// returned.
func (l *Load) show(ctx context.Context, s shot, key string, body adRequest) error {
	var reply adReply
	err := l.client.do(ctx, call{
		method: http.MethodPost, path: "/v1/ad-request", bearer: key, body: body, due: s.due,
		latency: l.tally.adLatency,
	}, &reply)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.tally.requested(reply, err)
	if err != nil || reply.Ad == nil {
		return nil
	}
	for _, link := range []string{reply.Ad.ImpressionURL, reply.Ad.ClickURL} {
		if err := l.mayFire(link); err != nil {
			return err
		}
	}
	p := l.plan(s.n)
	if err := l.fire(ctx, impression, p, call{method: http.MethodGet, path: reply.Ad.ImpressionURL}); err != nil {
		return err
	}
	if !p.click {
		return nil
	}
	var page string
	if err := l.fire(
		ctx, click, p, call{method: http.MethodGet, path: reply.Ad.ClickURL, location: &page},
	); err != nil {
		return err
	}
	if p.convert && page != "" {
		return l.fire(ctx, conversion, p, l.conversionCall(reply.Ad, page))
	}
	return nil
}

// conversionCall reports the reader's conversion on the landing page, in the name of the campaign's
// owner. Without a click id, which a campaign may disable, it uses the ad's token.
func (l *Load) conversionCall(a *ad, page string) call {
	body := map[string]any{
		"event": "conversion", "campaign_id": a.AdID, "auction_id": a.AuctionID, "conversion_type": "purchase",
		"value": 25, "currency": "USD", "external_id": "order-1",
	}
	if landing, err := url.Parse(page); err == nil && landing.Query().Has("adnet_click") {
		body["click_id"] = landing.Query().Get("adnet_click")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return call{
		method: http.MethodPost, path: "/api/track", bearer: l.owners[a.AdID],
		header: http.Header{"X-Adnet-Source": {"rest-api"}}, body: body,
	}
}

// fire sends a beacon, and repeats it if the plan requires and the first was answered. Errors:
// ctx's.
func (l *Load) fire(ctx context.Context, kind int, p plan, c call) error {
	c.latency = l.tally.beaconLatency
	var reply struct {
		Pending bool `json:"pending"`
	}
	var out any // only conversions have a reply to decode
	if kind == conversion {
		out = &reply
	}
	err := l.client.do(ctx, c, out)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.tally.fired(kind, false, err)
	if reply.Pending {
		l.tally.pending()
	}
	if err != nil || !p.repeat[kind] {
		return nil
	}
	err = l.client.do(ctx, c, nil)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.tally.fired(kind, true, err)
	if reply.Pending { // a repeat waits with its first
		l.tally.pending()
	}
	return nil
}
