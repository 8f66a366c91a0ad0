package explain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/auction"
	"adnet/auction/ranker"
	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/report"
)

// Cause is a reason why a campaign does not deliver. The values are part of the API contract.
type Cause string

// The complete list of causes. Those up to [NotPropagated] describe the campaign as it is now; the
// others describe the auctions of the last hour.
const (
	NotActive        Cause = "not_active"
	PolicyViolations Cause = "policy_violations"
	Unreviewed       Cause = "unreviewed" // a reviewer has not approved its current version
	NotStarted       Cause = "not_started"
	Ended            Cause = "ended"
	TotalBudgetSpent Cause = "total_budget_spent"
	DailyBudgetSpent Cause = "daily_budget_spent"
	Unfunded         Cause = "unfunded"
	Unpaid           Cause = "unpaid"         // it owes too much for what it was shown, see internal/ledger/owed
	NotPropagated    Cause = "not_propagated" // the answering node does not serve the campaign's latest state yet
	NoMatching       Cause = "no_matching_requests"
	Outbid           Cause = "outbid"
	Irrelevant       Cause = "irrelevant" // its text did not answer the requests it was eligible for
	BelowFloor       Cause = "below_floor"
	Blocked          Cause = "blocked"
	Paced            Cause = "paced"
	Unseen           Cause = "unseen"
	FrequencyCapped  Cause = "frequency_capped"
	OK               Cause = "ok"
)

// counted describes the scope of the counts. An auction checks candidates only until one may win,
// so counting every loser would make each request check all of them.
const counted = "auctions in which the campaign was one of the up to 10 best recorded candidates: those refused " +
	"before the winner, the winner, and the next 3 after it; " +
	"where sampled is true it may have lost more auctions with a lower rank"

// window is the period over which auctions are counted.
const window = time.Hour

// refusedDays is the number of days, today included, over which refused requests are counted.
const refusedDays = 7

type causeReply struct {
	Cause   Cause  `json:"cause"`
	Count   *int64 `json:"count"` // in the window; null if nothing is countable
	Message string `json:"message"`
}

type windowReply struct {
	Since      time.Time `json:"since"`
	Until      time.Time `json:"until"`
	Auctions   int64     `json:"auctions"`   // of the whole network
	Candidates int64     `json:"considered"` // auctions in which the campaign is among the recorded candidates
	Won        int64     `json:"won"`
	Sampled    bool      `json:"sampled"`   // some auctions may have had unrecorded candidates
	Truncated  int64     `json:"truncated"` // number of such auctions
	Counted    string    `json:"counted"`   // scope of the counts
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
	// prepaid balance left; null if the campaign is not prepaid
	Balance *money.Micros `json:"balance_usd"`
	// relative to the network's; null if its bids do not depend on it, or nothing was learnt
	ClickRate      *float64 `json:"click_rate"`
	ConversionRate *float64 `json:"conversion_rate"`
	// null if it takes part in all of its auctions
	Bound         *campaign.DeliveryBound `json:"bound"`
	ConfigVersion int64                   `json:"config_version"`
	NodeVersion   int64                   `json:"node_config_version"` // served by the answering node; 0 for none
}

type diagnosis struct {
	CampaignID uuid.UUID    `json:"campaign_id"`
	Delivers   bool         `json:"delivers"` // nothing in the campaign itself keeps it from serving
	Causes     []causeReply `json:"causes"`   // most important first, never empty
	Window     windowReply  `json:"window"`
	Refused    refusedReply `json:"refused"`
	State      stateReply   `json:"state"`
}

// refusedReply counts the refused conversations at the campaign's placements.
type refusedReply struct {
	Since    string                 `json:"since"` // UTC day, inclusive
	Until    string                 `json:"until"` // UTC day, inclusive
	Counted  string                 `json:"counted"`
	Subjects []report.RefusedPlaces `json:"subjects"`
}

// diagnose serves GET /api/campaigns/{id}/diagnose.
func (a *API) diagnose(c *gin.Context, caller account.User, in httpapi.ID) (reply diagnosis, err error) {
	k, err := a.deps.Campaigns.Get(c.Request.Context(), caller, in.ID)
	if err != nil {
		return reply, err
	}
	now := a.deps.Now().UTC()
	delivery, err := a.deps.History.Delivery(c.Request.Context(), in.ID, since(&k, now), now)
	if err != nil {
		return reply, err
	}
	places := report.Places{
		Since: day.Of(now) - refusedDays + 1, Until: day.Of(now), HostApps: k.HostApps, Surfaces: k.Surfaces,
		Methods: k.IntegrationMethods, Languages: k.Languages,
	}
	refused, err := a.deps.History.RefusedAt(c.Request.Context(), places)
	if err != nil {
		return reply, err
	}
	reply = a.diagnosis(&k, delivery, now)
	reply.Refused = refusedReply{places.Since.String(), places.Until.String(), report.RefusedCounted, refused}
	return reply, nil
}

// since returns the begin of the period over which auctions are counted for k. It had no part in
// those before its creation. Auctions are stored to the second, so its first second is left out.
func since(k *campaign.Campaign, now time.Time) time.Time {
	created := k.CreatedAt.Add(time.Second - 1).Truncate(time.Second)
	if from := now.Add(-window); from.After(created) {
		return from
	}
	if created.After(now) {
		return now
	}
	return created
}

func (a *API) diagnosis(k *campaign.Campaign, d report.Delivery, now time.Time) diagnosis {
	state := a.state(k)
	own := a.ofCampaign(k, state, now)
	r := diagnosis{
		CampaignID: k.ID, Delivers: len(own) == 0, State: state,
		Window: windowReply{
			Since: since(k, now), Until: now, Auctions: d.Auctions, Won: d.Outcomes[""],
			Sampled: d.Truncated > 0, Truncated: d.Truncated, Counted: counted,
		},
	}
	for _, n := range d.Outcomes {
		r.Window.Candidates += n
	}
	ofAuctions := ofAuctions(k, d, r.Window, len(own) == 0)
	if refused := d.Outcomes[string(auction.Budget)]; refused > 0 {
		own = withBudget(own, refused, a.openOf(k))
	}
	if message := waits(k); message != "" && r.Delivers {
		own = append(own, causeReply{Cause: Unreviewed, Message: message})
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
	s := stateReply{
		Status: k.Status, PolicyViolations: k.PolicyViolations, BillingModel: k.BillingModel, BidAmount: k.BidAmount,
		UnitPrice:   k.UnitPrice(),
		DailyBudget: k.DailyBudget, SpentToday: k.SpentToday, TotalBudget: k.TotalBudget, SpentTotal: k.SpentTotal,
		CreditFunded: k.CreditFunded, ConfigVersion: k.ConfigVersion,
	}
	if k.ByConversions() || k.BillingModel == campaign.CPC {
		s.ClickRate = ownRate(k.Standing.ClickRate)
	}
	if k.ByConversions() {
		s.ConversionRate = ownRate(k.Standing.ConvertRate)
	}
	s.Bound = k.Standing.Bound.Displayed()
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

// ownRate returns a rate ÷ the network's, nil if it is unknown.
func ownRate(ppm int64) *float64 {
	if ppm == 0 {
		return nil
	}
	rate := float64(ppm) / float64(ranker.Certain)
	return &rate
}

// bounds are the messages of the bounds.
var bounds = map[campaign.Bound]string{
	campaign.Unproven: "it and its account's other campaigns have shown as many ads as they may before a first charged " +
		"click or conversion",
	campaign.Behind: "far fewer clicks or conversions were charged than its ads let expect",
}

// ofCampaign returns the causes in the campaign's current state.
func (a *API) ofCampaign(k *campaign.Campaign, s stateReply, now time.Time) (causes []causeReply) {
	add := func(cause Cause, format string, args ...any) {
		causes = append(causes, causeReply{Cause: cause, Message: fmt.Sprintf(format, args...)})
	}
	if k.Status != campaign.Active {
		add(NotActive, "its status is %s", k.Status)
	}
	// With findings it delivers everywhere if the version approved last goes on.
	if n := int64(len(k.PolicyViolations)); n > 0 && k.Reach != campaign.Everywhere {
		add(PolicyViolations, "its creative breaks the policy: %s", k.PolicyViolations[0].Message)
		causes[len(causes)-1].Count = &n
	}
	if k.Delivers() && k.Reach == campaign.Nowhere {
		add(Unreviewed, "%s", waits(k))
	}
	if !k.Started(now) {
		add(NotStarted, "it starts at %s: change start_at, or wait", k.StartAt.Format(time.RFC3339))
	}
	if k.Ended(now) {
		add(Ended, "it ended at %s: change end_at to go on", k.EndAt.Format(time.RFC3339))
	}
	if k.SpentOut() {
		add(
			TotalBudgetSpent, "%s USD of its total budget are left; one unit costs up to %s",
			max(0, k.TotalBudget-k.SpentTotal), s.UnitPrice,
		)
	}
	if k.DayOut() {
		add(DailyBudgetSpent, "%s USD of today's budget are left; one unit costs up to %s; it continues at %s",
			max(0, k.DailyBudget-k.SpentToday), s.UnitPrice, (day.Of(now) + 1).Time().Format(time.RFC3339))
	}
	if s.Balance != nil && k.Short(*s.Balance) {
		add(
			Unfunded, "the account's balance is %s USD; one unit costs up to %s: make a deposit", max(0, *s.Balance),
			s.UnitPrice,
		)
	}
	if s.Bound != nil {
		add(
			Unpaid, "%s, so it takes part in less than a hundredth of its auctions until it holds again: %s",
			bounds[s.Bound.Reason], s.Bound.Cure,
		)
	}
	if s.NodeVersion < k.ConfigVersion || !a.deps.Catalog.Fresh(now) {
		add(
			NotPropagated, "the answering node serves its version %d, the latest is %d: try again in a second",
			s.NodeVersion, k.ConfigVersion,
		)
	}
	return causes
}

// waits returns where k delivers until a reviewer has approved its current version, empty if that
// makes no difference.
func waits(k *campaign.Campaign) string {
	const until = "no reviewer has approved its current version: until then "
	switch {
	case k.Reviewed:
		return ""
	case k.Reach == campaign.Pages:
		return until + "it is shown in pages and banners, and not where a model reads it (MCP, REST, server SDKs)"
	case k.Approved != nil && k.Delivers():
		return until + "the version approved last is shown where a model reads it (MCP, REST, server SDKs)"
	case k.Approved != nil:
		return until + "the version approved last is shown in its place"
	case k.Reach == campaign.Nowhere:
		return until + "it is shown nowhere"
	}
	return ""
}

// openOf returns the most that may be reserved at a time for k, 0 for no limit.
func (a *API) openOf(k *campaign.Campaign) money.Micros {
	room, _ := a.deps.Catalog.Room(k.ID)
	return room.Open
}

// withBudget adds the count of auctions refused for lack of budget to the cause that reports that
// now. If there is budget, the cause is open, the most that may be reserved at a time; without such
// a limit it is the daily budget that was spent.
func withBudget(causes []causeReply, refused int64, open money.Micros) []causeReply {
	for i := range causes {
		if slices.Contains([]Cause{TotalBudgetSpent, DailyBudgetSpent, Unfunded}, causes[i].Cause) {
			causes[i].Count = &refused
			return causes
		}
	}
	if open > 0 {
		return append(causes, causeReply{Unpaid, &refused, fmt.Sprintf(
			"before a first charged click or conversion its ads that wait for one may be worth %s USD at a time, and "+
				"they were: wait until they expire, or %s", open, campaign.CureOfBound,
		)})
	}
	return append(
		causes,
		causeReply{
			DailyBudgetSpent, &refused,
			"budget or balance had run out in these auctions of the last hour; both are sufficient now",
		},
	)
}

// ofAuctions returns the causes that kept it from winning, most frequent first.
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
			"the publisher blocks its advertiser, its landing domain, one of its categories or a word in its texts",
		},
		{auction.Paced, Paced, "its daily budget is being spread over the day"},
		{
			auction.Unseen, Unseen,
			"its daily budget was held by ads that were not shown: a publisher that shows few of its ads gets no more",
		},
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
		"its targeting matched none of these auctions, or its texts were not relevant enough"
	switch {
	case k.Billing() == campaign.VCPM:
		message = "it pays for views, so it is shown only where views can be reported (browser keys, hosts of MCP " +
			"Apps); none of those matched, or its texts were not relevant enough"
	case anywhere(&k.Targeting):
		cause, message = Irrelevant,
			"its texts were not relevant enough in any of these auctions: describe in plain words what people ask for"
	}
	switch {
	case w.Auctions == 0:
		cause, message = NoMatching, "there was no auction in the last hour"
		if w.Until.Sub(w.Since) < window {
			message = "there was no auction since it was created"
		}
	case d.Truncated > 0:
		message += fmt.Sprintf(
			"; %d of them had more candidates than are recorded, so it may have ranked lower instead",
			d.Truncated,
		)
	}
	return append(causes, causeReply{cause, &w.Auctions, message})
}

// anywhere reports whether targeting excludes no request, so that only relevance can.
func anywhere(t *campaign.Targeting) bool {
	stated := t.Mode == campaign.Exact && len(t.IntentTokens)+len(t.Keywords) > 0
	return !stated &&
		len(t.ActiveTools)+len(t.HostApps)+len(t.Surfaces)+len(t.IntegrationMethods)+len(t.Regions)+len(t.Languages) ==
			0
}
