package explain

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/ingress/httpapi"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/report"
)

// Cause is why a campaign does not deliver. The values are part of the wire contract.
type Cause string

// The closed list of causes. The first six are about the campaign as it is now; the others are
// about the auctions of the last hour.
const (
	NotActive        Cause = "not_active"
	PolicyViolations Cause = "policy_violations"
	NotStarted       Cause = "not_started"
	Ended            Cause = "ended"
	TotalBudgetSpent Cause = "total_budget_spent"
	DailyBudgetSpent Cause = "daily_budget_spent"
	Unfunded         Cause = "unfunded"
	NotPropagated    Cause = "not_propagated" // the node that answers does not serve by the campaign's latest state yet
	NoMatching       Cause = "no_matching_requests"
	Outbid           Cause = "outbid"
	Irrelevant       Cause = "irrelevant" // what it says did not answer the requests that it could have had
	BelowFloor       Cause = "below_floor"
	Blocked          Cause = "blocked"
	Paced            Cause = "paced"
	FrequencyCapped  Cause = "frequency_capped"
	OK               Cause = "ok"
)

// counted is what the counts of auctions are of. An auction looks only at candidates until one may
// win, so that counting every loser would cost each request a look at all of them.
const counted = "auctions in which the campaign was one of the up to 10 best recorded candidates: those refused " +
	"before the winner, the winner, and the next 3 behind it; " +
	"where sampled is true it may have lost further auctions from farther behind"

// window is how far back auctions are counted.
const window = time.Hour

// refusedDays are the days of which refused requests are counted, with today.
const refusedDays = 7

type causeReply struct {
	Cause   Cause  `json:"cause"`
	Count   *int64 `json:"count"` // in the window; null where there is nothing to count
	Message string `json:"message"`
}

type windowReply struct {
	Since      time.Time `json:"since"`
	Until      time.Time `json:"until"`
	Auctions   int64     `json:"auctions"`   // of the whole network
	Candidates int64     `json:"considered"` // auctions in which the campaign is among the recorded candidates
	Won        int64     `json:"won"`
	Sampled    bool      `json:"sampled"`   // some auctions had, or may have had, candidates that are not recorded
	Truncated  int64     `json:"truncated"` // how many of them
	Counted    string    `json:"counted"`   // what the counts are of
}

type stateReply struct {
	Status           campaign.Status       `json:"status"`
	PolicyViolations []campaign.Violation  `json:"policy_violations"`
	BillingModel     campaign.BillingModel `json:"billing_model"`
	BidAmount        money.Micros          `json:"bid_amount"`
	UnitPrice        money.Micros          `json:"unit_price_usd"` // of one billed event, at most
	DailyBudget      money.Micros          `json:"daily_budget"`
	SpentToday       money.Micros          `json:"spent_today"`
	TotalBudget      money.Micros          `json:"total_budget"`
	SpentTotal       money.Micros          `json:"spent_total"`
	CreditFunded     bool                  `json:"credit_funded"`
	// prepaid and left; null when the campaign is not prepaid
	Balance *money.Micros `json:"balance_usd"`
	// ÷ the network's; null when its bids do not go by it, or nothing was learnt
	ConversionRate *float64 `json:"conversion_rate"`
	ConfigVersion  int64    `json:"config_version"`
	NodeVersion    int64    `json:"node_config_version"` // that the answering node serves by; 0 for none
}

type diagnosis struct {
	CampaignID uuid.UUID    `json:"campaign_id"`
	Delivers   bool         `json:"delivers"` // nothing about the campaign itself keeps it from serving
	Causes     []causeReply `json:"causes"`   // the weightiest first, never empty
	Window     windowReply  `json:"window"`
	Refused    refusedReply `json:"refused"`
	State      stateReply   `json:"state"`
}

// refusedReply is what refusals of conversations took at the campaign's places.
type refusedReply struct {
	Since    string                 `json:"since"` // UTC day, included
	Until    string                 `json:"until"` // UTC day, included
	Counted  string                 `json:"counted"`
	Subjects []report.RefusedPlaces `json:"subjects"`
}

// diagnose serves GET /api/campaigns/{id}/diagnose.
func (a *API) diagnose(c *gin.Context) error {
	caller, err := a.deps.Auth.User(c)
	if err != nil {
		return err
	}
	id, err := httpapi.ParseID("id", c.Param("id"))
	if err != nil {
		return err
	}
	k, err := a.deps.Campaigns.Get(c.Request.Context(), caller, id)
	if err != nil {
		return err
	}
	now := a.deps.Now().UTC()
	delivery, err := a.deps.History.Delivery(c.Request.Context(), id, now.Add(-window), now)
	if err != nil {
		return err
	}
	places := report.Places{
		Since: day.Of(now) - refusedDays + 1, Until: day.Of(now), HostApps: k.HostApps, Surfaces: k.Surfaces,
		Methods: k.IntegrationMethods, Languages: k.Languages,
	}
	refused, err := a.deps.History.RefusedAt(c.Request.Context(), places)
	if err != nil {
		return err
	}
	reply := a.diagnosis(&k, delivery, now)
	reply.Refused = refusedReply{places.Since.String(), places.Until.String(), report.RefusedCounted, refused}
	return httpapi.JSON(c, http.StatusOK, reply)
}

func (a *API) diagnosis(k *campaign.Campaign, d report.Delivery, now time.Time) diagnosis {
	state := a.state(k)
	own := a.ofCampaign(k, state, now)
	r := diagnosis{
		CampaignID: k.ID, Delivers: len(own) == 0, State: state,
		Window: windowReply{
			Since: now.Add(-window), Until: now, Auctions: d.Auctions, Won: d.Outcomes[""],
			Sampled: d.Truncated > 0, Truncated: d.Truncated, Counted: counted,
		},
	}
	for _, n := range d.Outcomes {
		r.Window.Candidates += n
	}
	ofAuctions := ofAuctions(k, d, r.Window, len(own) == 0)
	if refused := d.Outcomes[string(auction.Budget)]; refused > 0 {
		own = withBudget(own, refused)
	}
	r.Causes = append(own, ofAuctions...)
	if r.Window.Won > 0 && r.Delivers {
		won := causeReply{OK, &r.Window.Won, "it won these auctions in the last hour"}
		r.Causes = append([]causeReply{won}, r.Causes...)
	}
	if len(r.Causes) == 0 {
		r.Causes = []causeReply{{OK, &r.Window.Won, "nothing keeps it from serving"}}
	}
	return r
}

func (a *API) state(k *campaign.Campaign) stateReply {
	billing, _ := ranker.ParseBilling(string(k.Billing()))
	most, _ := k.Offer()
	s := stateReply{
		Status: k.Status, PolicyViolations: k.PolicyViolations, BillingModel: k.BillingModel, BidAmount: k.BidAmount,
		UnitPrice:   billing.Price(most, most),
		DailyBudget: k.DailyBudget, SpentToday: k.SpentToday, TotalBudget: k.TotalBudget, SpentTotal: k.SpentTotal,
		CreditFunded: k.CreditFunded, ConversionRate: a.conversionRate(k), ConfigVersion: k.ConfigVersion,
	}
	if s.PolicyViolations == nil {
		s.PolicyViolations = []campaign.Violation{}
	}
	if room, known := a.deps.Catalog.Room(k.ID); known && room.Balance <= money.Max {
		s.Balance = &room.Balance
	}
	if served, ok := a.deps.Catalog.Creative(k.ID); ok {
		s.NodeVersion = served.ConfigVersion
	}
	return s
}

// conversionRate is how often clicks on a campaign are followed by a conversion ÷ those of the
// network, as auctions of this node take it: what the owner's bids count times it.
func (a *API) conversionRate(k *campaign.Campaign) *float64 {
	learnt := a.deps.Catalog.Snapshot().Learnt()
	if learnt == nil || learnt.Conversions.Network == 0 || !k.ByConversions() {
		return nil
	}
	rate := float64(learnt.Conversions.Of(k.ID, k.AdvertiserID)) / float64(ranker.Certain)
	return &rate
}

// ofCampaign is what about the campaign as it is now keeps it from serving.
func (a *API) ofCampaign(k *campaign.Campaign, s stateReply, now time.Time) (causes []causeReply) {
	add := func(cause Cause, format string, args ...any) {
		causes = append(causes, causeReply{Cause: cause, Message: fmt.Sprintf(format, args...)})
	}
	if k.Status != campaign.Active {
		add(NotActive, "its status is %s", k.Status)
	}
	if n := int64(len(k.PolicyViolations)); n > 0 {
		add(PolicyViolations, "its creative breaks the policy: %s", k.PolicyViolations[0].Message)
		causes[len(causes)-1].Count = &n
	}
	if !k.Started(now) {
		add(NotStarted, "it starts at %s: change start_at, or wait", k.StartAt.Format(time.RFC3339))
	}
	if k.Ended(now) {
		add(Ended, "it ended at %s: change end_at to go on", k.EndAt.Format(time.RFC3339))
	}
	if k.TotalBudget-k.SpentTotal < s.UnitPrice {
		add(
			TotalBudgetSpent, "of its total budget %s USD are left, one unit costs up to %s",
			max(0, k.TotalBudget-k.SpentTotal), s.UnitPrice,
		)
	}
	if k.DailyBudget-k.SpentToday < s.UnitPrice {
		add(DailyBudgetSpent, "of today's budget %s USD are left, one unit costs up to %s; it goes on at %s",
			max(0, k.DailyBudget-k.SpentToday), s.UnitPrice, (day.Of(now) + 1).Time().Format(time.RFC3339))
	}
	if s.Balance != nil && *s.Balance < s.UnitPrice {
		add(
			Unfunded, "the account's balance is %s USD, one unit costs up to %s: deposit", max(0, *s.Balance),
			s.UnitPrice,
		)
	}
	if s.NodeVersion < k.ConfigVersion || !a.deps.Catalog.Fresh(now) {
		add(
			NotPropagated, "the node that answers serves by its version %d, the latest is %d: try again in a second",
			s.NodeVersion, k.ConfigVersion,
		)
	}
	return causes
}

// withBudget adds the count of auctions that were refused for want of budget to the cause that says
// so now, or to the day's budget when there is room again.
func withBudget(causes []causeReply, refused int64) []causeReply {
	for i := range causes {
		if slices.Contains([]Cause{TotalBudgetSpent, DailyBudgetSpent, Unfunded}, causes[i].Cause) {
			causes[i].Count = &refused
			return causes
		}
	}
	return append(
		causes,
		causeReply{
			DailyBudgetSpent, &refused,
			"budget or balance had run out in these auctions of the last hour; there is room now",
		},
	)
}

// ofAuctions is what kept it from winning, the most frequent first.
func ofAuctions(k *campaign.Campaign, d report.Delivery, w windowReply, delivers bool) (causes []causeReply) {
	for _, known := range []struct {
		reason  auction.Reason
		cause   Cause
		message string
	}{
		{auction.Outbid, Outbid, "another campaign was worth more in these auctions: raise the bid or target closer"},
		{auction.BelowFloor, BelowFloor, "its effective price of 1,000 impressions was below the publisher's floor"},
		{
			auction.Blocked, Blocked,
			"the publisher blocks its advertiser, its landing domain, one of its categories or a word that it says",
		},
		{auction.Paced, Paced, "its daily budget is being spread over the day"},
		{auction.FrequencyCapped, FrequencyCapped, "the users had seen it often enough"},
	} {
		if n := d.Outcomes[string(known.reason)]; n > 0 {
			causes = append(causes, causeReply{known.cause, &n, known.message})
		}
	}
	slices.SortStableFunc(causes, func(x, y causeReply) int { return cmp.Compare(*y.Count, *x.Count) })
	if w.Candidates > 0 || !delivers {
		return causes
	}
	cause, message := NoMatching,
		"its targeting matched none of these auctions, or what it says was not relevant enough"
	switch {
	case k.Billing() == campaign.VCPM:
		message = "it pays for views, so it is shown only where a view can be reported (browser keys, hosts of MCP " +
			"Apps); of those none matched, or what it says was not relevant enough"
	case anywhere(&k.Targeting):
		cause, message = Irrelevant,
			"what it says was not relevant enough in any of these auctions: say in plain words what people ask for"
	}
	switch {
	case w.Auctions == 0:
		cause, message = NoMatching, "there was no auction in the last hour"
	case d.Truncated > 0:
		message += fmt.Sprintf(
			"; in %d of them there were more candidates than are recorded, so it may have been far behind instead",
			d.Truncated,
		)
	}
	return append(causes, causeReply{cause, &w.Auctions, message})
}

// anywhere says whether targeting keeps no request out, so that only relevance can.
func anywhere(t *campaign.Targeting) bool {
	stated := t.Mode == campaign.Exact && len(t.IntentTokens)+len(t.Keywords) > 0
	return !stated &&
		len(t.ActiveTools)+len(t.HostApps)+len(t.Surfaces)+len(t.IntegrationMethods)+len(t.Regions)+len(t.Languages) ==
			0
}
