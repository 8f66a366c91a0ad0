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

	Reason     auction.Reason // why there is no ad
	RetryAfter int            // seconds until the same request may be answered otherwise; 0 where waiting does not help

	base, about string // prefix of every link, and what every beacon's query ends with
}

// How long a caller should wait before it asks again for the same context, in seconds, where waiting helps.
var retryAfter = map[auction.Reason]int{auction.Stale: 2, auction.Paced: 60}

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
		region: in.UserRegion, language: in.UserLanguage, session: in.SessionID,
	}
	if caller.Sandbox {
		drawn, err := s.draw(placed)
		if err != nil {
			return Offer{}, err
		}
		return s.offer(drawn, placed), nil
	}
	request := auction.Request{
		Tokens: auction.Tokenize(in.Context), ActiveTools: in.ActiveTools, HostApp: placed.host, Surface: placed.surface,
		IntegrationMethod: placed.method, Region: placed.region, Language: placed.language,
	}
	won, reason, err := s.run(ctx, &request, placed, s.deps.Now())
	if err != nil {
		return Offer{}, errs.Wrap(err, errs.UpstreamError, "the auction failed; treat it as no fill")
	}
	if won == nil {
		return Offer{Reason: reason, RetryAfter: retryAfter[reason]}, nil
	}
	return s.offer(won, placed), nil
}

func (s *Server) offer(v *served, placed placement) Offer {
	return Offer{
		Creative: v.creative, Token: v.token, Sandbox: v.sandbox, DisclosureLabel: s.cfg.Disclosure, base: s.deps.BaseURL(),
		// Token, ids and format are of the URL alphabet.
		about: "&campaign_id=" + v.creative.ID.String() + "&auction_id=" + v.token + "&session=" + url.QueryEscape(placed.session) +
			"&dev=" + placed.developer.String() + "&format=" + string(v.creative.Format),
	}
}

// BeaconURL is the pixel that records event. Everything that counts is in the token; the query repeats what
// integrations expect to see there.
func (o *Offer) BeaconURL(event string) string { return o.base + "/api/track?event=" + event + o.about }

// ClickURL records a click and leads to the campaign's landing page.
func (o *Offer) ClickURL() string { return o.base + "/s/" + o.Token + "?event=click" }

// ReceiptURL is the public page that says who paid.
func (o *Offer) ReceiptURL() string { return o.base + "/r/" + o.Token }
