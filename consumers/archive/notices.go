package archive

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/schemas/event"
)

// NoticeSink is the analytics store. Repeating an insert under the same token changes nothing.
type NoticeSink interface {
	InsertNotices(ctx context.Context, token string, rows []report.Notice) error
}

// NoticeDeps holds the dependencies of [Notices]. All are required.
type NoticeDeps struct {
	Records Records // of the notices topic, by its committed offsets
	Sink    NoticeSink
	Seal    Seal // of the topic's records: token.Keyring.Notices
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// Notices archives the notices of exchanges about bids, best effort like [Auctions].
type Notices struct{ *copier[report.Notice] }

// NewNotices checks the settings. It opens nothing. Errors: as [New].
func NewNotices(cfg Config, deps NoticeDeps) (*Notices, error) {
	s := topic[report.Notice]{
		name: "notices", help: "OpenRTB notices", records: deps.Records, log: deps.Log, metrics: deps.Metrics,
		seal: deps.Seal, decode: noticeRow,
	}
	if deps.Sink != nil {
		s.insert = deps.Sink.InsertNotices
	}
	c, err := newCopier(cfg, s)
	return &Notices{c}, err
}

var (
	noticeKinds = map[event.Notice_Kind]string{
		event.Notice_WIN: "win", event.Notice_LOSS: "loss", event.Notice_BILL: "bill", event.Notice_ERROR: "error",
	}
	noticeProofs = map[event.Proof]string{
		event.Proof_SIGNED: "signed", event.Proof_UNSIGNED: "unsigned", event.Proof_BAD_SIGNATURE: "bad_signature",
	}
)

func noticeRow(value []byte) (report.Notice, bool) {
	m := new(event.Notice)
	if proto.Unmarshal(value, m) != nil || len(m.AuctionId) != 16 || noticeKinds[m.Kind] == "" ||
		noticeProofs[m.Proof] == "" {
		return report.Notice{}, false
	}
	row := report.Notice{
		AuctionID: readID(m.AuctionId), At: time.UnixMicro(m.AtUs).UTC(), Kind: noticeKinds[m.Kind],
		Proof:      noticeProofs[m.Proof],
		CampaignID: readID(m.CampaignId), DeveloperID: readID(m.DeveloperId), ImpressionID: m.ImpressionId,
		Price: money.Micros(m.PriceMicros), Reason: -1, Sandbox: m.Sandbox,
	}
	if m.Reason != nil {
		row.Reason = int64(*m.Reason)
	}
	return row, true
}
