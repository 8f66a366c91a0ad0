package rtb

import (
	"slices"
	"time"

	"adnet/auction"
	"adnet/ingress/httpapi"
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
	privateAuction auction.Reason = "private_auction"    // only for deals, and we have none
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
	if err := s.admit(caller.KeyID, started); err != nil {
		return err
	}
	c.Header("X-Openrtb-Version", "2.6")
	in := new(bidRequest)
	err = readBody(c, func(body []byte) error { return parse(body, in) })
	if m, is := isMalformed(err); is {
		err = errs.New(errs.InvalidRequest, "%s", string(m))
	}
	if err != nil {
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
		return errs.Wrap(err, errs.Internal, "technical error; safe to retry").With("nbr", nbrTechnical)
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
	case !t.deps.Catalog.Fresh(t.started) || !t.deps.Recording.CanRecord(t.c.Request.Context()):
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
	var o offer
	if request.FloorCPM, reason = t.floor(p); reason == "" {
		o, reason = t.offer(p)
	}
	outcome := auction.Outcome{Reason: reason}
	chosen := chooser{turn: t, offer: &o, inner: t.deps.Catalog.Gate(started)}
	t.work.clear()
	if reason == "" {
		request.Formats = o.formats()
		outcome = auction.Decide(&request, t.deps.Catalog.Snapshot(), &chosen, &t.work.scratch)
	}
	t.log(decided{id: id, outcome: &outcome, request: &request, place: &place, started: started})
	if outcome.Winner == nil {
		return b, outcome.Reason, nil
	}
	b, err = t.wireBid(won{id: id, imp: p, place: &place, outcome: &outcome, creative: chosen.creative, kind: chosen.kind, offer: &o, started: started})
	return b, "", err
}
