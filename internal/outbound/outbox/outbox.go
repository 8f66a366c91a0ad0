// Package outbox defines messages to others that are written in the transaction of the change that
// they report, and sent later by the consumers.
//
// Contract: a message is sent at least once, or ends as failed or dropped, which its owner can read.
// Messages of one subject are sent in the order of their changes: a message waits while an earlier
// one of its topic and subject waits. The change that writes a message waits for no receiver. An
// owner has a bounded number of messages, whatever the receivers do.
package outbox

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
)

// Webhooks is the topic of messages to the endpoints of accounts; their target is the endpoint.
const Webhooks = "webhook"

// Mails is the topic of mails; their target is the account. An account has one mail of a kind and UTC
// day.
const Mails = "mail"

// State is the state of a message.
type State string

// The states.
const (
	Waiting   State = "waiting"   // for its first or next attempt
	Delivered State = "delivered" // the receiver accepted it
	Failed    State = "failed"    // the attempts of [Patience] failed
	Dropped   State = "dropped"   // not sent: too many waited, or the target is off or gone
)

// States lists the states.
var States = []string{string(Waiting), string(Delivered), string(Failed), string(Dropped)}

// The bounds of one owner's messages of a topic.
const (
	MaxWaiting = 1000               // further messages drop the oldest ones
	MaxEnded   = 1000               // further ones remove the oldest
	Life       = 7 * 24 * time.Hour // of an ended message
)

// The problems of messages that were dropped.
const (
	Crowded = "more than 1,000 messages waited, and this was the oldest"
	Off     = "the webhook was turned off or deleted"
)

// Message is a message to one target.
type Message struct {
	ID        uuid.UUID // the same at each attempt and each target
	Topic     string
	Subject   string // messages of one subject keep their order
	Owner     uuid.UUID
	Target    uuid.UUID
	Kind      string
	Payload   []byte
	CreatedAt time.Time
	BegunAt   time.Time // from which [Patience] counts: the creation, or the last replay

	State    State
	Attempts int       // since BegunAt
	Results  int       // of these, with a stored result; an attempt without one may have been received
	DueAt    time.Time // of the next attempt, while it waits
	TriedAt  time.Time // of the last attempt; zero before the first
	EndedAt  time.Time // zero while it waits
	Status   int       // HTTP status of the last attempt; 0 without a reply
	Problem  string    // of the last attempt; empty if it succeeded

	Lease uuid.UUID // of the running attempt
}

// Claim asks for messages to send.
type Claim struct {
	Topic     string
	Now       time.Time
	Lease     time.Duration // after which another process may try
	Most      int
	PerTarget int
	Except    []uuid.UUID // targets that are busy
}

// Ended is the result of an attempt.
type Ended struct {
	Message Message
	At      time.Time
	State   State // Waiting for a further attempt at Next
	Next    time.Time
	Status  int
	Problem string
}

// Counts counts the messages of a topic by state.
type Counts map[State]int64

// Store hands out messages. The stores of changes write them.
type Store interface {
	// ClaimMessages leases messages that are due, for one attempt each: never a message while an
	// earlier one of its subject waits, and never the same message to two callers within a lease.
	ClaimMessages(ctx context.Context, c Claim) ([]Message, error)
	// EndAttempt stores the result of an attempt. It changes nothing if the message has ended or
	// another caller has leased it since.
	EndAttempt(ctx context.Context, e Ended) error
	// PruneMessages removes messages that ended before a time, at most most, and returns their number.
	PruneMessages(ctx context.Context, before time.Time, most int) (int64, error)
	// CountMessages counts the messages of a topic.
	CountMessages(ctx context.Context, topic string) (Counts, error)
}

// The pauses between attempts: the first, the factor, and the longest.
const (
	firstPause   = 5 * time.Second
	pauseFactor  = 3
	longestPause = 8 * time.Hour

	// Patience is how long after its beginning a message is tried again.
	Patience = 3 * 24 * time.Hour
)

// Pause returns the pause after a number of failed attempts: three times the last one, up to 8
// hours, shortened at random by up to a fifth, so that receivers that failed together are not
// tried together.
func Pause(attempts int) time.Duration {
	pause := firstPause
	for i := 1; i < attempts && pause < longestPause; i++ {
		pause *= pauseFactor
	}
	pause = min(pause, longestPause)
	return pause - time.Duration(rand.Int64N(int64(pause)/5))
}

// After returns the result of a failed attempt of m at a time: a further attempt, or the end.
func After(m Message, at time.Time, status int, problem string) Ended {
	e := Ended{Message: m, At: at, State: Waiting, Next: at.Add(Pause(m.Attempts)), Status: status, Problem: problem}
	if e.Next.After(m.BegunAt.Add(Patience)) {
		e.State = Failed
	}
	return e
}
