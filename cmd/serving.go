package cmd

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/ingress/benna"
	"adnet/ingress/budget"
	"adnet/ingress/catalog"
	"adnet/ingress/limits"
	"adnet/ingress/limits/frequency"
	"adnet/ingress/limits/pacing"
	"adnet/ingress/limits/refusals"
	"adnet/ingress/mcp"
	"adnet/ingress/offer"
	"adnet/ingress/rtb"
	"adnet/ingress/serve"
	"adnet/internal/classifier"
	"adnet/internal/obs"
	"adnet/internal/redis"
)

// following makes the state that the node keeps for its auctions: campaigns, frequency caps,
// pacing, reservations.
func (r *ingressRole) following() error {
	if err := r.trust(); err != nil {
		return err
	}
	r.catalog = catalog.New(catalog.Deps{
		Log: r.Log, Metrics: r.metrics, Source: redis.NewProjection(r.sealed), Feed: feed{redis.NewNodes(r.sealed)},
		Node: r.node, Now: time.Now, Weights: r.Ranking, Loaded: fitMemory,
	})
	given := frequency.Deps{Log: r.Log, Metrics: r.metrics, Campaigns: r.catalog}
	if !r.given.InMemory { // there this process is the only node, and the store ends with it
		given.Store, given.Exchange = redis.NewSessions(r.Redis), redis.NewExchange(r.Redis, "frequency", r.node)
	}
	caps, err := frequency.New(r.given.Config.Frequency, given)
	if err != nil {
		return err
	}
	r.refusals = refusals.New(refusals.Deps{
		Log: r.Log, Metrics: r.metrics, Keyring: r.given.Ring, Store: redis.NewRefusals(r.Redis), Now: time.Now,
	})
	pacer := pacing.New(pacing.Deps{
		Log: r.Log, Metrics: r.metrics, Campaigns: r.catalog, Curves: redis.NewCurves(r.Redis),
	})
	r.delivery = &limits.Delivery{Caps: caps, Pacer: pacer}
	reserving := r.given.Config.Budget
	if r.given.InMemory { // the store shares this process's cores, and other processes' requests do not wait for it
		reserving.Wait = max(reserving.Wait, 250*time.Millisecond)
	}
	r.budget, err = budget.New(reserving, budget.Deps{
		Log: r.Log, Metrics: r.metrics, Store: redis.NewReservations(r.Redis), Node: r.node, Journal: r.Books,
		ImpressionLife: r.given.Config.Track.Life.Impression, Now: time.Now,
	})
	if err != nil {
		return err
	}
	r.readiness.Add("catalog", func() error {
		if !r.catalog.Fresh(time.Now()) {
			return errors.New("campaigns cannot be proven up to date")
		}
		return nil
	})
	r.readiness.Add("budget", func() error {
		if !r.budget.Live(time.Now()) {
			return errors.New(
				"budgets cannot be reserved: Redis does not answer, its clock is not this node's, or the consumers " +
					"have not filled it",
			)
		}
		return nil
	})
	return nil
}

// trust makes Redis as the catalog believes it: of campaigns, what the projection or a node has
// sealed. What others wrote is counted and read from PostgreSQL.
func (r *ingressRole) trust() error {
	seal, err := r.given.Ring.Seal()
	if err != nil {
		return err
	}
	refused := obs.Register(r.metrics, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "adnet_catalog_refused_total",
		Help: "Campaigns in Redis that were refused because no process of this installation has sealed them.",
	}))
	often := obs.Limited(r.Log, time.Second)
	r.sealed = r.Redis.Trusting(redis.Trust{
		Seal: seal, Truth: r.Books.Campaign,
		Refused: func(campaignID string, reason error) {
			refused.Inc()
			often.Error(
				r.Ctx,
				"a campaign in Redis was refused: somebody else wrote it, or its writer has another ADNET_TOKEN_KEYS",
				"campaign", campaignID, "error", reason,
			)
		},
	})
	return nil
}

// serving makes the seller of impressions and mounts its three wires: REST, MCP and OpenRTB.
func (r *ingressRole) serving() error {
	outcomes := new(benna.Diagnostics)
	selling := r.given.Config.Offer
	if r.given.InMemory && selling.MinRelevanceLowest < 0 {
		selling.MinRelevanceLowest = 0 // a trial: unfitting ads earn nothing here
	}
	if err := selling.Check(); err != nil {
		return err
	}
	r.flags = offer.NewFlagCounter(obs.Limited(r.Log, time.Minute), redis.NewFlags(r.Redis))
	given := offer.Deps{
		Metrics: r.metrics, Catalog: r.catalog, Limiter: r.limits, Sales: r.limits, Keyring: r.given.Ring,
		Producer: r.producer, Recording: r.tracker, BaseURL: r.http.BaseURL, Now: time.Now, Delivery: r.delivery,
		Outcomes: outcomes,
		Flags:    r.flags, Trials: r.catalog, Budget: r.budget, Life: r.given.Config.Track.Life, Refusals: r.refusals,
	}
	judge, err := classifier.New(r.given.Config.Classifier, classifier.Deps{Log: r.Log, Metrics: r.metrics})
	if err != nil {
		return err
	}
	if judge != nil {
		given.Classifier = judge
	}
	ads := offer.New(selling, given)
	tools, err := mcp.New(
		r.given.Config.MCP,
		mcp.Deps{Log: r.Log, Metrics: r.metrics, Auth: r.auth, Ads: ads, Events: r.tracker, BaseURL: r.http.BaseURL},
	)
	if err != nil {
		return err
	}
	bids, err := rtb.New(r.given.Config.RTB, rtb.Deps{
		Metrics: r.metrics, Auth: r.auth, Seller: ads, Limiter: r.limits, Keyring: r.given.Ring, Producer: r.producer,
		Now: time.Now,
	})
	if err != nil {
		return err
	}
	serve.New(serve.Deps{Auth: r.auth, Ads: ads}).Mount(r.http)
	tools.Mount(r.http)
	bids.Mount(r.http)
	benna.New(benna.Deps{
		Snapshot: r.catalog.Snapshot, MinRelevance: ads.MinRelevance, Diagnostics: outcomes, Now: time.Now,
	}).Mount(r.http)
	return nil
}

// feed adapts Redis to the catalog's feed of changes.
type feed struct{ *redis.Nodes }

// Subscribe implements catalog.Feed.
func (f feed) Subscribe(ctx context.Context, to catalog.Listener) error {
	return f.Nodes.Subscribe(ctx, func(c redis.Change) {
		switch {
		case c.Ready:
			to.Subscribed()
		case c.Campaign != nil:
			to.Changed(*c.Campaign, c.Confirm)
		default:
			to.Rooms(c.Rooms)
		}
	})
}
