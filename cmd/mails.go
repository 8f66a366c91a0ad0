package cmd

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"adnet/consumers/mails"
	"adnet/internal/account"
	"adnet/internal/process/mail"
)

// mailsOut hands mails about events to a server, with links to the installation.
type mailsOut struct {
	post mails.Post // nil: mails are dropped
	base func() string
}

// mails returns the way out of mails. Errors: unusable settings.
func (c *consumers) mails() (out mailsOut, err error) {
	base := strings.TrimRight(c.BaseURL, "/")
	out.base = func() string { return base }
	if !c.Mail.On() {
		return out, nil
	}
	if base == "" {
		return out, errors.New("ADNET_SMTP_HOST needs ADNET_BASE_URL: mails have links to the installation")
	}
	out.post, err = mail.NewPost(c.Mail)
	return out, err
}

// mails returns the way out of mails in in-memory mode: the mail server, or the log without one.
func (c *standalone) mails(base func() string, log *slog.Logger) (out mailsOut, err error) {
	out.base = base
	if c.Role.Mail.On() {
		out.post, err = mail.NewPost(c.Role.Mail)
		return out, err
	}
	out.post = loggedPost{loggedMails{log}}
	return out, nil
}

// loggedPost writes mails to the log.
type loggedPost struct{ loggedMails }

// Deliver implements mails.Post.
func (l loggedPost) Deliver(_ context.Context, m account.Letter) (again bool, err error) {
	l.Send(m)
	return false, nil
}
