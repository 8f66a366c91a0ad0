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
)

// Ad is a sold ad, with its signed token and the parts of its links.
type Ad struct {
	Creative        *campaign.Campaign
	Sandbox         bool
	House           bool   // a house ad: it is free
	DisclosureLabel string // marks the ad as one; must be shown with it

	tokens    tokens
	base      string    // prefix of every link
	developer uuid.UUID // in beacons, with session
	session   token.Pseudonym
	date      day.Day // of session
}

// Advertiser is who paid for the ad, for its reader: zero where nobody paid, and for an account
// whose name no administrator approved.
func (ad *Ad) Advertiser() account.Sponsor {
	if ad.House || ad.Sandbox {
		return account.Sponsor{}
	}
	return ad.Creative.Advertiser
}

// tokens are the signed tokens of an ad, each made when the first link needs it.
type tokens struct {
	ring    *token.Keyring
	content []byte      // of all of them
	shown   token.Shown // of link and receipt: as it is approved now, whatever the campaign changes later
	text    []byte      // of those that were made
	at      [token.PurposeViewable + 1]span
}

type span struct{ from, to int }

// of is the token of a purpose, of the URL alphabet.
func (t *tokens) of(p token.Purpose) []byte {
	at := &t.at[p]
	if at.to == 0 {
		from := len(t.text)
		if p == token.PurposeClick || p == token.PurposeReceipt {
			t.text = t.ring.AppendShown(t.text, p, t.content, t.shown)
		} else {
			t.text = t.ring.AppendToken(t.text, p, t.content)
		}
		*at = span{from, len(t.text)}
	}
	return t.text[at.from:at.to]
}

// pixelOf is the purpose of the token in the pixel of an event. Only the impression costs anything.
func pixelOf(event string) token.Purpose {
	switch event {
	case "impression":
		return token.PurposeImpression
	case "viewable":
		return token.PurposeViewable
	}
	return token.PurposePlayback
}

// Reset makes ad as new, but for the memory of its tokens.
func (ad *Ad) Reset() {
	*ad = Ad{tokens: tokens{content: ad.tokens.content[:0], text: ad.tokens.text[:0]}}
}

// Sign makes ring sign ad's tokens, which say what of says.
func (ad *Ad) Sign(ring *token.Keyring, of *token.Auction) {
	ad.tokens = tokens{
		ring: ring, content: token.AppendContent(ad.tokens.content[:0], of),
		shown: token.Shown{Headline: of.Headline, Landing: of.Landing}, text: ad.tokens.text[:0],
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
	asker    token.Asker // of a browser key's ad
}

// claims returns the claims of the ad's auction token.
func (o *soldAd) claims() token.Auction {
	return token.Auction{
		AuctionID: o.id, CampaignID: o.creative.ID, AdvertiserID: o.creative.AdvertiserID,
		DeveloperID: o.place.Developer,
		Price:       o.price, BillingModel: o.billing, Format: string(o.creative.Format),
		IntegrationMethod: o.place.Method, Surface: o.place.Surface, Region: o.place.Region, Language: o.place.Language,
		HostApp: o.place.Host, CreditFunded: o.creative.CreditFunded, Sandbox: o.sandbox, House: o.house,
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
		sandbox: a.Sandbox, asker: a.unseen.asker(),
	}
}

// sign fills ad with the winner of a, or its house ad.
func (s *Seller) sign(a *Auction, ad *Ad) {
	winner := a.sold()
	s.hand(ad, &winner)
}

// hand fills ad with a sold ad.
func (s *Seller) hand(ad *Ad, o *soldAd) {
	ad.Reset()
	ad.Creative, ad.Sandbox, ad.House, ad.DisclosureLabel = o.creative, o.sandbox, o.house, s.cfg.Disclosure
	if o.house {
		ad.DisclosureLabel = s.cfg.HouseLabel
	}
	said := o.claims()
	ad.Sign(s.deps.Keyring, &said)
	ad.SetLinks(s.Base(), o.place)
}

// SetLinks makes ad's links begin with base ([Seller.Base]) and its beacons name the publisher and
// the session of a place.
func (ad *Ad) SetLinks(base string, at *Place) {
	ad.base, ad.developer, ad.session, ad.date = base, at.Developer, at.session, at.date
	if at.unlinked {
		ad.session = token.Pseudonym{}
	}
}

// AppendBidToken appends a token that says that a notice is about the bid for a's winner, and at
// which price (effective CPM). It counts and bills nothing.
func (s *Seller) AppendBidToken(b []byte, a *Auction) []byte {
	winner := a.sold()
	said := winner.claims()
	said.Price, said.Surface, said.HostApp = a.Outcome.EffectiveCPM, "", ""
	return s.deps.Keyring.AppendSign(b, token.PurposeBid, said)
}

// linkBase is the prefix of links, and the setting it was made from.
type linkBase struct{ set, safe string }

// Base is the prefix of every link. Where the setting has characters that no URL has and that would
// have to be escaped in JSON or Markdown, they are percent-encoded, so that links need no look at
// each of their characters.
func (s *Seller) Base() string {
	set := s.deps.BaseURL()
	if known := s.links.Load(); known != nil && known.set == set {
		return known.safe
	}
	made := &linkBase{set: set, safe: safeURL(set)}
	s.links.Store(made)
	return made.safe
}

// safeURL percent-encodes what a URL cannot hold and JSON or Markdown would escape.
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

// AppendAuctionID appends the token by which the ad's publisher reports its events. It is not part
// of any link.
func (ad *Ad) AppendAuctionID(b []byte) []byte {
	return append(b, ad.tokens.of(token.PurposeReport)...)
}

// AppendBeacon appends the pixel that records event, any but a click. Everything that counts is in
// the token; the query repeats what integrations expect to see there. A JSON string takes it, like
// all links of an ad, as it is.
func (ad *Ad) AppendBeacon(b []byte, event string) []byte {
	// Token, ids and format are of the URL alphabet.
	b = append(append(append(b, ad.base...), "/api/track?event="...), event...)
	b = AppendID(append(b, "&campaign_id="...), ad.Creative.ID)
	b = append(append(b, "&auction_id="...), ad.tokens.of(pixelOf(event))...)
	b = ad.tokens.ring.AppendSession(append(b, "&session="...), ad.date, ad.session)
	b = AppendID(append(b, "&dev="...), ad.developer)
	return append(append(b, "&format="...), ad.Creative.Format...)
}

// AppendClick appends the link that records a click and leads to the campaign's landing page.
func (ad *Ad) AppendClick(b []byte) []byte {
	b = append(append(b, ad.base...), "/s/"...)
	return append(append(b, ad.tokens.of(token.PurposeClick)...), "?event=click"...)
}

// AppendReceipt appends the public page that says who paid.
func (ad *Ad) AppendReceipt(b []byte) []byte {
	return append(append(append(b, ad.base...), "/r/"...), ad.tokens.of(token.PurposeReceipt)...)
}

// AppendID appends the form of a UUID that [uuid.UUID.String] gives.
func AppendID(b []byte, id uuid.UUID) []byte {
	b = append(hex.AppendEncode(b, id[:4]), '-')
	b = append(hex.AppendEncode(b, id[4:6]), '-')
	b = append(hex.AppendEncode(b, id[6:8]), '-')
	b = append(hex.AppendEncode(b, id[8:10]), '-')
	return hex.AppendEncode(b, id[10:])
}
