package archive_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"adnet/consumers/archive"
	"adnet/internal/report"
	"adnet/internal/stream"
	"adnet/schemas/event"
)

type noticeSink struct {
	mu     sync.Mutex
	fail   int
	tokens []string
	rows   []report.Notice
}

func (s *noticeSink) InsertNotices(_ context.Context, token string, rows []report.Notice) error {
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

func (s *noticeSink) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rows)
}

func TestNoticesAreArchivedAndTriedAgain(t *testing.T) {
	bid, campaign, seat := newID(), newID(), newID()
	win := &event.Notice{
		AuctionId: bid[:], AtUs: 1_700_000_000_000_123, Kind: event.Notice_WIN, Proof: event.Proof_SIGNED,
		CampaignId:  campaign[:],
		DeveloperId: seat[:], ImpressionId: "1", PriceMicros: 2_500_000, Sandbox: true,
	}
	loss := &event.Notice{
		AuctionId: bid[:], Kind: event.Notice_LOSS, Proof: event.Proof_BAD_SIGNATURE, Reason: proto.Int32(0),
	}
	log := &scripted{polls: [][]event.Record{{
		record(t, 7, win), record(t, 8, loss),
		record(t, 9, &event.Notice{Kind: event.Notice_WIN, Proof: event.Proof_SIGNED}),        // without an id
		record(t, 10, &event.Notice{AuctionId: bid[:], Kind: 99, Proof: event.Proof_SIGNED}),  // of a newer version
		record(t, 11, &event.Notice{AuctionId: bid[:], Kind: event.Notice_WIN, Proof: 99}),    // of a newer version
		record(t, 12, &event.Notice{AuctionId: bid[:], Kind: event.Notice_WIN, Proof: 0}),     // of no version
		record(t, 13, &event.Notice{AuctionId: bid[:3], Kind: event.Notice_BILL, Proof: 0x1}), // with half an id
	}}}
	for i := range log.polls[0] {
		log.polls[0][i] = sealed(keys.Notices(), log.polls[0][i])
	}
	sink := &noticeSink{fail: 1}
	metrics := prometheus.NewRegistry()
	n, err := archive.NewNotices(config, archive.CopyDeps[report.Notice]{
		Records: log, Insert: sink.InsertNotices, Seal: keys.Notices(), Log: quiet(), Metrics: metrics,
	})
	require.NoError(t, err)
	stop := run(t, n.Run)
	require.Eventually(t, func() bool { return sink.len() == 2 }, patience, time.Millisecond)
	stop()
	require.Equal(t, []report.Notice{
		{
			AuctionID: bid, At: time.UnixMicro(1_700_000_000_000_123).UTC(), Kind: "win", Proof: "signed",
			CampaignID: campaign, DeveloperID: seat,
			ImpressionID: "1", Price: 2_500_000, Reason: -1, Sandbox: true,
		},
		{AuctionID: bid, At: time.UnixMicro(0).UTC(), Kind: "loss", Proof: "bad_signature", Reason: 0},
	}, sink.rows)
	token := stream.Range{Partition: partition, First: 7, Next: 14}.String()
	require.Equal(t, []string{token, token}, sink.tokens)

	// Auctions and notices report beside each other.
	_, err = archive.NewAuctions(config, archive.CopyDeps[report.Auction]{
		Records: log, Insert: new(auctionSink).InsertAuctions, Seal: keys.Outcomes(), Log: quiet(), Metrics: metrics,
	})
	require.NoError(t, err)
	_, err = archive.NewNotices(config, archive.CopyDeps[report.Notice]{
		Records: log, Log: quiet(), Metrics: prometheus.NewRegistry(),
	})
	require.Error(t, err)
}
