package archive

import (
	"time"

	"google.golang.org/protobuf/proto"

	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/schemas/event"
)

// NewNotices archives the notices of exchanges about bids. Errors: as [New].
func NewNotices(cfg Config, deps CopyDeps[report.Notice]) (*Copier[report.Notice], error) {
	return newCopier(cfg, deps, topic[report.Notice]{"notices", "OpenRTB notices", noticeRow, nil})
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
