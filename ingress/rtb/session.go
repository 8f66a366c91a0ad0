package rtb

import (
	"context"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/auction"
	"adnet/auction/words"
	"adnet/ingress/httpapi"
	"adnet/ingress/offer"
	"adnet/internal/compliance/consent"
)

// bidSession is the state of one bid request. Sessions are pooled and keep their memory: begin sets
// the fields of a request, end clears them.
type bidSession struct {
	*Server
	sessionRequest
	sessionMemory
}

// sessionRequest holds the fields of a session that belong to its request.
type sessionRequest struct {
	c         *gin.Context
	in        bidRequest
	caller    httpapi.Caller
	started   time.Time
	now       time.Time // last clock reading of late
	tmax      time.Duration
	sandbox   bool
	debug     bool
	base      string
	secure    bool     // our links are https
	blocked   []string // blocked domains
	apps      []string // blocked apps
	consent   consent.Flags
	wishes    wishes // category wishes
	languages languages
	current   impressionAuction // the current auction
	judged    offer.Judged      // verdict on the request level, computed when an imp needs it
	judging   bool              // judged is set
	refused   offer.Judged      // verdict on the first imp that was refused for its subject
	won       int               // number of bids
	first     uuid.UUID         // the auction of the first bid
}

// sessionMemory holds the buffers that a session keeps for the next request; all are empty between
// requests.
type sessionMemory struct {
	json    *reader
	auction offer.Auction      // of the current impression
	ad      offer.Ad           // the ad of the current bid
	sold    []offer.Sold       // of the bids so far
	reasons []auction.Reason   // of each imp
	lost    []lostAuction      // auctions of the imps that got no bid
	pods    []pod              // of the videos among the bids
	signals signals            // of the request level
	words   words.Reader       // of the current impression
	suits   offer.Conversation // of the request level, or of the current impression
	bids    []byte             // as JSON
	noticed []byte             // the part of the notice links between the op and the macro
	markup  []byte
	pieces  pieces
	out     []byte // the reply
}

// pod is a video pod with a bid.
type pod struct {
	id     text
	dedupe bool // its imp limits repeated ads
}

// lostAuction is the auction of an imp without a bid.
type lostAuction struct {
	imp text
	id  uuid.UUID
}

func newBidSession() any { return &bidSession{sessionMemory: sessionMemory{json: newReader()}} }

// begin takes a session from the pool for a request whose body is still unread.
func (s *Server) begin(c *gin.Context, caller httpapi.Caller, started time.Time) *bidSession {
	t := s.sessions.Get().(*bidSession)
	t.Server, t.c, t.caller, t.base = s, c, caller, s.deps.Seller.Base()
	t.started, t.now = started, started
	t.secure = strings.HasPrefix(t.base, "https://")
	return t
}

// read reads the body. Errors are malformed.
func (s *bidSession) read(body []byte) error {
	in := &s.in
	if err := s.json.parse(body, in); err != nil {
		return err
	}
	s.tmax = defaultTMax
	if in.TMax.n > 0 {
		s.tmax = min(time.Duration(min(in.TMax.n, int64(maxTMax/time.Millisecond)))*time.Millisecond, maxTMax)
	}
	s.sandbox = in.Test.Strict()
	s.debug = s.sandbox || in.Ext.v.Debug.n != 0
	s.blocked, s.apps = domains(&in.BAdv), apps(&in.BApp)
	s.readCategories()
	s.readLanguages()
	s.consent = in.consent()
	s.signals.begin(in)
	return nil
}

// end clears the session and returns it to the pool.
func (s *bidSession) end() {
	sessions := &s.sessions
	s.Server = nil
	s.sessionRequest = sessionRequest{}
	s.json.forget()
	s.signals.forget()
	s.words.Reset()
	s.suits.Forget()
	s.auction.Forget()
	s.ad.Reset()
	s.sold, s.reasons, s.lost = emptied(s.sold), emptied(s.reasons), emptied(s.lost)
	s.pods = emptied(s.pods)
	if s.bids = s.bids[:0]; cap(s.bids) > keptBuffer {
		s.bids, s.out = nil, nil
	}
	sessions.Put(s)
}

// impressionAuction is the auction of one imp.
type impressionAuction struct {
	imp   *imp
	place place
	gate  bidGate
}

// beginAuction sets the terms of the auction of p.
func (s *bidSession) beginAuction(ctx context.Context, p *imp) *impressionAuction {
	current := &s.current
	*current = impressionAuction{imp: p, place: s.signals.of(p), gate: bidGate{session: s}}
	at := &current.place
	s.auction.Terms = offer.Terms{
		Request: auction.Request{
			Words: at.read(&s.words), Tokens: at.tokens, ActiveTools: at.tools, BlockedDomains: s.blocked,
		},
		Place: offer.Place{
			Developer: s.caller.DeveloperID, Method: method, Format: p.format(), Surface: at.surface, Host: at.host,
			Region: at.region, Language: at.language, Session: at.session, Key: s.caller.KeyID, Consent: s.consent,
			Unlearned: s.caller.Unlearned, Family: s.caller.Family,
		},
		Received: s.now, Bid: true, Sandbox: s.sandbox, Judged: s.judge(ctx, p), Blocks: s.caller.Blocks,
		Publishing: s.caller.Publishing, Fit: &current.gate, Rounds: s,
	}
	return current
}

// requestedFormats names each set of markup kinds that an imp may accept; the index has one bit per
// kind.
var requestedFormats = [...]string{
	"", "native", "banner", "native+banner", "video", "native+video", "banner+video", "native+banner+video",
}

// format names the formats that p requests, supported or not.
func (p *imp) format() string {
	at := 0
	for kind, requested := range [kinds]bool{asNative: p.Native.set, asBanner: p.Banner.set, asVideo: p.Video.set} {
		if requested {
			at |= 1 << kind
		}
	}
	return requestedFormats[at]
}

// pieces holds texts that are written one after the other and converted to strings in one
// allocation.
type pieces struct {
	text []byte
	ends []int
}

func (p *pieces) begin() { p.text, p.ends = p.text[:0], p.ends[:0] }

// put appends to the current piece.
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

// strings stores the pieces in the given strings.
func (p *pieces) strings(into ...*string) {
	all, from := string(p.text), 0
	for i, end := range p.ends {
		*into[i] = all[from:end]
		from = end
	}
}
