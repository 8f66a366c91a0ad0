package manage

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/campaign"
	"adnet/internal/compliance/person"
	"adnet/internal/errs"
)

// Page sizes of the account list, and the maximum length of a search in bytes.
const (
	maxSearch = 254
)

// stateName selects the accounts whose name awaits an administrator's decision.
const stateName = "name_waiting"

var ofUsers = httpapi.Params{
	"q":     httpapi.TextForm,
	"role":  httpapi.WordForm(string(account.RoleAdvertiser), string(account.RoleAdmin), string(account.RoleSeat)),
	"state": httpapi.WordForm("working", "suspended", stateName), "limit": httpapi.NumberForm(1, maxLimit),
	"offset": httpapi.NumberForm(0, httpapi.MaxOffset), "family": httpapi.TextForm,
}

// mountUsers adds the administrators' actions on accounts. Restoring and changing roles use the
// same form as suspending: a reason that the audit log stores.
func (a *API) mountUsers(s *httpapi.Server) {
	reads, changes := ofAdmin(reads), ofAdmin(changes)
	s.Handle(http.MethodGet, "/api/admin/users", httpapi.Do(a.listUsers), with(reads, ofUsers))
	s.Handle(http.MethodPost, "/api/admin/users/:id/suspend", a.ruleUser(func(
		ctx context.Context, admin account.User, id uuid.UUID, in ruling,
	) (account.User, error) {
		return a.deps.Accounts.Suspend(ctx, admin, id, in.Reason)
	}), changes)
	s.Handle(http.MethodPost, "/api/admin/users/:id/restore", a.ruleUser(func(
		ctx context.Context, admin account.User, id uuid.UUID, in ruling,
	) (account.User, error) {
		return a.deps.Accounts.Restore(ctx, admin, id, in.Reason)
	}), changes)
	s.Handle(http.MethodPost, "/api/admin/users/:id/role", a.ruleUser(func(
		ctx context.Context, admin account.User, id uuid.UUID, in ruling,
	) (account.User, error) {
		return a.deps.Accounts.SetRole(ctx, admin, account.Ruling{UserID: id, Reason: in.Reason}, in.Role)
	}), changes)
	s.Handle(http.MethodPost, "/api/admin/users/:id/name", httpapi.Do(a.ruleName), changes)
	s.Handle(http.MethodPost, "/api/admin/users/:id/family", httpapi.Do(a.ruleFamily), changes)
}

// ruleName serves POST /api/admin/users/{id}/name: it decides whether ads may show the name that
// the account has chosen.
func (a *API) ruleName(c *gin.Context, admin account.User, in httpapi.Of[account.NameRuling]) (httpapi.Object, error) {
	// Hold the campaigns first: an ad that becomes an instruction next to the name must not be
	// shown with it even briefly.
	if err := a.holdBeside(c.Request.Context(), in.ID, &in.In); err != nil {
		return nil, err
	}
	u, err := a.deps.Accounts.RuleName(c.Request.Context(), admin, in.ID, in.In)
	if err != nil {
		return nil, err
	}
	a.deps.Auth.ForgetUser(u.ID)
	return httpapi.Object{"user": answerAccount(&u)}, nil
}

// holdBeside sends the campaigns of an account back to review if they conflict with the name that a
// ruling accepts.
func (a *API) holdBeside(ctx context.Context, id uuid.UUID, in *account.NameRuling) error {
	if in.Decision != account.NameAccepted || in.Name == "" {
		return nil
	}
	u, err := a.deps.Accounts.Account(ctx, id)
	if err != nil || u.Sponsor() != in.Name {
		return err // the ruling reports the reason
	}
	for _, id := range u.Named() {
		if err := a.deps.Campaigns.HoldBeside(ctx, id, in.Name); err != nil {
			return err
		}
	}
	return nil
}

// ruling is an administrator's decision about an account.
type ruling struct {
	Reason string       `json:"reason"`
	Role   account.Role `json:"role"`
}

// accountReply is an account in replies to administrators.
type accountReply struct {
	person.Account
	Suspended bool       `json:"suspended"`
	Erased    bool       `json:"erased"`
	CreatedAt time.Time  `json:"created_at"`
	ParentID  *uuid.UUID `json:"parent_id,omitempty"` // of a seat: its owner
	Seats     int        `json:"seats"`
	// The family's oldest account, and the family that an account is bound to which was never charged.
	FamilyID *uuid.UUID `json:"family_id,omitempty"` // in lists
	BoundTo  *uuid.UUID `json:"bound_to,omitempty"`

	Name     string               `json:"name"`          // shown on receipts
	Findings []campaign.Violation `json:"name_findings"` // policy findings in a waiting name
}

func answerAccount(u *account.User) accountReply {
	r := accountReply{
		Account: person.AccountOf(u), Suspended: u.Disabled, Erased: u.Erased(), CreatedAt: u.CreatedAt.UTC(),
		Seats: len(u.Seats), Name: u.Sponsor(), Findings: []campaign.Violation{},
	}
	if r.NameState == account.NameWaits {
		r.Findings = campaign.PolicyOfName(r.Name)
	}
	if u.ParentID != uuid.Nil {
		r.ParentID = &u.ParentID
	}
	return r
}

// listUsers serves GET /api/admin/users: accounts, newest first.
func (a *API) listUsers(c *gin.Context, _ account.User, page httpapi.Page) (httpapi.Object, error) {
	f := account.UserFilter{Text: c.Query("q"), Role: account.Role(c.Query("role"))}
	if len(f.Text) > maxSearch {
		return nil, errs.New(errs.InvalidRequest, "q must be at most %d bytes", maxSearch).With("field", "q")
	}
	if state := c.Query("state"); state == stateName {
		f.NameWaits = true
	} else if state != "" {
		suspended := state == "suspended"
		f.Suspended = &suspended
	}
	var err error
	if text := c.Query("family"); text != "" {
		if f.Family, err = httpapi.ParseID("family", text); err != nil {
			return nil, err
		}
	}
	f.Limit, f.Offset = page.Limit, page.Offset
	found, total, err := a.deps.Accounts.List(c.Request.Context(), f)
	if err != nil {
		return nil, err
	}
	reply, err := a.answerAccounts(c.Request.Context(), found)
	if err != nil {
		return nil, err
	}
	return httpapi.Object{"users": reply, "total": total, "limit": f.Limit, "offset": f.Offset}, nil
}

// ruleUser serves an administrator's decision about one account.
func (a *API) ruleUser(
	rule func(ctx context.Context, admin account.User, id uuid.UUID, in ruling) (account.User, error),
) httpapi.Handler {
	return httpapi.Do(func(c *gin.Context, admin account.User, in httpapi.Of[ruling]) (httpapi.Object, error) {
		u, err := rule(c.Request.Context(), admin, in.ID, in.In)
		if err != nil {
			return nil, err
		}
		a.deps.Auth.ForgetUser(u.ID)
		a.deps.Auth.ForgetKeys(u)
		return httpapi.Object{"user": answerAccount(&u)}, nil
	})
}
