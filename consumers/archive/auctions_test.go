package archive_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adnet/consumers/archive"
	"adnet/internal/compliance/consent"
	"adnet/internal/report"
	"adnet/internal/stream"
	"adnet/internal/token"
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

// keys are those of the installation.
var keys = func() *token.Keyring {
	key, err := token.NewKey("k1")
	if err != nil {
		panic(err)
	}
	ring, err := token.NewKeyring([]token.Key{key})
	if err != nil {
		panic(err)
	}
	return ring
}()

// sealed returns a record as a node writes it.
func sealed(seal *token.Seal, r event.Record) event.Record {
	r.Value = seal.Close(slices.Clone(r.Value), 0)
	return r
}

// Whoever writes to Kafka changes nothing that owners read: the archive drops what no node sealed,
// and counts it.
func TestForgedOutcomesAreDropped(t *testing.T) {
	id := newID()
	forged := record(t, 7, &event.Auction{AuctionId: id[:], Reason: "frequency_capped"})
	notice := record(t, 8, &event.Notice{AuctionId: id[:], Kind: event.Notice_WIN, Proof: event.Proof_SIGNED})
	changed := sealed(keys.Outcomes(), forged)
	changed.Value[3] ^= 1
	log := &scripted{polls: [][]event.Record{{
		forged, changed, sealed(keys.Notices(), forged), {TopicID: forged.TopicID, Offset: 11},
		sealed(keys.Outcomes(), record(t, 12, &event.Auction{AuctionId: id[:], Reason: "irrelevant"})),
	}}}
	sink, metrics := &auctionSink{}, prometheus.NewRegistry()
	a, err := archive.NewAuctions(
		config, archive.CopyDeps[report.Auction]{
			Records: log, Insert: sink.InsertAuctions, Seal: keys.Outcomes(), Log: quiet(), Metrics: metrics,
		},
	)
	require.NoError(t, err)
	stop := run(t, a.Run)
	require.Eventually(t, func() bool { return sink.len() == 1 }, patience, time.Millisecond)
	stop()
	require.Equal(t, "irrelevant", sink.rows[0].Reason)
	require.InDelta(t, 4, metric(t, metrics, "adnet_archive_auctions_forged_total"), 0)

	notices := &noticeSink{}
	n, err := archive.NewNotices(config, archive.CopyDeps[report.Notice]{
		Records: &scripted{polls: [][]event.Record{{
			notice, sealed(keys.Outcomes(), notice), sealed(keys.Notices(), notice),
		}}},
		Insert: notices.InsertNotices, Seal: keys.Notices(), Log: quiet(), Metrics: metrics,
	})
	require.NoError(t, err)
	stop = run(t, n.Run)
	require.Eventually(t, func() bool { return notices.len() == 1 }, patience, time.Millisecond)
	stop()
	require.InDelta(t, 2, metric(t, metrics, "adnet_archive_notices_forged_total"), 0)
}

// Repeated outcomes change nothing either: neither at once, nor in another partition, nor later.
// Records that are late by seconds count.
func TestRepeatedOutcomesAreDropped(t *testing.T) {
	began := time.UnixMicro(1_700_000_000_000_000)
	outcome := func(offset int64, partition int32, after time.Duration, reason string) event.Record {
		id := newID()
		r := sealed(keys.Outcomes(), record(t, offset, &event.Auction{
			AuctionId: id[:], AtUs: began.Add(after).UnixMicro(), Reason: reason,
		}))
		r.Partition = partition
		return r
	}
	again := func(r event.Record, offset int64, partition int32) event.Record {
		r.Offset, r.Partition = offset, partition
		return r
	}
	first := outcome(1, 0, 0, "first")
	next := outcome(3, 0, 10*time.Second, "next")
	newer := outcome(5, 0, 5*time.Minute, "newer")
	log := &scripted{polls: [][]event.Record{
		{first, again(first, 2, 0), next, outcome(4, 0, 2*time.Second, "late"), again(next, 1, 1)},
		{again(first, 5, 0), newer, again(first, 7, 0), again(next, 8, 0), again(newer, 9, 0)},
		{outcome(10, 0, 6*time.Minute, "last")},
	}}
	sink, metrics := &auctionSink{}, prometheus.NewRegistry()
	a, err := archive.NewAuctions(config, archive.CopyDeps[report.Auction]{
		Records: log, Insert: sink.InsertAuctions, Seal: keys.Outcomes(), Log: quiet(), Metrics: metrics,
	})
	require.NoError(t, err)
	stop := run(t, a.Run)
	require.Eventually(t, func() bool { return sink.len() >= 5 }, patience, time.Millisecond)
	stop()
	var reasons []string
	for i := range sink.rows {
		reasons = append(reasons, sink.rows[i].Reason)
	}
	require.Equal(t, []string{"first", "next", "late", "newer", "last"}, reasons)
	require.InDelta(t, 6, metric(t, metrics, "adnet_archive_auctions_repeated_total"), 0)
}

// metric returns a counter.
func metric(t *testing.T, of *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := of.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return 0
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
	bad := sealed(keys.Outcomes(), record(t, 8, &event.Auction{Reason: "an outcome without an id"}))
	log := &scripted{polls: [][]event.Record{{sealed(keys.Outcomes(), record(t, 7, won)), bad}}}
	sink := &auctionSink{fail: 1}
	a, err := archive.NewAuctions(config, archive.CopyDeps[report.Auction]{
		Records: log, Insert: sink.InsertAuctions, Seal: keys.Outcomes(), Log: quiet(), Metrics: prometheus.NewRegistry(),
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
	insertion := stream.Range{Partition: partition, First: 7, Next: 9}.String()
	require.Equal(t, []string{insertion, insertion}, sink.tokens)
	require.NotEqual(t, uuid.Nil, sink.rows[0].AuctionID)
}
