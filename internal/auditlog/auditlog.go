// Package auditlog records every change and its author. It defines the entry, the actor (carried by
// the context from the edge to the store), and the comparison of two states of an object as a list
// of changed fields.
//
// Contract: stores write the entry of a change in the transaction of the change, so there never is
// a change without its entry and no entry without its change. Entries hold no secret.
// PostgreSQL rejects every change or removal of an entry.
package auditlog

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Via is the way by which a change came in.
type Via string

// The ways.
const (
	API    Via = "api"    // an HTTP request
	CLI    Via = "cli"    // a command on the operator's machine
	System Via = "system" // adnet itself: settings at start, timers
)

// The kinds of targets.
const (
	TargetCampaign   = "campaign"
	TargetUser       = "user"
	TargetKey        = "key"
	TargetDeposit    = "deposit"
	TargetDeadLetter = "dead_letter"
	TargetQuarantine = "quarantine"
	TargetPublisher  = "publisher" // id: its developer id
	TargetAppeal     = "appeal"
	TargetReport     = "ad_report" // id: of the campaign
	TargetStore      = "store"     // a repair, a restore, a retention run
)

// Targets are the kinds of targets.
var Targets = []string{
	TargetCampaign, TargetUser, TargetKey, TargetDeposit, TargetDeadLetter, TargetStore, TargetQuarantine,
	TargetPublisher, TargetAppeal, TargetReport,
}

// Actor identifies the author of a change: account, address and means.
type Actor struct {
	AccountID uuid.UUID `json:"account_id"` // nil UUID without a login
	Role      string    `json:"role"`       // of the account
	Name      string    `json:"name"`       // of a command: the operating system's user
	Via       Via       `json:"via"`
	Network   string    `json:"network"` // of the caller: [traffic.Network], never the address
	Action    string    `json:"action"`  // method, route and action, or the command
	RequestID string    `json:"request_id"`
}

// Change is one field before and after; null where it did not exist.
type Change struct {
	Before any `json:"before"`
	After  any `json:"after"`
}

// Entry is one change.
type Entry struct {
	Seq   int64     `json:"seq"` // rises with every entry; not without gaps
	At    time.Time `json:"at"`  // UTC
	Actor Actor     `json:"actor"`

	TargetKind string            `json:"target_kind"`
	TargetID   string            `json:"target_id"`
	OwnerID    uuid.UUID         `json:"owner_id"` // account that the target belongs to; nil UUID for none
	Changes    map[string]Change `json:"changes"`
}

// Query selects entries, newest first. Zero values select everything.
type Query struct {
	OwnerID    uuid.UUID
	ActorID    uuid.UUID
	TargetKind string
	TargetID   string
	Since      time.Time // included
	Until      time.Time // excluded
	Before     int64     // only entries with a lower Seq: the next page
	Limit      int       // 1 to 500
}

// Matches says whether q selects e, Limit aside.
func (q Query) Matches(e *Entry) bool {
	return (q.OwnerID == uuid.Nil || q.OwnerID == e.OwnerID) &&
		(q.ActorID == uuid.Nil || q.ActorID == e.Actor.AccountID) &&
		(q.TargetKind == "" || q.TargetKind == e.TargetKind) && (q.TargetID == "" || q.TargetID == e.TargetID) &&
		(q.Since.IsZero() || !e.At.Before(q.Since)) && (q.Until.IsZero() || e.At.Before(q.Until)) &&
		(q.Before == 0 || e.Seq < q.Before)
}

type actorKey struct{}

// carried lets authentication, which runs after the actor was put into the context, add its
// identity.
type carried struct {
	mu     sync.Mutex
	actor  Actor
	reason string
}

// With makes a the actor of everything that is done under the context.
func With(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, &carried{actor: a})
}

// Identify names the account of ctx's actor, once authentication knows it. Without an actor it does
// nothing.
func Identify(ctx context.Context, account uuid.UUID, role string) {
	if c, ok := ctx.Value(actorKey{}).(*carried); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.actor.AccountID, c.actor.Role = account, role
	}
}

// From returns the actor of ctx; adnet itself if ctx names none.
func From(ctx context.Context) Actor {
	c, ok := ctx.Value(actorKey{}).(*carried)
	if !ok {
		return Actor{Via: System}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.actor
}

// Because says why everything is changed that is changed under ctx from now on. It needs an actor.
func Because(ctx context.Context, reason string) {
	if c, ok := ctx.Value(actorKey{}).(*carried); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reason = reason
	}
}

// Complete adds to e what ctx says: who changes, and why.
func (e *Entry) Complete(ctx context.Context) {
	e.Actor = From(ctx)
	c, ok := ctx.Value(actorKey{}).(*carried)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, said := e.Changes[Reason]; c.reason != "" && !said && len(e.Changes) > 0 {
		e.Changes[Reason] = Change{After: c.reason}
	}
}
