package rtb

import (
	"bytes"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"adnet/auction"
	"adnet/auction/markup"
	"adnet/auction/target"
	"adnet/ingress/httpapi"
	"adnet/internal/money"
	"adnet/internal/token"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
)

const (
	imageFormat  = target.Image
	nativeFormat = target.Native
	videoFormat  = target.Video

	adapter = "adnet"
)

// wireResponse is a BidResponse (OpenRTB 2.6, 4.2.1).
type wireResponse struct {
	id         text
	seat       string
	bids       []wireBid
	nbr        int // when there are no bids
	processing time.Duration
	tmax       time.Duration
	version    string // of the ranking model
	nonBids    []wireNonBid
}

// wireBid is a Bid (4.2.3).
type wireBid struct {
	id         string
	imp        text
	price      money.Micros
	campaign   string // adid, crid
	advertiser string // cid
	domain     string
	links      string // what nurl, burl and lurl share, between the op and the macro
	adm        string
	deal       string
	w, h, dur  int64
	mtype      int
	prediction *auction.Prediction
	latency    time.Duration
}

// wireNonBid is an entry of ext.seatnonbid (OpenRTB community extension Seat Non Bid).
type wireNonBid struct {
	imp     text
	reason  auction.Reason
	auction uuid.UUID // nil when the imp was not auctioned
}

// won is an imp with its winner.
type won struct {
	id       uuid.UUID
	imp      *imp
	place    *place
	outcome  *auction.Outcome
	*chooser // what passed it
	started  time.Time
}

// wireBid is the bid for an imp, signed. The auction token in the markup counts and bills; the bid token in the
// notices only says that they are about a bid of ours, and at which price.
func (t *turn) wireBid(w won) (wireBid, error) {
	said := token.Auction{
		AuctionID: w.id, CampaignID: w.creative.ID, AdvertiserID: w.creative.AdvertiserID, DeveloperID: t.caller.DeveloperID,
		Price: w.outcome.Price, BillingModel: w.outcome.Winner.Billing.String(), Format: string(w.creative.Format), IntegrationMethod: method,
		Surface: w.place.surface, Region: w.place.region, Language: w.place.language, HostApp: w.place.host,
		CreditFunded: w.creative.CreditFunded, Sandbox: t.sandbox,
	}
	adToken := t.deps.Keyring.Sign(token.PurposeAuction, said)
	said.Price, said.Surface, said.HostApp = w.outcome.EffectiveCPM, "", ""
	bidToken := t.deps.Keyring.Sign(token.PurposeBid, said)

	id := w.id.String()
	b := wireBid{
		id: id, imp: w.imp.ID, price: w.outcome.EffectiveCPM, campaign: w.creative.ID.String(), advertiser: w.creative.AdvertiserID.String(),
		domain: advertiserDomain(w.creative.CTAURL), links: "&imp=" + url.QueryEscape(string(w.imp.ID)) + "&bid=" + id + "&t=" + bidToken,
		mtype: mtypes[w.kind], prediction: &w.outcome.Prediction, latency: t.deps.Now().Sub(w.started),
	}
	if w.deal != nil {
		b.deal = w.deal.id
	}
	t.metrics.bids[w.kind].Inc()
	return b, t.markup(&b, &w, adToken)
}

// markup fills the bid's adm and size.
func (t *turn) markup(b *wireBid, w *won, adToken string) error {
	beacon := "&campaign_id=" + b.campaign + "&auction_id=" + adToken + "&session=" + url.QueryEscape(w.place.session) + "&dev=" + t.developer + "&format=" + string(w.creative.Format)
	track := t.base + "/api/track?event="
	ad := markup.Ad{
		Creative: creative(w.creative), ID: b.id, CampaignID: b.campaign, DisclosureLabel: t.deps.Disclosure,
		ReceiptURL: t.base + "/r/" + adToken, ClickURL: t.base + "/s/" + adToken + "?event=click",
		ImpressionURL: track + "impression" + beacon,
	}
	switch w.kind {
	case asNative:
		b.adm = string(w.offer.native.Native(&ad))
	case asBanner:
		b.adm = markup.Banner(&ad, w.offer.w, w.offer.h)
		b.w, b.h = int64(w.offer.w), int64(w.offer.h)
	default:
		ad.CompleteURL, ad.SkipURL, ad.CloseURL = track+"video_complete"+beacon, track+"skip"+beacon, track+"close"+beacon
		ad.ErrorURL = t.base + "/api/rtb?op=error" + b.links + "&reason="
		document, err := w.offer.video.VAST(&ad)
		if err != nil {
			return err
		}
		b.adm = string(document)
		b.w, b.h, b.dur = w.offer.video.W, w.offer.video.H, w.offer.video.Seconds
	}
	return nil
}

// reply answers a request that is well-formed.
func (s *Server) reply(c *gin.Context, t *turn, bids []wireBid, reasons []auction.Reason) error {
	for _, reason := range reasons {
		if reason != "" {
			s.metrics.nobids.WithLabelValues(string(reason)).Inc()
		}
	}
	if len(bids) == 0 && len(t.lost) > 0 {
		c.Writer.Header()["X-Adnet-Auction-Id"] = []string{t.lost[0].id.String()}
	}
	if len(bids) == 0 && !t.debug {
		s.metrics.requests.WithLabelValues("no_bid").Inc()
		c.Status(http.StatusNoContent)
		return nil
	}
	response := wireResponse{
		id: t.in.ID, seat: s.cfg.Seat, bids: bids, processing: s.deps.Now().Sub(t.started), tmax: t.tmax, version: s.version(),
	}
	answer := "bid"
	if len(bids) == 0 {
		answer, response.nbr = "no_bid", nbr(reasons)
	}
	if t.debug {
		response.nonBids = t.nonBids(reasons)
	}
	s.metrics.requests.WithLabelValues(answer).Inc()
	out := buffers.Get().(*bytes.Buffer)
	defer release(out)
	out.Reset()
	body := t.append(out.AvailableBuffer(), &response)
	if cap(body) > out.Cap() {
		*out = *bytes.NewBuffer(body) // keep the room that this reply took
	}
	return send(c, body)
}

func (s *Server) version() string { return s.deps.Catalog.Snapshot().Table().Version }

func (t *turn) nonBids(reasons []auction.Reason) (list []wireNonBid) {
	for i, reason := range reasons {
		if reason != "" {
			list = append(list, wireNonBid{imp: t.in.Imp.list[i].ID, reason: reason, auction: t.auctionOf(t.in.Imp.list[i].ID, reason)})
		}
	}
	return list
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
func (s *Server) status(c *gin.Context) error {
	state := "ok"
	if !s.deps.Catalog.Fresh(s.deps.Now()) || !s.deps.Recording.CanRecord(c.Request.Context()) {
		state = "degraded"
	}
	formats := make([]string, kinds)
	for kind := range formats {
		formats[kind] = markupKind(kind).String()
	}
	return httpapi.JSON(c, http.StatusOK, gin.H{
		"status": state, "adapter": adapter, "openrtb_version": "2.6", "native_version": "1.2", "vast_version": markup.VAST42.String(), "vast_versions": vastVersions, "currencies": []string{"USD"},
		"auction_type": 1, "tmax_recommended": defaultTMax.Milliseconds(), "supported_formats": formats, "seat": s.cfg.Seat,
		"benna_version": s.version(),
	})
}

// vastVersions are those that videos are written in.
var vastVersions = []string{markup.VAST20.String(), markup.VAST30.String(), markup.VAST40.String(), markup.VAST41.String(), markup.VAST42.String()}

// send answers 200 with a JSON body, compressed when the caller takes that.
func send(c *gin.Context, body []byte) error {
	c.Header("Vary", "Accept-Encoding")
	if len(body) < compressFrom || !takesGzip(c.GetHeader("Accept-Encoding")) {
		return httpapi.Bytes(c, http.StatusOK, body)
	}
	return compressed(c, body)
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
