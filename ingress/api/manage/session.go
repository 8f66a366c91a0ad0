package manage

import (
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

// opened is the session to return: as a token for programs, as a cookie for the console.
type opened struct {
	user   account.User
	cookie bool
	strong bool // a second factor was shown
}

// errNotConsole explains which pages can use a cookie.
var errNotConsole = errs.New(
	errs.InvalidRequest,
	"cookies are only for pages of the console at ADNET_BASE_URL, over https or on loopback; "+
		"programs must use the token",
)

// mayHaveCookie rejects a cookie that would not work, or that another site requests to sign the
// visitor in to the site's own account.
func (a *API) mayHaveCookie(c *gin.Context, requested bool) error {
	if requested && !httpapi.FromConsole(c, a.baseURL()) {
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

func (a *API) answerSession(c *gin.Context, status int, s opened) (reply httpapi.Reply, err error) {
	u, life, now := s.user, token.SessionLife, a.deps.Now().UTC()
	if u.IsAdmin() && (s.cookie || s.strong) { // a person; programs have no second factor
		life = token.AdminConsoleLife
	}
	session, err := a.deps.Accounts.OpenSession(c.Request.Context(), u, account.Session{
		CreatedAt: now, ExpiresAt: now.Add(life), Network: traffic.Network(c.ClientIP()),
		Agent: c.GetHeader("User-Agent"), Strong: s.strong,
	})
	if err != nil {
		return reply, err
	}
	claims := token.Claims{
		UserID: u.ID, SessionID: session.ID, Role: string(u.Role), Email: u.Email, Version: u.TokenVersion,
	}
	access, expiresIn, err := a.deps.Sessions.IssueFor(claims, now, life)
	if err != nil {
		return reply, err
	}
	if s.cookie { // scripts never see the token
		httpapi.SetSession(c, a.baseURL(), access, expiresIn)
		access = ""
	}
	answer := sessionReply{Token: access, Role: u.Role, Email: u.Email, User: answerUser(u)}
	answer.Session.AccessToken, answer.Session.ExpiresIn, answer.Session.TokenType = access, int(expiresIn.Seconds()),
		"Bearer"
	return httpapi.With(status, answer), nil
}

func (a *API) mountLogins(s *httpapi.Server) {
	// Each request counts, wrong tokens and mistakes too: nothing else bounds a caller without a login.
	byLink := httpapi.Policy{
		Limit: httpapi.LimitOpen, Auth: httpapi.Anyone, Idempotent: httpapi.Yes, Audited: httpapi.Yes,
	}
	s.HandleActions(http.MethodPost, "/api/auth", httpapi.Actions{Param: "action", Of: map[string]httpapi.Action{
		"": {Do: httpapi.Open(a.login)}, "login": {Do: httpapi.Open(a.login)},
		"register": {Do: httpapi.Open(a.register), Policy: httpapi.Policy{
			Limit: httpapi.LimitRegistrations, Auth: httpapi.Anyone, Idempotent: httpapi.Yes, Audited: httpapi.Yes,
		}},
		"demo":   {Do: httpapi.Open(a.demoLogin)},
		"verify": {Do: httpapi.Open(a.verify), Policy: byLink}, "reset": {Do: httpapi.Open(a.reset), Policy: byLink},
		// No Idempotency-Key: a second call mails a second link.
		"forgot": {
			Do: httpapi.Open(a.forgot),
			Policy: httpapi.Policy{
				Limit: httpapi.LimitRegistrations, Auth: httpapi.Anyone, Idempotent: httpapi.No, Audited: httpapi.No,
			},
		},
		// No Idempotency-Key for a logout: an ended session stays ended, and the reply is the same.
		"logout": {
			Do: httpapi.Open(a.logout),
			Policy: httpapi.Policy{
				Limit: httpapi.LimitOpen, Auth: httpapi.Anyone, Idempotent: httpapi.No, Audited: httpapi.Yes,
			},
		},
		// No Idempotency-Key for a login: a second one opens one more session, which the owner
		// sees.
	}}, httpapi.Policy{Limit: httpapi.LimitLogins, Auth: httpapi.Anyone, Idempotent: httpapi.No, Audited: httpapi.No})
	s.Handle(
		http.MethodGet, "/api/info", httpapi.Open(a.info),
		httpapi.Policy{Limit: httpapi.LimitOpen, Auth: httpapi.Anyone},
	)
}

// logout ends the session of the token, or of the console's cookie, which it also clears. The reply
// is the same if the session had ended before.
func (a *API) logout(c *gin.Context, _ httpapi.None) (httpapi.Object, error) {
	_, byToken := httpapi.Bearer(c)
	if !byToken && !httpapi.FromConsole(c, a.baseURL()) {
		return nil, errNotConsole
	}
	switch u, session, err := a.deps.Auth.Login(c, httpapi.WithoutFactor|httpapi.Suspended); {
	case errs.Is(err, errs.InvalidToken):
	case err != nil:
		return nil, err
	default:
		if err := a.end(c.Request.Context(), u, session.ID); err != nil {
			return nil, err
		}
	}
	if !byToken {
		httpapi.SetSession(c, a.baseURL(), "", 0)
	}
	return httpapi.Object{"signed_out": true}, nil
}

// demo returns the accounts that a visitor can be signed in to. It is empty if people other than
// the owner of this machine can reach the server, even through a proxy on it.
func (a *API) demo() map[string]string {
	if !httpapi.OnLoopback(a.baseURL()) {
		return nil
	}
	return a.deps.Demo
}

type demoRequest struct {
	As     string `json:"as"`
	Cookie bool   `json:"cookie"`
}

// demoLogin signs a visitor in to a demo account, whose password is public anyway. Errors:
// errs.NotFound without a demo, and off loopback, where strangers could sign in.
func (a *API) demoLogin(c *gin.Context, in demoRequest) (reply httpapi.Reply, err error) {
	demo := a.demo()
	if len(demo) == 0 {
		return reply, errs.New(errs.NotFound, "this installation has no demo")
	}
	email, known := demo[in.As]
	if !known {
		return reply, errs.New(errs.InvalidRequest, "as must be advertiser, publisher or admin").With("field", "as")
	}
	if err := a.mayHaveCookie(c, in.Cookie); err != nil {
		return reply, err
	}
	u, err := a.deps.Accounts.ByEmail(c.Request.Context(), email)
	if err != nil {
		return reply, err
	}
	return a.answerSession(c, http.StatusOK, opened{user: u, cookie: in.Cookie})
}

type userReply struct {
	ID          uuid.UUID    `json:"id"`
	Email       string       `json:"email"`
	Role        account.Role `json:"role"`
	DeveloperID uuid.UUID    `json:"developer_id"`
	Side        account.Side `json:"side"`
	Lacks       bool         `json:"needs_second_factor,omitzero"` // required before anything else
	Suspended   bool         `json:"suspended,omitzero"`           // it may only read the decisions and appeal
}

func answerUser(u account.User) userReply {
	return userReply{
		ID: u.ID, Email: u.Email, Role: u.Role, DeveloperID: u.DeveloperID, Side: u.Sides(), Suspended: u.Disabled,
	}
}

type infoReply struct {
	BaseURL string   `json:"base_url"`
	Signup  string   `json:"signup"`
	Demo    []string `json:"demo"`
	// Invented reports that the installation has a history that never happened.
	Invented bool       `json:"invented,omitzero"`
	Here     bool       `json:"console_address"`
	Now      time.Time  `json:"now"`
	User     *userReply `json:"user"`
	Snippet  struct {
		URL       string `json:"url"`
		Integrity string `json:"integrity"`
	} `json:"snippet"`
	Packages struct {
		NPM    string `json:"npm"`
		Python string `json:"python"`
	} `json:"packages"`
}

// info returns the data that a page needs about the installation and its visitor before a login.
// After a login it makes the browser known, here and not in the login's reply, which sets one
// cookie: the session.
func (a *API) info(c *gin.Context, _ httpapi.None) (infoReply, error) {
	reply := infoReply{
		BaseURL: a.baseURL(), Signup: a.deps.Signup, Demo: []string{}, Here: httpapi.FromConsole(c, a.baseURL()),
		Now: a.deps.Now().UTC(), Invented: a.deps.Invented,
	}
	reply.Snippet.URL, reply.Snippet.Integrity = reply.BaseURL+a.deps.Snippet.Path, a.deps.Snippet.Integrity
	reply.Packages.NPM, reply.Packages.Python = reply.BaseURL+a.deps.Packages.NPM, reply.BaseURL+a.deps.Packages.Python
	if reply.Signup == "" {
		reply.Signup = SignupOpen
	}
	for _, as := range []string{"advertiser", "publisher", "admin"} {
		if _, has := a.demo()[as]; has {
			reply.Demo = append(reply.Demo, as)
		}
	}
	switch u, session, err := a.deps.Auth.Login(c, httpapi.WithoutFactor|httpapi.Suspended); {
	case err == nil:
		known := answerUser(u)
		known.Lacks = a.deps.Auth.Lacks(c, u, session)
		reply.User = &known
		if err := a.noteBrowser(c, u.Email); err != nil {
			return reply, err
		}
	case !errs.Is(err, errs.InvalidToken): // a store is unavailable
		return reply, err
	}
	return reply, nil
}
