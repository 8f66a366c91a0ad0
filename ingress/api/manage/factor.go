package manage

import (
	"net/http"
	"time"

	"github.com/boombuler/barcode/qr"
	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/account/typed"
	"adnet/internal/errs"
)

// issuer is the name of the accounts in authenticator apps.
const issuer = "adnet"

// proof re-authenticates a caller before the second factor changes: a stolen session must not be
// enough.
type proof struct {
	Password string `json:"password"`
	Code     string `json:"code"`
}

type factorReply struct {
	On       bool       `json:"enabled"`
	Since    *time.Time `json:"since"`
	Recovery int        `json:"recovery_codes_left"`
}

func (a *API) mountFactor(s *httpapi.Server) {
	looks, sets := reads, changes
	looks.Admits, sets.Admits = httpapi.WithoutFactor, httpapi.WithoutFactor
	begins := sets
	begins.Audited = httpapi.No // an unconfirmed factor does not affect logins
	s.Handle(http.MethodGet, "/api/account/second_factor", httpapi.Do(a.readFactor), looks)
	s.Handle(http.MethodPost, "/api/account/second_factor", httpapi.Do(a.beginFactor), begins)
	s.Handle(http.MethodPost, "/api/account/second_factor/confirm", httpapi.Do(a.confirmFactor), sets)
	s.Handle(http.MethodPost, "/api/account/second_factor/recovery_codes", httpapi.Do(a.renewRecovery), sets)
	s.Handle(http.MethodPost, "/api/account/second_factor/remove", httpapi.Do(a.removeFactor), sets)
}

func (a *API) readFactor(c *gin.Context, u account.User, _ httpapi.None) (reply factorReply, err error) {
	f, err := a.deps.Accounts.Factor(c.Request.Context(), u)
	if err != nil {
		return reply, err
	}
	reply = factorReply{On: f.On(), Recovery: len(f.Recovery)}
	if f.On() {
		reply.Since = &f.ConfirmedAt
	}
	return reply, nil
}

// proved returns u after it checked the password. Errors: errs.InvalidCredentials,
// errs.RateLimited.
func (a *API) proved(c *gin.Context, u account.User, p proof) (account.User, error) {
	if p.Password == "" || len(p.Code) > typed.MaxCode {
		return u, errs.New(errs.InvalidRequest, "password is required, and code must be at most %d bytes", typed.MaxCode)
	}
	return a.checkPassword(c, u.Email, p.Password)
}

func (a *API) beginFactor(c *gin.Context, u account.User, in proof) (httpapi.Object, error) {
	u, err := a.proved(c, u, in)
	if err != nil {
		return nil, err
	}
	begun, err := a.deps.Accounts.BeginFactor(c.Request.Context(), u, issuer)
	if err != nil {
		return nil, err
	}
	rows, err := drawn(begun.URI)
	if err != nil {
		return nil, err
	}
	return httpapi.Object{"secret": begun.Secret, "uri": begun.URI, "qr": rows}, nil
}

// drawn returns the QR code of a text as rows, with 1 for a dark module and 0 for a light one.
func drawn(text string) ([]string, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return nil, err
	}
	size := code.Bounds().Dx()
	rows := make([]string, size)
	for y := range size {
		row := make([]byte, size)
		for x := range size {
			row[x] = '0'
			if red, _, _, _ := code.At(x, y).RGBA(); red == 0 {
				row[x] = '1'
			}
		}
		rows[y] = string(row)
	}
	return rows, nil
}

type factorCode struct {
	Code string `json:"code"`
}

func (a *API) confirmFactor(c *gin.Context, u account.User, in factorCode) (httpapi.Object, error) {
	if in.Code == "" || len(in.Code) > typed.MaxCode {
		return nil, errs.New(
			errs.InvalidRequest, "code is required: the six digits of the authenticator app",
		).With("field", "code")
	}
	session := httpapi.SessionOf(c)
	codes, err := a.deps.Accounts.ConfirmFactor(c.Request.Context(), u, session.ID, in.Code)
	a.deps.Auth.Forget(session.ID)
	if err != nil {
		return nil, err
	}
	return httpapi.Object{"enabled": true, "recovery_codes": codes}, nil
}

// factorShown returns the caller after checking password and code.
func (a *API) factorShown(c *gin.Context, u account.User, in proof) (account.User, error) {
	u, err := a.proved(c, u, in)
	if err != nil {
		return u, err
	}
	strong, err := a.showFactor(c, u, in.Code)
	if err == nil && !strong {
		err = errs.New(errs.InvalidState, "there is no second factor")
	}
	return u, err
}

func (a *API) renewRecovery(c *gin.Context, u account.User, in proof) (httpapi.Object, error) {
	u, err := a.factorShown(c, u, in)
	if err != nil {
		return nil, err
	}
	codes, err := a.deps.Accounts.RenewRecovery(c.Request.Context(), u)
	if err != nil {
		return nil, err
	}
	return httpapi.Object{"recovery_codes": codes}, nil
}

func (a *API) removeFactor(c *gin.Context, u account.User, in proof) (httpapi.Object, error) {
	u, err := a.factorShown(c, u, in)
	if err != nil {
		return nil, err
	}
	if err := a.deps.Accounts.RemoveFactor(c.Request.Context(), u); err != nil {
		return nil, err
	}
	return httpapi.Object{"enabled": false}, nil
}

// showFactor checks a code of the second factor, as asked from the caller's network. Errors: as
// account.Service.ShowFactor.
func (a *API) showFactor(c *gin.Context, u account.User, code string) (strong bool, err error) {
	ctx, _ := a.asking(c, u.Email)
	return a.deps.Accounts.ShowFactor(ctx, u, code)
}
