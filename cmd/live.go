package cmd

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"adnet/cmd/load/visitor"
	"adnet/internal/demo"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
)

// liveEvery is the least time between two ad requests of the demo's readers.
const liveEvery = time.Second

// live sends the demo's publisher readers from outside, by the API.
type live struct {
	base  func() string
	key   func() string // of the publisher
	often *obs.LimitedLogger
}

// liveDemo returns the traffic of ADNET_DEMO=live.
func (m *inMemory) liveDemo(log *slog.Logger) *live {
	return &live{
		base: m.role.http.BaseURL, key: func() string { return m.credentials.PublisherKey },
		often: obs.Limited(log, time.Minute),
	}
}

// Run implements lifecycle.Component.
func (l *live) Run(ctx context.Context) error {
	requests, err := demo.Requests()
	if err != nil {
		return err
	}
	client := &visitor.Client{Base: l.base, HTTP: visitor.NewHTTP(5 * time.Second), Agent: "adnet-demo/1.0"}
	schedule.Loop(ctx, liveEvery, func(ctx context.Context) time.Duration {
		if err := l.one(ctx, client, requests[rand.IntN(len(requests))].Context); err != nil && ctx.Err() == nil {
			l.often.Warn(ctx, "a reader of the demo failed", "error", err)
		}
		return liveEvery + rand.N(3*liveEvery)
	})
	return nil
}

// one requests an ad and reports that a reader saw it. One of thirty readers clicks.
func (l *live) one(ctx context.Context, client *visitor.Client, text string) error {
	var reply struct {
		Ad *struct {
			Impression string `json:"impression_url"`
			Click      string `json:"click_url"`
		} `json:"ad"`
	}
	if err := client.Do(ctx, visitor.Request{
		Method: http.MethodPost, Path: "/v1/ad-request", Bearer: l.key(), Want: visitor.Success,
		JSON: map[string]any{"context": text},
	}, &reply); err != nil || reply.Ad == nil {
		return err
	}
	if err := client.Do(ctx, visitor.Request{Method: http.MethodGet, Path: reply.Ad.Impression}, nil); err != nil {
		return err
	}
	if rand.IntN(30) > 0 || schedule.Pause(ctx, liveEvery) != nil {
		return nil
	}
	return client.Do(ctx, visitor.Request{Method: http.MethodGet, Path: reply.Ad.Click, Agent: visitor.Browser}, nil)
}
