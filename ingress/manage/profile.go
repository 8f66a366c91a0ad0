package manage

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/money"
	"adnet/internal/person"
)

func answerProfile(c *gin.Context, u account.User) error {
	return httpapi.JSON(c, http.StatusOK, person.IdentityOf(&u))
}

func (a *API) readProfile(c *gin.Context) error {
	u, err := a.deps.Auth.User(c)
	if err != nil {
		return err
	}
	// not the cached user, up to 2 s old
	if u, err = a.deps.Persons.Accounts.User(c.Request.Context(), u.ID); err != nil {
		return err
	}
	return answerProfile(c, u)
}

// profileDefaults are the fields of a profile that may be empty.
var profileDefaults = map[string]jsontext.Value{
	"display_name": jsontext.Value(`""`), "company": jsontext.Value(`""`),
}

func (a *API) changeProfile(c *gin.Context) error {
	u, err := a.deps.Auth.User(c)
	if err != nil {
		return err
	}
	var in account.Profile
	if err := httpapi.DecodePatch(c, &in, profileDefaults); err != nil {
		return err
	}
	if u, err = a.deps.Accounts.Describe(c.Request.Context(), u, in); err != nil {
		return err
	}
	a.deps.Auth.ForgetUser(u.ID) // campaigns are checked together with the name
	return answerProfile(c, u)
}

// exportAccount returns all data about the caller.
func (a *API) exportAccount(c *gin.Context) error {
	u, err := a.deps.Auth.User(c)
	if err != nil {
		return err
	}
	if u, err = a.deps.Persons.Accounts.User(c.Request.Context(), u.ID); err != nil {
		return err
	}
	held, err := person.Export(c.Request.Context(), a.deps.Persons, u)
	if err != nil {
		return err
	}
	c.Header("Content-Disposition", `attachment; filename="adnet-account.json"`)
	return httpapi.JSON(c, http.StatusOK, held)
}

// deletion is the caller's proof and confirmation for the deletion of the account.
type deletion struct {
	proof
	USD     money.Micros  `json:"forfeit_usd"`     // the balance that is lost
	Credits money.Credits `json:"forfeit_credits"` // the spendable Credits that are lost
}

// eraseAccount permanently removes the identity of the caller's account. Rows of the ledger keep
// only its id. It requires the password, the code if there is a second factor, and the lost amounts
// if there are any.
func (a *API) eraseAccount(c *gin.Context) error {
	var in deletion
	u, err := a.proved(c, &in)
	if err != nil {
		return err
	}
	if _, err := a.deps.Accounts.ShowFactor(c.Request.Context(), u, in.Code); err != nil {
		return err
	}
	if len(u.Seats) > 0 {
		return errs.New(errs.Conflict, "the account owns exchange seats; ask the operator to close them first")
	}
	done, err := person.Erase(
		c.Request.Context(), a.deps.Persons, u, person.Loss{Balance: in.USD, Credits: in.Credits}, a.deps.Now(),
	)
	if err != nil {
		return err
	}
	a.deps.Auth.ForgetUser(u.ID) // its logins and keys stop working
	a.deps.Auth.ForgetKeys(u)
	return httpapi.JSON(c, http.StatusOK, map[string]any{
		"deleted": true, "keys_revoked": done.Keys, "campaigns_archived": done.Campaigns,
		"balance_left_usd": done.Balance, "credits_left": done.Credits,
	})
}
