package cmd

import (
	"time"

	"adnet/ingress/api/notices"
	"adnet/ingress/api/webhooks"
	"adnet/internal/outbound"
)

// notifying builds and mounts the routes of accounts' mails and webhooks. The consumers send; this role checks
// addresses by the same rule.
func (r *ingressRole) notifying() error {
	client, err := outbound.New(r.inputs.Config.Outbound)
	if err != nil {
		return err
	}
	notices.New(notices.Deps{
		Store: r.Stores.Notices, Marks: r.inputs.Ring.Marks, Mails: r.inputs.Config.Mail.On() || r.inputs.InMemory,
		BaseURL: r.http.BaseURL, Now: time.Now,
	}).Mount(r.http)
	webhooks.New(webhooks.Deps{Store: r.Stores.Webhooks, Check: client.Check, Now: time.Now}).Mount(r.http)
	return nil
}
