package serve

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"adnet/auction"
	"adnet/ingress/httpapi"
	"adnet/ingress/limits/frequency"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/token"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
)

// noAd is the reply to a request that no ad is for; see [appendReply] for the other.
type noAd struct {
	Ad         *struct{}      `json:"ad"`                  // null
	AuctionID  uuid.UUID      `json:"auction_id,omitzero"` // what explains it
	Reason     auction.Reason `json:"reason,omitempty"`
	RetryAfter int            `json:"retry_after,omitzero"` // seconds
	RetryTurns int            `json:"retry_after_turns,omitzero"`
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
	asked := s.asked.Get().(*asked)
	defer s.asked.Put(asked)
	defer asked.forget()
	in, offer := &asked.request, &asked.offer
	if err := httpapi.ReadBody(c, httpapi.MaxAdRequestBody, in.decode); err != nil {
		return err
	}
	if err := in.Check(); err != nil {
		return err
	}
	in.Method = cmp.Or(in.Integration, "rest")
	if err := s.Offer(c.Request.Context(), caller, in, offer); err != nil {
		return err
	}
	if offer.Creative == nil {
		return httpapi.JSON(c, http.StatusOK, noAd{AuctionID: offer.AuctionID, Reason: offer.Reason, RetryAfter: offer.RetryAfter, RetryTurns: offer.RetryTurns})
	}
	return httpapi.Appended(c, http.StatusOK, func(dst []byte) ([]byte, error) { return appendReply(dst, offer) })
}

// asked is the memory of one POST /v1/ad-request.
type asked struct {
	request Request
	offer   Offer
}

// forget lets go of what the request said, but for the memory of the token.
func (a *asked) forget() {
	a.request = Request{}
	a.offer.reset()
}

// placement is where an ad is shown and for whom, as the token and the log keep it.
type placement struct {
	developer                                                uuid.UUID
	method, format, surface, host, region, language, session string
	sessionAge                                               time.Duration
	turn                                                     int  // of the conversation, 0 when unknown
	firstTurn, turnGap                                       *int // nil: the settings
}

// refusal is why nothing won, and when asking again may help.
type refusal struct {
	reason         auction.Reason
	seconds, turns int
}

// run is the auction of one request: snapshot, gate, winner, token. It fills offer with the ad, when one won.
func (s *Server) run(ctx context.Context, a attempt, work *workspace, offer *Offer) refusal {
	outcome, retry := s.decide(ctx, a, work)
	var creative *campaign.Campaign
	if outcome.Winner != nil {
		var ok bool
		if creative, ok = s.deps.Catalog.Creative(uuid.UUID(outcome.Winner.ID)); !ok {
			// The catalog was loaded anew since the snapshot was taken, and the campaign is gone.
			outcome = auction.Outcome{Reason: auction.NoMatch}
			work.held.Cancel()
		}
	}
	s.log(decided{attempt: a, outcome: &outcome}, work)
	if outcome.Winner == nil {
		s.metrics.unfill.WithLabelValues(string(outcome.Reason)).Inc()
		retry.reason = outcome.Reason
		return retry
	}
	s.metrics.filled.Inc()
	offer.Creative = creative
	offer.Token = s.deps.Keyring.AppendSign(offer.Token, token.PurposeAuction, token.Auction{
		AuctionID: a.id, CampaignID: creative.ID, AdvertiserID: creative.AdvertiserID, DeveloperID: a.placed.developer,
		Price: outcome.Price, BillingModel: outcome.Winner.Billing.String(), Format: string(creative.Format),
		IntegrationMethod: a.placed.method, Surface: a.placed.surface, Region: a.placed.region, Language: a.placed.language,
		HostApp: a.placed.host, CreditFunded: creative.CreditFunded,
	})
	return refusal{}
}

// attempt is one auction and where it takes place.
type attempt struct {
	id      uuid.UUID
	request *auction.Request
	placed  *placement
	now     time.Time
}

// decide runs the auction where this node may: with a fresh catalog, while events can be recorded, and not too early
// in the conversation.
func (s *Server) decide(ctx context.Context, a attempt, work *workspace) (outcome auction.Outcome, retry refusal) {
	work.trace.Reset()
	if !s.deps.Catalog.Fresh(a.now) || !s.deps.Recording.CanRecord(ctx) {
		return auction.Outcome{Reason: auction.Stale}, refusal{auction.Stale, retryAfter[auction.Stale], 0}
	}
	if s.deps.Budget != nil {
		if !s.deps.Budget.Live(a.now) {
			return auction.Outcome{Reason: auction.Stale}, refusal{auction.Stale, retryAfter[auction.Stale], 0}
		}
		work.held.Begin(s.deps.Budget, a.id, a.now, false)
	}
	gate := &work.gate
	work.chain = append(work.chain[:0], gate)
	if s.deps.Budget != nil {
		work.chain = append(work.chain, &work.held)
	}
	s.deps.Delivery.Begin(ctx, gate, a.id, frequency.Ask{
		Developer: a.placed.developer, Session: a.placed.session, Turn: a.placed.turn,
		FirstTurn: a.placed.firstTurn, TurnGap: a.placed.turnGap, Now: a.now,
	}, s.deps.Catalog.Gate(a.now))
	defer func() { gate.End(outcome.Winner) }()
	if gate.Early() > 0 {
		outcome.Reason = auction.FrequencyCapped
	} else {
		outcome = auction.Decide(a.request, s.deps.Catalog.Snapshot(), &work.chain, &work.scratch)
	}
	retry.reason = outcome.Reason
	retry.seconds, retry.turns = gate.RetryAfter(outcome.Reason)
	if retry.seconds == 0 {
		retry.seconds = retryAfter[outcome.Reason]
	}
	return outcome, retry
}
