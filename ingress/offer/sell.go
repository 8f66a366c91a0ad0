package offer

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/ingress/budget"
	"adnet/ingress/limits"
	"adnet/ingress/limits/frequency"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/consent"
	"adnet/internal/day"
	"adnet/internal/money/share"
	"adnet/internal/token"
	"adnet/schemas/event"
)

// Place describes where an ad is shown and for whom, as recorded in the token and the log.
type Place struct {
	Developer                       uuid.UUID
	Family                          uuid.UUID // the developer id of the publisher's family, if another
	Method                          string    // integration method
	Format                          string    // the requested format
	Surface, Host, Region, Language string
	Session                         string    // the publisher's session id; cleared when the auction begins
	Key                             uuid.UUID // the requesting API key: a refused session is stored for it alone
	SessionAge                      time.Duration
	Seen                            []auction.ID // ads that the page has shown, one entry per showing
	Consent                         consent.Flags
	Turn                            int  // turn of the conversation, 0 when unknown
	FirstTurn, TurnGap              *int // nil: use the settings
	Unlearned                       bool // excluded from learning
	Browser                         Browser
	Models                          bool // a model reads the ad; see [traffic.ReadByModels]

	// OtherRegion and OtherLanguage are set where the request has a text that is no registered
	// region or language, so Region or Language is empty.
	OtherRegion, OtherLanguage bool

	described described       // the texts in records, links and statistics
	mark      uint32          // mark of the session in its month, see [sessionMark]; 0 for none
	session   token.Pseudonym // pseudonym of Session; zero for none
	date      day.Day         // of session

	unlinked bool // no link contains session
}

// remember replaces the id of the session by its pseudonym; nothing after this call has the id. If
// the reader did not consent, or consent cannot be read, there is no session: nothing is stored and
// nothing is capped.
//
// Beside a sensitive subject the session counts only for frequency caps: there is no mark, nothing
// is learnt, and neither links nor events contain the session.
func (p *Place) remember(ring *token.Keyring, now time.Time, sensitive bool) {
	p.date, p.session, p.mark, p.unlinked = day.Of(now), token.Pseudonym{}, 0, sensitive
	refused := p.Consent.Refused()
	if !refused {
		p.session = ring.Session(p.Developer, p.date, p.Session)
	}
	if refused || sensitive {
		p.SessionAge, p.Unlearned = 0, true
	} else {
		p.mark = sessionMark(p.Developer, p.Session, now)
	}
	p.Session = ""
}

// Terms describes one impression for sale, filled by a protocol.
type Terms struct {
	// Request is the auction's request. Host, surface, method, region and language come from Place.
	Request  auction.Request
	Place    Place
	Received time.Time
	// Bid is set for a bid in an exchange's auction. Most bids are never shown: a bid is reserved
	// for the time of a bid, counts for a frequency cap no longer than [bidPending] without its
	// impression, and does not count as a turn of a conversation.
	Bid bool
	// Sandbox is set for a test: it is not capped, paced or reserved, and its token is marked
	// sandbox.
	Sandbox bool
	// Judged is the verdict on the conversation; see [Seller.Judge].
	Judged Judged
	// Blocks are the publisher's blocks, in addition to those in Request; nil for none.
	Blocks *account.Blocks
	// Publishing holds the publisher's requirements on ads, and MinRelevance that of the request;
	// nil for none. They determine the floors of Request.
	Publishing   account.Publishing
	MinRelevance *share.Share
	// Own holds the publisher's house ads, shown if nothing wins.
	Own House
	// Fit is the first gate of the chain: it checks whether the protocol can show a candidate's
	// creative. nil accepts all.
	Fit auction.Gate
	// Rounds decides an auction of several rounds; nil means one [Auction.Round] of Request.
	Rounds Rounds
}

// Rounds decides an auction by its rounds.
type Rounds interface {
	Decide(a *Auction) auction.Outcome
}

// bidPending is the time for which a bid counts for a frequency cap without its impression.
const bidPending = time.Minute

// noTurn is the turn of requests without a conversation. It is never written.
var noTurn int

// Auction is one impression from its terms to its ad, with the memory for it. The zero value is
// ready. The owner sets Terms, calls [Seller.Sell] and then [Auction.Forget], and may reuse it.
// Only one goroutine may use it at a time.
type Auction struct {
	Terms
	ID          uuid.UUID
	Outcome     auction.Outcome
	House       *auction.Campaign  // the house ad if nothing won; nil for none
	Took        time.Duration      // time of the decision
	Reservation budget.Reservation // of the winner's price; cancel it if the ad is not delivered
	Trace       auction.Trace      // of the last round

	catalog  Catalog
	snapshot *auction.Snapshot
	trial    *auction.Snapshot  // by the weights on trial; nil without a trial
	shadow   auction.Scratch    // memory for predictions of trial
	creative *campaign.Campaign // the last result of Creative
	limits   limits.DeliveryGate
	unseen   unseen
	blocked  blocked
	chain    auction.Chain
	own      []auction.ID
	scratch  auction.Scratch
	written  written
}

// Forget releases everything but memory.
func (a *Auction) Forget() {
	a.Terms, a.Outcome, a.Reservation = Terms{}, auction.Outcome{}, budget.Reservation{}
	a.Trace.Reset()
	a.House = nil
	a.catalog, a.snapshot, a.trial, a.creative, a.limits, a.unseen = nil, nil, nil, nil, limits.DeliveryGate{}, unseen{}
	a.blocked.forget()
	a.written.forget()
}

// Sell runs the auction a and records its outcome. With a winner it fills ad, signed. Without one
// a.Outcome holds the reason; ad is filled with a.House, or left alone if that is nil. Errors: no
// auction took place.
func (s *Seller) Sell(ctx context.Context, a *Auction, ad *Ad) error {
	if !a.Judged.valid {
		return errUnjudged
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	s.meet(ctx, a)
	a.Request.MinRelevance, a.Request.SilentFloor = s.cfg.floors(a.MinRelevance, a.Publishing.MinRelevance)
	a.Request.Trades = s.trades.open(a.Judged.Age, a.Place.Region)
	a.begin(id, s.deps.Catalog)
	if s.deps.Trials != nil && !a.Sandbox && a.Judged.Sensitive == 0 && !a.Judged.refused() {
		a.try(s.deps.Trials.Trial(id))
	}
	a.Outcome = s.decide(ctx, a)
	a.Took = s.deps.Now().Sub(a.Received)
	s.record(a)
	if a.Outcome.Winner != nil || a.House != nil {
		s.sign(a, ad)
	}
	return nil
}

// meet determines the verdict on the reader's conversation, earlier turns included, and the part of
// the session that is stored. A sandbox key's request takes the same steps.
func (s *Seller) meet(ctx context.Context, a *Auction) {
	s.flagged(a)
	s.recall(ctx, a)
	a.Judged.limit(&a.Place)
	a.Place.remember(s.deps.Keyring, a.Received, a.Judged.Sensitive != 0)
	a.Place.described = s.texts.describe(&a.Place, a.Received)
}

func (a *Auction) begin(id uuid.UUID, from Catalog) {
	a.ID, a.Outcome, a.House, a.Reservation = id, auction.Outcome{}, nil, budget.Reservation{}
	a.Trace.Reset()
	a.scratch.Trace = &a.Trace
	a.catalog, a.snapshot, a.trial, a.creative, a.limits = from, from.Snapshot(), nil, nil, limits.DeliveryGate{}
	r, p := &a.Request, &a.Place
	r.ID, r.At = auction.ID(id), index.Second(max(0, a.Received.Unix()))
	a.blocked.begin(a)
	r.Subjects, r.Models = a.Judged.Sensitive, p.Models
	r.HostApp, r.Surface, r.IntegrationMethod, r.Region, r.Language = p.Host, p.Surface, p.Method, p.Region, p.Language
}

// try lets the weights on trial decide the auction, or only predict its outcome.
func (a *Auction) try(snapshot *auction.Snapshot, decides bool) {
	if a.trial = snapshot; decides {
		a.snapshot = snapshot
	}
}

// decide runs the auction if this node may sell, and not too early in the conversation.
func (s *Seller) decide(ctx context.Context, a *Auction) (outcome auction.Outcome) {
	if reason := a.unsuited(); reason != "" {
		return auction.Outcome{Reason: reason}
	}
	if a.Judged.unread || !s.Ready(ctx, a.Received) {
		return auction.Outcome{Reason: auction.Stale}
	}
	s.guard(ctx, a)
	defer func() { a.limits.End(cmp.Or(outcome.Winner, a.House)) }() // on every path, because the session is locked
	switch {
	case a.limits.Early() > 0:
		return auction.Outcome{Reason: auction.FrequencyCapped}
	case a.Rounds != nil:
		outcome = a.Rounds.Decide(a)
	default:
		outcome = a.Round(&a.Request)
	}
	if outcome.Winner == nil {
		a.ownAd(outcome.Reason)
		return outcome
	}
	if outcome.Winner.Billing.Thousands() {
		a.Reservation.Lower(outcome.Price)
	}
	if _, known := a.Creative(outcome.Winner); !known {
		// The catalog was reloaded since the snapshot was taken, and the campaign is gone.
		a.Reservation.Cancel()
		a.unseen.release()
		return auction.Outcome{Reason: auction.NoMatch}
	}
	return outcome
}

// guard builds the chain of gates of a, with the reservation last.
func (s *Seller) guard(ctx context.Context, a *Auction) {
	p, delivery, reserved := &a.Place, s.deps.Delivery, s.deps.Budget != nil
	if a.Sandbox {
		delivery, reserved = nil, false
	}
	ask := frequency.Ask{
		Session: campaign.SessionKey(p.session), Seen: p.Seen, Turn: p.Turn, FirstTurn: p.FirstTurn, TurnGap: p.TurnGap,
		Now: a.Received,
	}
	if p.unlinked { // no impression confirms it, so it counts for the whole day
		ask.Pending = (p.date + 1).Time().Sub(a.Received)
	}
	if a.Bid {
		ask.Pending, ask.FirstTurn, ask.TurnGap = bidPending, &noTurn, &noTurn
	}
	delivery.Begin(ctx, &a.limits, a.ID, ask, s.deps.Catalog.Gate(a.Received))
	a.chain = a.chain[:0]
	if a.Fit != nil {
		a.chain = append(a.chain, a.Fit)
	}
	if a.Blocks != nil {
		a.chain = append(a.chain, &a.blocked)
	}
	a.chain = append(a.chain, &a.limits)
	if !a.Sandbox && s.deps.Limiter != nil {
		a.unseen.begin(s, a)
		a.chain = append(a.chain, &a.unseen)
	}
	if reserved {
		a.Reservation.Begin(s.deps.Budget, a.ID, a.Received, a.Bid)
		a.chain = append(a.chain, &a.Reservation)
	}
}

// Round runs one round of the auction: request over the snapshot of a, through all its gates.
func (a *Auction) Round(request *auction.Request) auction.Outcome {
	return auction.Decide(request, a.snapshot, &a.chain, &a.scratch)
}

// Creative returns the campaign of a candidate, in the version for the place of a. known is false
// if it was removed since the snapshot was taken, or is no longer for this place.
func (a *Auction) Creative(c *auction.Campaign) (creative *campaign.Campaign, known bool) {
	if a.creative == nil || a.creative.ID != uuid.UUID(c.ID) {
		creative, known = a.catalog.Creative(uuid.UUID(c.ID))
		switch {
		case !known, a.Place.Models && creative.PagesOnly: // changed since the snapshot was taken
			creative = nil
		case a.Place.Models:
			creative = creative.ForModels()
		}
		a.creative = creative
	}
	return a.creative, a.creative != nil
}

// staleFor is the retry delay in seconds for callers of a node that may not sell.
const staleFor = 2

// RetryAfter returns the delay before a retry after an auction without an ad, in seconds or in
// turns of the conversation. It is 0 if waiting does not help.
func (a *Auction) RetryAfter() (seconds, turns int) {
	if a.Outcome.Reason == auction.Stale {
		return staleFor, 0
	}
	return a.limits.RetryAfter(a.Outcome.Reason)
}

// written holds the memory of an auction's record.
type written struct {
	id         uuid.UUID
	record     event.Auction
	placement  event.Placement
	candidates [auction.MaxTrace]event.Candidate
	refs       [auction.MaxTrace]*event.Candidate
	terms      [auction.MaxRecorded]uint32
}

func (w *written) forget() {
	w.record.Reset()
	w.placement.Reset()
}
