package cmd

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/ingress/api/benna"
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
	"adnet/internal/process/obs"
	"adnet/internal/store/redis"
)

// following builds the state that the node keeps for its auctions: campaigns, frequency caps,
// pacing, reservations.
func (r *ingressRole) following() error {
	if err := r.trust(); err != nil {
		return err
	}
	r.catalog = catalog.New(catalog.Deps{
		Log: r.Log, Metrics: r.metrics, Source: redis.NewProjection(r.sealed), Feed: feed{redis.NewNodes(r.sealed)},
		Node: r.node, Now: time.Now, Weights: r.Ranking, Loaded: fitMemory,
		Unreviewed: r.inputs.Config.Offer.Unreviewed, Patience: r.patience(),
	})
	deps := frequency.Deps{Log: r.Log, Metrics: r.metrics, Campaigns: r.catalog}
	if !r.inputs.InMemory { // in memory, this process is the only node, and the store ends with it
		deps.Store, deps.Exchange = redis.NewSessions(r.Redis), r.exchange("frequency")
	}
	caps, err := frequency.New(r.inputs.Config.Frequency, deps)
	if err != nil {
		return err
	}
	r.refusals = refusals.New(refusals.Deps{
		Log: r.Log, Metrics: r.metrics, Keyring: r.inputs.Ring, Store: redis.NewRefusals(r.Redis), Now: time.Now,
	})
	pacer := pacing.New(pacing.Deps{
		Log: r.Log, Metrics: r.metrics, Campaigns: r.catalog, Curves: redis.NewCurves(r.Redis),
	})
	r.delivery = &limits.Delivery{Caps: caps, Pacer: pacer}
	reserving := r.inputs.Config.Budget
	if r.inputs.InMemory { // the store shares the cores of this process only
		reserving.Wait = max(reserving.Wait, 250*time.Millisecond)
	}
	r.budget, err = budget.New(reserving, budget.Deps{
		Log: r.Log, Metrics: r.metrics, Store: redis.NewReservations(r.Redis), Node: r.node, Journal: r.Stores.Journal,
		Room:           r.catalog.Room,
		ImpressionLife: r.inputs.Config.Track.Life.Impression, Now: time.Now,
	})
	if err != nil {
		return err
	}
	r.readiness.Add("catalog", obs.Ads, func() error {
		if !r.catalog.Fresh(time.Now()) {
			return errors.New("the campaigns cannot be verified as up to date")
		}
		return nil
	})
	r.readiness.Add("budget", obs.Ads, func() error {
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

// patience returns how long the start waits for the campaigns. During an outage of Redis a node must
// come up without them, because it also records beacons. In memory nothing can be away.
func (r *ingressRole) patience() time.Duration {
	if r.inputs.InMemory {
		return time.Minute
	}
	return 5 * time.Second
}

// exchange returns the sealed exchange of a name.
func (r *ingressRole) exchange(name string) *redis.Exchange {
	refused := obs.Register(r.metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "adnet_exchange_refused_total",
		Help: "Messages between nodes rejected because no node of this installation had sealed them, or sent again.",
	}, []string{"exchange"})).WithLabelValues(name)
	often := obs.Limited(r.Log, time.Second)
	return redis.NewExchange(r.Redis, name, r.node).Sealed(r.inputs.Ring.Exchange(), func(node string, reason error) {
		refused.Inc()
		often.Error(
			r.Ctx,
			"a message between nodes was rejected: Redis has a foreign writer, or a node another ADNET_TOKEN_KEYS",
			"exchange", name, "node", node, "error", reason,
		)
	})
}

// trust builds the catalog's view of Redis: it accepts campaigns sealed by the projection or a
// node, and rooms sealed by the projection. Others are counted; such campaigns are read from
// PostgreSQL.
func (r *ingressRole) trust() error {
	seal, err := r.inputs.Ring.Seal()
	if err != nil {
		return err
	}
	refused := obs.Register(r.metrics, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "adnet_catalog_refused_total",
		Help: "Campaigns and rooms in Redis rejected because no process of this installation had sealed them.",
	}))
	often := obs.Limited(r.Log, time.Second)
	r.sealed = r.Redis.Trusting(redis.Trust{
		Seal: seal, Truth: r.Stores.Campaigns.Campaign,
		Refused: func(campaignID string, reason error) {
			refused.Inc()
			often.Error(
				r.Ctx,
				"a campaign or room in Redis was rejected: it has a foreign writer, or one with another ADNET_TOKEN_KEYS",
				"campaign", campaignID, "error", reason,
			)
		},
	})
	return nil
}

// serving builds the seller of impressions and mounts its three protocols: REST, MCP and OpenRTB.
func (r *ingressRole) serving() error {
	outcomes := new(benna.Diagnostics)
	selling := r.inputs.Config.Offer
	if r.inputs.InMemory && selling.MinRelevanceLowest < 0 {
		selling.MinRelevanceLowest = 0 // a trial: irrelevant ads earn nothing here
	}
	if err := selling.Check(); err != nil {
		return err
	}
	r.flags = offer.NewFlagCounter(obs.Limited(r.Log, time.Minute), redis.NewFlags(r.Redis))
	deps := offer.Deps{
		Metrics: r.metrics, Catalog: r.catalog, Limiter: r.limits, Sales: r.limits, Keyring: r.inputs.Ring,
		Producer: r.producer, Recording: r.tracker, BaseURL: r.http.BaseURL, Now: time.Now, Delivery: r.delivery,
		Outcomes: outcomes,
		Flags:    r.flags, Trials: r.catalog, Budget: r.budget, Life: r.inputs.Config.Track.Life, Refusals: r.refusals,
	}
	judge, err := classifier.New(r.inputs.Config.Classifier, classifier.Deps{Log: r.Log, Metrics: r.metrics})
	if err != nil {
		return err
	}
	if judge != nil {
		deps.Classifier = judge
	}
	ads := offer.New(selling, deps)
	hosts, err := r.inputs.Ring.HostSeal()
	if err != nil {
		return err
	}
	tools, err := mcp.New(
		r.inputs.Config.MCP,
		mcp.Deps{
			Log: r.Log, Metrics: r.metrics, Ads: ads, Events: r.tracker, Hosts: hosts, Now: time.Now,
			BaseURL: r.http.BaseURL,
		},
	)
	if err != nil {
		return err
	}
	bids, err := rtb.New(r.inputs.Config.RTB, rtb.Deps{
		Metrics: r.metrics, Seller: ads, Limiter: r.limits, Keyring: r.inputs.Ring, Producer: r.producer,
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
