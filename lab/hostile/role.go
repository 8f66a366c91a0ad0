package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"adnet/lab/process"
)

// role is a process of adnet.
type role struct {
	*process.Process
	http, admin string // host:port
}

// launch starts a role. files limits its descriptors unless it is 0.
func (w *world) launch(name string, files int) (*role, error) {
	return w.launchWith(name, name, files, nil)
}

// launchWith starts a role with more settings.
func (w *world) launchWith(name, command string, files int, settings []string) (*role, error) {
	http, admin, env, err := process.Listeners()
	if err != nil {
		return nil, err
	}
	started, err := process.Start(process.Program{
		Name: name, Path: w.binary, Args: []string{command}, Env: slices.Concat(w.env, env, settings),
		Log: filepath.Join(w.dir, name+".log"), Files: files,
	})
	return &role{started, http, admin}, err
}

// command runs a command of adnet and waits for its end.
func (w *world) command(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, w.binary, args...)
	cmd.Env = w.env
	return cmd.CombinedOutput()
}

// await waits until the role is ready.
func (r *role) await(ctx context.Context) error {
	return r.Await(ctx, time.Minute, process.Ready(r.admin))
}
