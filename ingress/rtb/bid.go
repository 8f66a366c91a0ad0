package rtb

import (
	"slices"
	"time"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/ingress/budget"
	"adnet/ingress/httpapi"
	"adnet/ingress/limits/frequency"
	"adnet/internal/account"
	"adnet/internal/errs"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
)

// Limits of a bid request.
const (
	// MaxBody is the most bytes of a body, after decompression.
	MaxBody = 256 << 10
	// maxImps is how many impressions of a request are bid for.
	maxImps = 50
	// defaultTMax is the time for an answer when the request names none.
	defaultTMax = 200 * time.Millisecond
	maxTMax     = time.Minute
)

// The no-bid reasons of the wire besides those of the auction.
const (
	unsupported    auction.Reason = "unsupported_format" // nothing of what the imp offers can be filled by anybody
	noFit          auction.Reason = "creative_mismatch"  // a creative lacks what the imp requires
	privateAuction auction.Reason = "private_auction"    // only for deals, and none that a campaign may answer
	repeated       auction.Reason = "already_bid"        // the campaign has another imp of the request
	insecure       auction.Reason = "insecure"           // https is required and our links are not
	currency       auction.Reason = "currency"           // no USD, or a floor without a configured rate
	category       auction.Reason = "category"           // bcat or acat
	seatBlocked    auction.Reason = "seat_blocked"       // wseat or bseat
	timeout        auction.Reason = "timeout"            // tmax is over
	tooMany        auction.Reason = "too_many_imps"
	duplicate      auction.Reason = "duplicate_imp" // an imp.id that occurred before
)

// The no-bid codes of whole requests (AdCOM, No-Bid Reason Codes; 500 and above are a bidder's own).
const (
	nbrTechnical = 1
	nbrInvalid   = 2
	nbrTime      = 15
	nbrNothing   = 500 // no eligible campaign; each imp says why
)

// bid serves POST /api/rtb.
func (s *Server) bid(c *gin.Context) error {
	started := s.deps.Now()
	caller, err := s.deps.Auth.Key(c, account.KindSeat)
	if err != nil {
		return err
	}
	if err := s.deps.Limiter.AllowSeat(caller.KeyID, started); err != nil {
		return err
	}
	c.Header("X-Openrtb-Version", "2.6")
	in := new(bidRequest)
	err = readBody(c, func(body []byte) error { return parse(body, in) })
	if err != nil {
		if m, is := isMalformed(err); is {
			err = errs.New(errs.InvalidRequest, "%s", string(m))
		}
		if errs.Is(err, errs.InvalidRequest) {
			s.metrics.requests.WithLabelValues("malformed").Inc()
			return errs.Of(err).With("nbr", nbrInvalid)
		}
		return err
	}
	t := s.turn(c, in, caller, started)
	bids, reasons, err := t.run()
	if err != nil {
		s.metrics.requests.WithLabelValues("failed").Inc()
		return errs.Wrap(err, errs.Internal, "technical error; safe to retry")
	}
	return s.reply(c, t, bids, reasons)
}

// turn is the work on one request.
type turn struct {
	*Server
	c         *gin.Context
	in        *bidRequest
	caller    httpapi.Caller
	started   time.Time
	tmax      time.Duration
	sandbox   bool
	debug     bool
	base      string
	secure    bool // our own links are https
	developer string
	blocked   []string // domains
	signals   signals  // of the request level
	work      *workspace
	taken     []auction.ID  // campaigns that have an imp already
	lost      []lostAuction // what explains the imps without a bid that were auctioned
}

// lostAuction is the auction of an imp that got no bid.
type lostAuction struct {
	imp text
	id  uuid.UUID
}

func (s *Server) turn(c *gin.Context, in *bidRequest, caller httpapi.Caller, started time.Time) *turn {
	t := &turn{Server: s, c: c, in: in, caller: caller, started: started, tmax: defaultTMax, sandbox: in.Test.is(1), base: s.deps.BaseURL()}
	if in.TMax.n > 0 {
		t.tmax = min(time.Duration(min(in.TMax.n, int64(maxTMax/time.Millisecond)))*time.Millisecond, maxTMax)
	}
	t.debug = t.sandbox || in.Ext.v.Debug.n != 0
	t.secure = len(t.base) > 8 && t.base[:8] == "https://"
	t.developer = caller.DeveloperID.String()
	t.blocked = domains(in.BAdv)
	t.signals = requestSignals(in)
	return t
}

// run decides every imp: reasons[i] is empty where bids has one for it.
func (t *turn) run() (bids []wireBid, reasons []auction.Reason, err error) {
	imps := t.in.Imp.list
	reasons = make([]auction.Reason, len(imps))
	if whole := t.unfit(); whole != "" {
		for i := range reasons {
			reasons[i] = whole
		}
		return nil, reasons, nil
	}
	t.work = t.Server.work.Get().(*workspace)
	defer t.Server.work.Put(t.work)
	t.work.held = t.work.held[:0]
	defer func() {
		if len(bids) == 0 { // nothing is handed out
			t.release()
		}
	}()
	seen := make(map[text]struct{}, min(len(imps), maxImps))
	bids = make([]wireBid, 0, min(len(imps), maxImps))
	for i := range imps {
		if reasons[i] = t.skip(i, seen); reasons[i] != "" {
			continue
		}
		seen[imps[i].ID] = struct{}{}
		var b wireBid
		if b, reasons[i], err = t.imp(&imps[i]); err != nil {
			return nil, nil, err
		}
		if reasons[i] == "" {
			bids = append(bids, b)
		}
	}
	if t.late() { // nobody waits for this answer any more
		bids = nil
		for i := range reasons {
			reasons[i] = timeout
		}
	}
	return bids, reasons, nil
}

// unfit is why no imp of the request can be bid for.
func (t *turn) unfit() auction.Reason {
	in := t.in
	switch {
	case !t.deps.Catalog.Fresh(t.started) || !t.deps.Recording.CanRecord(t.c.Request.Context()),
		t.deps.Budget != nil && !t.deps.Budget.Live(t.started):
		return auction.Stale
	case len(in.Cur) > 0 && !slices.ContainsFunc(in.Cur, func(c string) bool { return upper(c) == "USD" }):
		return currency
	case len(in.WSeat) > 0 && !slices.Contains(in.WSeat, t.cfg.Seat), slices.Contains(in.BSeat, t.cfg.Seat):
		return seatBlocked
	case t.categoryBlocked():
		return category
	}
	return ""
}

func (t *turn) skip(i int, seen map[text]struct{}) auction.Reason {
	if i >= maxImps {
		return tooMany
	}
	if t.late() {
		return timeout
	}
	if _, again := seen[t.in.Imp.list[i].ID]; again {
		return duplicate
	}
	return ""
}

func (t *turn) late() bool { return t.deps.Now().Sub(t.started) >= t.tmax }

// reserve makes the auction id take the price of its bid from the budget; test requests cost nothing.
func (t *turn) reserve(id uuid.UUID, now time.Time) {
	t.work.scratch.Reserver, t.work.holding = nil, budget.Reservation{}
	if t.deps.Budget != nil && !t.sandbox {
		t.work.holding.Begin(t.deps.Budget, id, now, true)
		t.work.scratch.Reserver = &t.work.holding
	}
}

// bidPending is how long a bid counts for a frequency cap without its impression: most are never shown.
const bidPending = time.Minute

// gate is the gate of the auction id; test requests are neither capped nor paced.
func (t *turn) gate(id uuid.UUID, place *place, now time.Time) auction.Gate {
	delivery := t.deps.Delivery
	if t.sandbox {
		delivery = nil
	}
	never := 0 // a bid request is no turn of a conversation
	delivery.Begin(t.c.Request.Context(), &t.work.gate, id, frequency.Ask{
		Developer: t.caller.DeveloperID, Session: place.session, FirstTurn: &never, TurnGap: &never, Pending: bidPending, Now: now,
	}, t.deps.Catalog.Gate(now))
	return &t.work.gate
}

// bidLife is how long the bid may wait to be shown: as long as its price is reserved.
func (t *turn) bidLife() time.Duration {
	if t.deps.Budget == nil {
		return t.deps.Life.Impression
	}
	return t.deps.Budget.BidLife()
}

// release gives back what the request's bids reserved.
func (t *turn) release() {
	for i := range t.work.held {
		t.work.held[i].Cancel()
	}
}

// imp runs the auction of one impression.
func (t *turn) imp(p *imp) (b wireBid, reason auction.Reason, err error) {
	started := t.deps.Now()
	id, err := uuid.NewV7()
	if err != nil {
		return b, "", err
	}
	place := t.signals.of(p)
	request := auction.Request{
		Tokens: place.tokens, ActiveTools: place.tools, HostApp: place.host, Surface: place.surface,
		IntegrationMethod: method, Region: place.region, Language: place.language, BlockedDomains: t.blocked,
	}
	t.work.clear()
	chosen := chooser{turn: t, inner: t.gate(id, &place, started)}
	t.reserve(id, started)
	defer t.work.gate.End(nil) // however it ends
	outcome := t.decide(p, &request, &chosen)
	t.work.gate.End(outcome.Winner)
	t.log(decided{id: id, outcome: &outcome, request: &request, place: &place, started: started})
	if outcome.Winner == nil {
		t.lost = append(t.lost, lostAuction{p.ID, id})
		return b, outcome.Reason, nil
	}
	t.taken = append(t.taken, outcome.Winner.ID)
	t.work.held = append(t.work.held, t.work.holding)
	b, err = t.wireBid(won{id: id, imp: p, place: &place, outcome: &outcome, chooser: &chosen, started: started})
	return b, "", err
}

// decide runs the auction of p. Candidates come by descending effective CPM: down to the imp's floor all of them, below it
// those whose deal has a lower one.
func (t *turn) decide(p *imp, request *auction.Request, g *chooser) auction.Outcome {
	o, reason := t.offer(p)
	if reason != "" {
		return auction.Outcome{Reason: reason}
	}
	floor, reason := t.floor(p)
	g.offer, g.deals, g.open = &o, t.deals(p, floor, reason), !p.PMP.v.Private.is(1)
	request.Formats, request.FloorCPM = o.formats(), floor
	outcome := auction.Outcome{Reason: privateAuction}
	if g.open {
		if outcome.Reason = reason; reason == "" {
			outcome = auction.Decide(request, t.deps.Catalog.Snapshot(), g, &t.work.scratch)
		}
	}
	if outcome.Winner == nil && len(g.deals) > 0 && !g.over {
		outcome = t.decideDeals(request, g, outcome)
	}
	if outcome.Winner != nil {
		g.agree(&outcome)
	}
	return outcome
}

// decideDeals is the auction among the campaigns that may answer a deal, after nobody won the one before.
func (t *turn) decideDeals(request *auction.Request, g *chooser, before auction.Outcome) auction.Outcome {
	private := *request
	private.Deals, private.FloorCPM = ids(g.deals)
	traced := t.work.trace
	g.open, g.looked = false, 0
	outcome := auction.Decide(&private, t.deps.Catalog.Snapshot(), g, &t.work.scratch)
	switch none := outcome.Reason == auction.NoMatch || outcome.Reason == auction.NoCampaigns; {
	case outcome.Winner != nil:
		request.FloorCPM = private.FloorCPM
		return outcome
	case before.Reason == privateAuction && !none:
		return outcome
	case before.Reason != privateAuction:
		t.work.trace = traced // the open auction says more
	}
	return before
}

// agree puts the price of a deal into an outcome. Billed per thousand impressions, a fixed price is what is charged;
// clicks and conversions are charged at the campaign's own price.
func (g *chooser) agree(outcome *auction.Outcome) {
	if g.deal == nil || !g.deal.fixed {
		return
	}
	outcome.EffectiveCPM = g.deal.floor
	if winner := outcome.Winner; winner.Billing == ranker.CPM {
		outcome.Price = winner.Billing.Price(g.deal.floor)
	}
}
