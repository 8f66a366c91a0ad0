package redis

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"adnet/internal/campaign"
	"adnet/internal/errs"
	"adnet/internal/token"
)

// Trust makes the campaigns and rooms in Redis as trustworthy as those of PostgreSQL, even if others
// can write to Redis: writers seal each of them, and readers reject unsealed ones.
type Trust struct {
	Seal *token.Seal
	// Truth reads the campaign of a rejected record from PostgreSQL. nil leaves it out.
	Truth func(ctx context.Context, id uuid.UUID) (campaign.Campaign, error)
	// Refused is called for every rejected record; nil does nothing.
	Refused func(campaignID string, reason error)
}

// Trusting returns a client with seals: it writes campaigns and rooms sealed and does not read
// unsealed ones, nor rooms of an earlier epoch than those it has read.
// It shares c's connections. Without it nothing is sealed or rejected.
func (c *Client) Trusting(t Trust) *Client {
	trusting := *c
	trusting.trust, trusting.epoch = t, new(atomic.Int64)
	return &trusting
}

// sealMember begins the last member of a sealed object. It cannot occur inside a JSON text, where
// quotation marks are escaped. The MAC covers everything before it.
const sealMember = `,"seal":"`

// encode returns the object of a campaign.
func (c *Client) encode(k *campaign.Campaign) ([]byte, error) {
	object, err := k.Record()
	if err != nil {
		return nil, fmt.Errorf("encode campaign %s: %w", k.ID, err)
	}
	return c.sealed(object), nil
}

// sealed returns an object with its seal, without seals the object.
func (c *Client) sealed(object []byte) []byte {
	if c.trust.Seal == nil {
		return object
	}
	record := object[:len(object)-1] // without its closing brace
	sealed := append(append(make([]byte, 0, len(object)+64), record...), sealMember...)
	return append(c.trust.Seal.Append(sealed, record), `"}`...)
}

// checkSeal returns nil for an object that a process of this installation sealed.
func (c *Client) checkSeal(object string) error {
	at := strings.LastIndex(object, sealMember)
	if at < 0 || !strings.HasSuffix(object, `"}`) {
		return token.ErrMalformed
	}
	return c.trust.Seal.Check(object[:at], object[at+len(sealMember):len(object)-len(`"}`)], time.Now())
}

// decode parses the object of a campaign. Errors: it is not a campaign, or not sealed.
func (c *Client) decode(object string, into *campaign.Campaign) error {
	if c.trust.Seal != nil {
		if err := c.checkSeal(object); err != nil {
			return err
		}
	}
	return campaign.Read(object, into)
}

// take reads the object stored under id. An unsealed object, or one of another campaign, is
// rejected: then the campaign is read from PostgreSQL. known is false when it is not there either.
func (c *Client) take(ctx context.Context, id, object string, into *campaign.Campaign) (known bool, err error) {
	reason := c.decode(object, into)
	if reason == nil && into.ID.String() != id {
		reason = token.ErrSignature
	}
	if reason == nil {
		return true, nil
	}
	*into = campaign.Campaign{}
	if c.trust.Seal == nil {
		return false, fmt.Errorf("decode campaign %s: %w", id, reason)
	}
	c.refused(id, reason)
	requested, err := uuid.Parse(id)
	if err != nil || c.trust.Truth == nil {
		return false, nil
	}
	found, err := c.trust.Truth(ctx, requested)
	switch {
	case errs.Is(err, errs.NotFound):
		return false, nil
	case err != nil:
		// The whole load fails: the node continues with its data, and stops serving when that gets
		// old.
		return false, fmt.Errorf("campaign %s was refused, and PostgreSQL does not answer: %w", id, err)
	}
	*into = found
	return true, nil
}

func (c *Client) refused(id string, reason error) {
	if c.trust.Refused != nil {
		c.trust.Refused(id, reason)
	}
}
