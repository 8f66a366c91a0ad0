// Package notices serves the choice of mails, the links in mails that end a kind without a login, and
// the numbers of what waits for administrators.
package notices

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/outbound/notice"
	"adnet/internal/process/schedule"
)

// Deps holds the dependencies of the endpoints.
type Deps struct {
	Store notice.Store
	Marks notice.Marks
	Mails bool // this installation sends mails
	// BaseURL returns the address of the installation.
	BaseURL func() string
	Now     func() time.Time
}

// API serves /api/account/notices, /api/admin/waiting and /unsubscribe.
type API struct{ deps Deps }

// New returns the endpoints.
func New(deps Deps) *API {
	deps.Now = schedule.Clock(deps.Now)
	return &API{deps: deps}
}

// Mount adds the routes to s.
func (a *API) Mount(s *httpapi.Server) {
	reads := httpapi.Policy{Limit: httpapi.LimitRefused, Auth: httpapi.UserToken}
	admins := reads
	admins.Auth = httpapi.AdminToken
	s.Handle(http.MethodGet, "/api/account/notices", httpapi.Do(a.read), reads)
	s.Handle(http.MethodPatch, "/api/account/notices", httpapi.Do(a.change), httpapi.Policy{
		Limit: httpapi.LimitRefused, Auth: httpapi.UserToken, Idempotent: httpapi.Yes, Audited: httpapi.Yes,
	})
	s.Handle(http.MethodGet, "/api/admin/waiting", httpapi.Do(a.waiting), admins)
	s.Handle(http.MethodGet, "/unsubscribe/:token", httpapi.Plain(a.ask), httpapi.Policy{
		Limit: httpapi.LimitOpen, Auth: httpapi.Anyone,
	})
	// No Idempotency-Key: a mail program sends none, and to turn a kind off twice is to turn it off.
	s.Handle(http.MethodPost, "/unsubscribe/:token", httpapi.Plain(a.end), httpapi.Policy{
		Limit: httpapi.LimitOpen, Auth: httpapi.Anyone, Idempotent: httpapi.No, Audited: httpapi.Yes,
	})
}

// choice is an account's choice of mails as its owner reads it.
type choice struct {
	Mails     bool     `json:"mails"`     // this installation sends mails
	Confirmed bool     `json:"confirmed"` // a mailed link confirmed the address
	Language  string   `json:"language"`
	Kinds     []string `json:"kinds"` // that the account can have
	Off       []string `json:"off"`
}

func (a *API) answer(u account.User, of notice.Settings) choice {
	kinds := notice.KindsOf(u.IsAdmin())
	off := []string{}
	for _, kind := range of.Off {
		if slices.Contains(kinds, kind) {
			off = append(off, kind)
		}
	}
	return choice{
		Mails: a.deps.Mails, Language: of.Language, Kinds: kinds, Off: off,
		Confirmed: of.Confirmed != "" && strings.EqualFold(of.Confirmed, u.Email),
	}
}

// read serves GET /api/account/notices.
func (a *API) read(c *gin.Context, u account.User, _ httpapi.None) (choice, error) {
	of, err := a.deps.Store.Settings(c.Request.Context(), u.ID)
	return a.answer(u, of), err
}

// patch is a change; nil leaves a field as it is.
type patch struct {
	Language *string   `json:"language"`
	Off      *[]string `json:"off"`
}

// change serves PATCH /api/account/notices.
func (a *API) change(c *gin.Context, u account.User, in patch) (choice, error) {
	of, err := a.deps.Store.UpdateSettings(c.Request.Context(), u.ID, func(s *notice.Settings) error {
		if in.Language != nil {
			s.Language = *in.Language
		}
		if in.Off != nil {
			s.Off = *in.Off
		}
		return s.Normalize()
	})
	return a.answer(u, of), err
}

// waiting serves GET /api/admin/waiting.
func (a *API) waiting(c *gin.Context, _ account.User, _ httpapi.None) (notice.Waiting, error) {
	return a.deps.Store.Waiting(c.Request.Context(), a.deps.Now())
}

// ask serves GET /unsubscribe/<token>: a page with a button. It changes nothing, because mail programs
// and scanners open links on their own.
func (a *API) ask(c *gin.Context) error {
	account, kind, err := a.deps.Marks.Verify(c.Param("token"))
	if err != nil {
		return err
	}
	of, err := a.deps.Store.Settings(c.Request.Context(), account)
	if err != nil {
		return err
	}
	return a.page(c, of, kind)
}

// end serves POST /unsubscribe/<token>, from the page's button and from mail programs (RFC 8058). The
// token names the account and the kind; the body changes nothing.
func (a *API) end(c *gin.Context) error {
	id, kind, err := a.deps.Marks.Verify(c.Param("token"))
	if err != nil {
		return err
	}
	of, err := a.deps.Store.UpdateSettings(c.Request.Context(), id, func(s *notice.Settings) error {
		s.Off = append(slices.Clone(s.Off), kind)
		return s.Normalize()
	})
	if errs.Is(err, errs.InvalidRequest) { // a kind that this version does not have
		err = errs.New(errs.NotFound, "there are no such mails")
	}
	if err != nil {
		return err
	}
	return a.page(c, of, kind)
}
