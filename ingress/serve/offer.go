package serve

import (
	"context"
	"net/url"

	"adnet/auction"
	"adnet/ingress/httpapi"
	"adnet/internal/campaign"
	"adnet/internal/errs"

	"github.com/google/uuid"
)

// Offer is the answer to a [Request]: an ad with its signed links, or why there is none.
type Offer struct {
	Creative        *campaign.Campaign // nil when nothing won
	Token           string             // the signed auction id
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

// Offer answers a checked request: with the auction's winner, or for a sandbox key with an ad of the pool, whose
// token says sandbox. Nobody is charged by it. Errors: errs.UpstreamError when the auction failed.
func (s *Server) Offer(ctx context.Context, caller httpapi.Caller, in *Request) (Offer, error) {
	placed := placement{
		developer: caller.DeveloperID, method: in.Method, format: in.Format, surface: in.surface(), host: in.host(),
		region: in.UserRegion, language: in.UserLanguage, session: in.SessionID, sessionAge: in.SessionAge,
		firstTurn: in.FirstAdTurn, turnGap: in.TurnsBetweenAds,
	}
	if in.Turn != nil {
		placed.turn = *in.Turn
	}
	if caller.Sandbox {
		drawn, err := s.draw(placed)
		if err != nil {
			return Offer{}, err
		}
		return s.offer(drawn, placed), nil
	}
	work := s.work.Get().(*workspace)
	defer s.work.Put(work)
	defer work.forget()
	request := &work.request
	work.placed = placed
	work.tokens = auction.AppendTokens(work.tokens[:0], in.Context)
	*request = auction.Request{
		Tokens: work.tokens, ActiveTools: in.ActiveTools, HostApp: placed.host, Surface: placed.surface,
		IntegrationMethod: placed.method, Region: placed.region, Language: placed.language,
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Offer{}, errs.Wrap(err, errs.UpstreamError, "the auction failed; treat it as no fill")
	}
	won, why := s.run(ctx, attempt{id, request, &work.placed, s.deps.Now()}, work)
	if won == nil {
		return Offer{AuctionID: id, Reason: why.reason, RetryAfter: why.seconds, RetryTurns: why.turns}, nil
	}
	return s.offer(won, placed), nil
}

func (s *Server) offer(v *served, placed placement) Offer {
	return Offer{
		Creative: v.creative, Token: v.token, Sandbox: v.sandbox, DisclosureLabel: s.cfg.Disclosure,
		base: s.deps.BaseURL(), developer: placed.developer, session: placed.session,
	}
}

// BeaconURL is the pixel that records event. Everything that counts is in the token; the query repeats what
// integrations expect to see there.
func (o *Offer) BeaconURL(event string) string { return string(o.appendBeacon(nil, event)) }

func (o *Offer) appendBeacon(b []byte, event string) []byte {
	// Token, ids and format are of the URL alphabet.
	b = append(append(append(b, o.base...), "/api/track?event="...), event...)
	b = appendID(append(b, "&campaign_id="...), o.Creative.ID)
	b = append(append(b, "&auction_id="...), o.Token...)
	b = append(append(b, "&session="...), url.QueryEscape(o.session)...)
	b = appendID(append(b, "&dev="...), o.developer)
	return append(append(b, "&format="...), o.Creative.Format...)
}

// ClickURL records a click and leads to the campaign's landing page.
func (o *Offer) ClickURL() string { return string(o.appendClick(nil)) }

func (o *Offer) appendClick(b []byte) []byte {
	b = append(append(b, o.base...), "/s/"...)
	return append(append(b, o.Token...), "?event=click"...)
}

// ReceiptURL is the public page that says who paid.
func (o *Offer) ReceiptURL() string { return string(o.appendReceipt(nil)) }

func (o *Offer) appendReceipt(b []byte) []byte {
	return append(append(append(b, o.base...), "/r/"...), o.Token...)
}
