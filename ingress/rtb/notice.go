package rtb

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
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

var (
	kindNames  = map[event.Notice_Kind]string{win: "win", loss: "loss", bill: "bill", failed: "error"}
	proofNames = map[event.Proof]string{
		event.Proof_SIGNED: "signed", event.Proof_UNSIGNED: "unsigned", event.Proof_BAD_SIGNATURE: "bad_signature",
	}
)

const (
	// maxImpID is the longest imp.id that a notice keeps, in bytes.
	maxImpID = 64
	// maxCPM is the maximum price of a notice without a token: the largest possible bid.
	maxCPM = 1_000 * money.USD
	// maxReason is the largest loss reason or error code that is recorded.
	maxReason = 99_999
	// gifHex is the 43-byte transparent pixel (GIF89a, 1×1).
	gifHex = "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b"
)

// notice serves GET /api/rtb?op=win|loss|bill|error. The answer is always the pixel, because the
// caller's ad server must not fail over an unreplaced macro. The notice goes to the log, best
// effort, and is never billed; a repeated notice becomes the same record.
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

func (s *Server) record(c *gin.Context, kind event.Notice_Kind) {
	now := s.deps.Now()
	var query [len(noticeNames)]string
	httpapi.QueryValues(c.Request.URL.RawQuery, noticeNames[:], query[:])
	imp, signature := query[noticeImp], query[noticeSigned]
	n := &event.Notice{AtUs: now.UnixMicro(), Kind: kind, ImpressionId: cut(imp, maxImpID)}
	most := maxCPM
	signed, err := s.deps.Keyring.Verify(token.ForNotice, signature, now)
	switch {
	case err == nil:
		n.Proof, n.Sandbox = event.Proof_SIGNED, signed.Sandbox
		n.AuctionId, n.CampaignId, n.DeveloperId = signed.AuctionID[:], signed.CampaignID[:], signed.DeveloperID[:]
		most = signed.Price
		if kind == loss && !signed.Sandbox {
			held := signed.Unseen()
			s.deps.Limiter.Lost(&held, now)
		}
	case signature == "":
		n.Proof = event.Proof_UNSIGNED
	default:
		n.Proof = event.Proof_BAD_SIGNATURE
	}
	if n.AuctionId == nil {
		n.AuctionId = named(query[noticeBid], imp)
	}
	if kind == win || kind == bill {
		n.PriceMicros = int64(clearing(query[noticePrice], most))
	} else {
		n.Reason = code(query[noticeReason])
	}
	s.metrics.notices.WithLabelValues(kindNames[kind], proofNames[n.Proof]).Inc()
	value, err := proto.Marshal(n)
	if err != nil {
		s.metrics.dropped.Inc()
		return
	}
	s.produce(event.TopicNotices, n.AuctionId, value)
}

// named returns the id under which a notice without a token is recorded: the bid's, or a hash of
// the notice.
func named(bid, imp string) []byte {
	if id, err := uuid.Parse(bid); err == nil && len(bid) == 36 {
		return id[:]
	}
	sum := sha256.Sum256([]byte(bid + "\x00" + imp))
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // RFC 9562 version 8: never equals an auction's id
	return id
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
