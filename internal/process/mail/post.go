package mail

import (
	"context"
	"errors"

	"github.com/wneessen/go-mail"

	"adnet/internal/account"
)

// Post hands single letters to the mail server, for callers that store what waits.
type Post struct {
	from   string
	client *mail.Client
}

// NewPost returns a Post. Errors: unusable settings.
func NewPost(cfg Config) (*Post, error) {
	if cfg.From == "" {
		return nil, errNoSender
	}
	client, err := newClient(cfg)
	return &Post{cfg.From, client}, err
}

// errNoSender reports a missing setting.
var errNoSender = errors.New(
	"ADNET_SMTP_FROM is not set: it is the sender of mails, for example no-reply@ads.example",
)

// Deliver hands a letter to the server. After an error, again reports whether the server certainly did
// not take it and may take it later.
func (p *Post) Deliver(ctx context.Context, l account.Letter) (again bool, err error) {
	unsure, err := deliver(ctx, p.client, p.from, l)
	return err != nil && !unsure && !final(err), err
}
