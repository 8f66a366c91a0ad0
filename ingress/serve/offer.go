package serve

import (
	"context"
	"encoding/hex"
	"net/url"
	"strings"
	"unicode/utf8"

	"adnet/auction"
	"adnet/ingress/httpapi"
	"adnet/internal/campaign"
	"adnet/internal/errs"

	"github.com/google/uuid"
)

// Offer is the answer to a [Request]: an ad with its signed links, or why there is none. It is filled by [Server.Offer], again
// and again if its owner likes.
type Offer struct {
	Creative        *campaign.Campaign // nil when nothing won
	Token           []byte             // the signed auction id, of the URL alphabet; its memory is used again
	Sandbox         bool
	DisclosureLabel string // marks the ad as one; must be shown with it

	AuctionID  uuid.UUID      // what to ask for an explanation with, when nothing won
	Reason     auction.Reason // why there is no ad
	RetryAfter int            // seconds until the same request may be answered otherwise; 0 where waiting does not help
	RetryTurns int            // turns of the conversation until it may have an ad; RetryAfter is then an estimate of their time

	base      string    // prefix of every link
	developer uuid.UUID // in beacons, with session
	session   string
}

// reset makes o as new, but for the memory of its token.
func (o *Offer) reset() { *o = Offer{Token: o.Token[:0]} }

// How long a caller should wait before it asks again for the same context, in seconds, where waiting helps.
var retryAfter = map[auction.Reason]int{auction.Stale: 2}

// Admit counts a request against the caller's rate. Errors: errs.RateLimited.
func (s *Server) Admit(caller httpapi.Caller) error {
	return s.deps.Limiter.Allow(caller.Reply, limitID(caller), s.deps.Now())
}

// limitID is whom a request counts for: the publisher, whatever the key; a public sandbox key for itself.
func limitID(caller httpapi.Caller) uuid.UUID {
	if caller.DeveloperID != uuid.Nil {
		return caller.DeveloperID
	}
	return caller.KeyID
}

// Offer answers a checked request: it fills offer with the auction's winner, or for a sandbox key with an ad of the
// pool, whose token says sandbox. Nobody is charged by it. Errors: errs.UpstreamError when the auction failed.
func (s *Server) Offer(ctx context.Context, caller httpapi.Caller, in *Request, offer *Offer) error {
	offer.reset()
	work := s.work.Get().(*workspace)
	defer s.work.Put(work)
	defer work.forget()
	placed := &work.placed
	*placed = placement{
		developer: caller.DeveloperID, method: in.Method, format: in.Format, surface: in.surface(), host: in.host(),
		region: in.UserRegion, language: in.UserLanguage, session: in.SessionID, sessionAge: in.SessionAge,
		firstTurn: in.FirstAdTurn, turnGap: in.TurnsBetweenAds,
	}
	if in.Turn != nil {
		placed.turn = *in.Turn
	}
	if caller.Sandbox {
		if err := s.draw(placed, offer); err != nil {
			return err
		}
		s.complete(offer, placed)
		return nil
	}
	request := &work.request
	work.tokens = auction.AppendTokens(work.tokens[:0], in.Context)
	*request = auction.Request{
		Tokens: work.tokens, ActiveTools: in.ActiveTools, HostApp: placed.host, Surface: placed.surface,
		IntegrationMethod: placed.method, Region: placed.region, Language: placed.language,
	}
	id, err := uuid.NewV7()
	if err != nil {
		return errs.Wrap(err, errs.UpstreamError, "the auction failed; treat it as no fill")
	}
	why := s.run(ctx, attempt{id, request, placed, s.deps.Now()}, work, offer)
	if offer.Creative == nil {
		offer.AuctionID, offer.Reason, offer.RetryAfter, offer.RetryTurns = id, why.reason, why.seconds, why.turns
		return nil
	}
	s.complete(offer, placed)
	return nil
}

// complete adds what the links and the label of an ad need.
func (s *Server) complete(offer *Offer, placed *placement) {
	offer.DisclosureLabel, offer.base = s.cfg.Disclosure, s.linkBase()
	offer.developer, offer.session = placed.developer, placed.session
}

// linkBase is the prefix of links, and the setting it was made from.
type linkBase struct{ set, safe string }

// linkBase is the prefix of every link. Where the setting has characters that no URL has and that would have to be
// escaped in JSON or Markdown, they are percent-encoded, so that links need no look at each of their characters.
func (s *Server) linkBase() string {
	set := s.deps.BaseURL()
	if known := s.links.Load(); known != nil && known.set == set {
		return known.safe
	}
	made := &linkBase{set: set, safe: safeURL(set)}
	s.links.Store(made)
	return made.safe
}

func safeURL(u string) string {
	var safe []byte
	text := utf8.ValidString(u)
	for i := range len(u) {
		if c := u[i]; c > ' ' && c != 0x7f && (c < utf8.RuneSelf || text) && strings.IndexByte("\"\\<>`", c) < 0 {
			safe = append(safe, c)
		} else {
			safe = append(append(safe, '%'), hex.AppendEncode(nil, []byte{c})...)
		}
	}
	return string(safe)
}

// AppendCampaign appends the id of the ad's campaign.
func (o *Offer) AppendCampaign(b []byte) []byte { return appendID(b, o.Creative.ID) }

// AppendBeacon appends the pixel that records event. Everything that counts is in the token; the query repeats what
// integrations expect to see there. A JSON string takes it, like all links of an offer, as it is.
func (o *Offer) AppendBeacon(b []byte, event string) []byte {
	// Token, ids and format are of the URL alphabet.
	b = append(append(append(b, o.base...), "/api/track?event="...), event...)
	b = appendID(append(b, "&campaign_id="...), o.Creative.ID)
	b = append(append(b, "&auction_id="...), o.Token...)
	b = append(append(b, "&session="...), url.QueryEscape(o.session)...)
	b = appendID(append(b, "&dev="...), o.developer)
	return append(append(b, "&format="...), o.Creative.Format...)
}

// AppendClick appends the link that records a click and leads to the campaign's landing page.
func (o *Offer) AppendClick(b []byte) []byte {
	b = append(append(b, o.base...), "/s/"...)
	return append(append(b, o.Token...), "?event=click"...)
}

// AppendReceipt appends the public page that says who paid.
func (o *Offer) AppendReceipt(b []byte) []byte {
	return append(append(append(b, o.base...), "/r/"...), o.Token...)
}
