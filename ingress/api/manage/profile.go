package manage

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/compliance/person"
	"adnet/internal/errs"
	"adnet/internal/money"
)

func (a *API) mountProfile(s *httpapi.Server) {
	s.Handle(http.MethodGet, "/api/account/profile", httpapi.Do(a.readProfile), reads)
	s.Handle(http.MethodPatch, "/api/account/profile", httpapi.Do(a.changeProfile), changes)
	exports := reads
	exports.Scans = true
	// No Idempotency-Key: an erased account stays erased, and its caller gets 401.
	erases := changes
	erases.Idempotent, erases.Admits = httpapi.No, httpapi.WithoutFactor
	s.Handle(http.MethodGet, "/api/account/export", httpapi.Do(a.exportAccount), exports)
	s.Handle(http.MethodPost, "/api/account/delete", httpapi.Do(a.eraseAccount), erases)
}

func (a *API) readProfile(c *gin.Context, u account.User, _ httpapi.None) (person.Identity, error) {
	u, err := a.deps.Persons.Accounts.User(c.Request.Context(), u.ID) // not the cached user, up to 2 s old
	return person.IdentityOf(&u), err
}

// profileDefaults are the fields of a profile that may be null.
var profileDefaults = map[string]jsontext.Value{
	"display_name": jsontext.Value(`""`), "company": jsontext.Value(`""`), "side": jsontext.Value(`"both"`),
}

// profilePatch is a partial change of a profile.
type profilePatch struct{ account.Profile }

// Read implements [httpapi.Input].
func (p *profilePatch) Read(c *gin.Context) error {
	return httpapi.DecodePatch(c, &p.Profile, profileDefaults, person.Identity{})
}

func (a *API) changeProfile(c *gin.Context, u account.User, in profilePatch) (person.Identity, error) {
	u, err := a.deps.Accounts.Describe(c.Request.Context(), u, in.Profile)
	if err != nil {
		return person.Identity{}, err
	}
	a.deps.Auth.ForgetUser(u.ID) // campaigns are checked together with the name
	return person.IdentityOf(&u), nil
}

// exportAccount returns all data about the caller.
func (a *API) exportAccount(c *gin.Context, u account.User, _ httpapi.None) (held person.Held, err error) {
	if u, err = a.deps.Persons.Accounts.User(c.Request.Context(), u.ID); err != nil {
		return held, err
	}
	held, err = person.Export(c.Request.Context(), a.deps.Persons, u)
	if err != nil {
		return held, err
	}
	c.Header("Content-Disposition", `attachment; filename="adnet-account.json"`)
	return held, nil
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
func (a *API) eraseAccount(c *gin.Context, u account.User, in deletion) (httpapi.Object, error) {
	u, err := a.proved(c, u, in.proof)
	if err != nil {
		return nil, err
	}
	if _, err := a.showFactor(c, u, in.Code); err != nil {
		return nil, err
	}
	if len(u.Seats) > 0 {
		return nil, errs.New(errs.Conflict, "the account owns exchange seats; ask the operator to close them first")
	}
	done, err := person.Erase(
		c.Request.Context(), a.deps.Persons, u, person.Loss{Balance: in.USD, Credits: in.Credits}, a.deps.Now(),
	)
	if err != nil {
		return nil, err
	}
	a.deps.Auth.ForgetUser(u.ID) // its logins and keys stop working
	a.deps.Auth.ForgetKeys(u)
	return httpapi.Object{
		"deleted": true, "keys_revoked": done.Keys, "campaigns_archived": done.Campaigns,
		"balance_left_usd": done.Balance, "credits_left": done.Credits,
	}, nil
}
