package browser

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"

	"adnet/cmd/load/visitor"
	"adnet/internal/demo"
)

// ready waits until a new adnet process is ready for ads, for at most a minute.
func ready(ctx context.Context, base string) error {
	for range 300 {
		if reply, err := http.Get(base + "/readyz?for=ads"); err == nil {
			_ = reply.Body.Close()
			if reply.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return errors.New("adnet did not become ready")
}

// Serve runs a binary of adnet in memory at an address, until the caller calls stop, and waits until
// it is ready.
func Serve(ctx context.Context, binary, address string, args ...string) (base string, stop func(), err error) {
	adnet := exec.CommandContext(
		ctx, binary, append([]string{"standalone", "--http-addr", address, "--admin-addr", "127.0.0.1:0"}, args...)...,
	)
	adnet.Stdout, adnet.Stderr = io.Discard, os.Stderr
	if err := adnet.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { _ = adnet.Process.Signal(os.Interrupt); _ = adnet.Wait() }
	base = "http://" + address
	if err := ready(ctx, base); err != nil {
		stop()
		return "", nil, err
	}
	return base, stop, nil
}

// Traffic simulates n readers of the demo publisher. Each requests and sees an ad, and every
// seventh clicks it. It returns when all impressions are counted, or after half a minute.
func Traffic(ctx context.Context, base string, n int) error {
	c := caller{ctx: ctx, Client: &visitor.Client{
		Base: visitor.Of(base), HTTP: visitor.NewHTTP(time.Minute), Agent: Agent,
	}}
	var login struct{ Token string }
	if err := c.post("/api/auth/demo", "", map[string]any{"as": "publisher"}, &login); err != nil {
		return err
	}
	var key struct{ Key string }
	if err := c.post(
		"/api/keys", login.Token, map[string]any{"kind": "publisher", "name": "chat app"}, &key,
	); err != nil {
		return err
	}
	requests, err := demo.Requests()
	if err != nil {
		return err
	}
	var admin struct{ Token string }
	if err := c.post("/api/auth/demo", "", map[string]any{"as": "admin"}, &admin); err != nil {
		return err
	}
	before, err := c.counted(admin.Token)
	if err != nil {
		return err
	}
	var clicks []string
	seen := 0
	// A new node first has to learn the remaining budget of each campaign.
	for i := 0; i < 100 && seen == 0; i++ {
		if click, err := c.reader(key.Key, requests[i%len(requests)].Context, i); err != nil {
			return err
		} else if click != "" {
			seen++
		}
		time.Sleep(50 * time.Millisecond)
	}
	for i := range n {
		click, err := c.reader(key.Key, requests[i%len(requests)].Context, i)
		if err != nil {
			return err
		}
		if click != "" {
			seen++
		}
		if click != "" && i%7 == 0 {
			clicks = append(clicks, click)
		}
	}
	time.Sleep(1500 * time.Millisecond) // readers take a while to click
	for _, click := range clicks {
		if err := c.get(click); err != nil {
			return err
		}
	}
	for range 60 {
		if now, err := c.counted(admin.Token); err != nil || now >= before+seen {
			return err
		}
		time.Sleep(500 * time.Millisecond)
	}
	return nil
}

// counted returns the number of impressions counted by the network.
func (c caller) counted(admin string) (int, error) {
	var s struct{ Impressions int }
	err := c.Do(c.ctx, visitor.Request{
		Method: http.MethodGet, Path: "/api/stats?type=overview", Bearer: admin, Want: visitor.Success,
	}, &s)
	return s.Impressions, err
}

type caller struct {
	*visitor.Client
	ctx context.Context
}

// reader requests an ad and reports its impression. It returns the ad's link, or "" without an ad.
func (c caller) reader(key, context string, i int) (click string, err error) {
	var reply struct {
		Ad *struct {
			Impression string `json:"impression_url"`
			Click      string `json:"click_url"`
		}
	}
	app := []string{"cursor", "claude", "discord", "web"}[i%4]
	if err := c.post(
		"/v1/ad-request", key, map[string]any{"context": context, "platform": app, "host_app": app}, &reply,
	); err != nil {
		return "", err
	}
	if reply.Ad == nil {
		return "", nil
	}
	return reply.Ad.Click, c.get(reply.Ad.Impression)
}

func (c caller) get(address string) error {
	return c.Do(c.ctx, visitor.Request{Method: http.MethodGet, Path: address, Want: visitor.Success}, nil)
}

func (c caller) post(path, bearer string, body, reply any) error {
	return c.Do(c.ctx, visitor.Request{
		Method: http.MethodPost, Path: path, Bearer: bearer, JSON: body, Want: visitor.Success,
	}, reply)
}
