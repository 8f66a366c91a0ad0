package manage

import (
	"context"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
	"adnet/internal/traffic"
)

// Modes of e-mail confirmation for registrations.
const (
	VerifyRequired = "required"
	VerifyOff      = "off"
)

// Mailer sends mails. Send must not block.
type Mailer interface {
	Send(account.Letter)
}

// Confirmed stores that a mailed link confirmed the address of an account: mails about its events go
// only there.
type Confirmed interface {
	Confirm(ctx context.Context, account uuid.UUID, address, language string) error
}

// confirmed stores that u has used a mailed link. The language of its mails is that of the browser,
// unless the account has chosen one.
func (a *API) confirmed(c *gin.Context, u account.User) error {
	if a.deps.Confirmed == nil {
		return nil
	}
	language := "en"
	if strings.HasPrefix(strings.ToLower(c.GetHeader("Accept-Language")), "de") {
		language = "de"
	}
	return a.deps.Confirmed.Confirm(c.Request.Context(), u.ID, u.Email, language)
}

// maxToken is the maximum length of a link's token in bytes; tokens have 43.
const maxToken = 128

// mailTexts are the mails by purpose. The address of page follows the text.
var mailTexts = map[account.LinkPurpose]struct{ subject, text, page string }{
	account.LinkRegister: {
		"Confirm your e-mail",
		"Someone, probably you, is registering this e-mail. Open this link within 24 hours and enter the password " +
			"that you chose:\n\n", "/console/verify#",
	},
	account.LinkReset: {
		"Set a new password",
		"Someone, probably you, asked to set a new password. Open this link within an hour; it works once. " +
			"If it was not you, ignore this mail:\n\n", "/console/reset#",
	},
	account.LinkNotice: {
		"You already have an account",
		"Someone, probably you, tried to register this e-mail, which already has an account. Sign in, or request " +
			"a new password:\n\n", "/console/forgot",
	},
}

// post mails a link. Its token is in the fragment, which browsers send to no server.
func (a *API) post(c *gin.Context, m *account.Mailed) {
	if m == nil || a.deps.Mailer == nil {
		return
	}
	t := mailTexts[m.Purpose]
	a.deps.Mailer.Send(account.Letter{
		To: m.To, Subject: t.subject, Text: t.text + a.baseURL() + t.page + m.Token + "\n",
		Network: traffic.Block(c.ClientIP()), Urgent: m.Purpose == account.LinkReset,
	})
}

// askMail runs ask, which asks for a mailed link, within the bound of the caller's network for this
// purpose and e-mail. The bound is the same for known and unknown e-mails. An ask that fails does
// not count. Errors: errs.RateLimited.
func (a *API) askMail(
	c *gin.Context, purpose account.LinkPurpose, email string, ask func(network string) (*account.Mailed, error),
) error {
	address, takeBack := c.ClientIP(), func() {}
	if a.deps.Logins != nil {
		var err error
		if takeBack, err = a.deps.Logins.TryMail(string(purpose), email, address); err != nil {
			return err
		}
	}
	mailed, err := ask(traffic.Network(address))
	if err != nil {
		takeBack()
		return err
	}
	a.post(c, mailed)
	return nil
}

// delivery returns the way that links reach their recipients.
func (a *API) delivery() string {
	if a.deps.MailLogged {
		return "log"
	}
	return "mail"
}

// askRegister starts a registration that the owner of the e-mail must confirm. Known and unknown
// e-mails get the same reply in the same time.
func (a *API) askRegister(c *gin.Context, in registration) (reply httpapi.Reply, err error) {
	ctx, _ := a.asking(c, in.Email)
	err = a.askMail(c, account.LinkRegister, in.Email, func(network string) (*account.Mailed, error) {
		return a.deps.Accounts.AskRegister(ctx, account.Registration{
			Email: in.Email, Password: in.Password, Network: network, Side: in.Side,
		})
	})
	if err != nil {
		return reply, err
	}
	return httpapi.With(http.StatusAccepted, httpapi.Object{"verification": "sent", "delivery": a.delivery()}), nil
}

type confirmation struct {
	Token    string `json:"token"`
	Password string `json:"password"`
	Cookie   bool   `json:"cookie"`
}

// verify creates the account of a confirmed e-mail and signs its owner in.
func (a *API) verify(c *gin.Context, in confirmation) (reply httpapi.Reply, err error) {
	if err := checkLink(in.Token, in.Password); err != nil {
		return reply, err
	}
	if err := a.mayHaveCookie(c, in.Cookie); err != nil {
		return reply, err
	}
	u, err := a.deps.Accounts.ConfirmRegister(a.linked(c), in.Token, in.Password, a.network(c))
	if err != nil {
		return reply, err
	}
	if err := a.confirmed(c, u); err != nil {
		return reply, err
	}
	if err := a.noteNetwork(c, u); err != nil {
		return reply, err
	}
	return a.answerSession(c, http.StatusCreated, opened{user: u, cookie: in.Cookie})
}

// linked returns the context of a caller with a mailed link. A hash follows only if the link is
// valid, so the caller has the mailbox and waits with known callers.
func (a *API) linked(c *gin.Context) context.Context {
	return account.WithAsker(c.Request.Context(), account.Asker{
		Network: traffic.Block(c.ClientIP()), Known: func() bool { return true },
	})
}

func checkLink(token, password string) error {
	if token == "" || len(token) > maxToken || password == "" || len(password) > account.MaxPassword {
		return errs.New(errs.InvalidRequest, "the token from the mailed link and the password are required")
	}
	return nil
}

type forgotten struct {
	Email string `json:"email"`
}

// forgot mails a link to set a new password. The reply is the same for every e-mail.
func (a *API) forgot(c *gin.Context, in forgotten) (reply httpapi.Reply, err error) {
	if a.deps.Mailer == nil {
		return reply, errs.New(errs.Forbidden, "this server sends no mail; ask its operator for a new password")
	}
	err = a.askMail(c, account.LinkReset, in.Email, func(network string) (*account.Mailed, error) {
		return a.deps.Accounts.AskReset(c.Request.Context(), in.Email, network)
	})
	if err != nil {
		return reply, err
	}
	return httpapi.With(http.StatusAccepted, httpapi.Object{"sent": true, "delivery": a.delivery()}), nil
}

type newPassword struct {
	Token      string `json:"token"`
	Password   string `json:"password"`
	RevokeKeys bool   `json:"revoke_keys"`
}

// reset sets a new password with a mailed link. It does not sign in: the next login requires a
// second factor as usual.
func (a *API) reset(c *gin.Context, in newPassword) (httpapi.Object, error) {
	if err := checkLink(in.Token, in.Password); err != nil {
		return nil, err
	}
	ctx := a.linked(c)
	u, err := a.deps.Accounts.ResetPassword(ctx, in.Token, in.Password)
	if err != nil {
		return nil, err
	}
	if err := a.confirmed(c, u); err != nil {
		return nil, err
	}
	if err := a.noteNetwork(c, u); err != nil { // the next login comes from here
		return nil, err
	}
	revoked := 0
	if in.RevokeKeys {
		if revoked, err = a.deps.Accounts.RevokeKeys(ctx, u); err != nil {
			return nil, err
		}
	}
	return httpapi.Object{"changed": true, "keys_revoked": revoked}, nil
}
