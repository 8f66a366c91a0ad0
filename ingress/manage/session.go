package manage

import (
	"bytes"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/token"
	"adnet/internal/traffic"
)

// opened is a session to answer with: as a token for programs, as a cookie for the console.
type opened struct {
	user   account.User
	cookie bool
	strong bool // a second factor was shown
}

// errNotConsole says what a page must look like whose cookie would count.
var errNotConsole = errs.New(
	errs.InvalidRequest,
	"a cookie is only for pages of the console, at the address of ADNET_BASE_URL, over https or on loopback; "+
		"programs use the token",
)

// mayHaveCookie refuses a cookie that would not count, or that another site asks for to sign the
// visitor in to an account of its own.
func (a *API) mayHaveCookie(c *gin.Context, asked bool) error {
	if asked && !httpapi.FromConsole(c, a.baseURL()) {
		return errNotConsole
	}
	return nil
}

func (a *API) baseURL() string {
	if a.deps.BaseURL == nil {
		return ""
	}
	return a.deps.BaseURL()
}

func (a *API) answerSession(c *gin.Context, status int, s opened) error {
	u, life, now := s.user, token.SessionLife, a.deps.Now().UTC()
	if u.IsAdmin() && (s.cookie || s.strong) { // a person; programs have no second factor
		life = token.AdminConsoleLife
	}
	session, err := a.deps.Accounts.OpenSession(c.Request.Context(), u, account.Session{
		CreatedAt: now, ExpiresAt: now.Add(life), Network: traffic.Network(c.ClientIP()),
		Agent: c.GetHeader("User-Agent"), Strong: s.strong,
	})
	if err != nil {
		return err
	}
	claims := token.Claims{
		UserID: u.ID, SessionID: session.ID, Role: string(u.Role), Email: u.Email, Version: u.TokenVersion,
	}
	access, expiresIn, err := a.deps.Sessions.IssueFor(claims, now, life)
	if err != nil {
		return err
	}
	if s.cookie { // no script ever sees the token
		httpapi.SetSession(c, a.baseURL(), access, expiresIn)
		access = ""
	}
	reply := sessionReply{Token: access, Role: u.Role, Email: u.Email, User: answerUser(u)}
	reply.Session.AccessToken, reply.Session.ExpiresIn, reply.Session.TokenType = access, int(expiresIn.Seconds()),
		"Bearer"
	return httpapi.JSON(c, status, reply)
}

// logout ends the session of the token, or of the console's cookie, which it also takes away. It
// answers the same when the session had ended before.
func (a *API) logout(c *gin.Context) error {
	if err := noBody(c); err != nil {
		return err
	}
	_, byToken := httpapi.Bearer(c)
	if !byToken && !httpapi.FromConsole(c, a.baseURL()) {
		return errNotConsole
	}
	switch u, session, err := a.deps.Auth.Heard(c); {
	case errs.Is(err, errs.InvalidToken):
	case err != nil:
		return err
	case byToken && session.ID == uuid.Nil:
		return errs.New(
			errs.InvalidState,
			"this token is of an earlier build and has no session of its own; DELETE /api/account/sessions ends all "+
				"logins, this one too",
		)
	default:
		if err := a.end(c.Request.Context(), u, session.ID); err != nil {
			return err
		}
	}
	if !byToken {
		httpapi.SetSession(c, a.baseURL(), "", 0)
	}
	return httpapi.JSON(c, http.StatusOK, map[string]any{"signed_out": true})
}

// noBody reads a body that means nothing. Errors: errs.InvalidRequest for what is not JSON.
func noBody(c *gin.Context) error {
	return httpapi.ReadBody(c, func(body []byte) error {
		if len(bytes.TrimSpace(body)) == 0 {
			return nil
		}
		return httpapi.Unmarshal(body, &struct{}{})
	})
}

// demo are the accounts that a visitor may be signed in to: none where others than the owner of
// this machine reach them, be it through a proxy on it.
func (a *API) demo() map[string]string {
	if !httpapi.OnLoopback(a.baseURL()) {
		return nil
	}
	return a.deps.Demo
}

// demoLogin signs a visitor in to a demo account, whose password is public anyway. Errors:
// errs.NotFound without a demo, and off loopback, where strangers could sign in, too.
func (a *API) demoLogin(c *gin.Context) error {
	var in struct {
		As     string `json:"as"`
		Cookie bool   `json:"cookie"`
	}
	if err := httpapi.Decode(c, &in); err != nil {
		return err
	}
	demo := a.demo()
	if len(demo) == 0 {
		return errs.New(errs.NotFound, "there is no demo here")
	}
	email, known := demo[in.As]
	if !known {
		return errs.New(errs.InvalidRequest, "as must be advertiser, publisher or admin").With("field", "as")
	}
	if err := a.mayHaveCookie(c, in.Cookie); err != nil {
		return err
	}
	u, err := a.deps.Accounts.ByEmail(c.Request.Context(), email)
	if err != nil {
		return err
	}
	return a.answerSession(c, http.StatusOK, opened{user: u, cookie: in.Cookie})
}

type userReply struct {
	ID          uuid.UUID    `json:"id"`
	Email       string       `json:"email"`
	Role        account.Role `json:"role"`
	DeveloperID uuid.UUID    `json:"developer_id"`
	Lacks       bool         `json:"needs_second_factor,omitzero"` // before anything else
	Suspended   bool         `json:"suspended,omitzero"`           // it may only read why, and appeal
}

func answerUser(u account.User) userReply {
	return userReply{ID: u.ID, Email: u.Email, Role: u.Role, DeveloperID: u.DeveloperID, Suspended: u.Disabled}
}

// info says what a page must know of the installation and of its visitor, before there is a login.
func (a *API) info(c *gin.Context) error {
	reply := struct {
		BaseURL string     `json:"base_url"`
		Signup  string     `json:"signup"`
		Demo    []string   `json:"demo"`
		Here    bool       `json:"console_address"`
		Now     time.Time  `json:"now"`
		User    *userReply `json:"user"`
		Snippet struct {
			URL       string `json:"url"`
			Integrity string `json:"integrity"`
		} `json:"snippet"`
	}{
		BaseURL: a.baseURL(), Signup: a.deps.Signup, Demo: []string{}, Here: httpapi.FromConsole(c, a.baseURL()),
		Now: a.deps.Now().UTC(),
	}
	reply.Snippet.URL, reply.Snippet.Integrity = reply.BaseURL+a.deps.Snippet.Path, a.deps.Snippet.Integrity
	if reply.Signup == "" {
		reply.Signup = SignupOpen
	}
	for _, as := range []string{"advertiser", "publisher", "admin"} {
		if _, has := a.demo()[as]; has {
			reply.Demo = append(reply.Demo, as)
		}
	}
	switch u, session, err := a.deps.Auth.Heard(c); {
	case err == nil:
		known := answerUser(u)
		known.Lacks = a.deps.Auth.Lacks(c, u, session)
		reply.User = &known
	case !errs.Is(err, errs.InvalidToken): // a store is away
		return err
	}
	return httpapi.JSON(c, http.StatusOK, reply)
}
