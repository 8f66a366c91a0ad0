package rtb

import (
	"math"
	"strings"

	"adnet/auction"
	"adnet/auction/markup"
	"adnet/internal/campaign"
	"adnet/internal/money"
)

// markupKind is the kind of a bid's adm; mtypes maps it to mtype values.
type markupKind uint8

// The kinds of markup.
const (
	asNative markupKind = iota
	asBanner
	asVideo
	kinds
)

var mtypes = [kinds]int{asNative: 4, asBanner: 1, asVideo: 2}

// String returns the name in metrics and in the status object.
func (k markupKind) String() string { return [kinds]string{"native", "banner", "video"}[k] }

// markupSlot describes the markup that an imp accepts.
type markupSlot struct {
	list   [3]auction.Format // memory of formats
	has    [kinds]bool
	w, h   int // banner size, CSS pixels
	native markup.NativeRequest
	video  markup.VideoRequest
}

// slot sets in o the markup that p accepts. The reason is empty if p accepts a supported kind.
func (s *bidSession) slot(p *imp, o *markupSlot) auction.Reason {
	if p.Secure.is(1) && !s.secure {
		return insecure
	}
	if p.Native.set {
		o.native, o.has[asNative] = p.Native.v.request(s.json)
	}
	if p.Banner.set && !has(p.Banner.v.BType, htmlBanner) {
		o.has[asBanner] = true
		o.w, o.h = p.Banner.v.size()
	}
	if p.Video.set {
		o.video, o.has[asVideo] = p.Video.v.request(s.cfg.VideoSec)
	}
	if o.has == ([kinds]bool{}) {
		return unsupported
	}
	return ""
}

// formats lists the creative formats that can fill o: an image fills a native or a banner, a native
// a native, a video a video.
func (o *markupSlot) formats() []auction.Format {
	list := o.list[:0]
	if o.has[asNative] || o.has[asBanner] {
		list = append(list, imageFormat)
	}
	if o.has[asNative] {
		list = append(list, nativeFormat)
	}
	if o.has[asVideo] {
		list = append(list, videoFormat)
	}
	return list
}

// anyKind allows every kind of markup.
var anyKind = [kinds]bool{true, true, true}

// choose returns the allowed markup kind for a creative; false if none fits o. An image prefers
// native markup, which matches the page around it.
func (o *markupSlot) choose(c *campaign.Campaign, allowed [kinds]bool) (markupKind, bool) {
	show := creative(c)
	switch c.Format {
	case campaign.Video:
		return asVideo, o.has[asVideo] && allowed[asVideo] && o.video.FitsVideo(&show)
	case campaign.Native, campaign.Image:
		if o.has[asNative] && allowed[asNative] && o.native.FitsNative(&show) {
			return asNative, true
		}
		return asBanner, c.Format == campaign.Image && o.has[asBanner] && allowed[asBanner]
	}
	return 0, false
}

func creative(c *campaign.Campaign) markup.Creative {
	return markup.Creative{
		Headline: c.Headline, Body: c.Subtext, CTALabel: c.CTALabel, MediaURL: c.MediaURL, PosterURL: c.PosterURL,
		LogoURL: c.LogoURL,
		Domain:  advertiserDomain(c.CTAURL), SkipAfter: c.SkippableAfterSec,
	}
}

// landingDomain returns the host of a campaign's validated https link.
func landingDomain(link string) string {
	host := strings.TrimPrefix(link, "https://")
	if i := strings.IndexAny(host, "/?#:"); i >= 0 {
		host = host[:i]
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// advertiserDomain returns the landing domain in the form of block lists.
func advertiserDomain(link string) string { return strings.TrimPrefix(landingDomain(link), "www.") }

// htmlBanner is the creative type (btype) of our banners.
const htmlBanner = 2

// maxSide is the largest plausible side of a banner or player, CSS pixels.
const maxSide = 10_000

// size returns the first plausible size of the banner, CSS pixels.
func (b *banner) size() (w, h int) {
	for _, f := range b.Format.list {
		if sane(f.W.n, f.H.n) {
			return int(f.W.n), int(f.H.n)
		}
	}
	if sane(b.W.n, b.H.n) {
		return int(b.W.n), int(b.H.n)
	}
	return markup.DefaultWidth, markup.DefaultHeight
}

func sane(w, h int64) bool { return w > 0 && h > 0 && w <= maxSide && h <= maxSide }

const skipButton = 16 // creative attribute: has a skip button

// request returns the video request for the markup; false if the imp does not accept a linear
// inline VAST of our length.
func (v *video) request(seconds int64) (markup.VideoRequest, bool) {
	r := markup.VideoRequest{
		Mimes: v.Mimes, Seconds: seconds, Delivery: v.Delivery,
		Skippable: !(v.Skip.set && v.Skip.n == 0) && !has(v.BAttr, skipButton),
	}
	if sane(v.W.n, v.H.n) {
		r.W, r.H = v.W.n, v.H.n
	}
	switch {
	case v.Linearity.is(2):
		return r, false
	case len(v.RqdDurs) > 0 && !has(v.RqdDurs, seconds):
		return r, false
	case len(v.RqdDurs) == 0 && (v.MinDuration.n > seconds || v.MaxDuration.n > 0 && v.MaxDuration.n < seconds):
		return r, false
	}
	wanted := v.Protocols
	if len(wanted) == 0 && v.Protocol.set {
		wanted = wholes{v.Protocol.n}
	}
	r.Version = markup.BestVersion(wanted)
	return r, r.Version != markup.NoVAST
}

// floor returns the bid floor of p, micro-USD CPM; at least 1, because a bid must have a price.
func (s *bidSession) floor(p *imp) (money.Micros, auction.Reason) {
	return s.price(p.BidFloor, p.BidFloorCur)
}

// videoFloor returns the floor of a video in p. floor is the floor of other markup in p. The floor
// of a matching range of lengths replaces it, and the floor per second is a lower bound.
func (s *bidSession) videoFloor(p *imp, floor money.Micros, before auction.Reason) (money.Micros, auction.Reason) {
	if !p.Video.set {
		return floor, before
	}
	v, seconds, reason := &p.Video.v, s.cfg.VideoSec, before
	for i := range v.DurFloors.list {
		if f := &v.DurFloors.list[i]; f.MinDur.n <= seconds && (f.MaxDur.n == 0 || seconds <= f.MaxDur.n) {
			floor, reason = s.price(f.BidFloor, p.BidFloorCur)
			break
		}
	}
	if each := v.MinCPMPerSec; each.set || each.bad {
		all, bad := s.price(each, p.BidFloorCur)
		if reason == "" {
			reason = bad
		}
		floor = max(floor, money.Micros(min(float64(all)*float64(seconds), float64(money.Max))))
	}
	return floor, reason
}

// price converts a floor to micro-USD, rounded up.
func (s *bidSession) price(of amount, in text) (money.Micros, auction.Reason) {
	cur := upper(string(in))
	switch {
	case of.bad:
		return 0, auction.BelowFloor
	case of.micros == 0, cur == "", cur == "USD":
		return max(of.micros, 1), ""
	}
	rate, known := s.rates[cur]
	if !known {
		return 0, currency
	}
	usd := math.Ceil(float64(of.micros) * float64(rate) / float64(money.USD))
	return money.Micros(max(min(usd, float64(money.Max)), 1)), ""
}

// patience is the number of candidates that an auction checks before it stops: creatives may not
// fit, and budgets may be spent.
const patience = 2_000

// bidGate is the first gate of the auction. A candidate passes if its creative fits the imp, for a
// deal or in the open auction. Having won another imp of the request does not exclude it here: each
// imp has its own reservation, and counts for the session's cap.
type bidGate struct {
	session *bidSession
	slot    markupSlot
	deals   map[string]*terms
	open    bool                // allows bids without a deal
	floors  [kinds]money.Micros // of the open auction
	looked  int
	over    bool
	kind    markupKind // markup of the accepted candidate
	deal    *terms     // its deal; nil in the open auction
}

// Check implements [auction.Gate].
func (g *bidGate) Check(c *auction.Campaign, of auction.Offer) auction.Reason {
	g.looked++
	if g.looked%64 == 0 && g.session.late() {
		g.over = true
	}
	if g.over {
		return timeout
	}
	if g.looked > patience {
		return auction.NoMatch
	}
	found, ok := g.session.auction.Creative(c)
	if !ok { // removed since the snapshot was taken
		return auction.NoMatch
	}
	deal, kind, reason := g.place(found, of.EffectiveCPM)
	if reason != "" {
		return reason
	}
	g.kind, g.deal = kind, deal
	return ""
}

// Undo implements [auction.Gate]. It does nothing, because Check chooses anew for each candidate.
func (*bidGate) Undo(*auction.Campaign) {}

// place chooses the markup of a campaign: for a deal if possible, else in the open auction if that
// is allowed.
func (g *bidGate) place(c *campaign.Campaign, effectiveCPM money.Micros) (*terms, markupKind, auction.Reason) {
	if g.session.wishes.refused(c) {
		return nil, 0, category
	}
	below := false
	if len(g.deals) > 0 && len(c.Deals) > 0 {
		var deal *terms
		var kind markupKind
		if deal, kind, below = g.best(c, effectiveCPM); deal != nil {
			return deal, kind, ""
		}
	}
	switch {
	case !g.open && below:
		return nil, 0, auction.BelowFloor
	case !g.open:
		return nil, 0, privateAuction
	}
	kind, fits := g.slot.choose(c, anyKind)
	switch {
	case !fits:
		return nil, 0, noFit
	case effectiveCPM < g.floors[kind]:
		return nil, 0, auction.BelowFloor
	}
	return nil, kind, ""
}
