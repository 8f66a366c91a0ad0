package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// profiled takes a CPU profile of the last started node during each sample if a profile is
// requested. The file holds the last profile.
func (s *session) profiled(of sampler) sampler {
	if s.cfg.Profile == "" {
		return of
	}
	return func(ctx context.Context) (sample, error) {
		failed := make(chan error, 1)
		go func() { failed <- s.profile(ctx, max(time.Second, s.cfg.Sample-time.Second)) }()
		result, err := of(ctx)
		if problem := <-failed; err == nil {
			err = problem
		}
		return result, err
	}
}

func (s *session) profile(ctx context.Context, length time.Duration) error {
	request, err := http.NewRequestWithContext(
		ctx, http.MethodGet, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", s.node, int(length.Seconds())),
		nil,
	)
	if err != nil {
		return err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("no profile: status %d", reply.StatusCode)
	}
	raw, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(s.cfg.Profile, raw, 0o644)
}
