package cmd

import (
	"context"
	"errors"
	"time"

	"adnet/ingress/track"
	"adnet/ingress/track/spool"
	"adnet/internal/adreport"
	"adnet/internal/kafka"
	"adnet/internal/redis"

	"github.com/google/uuid"
)

// tracking makes and mounts the recording of events: the producer, the spool behind it, and the
// beacons.
func (r *ingressRole) tracking() (err error) {
	if r.producer, err = kafka.NewProducer(r.Kafka, kafka.Deps{Log: r.Log, Metrics: r.metrics}); err != nil {
		return err
	}
	if r.spool, err = spool.New(r.given.Spool, spool.Deps{Log: r.Log, Metrics: r.metrics, Producer: r.producer}); err != nil {
		return err
	}
	r.tracker, err = track.New(r.given.Config.Track, track.Deps{
		Log: r.Log, Metrics: r.metrics, Keyring: r.given.Ring, Producer: r.producer, Spool: r.spool,
		Creatives: r.catalog, Exposures: r.delivery.Caps, Auth: r.auth, Seen: r.Redis, Now: time.Now,
		Clicks: networkClicks{redis.NewClicks(r.Redis)}, Views: r.limits, Reports: r.limits, Unseen: r.limits,
		Strangers: r.limits, Unproven: r.Books, Sponsors: r.Books,
		Complaints: adreport.New(adreport.Deps{
			Store: r.Books, Stats: r.Stats, Hold: reported{r}, Pause: r.given.Config.Manage.ReportsPause == "on", Log: r.Log, Now: time.Now,
		}),
	})
	if err != nil {
		return err
	}
	r.readiness.Add("recording", func() error {
		if !r.tracker.CanRecord(context.Background()) {
			return errors.New("events can neither be sent to Kafka nor be spooled")
		}
		return nil
	})
	r.tracker.Mount(r.http)
	return nil
}

// networkClicks adapts Redis to the click counters of tracking.
type networkClicks struct{ redis.Clicks }

// Allow implements track.Clicks.
func (n networkClicks) Allow(ctx context.Context, click track.NetworkClick, rates []track.Rate) (bool, error) {
	list := make([]redis.ClickRate, len(rates))
	for i, r := range rates {
		list[i] = redis.ClickRate{Limit: r.Limit, Window: r.Window}
	}
	return n.Clicks.Allow(ctx, click.Network, click.Auction.String(), click.At, list)
}

// reported stops campaigns that readers have reported; the service of campaigns is made later.
type reported struct{ role *ingressRole }

// HoldReported implements adreport.Holder.
func (h reported) HoldReported(ctx context.Context, id uuid.UUID) error {
	return h.role.campaigns.HoldReported(ctx, id)
}
