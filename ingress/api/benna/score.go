package benna

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"adnet/auction"
	"adnet/auction/index"
	"adnet/auction/ranker"
	"adnet/auction/suitability"
	"adnet/auction/words"
	"adnet/ingress/httpapi"
	"adnet/internal/campaign"
	"adnet/internal/campaign/subject"
	"adnet/internal/compliance/adtext"
	"adnet/internal/errs"
	"adnet/internal/money"
)

const (
	maxList = 256 // values of one list
	maxText = 2000
)

// signalNames are the names of the signals in replies, in the order of the array form.
var signalNames = [...]string{"intent_overlap", "tool_overlap", "host_match"}

// scoreRequest is the body of op=score. The two forms of the specification can be mixed.
type scoreRequest struct {
	Context  *contextBody  `json:"context"`
	Campaign *campaignBody `json:"campaign"`
}

type contextBody struct {
	// The interface form. The contract has the session's length, but the model does not use it.
	Intent     *string  `json:"intent"`
	MCPTool    *string  `json:"mcp_tool"`
	Host       *string  `json:"host"`
	SessionLen *float64 `json:"session_len"` // minutes
	Region     *string  `json:"region"`
	// The advertiser form.
	IntentTokens []string `json:"intent_tokens"`
	ActiveTools  []string `json:"active_tools"`
	HostApp      *string  `json:"host_app"`
	Surface      *string  `json:"surface"`
}

type campaignBody struct {
	// The interface form.
	TargetCPA  *money.Micros  `json:"target_cpa"`
	TargetROAS *money.Micros  `json:"target_roas"`
	Goal       *campaign.Goal `json:"goal"`
	Format     *string        `json:"format"`
	// The advertiser form.
	IntentTokens []string `json:"target_intent_tokens"`
	ActiveTools  []string `json:"target_active_tools"`
	HostApps     []string `json:"target_host_apps"`
	Surfaces     []string `json:"target_surfaces"`
	// The ad's texts, and whether its tokens filter (exact, the default).
	Headline *string                 `json:"headline"`
	Subtext  *string                 `json:"subtext"`
	Mode     *campaign.TargetingMode `json:"targeting_mode"`
	// The bid, under the field names of campaigns.
	BillingModel *string       `json:"billing_model"`
	BidAmount    *money.Micros `json:"bid_amount"`
}

type signalReply struct {
	Signal string  `json:"signal"`
	Weight float64 `json:"weight"`
}

type termReply struct {
	Term   string  `json:"term"`
	Weight float64 `json:"weight"`
}

// termsOf returns the terms with a positive weight.
func termsOf(p *ranker.Prediction) []termReply {
	list := []termReply{}
	for _, earned := range p.Terms {
		if earned.By > 0 {
			list = append(list, termReply{Term: earned.Term, Weight: share(earned.By)})
		}
	}
	return list
}

type scoreReply struct {
	ModelVersion  string       `json:"model_version"`
	Bid           money.Micros `json:"bid_usd"` // effective price of 1,000 impressions
	PClick        float64      `json:"p_click"`
	PConvert      float64      `json:"p_convert"`
	Relevance     float64      `json:"relevance"` // probability that the ad fits the context
	Contributions any          `json:"signal_contributions"`
	Terms         []termReply  `json:"terms"` // with the highest weights
	Latency       float64      `json:"latency_ms"`
	Eligible      bool         `json:"eligible"` // whether an auction would consider the campaign
	Mismatch      string       `json:"mismatch,omitempty"`
	Suitability   verdict      `json:"suitability"` // whether the context is suitable for ads
}

// verdict is the suitability verdict that auctions reach for the words of the context.
type verdict struct {
	Tier    subject.Tier `json:"tier"`
	Subject string       `json:"subject,omitempty"` // empty for ordinary subjects
}

// judge returns the verdict for the words of the context. It stores none of them.
func (in *scoreRequest) judge() verdict {
	var read suitability.Reader
	if in.Context != nil {
		if in.Context.Intent != nil {
			read.Read(*in.Context.Intent, suitability.User)
		}
		read.Read(strings.Join(in.Context.IntentTokens, " "), suitability.User)
	}
	v := read.Verdict()
	return verdict{Tier: v.Tier(), Subject: v.Subject().String()}
}

// score serves op=score. Its latency includes the time to read the body.
func (a *API) score(c *gin.Context) error {
	started := a.deps.Now()
	var in scoreRequest
	if err := httpapi.Decode(c, &in); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	priced, err := in.Campaign.bid()
	if err != nil {
		return err
	}
	p, mismatch := in.predict(a.deps.Snapshot(), priced)
	now := a.deps.Now()
	a.deps.Diagnostics.scored(now.Sub(started), now)
	return httpapi.JSON(c, http.StatusOK, scoreReply{
		ModelVersion: p.ModelVersion, Bid: p.Bid, PClick: chance(p.PClick), PConvert: chance(p.PConvert),
		Relevance: chance(p.Relevance), Contributions: in.contributions(p.Contributions), Terms: termsOf(&p),
		Latency: milliseconds(now.Sub(started)), Suitability: in.judge(),
		Eligible: mismatch == "", Mismatch: mismatch,
	})
}

// checkOptional checks a body that may be missing.
func checkOptional(c *gin.Context) error {
	return httpapi.ReadBody(c, func(body []byte) error {
		if len(body) == 0 {
			return nil
		}
		var in scoreRequest
		if err := httpapi.Unmarshal(body, &in); err != nil {
			return err
		}
		return in.check()
	})
}

// contributions returns an array for the advertiser form and an object for the interface form.
func (in *scoreRequest) contributions(c ranker.Contributions) any {
	weights := [len(signalNames)]float64{share(c.IntentOverlap), share(c.ToolOverlap), share(c.HostMatch)}
	if in.advertiserForm() {
		list := make([]signalReply, len(signalNames))
		for i, name := range signalNames {
			list[i] = signalReply{Signal: name, Weight: weights[i]}
		}
		return list
	}
	object := make(map[string]float64, len(signalNames))
	for i, name := range signalNames {
		object[name] = weights[i]
	}
	return object
}

// advertiserForm decides by the context, or by the campaign if the context has no fields.
func (in *scoreRequest) advertiserForm() bool {
	x, k := in.Context, in.Campaign
	if x.IntentTokens != nil || x.ActiveTools != nil || x.HostApp != nil || x.Surface != nil {
		return true
	}
	if x.Intent != nil || x.MCPTool != nil || x.Host != nil || x.SessionLen != nil || x.Region != nil {
		return false
	}
	return k.IntentTokens != nil || k.ActiveTools != nil || k.HostApps != nil || k.Surfaces != nil
}

// predict scores the campaign like an auction, with the words of the catalog's campaigns. A
// campaign that fails a filter would not enter an auction; predict returns the name of that filter
// as mismatch and scores the campaign without it.
func (in *scoreRequest) predict(x *auction.Snapshot, c auction.Campaign) (p ranker.Prediction, mismatch string) {
	query := in.query()
	matcher := index.NewMatcher(x, &query)
	t := in.Campaign.targeting()
	c.Targeting = &t
	c.Headline, c.Subtext = text(in.Campaign.Headline), text(in.Campaign.Subtext)
	found, failed, ok := matcher.Match(&c)
	for mismatch = failed; !ok; found, failed, ok = matcher.Match(&c) {
		left := *c.Targeting
		switch failed {
		case "target_intent_tokens":
			left.Exact = false
		case "target_active_tools":
			left.ActiveTools = nil
		case "target_host_apps":
			left.HostApps = nil
		default:
			left.Surfaces = nil
		}
		c.Targeting = &left
	}
	table := x.Table()
	p = table.Predict(c.Billing, c.Bid, found.Signals)
	p.Bid = c.Value(&table, p.Relevance)
	p.ModelVersion, p.Terms = x.Model(), found.Terms
	return p, mismatch
}

// query converts the context to the query of an auction.
func (in *scoreRequest) query() index.Query {
	x := in.Context
	query := index.Query{
		Tokens: x.IntentTokens, ActiveTools: x.ActiveTools, HostApp: firstText(x.HostApp, x.Host),
		Surface: text(x.Surface),
	}
	if tool := text(x.MCPTool); tool != "" {
		query.ActiveTools = append(slices.Clone(query.ActiveTools), tool)
	}
	if intent := text(x.Intent); intent != "" {
		var r words.Reader
		r.ReadContext(intent)
		query.Words = r.Terms()
	}
	return query
}

// targeting returns the campaign's targeting.
func (k *campaignBody) targeting() auction.Targeting {
	return auction.Targeting{
		Exact: k.Mode == nil || *k.Mode == campaign.Exact, IntentTokens: k.IntentTokens, ActiveTools: k.ActiveTools,
		HostApps: k.HostApps, Surfaces: k.Surfaces,
	}
}

// bid returns the campaign's billing model and bid, without texts and targeting. With the goal
// target_cpa the target is target_cpa and bid_amount is the cap. Otherwise the bid is bid_amount,
// target_cpa per conversion, or the default bid of campaigns.
func (k *campaignBody) bid() (auction.Campaign, error) {
	billing, stated := ranker.CPM, k.BillingModel != nil
	if stated {
		var ok bool
		if billing, ok = ranker.ParseBilling(*k.BillingModel); !ok || billing == ranker.VCPM {
			return auction.Campaign{}, invalid("campaign.billing_model", "must be cpm, cpc or cpa")
		}
	}
	c := auction.Campaign{Billing: billing, Bid: campaign.DefaultBid}
	target := k.TargetCPA != nil && *k.TargetCPA > 0
	switch {
	case target && billing == ranker.CPM && k.Goal != nil && *k.Goal == campaign.GoalTargetCPA:
		c.Bid, c.Aim = campaign.MaxBid, *k.TargetCPA
		if k.BidAmount != nil {
			c.Bid = *k.BidAmount
		}
	case k.BidAmount != nil:
		c.Bid = *k.BidAmount
	case target && (!stated || billing == ranker.CPA):
		c.Billing, c.Bid = ranker.CPA, *k.TargetCPA
	}
	return c, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func firstText(a, b *string) string {
	if t := text(a); t != "" {
		return t
	}
	return text(b)
}

func (in *scoreRequest) check() error {
	switch {
	case in.Context == nil:
		return invalid(
			"context",
			"is required: an object with intent, mcp_tool, host … or intent_tokens, active_tools, host_app, surface",
		)
	case in.Campaign == nil:
		return invalid(
			"campaign",
			"is required: an object with target_cpa, goal, format … or target_intent_tokens, target_active_tools …",
		)
	}
	if err := in.Context.check(); err != nil {
		return err
	}
	return in.Campaign.check()
}

func (x *contextBody) check() error {
	for _, v := range [...]struct {
		field string
		value *string
	}{
		{"intent", x.Intent}, {"mcp_tool", x.MCPTool}, {"host", x.Host}, {"region", x.Region}, {"host_app", x.HostApp},
		{"surface", x.Surface},
	} {
		if err := checkText("context."+v.field, text(v.value)); err != nil {
			return err
		}
	}
	if x.SessionLen != nil && *x.SessionLen < 0 {
		return invalid("context.session_len", "must not be negative")
	}
	return checkLists("context.", list{"intent_tokens", x.IntentTokens}, list{"active_tools", x.ActiveTools})
}

func (k *campaignBody) check() error {
	goals := []campaign.Goal{
		campaign.GoalTargetCPA, campaign.GoalTargetROAS, campaign.GoalMaxConversions, campaign.GoalManual,
	}
	switch {
	case k.TargetCPA != nil && (*k.TargetCPA < 0 || *k.TargetCPA > campaign.MaxTotalBudget):
		return invalid("campaign.target_cpa", "must be from 0 to %s USD", campaign.MaxTotalBudget)
	case k.TargetROAS != nil && *k.TargetROAS < 0:
		return invalid("campaign.target_roas", "must not be negative")
	case k.BidAmount != nil && (*k.BidAmount < campaign.MinBid || *k.BidAmount > campaign.MaxBid):
		return invalid("campaign.bid_amount", "must be from %s to %s USD", campaign.MinBid, campaign.MaxBid)
	case k.Mode != nil && *k.Mode != campaign.Broad && *k.Mode != campaign.Exact:
		return invalid("campaign.targeting_mode", "must be broad or exact")
	case k.Goal != nil && !slices.Contains(goals, *k.Goal):
		return invalid("campaign.goal", "must be target_cpa, target_roas, max_conversions or manual")
	}
	if k.Format != nil {
		if _, ok := index.ParseFormat(*k.Format); !ok {
			return invalid("campaign.format", "must be image, video or native")
		}
	}
	for _, v := range [...]struct {
		field string
		value *string
	}{{"headline", k.Headline}, {"subtext", k.Subtext}} {
		if err := checkText("campaign."+v.field, text(v.value)); err != nil {
			return err
		}
	}
	return checkLists(ofCampaign, list{
		"target_intent_tokens", k.IntentTokens,
	}, list{"target_active_tools", k.ActiveTools},
		list{"target_host_apps", k.HostApps}, list{"target_surfaces", k.Surfaces})
}

type list struct {
	field  string
	values []string
}

// ofCampaign is the parent of the lists that restrict: a blank value in them is an error.
const ofCampaign = "campaign."

func checkLists(parent string, lists ...list) error {
	for _, l := range lists {
		if len(l.values) > maxList {
			return invalid(parent+l.field, "may hold at most %d values", maxList)
		}
		for i, value := range l.values {
			if err := checkText(parent+l.field, value); err != nil {
				return err
			}
			if parent == ofCampaign && adtext.Blank(value) {
				return errs.New(
					errs.InvalidRequest, "%s[%d] has no text: leave it out", parent+l.field, i,
				).At(parent+l.field, i)
			}
		}
	}
	return nil
}

func checkText(field, value string) error {
	if len(value) > maxText {
		return invalid(field, "must be at most %d bytes", maxText)
	}
	if strings.IndexByte(value, 0) >= 0 {
		return invalid(field, "must not hold NUL characters")
	}
	return nil
}

func invalid(field, format string, args ...any) error {
	return errs.New(errs.InvalidRequest, field+" "+format, args...).With("field", field)
}
