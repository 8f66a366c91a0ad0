package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"adnet/internal/money"
	"adnet/internal/token"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/valyala/fasthttp"
)

// freshness follows single beacons, each of a campaign of its own, from their answer until stats count them, while
// other beacons load the node and the consumers at half of what they can take together.
func freshness(ctx context.Context, s *session) (r result, err error) {
	t, n, err := s.serving(ctx, 10_000)
	if err != nil {
		return r, err
	}
	defer n.stop()
	if err := t.consume(ctx); err != nil {
		return r, err
	}
	tracers := 100
	if s.cfg.Smoke {
		tracers = 3
	}
	campaigns, err := t.ids(ctx, tracers)
	if err != nil {
		return r, err
	}
	beacons := t.beacons(n.addr)
	peak, err := beacons.peak(ctx, s.cfg.Sample)
	if err != nil {
		return r, err
	}
	s.say("peak with settlement and archive beside it: %s/s; waiting until they have caught up with it", number(peak.perSecond))
	if err := t.catchUp(ctx); err != nil {
		return r, err
	}
	stop := beacons.inBackground(ctx, peak.perSecond/2)
	var mu sync.Mutex
	var all []float64
	var failed error
	var wait sync.WaitGroup
	for _, campaign := range campaigns {
		time.Sleep(300 * time.Millisecond) // so that few ask for stats at a time
		wait.Go(func() {
			took, err := t.trace(ctx, n, campaign)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = err
			}
			all = append(all, took.Seconds())
		})
	}
	wait.Wait()
	if err := stop(); err != nil {
		return r, err
	}
	r.ours = quantile(all, 0.99)
	r.p50, r.p99 = seconds(quantile(all, 0.5)), seconds(r.ours)
	return r, failed
}

// trace fires one impression of a campaign and answers how long after the reply stats count it.
func (t *site) trace(ctx context.Context, n *node, campaign uuid.UUID) (time.Duration, error) {
	signed := token.Auction{
		AuctionID: uuid.Must(uuid.NewV7()), CampaignID: campaign, AdvertiserID: uuid.MustParse(t.owner.id), DeveloperID: uuid.MustParse(t.publisher.id),
		Price: 5 * money.USD / 1000, BillingModel: "cpm", Format: "image", IntegrationMethod: "rest", Surface: "chat",
	}
	link := "http://" + n.addr + "/api/track?event=impression&campaign_id=" + campaign.String() + "&auction_id=" + url.QueryEscape(t.ring.Sign(token.PurposeAuction, signed))
	reply, err := http.Get(link)
	if err != nil {
		return 0, err
	}
	reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("beacon: status %d", reply.StatusCode)
	}
	answered := time.Now()
	for time.Since(answered) < time.Minute {
		stats, err := n.call(ctx, "GET", "/api/stats?type=campaign&campaign_id="+campaign.String(), t.owner.token, "")
		if err != nil {
			return 0, err
		}
		if counted(stats) {
			return time.Since(answered), nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return 0, fmt.Errorf("a beacon of campaign %s is not in stats after a minute", campaign)
}

// counted says whether the reply shows an impression, at whatever depth.
func counted(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if n, ok := v["impressions"].(float64); ok && n > 0 {
			return true
		}
		for _, inner := range v {
			if counted(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, counted)
	}
	return false
}

// ids are n of the site's campaigns that nothing was counted for.
func (t *site) ids(ctx context.Context, n int) ([]uuid.UUID, error) {
	db, err := pgx.Connect(ctx, t.database)
	if err != nil {
		return nil, err
	}
	defer db.Close(ctx)
	rows, err := db.Query(ctx, "SELECT id FROM campaign WHERE name = 'bench' AND id NOT IN (SELECT campaign_id FROM campaign_spend) ORDER BY id DESC LIMIT $1", n)
	if err != nil {
		return nil, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err == nil && len(ids) < n {
		err = fmt.Errorf("only %d campaigns without events are left, %d are needed", len(ids), n)
	}
	return ids, err
}

func quantile(all []float64, q float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(len(all)-1, int(q*float64(len(all))))]
}

func seconds(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }

// memory compares a node's resident memory, after it has served for a while, with its campaigns as JSON.
func memory(campaigns int) func(context.Context, *session) (result, error) {
	return func(ctx context.Context, s *session) (r result, err error) {
		t, err := s.at(ctx, s.size(campaigns))
		if err != nil {
			return r, err
		}
		size, err := t.jsonSize(ctx)
		if err != nil {
			return r, err
		}
		r.baseline = float64(size)
		r.ours, err = s.repeat(ctx, func(ctx context.Context) (float64, error) {
			n, err := t.ingress(ctx)
			if err != nil {
				return 0, err
			}
			defer n.stop()
			requests, err := t.adRequests(n.addr)
			if err != nil {
				return 0, err
			}
			if _, err := requests.peak(ctx, s.cfg.Sample); err != nil {
				return 0, err
			}
			rss, err := n.rss()
			return float64(rss), err
		})
		return r, err
	}
}

// starting is the time from exec to ready with the catalog loaded from Redis.
func starting(ctx context.Context, s *session) (r result, err error) {
	t, err := s.at(ctx, s.size(100_000))
	if err != nil {
		return r, err
	}
	r.ours, err = s.repeat(ctx, func(ctx context.Context) (float64, error) {
		runtime.GC() // of this process, so that it does not disturb
		started := time.Now()
		n, err := t.ingress(ctx)
		if err != nil {
			return 0, err
		}
		took := time.Since(started).Seconds()
		have, err := n.metric("adnet_catalog_deliverable")
		if err == nil && int(have) < t.campaigns {
			err = fmt.Errorf("ready with %d of %d campaigns", int(have), t.campaigns)
		}
		n.stop()
		return took, err
	})
	return r, err
}

// pausing pauses and resumes a campaign that every request is filled with, while two nodes serve, and takes the time
// from the call to the last reply with it on either node.
func pausing(ctx context.Context, s *session) (r result, err error) {
	t, here, err := s.serving(ctx, 100_000)
	if err != nil {
		return r, err
	}
	defer here.stop()
	if err := t.consume(ctx); err != nil {
		return r, err
	}
	there, err := t.ingress(ctx)
	if err != nil {
		return r, err
	}
	defer there.stop()
	id, err := t.template(ctx)
	if err != nil {
		return r, err
	}
	var mu sync.Mutex
	var last time.Time
	body := [][]byte{[]byte(`{"context":"zyzzyva"}`)}
	watch := func(n *node) traffic {
		all := posts(n.addr, "/v1/ad-request", "Bearer "+t.publisherKey, body)
		all.check = func(r *fasthttp.Response) error {
			if r.StatusCode() != fasthttp.StatusOK {
				return fmt.Errorf("status %d: %s", r.StatusCode(), r.Body())
			}
			if strings.Contains(string(r.Body()), id) {
				now := time.Now()
				mu.Lock()
				defer mu.Unlock()
				if now.After(last) {
					last = now
				}
			}
			return nil
		}
		return all
	}
	first, second := watch(here), watch(there)
	stopFirst, stopSecond := first.inBackground(ctx, 1000), second.inBackground(ctx, 1000)
	rounds := 50
	if s.cfg.Smoke {
		rounds = 3
	}
	var all []float64
	served := func() time.Time { mu.Lock(); defer mu.Unlock(); return last }
	for range rounds {
		before := time.Now()
		for !served().After(before) { // it is served before it is paused
			if time.Since(before) > 30*time.Second {
				return r, fmt.Errorf("the campaign is not served 30 s after it was resumed")
			}
			time.Sleep(time.Millisecond)
		}
		called := time.Now()
		if _, err := here.call(ctx, "POST", "/api/campaigns?action=pause", t.owner.token, `{"id":"`+id+`"}`); err != nil {
			return r, err
		}
		time.Sleep(300 * time.Millisecond) // a late reply would show
		all = append(all, max(0, served().Sub(called).Seconds()))
		if _, err := there.call(ctx, "POST", "/api/campaigns?action=resume", t.owner.token, `{"id":"`+id+`"}`); err != nil {
			return r, err
		}
	}
	if err := stopFirst(); err != nil {
		return r, err
	}
	if err := stopSecond(); err != nil {
		return r, err
	}
	r.ours = quantile(all, 0.99)
	r.p50, r.p99 = seconds(quantile(all, 0.5)), seconds(r.ours)
	return r, nil
}

// template is the campaign that the others were copied from.
func (t *site) template(ctx context.Context) (id string, err error) {
	db, err := pgx.Connect(ctx, t.database)
	if err != nil {
		return "", err
	}
	defer db.Close(ctx)
	err = db.QueryRow(ctx, "SELECT id::text FROM campaign WHERE name <> 'bench'").Scan(&id)
	return id, err
}
