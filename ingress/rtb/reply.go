package rtb

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"adnet/auction"
	"adnet/auction/markup"
	"adnet/auction/target"
	"adnet/ingress/httpapi"
	"adnet/ingress/offer"

	"github.com/google/uuid"
)

const (
	imageFormat  = target.Image
	nativeFormat = target.Native
	videoFormat  = target.Video

	adapter = "adnet"
)

// write writes the bid for the imp of s. The auction token in the markup counts and bills; the bid token in the
// notices only says that they are about a bid of ours, and at which price.
func (t *turn) write(s *sale) {
	a := &t.auction
	t.noticed = append(append(t.noticed[:0], "&imp="...), url.QueryEscape(string(s.imp.ID))...)
	t.noticed = offer.AppendID(append(t.noticed, "&bid="...), a.ID)
	t.noticed = t.deps.Seller.AppendBidToken(append(t.noticed, "&t="...), a)
	size := t.show(s)
	if t.won == 0 {
		t.first = a.ID
	} else {
		t.bids = append(t.bids, ',')
	}
	t.bids = t.appendBid(t.bids, s, size)
	t.won++
	t.metrics.bids[s.chooser.kind].Inc()
}

// extent is the size of an ad in CSS pixels, and of a video the seconds; 0 for what is not said.
type extent struct{ w, h, dur int64 }

// show writes the markup of the bid for s.
func (t *turn) show(s *sale) extent {
	g := &s.chooser
	ad := markup.Ad{Creative: creative(t.ad.Creative), DisclosureLabel: t.ad.DisclosureLabel}
	t.link(s, &ad)
	switch slot := &g.slot; g.kind {
	case asNative:
		t.markup = slot.native.Append(t.markup[:0], &ad)
		return extent{}
	case asBanner:
		t.markup = markup.AppendBanner(t.markup[:0], &ad, slot.w, slot.h)
		return extent{w: int64(slot.w), h: int64(slot.h)}
	default:
		t.markup = slot.video.Append(t.markup[:0], &ad)
		return extent{slot.video.W, slot.video.H, slot.video.Seconds}
	}
}

// pixels are the events whose beacons a markup has: an image or a native the first, a video all of them.
var pixels = [...]string{"impression", "video_complete", "skip", "close"}

// link gives ad its ids and its links, in the order in which they are written.
func (t *turn) link(s *sale, ad *markup.Ad) {
	p := &t.pieces
	p.begin()
	p.text = offer.AppendID(p.text, t.auction.ID)
	p.end()
	p.text = t.ad.AppendCampaign(p.text)
	p.end()
	p.text = t.ad.AppendReceipt(p.text)
	p.end()
	p.text = t.ad.AppendClick(p.text)
	p.end()
	video := s.chooser.kind == asVideo
	beacons := pixels[:1]
	if video {
		beacons = pixels[:]
	}
	for _, event := range beacons {
		p.text = t.ad.AppendBeacon(p.text, event)
		p.end()
	}
	if video {
		p.put(t.base, "/api/rtb?op=error").write(t.noticed).put("&reason=").end()
	}
	p.strings(&ad.ID, &ad.CampaignID, &ad.ReceiptURL, &ad.ClickURL, &ad.ImpressionURL, &ad.CompleteURL, &ad.SkipURL, &ad.CloseURL, &ad.ErrorURL)
}

// reply answers a request that is well-formed.
func (t *turn) reply() error {
	for _, reason := range t.reasons {
		if reason != "" {
			t.metrics.nobids.WithLabelValues(string(reason)).Inc()
		}
	}
	answer := t.metrics.bid
	if t.won == 0 {
		answer = t.metrics.noBid
	}
	answer.Inc()
	if t.won == 0 && len(t.lost) > 0 {
		t.c.Writer.Header()["X-Adnet-Auction-Id"] = []string{t.lost[0].id.String()}
	}
	if t.won == 0 && !t.debug {
		t.c.Status(http.StatusNoContent)
		return nil
	}
	t.out = t.append(t.out[:0])
	return t.send(t.out)
}

// auctionOf is the auction that an imp lost.
func (t *turn) auctionOf(imp text, reason auction.Reason) uuid.UUID {
	for _, l := range t.lost {
		if l.imp == imp && reason != duplicate {
			return l.id
		}
	}
	return uuid.Nil
}

// statusCodes are the non-bid status codes of the community extension Seat Non Bid; 0 is a plain no.
var statusCodes = map[auction.Reason]int{
	auction.BelowFloor: 301, auction.Blocked: 356, auction.Stale: nbrTechnical, auction.FrequencyCapped: 9,
	unsupported: 202, noFit: 353, privateAuction: 200, insecure: 352, currency: 205, category: 357, seatBlocked: 200,
	timeout: nbrTime, tooMany: 200, duplicate: 302, repeated: 200,
}

// nbr is the reason for the whole request: the technical ones when they hold for every imp.
func nbr(reasons []auction.Reason) int {
	code := 0
	for i, reason := range reasons {
		is := nbrNothing
		switch reason {
		case timeout:
			is = nbrTime
		case auction.Stale:
			is = nbrTechnical
		}
		if i > 0 && is != code {
			return nbrNothing
		}
		code = is
	}
	return code
}

// status serves GET /api/rtb?op=status.
func (s *Server) status(c *httpapi.Context) error {
	state := "ok"
	if !s.deps.Seller.Ready(c.Request.Context(), s.deps.Now()) {
		state = "degraded"
	}
	formats := make([]string, kinds)
	for kind := range formats {
		formats[kind] = markupKind(kind).String()
	}
	return httpapi.JSON(c, http.StatusOK, map[string]any{
		"status": state, "adapter": adapter, "openrtb_version": "2.6", "native_version": "1.2", "vast_version": markup.VAST42.String(), "vast_versions": vastVersions, "currencies": []string{"USD"},
		"auction_type": 1, "tmax_recommended": defaultTMax.Milliseconds(), "supported_formats": formats, "seat": s.cfg.Seat,
		"benna_version": s.deps.Seller.Model(),
	})
}

// vastVersions are those that videos are written in.
var vastVersions = []string{markup.VAST20.String(), markup.VAST30.String(), markup.VAST40.String(), markup.VAST41.String(), markup.VAST42.String()}

// send answers 200 with a JSON body, compressed when the caller takes that.
func (t *turn) send(body []byte) error {
	t.c.Writer.Header()["Vary"] = t.headers.vary
	if len(body) < compressFrom || !takesGzip(t.c.GetHeader("Accept-Encoding")) {
		return httpapi.Bytes(t.c, http.StatusOK, body)
	}
	return compressed(t.c, body)
}

// takesGzip reads an Accept-Encoding (RFC 9110, 12.5.3).
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
