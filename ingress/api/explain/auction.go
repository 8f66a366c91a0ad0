package explain

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/campaign/subject"
	"adnet/internal/errs"
	"adnet/internal/ledger"
	"adnet/internal/money"
	"adnet/internal/report"
	"adnet/internal/token"
)

// viewer is the caller, with its sides in the auction.
type viewer struct {
	user       uuid.UUID    // zero for a key
	account    account.User // for a key: only the key's publisher
	admin      bool
	publisher  bool // the auction was its request
	advertiser bool // its campaign won
	candidate  bool // a campaign of it was a recorded candidate and did not win
}

// facts holds the known facts of an auction.
type facts struct {
	report.Auction
	recorded     bool
	advertiser   uuid.UUID // of the winner
	billingModel string    // of the winner; empty when unknown
}

// auction serves GET /api/auctions/{auction_id}/explain. The id is the token of an ad, or the UUID
// in it.
func (a *API) auction(c *gin.Context, caller account.User, _ httpapi.None) (reply auctionReply, err error) {
	who := viewer{user: caller.ID, account: caller, admin: caller.IsAdmin()}
	ctx := c.Request.Context()
	f, err := a.facts(ctx, c.Param("auction_id"))
	if err != nil {
		return reply, err
	}
	who.publisher = who.account.Publishes(f.DeveloperID)
	who.advertiser = f.advertiser != uuid.Nil && f.advertiser == who.user
	who.candidate = !who.advertiser && who.user != uuid.Nil &&
		slices.ContainsFunc(f.Candidates, func(c report.Candidate) bool { return a.owns(who, c.CampaignID) })
	if !who.admin && !who.publisher && !who.advertiser && !who.candidate {
		return reply, errs.New(
			errs.Forbidden, "the auction was not your request, and no campaign of yours took part",
		)
	}
	var events []report.Row
	if campaignID := cmp.Or(f.CampaignID, f.HouseID); campaignID != uuid.Nil && !who.outsider() {
		if events, err = a.deps.History.AuctionEvents(ctx, f.AuctionID, campaignID, f.At); err != nil {
			return reply, err
		}
	}
	return a.answer(who, f, events), nil
}

var errUnknown = errs.New(errs.NotFound, "there is no such auction, or its record has expired")

// facts returns the known facts of an auction: its record, and the claims of its token if the
// caller has the token.
func (a *API) facts(ctx context.Context, text string) (facts, error) {
	var f facts
	id, signed := uuid.Nil, false
	if t, err := a.deps.Keyring.Verify(token.ForExplain, text, a.deps.Now()); err == nil {
		id, signed, f = t.AuctionID, true, factsOf(t)
	}
	if !signed {
		var err error
		if id, err = httpapi.ParseID("auction_id", text); err != nil || id.Version() != 7 {
			return f, errUnknown
		}
	}
	at := token.Auction{AuctionID: id}.IssuedAt()
	record, err := a.deps.History.Auction(ctx, id, at)
	switch {
	case err == nil:
		sandbox := f.Sandbox
		record.CreativeFormat = cmp.Or(record.CreativeFormat, f.CreativeFormat) // older records lack it
		f.Auction, f.recorded = record, true
		f.Sandbox = f.Sandbox || sandbox
	case !errs.Is(err, errs.NotFound):
		return f, err
	case !signed:
		return f, errUnknown
	}
	return f, a.findWinner(ctx, &f)
}

// factsOf returns the facts in a token.
func factsOf(t token.Auction) facts {
	f := facts{
		Auction: report.Auction{
			AuctionID: t.AuctionID, At: t.IssuedAt(), DeveloperID: t.DeveloperID, CampaignID: t.CampaignID,
			Price: t.Price, CreativeFormat: t.Format,
			IntegrationMethod: t.IntegrationMethod, Surface: t.Surface, Region: t.Region, Language: t.Language,
			HostApp: t.HostApp, Sandbox: t.Sandbox,
		},
		advertiser: t.AdvertiserID, billingModel: t.BillingModel,
	}
	if t.House { // nothing won
		f.CampaignID, f.HouseID, f.advertiser, f.billingModel = uuid.Nil, t.CampaignID, uuid.Nil, ""
	}
	return f
}

// findWinner looks up the owner of the winner, unless the token has it.
func (a *API) findWinner(ctx context.Context, f *facts) error {
	if f.CampaignID == uuid.Nil || f.billingModel != "" {
		return nil
	}
	if c, ok := a.deps.Catalog.Creative(f.CampaignID); ok {
		f.advertiser, f.billingModel = c.AdvertiserID, string(c.Billing())
		return nil
	}
	c, err := a.deps.Store.Campaign(ctx, f.CampaignID)
	if err != nil && !errs.Is(err, errs.NotFound) {
		return err
	}
	f.advertiser, f.billingModel = c.AdvertiserID, string(c.Billing())
	return nil
}

// outsider reports whether the viewer is only a losing candidate. The winner's ad and price are
// then hidden from it.
func (who viewer) outsider() bool { return who.candidate && !who.admin && !who.publisher }

// owns reports whether the viewer owns a campaign.
func (a *API) owns(who viewer, id uuid.UUID) bool {
	k, ok := a.deps.Catalog.Creative(id)
	return ok && who.user != uuid.Nil && k.AdvertiserID == who.user
}

type requestReply struct {
	DeveloperID       *uuid.UUID   `json:"developer_id"` // null for the advertiser
	Format            string       `json:"format"`       // the requested format; empty if only the token is known
	IntegrationMethod string       `json:"integration_method"`
	Surface           string       `json:"surface"`
	Region            string       `json:"region"`
	Language          string       `json:"language"`
	HostApp           string       `json:"host_app"`
	Tokens            int64        `json:"intent_tokens"` // their number; the tokens are not stored
	Tools             int64        `json:"active_tools"`
	Floor             money.Micros `json:"bidfloor"` // effective CPM
}

type winnerReply struct {
	CampaignID   *uuid.UUID    `json:"campaign_id"` // null for a campaign of others, unless the viewer is the publisher
	BillingModel string        `json:"billing_model"`
	Price        money.Micros  `json:"price_usd"`     // per billed unit
	ECPM         *money.Micros `json:"effective_cpm"` // null like campaign_id
	Format       string        `json:"creative_format"`
	Explores     bool          `json:"explores"` // it won as a new campaign by exploration
}

type candidateReply struct {
	Rank       int           `json:"rank"`
	CampaignID *uuid.UUID    `json:"campaign_id"`
	ECPM       *money.Micros `json:"effective_cpm"`
	Result     string        `json:"result"` // won, or the reason why not
}

// suitability is the reason why a conversation was refused.
type suitability struct {
	Tier subject.Tier `json:"tier"`
	// Subject is omitted if an earlier turn of the session was refused, or if the finding has no
	// subject.
	Subject string `json:"subject,omitempty"`
	By      string `json:"by,omitempty"` // omitted if a text had a sensitive subject
}

// suitabilityFor is the time after an auction for which its publisher can see the reason of a
// refusal.
const suitabilityFor = 24 * time.Hour

// suitabilityOf returns the publisher's view of a refused auction for a day: enough to correct
// wrong refusals, but not a register of its readers' texts. It is nil for other callers and later.
// Browser keys cannot call this endpoint.
func (a *API) suitabilityOf(who viewer, f *facts) *suitability {
	if !f.recorded || !f.Refused() || !who.publisher || a.deps.Now().Sub(f.At) > suitabilityFor {
		return nil
	}
	id, _ := subject.Parse(f.Suitability)
	s := suitability{Tier: id.Tier(), Subject: f.Suitability, By: f.SuitabilityBy}
	if id == subject.None {
		s.Tier = subject.Never
	}
	return &s
}

// othersReply counts the other recorded candidates with a result.
type othersReply struct {
	Result string `json:"result"`
	Count  int    `json:"count"`
}

type eventReply struct {
	ID              uuid.UUID        `json:"event_id"`
	Event           ledger.EventType `json:"event"`
	ReceivedAt      time.Time        `json:"received_at"`
	Verdict         ledger.Verdict   `json:"verdict"`
	Charge          money.Micros     `json:"charge_usd"`
	Credits         money.Credits    `json:"credits"`
	ConversionType  string           `json:"conversion_type,omitempty"`
	ConversionValue *money.Micros    `json:"conversion_value,omitempty"`
	Currency        string           `json:"currency,omitempty"`
}

type auctionReply struct {
	AuctionID   uuid.UUID    `json:"auction_id"`
	At          time.Time    `json:"at"`
	Sides       []string     `json:"sides"` // the caller's sides
	Recorded    bool         `json:"recorded"`
	Sandbox     bool         `json:"sandbox"`
	Request     requestReply `json:"request"`
	Took        float64      `json:"took_ms"`
	Filled      bool         `json:"filled"`
	Reason      string       `json:"reason,omitempty"`      // why the auction was not filled
	Suitability *suitability `json:"suitability,omitempty"` // of a refused auction; see [suitabilityOf]
	House       bool         `json:"house"`                 // nothing won, and a house ad was shown
	// visible to the publisher and administrators; null for none
	HouseCampaign  *uuid.UUID       `json:"house_campaign_id"`
	Winner         *winnerReply     `json:"winner"`
	Candidates     []candidateReply `json:"candidates"` // visible to the caller: its own, and the winner
	Others         []othersReply    `json:"others"`
	MoreCandidates bool             `json:"more_candidates"`
	ModelVersion   string           `json:"model_version,omitempty"`
	Events         []eventReply     `json:"events"`
	Spend          money.Micros     `json:"spend_usd"`
	Credits        money.Credits    `json:"credits"`
}

func (a *API) answer(who viewer, f facts, events []report.Row) auctionReply {
	r := auctionReply{
		AuctionID: f.AuctionID, At: f.At.UTC(), Recorded: f.recorded, Sandbox: f.Sandbox,
		Took:   float64(f.Took.Microseconds()) / 1000,
		Filled: f.CampaignID != uuid.Nil, Reason: f.Reason, MoreCandidates: f.MoreCandidates,
		ModelVersion: f.ModelVersion,
		Request: requestReply{
			Format: f.Format, IntegrationMethod: f.IntegrationMethod, Surface: f.Surface, Region: f.Region,
			Language: f.Language,
			HostApp:  f.HostApp, Tokens: f.Tokens, Tools: f.Tools, Floor: f.Floor,
		},
		Candidates: []candidateReply{}, Others: []othersReply{}, Events: make([]eventReply, len(events)),
	}
	for _, side := range []struct {
		name string
		is   bool
	}{{"publisher", who.publisher}, {"advertiser", who.advertiser || who.candidate}, {"admin", who.admin}} {
		if side.is {
			r.Sides = append(r.Sides, side.name)
		}
	}
	if who.admin || who.publisher {
		r.Request.DeveloperID = &f.DeveloperID
	}
	if r.Filled {
		r.Winner = &winnerReply{
			CampaignID: &f.CampaignID, BillingModel: f.billingModel, Price: f.Price, ECPM: &f.ECPM,
			Format: f.CreativeFormat, Explores: f.Explores,
		}
		if who.outsider() {
			r.Winner.CampaignID, r.Winner.ECPM = nil, nil
		}
	}
	if r.House = f.HouseID != uuid.Nil; r.House && !who.outsider() {
		r.HouseCampaign = &f.HouseID
	}
	r.Suitability = a.suitabilityOf(who, &f)
	for i, c := range f.Candidates {
		if reply := candidate(i+1, c); who.admin || a.owns(who, c.CampaignID) || c.Reason == "" && !who.outsider() {
			r.Candidates = append(r.Candidates, reply)
		} else {
			r.others(reply.Result)
		}
	}
	for i := range events {
		r.Events[i] = eventOf(who, &events[i])
		r.Spend += events[i].Charge
		r.Credits += events[i].Minted
	}
	return r
}

func candidate(rank int, c report.Candidate) candidateReply {
	return candidateReply{Rank: rank, CampaignID: &c.CampaignID, ECPM: &c.ECPM, Result: cmp.Or(c.Reason, "won")}
}

// others counts a candidate that the caller must not see: a bid is visible to its owner only.
func (r *auctionReply) others(result string) {
	for i := range r.Others {
		if r.Others[i].Result == result {
			r.Others[i].Count++
			return
		}
	}
	r.Others = append(r.Others, othersReply{result, 1})
}

func eventOf(who viewer, e *report.Row) eventReply {
	r := eventReply{
		ID: e.EventID, Event: e.Type, ReceivedAt: e.ReceivedAt.UTC(), Verdict: e.Verdict, Charge: e.Charge,
		Credits: e.Minted,
	}
	if e.Type == ledger.Conversion && (who.admin || who.advertiser) {
		r.ConversionType, r.ConversionValue, r.Currency = e.ConversionType, &e.ConversionValue, e.Currency
	}
	return r
}
