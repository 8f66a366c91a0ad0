// Package once is how a call that is sent twice takes effect once: what is kept about an idempotency key
// and how the store ties it to the effect.
//
// Guarantee. A key's row is claimed before the call runs. A change that a store makes under the claim's context marks the row in
// the change's own transaction, and that mark fails when another call has taken the row over. So
// for such changes (accounts, keys, campaigns with their Credits) one key has at most one effect, whatever
// process dies when: before the commit there is neither effect nor mark and a retry runs; after it a
// retry meets the mark and does not. Only the reply's own text can be lost, when the process dies between the commit
// of the effect and the storing of the reply; the retry then answers what the effect was. Changes elsewhere (a
// payment provider, analytics) are protected while the process lives and by their own keys.
//
// # Not obvious
//
// When the reply's text was lost, the retry is told what the effect was (recovered). Kept
// replies are sealed with a key made of the caller's key and request, which are not stored.
package once

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// ID names a key of one caller on one route.
type ID [32]byte

// Attempt is one call's hold on a key. The zero value is none.
type Attempt struct {
	ID    ID
	Token uuid.UUID // another one with every attempt
}

// Claim asks for a key.
type Claim struct {
	Attempt
	Fingerprint [32]byte      // of the request: another one under the same key is a conflict
	Lease       time.Duration // after it an unmarked claim without a reply is taken for dead
	Life        time.Duration // after it the key is free again
}

// State is what a claim found.
type State int

// The states.
const (
	Claimed  State = iota // the call may run
	Running               // another call under the key runs now
	Replied               // it ended: Reply is what it answered
	Effected              // it took effect and died before its reply was kept: Effect says what
	Differs               // the key was used for another request
)

// Found is the answer to a claim.
type Found struct {
	State  State
	Reply  Reply
	Effect Effect
}

// Reply is what a call answered.
type Reply struct {
	Status      int
	ContentType string
	Body        []byte
}

// Effect is what a call changed.
type Effect struct{ Kind, ID string }

// Store keeps keys. Errors carry errs.Unavailable.
type Store interface {
	// ClaimKey claims the key, or says what became of it.
	ClaimKey(ctx context.Context, c Claim) (Found, error)
	// FinishKey keeps the reply of an attempt that still holds the key; of another it changes nothing.
	FinishKey(ctx context.Context, a Attempt, r Reply) error
	// ReleaseKey frees the key of an attempt that had no effect; one that had keeps it.
	ReleaseKey(ctx context.Context, a Attempt) error
}

type attemptKey struct{}

// With ties every change that a store makes under the context to the attempt.
func With(ctx context.Context, a Attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// From is the attempt of ctx; ok is false without one.
func From(ctx context.Context) (a Attempt, ok bool) {
	a, ok = ctx.Value(attemptKey{}).(Attempt)
	return a, ok
}
