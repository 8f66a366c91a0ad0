package rtb

import (
	"encoding/hex"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"google.golang.org/protobuf/proto"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/token"
	"adnet/schemas/event"
)

// The kinds of notices.
const (
	win    = event.Notice_WIN
	loss   = event.Notice_LOSS
	bill   = event.Notice_BILL
	failed = event.Notice_ERROR
)

var kindNames = map[event.Notice_Kind]string{win: "win", loss: "loss", bill: "bill", failed: "error"}

// The results of a notice, in its metric. Only the first is recorded.
const (
	noticeSignedBid = "signed"
	noticeUnsigned  = "unsigned"
	noticeForged    = "bad_signature"
	noticeLate      = "expired"
	noticeRepeated  = "repeated"
)

// noticeLife is the time after the auction for which a notice counts. Bids hold an hour at most.
const noticeLife = 24 * time.Hour

const (
	// maxImpID is the longest imp.id that a notice keeps, in bytes.
	maxImpID = 64
	// maxReason is the largest loss reason or error code that is recorded.
	maxReason = 99_999
	// gifHex is the 43-byte transparent pixel (GIF89a, 1×1).
	gifHex = "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b"
)

// notice serves GET /api/rtb?op=win|loss|bill|error. The answer is always the pixel, because the
// caller's ad server must not fail over an unreplaced macro. A notice about one of our bids goes to
// the log once a kind, best effort, and is never billed.
func (s *Server) notice(kind event.Notice_Kind) httpapi.Handler {
	gif, err := hex.DecodeString(gifHex)
	return httpapi.Plain(func(c *gin.Context) error {
		if err != nil {
			return err
		}
		if c.Request.Method != http.MethodHead { // HEAD comes from a link checker
			s.record(c, kind)
		}
		httpapi.Send(c, http.StatusOK, "image/gif", gif)
		return nil
	})
}

// refuse is the httpapi.ErrorForm of the endpoint. A rejected notice is still answered with its
// pixel, as the specification requires. A bid request is answered with the envelope, and with nbr
// if the no-bid table has a code for the error.
func (s *Server) refuse(c *gin.Context, e *errs.Error, status int) error {
	_, notice := noticeOps[c.Query("op")]
	notice = notice && c.Param("key") == "" // notices exist only at /api/rtb
	_, known := e.Extra["nbr"]
	bid := c.Request.Method == http.MethodPost && !known
	switch {
	case notice && c.Request.Method == http.MethodGet:
		s.metrics.dropped.Inc()
		gif, err := hex.DecodeString(gifHex)
		httpapi.Send(c, http.StatusOK, "image/gif", gif)
		return err
	case bid && status >= http.StatusInternalServerError:
		e = withNBR(e, nbrTechnical)
	case bid && (status == http.StatusRequestEntityTooLarge || status == http.StatusUnsupportedMediaType):
		e = withNBR(e, nbrInvalid)
	}
	return httpapi.WriteError(c, e, status)
}

// withNBR returns a copy of e with a no-bid reason; e itself may be shared.
func withNBR(e *errs.Error, nbr int) *errs.Error {
	with := *e
	with.Extra = maps.Clone(e.Extra)
	return with.With("nbr", nbr)
}

// noticeOps maps the values of op that are answered with the pixel.
var noticeOps = map[string]event.Notice_Kind{"win": win, "loss": loss, "bill": bill, "error": failed}

// noticeNames are the query parameters of a notice besides op.
var noticeNames = [...]string{
	noticeImp: "imp", noticeBid: "bid", noticeSigned: "t", noticePrice: "price", noticeReason: "reason",
}

const (
	noticeImp = iota
	noticeBid
	noticeSigned
	noticePrice
	noticeReason
)

// record produces the first notice of each kind about one of our bids. Strangers can call the
// links: a notice that proves nothing, a late one and a repeated one are counted and forgotten, so
// that they fill neither the log nor the archive.
func (s *Server) record(c *gin.Context, kind event.Notice_Kind) {
	now := s.deps.Now()
	var query [len(noticeNames)]string
	httpapi.QueryValues(c.Request.URL.RawQuery, noticeNames[:], query[:])
	signed, err := s.deps.Keyring.Verify(token.ForNotice, query[noticeSigned], now)
	result := noticeSignedBid
	switch {
	case query[noticeSigned] == "":
		result = noticeUnsigned
	case err != nil:
		result = noticeForged
	case now.Sub(signed.IssuedAt()) > noticeLife:
		result = noticeLate
	case s.recent.Note(signed.AuctionID[:], kindNames[kind]):
		result = noticeRepeated
	}
	s.metrics.notices.WithLabelValues(kindNames[kind], result).Inc()
	if result == noticeSignedBid {
		s.keep(kind, &signed, &query, now)
	}
}

// keep produces a notice about a bid.
func (s *Server) keep(
	kind event.Notice_Kind, bid *token.Auction, query *[len(noticeNames)]string, now time.Time,
) {
	n := &event.Notice{
		AtUs: now.UnixMicro(), Kind: kind, ImpressionId: cut(query[noticeImp], maxImpID),
		Proof: event.Proof_SIGNED, Sandbox: bid.Sandbox,
		AuctionId: bid.AuctionID[:], CampaignId: bid.CampaignID[:], DeveloperId: bid.DeveloperID[:],
	}
	if kind == loss && !bid.Sandbox {
		held := bid.Unseen()
		s.deps.Limiter.Lost(&held, now)
	}
	if kind == win || kind == bill {
		n.PriceMicros = int64(clearing(query[noticePrice], bid.Price))
	} else {
		n.Reason = code(query[noticeReason])
	}
	value, err := proto.Marshal(n)
	if err != nil {
		s.metrics.dropped.Inc()
		return
	}
	// The archive takes no others.
	s.produce(event.TopicNotices, n.AuctionId, s.deps.Keyring.Notices().Close(value, 0))
}

// clearing returns a price of 1,000 impressions in USD, capped at most. It is 0 if the price is
// absent (an empty or unreplaced macro, AUDIT, an encrypted price) or invalid.
func clearing(price string, most money.Micros) money.Micros {
	usd, err := strconv.ParseFloat(strings.TrimSpace(price), 64)
	if math.IsNaN(usd) || usd <= 0 || err != nil && !math.IsInf(usd, 1) {
		return 0
	}
	if usd >= float64(most)/float64(money.USD) {
		return most
	}
	return money.Micros(math.Round(usd * float64(money.USD)))
}

// code returns a loss reason or error code, 0 included; nil if there is none.
func code(text string) *int32 {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 || n > maxReason {
		return nil
	}
	return proto.Int32(int32(n))
}

// cut returns the longest valid UTF-8 prefix of s of at most n bytes: protobuf strings must be
// valid.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, "")
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "")
	}
	return s
}
