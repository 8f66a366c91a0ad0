package mcp

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/ingress/track"
)

// trackEvent is the tool track_event: POST /api/track for programs that cannot load the links. The
// event's reporter is the key's owner, whatever the arguments contain.
func (s *Server) trackEvent(ctx context.Context, r *call) (result, *failure) {
	var in track.Report
	if err := httpapi.UnmarshalLoose([]byte(r.params.arguments), &in); err != nil {
		return misused(err, nil)
	}
	if in.CampaignID == "" && in.AuctionID == "" {
		return result{wrong: "auction_id or campaign_id is required; both came with the ad"}, nil
	}
	in.Dev, in.DeveloperID, in.IntegrationMethod, in.Sandbox = "", "", integrationMethod, r.caller.Sandbox
	if r.caller.DeveloperID != uuid.Nil {
		in.DeveloperID = r.caller.DeveloperID.String()
	}
	taken, err := s.deps.Events.Take(ctx, &in)
	if err != nil {
		return misused(err, func(field string) string { return strings.Replace(field, "event_type", "event", 1) })
	}
	return structured(r, taken)
}
