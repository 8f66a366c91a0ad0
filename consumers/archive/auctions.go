package archive

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"adnet/internal/consent"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/schemas/event"
)

// AuctionSink is the analytics store. Repeating an insert under the same token changes nothing.
type AuctionSink interface {
	InsertAuctions(ctx context.Context, token string, rows []report.Auction) error
}

// AuctionDeps holds the dependencies of [Auctions]. All are required.
type AuctionDeps struct {
	Records Records // of the auctions topic, by its committed offsets
	Sink    AuctionSink
	Seal    Seal // of the topic's records: token.Keyring.Outcomes
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Auctions archives the outcomes of auctions, best effort. A block that the store rejects for half
// a minute is counted and dropped. A crash between insert and commit may cut the repeated records
// differently, so that some are counted twice. No money depends on them.
type Auctions struct{ *copier[report.Auction] }

// NewAuctions checks the settings. It opens nothing. Errors: as [New].
func NewAuctions(cfg Config, deps AuctionDeps) (*Auctions, error) {
	s := topic[report.Auction]{
		name: "auctions", help: "Outcomes of auctions", records: deps.Records, log: deps.Log, metrics: deps.Metrics,
		seal: deps.Seal, decode: auctionRow,
	}
	if deps.Sink != nil {
		s.insert = deps.Sink.InsertAuctions
	}
	c, err := newCopier(cfg, s)
	return &Auctions{c}, err
}

func auctionRow(value []byte) (report.Auction, bool) {
	m := new(event.Auction)
	if proto.Unmarshal(value, m) != nil || len(m.AuctionId) != 16 {
		return report.Auction{}, false
	}
	p := m.GetPlacement()
	row := report.Auction{
		AuctionID: readID(m.AuctionId), At: time.UnixMicro(m.AtUs).UTC(),
		DeveloperID: readID(m.DeveloperId), CampaignID: readID(m.CampaignId), HouseID: readID(m.HouseCampaignId),
		Reason: m.Reason,
		Price:  money.Micros(m.PriceMicros), ECPM: money.Micros(m.EcpmMicros),
		Format: p.GetFormat(), CreativeFormat: m.CreativeFormat, IntegrationMethod: p.GetIntegrationMethod(),
		Surface: p.GetSurface(),
		Region:  p.GetRegion(), Language: p.GetLanguage(), HostApp: p.GetHostApp(),
		Sandbox: m.Sandbox, Took: time.Duration(m.TookUs) * time.Microsecond,
		Tokens: int64(m.Tokens), Tools: int64(m.Tools), Floor: money.Micros(m.FloorMicros),
		MoreCandidates: m.MoreCandidates,
		ModelVersion:   m.ModelVersion, Explores: m.Explores, Consent: consent.Flags(m.Consent).String(),
		Suitability: m.Suitability, SuitabilityBy: m.SuitabilityBy, AgeAdult: m.AgeAdult,
		Outcome: report.Outcome{
			Terms: m.Terms, SessionMark: int64(m.SessionMark), PClick: int64(m.PClick),
			TrialPClick: int64(m.TrialPClick), Weights: int64(m.Weights),
		},
	}
	for _, c := range m.Candidates {
		row.Candidates = append(
			row.Candidates,
			report.Candidate{CampaignID: readID(c.CampaignId), ECPM: money.Micros(c.EcpmMicros), Reason: c.Reason},
		)
	}
	return row, true
}
