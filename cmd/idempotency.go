package cmd

import (
	"context"

	"adnet/ingress/httpapi"
	"adnet/ingress/idempotency"
	"adnet/internal/account"
	"adnet/internal/backends"
	"adnet/internal/errs"
	"adnet/internal/once"
	"adnet/internal/trail"

	"github.com/google/uuid"
)

// newIdempotency constructs what surrounds the mutating endpoints.
func newIdempotency(h *host, b *backends.All, auth *httpapi.Auth) (*idempotency.Keys, error) {
	return idempotency.New(idempotency.Deps{
		Log: h.Log, Metrics: h.metrics, Store: b.Books, Caller: auth,
		Recover: func(ctx context.Context, caller account.User, e once.Effect) (any, error) {
			id, err := uuid.Parse(e.ID)
			if err != nil || e.Kind != trail.TargetCampaign {
				return nil, nil
			}
			made, err := b.Books.Campaign(ctx, id)
			if err != nil {
				return nil, err
			}
			if !caller.MayActFor(made.AdvertiserID) {
				return nil, errs.New(errs.Forbidden, "the campaign belongs to another account")
			}
			return made, nil
		},
	})
}
