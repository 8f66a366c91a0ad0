package rtb

import (
	"math"
	"slices"

	"adnet/auction"
	"adnet/auction/markup"
	"adnet/internal/campaign"
	"adnet/internal/compliance/consent"
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
	list     [3]auction.Format // memory of formats
	has      [kinds]bool
	w, h     int         // banner size, CSS pixels
	pictured [kinds]bool // a text alone is not accepted
	banner   markup.BannerRequest
	native   markup.NativeRequest
	video    markup.VideoRequest
}

// slot sets in o the markup that p accepts. The reason is empty if p accepts a supported kind.
func (s *bidSession) slot(p *imp, o *markupSlot) auction.Reason {
	switch {
	case p.Secure.Strict() && !s.secure:
		return insecure
	case p.Qty.v.other(), p.Ext.v.Qty.v.other():
		return quantityOther
	case p.DT.state != absent && p.DT.above(s.started.Add(s.deps.Seller.BidLife()).UnixMilli()):
		return tooLate
	}
	if p.Native.set && p.Native.v.BAttr.state != unreadable {
		o.native, o.has[asNative] = p.Native.v.request(s.json)
		o.pictured[asNative] = p.Native.v.BAttr.blocks(textOnly)
	}
	reason := unsupported
	if p.Banner.set {
		reason = s.bannerSlot(&p.Banner.v, o)
	}
	if p.Video.set {
		if refused := s.videoSlot(&p.Video.v, o); refused != unsupported {
			reason = refused
		}
	}
	if o.has == ([kinds]bool{}) {
		return reason
	}
	return ""
}

// Codes of AdCOM, Creative Attributes and OpenRTB, Banner Ad Types (btype).
const (
	textOnly   = 12 // attribute
	skipButton = 16 // attribute
	textBanner = 1  // type
	htmlBanner = 2  // type of our banners
)

// bannerSlot sets in o the banner that b accepts, or returns the reason for none.
func (s *bidSession) bannerSlot(b *banner, o *markupSlot) auction.Reason {
	if b.BType.blocks(htmlBanner) || b.BAttr.state == unreadable || b.Mimes.state != absent && len(b.Mimes.list) == 0 {
		return unsupported
	}
	if o.w, o.h, o.has[asBanner] = b.size(); !o.has[asBanner] {
		return tooSmall
	}
	o.banner.Mimes = b.Mimes.list
	o.pictured[asBanner] = b.BAttr.blocks(textOnly) || b.BType.blocks(textBanner)
	return ""
}

// videoSlot sets in o the video that v accepts, or returns the reason for none.
func (s *bidSession) videoSlot(v *video, o *markupSlot) auction.Reason {
	switch {
	case v.W.state != absent && v.H.state != absent && !shows(v.W, v.H):
		return tooSmall
	case s.podTaken(v):
		return podTaken
	}
	if o.video, o.has[asVideo] = v.request(s.cfg.VideoSec, s.cfg.VideoKbps); !o.has[asVideo] {
		return unsupported
	}
	return ""
}

// podTaken reports whether we bid for another imp of the pod and one of both must not repeat an ad.
// One bid cannot repeat itself.
func (s *bidSession) podTaken(v *video) bool {
	for _, p := range s.pods {
		if v.PodID != "" && p.id == v.PodID && (p.dedupe || v.PodDedupe.state != absent) {
			return true
		}
	}
	return false
}

// private reports whether only deals may bid.
func (i *imp) private() bool { return i.PMP.v.Private.Strict() }

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
		if o.has[asNative] && allowed[asNative] && o.native.FitsNative(&show) && o.pictures(asNative, &show) {
			return asNative, true
		}
		return asBanner, c.Format == campaign.Image && o.has[asBanner] && allowed[asBanner] &&
			o.banner.FitsBanner(&show) && o.pictures(asBanner, &show)
	}
	return 0, false
}

// pictures reports whether a creative has the picture that a kind of markup must have.
func (o *markupSlot) pictures(kind markupKind, c *markup.Creative) bool {
	return !o.pictured[kind] || c.MediaURL != "" || kind == asNative && c.LogoURL != ""
}

func creative(c *campaign.Campaign) markup.Creative {
	return markup.Creative{
		Headline: c.Headline, Body: c.Subtext, CTALabel: c.CTALabel, MediaURL: c.MediaURL, PosterURL: c.PosterURL,
		LogoURL: c.LogoURL,
		Domain:  advertiserDomain(c.CTAURL), SkipAfter: c.SkippableAfterSec,
	}
}

// The bounds of a place in which an ad with its label can be seen, CSS pixels. The least sizes pass
// the small banners of feature phones (120 × 20).
const (
	leastSide = 20
	leastArea = 2_000
	maxSide   = 10_000
)

// size returns the first stated size of the banner that can show an ad, CSS pixels, or the default
// if none is stated.
func (b *banner) size() (w, h int, ok bool) {
	for i := range b.Format.list {
		if f := &b.Format.list[i]; shows(f.W, f.H) && b.ranges(f) {
			return int(f.W.n), int(f.H.n), true
		}
	}
	f := size{b.W, b.H}
	if b.W.state == absent && b.H.state == absent && !b.Format.stated() {
		f = size{whole{readable, markup.DefaultWidth}, whole{readable, markup.DefaultHeight}}
	}
	return int(f.W.n), int(f.H.n), shows(f.W, f.H) && b.ranges(&f)
}

// ranges reports whether f is between the least and the largest size of the banner.
func (b *banner) ranges(f *size) bool {
	return !b.WMin.above(f.W.n) && !b.HMin.above(f.H.n) && !b.WMax.below(f.W.n) && !b.HMax.below(f.H.n)
}

// shows reports whether an ad can be seen in a place of a size.
func shows(w, h whole) bool {
	return w.set() && h.set() && min(w.n, h.n) >= leastSide && max(w.n, h.n) <= maxSide && w.n*h.n >= leastArea
}

// request returns the video request for the markup; false if the imp does not accept a linear
// inline VAST of our length and bit rate (kbit/s).
func (v *video) request(seconds, kbps int64) (markup.VideoRequest, bool) {
	r := markup.VideoRequest{
		Mimes: v.Mimes.list, Seconds: seconds, Delivery: v.Delivery.list,
		Skippable: v.Skip != consent.No && v.Skip != consent.Unclear && !v.BAttr.blocks(skipButton) &&
			!v.SkipMin.above(seconds-1) && v.SkipAfter.state != unreadable,
		SkipFrom: v.SkipAfter.n,
	}
	if v.W.set() && v.H.set() {
		r.W, r.H = v.W.n, v.H.n
	}
	if v.limitsBitrate() {
		r.Kbps = kbps
	}
	if !v.takes(seconds, kbps) {
		return r, false
	}
	wanted := v.Protocols
	if wanted.state == absent {
		wanted = v.Protocol
	}
	if wanted.state != absent && len(wanted.list) == 0 {
		return r, false
	}
	r.Version = markup.BestVersion(wanted.list)
	return r, r.Version != markup.NoVAST
}

func (v *video) limitsBitrate() bool { return max(v.MinBitrate.state, v.MaxBitrate.state) != absent }

// takes reports whether the place takes a linear video of a length and bit rate (kbit/s).
func (v *video) takes(seconds, kbps int64) bool {
	switch {
	case v.Linearity.state == unreadable, v.Linearity.is(2), v.Boxing == consent.No, v.Boxing == consent.Unclear:
		return false
	case v.Mimes.state != absent && len(v.Mimes.list) == 0, v.Delivery.state == unreadable && len(v.Delivery.list) == 0:
		return false
	case v.BAttr.state == unreadable, v.limitsBitrate() && kbps == 0:
		return false
	case v.MinBitrate.above(kbps), v.MaxBitrate.below(kbps):
		return false
	case v.PodDur.below(seconds), v.MaxSeq.below(1), v.PodID == unreadableCode:
		return false
	case v.RqdDurs.state != absent:
		return v.RqdDurs.allows(seconds)
	}
	return !v.MinDuration.above(seconds) && (v.MaxDuration.is(0) || !v.MaxDuration.below(seconds)) // 0: no limit
}

// floor returns the bid floor of p, micro-USD CPM; at least 1, because a bid must have a price.
func (s *bidSession) floor(p *imp) (money.Micros, auction.Reason) {
	return s.price(p.BidFloor, p.BidFloorCur)
}

// videoFloor returns the floor of a video. floor is that of other markup. The floor of a matching
// range of lengths replaces it, and the floor per second is a lower bound.
func (s *bidSession) videoFloor(
	ranges *objects[durFloor], each amount, cur text, floor money.Micros, before auction.Reason,
) (money.Micros, auction.Reason) {
	seconds, reason := s.cfg.VideoSec, before
	for i := range ranges.list {
		if f := &ranges.list[i]; !f.MinDur.above(seconds) && (f.MaxDur.is(0) || !f.MaxDur.below(seconds)) {
			floor, reason = s.price(f.BidFloor, cur)
			break
		}
	}
	if ranges.bad || slices.ContainsFunc(ranges.list, unreadableRange) {
		reason = auction.BelowFloor
	}
	if each.set || each.bad {
		all, bad := s.price(each, cur)
		if reason == "" {
			reason = bad
		}
		floor = max(floor, money.Micros(min(float64(all)*float64(seconds), float64(money.Max))))
	}
	return floor, reason
}

// unreadableRange reports whether the range of lengths of f is unreadable.
func unreadableRange(f durFloor) bool { return max(f.MinDur.state, f.MaxDur.state) == unreadable }

// price converts a floor to micro-USD, rounded up.
func (s *bidSession) price(of amount, in text) (money.Micros, auction.Reason) {
	cur := upper(string(in))
	switch {
	case of.bad:
		return 0, auction.BelowFloor
	case of.micros == 0, cur == "", isUSD(cur):
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
func (g *bidGate) Check(c *auction.Campaign, of auction.Valuation) auction.Reason {
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
	if g.session.languages.refuse(c) {
		return languageAbsent
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
	switch {
	case g.session.wishes.refused(c):
		return nil, 0, category
	case appBlocked(g.session.apps, c):
		return nil, 0, auction.Blocked
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
