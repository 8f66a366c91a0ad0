package archive_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/consumers/archive"
	"adnet/internal/consent"
	"adnet/internal/report"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

type auctionSink struct {
	mu     sync.Mutex
	fail   int
	tokens []string
	rows   []report.Auction
}

func (s *auctionSink) InsertAuctions(_ context.Context, token string, rows []report.Auction) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = append(s.tokens, token)
	if s.fail > 0 {
		s.fail--
		return errSink
	}
	s.rows = append(s.rows, rows...)
	return nil
}

func (s *auctionSink) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rows)
}

func TestAuctionsAreArchivedAndTriedAgain(t *testing.T) {
	id, developer := newID(), newID()
	won := &event.Auction{
		AuctionId: id[:], AtUs: 1_700_000_000_000_123, DeveloperId: developer[:], CampaignId: id[:], PriceMicros: 5,
		EcpmMicros: 5_000,
		Placement:  &event.Placement{Format: "image", HostApp: "app"}, Sandbox: true, TookUs: 42,
		Consent: uint32(consent.Signal | consent.GDPR | consent.NoStorage), Suitability: "debt", SuitabilityBy: "flag",
		AgeAdult: true,
	}
	bad := record(t, 8, &event.Auction{Reason: "an outcome without an id"})
	log := &scripted{polls: [][]event.Record{{record(t, 7, won), bad}}}
	sink := &auctionSink{fail: 1}
	a, err := archive.NewAuctions(config, archive.CopyDeps[report.Auction]{
		Records: log, Insert: sink.InsertAuctions, Log: quiet(), Metrics: prometheus.NewRegistry(),
	})
	require.NoError(t, err)
	stop := run(t, a.Run)
	require.Eventually(t, func() bool { return sink.len() == 1 }, patience, time.Millisecond)
	stop()
	require.Equal(t, []report.Auction{{
		AuctionID: id, At: time.UnixMicro(1_700_000_000_000_123).UTC(), DeveloperID: developer, CampaignID: id,
		Price: 5, ECPM: 5_000,
		Format: "image", HostApp: "app", Sandbox: true, Took: 42 * time.Microsecond, Consent: "given,gdpr,no_storage",
		Suitability: "debt", SuitabilityBy: "flag", AgeAdult: true,
	}}, sink.rows)
	token := stream.Range{Partition: partition, First: 7, Next: 9}.String()
	require.Equal(t, []string{token, token}, sink.tokens)
	require.NotEqual(t, uuid.Nil, sink.rows[0].AuctionID)
}
