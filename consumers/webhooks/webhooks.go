// Package webhooks sends the messages of the outbox to the endpoints of accounts.
//
// Contract: every message is sent at least once, in the order of its subject, or ends as failed or
// dropped, where its owner reads why. A lease keeps two processes from sending one message at the same
// time; a process that dies leaves the message to the next one. An endpoint that is slow, or fails,
// holds at most two of this process's 64 places, and no change waits for it.
//
// # Not obvious
//
// The texts of failures reach the endpoint's owner, who is a stranger: they name neither addresses nor
// what is behind a private name, or anyone could explore the network of the installation.
package webhooks

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"adnet/internal/outbound"
	"adnet/internal/outbound/outbox"
	"adnet/internal/outbound/webhook"
	"adnet/internal/process/obs"
	"adnet/internal/process/schedule"
)

const (
	look  = time.Second // between two looks at the outbox
	tidy  = time.Minute // between two removals of old messages
	lease = time.Minute // longer than an attempt, so that no other process repeats it meanwhile

	places    = 64 // attempts at once
	perTarget = 2
	patience  = 10 * time.Second // of an attempt
	mostReply = 4 << 10          // read so that the connection can be used again
	removed   = 1000             // old messages at once
)

// Endpoints reads the endpoints of messages.
type Endpoints interface {
	Targets(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]webhook.Endpoint, error)
}

// Client sends a request to an address of a stranger; see [outbound.Client].
type Client interface {
	Do(ctx context.Context, r outbound.Request) (outbound.Response, error)
}

// Deps holds the dependencies of a sender. All but Now are required.
type Deps struct {
	Outbox    outbox.Store
	Endpoints Endpoints
	Client    Client
	Log       *slog.Logger
	Metrics   prometheus.Registerer
	Now       func() time.Time
}

// Sender sends the messages of the outbox.
type Sender struct {
	deps     Deps
	often    *obs.LimitedLogger
	attempts *prometheus.CounterVec
	messages *prometheus.GaugeVec

	mu     sync.Mutex
	active map[uuid.UUID]int // attempts by target
	taken  int
	wg     sync.WaitGroup
}

// New returns a sender. It starts nothing.
func New(deps Deps) *Sender {
	deps.Now = schedule.Clock(deps.Now)
	return &Sender{
		deps: deps, often: obs.Limited(deps.Log, 10*time.Minute), active: make(map[uuid.UUID]int),
		attempts: obs.Register(deps.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "adnet_webhook_attempts_total",
			Help: "Attempts to deliver a message to a webhook, by the state of the message afterwards.",
		}, []string{"state"})),
		messages: obs.Register(deps.Metrics, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "adnet_webhook_messages",
			Help: "Messages to webhooks that are stored, by state; ended ones are kept for 7 days.",
		}, []string{"state"})),
	}
}

// Run sends until ctx ends, and then returns nil. Attempts that run then are abandoned: their leases
// end, and another process repeats them.
func (s *Sender) Run(ctx context.Context) error {
	var tidied time.Time
	schedule.Loop(ctx, 0, func(ctx context.Context) time.Duration {
		if now := s.deps.Now(); now.Sub(tidied) >= tidy {
			tidied = now
			if err := s.Tidy(ctx); err != nil && ctx.Err() == nil {
				s.often.Warn(ctx, "old messages to webhooks could not be removed", "error", err)
			}
		}
		if err := s.turn(ctx); err != nil && ctx.Err() == nil {
			s.often.Warn(ctx, "messages to webhooks could not be read, retrying", "error", err)
		}
		return look
	})
	s.wg.Wait()
	return nil
}

// Turn sends what is due once, and waits for the results. Tests call it.
func (s *Sender) Turn(ctx context.Context) error {
	err := s.turn(ctx)
	s.wg.Wait()
	return err
}

// turn begins attempts as far as places are free.
func (s *Sender) turn(ctx context.Context) error {
	now := s.deps.Now()
	free, busy := s.room()
	if free == 0 {
		return nil
	}
	list, err := s.deps.Outbox.ClaimMessages(ctx, outbox.Claim{
		Topic: outbox.Webhooks, Now: now, Lease: lease, Most: free, PerTarget: perTarget, Except: busy,
	})
	if err != nil || len(list) == 0 {
		return err
	}
	ids := make([]uuid.UUID, len(list))
	for i := range list {
		ids[i] = list[i].Target
	}
	targets, err := s.deps.Endpoints.Targets(ctx, ids)
	if err != nil {
		return err
	}
	for _, m := range list {
		s.take(m.Target, 1)
		e, known := targets[m.Target]
		s.wg.Go(func() {
			defer s.take(m.Target, -1)
			s.attempt(ctx, m, e, known)
		})
	}
	return nil
}

// room returns the number of free places and the targets with attempts.
func (s *Sender) room() (free int, busy []uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for target := range s.active {
		busy = append(busy, target)
	}
	return places - s.taken, busy
}

func (s *Sender) take(target uuid.UUID, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken += n
	if s.active[target] += n; s.active[target] == 0 {
		delete(s.active, target)
	}
}

// attempt sends m to e once and stores the result.
func (s *Sender) attempt(ctx context.Context, m outbox.Message, e webhook.Endpoint, known bool) {
	result := outbox.Ended{Message: m, At: s.deps.Now(), State: outbox.Dropped, Problem: outbox.Off}
	if known && e.Enabled {
		result = s.send(ctx, m, e)
	}
	if ctx.Err() != nil { // the process stops, which says nothing about the endpoint
		return
	}
	if err := s.deps.Outbox.EndAttempt(ctx, result); err != nil {
		s.often.Warn(ctx, "the result of a webhook could not be stored; it is sent again", "error", err)
		return
	}
	s.attempts.WithLabelValues(string(result.State)).Inc()
}

func (s *Sender) send(ctx context.Context, m outbox.Message, e webhook.Endpoint) outbox.Ended {
	at := s.deps.Now()
	header, err := webhook.Sign(&m, at, e.Secrets(at))
	if err != nil {
		return outbox.After(m, at, 0, "the secret of the webhook cannot be used: rotate it")
	}
	reply, err := s.deps.Client.Do(ctx, outbound.Request{
		Method: http.MethodPost, URL: e.URL, Header: header, Body: m.Payload, Timeout: patience, Most: mostReply,
	})
	at = s.deps.Now()
	switch {
	case err != nil:
		return outbox.After(m, at, 0, problemOf(err))
	case reply.Status < 200 || reply.Status > 299:
		return outbox.After(m, at, reply.Status, fmt.Sprintf("the endpoint answered %d", reply.Status))
	}
	return outbox.Ended{Message: m, At: at, State: outbox.Delivered, Status: reply.Status}
}

// problemOf returns the text of a failure for the endpoint's owner. A name without an address and one
// with a private address have the same text.
func problemOf(err error) string {
	var refused *outbound.RefusedError
	var unresolved *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &refused), errors.As(err, &unresolved):
		return "the name of the endpoint has no public address"
	case errors.Is(err, context.DeadlineExceeded):
		return "the endpoint did not answer within 10 s"
	case errors.As(err, &certificate):
		return "the certificate of the endpoint is not valid"
	}
	return "the endpoint could not be reached"
}

// Tidy removes old messages and counts the others.
func (s *Sender) Tidy(ctx context.Context) error {
	for before := s.deps.Now().Add(-outbox.Life); ; {
		n, err := s.deps.Outbox.PruneMessages(ctx, before, removed)
		if err != nil {
			return err
		}
		if n < removed {
			break
		}
	}
	counts, err := s.deps.Outbox.CountMessages(ctx, outbox.Webhooks)
	if err != nil {
		return err
	}
	for _, state := range outbox.States {
		s.messages.WithLabelValues(state).Set(float64(counts[outbox.State(state)]))
	}
	return nil
}
