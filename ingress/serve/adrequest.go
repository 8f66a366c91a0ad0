package serve

import (
	"context"
	"net/http"
	"time"

	"adnet/auction"
	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/token"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
)

// ad is the Ad of the REST ad-request endpoint.
type ad struct {
	AdID            uuid.UUID `json:"ad_id"`
	AuctionID       string    `json:"auction_id"`
	Type            string    `json:"type"`
	Headline        string    `json:"headline"`
	Body            string    `json:"body"`
	ImageURL        string    `json:"image_url"`
	CTALabel        string    `json:"cta_label"`
	ClickURL        string    `json:"click_url"`
	ImpressionURL   string    `json:"impression_url"`
	DisclosureLabel string    `json:"disclosure_label"`
	ReceiptURL      string    `json:"receipt_url"`
	Sandbox         bool      `json:"sandbox"`
}

type adReply struct {
	Ad         *ad            `json:"ad"`
	Reason     auction.Reason `json:"reason,omitempty"`
	RetryAfter int            `json:"retry_after,omitzero"` // seconds
}

// adRequest serves POST /v1/ad-request.
func (s *Server) adRequest(c *gin.Context) error {
	caller, err := s.deps.Auth.Key(c, account.KindPublisher)
	if err != nil {
		return err
	}
	if err := s.Admit(caller); err != nil {
		return err
	}
	var in Request
	if err := httpapi.Decode(c, httpapi.MaxAdRequestBody, &in); err != nil {
		return err
	}
	if err := in.Check(); err != nil {
		return err
	}
	in.Method = "rest"
	offer, err := s.Offer(c.Request.Context(), caller, &in)
	if err != nil {
		return err
	}
	if offer.Creative == nil {
		return httpapi.JSON(c, http.StatusOK, adReply{Reason: offer.Reason, RetryAfter: offer.RetryAfter})
	}
	return httpapi.JSON(c, http.StatusOK, adReply{Ad: restAd(&offer)})
}

// placement is where an ad is shown and for whom, as the token and the log keep it.
type placement struct {
	developer                                                uuid.UUID
	method, format, surface, host, region, language, session string
}

// served is an ad that won or was drawn from the sandbox pool, with its signed token.
type served struct {
	creative *campaign.Campaign
	token    string
	sandbox  bool
}

// run is the auction of one request: snapshot, gate, winner, token. served is nil when nothing won.
func (s *Server) run(ctx context.Context, request *auction.Request, placed placement, now time.Time) (*served, auction.Reason, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, "", err
	}
	work := s.work.Get().(*workspace)
	defer s.work.Put(work)
	outcome := s.decide(ctx, request, now, work)
	var creative *campaign.Campaign
	if outcome.Winner != nil {
		var ok bool
		if creative, ok = s.deps.Catalog.Creative(uuid.UUID(outcome.Winner.ID)); !ok {
			// The catalog was loaded anew since the snapshot was taken, and the campaign is gone.
			outcome = auction.Outcome{Reason: auction.NoMatch}
		}
	}
	s.log(decided{id: id, outcome: &outcome, request: request, placed: placed, now: now}, work)
	if outcome.Winner == nil {
		s.metrics.unfill.WithLabelValues(string(outcome.Reason)).Inc()
		return nil, outcome.Reason, nil
	}
	s.metrics.filled.Inc()
	signed := s.deps.Keyring.Sign(token.PurposeAuction, token.Auction{
		AuctionID: id, CampaignID: creative.ID, AdvertiserID: creative.AdvertiserID, DeveloperID: placed.developer,
		Price: outcome.Price, BillingModel: outcome.Winner.Billing.String(), Format: string(creative.Format),
		IntegrationMethod: placed.method, Surface: placed.surface, Region: placed.region, Language: placed.language,
		HostApp: placed.host, CreditFunded: creative.CreditFunded,
	})
	return &served{creative: creative, token: signed}, "", nil
}

// decide runs the auction where this node may: with a fresh catalog, and while events can be recorded.
func (s *Server) decide(ctx context.Context, request *auction.Request, now time.Time, work *workspace) auction.Outcome {
	work.trace.Reset()
	if !s.deps.Catalog.Fresh(now) || !s.deps.Recording.CanRecord(ctx) {
		return auction.Outcome{Reason: auction.Stale}
	}
	return auction.Decide(request, s.deps.Catalog.Snapshot(), s.deps.Catalog.Gate(now), &work.scratch)
}

// restAd is the reply's ad with its links.
func restAd(o *Offer) *ad {
	return &ad{
		AdID: o.Creative.ID, AuctionID: o.Token, Type: string(o.Creative.Format),
		Headline: o.Creative.Headline, Body: o.Creative.Subtext, ImageURL: o.Creative.MediaURL, CTALabel: o.Creative.CTALabel,
		ClickURL: o.ClickURL(), ImpressionURL: o.BeaconURL("impression"),
		DisclosureLabel: o.DisclosureLabel, ReceiptURL: o.ReceiptURL(), Sandbox: o.Sandbox,
	}
}
