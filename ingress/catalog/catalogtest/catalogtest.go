// Package catalogtest provides benchmarks of the serving endpoints with a catalog of any size.
package catalogtest

import (
	"context"
	"encoding/binary"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/ingress/catalog"
	"adnet/internal/campaign"
	"adnet/internal/demo"
	"adnet/internal/ledger/reserve"
	"adnet/internal/money"
)

// Projection is a catalog's source and feed without changes. All its campaigns are served within
// their budgets.
type Projection []campaign.Campaign

// Head implements catalog.Source.
func (p Projection) Head(context.Context) (int64, bool, error) { return 1, true, nil }

// EachCampaign implements catalog.Source.
func (p Projection) EachCampaign(_ context.Context, take func([]campaign.Campaign)) (int64, error) {
	take(p)
	return 1, nil
}

// CampaignsSince implements catalog.Source.
func (p Projection) CampaignsSince(context.Context, int64) ([]campaign.Campaign, int64, error) {
	return nil, 1, nil
}

// EachRoom implements catalog.Source.
func (p Projection) EachRoom(_ context.Context, take func([]reserve.Room)) error {
	rooms := make([]reserve.Room, len(p))
	for i := range p {
		rooms[i] = reserve.Room{
			CampaignID: p[i].ID, Daily: p[i].DailyBudget, Today: p[i].DailyBudget, Total: p[i].TotalBudget,
			Balance: money.Max,
		}
	}
	take(rooms)
	return nil
}

// Subscribe implements catalog.Feed.
func (Projection) Subscribe(ctx context.Context, _ catalog.Listener) error {
	<-ctx.Done()
	return ctx.Err()
}

// Heartbeat implements catalog.Feed.
func (Projection) Heartbeat(context.Context, string, int64) error { return nil }

// Applied implements catalog.Feed.
func (Projection) Applied(context.Context, string, int64) error { return nil }

// Leave implements catalog.Feed.
func (Projection) Leave(context.Context, string) error { return nil }

// Many returns n campaigns: copies of the demo's, each with its own bid. Three copies of four leave
// out a token, so that the number of different targetings resembles that of a real network.
func Many(b *testing.B, advertiser uuid.UUID, n int) Projection {
	b.Helper()
	fields, err := demo.Campaigns()
	require.NoError(b, err)
	list := make(Projection, n)
	for i := range list {
		f := &fields[i%len(fields)]
		k := &list[i]
		binary.BigEndian.PutUint64(k.ID[8:], uint64(i)+1)
		k.AdvertiserID, k.Status, k.Format, k.BillingModel, k.ConfigVersion = advertiser, campaign.Active,
			campaign.Image, campaign.CPM, 1
		k.BidAmount, k.DailyBudget, k.TotalBudget = money.Micros(1_000_000+i*37%9_000_000), 50*money.USD, 1000*money.USD
		k.Headline, k.CTAURL = *f.Headline, *f.CTAURL
		k.Targeting = campaign.Targeting{
			IntentTokens: without(f.IntentTokens, i/len(fields)%4), Keywords: f.Keywords, ActiveTools: f.ActiveTools,
			HostApps: f.HostApps, Surfaces: f.Surfaces,
			IntegrationMethods: f.IntegrationMethods, Regions: f.Regions, Languages: f.Languages,
		}
	}
	return list
}

// without returns tokens without the k-th, counted from 1.
func without(tokens []string, k int) []string {
	if k == 0 || k > len(tokens) || len(tokens) == 1 {
		return tokens
	}
	return append(tokens[:k-1:k-1], tokens[k:]...)
}

// Source is both source and feed of a catalog.
type Source interface {
	catalog.Source
	catalog.Feed
}

// Running returns a catalog of source that stays fresh until the test ends.
func Running(t testing.TB, source Source) *catalog.Catalog {
	t.Helper()
	c := catalog.New(catalog.Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Source: source, Feed: source, Node: "n",
		Now: time.Now,
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-c.Ready()
	for !c.Fresh(time.Now()) {
		time.Sleep(time.Millisecond)
	}
	return c
}
