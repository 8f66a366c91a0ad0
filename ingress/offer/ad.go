package offer

import (
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/token"
	"adnet/schemas/event"
)

// Ad is a sold ad with its signed tokens and the parts of its links.
type Ad struct {
	Creative        *campaign.Campaign
	Sandbox         bool
	House           bool   // a house ad, which is free
	DisclosureLabel string // marks the ad as an ad; must be shown with it
	Why             string // text of the link to the receipt

	tokens    tokens
	base      string    // prefix of every link
	developer uuid.UUID // sent in beacons, with session
	session   token.Pseudonym
	date      day.Day // of session
}

// Advertiser returns the sponsor that the reader sees. It is zero for a free ad, and for an account
// whose name no administrator has approved.
func (ad *Ad) Advertiser() account.Sponsor {
	if ad.House || ad.Sandbox {
		return account.Sponsor{}
	}
	return ad.Creative.Advertiser
}

// tokens holds the signed tokens of an ad. Each is created when the first link needs it.
type tokens struct {
	ring    *token.Keyring
	content []byte        // the common content of all tokens
	display token.Display // in link and receipt: the approved version, unaffected by later changes
	text    []byte        // the tokens created so far
	at      [token.PurposeViewable + 1]span
}

type span struct{ from, to int }

// of returns the token of a purpose, which uses the URL alphabet.
func (t *tokens) of(p token.Purpose) []byte {
	at := &t.at[p]
	if at.to == 0 {
		from := len(t.text)
		if p == token.PurposeClick || p == token.PurposeReceipt {
			t.text = t.ring.AppendShown(t.text, p, t.content, t.display)
		} else {
			t.text = t.ring.AppendToken(t.text, p, t.content)
		}
		*at = span{from, len(t.text)}
	}
	return t.text[at.from:at.to]
}

// Reset clears ad, and keeps the memory of its tokens.
func (ad *Ad) Reset() {
	*ad = Ad{tokens: tokens{content: ad.tokens.content[:0], text: ad.tokens.text[:0]}}
}

// Sign sets the tokens of ad, which ring signs with the claims of of.
func (ad *Ad) Sign(ring *token.Keyring, of *token.Auction) {
	ad.tokens = tokens{
		ring: ring, content: token.AppendContent(ad.tokens.content[:0], of),
		display: token.Display{Headline: of.Headline, Landing: of.Landing}, text: ad.tokens.text[:0],
	}
}

// soldAd is a sold ad as its token describes it.
type soldAd struct {
	id       uuid.UUID
	place    *Place
	creative *campaign.Campaign
	price    money.Micros
	billing  string
	sandbox  bool
	house    bool
	asker    token.Asker
}

// claims returns the claims of the ad's auction token.
func (o *soldAd) claims() token.Auction {
	d := &o.place.described
	return token.Auction{
		AuctionID: o.id, CampaignID: o.creative.ID, AdvertiserID: o.creative.AdvertiserID,
		DeveloperID: o.place.Developer,
		Price:       o.price, BillingModel: o.billing, Format: string(o.creative.Format),
		IntegrationMethod: o.place.Method, Surface: d.surface, Region: d.region, Language: d.language,
		HostApp: d.host, CreditFunded: o.creative.CreditFunded, Sandbox: o.sandbox, House: o.house,
		Landing:  o.creative.CTAURL,
		Headline: o.creative.Headline, NoConsent: o.place.Consent.Refused(), Browser: o.place.Browser.Asks,
		Asker: o.asker,
	}
}

// sold returns the winner of a, or its house ad, whose price is 0.
func (a *Auction) sold() soldAd {
	if a.House != nil {
		return soldAd{id: a.ID, place: &a.Place, creative: a.creative, billing: a.House.Billing.String(), house: true}
	}
	return soldAd{
		id: a.ID, place: &a.Place, creative: a.creative, price: a.Outcome.Price,
		billing: a.Outcome.Winner.Billing.String(),
		sandbox: a.Sandbox, asker: a.unseen.asker(a.Outcome.Winner.Billing.String(), a.Outcome.Price),
	}
}

// sign fills ad with the winner of a, or its house ad.
func (s *Seller) sign(a *Auction, ad *Ad) {
	winner := a.sold()
	s.hand(ad, &winner)
}

// hand fills ad with a sold ad and signs it.
func (s *Seller) hand(ad *Ad, o *soldAd) {
	ad.Reset()
	ad.Creative, ad.Sandbox, ad.House = o.creative, o.sandbox, o.house
	ad.label(s.cfg.Labels(o.place.Language))
	claims := o.claims()
	ad.Sign(s.deps.Keyring, &claims)
	ad.SetLinks(s.Base(), o.place)
}

// label sets the texts of the network beside ad.
func (ad *Ad) label(in Labels) {
	ad.DisclosureLabel, ad.Why = in.Disclosure, in.Why
	if ad.House {
		ad.DisclosureLabel = in.House
	}
}

// SetLinks sets the prefix of ad's links to base ([Seller.Base]), and the publisher and session in
// its beacons to those of a placement.
func (ad *Ad) SetLinks(base string, at *Place) {
	ad.base, ad.developer, ad.session, ad.date = base, at.Developer, at.session, at.date
	if at.unlinked {
		ad.session = token.Pseudonym{}
	}
}

// AppendBidToken appends a token that ties a notice to the bid for a's winner and its price
// (effective CPM). It counts and bills nothing.
func (s *Seller) AppendBidToken(b []byte, a *Auction) []byte {
	winner := a.sold()
	claims := winner.claims()
	claims.Price, claims.Surface, claims.HostApp = a.Outcome.EffectiveCPM, "", ""
	claims.Asker.Held = a.unseen.held.Amount
	return s.deps.Keyring.AppendSign(b, token.PurposeBid, claims)
}

// linkBase holds the escaped prefix of links, and the setting it was computed from.
type linkBase struct{ set, safe string }

// Base returns the prefix of every link. Characters of the setting that no URL has and that JSON or
// Markdown would have to escape are percent-encoded, so that links need no check of each character.
func (s *Seller) Base() string {
	set := s.deps.BaseURL()
	if known := s.links.Load(); known != nil && known.set == set {
		return known.safe
	}
	created := &linkBase{set: set, safe: safeURL(set)}
	s.links.Store(created)
	return created.safe
}

// safeURL percent-encodes characters that a URL cannot contain and JSON or Markdown would escape.
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
func (ad *Ad) AppendCampaign(b []byte) []byte { return AppendID(b, ad.Creative.ID) }

// AppendAuctionID appends the token with which the ad's publisher reports its events. No link
// contains it.
func (ad *Ad) AppendAuctionID(b []byte) []byte {
	return append(b, ad.tokens.of(token.PurposeReport)...)
}

// AppendBeacon appends the pixel link that records an event of type t, which is any but a click.
// Everything that counts is in the token; the query repeats the fields that integrations expect
// there. Like all links of an ad, it needs no escaping in a JSON string.
func (ad *Ad) AppendBeacon(b []byte, t event.Type) []byte {
	// Token, ids and format use the URL alphabet.
	b = append(append(append(b, ad.base...), "/api/track?event="...), t.Name()...)
	b = AppendID(append(b, "&campaign_id="...), ad.Creative.ID)
	b = append(append(b, "&auction_id="...), ad.tokens.of(token.OfEvent(t))...)
	b = ad.tokens.ring.AppendSession(append(b, "&session="...), ad.date, ad.session)
	b = AppendID(append(b, "&dev="...), ad.developer)
	return append(append(b, "&format="...), ad.Creative.Format...)
}

// AppendClick appends the link that records a click and leads to the campaign's landing page.
func (ad *Ad) AppendClick(b []byte) []byte {
	b = append(append(b, ad.base...), "/s/"...)
	return append(append(b, ad.tokens.of(token.PurposeClick)...), "?event=click"...)
}

// AppendReceipt appends the link to the public page that names the sponsor.
func (ad *Ad) AppendReceipt(b []byte) []byte {
	return append(append(append(b, ad.base...), "/r/"...), ad.tokens.of(token.PurposeReceipt)...)
}

// AppendID appends a UUID in the form of [uuid.UUID.String].
func AppendID(b []byte, id uuid.UUID) []byte {
	b = append(hex.AppendEncode(b, id[:4]), '-')
	b = append(hex.AppendEncode(b, id[4:6]), '-')
	b = append(hex.AppendEncode(b, id[6:8]), '-')
	b = append(hex.AppendEncode(b, id[8:10]), '-')
	return hex.AppendEncode(b, id[10:])
}
