package archive

import (
	"time"

	"google.golang.org/protobuf/proto"

	"adnet/internal/compliance/consent"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/schemas/event"
)

// NewAuctions archives the outcomes of auctions. Errors: as [New].
func NewAuctions(cfg Config, deps CopyDeps[report.Auction]) (*Copier[report.Auction], error) {
	return newCopier(cfg, deps, topic[report.Auction]{
		"auctions", "Outcomes of auctions", auctionRow, func(row *report.Auction) time.Time { return row.At },
	})
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
