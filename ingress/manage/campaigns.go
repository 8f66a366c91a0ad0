package manage

import (
	"context"
	"errors"
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

func (a *API) createCampaign(c *gin.Context) error {
	caller, err := a.deps.Auth.User(c)
	if err != nil {
		return err
	}
	var in createRequest
	if err := httpapi.Decode(c, &in); err != nil {
		return err
	}
	advertiser, err := httpapi.ParseID("advertiser_id", in.AdvertiserID)
	if err != nil {
		return err
	}
	if in.Status != "" && in.Status != campaign.Draft {
		return errs.New(
			errs.InvalidRequest, "status can only be draft at creation; later states follow from review",
		).With("field", "status")
	}
	created, err := a.deps.Campaigns.Create(c.Request.Context(), caller, campaign.Create{
		Fields: in.Fields, AdvertiserID: advertiser, Draft: in.Status == campaign.Draft, UseAdCredit: in.UseAdCredit,
	})
	if err != nil {
		return err
	}
	return a.answerCreated(c, created)
}

// copyCampaign creates a draft as a copy of another campaign of the caller.
func (a *API) copyCampaign(c *gin.Context) error {
	caller, err := a.deps.Auth.User(c)
	if err != nil {
		return err
	}
	id, err := idOf(c)
	if err != nil {
		return err
	}
	created, err := a.deps.Campaigns.Copy(c.Request.Context(), caller, id)
	if err != nil {
		return err
	}
	return a.answerCreated(c, created)
}

func (a *API) answerCreated(c *gin.Context, created campaign.Created) error {
	tag(c, &created.Campaign)
	reply := map[string]any{
		"campaign": created.Campaign, "policy": policyOf(created.Campaign), "auto_approved": created.AutoApproved,
	}
	if created.WaitsFor != "" {
		reply["review_reason"] = created.WaitsFor
	}
	if a.deps.Unfunded != nil {
		// The campaign exists already: an unreadable balance must not make the client retry and
		// create a second one.
		if unfunded, err := a.deps.Unfunded(c.Request.Context(), created.Campaign); err == nil && unfunded {
			reply["unfunded"] = true
		}
	}
	return httpapi.JSON(c, http.StatusCreated, reply)
}

// checkCampaign returns the policy verdict that creation would return. It stores nothing.
func (a *API) checkCampaign(c *gin.Context) error {
	if _, err := a.deps.Auth.User(c); err != nil {
		return err
	}
	var in campaign.Fields
	if err := httpapi.Decode(c, &in); err != nil {
		return err
	}
	would, err := a.deps.Campaigns.Check(in)
	if err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, map[string]any{"policy": policyOf(would)})
}

func (a *API) listCampaigns(c *gin.Context) error {
	caller, err := a.deps.Auth.User(c)
	if err != nil {
		return err
	}
	if id := c.Query("id"); id != "" {
		return a.listOne(c, caller, id)
	}
	f, err := filterOf(c)
	if err != nil {
		return err
	}
	page, total, err := a.deps.Campaigns.List(c.Request.Context(), caller, f)
	if err != nil {
		return err
	}
	return answerList(c, page, total, f)
}

func (a *API) listOne(c *gin.Context, caller account.User, text string) error {
	id, err := httpapi.ParseID("id", text)
	if err != nil {
		return err
	}
	found, err := a.deps.Campaigns.Get(c.Request.Context(), caller, id)
	if err != nil {
		return err
	}
	return answerList(c, []campaign.Campaign{found}, 1, campaign.Filter{Limit: 1})
}

func filterOf(c *gin.Context) (campaign.Filter, error) {
	f := campaign.Filter{Status: campaign.Status(c.Query("status"))}
	if f.Status == "pending_review" {
		f.Status = campaign.InReview
	}
	reason, found := c.GetQuery("reason")
	if f.Queued = campaign.Queued(reason); found && !f.Queued.Known() {
		return f, errs.New(errs.InvalidRequest, "reason must be pending, bound or unreviewed").With("field", "reason")
	}
	var err error
	if f.AdvertiserID, err = optionalID(c, "advertiser_id"); err != nil {
		return f, err
	}
	f.Limit, f.Offset, err = httpapi.ReadPage(c, defaultLimit, maxLimit)
	return f, err
}

// answerList replies in the object form, or with shape=array in the bare array of the interface
// description.
func answerList(c *gin.Context, page []campaign.Campaign, total int, f campaign.Filter) error {
	if page == nil {
		page = []campaign.Campaign{}
	}
	if c.Query("shape") == "array" {
		return httpapi.JSON(c, http.StatusOK, page)
	}
	return httpapi.JSON(
		c, http.StatusOK, map[string]any{"campaigns": page, "total": total, "limit": f.Limit, "offset": f.Offset},
	)
}

// callerOf returns the caller and the id in the path.
func (a *API) callerOf(c *gin.Context) (caller account.User, id uuid.UUID, err error) {
	if caller, err = a.deps.Auth.User(c); err != nil {
		return caller, id, err
	}
	id, err = httpapi.ParseID("id", c.Param("id"))
	return caller, id, err
}

func (a *API) getCampaign(c *gin.Context) error {
	caller, id, err := a.callerOf(c)
	if err != nil {
		return err
	}
	found, err := a.deps.Campaigns.Get(c.Request.Context(), caller, id)
	if err != nil {
		return err
	}
	tag(c, &found)
	return httpapi.JSON(c, http.StatusOK, map[string]any{"campaign": found, "policy": policyOf(found)})
}

type updateRequest struct {
	campaign.Fields
	ID      *string          `json:"id"`
	Status  *campaign.Status `json:"status"`
	Version *int64           `json:"config_version"` // a precondition, like If-Match
}

// updateCampaign serves PATCH /api/campaigns/{id}, and action=update with the id in the body.
// Fields that the owner may not set (spent amounts, advertiser, funding) are not read. The only
// valid status is "paused".
func (a *API) updateCampaign(c *gin.Context) error {
	caller, err := a.deps.Auth.User(c)
	if err != nil {
		return err
	}
	var in updateRequest
	if err := httpapi.DecodePatch(c, &in, campaign.Defaults()); err != nil {
		return err
	}
	id, err := in.id(c)
	if err != nil {
		return err
	}
	if in.Status != nil && *in.Status != campaign.Paused {
		return errs.New(
			errs.InvalidRequest, "status can only be set to paused here; use the actions resume, submit and archive",
		).With("field", "status")
	}
	campaigns, err := a.unlessChanged(c, in.Version)
	if err != nil {
		return err
	}
	edit := campaign.Edit{Fields: in.Fields, Pause: in.Status != nil}
	changed, err := campaigns.Update(c.Request.Context(), caller, id, edit)
	if err != nil {
		return stale(c, err)
	}
	return answerChanged(c, changed)
}

// id returns the campaign id of an update: from the path, or from the body, which may only repeat
// it.
func (in updateRequest) id(c *gin.Context) (uuid.UUID, error) {
	return oneID(c.Param("id"), in.ID)
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
func stale(c *gin.Context, err error) error {
	if errs.Is(err, errs.PreconditionFailed) {
		if present, ok := errs.Of(err).Extra["campaign"].(campaign.Campaign); ok {
			tag(c, &present)
		}
	}
	return err
}

func answerChanged(c *gin.Context, changed campaign.Changed) error {
	tag(c, &changed.Campaign)
	return httpapi.JSON(c, http.StatusOK, map[string]any{
		"campaign": changed.Campaign, "policy": policyOf(changed.Campaign), "propagated": changed.Propagated,
	})
}

// transition is a method of the service, called with the preconditions of a request.
type transition func(
	s *campaign.Service, ctx context.Context, caller account.User, id uuid.UUID,
) (campaign.Changed, error)

// moveCampaign serves a change of state. For an unknown id the specification requires 400.
func (a *API) moveCampaign(to transition) httpapi.Handler {
	return func(c *gin.Context) error {
		caller, err := a.deps.Auth.User(c)
		if err != nil {
			return err
		}
		id, version, err := targetOf(c)
		if err != nil {
			return err
		}
		campaigns, err := a.unlessChanged(c, version)
		if err != nil {
			return err
		}
		changed, err := to(campaigns, c.Request.Context(), caller, id)
		if errs.Is(err, errs.NotFound) {
			return errs.New(errs.InvalidState, "there is no such campaign")
		}
		if errors.Is(err, campaign.ErrStopped) {
			return a.sayWhy(c.Request.Context(), caller, id, err)
		}
		if err != nil {
			return stale(c, err)
		}
		return answerChanged(c, changed)
	}
}
