package rtb

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/markup"
	"adnet/ingress/httpapi"
	"adnet/ingress/offer"
	"adnet/schemas/event"
)

const (
	imageFormat  = index.Image
	nativeFormat = index.Native
	videoFormat  = index.Video

	adapter = "adnet"
)

// write writes the bid for the imp of s. The auction token in the markup counts and bills; the bid
// token in the notices only proves that they are about our bid, and at which price.
func (s *bidSession) write(current *impressionAuction) {
	a := &s.auction
	s.noticed = append(append(s.noticed[:0], "&imp="...), url.QueryEscape(cut(string(current.imp.ID), maxImpID))...)
	s.noticed = offer.AppendID(append(s.noticed, "&bid="...), a.ID)
	s.noticed = s.deps.Seller.AppendBidToken(append(s.noticed, "&t="...), a)
	size := s.show(current)
	if s.won == 0 {
		s.first = a.ID
	} else {
		s.bids = append(s.bids, ',')
	}
	s.bids = s.appendBid(s.bids, current, size)
	s.won++
	if v := &current.imp.Video.v; current.gate.kind == asVideo && v.PodID != "" {
		s.pods = append(s.pods, pod{v.PodID, v.PodDedupe.state != absent})
	}
	s.metrics.bids[current.gate.kind].Inc()
}

// extent is the size of an ad in CSS pixels and the length of a video in seconds; 0 if unknown.
type extent struct{ w, h, dur int64 }

// show writes the markup of the bid for s.
func (s *bidSession) show(current *impressionAuction) extent {
	g := &current.gate
	ad := markup.Ad{Creative: creative(s.ad.Creative), DisclosureLabel: s.ad.DisclosureLabel}
	s.link(current, &ad)
	switch slot := &g.slot; g.kind {
	case asNative:
		s.markup = slot.native.Append(s.markup[:0], &ad)
		return extent{}
	case asBanner:
		s.markup = markup.AppendBanner(s.markup[:0], &ad, slot.w, slot.h)
		return extent{w: int64(slot.w), h: int64(slot.h)}
	default:
		s.markup = slot.video.Append(s.markup[:0], &ad)
		return extent{slot.video.W, slot.video.H, slot.video.Seconds}
	}
}

// pixels lists the events with beacons in markup: an image or a native has the first, a video has
// all.
var pixels = [...]event.Type{event.Type_IMPRESSION, event.Type_VIDEO_COMPLETE, event.Type_SKIP, event.Type_CLOSE}

// link sets the ids and links of ad, in the order in which they are written.
func (s *bidSession) link(current *impressionAuction, ad *markup.Ad) {
	p := &s.pieces
	p.begin()
	p.text = offer.AppendID(p.text, s.auction.ID)
	p.end()
	p.text = s.ad.AppendCampaign(p.text)
	p.end()
	p.text = s.ad.AppendReceipt(p.text)
	p.end()
	p.text = s.ad.AppendClick(p.text)
	p.end()
	video := current.gate.kind == asVideo
	beacons := pixels[:1]
	if video {
		beacons = pixels[:]
	}
	for _, kind := range beacons {
		p.text = s.ad.AppendBeacon(p.text, kind)
		p.end()
	}
	if video {
		p.put(s.base, "/api/rtb?op=error").write(s.noticed).put("&reason=").end()
	}
	p.strings(
		&ad.ID, &ad.CampaignID, &ad.ReceiptURL, &ad.ClickURL, &ad.ImpressionURL, &ad.CompleteURL, &ad.SkipURL,
		&ad.CloseURL, &ad.ErrorURL,
	)
}

// reply answers a well-formed request.
func (s *bidSession) reply() error {
	for _, reason := range s.reasons {
		if reason != "" {
			s.metrics.nobids.WithLabelValues(string(reason)).Inc()
		}
	}
	answer := s.metrics.bid
	if s.won == 0 {
		answer = s.metrics.noBid
	}
	answer.Inc()
	if s.won == 0 && len(s.lost) > 0 {
		s.c.Writer.Header()["X-Adnet-Auction-Id"] = []string{s.lost[0].id.String()}
	}
	if s.won == 0 && s.allInsecure() {
		s.debug = true // for first tests over http; in production the links are https
	}
	if s.won == 0 && !s.debug {
		s.c.Status(http.StatusNoContent)
		return nil
	}
	s.out = s.append(s.out[:0])
	return s.send(s.out)
}

// allInsecure reports whether the lack of https links is the only reason against every bid.
func (s *bidSession) allInsecure() bool {
	return !slices.ContainsFunc(s.reasons, func(reason auction.Reason) bool { return reason != insecure })
}

// auctionOf returns the id of an imp's auction without a bid.
func (s *bidSession) auctionOf(imp text, reason auction.Reason) uuid.UUID {
	for _, l := range s.lost {
		if l.imp == imp && reason != duplicate {
			return l.id
		}
	}
	return uuid.Nil
}

// statusCodes maps reasons to the non-bid status codes of the community extension Seat Non Bid; 0
// is an unspecified no-bid.
var statusCodes = map[auction.Reason]int{
	auction.BelowFloor: 301, auction.Blocked: 356, auction.Stale: nbrTechnical, auction.FrequencyCapped: 9,
	unsupported: 202, noFit: 353, privateAuction: 200, insecure: 352, currency: 205, category: 357, seatBlocked: 200,
	timeout: nbrTime, tooMany: 200, duplicate: 302, languageAbsent: 200, dsaRequired: 204, quantityOther: 200,
	tooLate: 200, tooSmall: 351, podTaken: 302,
}

// nbr returns the no-bid code of the whole request: technical reasons, and a refused subject, if
// they apply to every imp.
func nbr(reasons []auction.Reason) int {
	code := 0
	for i, reason := range reasons {
		is := nbrNothing
		switch reason {
		case timeout:
			is = nbrTime
		case auction.Stale:
			is = nbrTechnical
		case auction.Unsuitable, auction.SensitiveSubject:
			is = nbrUnsuited
		}
		if i > 0 && is != code {
			return nbrNothing
		}
		code = is
	}
	return code
}

// status serves GET /api/rtb?op=status.
func (s *Server) status(c *gin.Context) error {
	state := "ok"
	if !s.deps.Seller.Ready(c.Request.Context(), s.deps.Now()) {
		state = "degraded"
	}
	formats := make([]string, kinds)
	for kind := range formats {
		formats[kind] = markupKind(kind).String()
	}
	return httpapi.JSON(c, http.StatusOK, map[string]any{
		"status": state, "adapter": adapter, "openrtb_version": "2.6", "native_version": "1.2",
		"vast_version": markup.VAST42.String(), "vast_versions": vastVersions, "currencies": []string{"USD"},
		"auction_type": 1, "tmax_recommended": defaultTMax.Milliseconds(), "supported_formats": formats,
		"seat":          s.cfg.Seat,
		"benna_version": s.deps.Seller.Model(),
	})
}

// vastVersions lists the VAST versions in which videos are written.
var vastVersions = []string{
	markup.VAST20.String(), markup.VAST30.String(), markup.VAST40.String(), markup.VAST41.String(),
	markup.VAST42.String(),
}

// send answers 200 with a JSON body, compressed if the caller accepts that.
func (s *bidSession) send(body []byte) error {
	s.c.Writer.Header()["Vary"] = s.headers.vary
	if len(body) < compressFrom || !takesGzip(s.c.GetHeader("Accept-Encoding")) {
		return httpapi.Bytes(s.c, http.StatusOK, body)
	}
	return compressed(s.c, body)
}

// takesGzip reports whether an Accept-Encoding allows gzip (RFC 9110, 12.5.3).
func takesGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(part, ";")
		if name = strings.TrimSpace(name); !strings.EqualFold(name, "gzip") && name != "*" {
			continue
		}
		_, q, weighted := strings.Cut(weight, "=")
		n, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
		return !weighted || err != nil || n > 0
	}
	return false
}
