package manage

import (
	"context"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/account/family"
	"adnet/internal/errs"
)

// The decisions about the family of an account.
const (
	familySplit     = "split"     // it belongs together with no account
	familyJoin      = "join"      // it belongs to the family of another account
	familyAutomatic = "automatic" // no decision applies any more
)

// network returns the network of a registration, by which it binds; empty for none.
func (a *API) network(c *gin.Context) string { return family.Network(c.ClientIP(), a.deps.Shared) }

type familyRuling struct {
	Decision string  `json:"decision"`
	With     *string `json:"with"`
	Reason   string  `json:"reason"`
}

// ruleFamily serves POST /api/admin/users/{id}/family. It applies to all rules at once.
func (a *API) ruleFamily(c *gin.Context, admin account.User, of httpapi.Of[familyRuling]) (httpapi.Object, error) {
	in, d := of.In, family.Decision{
		Ruling: family.Ruling{Account: of.ID}, By: admin.ID, At: a.deps.Now().UTC(),
	}
	var err error
	if d.Reason, err = account.CleanNote(in.Reason); err != nil {
		return nil, err
	}
	if in.With != nil {
		if d.With, err = httpapi.ParseID("with", *in.With); err != nil {
			return nil, err
		}
	}
	ctx := c.Request.Context()
	u, err := a.deps.Accounts.Account(ctx, d.Account)
	if err != nil {
		return nil, err
	}
	if d.Automatic = in.Decision == familyAutomatic; !d.Automatic || in.With != nil {
		if err := checkFamily(&u, in.Decision, d.With); err != nil {
			return nil, err
		}
	}
	if err := a.deps.Families.RuleFamily(ctx, d); err != nil {
		return nil, err
	}
	if err := family.Regroup(ctx, a.deps.Families); err != nil {
		return nil, err
	}
	reply, err := a.answerAccounts(ctx, []account.User{u})
	if err != nil {
		return nil, err
	}
	return httpapi.Object{"user": reply[0]}, nil
}

// checkFamily checks a decision about u. Errors: errs.InvalidRequest.
func checkFamily(u *account.User, decision string, with uuid.UUID) error {
	switch {
	case decision != familySplit && decision != familyJoin && decision != familyAutomatic:
		return errs.New(errs.InvalidRequest, "decision must be one of split, join, automatic").With("field", "decision")
	case decision != familyJoin && with != uuid.Nil:
		return errs.New(errs.InvalidRequest, "with is only for the decision join").With("field", "with")
	case decision == familyJoin && (with == uuid.Nil || with == u.ID):
		return errs.New(errs.InvalidRequest, "with must be the id of another account").With("field", "with")
	case u.Role == account.RoleSeat:
		return errs.New(errs.InvalidRequest, "a seat belongs to the family of its owner; decide about the owner")
	}
	return nil
}

// answerAccounts returns accounts with their families.
func (a *API) answerAccounts(ctx context.Context, users []account.User) ([]accountReply, error) {
	ids := make([]uuid.UUID, len(users))
	for i := range users {
		ids[i] = users[i].ID
	}
	members, err := a.deps.Families.FamiliesOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	reply := make([]accountReply, len(users))
	for i := range users {
		reply[i] = answerAccount(&users[i])
		m := family.Of(members, users[i].ID)
		reply[i].FamilyID = &m.Family
		if m.BoundTo != uuid.Nil {
			reply[i].BoundTo = &m.BoundTo
		}
	}
	return reply, nil
}
