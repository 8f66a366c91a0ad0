package manage

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strings"
	"sync"
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

func (a *API) mountSessions(s *httpapi.Server) {
	s.Handle(http.MethodGet, "/api/account/sessions", httpapi.Do(a.listSessions), reads)
	// No Idempotency-Key: an ended session stays ended, and a caller without a session gets 401.
	ends := changes
	ends.Idempotent = httpapi.No
	s.Handle(
		http.MethodDelete, "/api/account/sessions", httpapi.Do(a.endSessions),
		with(ends, httpapi.Params{"keep": httpapi.WordForm("current")}),
	)
	s.Handle(http.MethodDelete, "/api/account/sessions/:id", httpapi.Do(a.endSession), ends)
	s.Handle(http.MethodPost, "/api/account/password", httpapi.Do(a.changePassword), changes)
}

func (a *API) listSessions(c *gin.Context, u account.User, _ httpapi.None) (httpapi.Object, error) {
	sessions, err := a.deps.Accounts.Sessions(c.Request.Context(), u)
	if err != nil {
		return nil, err
	}
	current := httpapi.SessionOf(c)
	lines := make([]sessionLine, len(sessions))
	for i, s := range sessions {
		lines[i] = sessionLine{s.ID, s.ID == current.ID, s.CreatedAt, s.ExpiresAt, s.Network, s.Agent, s.Strong}
	}
	return httpapi.Object{"sessions": lines}, nil
}

// endSession ends one of the caller's sessions, this one included.
func (a *API) endSession(c *gin.Context, u account.User, in httpapi.ID) (httpapi.Object, error) {
	if err := a.end(c.Request.Context(), u, in.ID); err != nil {
		return nil, err
	}
	return httpapi.Object{"id": in.ID, "ended": true}, nil
}

// end ends a session.
func (a *API) end(ctx context.Context, u account.User, session uuid.UUID) error {
	err := a.deps.Accounts.EndSession(ctx, u, session)
	a.deps.Auth.Forget(session)
	return err
}

// endSessions ends every login of the caller, or with keep=current all others.
func (a *API) endSessions(c *gin.Context, u account.User, _ httpapi.None) (httpapi.Object, error) {
	current, keep := httpapi.SessionOf(c), uuid.Nil
	if c.Query("keep") == "current" {
		keep = current.ID
	}
	ended, err := a.deps.Accounts.EndSessions(c.Request.Context(), u, keep)
	a.deps.Auth.Forget(current.ID)
	if err != nil {
		return nil, err
	}
	return httpapi.Object{"ended": ended}, nil
}

type passwordChange struct {
	Current    string `json:"current_password"`
	New        string `json:"new_password"`
	RevokeKeys bool   `json:"revoke_keys"`
}

type passwordReply struct {
	Changed bool `json:"changed"`
	Ended   int  `json:"sessions_ended"`
	Keys    int  `json:"keys_revoked"`
}

// changePassword sets a new password after checking the current one, and ends the other logins.
func (a *API) changePassword(c *gin.Context, u account.User, in passwordChange) (reply passwordReply, err error) {
	if in.Current == "" || in.New == "" {
		return reply, errs.New(errs.InvalidRequest, "current_password and new_password are required")
	}
	if u, err = a.checkPassword(c, u.Email, in.Current); err != nil {
		return reply, err
	}
	ctx, _ := a.asking(c, u.Email)
	current := httpapi.SessionOf(c)
	reply.Changed = true
	reply.Ended, err = a.deps.Accounts.ChangePassword(ctx, u, current.ID, in.New)
	a.deps.Auth.Forget(current.ID)
	if err != nil {
		return reply, err
	}
	if in.RevokeKeys {
		if reply.Keys, err = a.deps.Accounts.RevokeKeys(ctx, u); err != nil {
			return reply, err
		}
	}
	return reply, nil
}

// checkPassword returns the account with this e-mail and password. Wrong passwords are limited on
// every route. Errors: errs.InvalidCredentials, errs.RateLimited.
func (a *API) checkPassword(c *gin.Context, email, password string) (account.User, error) {
	return a.checkLogin(c, credentials{Email: email, Password: password})
}

// checkLogin is checkPassword for a caller that may send a mailed code as well. After many wrong
// passwords of strangers an unknown network needs it, and without it a right password has the same
// reply as a wrong one.
func (a *API) checkLogin(c *gin.Context, in credentials) (account.User, error) {
	ctx, known := a.asking(c, in.Email)
	if a.deps.Logins == nil {
		return a.deps.Accounts.Login(ctx, in.Email, in.Password)
	}
	takeBack, doubted, err := a.deps.Logins.TryLogin(in.Email, c.ClientIP(), known)
	if err != nil {
		return account.User{}, err
	}
	u, err := a.deps.Accounts.Login(ctx, in.Email, in.Password)
	if err == nil && doubted != nil && a.deps.Accounts.ProveMailbox(ctx, u, in.MailedCode) == nil {
		doubted = nil
	}
	switch wrong := errs.Is(err, errs.InvalidCredentials); {
	case doubted != nil && (wrong || err == nil):
		return account.User{}, doubted
	case !wrong: // only a wrong password counts as a guess
		takeBack()
		httpapi.RightPassword(c)
	}
	return u, err
}

// asking returns the context in which a password of the account of an e-mail is hashed, in the turn
// of the caller's network, and whether the account knows that network or browser.
func (a *API) asking(c *gin.Context, email string) (ctx context.Context, known func() bool) {
	ctx, address := c.Request.Context(), c.ClientIP()
	known = sync.OnceValue(func() bool {
		return a.knowsBrowser(c, email) || a.deps.Accounts.KnowsNetwork(ctx, email, traffic.Network(address))
	})
	return account.WithAsker(ctx, account.Asker{Network: traffic.Block(address), Known: known}), known
}

// browserLife is the time for which a browser stays known after the console had a session in it.
const browserLife = 90 * 24 * time.Hour

// noteBrowser makes a browser with the console's session known to the account of an e-mail, for
// [browserLife], unless it is. Logging out leaves it known.
func (a *API) noteBrowser(c *gin.Context, email string) error {
	proof, session := httpapi.Browser(c, a.baseURL())
	if session == "" || a.provesLogin(proof, email) {
		return nil
	}
	until := binary.BigEndian.AppendUint64(nil, uint64(a.deps.Now().Add(browserLife).Unix()))
	sealed, err := a.deps.Sessions.SealSecret(until, ofBrowser(email))
	if err != nil {
		return err
	}
	httpapi.SetBrowser(c, a.baseURL(), base64.RawURLEncoding.EncodeToString(sealed), browserLife)
	return nil
}

// knowsBrowser reports whether a cookie of the browser proves an earlier login to the account of an
// e-mail: that of noteBrowser, or a session.
func (a *API) knowsBrowser(c *gin.Context, email string) bool {
	proof, session := httpapi.Browser(c, a.baseURL())
	if a.provesLogin(proof, email) {
		return true
	}
	claims, err := a.deps.Sessions.Verify(session, a.deps.Now())
	return err == nil && strings.EqualFold(claims.Email, strings.TrimSpace(email))
}

// provesLogin reports whether a cookie of noteBrowser is of the account of an e-mail and not old.
func (a *API) provesLogin(proof, email string) bool {
	sealed, err := base64.RawURLEncoding.DecodeString(proof)
	if err != nil || len(sealed) == 0 {
		return false
	}
	until, err := a.deps.Sessions.OpenSecret(sealed, ofBrowser(email), a.deps.Now())
	return err == nil && len(until) == 8 && binary.BigEndian.Uint64(until) > uint64(a.deps.Now().Unix())
}

// ofBrowser names the use of the cookie and its account, so that no other sealed text is one.
func ofBrowser(email string) []byte {
	return []byte("browser of " + strings.ToLower(strings.TrimSpace(email)))
}

// noteNetwork makes the caller's network known to an account.
func (a *API) noteNetwork(c *gin.Context, u account.User) error {
	return a.deps.Accounts.NoteNetwork(c.Request.Context(), u, traffic.Network(c.ClientIP()))
}
