package rtb

import (
	"strings"
	"time"

	"adnet/auction"
	"adnet/ingress/budget"
	"adnet/ingress/httpapi"
	"adnet/ingress/limits"
	"adnet/schemas/event"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
)

// turn is the work on one request. It goes from request to request with the memory that it has: begin sets what a
// request says, end lets go of it.
type turn struct {
	*Server
	asked
	kept
}

// asked is what a turn has of its request.
type asked struct {
	c       *gin.Context
	in      bidRequest
	caller  httpapi.Caller
	started time.Time
	now     time.Time // as late looked last
	tmax    time.Duration
	sandbox bool
	debug   bool
	base    string
	secure  bool     // our own links are https
	blocked []string // domains
	sale    sale     // the auction under way
	holding budget.Reservation
	won     int       // bids
	first   uuid.UUID // the auction of the first bid
	noTurn  int       // a bid request is no turn of a conversation
}

// kept is what a turn keeps for the next request, all of it empty between them.
type kept struct {
	json    *reader
	scratch auction.Scratch
	trace   auction.Trace
	gate    limits.Gate // of the auction under way, as the chain
	chain   auction.Chain
	held    []budget.Reservation // of the bids so far
	reasons []auction.Reason     // of each imp
	taken   []auction.ID         // campaigns that have an imp already
	lost    []lostAuction        // what explains the imps without a bid that were auctioned
	signals signals              // of the request level
	bids    []byte               // as JSON
	token   []byte               // of the bid that is being written, as are the next three
	noticed []byte               // what the links of its notices share, between the op and the macro
	markup  []byte
	pieces  pieces
	out     []byte        // the reply
	entry   event.Auction // of the auction under way, for the log
	placed  event.Placement
	wire    []byte // entry with its key
	traced  [auction.MaxTrace]event.Candidate
	refs    [auction.MaxTrace]*event.Candidate
}

// lostAuction is the auction of an imp that got no bid.
type lostAuction struct {
	imp text
	id  uuid.UUID
}

func newTurn() any {
	t := &turn{kept: kept{json: newReader()}}
	t.scratch.Trace = &t.trace
	for i := range t.refs {
		t.refs[i] = &t.traced[i]
	}
	return t
}

// begin is the turn of a request that is still to be read.
func (s *Server) begin(c *gin.Context, caller httpapi.Caller, started time.Time) *turn {
	t := s.turns.Get().(*turn)
	t.Server, t.c, t.caller, t.base = s, c, caller, s.deps.BaseURL()
	t.started, t.now = started, started
	t.secure = strings.HasPrefix(t.base, "https://")
	return t
}

// read reads the body. Errors are malformed.
func (t *turn) read(body []byte) error {
	in := &t.in
	if err := t.json.parse(body, in); err != nil {
		return err
	}
	t.tmax = defaultTMax
	if in.TMax.n > 0 {
		t.tmax = min(time.Duration(min(in.TMax.n, int64(maxTMax/time.Millisecond)))*time.Millisecond, maxTMax)
	}
	t.sandbox = in.Test.is(1)
	t.debug = t.sandbox || in.Ext.v.Debug.n != 0
	t.blocked = domains(in.BAdv)
	t.signals.begin(in)
	return nil
}

// end gives the turn to the next request.
func (t *turn) end() {
	turns := &t.turns
	t.Server = nil
	t.asked = asked{}
	t.json.forget()
	t.signals.forget()
	t.trace.Reset()
	t.gate = limits.Gate{}
	t.entry.Reset()
	t.placed.Reset()
	t.held, t.reasons, t.taken, t.lost = emptied(t.held), emptied(t.reasons), emptied(t.taken), emptied(t.lost)
	if t.bids = t.bids[:0]; cap(t.bids) > keptBuffer {
		t.bids, t.out = nil, nil
	}
	turns.Put(t)
}

// sale is the auction of one imp, from its beginning to its bid.
type sale struct {
	id      uuid.UUID
	imp     *imp
	started time.Time
	place   place
	request auction.Request
	chooser chooser
	outcome auction.Outcome
	took    time.Duration
}

// sell begins the auction of p.
func (t *turn) sell(id uuid.UUID, p *imp) *sale {
	s := &t.sale
	*s = sale{id: id, imp: p, started: t.now, place: t.signals.of(p)}
	s.chooser = chooser{turn: t}
	s.request = auction.Request{
		Tokens: s.place.tokens, ActiveTools: s.place.tools, HostApp: s.place.host, Surface: s.place.surface,
		IntegrationMethod: method, Region: s.place.region, Language: s.place.language, BlockedDomains: t.blocked,
	}
	t.trace.Reset() // an imp without an auction has no candidates
	return s
}

// pieces are texts that are written one after the other and become strings in one allocation.
type pieces struct {
	text []byte
	ends []int
}

func (p *pieces) begin() { p.text, p.ends = p.text[:0], p.ends[:0] }

// put appends to the piece that is being written.
func (p *pieces) put(parts ...string) *pieces {
	for _, part := range parts {
		p.text = append(p.text, part...)
	}
	return p
}

func (p *pieces) write(part []byte) *pieces {
	p.text = append(p.text, part...)
	return p
}

func (p *pieces) id(id uuid.UUID) *pieces {
	p.text = appendID(p.text, id)
	return p
}

// end ends the piece.
func (p *pieces) end() { p.ends = append(p.ends, len(p.text)) }

// strings are the pieces, into one string each.
func (p *pieces) strings(into ...*string) {
	all, from := string(p.text), 0
	for i, end := range p.ends {
		*into[i] = all[from:end]
		from = end
	}
}
