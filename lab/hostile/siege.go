package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"adnet/cmd/load/visitor"
	"adnet/ingress/httpapi"
	"adnet/ingress/idempotency"
	"adnet/internal/process/schedule"
)

// siegeReport is the part of the report about the flood of logins, the key collector and the mail
// bomber.
type siegeReport struct {
	Floods  int64   `json:"flood_of_logins"` // answered requests
	Logins  int64   `json:"good_logins"`
	Passed  int64   `json:"good_logins_passed"` // within loginMost
	Slowest float64 `json:"slowest_good_login_ms"`

	Collected int64 `json:"keyed_calls_of_strangers"`
	Rows      int64 `json:"idempotency_rows_of_strangers"`

	Bombs  int64 `json:"mail_bombs"`
	Asked  int   `json:"mails_asked"` // resets of the owner, confirmations of newcomers
	Mailed int   `json:"mails_sent"`  // of them, within mailMost
}

// The budgets of the siege, and what must hold beside it.
const (
	siegers    = 32
	siegeNets  = 30                     // IPv4 networks
	siegeEvery = 300 * time.Millisecond // of good logins
	loginMost  = 5 * time.Second
	loginShare = 0.95

	collectorCalls = 2_000 // of one /24, then as many of IPv6 networks
	collectorRows  = 10
)

// besiege plays the strangers that keep others from logging in, changing anything and getting mail.
func (s *suite) besiege(ctx context.Context) error {
	r := &siegeReport{}
	s.report.Siege = r
	owner, err := s.world.owner(ctx)
	if err != nil {
		return err
	}
	for _, act := range []func(context.Context, string, *siegeReport) error{
		s.floodLogins, s.collectKeys, s.bombMails,
	} {
		if err := act(ctx, owner, r); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// siegePassword is that of the accounts of the siege.
const siegePassword = "a long passphrase of a siege"

// owner creates an account and returns its e-mail.
func (w *world) owner(ctx context.Context) (email string, err error) {
	email = mailbox() + "@owner.example"
	_, err = w.visitor.Register(ctx, email, siegePassword, visitor.Address(rand.Uint32()))
	return email, err
}

// mailbox returns a new local part of an e-mail.
func mailbox() string { return fmt.Sprintf("n%x", rand.Uint64()) }

func (s *suite) sieged() time.Duration {
	if s.cfg.Short {
		return 6 * time.Second
	}
	return 20 * time.Second
}

// floodLogins runs the flood, and good logins beside it, each from a network that the account does
// not know.
func (s *suite) floodLogins(ctx context.Context, owner string, r *siegeReport) error {
	s.say("a flood of logins, %s", s.sieged())
	part, cancel := context.WithTimeout(ctx, s.sieged())
	defer cancel()
	var floods atomic.Int64
	var under, good sync.WaitGroup
	for n := range siegers {
		under.Go(func() {
			for part.Err() == nil {
				if _, err := s.world.call(part, floodOf(n)); err == nil {
					floods.Add(1)
				}
			}
		})
	}
	var mu sync.Mutex
	for schedule.Pause(part, siegeEvery) == nil {
		good.Go(func() {
			began := time.Now()
			_, err := s.world.logIn(ctx, owner, visitor.Address(rand.Uint32()), nil)
			took := time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			r.Logins++
			r.Slowest = max(r.Slowest, float64(took.Milliseconds()))
			if err == nil && took <= loginMost {
				r.Passed++
			}
		})
	}
	good.Wait()
	under.Wait()
	_ = schedule.Pause(ctx, 2*time.Second) // adnet answers those that have left
	r.Floods = floods.Load()
	s.say("%d answers to the flood; good logins: %d of %d, slowest %.0f ms", r.Floods, r.Passed, r.Logins, r.Slowest)
	if float64(r.Passed) < loginShare*float64(r.Logins) {
		s.breach("%d of %d good logins passed within %s beside a flood of logins", r.Passed, r.Logins, loginMost)
	}
	if r.Floods < siegers || r.Logins == 0 {
		s.breach(
			"a flood of logins with %d answers and %d good logins, so this run does not test it", r.Floods, r.Logins,
		)
	}
	return ctx.Err()
}

// floodOf returns a request of a caller that costs a hash: a wrong password, or the registration of
// an e-mail. The callers share an IPv6 /56, a /48 and 30 other networks.
func floodOf(caller int) request {
	from := fmt.Sprintf("198.18.%d.%d", rand.IntN(siegeNets), 1+rand.IntN(250))
	switch caller % 4 {
	case 0:
		from = fmt.Sprintf("2001:db8:1:%x::1", rand.Uint32N(1<<8))
	case 1:
		from = fmt.Sprintf("2001:db8:2:%x::1", rand.Uint32N(1<<16))
	}
	path := "/api/auth?action=register"
	if rand.IntN(4) == 0 {
		path = "/api/auth"
	}
	return request{Method: "POST", Path: path, From: from, JSON: object{
		"email": mailbox() + "@siege.example", "password": "a passphrase of the siege",
	}}
}

// logIn logs in to an account from an address. With the headers of the console the reply has the
// session in a cookie.
func (w *world) logIn(ctx context.Context, email, from string, console http.Header) (http.Header, error) {
	reply, err := w.visitor.Send(ctx, request{
		Method: "POST", Path: "/api/auth", From: from, Header: console,
		JSON: object{"email": email, "password": siegePassword, "cookie": console != nil},
	})
	if err == nil && reply.Status != http.StatusOK {
		err = fmt.Errorf("log in: %d %s", reply.Status, reply.Body)
	}
	return reply.Header, err
}

// console returns the headers of a page of the console with a cookie and an idempotency key, each
// optional.
func console(cookie, key string) http.Header {
	h := http.Header{httpapi.ConsoleHeader: {"1"}, "Sec-Fetch-Site": {"same-origin"}}
	if cookie != "" {
		h.Set("Cookie", cookie)
	}
	if key != "" {
		h.Set(idempotency.Header, key)
	}
	return h
}

const office = "203.0.113.5" // the address of the owner, of a neighbour and of the collector

// collectKeys uses idempotency keys beside an owner in the console: a neighbour and a stranger
// repeat the owner's call with its key, and strangers make thousands of keyed calls.
func (s *suite) collectKeys(ctx context.Context, owner string, r *siegeReport) error {
	s.say("a collector of idempotency keys")
	neighbour, err := s.world.owner(ctx)
	if err != nil {
		return err
	}
	cookies := make([]string, 2)
	for i, email := range []string{owner, neighbour} {
		header, err := s.world.logIn(ctx, email, office, console("", ""))
		if err != nil {
			return err
		}
		cookies[i], _, _ = strings.Cut(header.Get("Set-Cookie"), ";")
	}
	before, err := s.world.keptReplies(ctx)
	if err != nil {
		return err
	}
	shared := mailbox() + mailbox()
	first, err := s.world.newKey(ctx, cookies[0], shared)
	if err != nil {
		return err
	}
	for caller, cookie := range map[string]string{"a neighbour": cookies[1], "a stranger": ""} {
		if got, _ := s.world.newKey(ctx, cookie, shared); got == first {
			s.breach("%s got the API key of another account by its idempotency key", caller)
		}
	}
	if err := s.collect(ctx, r); err != nil {
		return err
	}
	after, err := s.world.keptReplies(ctx)
	if err != nil {
		return err
	}
	r.Rows = after - before
	s.say("%d keyed calls of strangers left %d rows", r.Collected, r.Rows)
	if r.Rows > collectorRows {
		s.breach("strangers left %d rows of idempotency keys, at most %d", r.Rows, collectorRows)
	}
	if key, err := s.world.newKey(ctx, cookies[0], mailbox()+mailbox()); key == "" {
		s.breach("an owner cannot change anything beside a collector of idempotency keys: %v", err)
	}
	return ctx.Err()
}

// newKey creates an API key in the console, with an idempotency key.
func (w *world) newKey(ctx context.Context, cookie, key string) (string, error) {
	reply, err := w.call(ctx, request{
		Method: "POST", Path: "/api/keys", From: office, Header: console(cookie, key), Want: http.StatusCreated,
		JSON: object{"kind": "publisher", "name": "mine"},
	})
	return reply.Text("key"), err
}

// collect makes the keyed calls of strangers on routes that need no login: from the owner's
// network, then each from an IPv6 network of its own.
func (s *suite) collect(ctx context.Context, r *siegeReport) error {
	paths := []string{"/api/auth?action=verify", "/api/auth?action=reset", "/api/billing?action=payout"}
	under, part := errgroup.WithContext(ctx)
	under.SetLimit(16)
	for n := range 2 * collectorCalls {
		from := fmt.Sprintf("203.0.113.%d", 1+n%250)
		if n >= collectorCalls {
			from = fmt.Sprintf("2001:db8:%x:%x00::1", 16+n>>8, n&255)
		}
		under.Go(func() error {
			_, err := s.world.call(part, request{
				Method: "POST", Path: paths[n%len(paths)], From: from, JSON: object{},
				Header: http.Header{idempotency.Header: {mailbox() + mailbox()}},
			})
			return err
		})
	}
	r.Collected = 2 * collectorCalls
	return under.Wait()
}

// keptReplies counts the rows of idempotency keys.
func (w *world) keptReplies(ctx context.Context) (n int64, err error) {
	err = w.rows.QueryRow(ctx, `SELECT count(*) FROM idempotency_key`).Scan(&n)
	return n, err
}
