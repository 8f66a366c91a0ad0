package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"adnet/ingress/track/spool"
	"adnet/internal/account"
	"adnet/internal/backends"
	"adnet/internal/cli"
	"adnet/internal/demo"
	"adnet/internal/errs"
	"adnet/internal/kafka"
	"adnet/internal/lifecycle"
	"adnet/internal/operate"
)

// ingress is `adnet ingress`: the HTTP role against the real servers.
type ingress struct {
	Host    hostConfig       `embed:""`
	Role    ingressConfig    `embed:"" set:"unsigned_beacons=record"`
	Money   backends.Money   `embed:"" set:"prepaid=required"`
	Spool   spool.Config     `embed:""`
	Servers backends.Servers `embed:""`
}

// Run runs the command until it is told to stop or has done its work.
func (c *ingress) Run(p cli.Process) error {
	ring, sessions, err := c.Role.keys(false)
	if err != nil {
		return err
	}
	h, err := newHost(p, c.Host)
	if err != nil {
		return err
	}
	b, err := backends.Open(h.Ctx, c.Servers, c.Money, backends.Deps{Log: h.Log, Metrics: h.metrics})
	if err != nil {
		return err
	}
	defer b.Close()
	role, err := newIngress(h, parts{Config: c.Role, Money: c.Money, Spool: c.Spool, Ring: ring, Sessions: sessions}, b)
	if err != nil {
		return err
	}
	if err := role.spool.Open(); err != nil {
		return err
	}
	h.group.Add(lifecycle.Task("administrator", role.admin))
	role.add(h)
	return h.run()
}

// add puts the role's components into stages. They stop in reverse: first no request is taken any
// more, then the producer hands over what it holds, then what it could not goes to the spool.
func (r *ingressRole) add(h *host) {
	h.group.Add(lifecycle.Named("spool", r.spool))
	h.group.Add(lifecycle.Named("producer", r.producer))
	h.group.Add(lifecycle.Named("catalog", r.catalog), lifecycle.Named("budget", r.budget), lifecycle.Named("limits", r.limits),
		lifecycle.Named("caps", r.delivery.Caps), lifecycle.Named("pacing", r.delivery.Pacer))
	h.group.Add(lifecycle.Named("http", r.http))
}

// ensureAdmin creates the administrator of the settings, if there is none of that e-mail.
func ensureAdmin(ctx context.Context, accounts *account.Service, cfg ingressConfig) error {
	if cfg.AdminEmail == "" && cfg.AdminPassword == "" {
		return nil
	}
	if cfg.AdminEmail == "" || cfg.AdminPassword == "" {
		return errors.New("set ADNET_ADMIN_EMAIL and ADNET_ADMIN_PASSWORD together")
	}
	if err := accounts.EnsureAdmin(ctx, cfg.AdminEmail, cfg.AdminPassword); err != nil {
		return fmt.Errorf("ADNET_ADMIN_EMAIL, ADNET_ADMIN_PASSWORD: %s", errs.Of(err).Message)
	}
	return nil
}

// greetingWait is how long the greeting waits for budgets at most.
const greetingWait = 5 * time.Second

// standalone is `adnet standalone`: every role in one process, in memory.
type standalone struct {
	Host      hostConfig           `embed:""`
	Role      ingressConfig        `embed:"" set:"unsigned_beacons=bill"`
	Money     backends.Money       `embed:"" set:"prepaid=off"`
	Consumers consumersConfig      `embed:""`
	Broker    kafka.EmbeddedConfig `embed:""`
	Demo      string               `name:"demo" env:"ADNET_DEMO" default:"on" enum:"on,off" help:"Load demo accounts and campaigns."`
}

// Run runs the command until it is told to stop or has done its work.
func (c *standalone) Run(p cli.Process) error {
	ring, sessions, err := c.Role.keys(true)
	if err != nil {
		return err
	}
	// Nothing of in-memory mode outlives the process, so neither does its spool.
	scratch, err := os.MkdirTemp("", "adnet-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	h, err := newHost(p, c.Host)
	if err != nil {
		return err
	}
	b, err := backends.OpenEmbedded(c.Broker, c.Money, backends.Deps{Log: h.Log, Metrics: h.metrics})
	if err != nil {
		return err
	}
	defer b.Close()
	role, err := newIngress(h, parts{
		Config: c.Role, Money: c.Money, Ring: ring, Sessions: sessions, InMemory: true,
		Spool: spool.Config{Dir: filepath.Join(scratch, "spool"), MaxBytes: 256 << 20},
	}, &b.All)
	if err != nil {
		return err
	}
	if err := role.spool.Open(); err != nil {
		return err
	}
	h.admin.Handle("GET /internal/verify", operate.VerifyHandler(&b.All, c.Money))
	h.group.Add(lifecycle.Named("broker", b.Broker), lifecycle.Named("redis", b.Cache))
	h.group.Add(lifecycle.Task("topics", func(ctx context.Context) error {
		return kafka.EnsureTopics(ctx, b.Kafka, kafka.Deps{Log: h.Log})
	}))
	c.Consumers.Life = c.Role.Track.Life.Conversion
	if err := addConsumers(h, c.Consumers, c.Money, &b.All); err != nil {
		return err
	}
	h.group.Add(lifecycle.Task("administrator", role.admin))
	var shown demo.Credentials
	if c.Demo == "on" {
		h.group.Add(lifecycle.Task("demo", func(ctx context.Context) (err error) {
			shown, err = demo.Load(ctx, demo.Deps{Accounts: role.accounts, Campaigns: role.campaigns})
			return err
		}))
	}
	role.add(h)
	h.group.Add(lifecycle.Task("greeting", func(ctx context.Context) error {
		// Who reads the greeting tries it at once: the budgets are open by then.
		for started := time.Now(); !role.budget.Granting(time.Now()) && time.Since(started) < greetingWait; {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
		if c.Demo == "on" {
			return demo.Print(p.Stdout, role.http.BaseURL(), shown)
		}
		_, err := fmt.Fprintf(p.Stdout, "adnet listens on %s\n", role.http.BaseURL())
		return err
	}))
	return h.run()
}
