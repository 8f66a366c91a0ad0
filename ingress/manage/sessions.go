package manage

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/traffic"
)

type sessionLine struct {
	ID        uuid.UUID `json:"id"`
	Current   bool      `json:"current"` // the session of this request
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	Network   string    `json:"network"`
	Agent     string    `json:"agent"`
	Strong    bool      `json:"second_factor"`
}

func (a *API) listSessions(c *gin.Context) error {
	u, current, err := a.deps.Auth.Login(c)
	if err != nil {
		return err
	}
	sessions, err := a.deps.Accounts.Sessions(c.Request.Context(), u)
	if err != nil {
		return err
	}
	lines := make([]sessionLine, len(sessions))
	for i, s := range sessions {
		lines[i] = sessionLine{s.ID, s.ID == current.ID, s.CreatedAt, s.ExpiresAt, s.Network, s.Agent, s.Strong}
	}
	return httpapi.JSON(c, http.StatusOK, map[string]any{"sessions": lines})
}

// endSession ends one of the caller's sessions, this one included.
func (a *API) endSession(c *gin.Context) error {
	u, _, err := a.deps.Auth.Login(c)
	if err != nil {
		return err
	}
	id, err := httpapi.ParseID("id", c.Param("id"))
	if err != nil {
		return err
	}
	if err := a.end(c.Request.Context(), u, id); err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, map[string]any{"id": id, "ended": true})
}

// end ends a session.
func (a *API) end(ctx context.Context, u account.User, session uuid.UUID) error {
	err := a.deps.Accounts.EndSession(ctx, u, session)
	a.deps.Auth.Forget(session)
	return err
}

// endSessions ends every login of the caller, or with keep=current all others.
func (a *API) endSessions(c *gin.Context) error {
	u, current, err := a.deps.Auth.Login(c)
	if err != nil {
		return err
	}
	keep := uuid.Nil
	if c.Query("keep") == "current" {
		keep = current.ID
	}
	ended, err := a.deps.Accounts.EndSessions(c.Request.Context(), u, keep)
	a.deps.Auth.Forget(current.ID)
	if err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, map[string]any{"ended": ended})
}

// changePassword sets a new password after checking the current one, and ends the other logins.
func (a *API) changePassword(c *gin.Context) error {
	u, current, err := a.deps.Auth.Login(c)
	if err != nil {
		return err
	}
	var in struct {
		Current    string `json:"current_password"`
		New        string `json:"new_password"`
		RevokeKeys bool   `json:"revoke_keys"`
	}
	if err := httpapi.Decode(c, &in); err != nil {
		return err
	}
	if in.Current == "" || in.New == "" {
		return errs.New(errs.InvalidRequest, "current_password and new_password are required")
	}
	if u, err = a.checkPassword(c, u.Email, in.Current); err != nil {
		return err
	}
	ctx := c.Request.Context()
	reply := struct {
		Changed bool `json:"changed"`
		Ended   int  `json:"sessions_ended"`
		Keys    int  `json:"keys_revoked"`
	}{Changed: true}
	reply.Ended, err = a.deps.Accounts.ChangePassword(ctx, u, current.ID, in.New)
	a.deps.Auth.Forget(current.ID)
	if err != nil {
		return err
	}
	if in.RevokeKeys {
		if reply.Keys, err = a.deps.Accounts.RevokeKeys(ctx, u); err != nil {
			return err
		}
	}
	return httpapi.JSON(c, http.StatusOK, reply)
}

// checkPassword returns the account with this e-mail and password. Failed attempts are limited on
// every route. Errors: errs.InvalidCredentials, errs.RateLimited.
func (a *API) checkPassword(c *gin.Context, email, password string) (account.User, error) {
	ctx, address := c.Request.Context(), c.ClientIP()
	if a.deps.Logins == nil {
		return a.deps.Accounts.Login(ctx, email, password)
	}
	known := func() bool { return a.deps.Accounts.KnowsNetwork(ctx, email, traffic.Network(address)) }
	if err := a.deps.Logins.TryLogin(email, address, known); err != nil {
		return account.User{}, err
	}
	u, err := a.deps.Accounts.Login(ctx, email, password)
	if !errs.Is(err, errs.InvalidCredentials) {
		a.deps.Logins.LoggedIn(email, address)
	}
	return u, err
}
