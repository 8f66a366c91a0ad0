package rtb

import (
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"adnet/auction"
	"adnet/ingress/httpapi"
	"adnet/ingress/offer"
	"adnet/internal/campaign/subject"
	"adnet/internal/errs"
	"adnet/internal/money"
)

// Limits of a bid request.
const (
	// MaxBody is the maximum size of a body in bytes, after decompression.
	MaxBody = 256 << 10
	// maxImps is the maximum number of impressions of a request that get a bid.
	maxImps = 50
	// defaultTMax is the time for an answer if the request has no tmax.
	defaultTMax = 200 * time.Millisecond
	maxTMax     = time.Minute
)

// The no-bid reasons of OpenRTB besides those of the auction.
const (
	unsupported auction.Reason = "unsupported_format" // none of the imp's formats is supported
	noFit       auction.Reason = "creative_mismatch"  // a creative lacks what the imp requires
	// only deals are allowed, and no campaign can bid for one of them
	privateAuction auction.Reason = "private_auction"
	insecure       auction.Reason = "insecure"     // https is required and our links are not
	currency       auction.Reason = "currency"     // no USD, or a floor without a configured rate
	category       auction.Reason = "category"     // bcat or acat
	seatBlocked    auction.Reason = "seat_blocked" // wseat or bseat
	timeout        auction.Reason = "timeout"      // tmax is over
	tooMany        auction.Reason = "too_many_imps"
	duplicate      auction.Reason = "duplicate_imp" // an earlier imp has the same id
	languageAbsent auction.Reason = "language"      // wlang or wlangb
	dsaRequired    auction.Reason = "dsa_required"  // a statement under the DSA is required
	quantityOther  auction.Reason = "quantity"      // qty.multiplier is not 1
	tooLate        auction.Reason = "delayed"       // dt is after the end of a bid
	tooSmall       auction.Reason = "size"          // no stated size can show an ad
	podTaken       auction.Reason = "pod"           // poddedupe, and we bid for another imp of the pod
)

// The no-bid codes of whole requests (AdCOM, No-Bid Reason Codes; 500 and above are a bidder's
// own).
const (
	nbrTechnical = 1
	nbrInvalid   = 2
	nbrTime      = 15
	nbrNothing   = 500 // no eligible campaign; each imp has its reason
	nbrUnsuited  = 501 // no ad may be shown beside the conversation
)

// bid serves POST /api/rtb and POST /api/rtb/{key}: it answers a bid request from the seat of caller.
// The time that the exchange allows includes the lookup of the key.
func (s *Server) bid(c *gin.Context, caller httpapi.Caller) error {
	started := caller.ReceivedAt
	if err := s.deps.Limiter.AllowSeat(caller.OwnerID, started); err != nil {
		return err
	}
	c.Writer.Header()["X-Openrtb-Version"] = s.headers.version
	t := s.begin(c, caller, started)
	defer t.end()
	if err := httpapi.ReadBody(c, t.read); err != nil {
		if m, is := isMalformed(err); is {
			err = errs.New(errs.InvalidRequest, "%s", string(m))
		}
		if errs.Is(err, errs.InvalidRequest) {
			s.metrics.malformed.Inc()
			return errs.Of(err).With("nbr", nbrInvalid)
		}
		return err
	}
	if err := t.run(); err != nil {
		s.metrics.failed.Inc()
		return errs.Wrap(err, errs.Internal, "technical error; safe to retry")
	}
	return t.reply()
}

// run decides every imp; reasons[i] is empty if imp i got a bid.
func (s *bidSession) run() error {
	imps := s.in.Imp.list
	s.reasons = slices.Grow(s.reasons, len(imps))[:len(imps)]
	if whole := s.unfit(); whole != "" {
		s.refuseAll(whole)
		return nil
	}
	defer func() {
		if s.won == 0 { // no bid is returned
			s.releaseReservations()
		}
	}()
	for i := range imps {
		if s.reasons[i] = s.skip(i); s.reasons[i] != "" {
			continue
		}
		var err error
		if s.reasons[i], err = s.imp(&imps[i]); err != nil {
			s.won = 0
			return err
		}
	}
	if s.late() { // the exchange no longer waits for this answer
		s.won = 0
		s.refuseAll(timeout)
	}
	return nil
}

// refuseAll sets the same reason for every imp.
func (s *bidSession) refuseAll(reason auction.Reason) {
	for i := range s.reasons {
		s.reasons[i] = reason
	}
}

// unfit returns the reason for which the whole request gets no bid, else an empty one.
func (s *bidSession) unfit() auction.Reason {
	in := &s.in
	switch {
	case !s.deps.Seller.Ready(s.c.Request.Context(), s.started):
		return auction.Stale
	case !in.Cur.allows(isUSD):
		return currency
	case !in.WSeat.allows(s.isSeat), in.BSeat.blocks(s.isSeat):
		return seatBlocked
	case in.BAdv.state == unreadable, in.BApp.state == unreadable:
		return auction.Blocked
	case in.requiresDSA():
		return dsaRequired
	case in.unclassified():
		return auction.Unsuitable
	case s.categoryBlocked():
		return category
	}
	return ""
}

// isUSD reports whether a currency is the US dollar, by its code or number in ISO 4217.
func isUSD(code string) bool { return strings.EqualFold(code, "USD") || code == "840" }

func (s *bidSession) skip(i int) auction.Reason {
	switch {
	case i >= maxImps:
		return tooMany
	case s.late():
		return timeout
	}
	imps := s.in.Imp.list
	for before := range i {
		if imps[before].ID == imps[i].ID {
			return duplicate
		}
	}
	return ""
}

// late reads the clock and reports whether the time for an answer is over.
func (s *bidSession) late() bool {
	s.now = s.deps.Now()
	return s.now.Sub(s.started) >= s.tmax
}

// releaseReservations returns the budget that the request's bids reserved.
func (s *bidSession) releaseReservations() {
	for i := range s.sold {
		s.sold[i].Cancel()
	}
}

// imp runs the auction of one impression and writes the bid, or returns the reason for no bid.
func (s *bidSession) imp(p *imp) (auction.Reason, error) {
	current, a := s.beginAuction(s.c.Request.Context(), p), &s.auction
	if err := s.deps.Seller.Sell(s.c.Request.Context(), a, &s.ad); err != nil {
		return "", err
	}
	if a.Outcome.Winner == nil {
		s.lost = append(s.lost, lostAuction{p.ID, a.ID})
		if unsuited(a.Outcome.Reason) && s.refused.Subject() == subject.None {
			s.refused = a.Judged
		}
		return a.Outcome.Reason, nil
	}
	s.sold = append(s.sold, a.Sold())
	s.write(current)
	return "", nil
}

// Decide implements [offer.Rounds] for the current impression auction. Candidates come by
// descending effective CPM: all of them down to the imp's floor, and below it those whose deal has
// a lower floor.
func (s *bidSession) Decide(a *offer.Auction) auction.Outcome {
	current := &s.current
	g := &current.gate
	if reason := s.slot(current.imp, &g.slot); reason != "" {
		return auction.Outcome{Reason: reason}
	}
	floor, reason := s.openFloors(current.imp, g)
	g.deals, g.open = s.deals(current.imp, floor, reason), !current.imp.private()
	a.Request.Formats, a.Request.FloorCPM = g.slot.formats(), floor
	outcome := auction.Outcome{Reason: privateAuction}
	if g.open {
		if outcome.Reason = reason; reason == "" {
			outcome = a.Round(&a.Request)
		}
	}
	if outcome.Winner == nil && len(g.deals) > 0 && !g.over {
		outcome = s.decideDeals(a, outcome)
	}
	if outcome.Winner != nil {
		g.agree(&outcome)
	}
	return outcome
}

// openFloors sets the floors of p for each kind of markup in g. It returns the lowest floor of the
// kinds that p accepts: candidates below it need no check.
func (s *bidSession) openFloors(p *imp, g *bidGate) (money.Micros, auction.Reason) {
	floor, reason := s.floor(p)
	v := &p.Video.v
	video, ofVideo := s.videoFloor(&v.DurFloors, v.MinCPMPerSec, p.BidFloorCur, floor, reason)
	g.floors = [kinds]money.Micros{asNative: floor, asBanner: floor, asVideo: video}
	switch {
	case !g.slot.has[asVideo]:
		return floor, reason
	case !g.slot.has[asNative] && !g.slot.has[asBanner]:
		return video, ofVideo
	case ofVideo != "":
		g.floors[asVideo] = money.Max // its floor is unreadable
		return floor, reason
	}
	return min(floor, video), reason
}

// decideDeals runs the auction among the campaigns that may bid for a deal, after an open auction
// without a winner.
func (s *bidSession) decideDeals(a *offer.Auction, before auction.Outcome) auction.Outcome {
	private, g := a.Request, &s.current.gate
	private.Deals, private.FloorCPM = ids(g.deals)
	private.MinRelevance, private.SilentFloor = 0, 0 // the parties of the deal agreed on the ads
	traced := a.Trace
	g.open, g.looked = false, 0
	outcome := a.Round(&private)
	switch none := outcome.Reason == auction.NoMatch || outcome.Reason == auction.NoCampaigns; {
	case outcome.Winner != nil:
		a.Request.FloorCPM = private.FloorCPM
		return outcome
	case before.Reason == privateAuction && !none:
		return outcome
	case before.Reason != privateAuction:
		a.Trace = traced // the open auction's trace is more informative
	}
	return before
}

// agree sets the price of a deal in an outcome. A campaign billed per thousand impressions pays the
// deal's fixed price; clicks and conversions cost the campaign's own price.
func (g *bidGate) agree(outcome *auction.Outcome) {
	if g.deal == nil || !g.deal.fixed {
		return
	}
	price := g.deal.floors[g.kind]
	outcome.EffectiveCPM, outcome.Prediction.Bid = price, price
	outcome.Price = outcome.Winner.Billing.Price(outcome.Winner.Bid, price)
}
