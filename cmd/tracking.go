package cmd

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"adnet/auction/lexicon"
	"adnet/cmd/backends"
	"adnet/ingress/track"
	"adnet/ingress/track/spool"
	"adnet/internal/campaign"
	"adnet/internal/compliance/adreport"
	"adnet/internal/kafka"
	"adnet/internal/process/obs"
	"adnet/internal/store/redis"
)

// tracking builds and mounts the recording of events: the producer, the spool behind it, and the
// beacons.
func (r *ingressRole) tracking() (err error) {
	if r.producer, err = kafka.NewProducer(r.Kafka, kafka.Deps{Log: r.Log, Metrics: r.metrics}); err != nil {
		return err
	}
	if r.spool, err = spool.New(
		r.inputs.Spool, spool.Deps{Log: r.Log, Metrics: r.metrics, Producer: r.producer},
	); err != nil {
		return err
	}
	var shared track.Words
	if r.Terms != nil {
		shared = sharedWords{r.Terms, r.Stores.Campaigns}
	}
	r.tracker, err = track.New(r.inputs.Config.Track, track.Deps{
		Log: r.Log, Metrics: r.metrics, Keyring: r.inputs.Ring, Producer: r.producer, Spool: r.spool,
		Creatives: r.catalog, Exposures: r.delivery.Caps, Auth: r.auth, Seen: r.Redis, Now: time.Now,
		Clicks: networkClicks{redis.NewClicks(r.Redis)}, Views: r.limits, Reports: r.limits, Unseen: r.limits,
		Strangers: r.limits, Unproven: r.Stores.Traffic, Sponsors: r.Stores.Accounts, Words: shared,
		BaseURL: r.http.BaseURL,
		Complaints: adreport.New(adreport.Deps{
			Store: r.Stores.AdReports, Stats: r.Stats, Hold: reported{r}, Rivals: rivals{r.Stores},
			Pause: r.inputs.Config.Manage.ReportsPause == "on",
			Log:   r.Log, Now: time.Now,
		}),
	})
	if err != nil {
		return err
	}
	r.readiness.Add("recording", obs.Traffic, func() error {
		if !r.tracker.CanRecord(context.Background()) {
			return errors.New("events can be neither sent to Kafka nor spooled")
		}
		return nil
	})
	r.tracker.Mount(r.http)
	return nil
}

// sharedWords finds the words shared by a request and a campaign. The auction records them as
// numbers, and the texts of the campaign hold them in clear.
type sharedWords struct {
	terms     backends.TermReader
	campaigns interface {
		Campaign(ctx context.Context, id uuid.UUID) (campaign.Campaign, error)
	}
}

// mostWords is the maximum number of words on a receipt.
const mostWords = 10

// Matched implements track.Words.
func (w sharedWords) Matched(ctx context.Context, auction, of uuid.UUID, at time.Time) ([]string, error) {
	recorded, err := w.terms.RecordedTerms(ctx, auction, at)
	if err != nil || len(recorded) == 0 {
		return nil, err
	}
	c, err := w.campaigns.Campaign(ctx, of)
	if err != nil {
		return nil, err
	}
	return lexicon.Matched(
		recorded, slices.Concat(c.IntentTokens, c.Keywords, []string{c.Headline, c.Subtext}), mostWords,
	), nil
}

// networkClicks adapts Redis to the click counters of tracking.
type networkClicks struct{ redis.Clicks }

// Allow implements track.Clicks.
func (n networkClicks) Allow(ctx context.Context, click track.NetworkClick, rates []track.Rate) (bool, error) {
	list := make([]redis.ClickRate, len(rates))
	for i, r := range rates {
		list[i] = redis.ClickRate{Limit: r.Limit, Window: r.Window}
	}
	return n.Clicks.Allow(ctx, redis.Click{
		Network: click.Network, Address: click.Address.String(), Reader: click.Reader.String(),
		NetworkPeople: click.NetworkPeople(), AddressPeople: click.AddressPeople, Auction: click.Auction.String(),
		At: click.At,
	}, list)
}

// reported stops campaigns that readers have reported. It looks the campaign service up late
// because that is created afterwards.
type reported struct{ role *ingressRole }

// rivals compares campaigns by their words.
type rivals struct{ stores backends.Stores }

// Compete implements adreport.Rivals.
func (r rivals) Compete(ctx context.Context, of, id uuid.UUID) (bool, error) {
	wanted, err := r.stores.Campaigns.Campaign(ctx, id)
	if err != nil {
		return false, err
	}
	members, err := r.stores.Families.Families(ctx)
	if err != nil {
		return false, err
	}
	accounts := []uuid.UUID{of}
	for account, m := range members {
		if m.Family == of && account != of {
			accounts = append(accounts, account)
		}
	}
	text := textOf(&wanted)
	for _, account := range accounts {
		list, _, err := r.stores.Campaigns.Campaigns(
			ctx, campaign.Filter{AdvertiserID: account, Limit: campaign.MaxPage},
		)
		if err != nil {
			return false, err
		}
		for i := range list {
			other := textOf(&list[i])
			if list[i].Status != campaign.Draft && lexicon.Shared(&text, &other) {
				return true, nil
			}
		}
	}
	return false, nil
}

func textOf(c *campaign.Campaign) lexicon.Text {
	return lexicon.Text{
		Headline: c.Headline, Subtext: c.Subtext, Stated: [2][]string{c.IntentTokens, c.Keywords},
	}
}

// HoldReported implements adreport.Holder.
func (h reported) HoldReported(ctx context.Context, id uuid.UUID) error {
	return h.role.campaigns.HoldReported(ctx, id)
}
