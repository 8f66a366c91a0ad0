package manage

import (
	"net/http"
	"time"

	"github.com/boombuler/barcode/qr"
	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/typed"
)

// issuer is the name of the accounts in authenticator apps.
const issuer = "adnet"

// proof re-authenticates a caller before the second factor changes: a stolen session must not be
// enough.
type proof struct {
	Password string `json:"password"`
	Code     string `json:"code"`
}

func (a *API) readFactor(c *gin.Context) error {
	u, _, err := a.deps.Auth.Entering(c)
	if err != nil {
		return err
	}
	f, err := a.deps.Accounts.Factor(c.Request.Context(), u)
	if err != nil {
		return err
	}
	reply := struct {
		On       bool       `json:"enabled"`
		Since    *time.Time `json:"since"`
		Recovery int        `json:"recovery_codes_left"`
	}{On: f.On(), Recovery: len(f.Recovery)}
	if f.On() {
		reply.Since = &f.ConfirmedAt
	}
	return httpapi.JSON(c, http.StatusOK, reply)
}

// proven is a body with a proof.
type proven interface{ of() proof }

func (p proof) of() proof { return p }

// proved reads a body with a proof and checks its password. Errors: errs.InvalidCredentials,
// errs.RateLimited.
func (a *API) proved(c *gin.Context, in proven) (account.User, error) {
	u, _, err := a.deps.Auth.Entering(c)
	if err != nil {
		return u, err
	}
	if err := httpapi.Decode(c, in); err != nil {
		return u, err
	}
	p := in.of()
	if p.Password == "" || len(p.Code) > typed.MaxCode {
		return u, errs.New(errs.InvalidRequest, "password is required, and code must be at most %d bytes", typed.MaxCode)
	}
	return a.checkPassword(c, u.Email, p.Password)
}

func (a *API) beginFactor(c *gin.Context) error {
	u, err := a.proved(c, new(proof))
	if err != nil {
		return err
	}
	begun, err := a.deps.Accounts.BeginFactor(c.Request.Context(), u, issuer)
	if err != nil {
		return err
	}
	rows, err := drawn(begun.URI)
	if err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, map[string]any{"secret": begun.Secret, "uri": begun.URI, "qr": rows})
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

func (a *API) confirmFactor(c *gin.Context) error {
	u, session, err := a.deps.Auth.Entering(c)
	if err != nil {
		return err
	}
	var in struct {
		Code string `json:"code"`
	}
	if err := httpapi.Decode(c, &in); err != nil {
		return err
	}
	if in.Code == "" || len(in.Code) > typed.MaxCode {
		return errs.New(
			errs.InvalidRequest, "code is required: the six digits of the authenticator app",
		).With("field", "code")
	}
	codes, err := a.deps.Accounts.ConfirmFactor(c.Request.Context(), u, session.ID, in.Code)
	a.deps.Auth.Forget(session.ID)
	if err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, map[string]any{"enabled": true, "recovery_codes": codes})
}

// factorShown returns the caller after checking password and code.
func (a *API) factorShown(c *gin.Context) (account.User, error) {
	var in proof
	u, err := a.proved(c, &in)
	if err != nil {
		return u, err
	}
	strong, err := a.deps.Accounts.ShowFactor(c.Request.Context(), u, in.Code)
	if err == nil && !strong {
		err = errs.New(errs.InvalidState, "there is no second factor")
	}
	return u, err
}

func (a *API) renewRecovery(c *gin.Context) error {
	u, err := a.factorShown(c)
	if err != nil {
		return err
	}
	codes, err := a.deps.Accounts.RenewRecovery(c.Request.Context(), u)
	if err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, map[string]any{"recovery_codes": codes})
}

func (a *API) removeFactor(c *gin.Context) error {
	u, err := a.factorShown(c)
	if err != nil {
		return err
	}
	if err := a.deps.Accounts.RemoveFactor(c.Request.Context(), u); err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, map[string]any{"enabled": false})
}
