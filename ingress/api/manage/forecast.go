package manage

import (
	"github.com/gin-gonic/gin"

	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/day"
	"adnet/internal/money"
	"adnet/internal/report"
)

type forecastReply struct {
	Since    string `json:"since"` // UTC day, included
	Until    string `json:"until"` // UTC day, included
	Requests int64  `json:"requests_per_day"`
	// WordsCounted is always false: words of requests are not stored.
	WordsCounted bool          `json:"words_counted"`
	Price        *pricesReply  `json:"price_cpm_usd"` // null if it would reveal data of a single advertiser
	Share        *float64      `json:"won_share"`
	Impressions  *int64        `json:"impressions_per_day"`
	Spend        *money.Micros `json:"spend_per_day_usd"`
	Hidden       string        `json:"hidden,omitempty"`
	// Refused is not part of any other number.
	Refused        []report.RefusedPlaces `json:"refused"`
	RefusedCounted string                 `json:"refused_counted"`
}

type pricesReply struct {
	P25 money.Micros `json:"p25"`
	P50 money.Micros `json:"p50"`
	P75 money.Micros `json:"p75"`
}

// forecastCampaign estimates the reach of a campaign from the auctions of the last 28 whole days
// and today. It stores nothing. It uses targeting and bid only, so the draft may lack a creative.
func (a *API) forecastCampaign(c *gin.Context, caller account.User, in draft) (reply forecastReply, err error) {
	would, err := a.deps.Campaigns.Plan(in.In)
	if err != nil {
		return reply, err
	}
	today := day.Of(a.deps.Now())
	places := report.Places{
		Since: today - report.ForecastDays, Until: today, HostApps: would.HostApps, Surfaces: would.Surfaces,
		Methods: would.IntegrationMethods,
		Regions: would.Regions, Languages: would.Languages,
	}
	won, err := a.deps.Stats.Requests(c.Request.Context(), places)
	if err != nil {
		return reply, err
	}
	refused, err := a.deps.Stats.RefusedAt(c.Request.Context(), places)
	if err != nil {
		return reply, err
	}
	bid := would.BidAmount
	if would.Billing() != campaign.CPM {
		bid = 0 // the value of 1,000 impressions in clicks or views is unknown before the first ones
	}
	f := report.ForecastOf(caller.ID, bid, won, report.ForecastDays)
	reply = forecastReply{
		Since: places.Since.String(), Until: places.Until.String(), Requests: f.Requests, Refused: refused,
		RefusedCounted: report.RefusedCounted,
	}
	switch {
	case f.Requests == 0:
		reply.Hidden = "too_few_requests"
	case len(f.Prices) != 3:
		reply.Hidden = "too_few_advertisers"
	default:
		reply.Price = &pricesReply{f.Prices[0], f.Prices[1], f.Prices[2]}
	}
	if reply.Price != nil && would.Billing() == campaign.CPM {
		reply.sell(f, &would)
	}
	return reply, nil
}

// sell computes the impressions and the spend that the bid would buy within the daily budget.
func (r *forecastReply) sell(f report.Forecast, c *campaign.Campaign) {
	impressions := int64(f.Share * float64(f.Requests))
	affordable := int64(c.DailyBudget / max(c.BidAmount/1000, 1))
	impressions = min(impressions, affordable)
	spend := (c.BidAmount / 1000) * money.Micros(impressions)
	r.Share, r.Impressions, r.Spend = &f.Share, &impressions, &spend
}
