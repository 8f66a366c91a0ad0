package cmd

import (
	"time"

	"adnet/ingress/api/webhooks"
	"adnet/internal/outbound"
)

// notifying builds and mounts the routes of accounts' webhooks. The consumers send; this role checks
// addresses by the same rule.
func (r *ingressRole) notifying() error {
	client, err := outbound.New(r.inputs.Config.Outbound)
	if err != nil {
		return err
	}
	webhooks.New(webhooks.Deps{Store: r.Stores.Webhooks, Check: client.Check, Now: time.Now}).Mount(r.http)
	return nil
}
