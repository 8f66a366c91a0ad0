package manage

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/errs"
)

// Page sizes of the campaign list.
const (
	defaultLimit = 50
	maxLimit     = 500
)

type createRequest struct {
	campaign.Fields
	AdvertiserID string          `json:"advertiser_id"`
	Status       campaign.Status `json:"status"`
	UseAdCredit  bool            `json:"use_ad_credit"`
}

type policyReply struct {
	OK         bool                 `json:"ok"`
	Violations []campaign.Violation `json:"violations"`
}

func policyOf(k campaign.Campaign) policyReply {
	return policyReply{OK: len(k.PolicyViolations) == 0, Violations: k.PolicyViolations}
}

// ofPage are the parameters of a page of campaigns; more are added.
func ofPage(more httpapi.Params) httpapi.Params {
	params := httpapi.Params{
		"advertiser_id": httpapi.IDForm, "shape": httpapi.WordForm("object", "array"),
		"limit": httpapi.NumberForm(1, maxLimit), "offset": httpapi.NumberForm(0, httpapi.MaxOffset),
	}
	maps.Copy(params, more)
	return params
}

var (
	ofCampaigns = ofPage(httpapi.Params{
		"id":     httpapi.IDForm,
		"status": httpapi.WordForm("draft", "in_review", "pending_review", "active", "paused", "rejected", "archived"),
	})
	ofQueue = ofPage(httpapi.Params{"reason": httpapi.WordForm(campaign.FieldNamed("review_reason").Values...)})
	// ofTarget is the parameter of actions whose input is a target.
	ofTarget = httpapi.Params{"id": httpapi.IDForm}
)

func (a *API) mountCampaigns(s *httpapi.Server) {
	queries := httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken, Idempotent: httpapi.No, Audited: httpapi.No,
	}
	scans, judges, moves := queries, queries, with(changes, ofTarget)
	scans.Scans, judges.Judges = true, true
	s.HandleActions(http.MethodGet, "/api/campaigns", httpapi.Actions{Param: "action", Of: map[string]httpapi.Action{
		"": {Do: httpapi.Do(a.listCampaigns)}, "list": {Do: httpapi.Do(a.listCampaigns)},
		"review_queue": {Do: httpapi.Do(a.reviewQueue), Policy: with(ofReviewer(reads), ofQueue)},
	}}, with(reads, ofCampaigns))
	s.HandleActions(http.MethodPost, "/api/campaigns", httpapi.Actions{Param: "action", Of: map[string]httpapi.Action{
		"": {Do: httpapi.Do(a.createCampaign)}, "create": {Do: httpapi.Do(a.createCampaign)},
		"update":  {Do: httpapi.Do(a.updateCampaign)},
		"pause":   {Do: a.moveCampaign((*campaign.Service).Pause), Policy: moves},
		"resume":  {Do: a.moveCampaign((*campaign.Service).Resume), Policy: moves},
		"submit":  {Do: a.moveCampaign((*campaign.Service).Submit), Policy: moves},
		"archive": {Do: a.moveCampaign((*campaign.Service).Archive), Policy: moves},
		"copy":    {Do: httpapi.Do(a.copyCampaign), Policy: moves},
		"review":  {Do: httpapi.Do(a.reviewCampaign), Policy: ofReviewer(changes)},
		// No Idempotency-Key: these store nothing.
		"check":    {Do: httpapi.Do(a.checkCampaign), Policy: judges},
		"forecast": {Do: httpapi.Do(a.forecastCampaign), Policy: scans},
	}}, changes)
	s.Handle(http.MethodGet, "/api/campaigns/:id", httpapi.Do(a.getCampaign), reads)
	s.Handle(http.MethodPatch, "/api/campaigns/:id", httpapi.Do(a.updateCampaign), changes)
	s.Handle(http.MethodPatch, "/api/campaigns", httpapi.Do(a.updateCampaign), changes)
}

func (a *API) createCampaign(c *gin.Context, caller account.User, in createRequest) (reply httpapi.Reply, err error) {
	advertiser, err := httpapi.ParseID("advertiser_id", in.AdvertiserID)
	if err != nil {
		return reply, err
	}
	if in.Status != "" && in.Status != campaign.Draft {
		return reply, errs.New(
			errs.InvalidRequest, "status can only be draft at creation; later states follow from review",
		).With("field", "status")
	}
	created, err := a.deps.Campaigns.Create(c.Request.Context(), caller, campaign.Create{
		Fields: in.Fields, AdvertiserID: advertiser, Draft: in.Status == campaign.Draft, UseAdCredit: in.UseAdCredit,
	})
	if err != nil {
		return reply, err
	}
	return a.answerCreated(c, caller, created), nil
}

// copyCampaign creates a draft as a copy of another campaign of the caller.
func (a *API) copyCampaign(c *gin.Context, caller account.User, in target) (reply httpapi.Reply, err error) {
	created, err := a.deps.Campaigns.Copy(c.Request.Context(), caller, in.id)
	if err != nil {
		return reply, err
	}
	return a.answerCreated(c, caller, created), nil
}

func (a *API) answerCreated(c *gin.Context, caller account.User, created campaign.Created) httpapi.Reply {
	created.Campaign = created.Campaign.For(caller)
	tag(c, &created.Campaign)
	reply := httpapi.Object{
		"campaign": created.Campaign, "policy": policyOf(created.Campaign), "auto_approved": created.AutoApproved,
	}
	if created.WaitsFor != "" {
		reply["review_reason"] = created.WaitsFor
	}
	if created.Unfunded {
		reply["unfunded"] = true
	}
	return httpapi.With(http.StatusCreated, reply)
}

// draft is a campaign that is not stored.
type draft = httpapi.AsRead[campaign.Fields, campaign.Sent]

// checkCampaign returns the policy verdict that creation would return. It stores nothing.
func (a *API) checkCampaign(_ *gin.Context, _ account.User, in draft) (httpapi.Object, error) {
	would, err := a.deps.Campaigns.Check(in.In)
	if err != nil {
		return nil, err
	}
	return httpapi.Object{"policy": policyOf(would)}, nil
}

func (a *API) listCampaigns(c *gin.Context, caller account.User, page httpapi.Page) (any, error) {
	if c.Query("id") != "" {
		found, err := a.deps.Campaigns.Get(c.Request.Context(), caller, httpapi.QueryID(c, "id"))
		if err != nil {
			return nil, err
		}
		return answerList(c, []campaign.Campaign{found.For(caller)}, 1, httpapi.Page{Limit: 1}), nil
	}
	found, total, err := a.deps.Campaigns.List(c.Request.Context(), caller, filterOf(c, page))
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i] = found[i].For(caller)
	}
	return answerList(c, found, total, page), nil
}

func filterOf(c *gin.Context, page httpapi.Page) campaign.Filter {
	f := campaign.Filter{
		Status: campaign.Status(c.Query("status")), AdvertiserID: httpapi.QueryID(c, "advertiser_id"),
		Queued: campaign.Queued(c.Query("reason")), Limit: page.Limit, Offset: page.Offset,
	}
	if f.Status == "pending_review" {
		f.Status = campaign.InReview
	}
	return f
}

// answerList returns the object form, or for shape=array the bare array of the interface
// description.
func answerList(c *gin.Context, list []campaign.Campaign, total int, page httpapi.Page) any {
	if list == nil {
		list = []campaign.Campaign{}
	}
	if c.Query("shape") == "array" {
		return list
	}
	return httpapi.Object{"campaigns": list, "total": total, "limit": page.Limit, "offset": page.Offset}
}

func (a *API) getCampaign(c *gin.Context, caller account.User, in httpapi.ID) (httpapi.Object, error) {
	found, err := a.deps.Campaigns.Get(c.Request.Context(), caller, in.ID)
	if err != nil {
		return nil, err
	}
	found = found.For(caller)
	tag(c, &found)
	return httpapi.Object{"campaign": found, "policy": policyOf(found)}, nil
}

// updateRequest is a partial change of a campaign.
type updateRequest struct {
	campaign.Fields
	ID      *string          `json:"id"`
	Status  *campaign.Status `json:"status"`
	Version *int64           `json:"config_version"` // a precondition, like If-Match
}

// Read implements [httpapi.Input].
func (in *updateRequest) Read(c *gin.Context) error {
	return httpapi.DecodePatch(c, in, campaign.Defaults(), campaign.Campaign{})
}

// updateCampaign serves PATCH /api/campaigns/{id}, and action=update with the id in the body.
// Fields that the owner may not set (spent amounts, advertiser, funding) are not read. The only
// valid status is "paused", besides the present one of a campaign that is sent back as read.
func (a *API) updateCampaign(c *gin.Context, caller account.User, in updateRequest) (httpapi.Object, error) {
	id, err := oneID(c.Param("id"), in.ID)
	if err != nil {
		return nil, err
	}
	pause, err := a.pauses(c, caller, id, in.Status)
	if err != nil {
		return nil, err
	}
	campaigns, err := a.unlessChanged(c, in.Version)
	if err != nil {
		return nil, err
	}
	edit := campaign.Edit{Fields: in.Fields, Pause: pause}
	changed, err := campaigns.Update(c.Request.Context(), caller, id, edit)
	if err != nil {
		return nil, stale(c, caller, err)
	}
	return answerChanged(c, caller, changed), nil
}

// pauses reports whether an update to a status pauses the campaign. Any other status must be the one
// that the campaign has, and changes nothing. Errors: errs.InvalidRequest for another one.
func (a *API) pauses(c *gin.Context, caller account.User, id uuid.UUID, to *campaign.Status) (bool, error) {
	if to == nil || *to == campaign.Paused {
		return to != nil, nil
	}
	of, err := a.deps.Campaigns.Get(c.Request.Context(), caller, id)
	if err == nil && of.Status != *to {
		err = errs.New(
			errs.InvalidRequest, "status can only be set to paused here; use the actions resume, submit and archive",
		).With("field", "status")
	}
	return false, err
}

// unlessChanged returns the service with the preconditions of c: the header If-Match, and the
// config version in the body, if it has one.
func (a *API) unlessChanged(c *gin.Context, version *int64) (*campaign.Service, error) {
	tags, err := httpapi.IfMatch(c)
	if err != nil {
		return nil, err
	}
	service := a.deps.Campaigns
	if tags != nil {
		only := campaign.Versions{}
		for _, tag := range tags {
			if v, err := strconv.ParseInt(tag, 10, 64); err == nil && tag == strconv.FormatInt(v, 10) {
				only = append(only, v)
			}
		}
		service = service.If(only)
	}
	if version != nil {
		service = service.If(campaign.Versions{*version})
	}
	return service, nil
}

// tag sets the ETag of k. It changes with the settings, status and review of a campaign, not with
// the amounts spent or what charges show about it.
func tag(c *gin.Context, k *campaign.Campaign) {
	c.Header("ETag", strconv.Quote(strconv.FormatInt(k.SettingsVersion, 10)))
}

// stale sets the ETag of the present state in a failed precondition, and returns err.
func stale(c *gin.Context, caller account.User, err error) error {
	if errs.Is(err, errs.PreconditionFailed) {
		if present, ok := errs.Of(err).Extra["campaign"].(campaign.Campaign); ok {
			tag(c, &present)
			errs.Of(err).Extra["campaign"] = present.For(caller)
		}
	}
	return err
}

func answerChanged(c *gin.Context, caller account.User, changed campaign.Changed) httpapi.Object {
	changed.Campaign = changed.Campaign.For(caller)
	tag(c, &changed.Campaign)
	return httpapi.Object{
		"campaign": changed.Campaign, "policy": policyOf(changed.Campaign), "propagated": changed.Propagated,
	}
}

// transition is a method of the service, called with the preconditions of a request.
type transition func(
	s *campaign.Service, ctx context.Context, caller account.User, id uuid.UUID,
) (campaign.Changed, error)

// moveCampaign serves a change of state. For an unknown id the specification requires 400.
func (a *API) moveCampaign(to transition) httpapi.Handler {
	return httpapi.Do(func(c *gin.Context, caller account.User, in target) (httpapi.Object, error) {
		campaigns, err := a.unlessChanged(c, in.version)
		if err != nil {
			return nil, err
		}
		changed, err := to(campaigns, c.Request.Context(), caller, in.id)
		switch {
		case errs.Is(err, errs.NotFound):
			return nil, errs.New(errs.InvalidState, "there is no such campaign")
		case errors.Is(err, campaign.ErrStopped):
			return nil, a.sayWhy(c.Request.Context(), caller, in.id, err)
		case err != nil:
			return nil, stale(c, caller, err)
		}
		return answerChanged(c, caller, changed), nil
	})
}
