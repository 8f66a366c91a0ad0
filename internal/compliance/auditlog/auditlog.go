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

// Via is the channel of a change.
type Via string

// The channels.
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
	TargetParked     = "parked_payment" // a provider's event that an operator decides
	TargetDeadLetter = "dead_letter"
	TargetQuarantine = "quarantine"
	TargetPublisher  = "publisher" // id: its developer id
	TargetAppeal     = "appeal"
	TargetReport     = "ad_report" // id: of the campaign
	TargetStore      = "store"     // a repair, a restore, a retention run
)

// Targets lists the kinds of targets.
var Targets = []string{
	TargetCampaign, TargetUser, TargetKey, TargetDeposit, TargetDeadLetter, TargetStore, TargetQuarantine,
	TargetPublisher, TargetAppeal, TargetReport, TargetParked,
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

// Change is a field before and after a change; null if it did not exist.
type Change struct {
	Before any `json:"before"`
	After  any `json:"after"`
}

// Entry is one change.
type Entry struct {
	Seq   int64     `json:"seq"` // rises with every entry, with gaps
	At    time.Time `json:"at"`  // UTC
	Actor Actor     `json:"actor"`

	TargetKind string            `json:"target_kind"`
	TargetID   string            `json:"target_id"`
	OwnerID    uuid.UUID         `json:"owner_id"` // account that owns the target; nil UUID for none
	Changes    map[string]Change `json:"changes"`
}

// Query selects entries, newest first. The zero value selects everything.
type Query struct {
	OwnerID    uuid.UUID
	ActorID    uuid.UUID
	TargetKind string
	TargetID   string
	Since      time.Time // inclusive
	Until      time.Time // exclusive
	Before     int64     // only entries with a lower Seq: the next page
	Limit      int       // 1 to 500
}

// TargetOf returns the id of a target as entries have it: a UUID in lower case, any other text as
// it is.
func TargetOf(text string) string {
	if id, err := uuid.Parse(text); err == nil && len(text) == len(id.String()) {
		return id.String()
	}
	return text
}

// Matches reports whether q selects e, regardless of Limit.
func (q Query) Matches(e *Entry) bool {
	return (q.OwnerID == uuid.Nil || q.OwnerID == e.OwnerID) &&
		(q.ActorID == uuid.Nil || q.ActorID == e.Actor.AccountID) &&
		(q.TargetKind == "" || q.TargetKind == e.TargetKind) && (q.TargetID == "" || q.TargetID == e.TargetID) &&
		(q.Since.IsZero() || !e.At.Before(q.Since)) && (q.Until.IsZero() || e.At.Before(q.Until)) &&
		(q.Before == 0 || e.Seq < q.Before)
}

type actorKey struct{}

// carried holds the actor of a context. Authentication, which runs later, can add its identity.
type carried struct {
	mu     sync.Mutex
	actor  Actor
	reason string
}

// With makes a the actor of every change under the context.
func With(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, &carried{actor: a})
}

// Identify sets the account of ctx's actor after authentication. Without an actor it does nothing.
func Identify(ctx context.Context, account uuid.UUID, role string) {
	if c, ok := ctx.Value(actorKey{}).(*carried); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.actor.AccountID, c.actor.Role = account, role
	}
}

// From returns the actor of ctx, or adnet itself if ctx has none.
func From(ctx context.Context) Actor {
	c, ok := ctx.Value(actorKey{}).(*carried)
	if !ok {
		return Actor{Via: System}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.actor
}

// Because sets the reason for every later change under ctx, which must have an actor.
func Because(ctx context.Context, reason string) {
	if c, ok := ctx.Value(actorKey{}).(*carried); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reason = reason
	}
}

// Complete adds the actor and the reason in ctx to e.
func (e *Entry) Complete(ctx context.Context) {
	e.Actor = From(ctx)
	c, ok := ctx.Value(actorKey{}).(*carried)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, present := e.Changes[Reason]; c.reason != "" && !present && len(e.Changes) > 0 {
		e.Changes[Reason] = Change{After: c.reason}
	}
}
