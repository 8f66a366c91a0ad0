package rtb

import (
	"strings"
	"time"

	"adnet/auction"
	"adnet/ingress/budget"
	"adnet/ingress/httpapi"
	"adnet/ingress/offer"

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
	c       *httpapi.Context
	in      bidRequest
	caller  httpapi.Caller
	started time.Time
	now     time.Time // as late looked last
	tmax    time.Duration
	sandbox bool
	debug   bool
	base    string
	secure  bool      // our own links are https
	blocked []string  // domains
	sale    sale      // the auction under way
	won     int       // bids
	first   uuid.UUID // the auction of the first bid
}

// kept is what a turn keeps for the next request, all of it empty between them.
type kept struct {
	json    *reader
	auction offer.Auction        // under way
	ad      offer.Ad             // that is being written
	held    []budget.Reservation // of the bids so far
	reasons []auction.Reason     // of each imp
	taken   []auction.ID         // campaigns that have an imp already
	lost    []lostAuction        // what explains the imps without a bid that were auctioned
	signals signals              // of the request level
	bids    []byte               // as JSON
	noticed []byte               // what the links of its notices share, between the op and the macro
	markup  []byte
	pieces  pieces
	out     []byte // the reply
}

// lostAuction is the auction of an imp that got no bid.
type lostAuction struct {
	imp text
	id  uuid.UUID
}

func newTurn() any { return &turn{kept: kept{json: newReader()}} }

// begin is the turn of a request that is still to be read.
func (s *Server) begin(c *httpapi.Context, caller httpapi.Caller, started time.Time) *turn {
	t := s.turns.Get().(*turn)
	t.Server, t.c, t.caller, t.base = s, c, caller, s.deps.Seller.Base()
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
	t.auction.Forget()
	t.ad = offer.Ad{Token: t.ad.Token[:0]}
	t.held, t.reasons, t.taken, t.lost = emptied(t.held), emptied(t.reasons), emptied(t.taken), emptied(t.lost)
	if t.bids = t.bids[:0]; cap(t.bids) > keptBuffer {
		t.bids, t.out = nil, nil
	}
	turns.Put(t)
}

// sale is what a turn knows of the imp whose auction is under way.
type sale struct {
	imp     *imp
	place   place
	chooser chooser
}

// sell sets the terms of the auction of p.
func (t *turn) sell(p *imp) *sale {
	s := &t.sale
	*s = sale{imp: p, place: t.signals.of(p), chooser: chooser{turn: t}}
	at := &s.place
	t.auction.Terms = offer.Terms{
		Request: auction.Request{Tokens: at.tokens, ActiveTools: at.tools, BlockedDomains: t.blocked},
		Place: offer.Place{
			Developer: t.caller.DeveloperID, Method: method, Format: p.format(), Surface: at.surface, Host: at.host,
			Region: at.region, Language: at.language, Session: at.session,
		},
		Asked: t.now, Bid: true, Sandbox: t.sandbox, Fit: &s.chooser, Rounds: t,
	}
	return s
}

// asks are the formats that an imp may ask for: the kinds of markup that it takes.
var asks = [...]string{"", "native", "banner", "native+banner", "video", "native+video", "banner+video", "native+banner+video"}

// format is what p asks for, whether or not we have it.
func (p *imp) format() string {
	at := 0
	for kind, asked := range [kinds]bool{asNative: p.Native.set, asBanner: p.Banner.set, asVideo: p.Video.set} {
		if asked {
			at |= 1 << kind
		}
	}
	return asks[at]
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
