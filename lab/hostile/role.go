package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"time"

	"adnet/internal/testenv"
	"adnet/lab/process"
)

// role is a process of adnet.
type role struct {
	*process.Process
	http, admin string // host:port
}

// launch starts a role. files limits its descriptors unless it is 0.
func (w *world) launch(name string, files int) (*role, error) {
	r := &role{}
	for _, into := range []*string{&r.http, &r.admin} {
		free, err := testenv.FreeAddr()
		if err != nil {
			return nil, err
		}
		*into = free
	}
	env := append(w.env[:len(w.env):len(w.env)], "ADNET_HTTP_ADDR="+r.http, "ADNET_ADMIN_ADDR="+r.admin)
	started, err := process.Start(process.Program{
		Name: name, Path: w.binary, Args: []string{name}, Env: env, Log: filepath.Join(w.dir, name+".log"),
		Files: files,
	})
	r.Process = started
	return r, err
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
