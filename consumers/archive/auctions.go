package archive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/obs"
	"adnet/internal/report"
	"adnet/schemas/event"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"
)

// auctionPatience is how long one block of auctions is tried before it is dropped.
const auctionPatience = 30 * time.Second

// AuctionSink is the analytics store. Inserting the same rows under the same token again changes nothing.
type AuctionSink interface {
	InsertAuctions(ctx context.Context, token string, rows []report.Auction) error
}

// AuctionDeps are what [Auctions] works with. All are required.
type AuctionDeps struct {
	Log        Log // of the auctions topic, by its committed offsets
	Sink       AuctionSink
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Auctions archives the outcomes of auctions, best effort: a block that the store refuses for half a
// minute is counted and dropped, and a crash between insert and commit may cut the repeated records
// differently, so that some are counted twice. No money depends on them.
type Auctions struct {
	cfg     Config
	deps    AuctionDeps
	rows    prometheus.Counter
	dropped prometheus.Counter
	often   *obs.LimitedLogger
}

// NewAuctions checks the settings. It opens nothing. Errors: as [New].
func NewAuctions(cfg Config, deps AuctionDeps) (*Auctions, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if deps.Log == nil || deps.Sink == nil || deps.Logger == nil || deps.Registerer == nil {
		return nil, errors.New("archive: log, sink, logger and registerer are required")
	}
	a := &Auctions{
		cfg: cfg, deps: deps, often: obs.Limited(deps.Logger, time.Second),
		rows:    prometheus.NewCounter(prometheus.CounterOpts{Name: "adnet_archive_auctions_total", Help: "Outcomes of auctions archived."}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{Name: "adnet_archive_auctions_dropped_total", Help: "Outcomes of auctions dropped: not decodable, or refused by the store."}),
	}
	if err := errors.Join(deps.Registerer.Register(a.rows), deps.Registerer.Register(a.dropped)); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return a, nil
}

// Run archives until ctx ends, in blocks of what arrived during Linger. Run returns nil after ctx ended;
// it has no other end.
func (a *Auctions) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		records, err := a.deps.Log.Poll(ctx, a.cfg.ChunkRows)
		if err != nil {
			if ctx.Err() == nil {
				a.often.Warn(ctx, "poll of auctions failed", "error", err)
				pause(ctx, time.Second)
			}
			continue
		}
		token, rows := a.block(records)
		if err := a.insert(ctx, token, rows); err != nil {
			if ctx.Err() != nil {
				break // not committed: read again by the next
			}
			a.dropped.Add(float64(len(rows)))
			a.often.Warn(ctx, "auctions dropped: the analytics store refused them", "error", err)
		}
		if err := a.deps.Log.Done(ctx); err != nil && ctx.Err() == nil {
			a.often.Warn(ctx, "commit of auctions failed", "error", err)
		}
		if len(records) < a.cfg.ChunkRows {
			pause(ctx, a.cfg.Linger)
		}
	}
	return nil
}

func (a *Auctions) insert(ctx context.Context, token string, rows []report.Auction) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		try, cancel := context.WithTimeout(ctx, a.cfg.InsertTimeout)
		defer cancel()
		return struct{}{}, a.deps.Sink.InsertAuctions(try, token, rows)
	}, backoff.WithMaxElapsedTime(auctionPatience))
	if err == nil {
		a.rows.Add(float64(len(rows)))
	}
	return err
}

// block decodes what one poll brought. The token names its ranges.
func (a *Auctions) block(records []event.Record) (token string, rows []report.Auction) {
	rows = make([]report.Auction, 0, len(records))
	var ranges []string
	var open ledger.Range
	var message event.Auction
	for i := range records {
		r := &records[i]
		p := ledger.Partition{Stream: r.TopicID, Number: r.Partition}
		if i == 0 || p != open.Partition || r.Offset != open.Next {
			if i > 0 {
				ranges = append(ranges, open.String())
			}
			open = ledger.Range{Partition: p, First: r.Offset, Next: r.Offset}
		}
		open.Next++
		if proto.Unmarshal(r.Value, &message) != nil || len(message.AuctionId) != 16 {
			a.dropped.Inc()
			continue
		}
		rows = append(rows, auctionRow(&message))
	}
	return strings.Join(append(ranges, open.String()), ","), rows
}

func auctionRow(m *event.Auction) report.Auction {
	p := m.GetPlacement()
	return report.Auction{
		AuctionID: readID(m.AuctionId), At: time.UnixMicro(m.AtUs).UTC(),
		DeveloperID: readID(m.DeveloperId), CampaignID: readID(m.CampaignId), Reason: m.Reason,
		Price: money.Micros(m.PriceMicros), ECPM: money.Micros(m.EcpmMicros),
		Format: p.GetFormat(), IntegrationMethod: p.GetIntegrationMethod(), Surface: p.GetSurface(),
		Region: p.GetRegion(), Language: p.GetLanguage(), HostApp: p.GetHostApp(),
		Sandbox: m.Sandbox, Took: time.Duration(m.TookUs) * time.Microsecond,
	}
}
