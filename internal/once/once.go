// Package once lets a repeated call take effect only once. It defines the record of an idempotency
// key and its link to the effect in the store.
//
// Guarantee. A key's row is taken before the call runs. A change that a store makes under the
// attempt's context marks the row in the change's own transaction, and that mark fails if another
// call has taken over the row. So for such changes (accounts, keys, campaigns with their Credits)
// one key has at most one effect, regardless of crashes: before the commit there is neither effect
// nor mark and a retry runs; after it a retry finds the mark and does not run. Only the text of the
// reply can be lost, if the process dies between the commit of the effect and the storing of the
// reply; the retry then returns a description of the effect. Changes elsewhere (a payment provider,
// analytics) are protected while the process lives and by their own keys.
//
// # Not obvious
//
// If the text of the reply was lost, the retry gets a description of the effect (recovered). Stored
// replies are sealed with a key derived from the caller's key and request, which are not stored.
package once

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// ID names a key of one caller on one route.
type ID [32]byte

// Attempt is one call's hold on a key. The zero value means no attempt.
type Attempt struct {
	ID    ID
	Token uuid.UUID // new for every attempt
}

// Request is a request for a key.
type Request struct {
	Attempt
	Fingerprint [32]byte      // of the request: a different one under the same key is a conflict
	Lease       time.Duration // after it, an unmarked attempt without a reply counts as dead
	Life        time.Duration // after it, the key is free again
	// Scope is the owner of the key, and Most the maximum number of its keys at a time, since each
	// has a row with a reply. 0 is any number.
	Scope ID
	Most  int
}

// State is the result of a request for a key.
type State int

// The states.
const (
	Begun    State = iota // the call may run
	Running               // another call under the key runs now
	Replied               // it ended: Reply is its reply
	Effected              // it took effect and its reply was lost: Effect describes it
	Differs               // the key was used for another request
	Full                  // the caller has its maximum number of keys: the call does not run
)

// Found is the result of a request.
type Found struct {
	State  State
	Reply  Reply
	Effect Effect
}

// Reply is the reply to a call.
type Reply struct {
	Status      int
	ContentType string
	Body        []byte
}

// Effect describes the change by a call.
type Effect struct{ Kind, ID string }

// Store stores keys. Errors carry errs.Unavailable.
type Store interface {
	// BeginKey takes the key, or returns the state of an earlier attempt.
	BeginKey(ctx context.Context, r Request) (Found, error)
	// FinishKey stores the reply of an attempt that still holds the key; for any other attempt it
	// does nothing.
	FinishKey(ctx context.Context, a Attempt, r Reply) error
	// ReleaseKey frees the key of an attempt that had no effect; an attempt with an effect keeps
	// the key.
	ReleaseKey(ctx context.Context, a Attempt) error
}

type attemptKey struct{}

// With ties every change that a store makes under the context to the attempt.
func With(ctx context.Context, a Attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// From returns the attempt of ctx; ok is false without one.
func From(ctx context.Context) (a Attempt, ok bool) {
	a, ok = ctx.Value(attemptKey{}).(Attempt)
	return a, ok
}
