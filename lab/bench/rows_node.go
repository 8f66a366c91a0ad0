package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/valyala/fasthttp"

	"adnet/internal/money"
	"adnet/internal/token"
	"adnet/lab/process"
)

// freshness measures the time from the response to a beacon until stats count it. Each traced
// beacon has its own campaign, and other beacons load the node and the consumers at half their
// joint capacity.
func freshness(ctx context.Context, s *session) (r result, err error) {
	t, n, err := s.serving(ctx, 10_000)
	if err != nil {
		return r, err
	}
	defer n.Stop()
	if err := t.consume(ctx); err != nil {
		return r, err
	}
	tracers := 200
	if s.cfg.Smoke {
		tracers = 3
	}
	beacons := t.beacons(n.addr)
	peak, err := t.together(ctx, beacons)
	if err != nil {
		return r, err
	}
	return s.quietly(ctx, func(ctx context.Context) (result, error) { return t.fresh(ctx, n, tracers, peak/2) })
}

// fresh traces that many beacons while others arrive at a rate.
func (t *site) fresh(ctx context.Context, n *node, tracers int, perSecond float64) (r result, err error) {
	campaigns, err := t.ids(ctx, tracers)
	if err != nil {
		return r, err
	}
	beacons := t.beacons(n.addr)
	stop := beacons.inBackground(ctx, perSecond)
	look := &lookout{site: t, node: n, answered: map[string]time.Time{}}
	watching, ended := context.WithCancel(ctx)
	defer ended()
	watched := make(chan error, 1)
	go func() { watched <- look.watch(watching, len(campaigns)) }()
	for _, campaign := range campaigns {
		time.Sleep(100 * time.Millisecond)
		if err := look.trace(campaign); err != nil {
			return r, err
		}
	}
	if err := <-watched; err != nil {
		return r, err
	}
	if err := stop(); err != nil {
		return r, err
	}
	r.ours = quantile(look.took, 0.99)
	r.p50, r.p99 = seconds(quantile(look.took, 0.5)), seconds(r.ours)
	return r, nil
}

// together returns the rate of beacons through the whole pipeline, from the node through settlement
// into the archive. Beacons answered before the end of the load count once archived.
func (t *site) together(ctx context.Context, beacons traffic) (perSecond float64, err error) {
	began := time.Now()
	sent, err := beacons.peak(ctx, t.s.cfg.Sample)
	if err != nil {
		return 0, err
	}
	if err := t.catchUp(ctx); err != nil {
		return 0, err
	}
	perSecond = sent.count / time.Since(began).Seconds()
	t.s.say(
		"the node answers %s beacons/s with the consumers beside it; %s/s reach the archive", number(sent.perSecond),
		number(perSecond),
	)
	return perSecond, nil
}

// lookout polls stats for the beacons. One reader polls for all of them, as a dashboard does,
// because a reader for each would dominate the load.
type lookout struct {
	site *site
	node *node

	mu       sync.Mutex
	answered map[string]time.Time // time of the response to a campaign's beacon, until stats count it
	took     []float64            // seconds
}

// trace fires one impression of a campaign.
func (l *lookout) trace(campaign uuid.UUID) error {
	t := l.site
	signed := token.Auction{
		AuctionID: uuid.Must(uuid.NewV7()), CampaignID: campaign, AdvertiserID: uuid.MustParse(t.owner.ID),
		DeveloperID: uuid.MustParse(t.publisher.ID),
		Price:       5 * money.USD / 1000, BillingModel: "cpm", Format: "image", IntegrationMethod: "rest",
		Surface: "chat",
	}
	link := "http://" + l.node.addr + "/api/track?event=impression&campaign_id=" + campaign.String() + "&auction_id=" +
		url.QueryEscape(t.Ring.Sign(
			token.PurposeImpression, signed,
		))
	reply, err := http.Get(link)
	if err != nil {
		return err
	}
	reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("beacon: status %d", reply.StatusCode)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answered[campaign.String()] = time.Now()
	return nil
}

// watch polls stats until n campaigns have appeared.
func (l *lookout) watch(ctx context.Context, n int) error {
	for last := time.Now(); time.Since(last) < time.Minute; {
		stats, err := l.node.call(ctx, "GET", "/api/stats?breakdown=campaign", l.site.owner.Bearer, "")
		if err != nil {
			return err
		}
		groups, _ := stats["breakdown"].([]any)
		now := time.Now()
		l.mu.Lock()
		for _, group := range groups {
			key, _ := group.(map[string]any)["key"].(string)
			if since, waiting := l.answered[key]; waiting {
				l.took = append(l.took, now.Sub(since).Seconds())
				delete(l.answered, key)
				last = now
			}
		}
		seen := len(l.took)
		l.mu.Unlock()
		if seen == n {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("no further beacons of %d appeared in stats for a minute", n)
}

// ids returns n of the site's campaigns without counted events.
func (t *site) ids(ctx context.Context, n int) ([]uuid.UUID, error) {
	db, err := pgx.Connect(ctx, t.Database)
	if err != nil {
		return nil, err
	}
	defer db.Close(ctx)
	rows, err := db.Query(
		ctx,
		"SELECT id FROM campaign WHERE name = 'bench' AND id NOT IN (SELECT campaign_id FROM campaign_spend) ORDER "+
			"BY id DESC LIMIT $1", n,
	)
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
	return all[max(0, int(math.Ceil(q*float64(len(all))))-1)]
}

func seconds(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }

// memory compares the resident memory of a node after some traffic with the size of its campaigns
// as JSON.
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
		r, err = s.repeat(ctx, func(ctx context.Context) (float64, error) {
			n, err := t.ingress(ctx)
			if err != nil {
				return 0, err
			}
			defer n.Stop()
			requests, err := t.adRequests(n.addr)
			if err != nil {
				return 0, err
			}
			if _, err := requests.peak(ctx, s.cfg.Sample); err != nil {
				return 0, err
			}
			rss, err := n.RSS()
			return float64(rss), err
		})
		r.baseline = float64(size)
		return r, err
	}
}

// starting measures the time from exec to ready with the catalog loaded from Redis.
func starting(ctx context.Context, s *session) (r result, err error) {
	t, err := s.at(ctx, s.size(100_000))
	if err != nil {
		return r, err
	}
	return s.repeat(ctx, func(ctx context.Context) (float64, error) {
		runtime.GC() // of this process, so that it does not interfere
		started := time.Now()
		n, err := t.ingress(ctx)
		if err != nil {
			return 0, err
		}
		took := time.Since(started).Seconds()
		have, err := process.Metric(ctx, n.admin, "adnet_catalog_deliverable")
		if err == nil && int(have) < t.campaigns {
			err = fmt.Errorf("ready with %d of %d campaigns", int(have), t.campaigns)
		}
		n.Stop()
		return took, err
	})
}

// pausing pauses and resumes a campaign that fills every request of two nodes. It measures the time
// from the call to the last reply with the campaign on either node.
func pausing(ctx context.Context, s *session) (r result, err error) {
	t, here, err := s.serving(ctx, 100_000)
	if err != nil {
		return r, err
	}
	defer here.Stop()
	if err := t.consume(ctx); err != nil {
		return r, err
	}
	there, err := t.ingress(ctx)
	if err != nil {
		return r, err
	}
	defer there.Stop()
	id, err := t.template(ctx)
	if err != nil {
		return r, err
	}
	var mu sync.Mutex
	var last time.Time
	body := [][]byte{[]byte(`{"context":"zyzzyva"}`)}
	watch := func(n *node) traffic {
		all := posts(n.addr, "/v1/ad-request", t.publisherKeys[:], body)
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
	served := func() time.Time { mu.Lock(); defer mu.Unlock(); return last }
	once := func() (float64, error) {
		before := time.Now()
		for !served().After(before) { // the campaign must be served before the pause
			if time.Since(before) > 30*time.Second {
				return 0, fmt.Errorf("the campaign is not served within 30 s of its resumption")
			}
			time.Sleep(time.Millisecond)
		}
		called := time.Now()
		if _, err := here.call(
			ctx, "POST", "/api/campaigns?action=pause", t.owner.Bearer, `{"id":"`+id+`"}`,
		); err != nil {
			return 0, err
		}
		time.Sleep(300 * time.Millisecond) // a late reply would show
		took := max(0, served().Sub(called).Seconds())
		_, err := there.call(ctx, "POST", "/api/campaigns?action=resume", t.owner.Bearer, `{"id":"`+id+`"}`)
		return took, err
	}
	r, err = s.quietly(ctx, func(context.Context) (r result, err error) {
		all := make([]float64, rounds)
		for i := range all {
			if all[i], err = once(); err != nil {
				return r, err
			}
		}
		r.ours = quantile(all, 0.99)
		r.p50, r.p99 = seconds(quantile(all, 0.5)), seconds(r.ours)
		return r, nil
	})
	if err != nil {
		return r, err
	}
	if err := stopFirst(); err != nil {
		return r, err
	}
	return r, stopSecond()
}

// template returns the campaign from which the others were copied.
func (t *site) template(ctx context.Context) (id string, err error) {
	db, err := pgx.Connect(ctx, t.Database)
	if err != nil {
		return "", err
	}
	defer db.Close(ctx)
	err = db.QueryRow(ctx, "SELECT id::text FROM campaign WHERE name <> 'bench'").Scan(&id)
	return id, err
}
