package cmd

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adnet/cmd/backends"
	"adnet/cmd/cli"
	"adnet/internal/process/lifecycle"
	"adnet/internal/process/obs"
	"adnet/internal/process/roster"
	"adnet/internal/store/redis"
)

// host is the frame of a long-running process: its parts in their order, metrics, readiness and the
// admin listener.
type host struct {
	cli.Process
	metrics   *prometheus.Registry
	readiness *obs.Readiness
	admin     *obs.Admin
	group     *lifecycle.Group
	public    interface{ Leave(ctx context.Context) } // the public listener; nil without one
	name      string                                  // identifies this process
	clerk     *roster.Clerk                           // reports that the process runs; created with the first role
}

// hostConfig holds the settings of the frame.
type hostConfig struct {
	Admin     obs.AdminConfig  `embed:""`
	Lifecycle lifecycle.Config `embed:""`
}

// lastWrites is the part of ADNET_STOP_BUDGET that the stages after the public listener have at
// least.
const lastWrites = 5 * time.Second

// newHost returns the frame. serving is the time that the public listener takes to stop; 0 without
// one.
func newHost(p cli.Process, cfg hostConfig, serving time.Duration) (*host, error) {
	if least := serving + lastWrites; cfg.Lifecycle.StopBudget < least {
		return nil, fmt.Errorf(
			"ADNET_STOP_BUDGET is %s and must be at least %s: ADNET_HTTP_LAMEDUCK and ADNET_HTTP_DRAIN (%s), and %s "+
				"for last writes", cfg.Lifecycle.StopBudget, least, serving, lastWrites,
		)
	}
	name, err := nodeName()
	if err != nil {
		return nil, err
	}
	h := &host{name: name, Process: p, metrics: obs.NewRegistry(), readiness: obs.NewReadiness()}
	obs.Register(h.metrics, buildInfo())
	if h.admin, err = obs.NewAdmin(
		cfg.Admin, obs.AdminDeps{Log: p.Log, Readiness: h.readiness, Gatherer: h.metrics},
	); err != nil {
		return nil, err
	}
	if h.group, err = lifecycle.New(cfg.Lifecycle, lifecycle.Deps{Log: p.Log, Leave: h.leave}); err != nil {
		return nil, err
	}
	// The admin listener is up before and after everything else.
	h.group.Add(lifecycle.Named("admin", h.admin))
	return h, nil
}

// backendDeps returns the dependencies of the backends on the process.
func (h *host) backendDeps() backends.Deps { return backends.Deps{Log: h.Log, Metrics: h.metrics} }

// leave is the first part of a stop: the process is not ready, and still serves until balancers have
// noticed it or Hurry closes.
func (h *host) leave(ctx context.Context) {
	h.readiness.SetDraining()
	if h.public == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-h.Hurry:
			cancel()
		case <-ctx.Done():
		}
	}()
	h.public.Leave(ctx)
}

// run starts the stages and blocks until a part fails or the process receives a stop signal.
func (h *host) run() error {
	stop := context.AfterFunc(h.Ctx, h.readiness.SetDraining)
	defer stop()
	err := h.group.Run(h.Ctx)
	if err != nil && h.Ctx.Err() == nil {
		return err
	}
	if err != nil {
		h.Log.Error("some components did not stop in time", "error", err)
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}

// enlist creates the clerk that registers the process with its role.
func (h *host) enlist(role string, b *backends.All) {
	h.clerk = roster.NewClerk(roster.Deps{Store: redis.NewRoster(b.Redis), Log: h.Log, Self: roster.Process{
		Name: h.name, Role: role, Version: version + " " + revisionOf(debug.ReadBuildInfo()),
		Conns: b.PostgresConns,
	},
		Mask: func(text string) string { return maskURL("", text) }})
}

// nodeName distinguishes processes, including two on one machine and one that was restarted.
func nodeName() (string, error) {
	name, err := os.Hostname()
	if err != nil {
		name = "node"
	}
	var nonce [4]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s-%d-%s", name, os.Getpid(), hex.EncodeToString(nonce[:])), nil
}
