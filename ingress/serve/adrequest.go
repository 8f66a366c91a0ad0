package serve

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"adnet/auction"
	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/errs"
	"adnet/internal/token"
	"adnet/schemas/event"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
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

// How long a caller should wait before it asks again for the same context, in seconds, where waiting helps.
var retryAfter = map[auction.Reason]int{auction.Stale: 2, auction.Paced: 60}

// adRequest serves POST /v1/ad-request.
func (s *Server) adRequest(c *gin.Context) error {
	caller, err := s.deps.Auth.Key(c, account.KindPublisher)
	if err != nil {
		return err
	}
	now := s.deps.Now()
	if err := s.deps.Limiter.Allow(limitID(caller), now); err != nil {
		return err
	}
	var in adRequest
	if err := httpapi.Decode(c, httpapi.MaxAdRequestBody, &in); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	placed := placement{
		developer: caller.DeveloperID, method: "rest", format: in.Format, surface: in.surface(), host: in.host(),
		region: in.UserRegion, language: in.UserLanguage, session: in.SessionID,
	}
	if caller.Sandbox {
		return s.answerSandbox(c, placed)
	}
	request := auction.Request{
		Tokens: auction.Tokenize(in.Context), ActiveTools: in.ActiveTools, HostApp: placed.host, Surface: placed.surface,
		IntegrationMethod: placed.method, Region: placed.region, Language: placed.language,
	}
	served, reason, err := s.run(c.Request.Context(), &request, placed, now)
	if err != nil {
		return errs.Wrap(err, errs.UpstreamError, "the auction failed; treat it as no fill")
	}
	if served == nil {
		return httpapi.JSON(c, http.StatusOK, adReply{Reason: reason, RetryAfter: retryAfter[reason]})
	}
	return httpapi.JSON(c, http.StatusOK, adReply{Ad: s.restAd(served, placed)})
}

// limitID is whom a request counts for: the publisher, whatever the key; a public sandbox key for itself.
func limitID(caller httpapi.Caller) uuid.UUID {
	if caller.DeveloperID != uuid.Nil {
		return caller.DeveloperID
	}
	return caller.KeyID
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
	outcome := s.decide(ctx, request, now)
	var creative *campaign.Campaign
	if outcome.Winner != nil {
		var ok bool
		if creative, ok = s.deps.Catalog.Creative(uuid.UUID(outcome.Winner.ID)); !ok {
			// The catalog was loaded anew since the snapshot was taken, and the campaign is gone.
			outcome = auction.Outcome{Reason: auction.NoMatch}
		}
	}
	s.log(id, &outcome, placed, now)
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
func (s *Server) decide(ctx context.Context, request *auction.Request, now time.Time) auction.Outcome {
	if !s.deps.Catalog.Fresh(now) || !s.deps.Recording.CanRecord(ctx) {
		return auction.Outcome{Reason: auction.Stale}
	}
	scratch := s.scratch.Get().(*auction.Scratch)
	defer s.scratch.Put(scratch)
	return auction.Decide(request, s.deps.Catalog.Snapshot(), s.deps.Catalog.Gate(now), scratch)
}

// log hands the outcome to the log, best effort: it explains auctions, no money depends on it.
func (s *Server) log(id uuid.UUID, outcome *auction.Outcome, placed placement, now time.Time) {
	record := &event.Auction{
		AuctionId: id[:], AtUs: now.UnixMicro(), DeveloperId: placed.developer[:], Reason: string(outcome.Reason),
		PriceMicros: int64(outcome.Price), EcpmMicros: int64(outcome.EffectiveCPM), SnapshotVersion: uint64(s.deps.Catalog.Version()),
		TookUs: s.deps.Now().Sub(now).Microseconds(),
		Placement: &event.Placement{
			Format: placed.format, IntegrationMethod: placed.method, Surface: placed.surface,
			Region: placed.region, Language: placed.language, HostApp: placed.host,
		},
	}
	if outcome.Winner != nil {
		record.CampaignId = outcome.Winner.ID[:]
	}
	value, err := proto.Marshal(record)
	if err != nil {
		s.metrics.dropped.Inc()
		return
	}
	s.deps.Producer.Produce(event.TopicAuctions, record.AuctionId, value, func(err error) {
		if err != nil {
			s.metrics.dropped.Inc()
		}
	})
}

// restAd is the reply's ad with its links. Everything that counts is in the token; the query repeats
// what integrations expect to see there.
func (s *Server) restAd(v *served, placed placement) *ad {
	base, campaign, format := s.deps.BaseURL(), v.creative.ID.String(), string(v.creative.Format)
	// Token, ids and format are of the URL alphabet.
	impression := base + "/api/track?event=impression&campaign_id=" + campaign + "&auction_id=" + v.token +
		"&session=" + url.QueryEscape(placed.session) + "&dev=" + placed.developer.String() + "&format=" + format
	return &ad{
		AdID: v.creative.ID, AuctionID: v.token, Type: format,
		Headline: v.creative.Headline, Body: v.creative.Subtext, ImageURL: v.creative.MediaURL, CTALabel: v.creative.CTALabel,
		ClickURL: base + "/s/" + v.token + "?event=click", ImpressionURL: impression,
		DisclosureLabel: s.cfg.Disclosure, ReceiptURL: base + "/r/" + v.token, Sandbox: v.sandbox,
	}
}
