package manage

import (
	"net/http"

	"github.com/gin-gonic/gin"

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
	if u, err = a.deps.Persons.User(c.Request.Context(), u.ID); err != nil { // not one of 2 s ago
		return err
	}
	return answerProfile(c, u)
}

func (a *API) changeProfile(c *gin.Context) error {
	u, err := a.deps.Auth.User(c)
	if err != nil {
		return err
	}
	var in account.Profile
	if err := httpapi.Decode(c, &in); err != nil {
		return err
	}
	if u, err = a.deps.Accounts.Describe(c.Request.Context(), u, in); err != nil {
		return err
	}
	a.deps.Auth.ForgetUser(u.ID) // campaigns are judged with the name
	return answerProfile(c, u)
}

// exportAccount answers all that is held about the caller.
func (a *API) exportAccount(c *gin.Context) error {
	u, err := a.deps.Auth.User(c)
	if err != nil {
		return err
	}
	if u, err = a.deps.Persons.User(c.Request.Context(), u.ID); err != nil {
		return err
	}
	held, err := person.Export(c.Request.Context(), a.deps.Persons, u)
	if err != nil {
		return err
	}
	c.Header("Content-Disposition", `attachment; filename="adnet-account.json"`)
	return httpapi.JSON(c, http.StatusOK, held)
}

// deletion is what a caller shows and confirms before its account is deleted.
type deletion struct {
	proof
	USD     money.Micros  `json:"forfeit_usd"`     // the balance that is lost
	Credits money.Credits `json:"forfeit_credits"` // the spendable ones that are lost
}

// eraseAccount forgets who owns the caller's account, for ever: rows of the ledger name its id and
// nothing else. It needs the password, the code where there is a second factor, and the amounts
// that are lost where there are some.
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
		return errs.New(errs.Conflict, "the account owns seats of exchanges; ask the operator to end them first")
	}
	done, err := person.Erase(
		c.Request.Context(), a.deps.Persons, u, person.Loss{Balance: in.USD, Credits: in.Credits}, a.deps.Now(),
	)
	if err != nil {
		return err
	}
	a.deps.Auth.ForgetUser(u.ID) // its logins and keys do nothing more
	a.deps.Auth.ForgetKeys(u)
	return httpapi.JSON(c, http.StatusOK, map[string]any{
		"deleted": true, "keys_revoked": done.Keys, "campaigns_archived": done.Campaigns,
		"balance_left_usd": done.Balance, "credits_left": done.Credits,
	})
}
