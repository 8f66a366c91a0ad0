package oversee

import (
	"context"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/token"
)

// settledWithin is the maximum delay between the receipt of an event and its entry in the ledger:
// settlement lags by seconds, and by minutes after a pause.
const settledWithin = 15 * time.Minute

type entryReply struct {
	Account string `json:"account"`
	Asset   string `json:"asset"`         // USD or CREDIT
	Amount  int64  `json:"amount"`        // micro-USD or Credits
	Balance int64  `json:"balance_after"` // of the account, micro-USD or Credits
	Seq     int64  `json:"seq"`           // in the account's chain, from 1
	Hash    string `json:"hash"`          // of the link
}

type movementReply struct {
	ID       uuid.UUID    `json:"id"`
	Kind     ledger.Kind  `json:"kind"`
	Ref      string       `json:"ref"`
	Subject  uuid.UUID    `json:"subject"`
	At       time.Time    `json:"at"`
	Reverses *uuid.UUID   `json:"reverses,omitempty"`
	Entries  []entryReply `json:"entries"`
}

// movements serves GET /api/admin/ledger: movements with all their entries, newest first.
func (a *API) movements(c *gin.Context, _ account.User, _ httpapi.None) (httpapi.Object, error) {
	q, err := searchOf(c)
	if err != nil {
		return nil, err
	}
	reply := httpapi.Object{"movements": []movementReply{}, "next": nil}
	if text := c.Query("auction"); text != "" {
		known, err := a.ofAuction(c.Request.Context(), text, &q)
		if err != nil {
			return nil, err
		}
		if !known {
			return reply, nil
		}
	}
	found, err := a.deps.Ledger.Movements(c.Request.Context(), q)
	if err != nil {
		return nil, err
	}
	list := make([]movementReply, len(found))
	for i := range found {
		list[i] = answerMovement(&found[i])
	}
	reply["movements"] = list
	if len(found) == q.Size() {
		reply["next"] = writePosition(found[len(found)-1].Position)
	}
	return reply, nil
}

func answerMovement(f *ledger.Found) movementReply {
	m := movementReply{
		ID: f.ID, Kind: f.Kind, Ref: f.Ref, Subject: f.Subject, At: f.At.UTC(),
		Entries: make([]entryReply, len(f.Links)),
	}
	if f.Reverses != uuid.Nil {
		m.Reverses = &f.Reverses
	}
	for i := range f.Links {
		l := &f.Links[i]
		m.Entries[i] = entryReply{
			string(l.Account), string(l.Asset), l.Amount, l.Balance, l.Seq, hex.EncodeToString(l.Hash[:]),
		}
	}
	return m
}

func searchOf(c *gin.Context) (q ledger.Search, err error) {
	if q.Account, err = accountOf(c); err != nil {
		return q, err
	}
	if c.Query("subject") != "" {
		q.Subjects = []uuid.UUID{httpapi.QueryID(c, "subject")}
	}
	q.Transaction, q.Kind = httpapi.QueryID(c, "transaction"), ledger.Kind(c.Query("kind"))
	q.Since, q.Until = httpapi.QueryTime(c, "since"), httpapi.QueryTime(c, "until")
	if q.Limit, err = httpapi.QueryInt(c, "limit", defaultPage, 1, ledger.MaxFound); err != nil {
		return q, err
	}
	q.Before, err = readPosition(c.Query("before"), q.Account != "")
	return q, err
}

func accountOf(c *gin.Context) (ledger.Account, error) {
	text := c.Query("account")
	if text != "" && !ledger.Named(text) {
		return "", errs.New(
			errs.InvalidRequest, "account must be a ledger account like advertiser:ID, developer:ID or house:revenue",
		).With("field", "account")
	}
	return ledger.Account(text), nil
}

// ofAuction narrows q to the movements that can contain the auction's events: the movements of its
// campaign and publisher in the minutes after the events were received. A movement sums one batch
// of settlement, and the auctions of a batch are not recorded. known is false without a record of
// the auction.
func (a *API) ofAuction(ctx context.Context, text string, q *ledger.Search) (known bool, err error) {
	id, err := httpapi.ParseID("auction", text)
	if err != nil {
		return false, err
	}
	if id.Version() != 7 {
		return false, nil
	}
	if len(q.Subjects) > 0 || !q.Since.IsZero() || !q.Until.IsZero() {
		return false, errs.New(
			errs.InvalidRequest, "auction replaces subject, since and until: omit those",
		).With("field", "auction")
	}
	at := token.Auction{AuctionID: id}.IssuedAt()
	record, err := a.deps.History.Auction(ctx, id, at)
	if err != nil {
		if errs.Is(err, errs.NotFound) {
			err = nil
		}
		return false, err
	}
	events, err := a.deps.History.AuctionEvents(ctx, id, record.CampaignID, at)
	if err != nil || len(events) == 0 {
		return false, err
	}
	q.Subjects = []uuid.UUID{record.CampaignID, record.DeveloperID}
	q.Since, q.Until = events[0].ReceivedAt, events[len(events)-1].ReceivedAt.Add(settledWithin)
	return true, nil
}

// writePosition formats a position as a page cursor: "s" and a number, or "t", microseconds and an
// id.
func writePosition(p ledger.Position) string {
	if p.Seq != 0 {
		return "s" + strconv.FormatInt(p.Seq, 10)
	}
	return "t" + strconv.FormatInt(p.At.UnixMicro(), 10) + "." + p.ID.String()
}

// readPosition reads a cursor of writePosition. It rejects one of another kind of search, which
// would silently start at a wrong place.
func readPosition(text string, numbered bool) (p ledger.Position, err error) {
	if text == "" {
		return p, nil
	}
	bad := errs.New(
		errs.InvalidRequest, "before must be the value next from a reply to the same search",
	).With("field", "before")
	if (text[0] == 's') != numbered {
		return p, bad
	}
	if numbered {
		if p.Seq, err = strconv.ParseInt(text[1:], 10, 64); err != nil || p.Seq <= 0 {
			return p, bad
		}
		return p, nil
	}
	micros, id, found := strings.Cut(text[1:], ".")
	at, err := strconv.ParseInt(micros, 10, 64)
	if text[0] != 't' || !found || err != nil || at < 0 || at > maxMicros {
		return p, bad
	}
	if p.ID, err = httpapi.ParseID("before", id); err != nil {
		return p, bad
	}
	p.At = time.UnixMicro(at).UTC()
	return p, nil
}

// maxMicros is a time in the year 2286, which every store can hold.
const maxMicros = 9_999_999_999_999_999

type headReply struct {
	Account string `json:"account"`
	Asset   string `json:"asset"`
	Seq     int64  `json:"seq"`     // number of the last entry
	Balance int64  `json:"balance"` // micro-USD or Credits
	Hash    string `json:"hash"`    // of the last entry's link
}

// heads serves GET /api/admin/ledger/heads: the end of each account's hash chain. A copy kept
// elsewhere reveals later changes to earlier entries.
func (a *API) heads(c *gin.Context, _ account.User, _ httpapi.None) (httpapi.Object, error) {
	q := ledger.HeadQuery{}
	var err error
	if q.Account, err = accountOf(c); err != nil {
		return nil, err
	}
	if q.Limit, err = httpapi.QueryInt(c, "limit", defaultPage, 1, ledger.MaxFound); err != nil {
		return nil, err
	}
	if text := c.Query("after"); text != "" {
		account, asset, found := strings.Cut(text, " ")
		if !found || !ledger.Named(account) || asset != string(ledger.USD) && asset != string(ledger.Credit) {
			return nil, errs.New(errs.InvalidRequest, "after must be the value next from a reply").With("field", "after")
		}
		q.After = ledger.Side{Account: ledger.Account(account), Asset: ledger.Asset(asset)}
	}
	list, err := a.deps.Ledger.Heads(c.Request.Context(), q)
	if err != nil {
		return nil, err
	}
	heads := make([]headReply, len(list))
	for i, h := range list {
		heads[i] = headReply{string(h.Account), string(h.Asset), h.Seq, h.Balance, hex.EncodeToString(h.Hash[:])}
	}
	reply := httpapi.Object{"heads": heads, "next": nil, "as_of": a.deps.Now().UTC()}
	if len(heads) == q.Size() {
		last := heads[len(heads)-1]
		reply["next"] = last.Account + " " + last.Asset
	}
	return reply, nil
}
