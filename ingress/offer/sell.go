package offer

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"adnet/auction"
	"adnet/auction/target"
	"adnet/ingress/budget"
	"adnet/ingress/limits"
	"adnet/ingress/limits/frequency"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/consent"
	"adnet/internal/day"
	"adnet/internal/share"
	"adnet/internal/token"
	"adnet/schemas/event"
)

// Place is where an ad is shown and for whom, as the token and the log keep it.
type Place struct {
	Developer                       uuid.UUID
	Method                          string // integration method
	Format                          string // that was asked for
	Surface, Host, Region, Language string
	Session                         string    // the publisher's id; gone once the auction began
	Key                             uuid.UUID // the API key that asks: a refused session is remembered for it alone
	SessionAge                      time.Duration
	Seen                            []auction.ID // that the page has shown, one entry a time
	Consent                         consent.Flags
	Turn                            int  // of the conversation, 0 when unknown
	FirstTurn, TurnGap              *int // nil: the settings
	Unlearned                       bool // nothing is learnt from it: the publisher said so
	Browser                         Browser

	mark    uint32          // of the session in its month, see [sessionMark]; 0 for none
	session token.Pseudonym // what stands for Session; zero for none
	date    day.Day         // of session

	unlinked bool // no link has session
}

// remember puts the pseudonym of the session in place of its id: beyond this point nothing has the
// id. Where the reader did not consent, or consent cannot be read, there is no session: nothing is
// kept and nothing is capped.
//
// Beside a sensitive subject the session counts for frequency caps and for nothing else: there is
// no mark, nothing is learnt, and the links do not have it, so that no event has.
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

// Terms are what a wire says of one impression.
type Terms struct {
	// Request is the auction's request; host, surface, method, region and language come from Place.
	Request auction.Request
	Place   Place
	Asked   time.Time
	// Bid is set for a bid in an auction of others. Most are never shown: one is reserved for the
	// time of a bid, counts for a frequency cap no longer than [bidPending] without its impression,
	// and does not count as a turn of a conversation.
	Bid bool
	// Sandbox is set for a test: neither capped, paced nor reserved, and its token says so.
	Sandbox bool
	// Judged is the verdict on the conversation; see [Seller.Judge].
	Judged Judged
	// Blocks are what the publisher does not show, besides what Request blocks; nil is nothing.
	Blocks *account.Blocks
	// Publishing is what the publisher asks of ads, and MinRelevance what the request does; nil is
	// nothing. The floors of Request come of them.
	Publishing   account.Publishing
	MinRelevance *share.Share
	// Own is what the publisher shows of its own when nothing wins.
	Own House
	// Fit is the first gate of the chain: whether the wire has a place for a candidate's creative.
	// nil lets all pass.
	Fit auction.Gate
	// Rounds decides an auction of more than one round; nil is one [Auction.Round] of Request.
	Rounds Rounds
}

// Rounds decides an auction by its rounds.
type Rounds interface {
	Decide(a *Auction) auction.Outcome
}

// bidPending is how long a bid counts for a frequency cap without its impression.
const bidPending = time.Minute

// noTurn is the pacing of requests without a conversation; it is never written.
var noTurn int

// Auction is one impression from its terms to its ad, with the memory for it. The zero value is
// ready; its owner sets Terms, has it sold by [Seller.Sell], lets go of it by [Auction.Forget], and
// uses it again. One goroutine uses it at a time.
type Auction struct {
	Terms
	ID          uuid.UUID
	Outcome     auction.Outcome
	House       *auction.Campaign  // the house ad, where nothing won; nil for none
	Took        time.Duration      // of the decision
	Reservation budget.Reservation // of the winner's price; to be cancelled when the ad is not handed out
	Trace       auction.Trace      // of the last round

	catalog  Catalog
	snapshot *auction.Snapshot
	trial    *auction.Snapshot  // by the weights on trial; nil for none
	shadow   auction.Scratch    // of what trial foretells
	creative *campaign.Campaign // that was looked at last
	limits   limits.Gate
	unseen   unseen
	blocked  blocked
	chain    auction.Chain
	own      []auction.ID
	scratch  auction.Scratch
	written  written
}

// Forget lets go of everything but memory.
func (a *Auction) Forget() {
	a.Terms, a.Outcome, a.Reservation = Terms{}, auction.Outcome{}, budget.Reservation{}
	a.Trace.Reset()
	a.House = nil
	a.catalog, a.snapshot, a.trial, a.creative, a.limits, a.unseen = nil, nil, nil, nil, limits.Gate{}, unseen{}
	a.blocked.forget()
	a.written.forget()
}

// Sell runs the auction a and records how it ended. With a winner it fills ad, signed; without one
// a.Outcome says why, and ad is filled with a.House, or left alone where that is nil. Errors: no
// auction took place.
func (s *Seller) Sell(ctx context.Context, a *Auction, ad *Ad) error {
	if !a.Judged.made {
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
	a.Took = s.deps.Now().Sub(a.Asked)
	s.record(a)
	if a.Outcome.Winner != nil || a.House != nil {
		s.sign(a, ad)
	}
	return nil
}

// meet settles what is known of the reader of a: the verdict with what earlier turns add to it, and
// what of the session is kept. A sandbox key's request takes the same steps.
func (s *Seller) meet(ctx context.Context, a *Auction) {
	s.flagged(a)
	s.recall(ctx, a)
	a.Judged.limit(&a.Place)
	a.Place.remember(s.deps.Keyring, a.Asked, a.Judged.Sensitive != 0)
}

func (a *Auction) begin(id uuid.UUID, from Catalog) {
	a.ID, a.Outcome, a.House, a.Reservation = id, auction.Outcome{}, nil, budget.Reservation{}
	a.Trace.Reset()
	a.scratch.Trace = &a.Trace
	a.catalog, a.snapshot, a.trial, a.creative, a.limits = from, from.Snapshot(), nil, nil, limits.Gate{}
	r, p := &a.Request, &a.Place
	r.ID, r.At = auction.ID(id), target.Second(max(0, a.Asked.Unix()))
	a.blocked.begin(a)
	r.Subjects = a.Judged.Sensitive
	r.HostApp, r.Surface, r.IntegrationMethod, r.Region, r.Language = p.Host, p.Surface, p.Method, p.Region, p.Language
}

// try lets weights on trial decide the auction, or only foretell what comes of it.
func (a *Auction) try(snapshot *auction.Snapshot, decides bool) {
	if a.trial = snapshot; decides {
		a.snapshot = snapshot
	}
}

// decide runs the auction where this node may, and not too early in the conversation.
func (s *Seller) decide(ctx context.Context, a *Auction) (outcome auction.Outcome) {
	if reason := a.unsuited(); reason != "" {
		return auction.Outcome{Reason: reason}
	}
	if a.Judged.unread || !s.Ready(ctx, a.Asked) {
		return auction.Outcome{Reason: auction.Stale}
	}
	s.guard(ctx, a)
	defer func() { a.limits.End(cmp.Or(outcome.Winner, a.House)) }() // however it ends: the session is locked
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
		// The catalog was loaded anew since the snapshot was taken, and the campaign is gone.
		a.Reservation.Cancel()
		a.unseen.Undo(nil)
		return auction.Outcome{Reason: auction.NoMatch}
	}
	return outcome
}

// guard puts the gates of a together; the reservation is the last.
func (s *Seller) guard(ctx context.Context, a *Auction) {
	p, delivery, reserved := &a.Place, s.deps.Delivery, s.deps.Budget != nil
	if a.Sandbox {
		delivery, reserved = nil, false
	}
	ask := frequency.Ask{
		Session: campaign.SessionKey(p.session), Seen: p.Seen, Turn: p.Turn, FirstTurn: p.FirstTurn, TurnGap: p.TurnGap,
		Now: a.Asked,
	}
	if p.unlinked { // no impression confirms it: it counts for its day
		ask.Pending = (p.date + 1).Time().Sub(a.Asked)
	}
	if a.Bid {
		ask.Pending, ask.FirstTurn, ask.TurnGap = bidPending, &noTurn, &noTurn
	}
	delivery.Begin(ctx, &a.limits, a.ID, ask, s.deps.Catalog.Gate(a.Asked))
	a.chain = a.chain[:0]
	if a.Fit != nil {
		a.chain = append(a.chain, a.Fit)
	}
	if a.Blocks != nil {
		a.chain = append(a.chain, &a.blocked)
	}
	a.chain = append(a.chain, &a.limits)
	if p.Browser.Asks {
		sold, _ := day.TimeOfUUID(a.ID)
		a.unseen = unseen{seller: s, page: p.Browser, at: a.Asked, sold: sold}
		a.chain = append(a.chain, &a.unseen)
	}
	if reserved {
		a.Reservation.Begin(s.deps.Budget, a.ID, a.Asked, a.Bid)
		a.chain = append(a.chain, &a.Reservation)
	}
}

// Round runs one round of the auction: request over the snapshot that a has begun with, through all
// its gates.
func (a *Auction) Round(request *auction.Request) auction.Outcome {
	return auction.Decide(request, a.snapshot, &a.chain, &a.scratch)
}

// Creative is the campaign of a candidate; false when it is gone since the snapshot was taken.
func (a *Auction) Creative(c *auction.Campaign) (creative *campaign.Campaign, known bool) {
	if a.creative == nil || a.creative.ID != uuid.UUID(c.ID) {
		if creative, known = a.catalog.Creative(uuid.UUID(c.ID)); !known {
			creative = nil
		}
		a.creative = creative
	}
	return a.creative, a.creative != nil
}

// staleFor is how long the caller of a node that may not sell should wait, in seconds.
const staleFor = 2

// RetryAfter says when to ask again after an auction without an ad: in seconds, or in turns of the
// conversation. 0 if waiting does not help.
func (a *Auction) RetryAfter() (seconds, turns int) {
	if a.Outcome.Reason == auction.Stale {
		return staleFor, 0
	}
	return a.limits.RetryAfter(a.Outcome.Reason)
}

// written is the memory of the record of an auction.
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
